"""Finds where a template names variables, for messages with lines: the engine itself tells only their names."""

import re
from collections.abc import Iterator
from itertools import pairwise

from msgspec import Struct

# The functions of Jinja2.
FUNCTIONS = frozenset({"range", "dict", "lipsum", "cycler", "joiner", "namespace"})

# A `set` inside of these has no effect behind them; nor inside of a macro.
_SCOPES = frozenset({"for", "call", "with", "block", "filter"})
_ENDS = frozenset({"endmacro", *(f"end{scope}" for scope in _SCOPES)})
_NAME = r"[A-Za-z_]\w*"
_TOKEN = rf""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|{_NAME}|[-+]?[%}}]\}}|==|\S"""


class Names(Struct, frozen=True):
    """The names in the tags of a template."""

    read: dict[str, int]  # the variables, each with the line where it is read first
    called: dict[str, int]  # the functions, each with the line where it is called first
    assigned: frozenset[str]  # by a `set` that has effect to the end of the template


class _Tag(Struct, frozen=True):
    is_statement: bool
    words: list[str]
    offsets: list[int]


def find_names(template: str) -> Names:
    """The names in a template that the engine can parse."""
    read: dict[str, int] = {}
    called: dict[str, int] = {}
    scopes: list[set[str]] = [set()]  # the names assigned in each of the scopes around a tag, the outermost first
    for tag in _find_tags(template):
        statement = tag.words[0] if tag.is_statement and tag.words else ""
        targets, start = _find_targets(statement, tag.words)
        if statement == "macro":
            scopes.append(targets)  # here already: the default of a parameter may be another parameter
        for index, is_call in _find_variables(tag.words, start):
            name = tag.words[index]
            if not any(name in scope for scope in scopes[1:]):
                line = template.count("\n", 0, tag.offsets[index]) + 1
                (called if is_call else read).setdefault(name, line)
        if statement in _SCOPES:
            scopes.append(targets)
        elif statement in _ENDS:
            scopes.pop()
        else:
            scopes[-1] |= targets
    return Names(read, called, frozenset(scopes[0]))


def _find_targets(statement: str, words: list[str]) -> tuple[set[str], int]:
    """The names that a statement assigns, and where in it variables are read."""
    if statement == "for":
        end = words.index("in")
    elif statement == "set":
        end = words.index("=") if "=" in words else 2
    elif statement == "with":
        return {name for name, behind in pairwise(words) if behind == "="}, 1
    elif statement == "macro":
        return {name for before, name in pairwise(words) if before in ("(", ",")}, 3
    elif statement == "call" and words[1:2] == ["("]:
        end = words.index(")")
    else:
        return set(), 0
    return set(words[1:end]), end


def _find_tags(template: str) -> Iterator[_Tag]:
    """The tags of a template, without comments and what is between `raw` and `endraw`."""
    position = 0
    while opening := re.compile(r"\{[{%#]").search(template, position):
        if opening.group() == "{#":
            position = template.find("#}", opening.end())
            if position < 0:
                return
            continue
        tag = _Tag(opening.group() == "{%", [], [])
        closing = "%}" if tag.is_statement else "}}"
        position = len(template)
        for token in re.compile(_TOKEN, re.DOTALL).finditer(template, opening.end()):
            if token.group().lstrip("-+") == closing:
                position = token.end()
                break
            if tag.words or token.group() not in ("-", "+"):
                tag.words.append(token.group())
                tag.offsets.append(token.start())
        yield tag
        if tag.is_statement and tag.words[:1] == ["raw"]:
            end = re.compile(r"\{%[-+]?\s*endraw").search(template, position)
            position = end.start() if end else len(template)


def _find_variables(words: list[str], start: int) -> Iterator[tuple[int, bool]]:
    """The positions of variables in a tag, and whether each is called, as far as their neighbours show."""
    for index in range(start, len(words)):
        before, behind = words[max(0, index - 2) : index], words[index + 1 : index + 2]
        is_test = before[-1:] == ["is"] or before == ["is", "not"]
        is_member = before[-1:] in (["."], ["|"])
        is_parameter = behind == ["="]
        if re.fullmatch(_NAME, words[index]) and not (is_test or is_member or is_parameter):
            yield index, behind == ["("]
