"""Which argument or tool of ours was meant by a name that there is not: by spelling, other names, words and edits."""

import re
from collections.abc import Iterable, Sequence

from satchel.contracts.satchel.other_names import ARGUMENTS, BY_WORDS, NOUNS, TOOLS, VERBS
from satchel.services.suggestions import closest_name

_LONGEST = 100  # characters of a name that are looked at
_LIKENESS = 0.75  # of 1, below which a spelling is another word


def split_words(name: str) -> list[str]:
    """The words of a name, whatever joins them: dueDate, due-date and DUE_DATE are the same."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name[:_LONGEST])
    return re.findall(r"[a-z0-9]+", spaced.lower())


# -- arguments --------------------------------------------------------------------------------------------------


def find_argument(name: str, known: Sequence[str], given: Iterable[str] = ()) -> str | None:
    """The argument that was probably meant, first among those that the call does not have; None where none is near."""
    unused = [one for one in known if one not in set(given)]
    return _find_argument(name, unused) or _find_argument(name, known)


def _find_argument(name: str, known: Sequence[str]) -> str | None:
    words = split_words(name)
    folded = "_".join(words)
    for one in known:
        if folded in (one, f"{one}s") or f"{folded}s" == one:
            return one
    others = {one: ARGUMENTS.get(one, "").split() for one in known}
    also_called = [one for one in known if folded in others[one]]
    if also_called:
        return min(also_called, key=lambda one: others[one].index(folded))
    for one in known:  # task_id, prompt_name, new_title
        if set(one.split("_")) <= set(words) or (words and set(words) <= set(one.split("_"))):
            return one
    return _find_spelling(folded, known)


def _find_spelling(name: str, known: Sequence[str]) -> str | None:
    """The name with nearly the same letters; stricter than for references, because `status` is not meant by `tags`."""
    import difflib

    near = closest_name(name, known)
    return near if near and difflib.SequenceMatcher(None, name, near).ratio() >= _LIKENESS else None


# -- tools ------------------------------------------------------------------------------------------------------


def explain_unknown_tool(name: str, served: Iterable[str]) -> str:
    """A sentence about a tool that there is not: the one that was probably meant, or all that there are."""
    tools = list(served)
    near = find_tool(name, tools)
    return f"Did you mean {near}?" if near else f"There are {', '.join(tools)}."


def find_tool(name: str, served: Sequence[str]) -> str | None:
    """The tool that was probably meant; None where none is near."""
    words = split_words(name)
    while words and words[0] in ("mcp", "satchel"):  # as hosts prefix names
        del words[0]
    folded = "_".join(words)
    if folded in served:
        return folded
    for tool, others in TOOLS.items():
        if tool in served and folded in others.split():
            return tool
    verbs, nouns = _classify(words, VERBS), _classify([_to_singular(word) for word in words], NOUNS)
    if not verbs or not nouns:
        return _find_spelling(folded, served)
    is_plural = any(word != _to_singular(word) for word in words)
    for verb in verbs:
        for noun in nouns:
            of_many = BY_WORDS.get(f"{verb} {noun}s", "") if is_plural else ""
            for tool in f"{of_many} {BY_WORDS.get(f'{verb} {noun}', '')}".split():
                if tool in served:
                    return tool
    return None  # what was meant is clear, but it is not served here


def _classify(words: list[str], classes: dict[str, str]) -> list[str]:
    return [kind for word in words for kind, others in classes.items() if word in others.split()]


def _to_singular(word: str) -> str:
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word
