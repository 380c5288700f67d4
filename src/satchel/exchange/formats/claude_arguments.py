"""The arguments of Claude Code: `$ARGUMENTS`, `$1` to `$9`, and names that the front matter gives them."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from satchel.exchange import cleaning
from satchel.exchange.templates import (
    NotTemplate,
    Piece,
    Template,
    Text,
    Variable,
    convert,
    make_argument_name,
    write_with,
)

ALL = "arguments"  # the argument that $ARGUMENTS becomes

# Not money: `$1,000`, `$5.50`; and not `\$1`.
_POSITION = r"(?<![\\$\w])\$(?:ARGUMENTS\[(\d{1,2})\]|([0-9])(?![\w]|[.,]\d))"


def read_text(text: str, fields: Mapping[str, Any]) -> Template:
    """The text of a command or a skill, with its arguments."""
    hint = cleaning.to_text(fields.get("argument-hint")) or " ".join(
        f"[{one}]" for one in cleaning.list_texts(fields.get("argument-hint"))
    )
    names = cleaning.list_texts(fields.get("arguments")) if fields.get("arguments") is not None else []
    return convert(text, lambda given: _read(given, hint, names))


def _read(text: str, hint: str, names: Sequence[str]) -> list[Piece]:
    has_all = re.search(r"\$ARGUMENTS\b(?!\[)", text) is not None
    labels = [*names] or re.findall(r"[\[<{]\s*([^\]>}\[]+?)\s*[\]>}]", hint)
    found = {int(one[1] or one[2]) for one in re.finditer(_POSITION, text)}
    if found and not (hint or names or has_all) and not _is_meant(text, found):
        found = set()
    first = 0 if 0 in found or re.search(r"\$ARGUMENTS\[", text) else 1  # $0 is the first one in skills
    named = "|".join(re.escape(one) for one in names if re.fullmatch(r"[A-Za-z_]\w*", one))
    pattern = r"\$ARGUMENTS\b(?!\[)" + (f"|{_POSITION}" if found else r"|(?!)()()")
    pattern += rf"|(?<![\\$\w])\$({named})\b" if named else r"|(?!)()"
    pieces: list[Piece] = []
    end = 0
    for one in re.finditer(pattern, text):
        pieces += [Text(text[end : one.start()])] if one.start() > end else []
        end = one.end()
        if one[3]:
            pieces.append(Variable(make_argument_name(one[3]), one[3]))
        elif one[1] or one[2]:
            place = int(one[1] or one[2]) - (0 if one[1] else first)
            label = labels[place] if 0 <= place < len(labels) else f"arg{place + 1}"
            is_optional = label.endswith("?") or label.startswith("optional")
            pieces.append(Variable(make_argument_name(label), label, is_optional=is_optional))
        else:
            pieces.append(Variable(ALL, hint or "$ARGUMENTS", is_optional=True))
    if not any(isinstance(piece, Variable) for piece in pieces):
        raise NotTemplate("")
    return [*pieces, Text(text[end:])] if end < len(text) else pieces


def _is_meant(text: str, found: set[int]) -> bool:
    """Whether `$1` without any hint is an argument: not where only code has it, as awk and shells do."""
    prose = re.sub(r"```.*?(?:```|\Z)|(?<!!)`[^`\n]*`", "", text, flags=re.S)
    is_from_start = min(found) < 2 and max(found) - min(found) == len(found) - 1
    return is_from_start and re.search(_POSITION, prose) is not None


def write_text(pieces: Sequence[Piece]) -> tuple[str, list[str]]:
    """A text for Claude Code, and the names of its arguments in the order of their places."""
    names = list(dict.fromkeys(one.name for one in pieces if isinstance(one, Variable)))
    if names == [ALL]:
        return write_with(pieces, lambda _: "$ARGUMENTS"), []
    return write_with(pieces, lambda one: f"${names.index(one.name) + 1}"), names
