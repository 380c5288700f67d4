"""Commands of Claude Code: Markdown files in `.claude/commands`, with folders as name spaces."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from satchel.exchange import cleaning, templates
from satchel.exchange.entries import Entry, Found, PromptEntry
from satchel.exchange.formats import shared
from satchel.exchange.sources import SourceFile
from satchel.yaml_reader import write_front_matter

_LONGEST_HINT = 1000  # characters that are read
_SIGNS = ("argument-hint", "allowed-tools", "disable-model-invocation", "user-invocable")


def recognise(file: SourceFile) -> bool:
    """Recognise Markdown in a folder `commands` of `.claude`, or with fields that only a command has."""
    if file.extension != "md" or file.name in ("SKILL.md", "README.md"):
        return False
    if _find_root(file.folders) is not None:
        return True
    return file.fields is not None and any(sign in file.fields for sign in _SIGNS) and "name" not in file.fields


def _find_root(folders: Sequence[str]) -> int | None:
    """Return the index of the first of the folders whose names are part of the command's name."""
    for place in range(len(folders) - 1, -1, -1):
        is_inside = any(one in (".claude", ".claude-plugin") for one in folders[:place])
        if folders[place] == "commands" and is_inside:
            return place + 1
    return None


def read(file: SourceFile) -> Iterator[Found]:
    """Read a prompt named by its path below `commands`: `git/commit.md` is `git-commit`."""
    fields = file.fields or {}
    root = _find_root(file.folders)
    spaces = () if root is None else file.folders[root:]
    text = shared.trim(file.body)
    notes: tuple[str, ...] = ()
    if "!`" in text:
        notes = ("Shell commands in it (!`…`) stay text: Satchel runs none.",)
    template = read_arguments(text, fields)
    yield shared.make_prompt(
        file.shown,
        "-".join((*spaces, file.name.removesuffix(".md"))),
        template,
        fields,
        tags=[*cleaning.list_texts(fields.get("tags")), *spaces],
        known=("arguments", "argument-hint") if template.arguments else ("arguments",),
        notes=notes,
    )


def write(entries: Sequence[Entry]) -> shared.Written:
    """Write a file for each prompt."""
    return shared.write_prompts(entries, "a command of Claude Code", "{}.md", write_prompt)


def write_prompt(prompt: PromptEntry, name: str | None = None) -> str:
    """Return a prompt as a file of Claude Code; files of skills and agents get a `name`, too."""
    text, names = write_arguments(shared.take_apart(prompt))
    description, kept = cleaning.split_fields(prompt.description)
    fields = {"name": name, "description": description or (prompt.title if name else None), **kept}
    hints = [f"[{one}]" for one in names] or [one.description or "" for one in prompt.arguments]
    if any(hints) and hints != ["$ARGUMENTS"]:
        fields.setdefault("argument-hint", " ".join(hints))
    head = write_front_matter({key: value for key, value in fields.items() if value})
    return head + "\n" + shared.end_line(text) if any(fields.values()) else shared.end_line(text)


# -- arguments ------------------------------------------------------------------------------------------------------

ALL = "arguments"  # the argument that replaces $ARGUMENTS

# This excludes money, such as `$1,000` and `$5.50`, and `\$1`.
_POSITION = r"(?<![\\$\w])\$(?:ARGUMENTS\[(\d{1,2})\]|([0-9])(?![\w]|[.,]\d))"


def read_arguments(text: str, fields: Mapping[str, Any]) -> templates.Template:
    """Return the text of a command or a skill as a template."""
    hint = cleaning.to_text(fields.get("argument-hint")) or " ".join(
        f"[{one}]" for one in cleaning.list_texts(fields.get("argument-hint"))
    )
    names = cleaning.list_texts(fields.get("arguments")) if fields.get("arguments") is not None else []
    return templates.convert(text, lambda given: _read(given, hint, names))


def _read(text: str, hint: str, names: Sequence[str]) -> list[templates.Piece]:
    has_all = re.search(r"\$ARGUMENTS\b(?!\[)", text) is not None
    hinted = re.findall(r"[\[<{]([^\]>}\[]+)[\]>}]", hint[:_LONGEST_HINT])
    labels = [*names] or [label for one in hinted if (label := one.strip())]
    found = {int(one[1] or one[2]) for one in re.finditer(_POSITION, text)}
    if found and not (hint or names or has_all) and not _is_meant(text, found):
        found = set()
    first = 0 if 0 in found or re.search(r"\$ARGUMENTS\[", text) else 1  # skills count from $0, commands from $1
    named = "|".join(re.escape(one) for one in names if re.fullmatch(r"[A-Za-z_]\w*", one))
    pattern = r"\$ARGUMENTS\b(?!\[)" + (f"|{_POSITION}" if found else r"|(?!)()()")
    pattern += rf"|(?<![\\$\w])\$({named})\b" if named else r"|(?!)()"
    pieces: list[templates.Piece] = []
    for one in templates.split(text, pattern):
        if isinstance(one, str):
            pieces.append(templates.Text(one))
        elif one[3]:
            pieces.append(templates.Variable(templates.make_argument_name(one[3]), one[3]))
        elif one[1] or one[2]:
            place = int(one[1] or one[2]) - (0 if one[1] else first)
            label = labels[place] if 0 <= place < len(labels) else f"arg{place + 1}"
            is_optional = label.endswith("?") or label.startswith("optional")
            pieces.append(templates.Variable(templates.make_argument_name(label), label, is_optional=is_optional))
        else:
            pieces.append(templates.Variable(ALL, hint or "$ARGUMENTS", is_optional=True))
    return templates.require_variables(pieces)


def _is_meant(text: str, found: set[int]) -> bool:
    """Return whether a `$1` without a hint is an argument, and not a part of code in another language, such as awk."""
    prose = re.sub(r"```.*?(?:```|\Z)|(?<!!)`[^`\n]*`", "", text, flags=re.S)
    is_from_start = min(found) < 2 and max(found) - min(found) == len(found) - 1
    return is_from_start and re.search(_POSITION, prose) is not None


def write_arguments(pieces: Sequence[templates.Piece]) -> tuple[str, list[str]]:
    """Return a text for Claude Code, and the names of its arguments in order."""
    names = list(dict.fromkeys(one.name for one in pieces if isinstance(one, templates.Variable)))
    if names == [ALL]:
        return templates.write_with(pieces, lambda _: "$ARGUMENTS"), []
    return templates.write_with(pieces, lambda one: f"${names.index(one.name) + 1}"), names
