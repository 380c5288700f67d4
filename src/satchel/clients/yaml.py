"""Changes to the lines of one entry in a YAML document; all other lines stay as they are.

The caller reads the result with `yaml_reader` and compares it with the expected value.
"""

import re
from collections.abc import Sequence
from typing import Any

from satchel.clients.jsonc import WrongSyntax
from satchel.yaml_reader import write_yaml

_HEADER = re.compile(r"""( *)(["']?)([^"'#:\s][^"'#:]*)\2:[ \t]*(?:\{\}[ \t]*)?(?:#.*)?""")


def set_entry(text: str, path: Sequence[str], entry: dict[str, Any]) -> str:
    """Replace an entry in a text, or add a new one at the end of its section."""
    section, name = path
    lines = text.splitlines()
    where = _find(lines, section, 0, len(lines), 0)
    if where is None:
        if re.search(rf"(?m)^[\"']?{re.escape(section)}[\"']?\s*:", text):
            raise WrongSyntax(text, 0, f"{section} should be a block of lines, not a value in one line")
        lines += [f"{section}:"]
        where = len(lines) - 1, len(lines)
    start, end = where
    indent = next((_indent_of(line) for line in lines[start + 1 : end] if _is_content(line)), 2)
    lines[start] = f"{section}:" if lines[start].rstrip().endswith("{}") else lines[start]
    old = _find(lines, name, start + 1, end, indent) or (end, end)
    lines[old[0] : old[1]] = [" " * indent + line for line in write_yaml({name: entry}).splitlines()]
    return _join(text, lines)


def remove_entry(text: str, path: Sequence[str]) -> str:
    """Return the text without an entry."""
    section, name = path
    lines = text.splitlines()
    start, end = _find(lines, section, 0, len(lines), 0) or (0, 0)
    indent = next((_indent_of(line) for line in lines[start + 1 : end] if _is_content(line)), 2)
    old = _find(lines, name, start + 1, end, indent)
    if old is None:
        raise WrongSyntax(text, 0, f"{name} should be a block of lines, not a value in one line")
    del lines[old[0] : old[1]]
    if not any(map(_is_content, lines[start + 1 : end - (old[1] - old[0])])):
        lines[start] = f"{section}: {{}}"
    return _join(text, lines)


def _find(lines: Sequence[str], name: str, start: int, end: int, indent: int) -> tuple[int, int] | None:
    """Return the first line of a block and the line after its end; comments above the next block are not part of it."""
    for first in range(start, end):
        found = _HEADER.fullmatch(lines[first])
        if found and found[3].rstrip() == name and len(found[1]) == indent:
            below = range(first + 1, end)
            after = next((one for one in below if _is_content(lines[one]) and _indent_of(lines[one]) <= indent), end)
            return first, 1 + max(one for one in range(first, after) if one == first or _is_content(lines[one]))
    return None


def _is_content(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _indent_of(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _join(before: str, lines: Sequence[str]) -> str:
    newline = "\r\n" if "\r\n" in before else "\n"
    return "".join(line + newline for line in lines)
