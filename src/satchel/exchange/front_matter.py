"""Front matter, the YAML between `---` lines at the beginning of a Markdown file; the one caller of the YAML reader.

Front matter written by hand is often not quite YAML (`argument-hint: [file] [mode]`, `globs: *.ts`). A field that is
not YAML is read as a text.
"""

import re
from collections.abc import Mapping
from typing import Any

from satchel.exchange.entries import Unreadable
from satchel.yaml_reader import WrongYaml, read_yaml

MAX_SIZE = 256 * 1024  # characters
Fields = dict[str, Any]

_START = re.compile(r"\s*---[ \t]*\r?\n")
_END = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.M)
_KEY = re.compile(r"([A-Za-z_$][\w .$-]*?)[ \t]*:(?:[ \t]+|$)")


def split(text: str) -> tuple[Fields | None, str]:
    """Return the front matter of a text and the text behind it, or None and the whole text.

    Raises:
        Unreadable: the front matter is too large, or a YAML bomb.
    """
    start = _START.match(text)
    end = _END.search(text, start.end()) if start else None
    if start is None or end is None:
        return None, text
    raw, body = text[start.end() : end.start()], text[end.end() :]
    if len(raw) > MAX_SIZE:
        raise Unreadable(f"its front matter has more than {MAX_SIZE} characters")
    fields = read_fields(raw)
    return (None, text) if fields is None else (fields, body)


def read_fields(raw: str) -> Fields | None:
    """Return the fields of some lines of YAML, or nearly YAML; None if they are not fields.

    Raises:
        Unreadable: it is a YAML bomb.
    """
    raw = raw.replace("\r\n", "\n")
    try:
        value = read_yaml(raw)
    except WrongYaml as wrong:
        if wrong.is_excessive:
            raise Unreadable(str(wrong)) from None
        value = _read_lines(raw)
    if value is None:
        return {}
    return value if isinstance(value, dict) else None


def find_fault(text: str) -> str | None:
    """Say what is wrong with the front matter of a text that lost a `---` line, or return None."""
    start = _START.match(text)
    if start is None:
        return None
    end = _END.search(text, start.end())
    if end is None:
        return "its front matter does not end. Add a line --- behind it"
    for line in text[start.end() : end.start()].splitlines():
        if line.strip() and line[0] not in " \t-#\"'" and not _KEY.match(line):
            return f"its front matter has a line that is not a field: {line[:60]!r}. Is a line --- missing before it?"
    return None


def read_document(text: str, limit: int) -> Any:
    """Return the value of a whole file of YAML.

    Raises:
        Unreadable: it is too long, or not YAML.
    """
    if len(text) > limit:
        raise Unreadable(f"it has more than {limit} characters")
    try:
        return read_yaml(text)
    except WrongYaml as wrong:
        raise Unreadable(str(wrong)) from None


def _read_lines(raw: str) -> Fields | None:
    """Read each field on its own; one that is not YAML is the text behind its colon."""
    blocks: list[list[str]] = []
    for line in raw.split("\n"):
        if line[:1] not in (" ", "\t", "-", "#", "") and _KEY.match(line):
            blocks.append([line])
        elif blocks:
            blocks[-1].append(line)
    found: Fields = {}
    for block in blocks:
        key = _KEY.match(block[0])
        assert key is not None, "a block begins with a key"
        try:
            value = read_yaml("\n".join(block))
            found |= value if isinstance(value, dict) else {}
        except WrongYaml:
            rest = [block[0][key.end() :], *(line.strip() for line in block[1:])]
            found[key[1]] = "\n".join(rest).strip().strip("\"'")
    return found or None


# -- writing ----------------------------------------------------------------------------------------------------

_PLAIN = re.compile(r"[A-Za-z](?:[\w ./()+,-]*[\w./()+])?")
_WORDS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}


def write(fields: Mapping[str, Any]) -> str:
    """Return front matter with its `---` lines, without fields that are None or empty lists."""
    lines = ["---"]
    for key, value in fields.items():
        if value is not None and value != [] and value != () and value != {}:
            lines += _write_field(key, value, "")
    return "\n".join([*lines, "---", ""])


def _write_field(key: str, value: Any, indent: str) -> list[str]:
    key = write_text(key)
    if isinstance(value, dict):
        return [
            f"{indent}{key}:",
            *(line for name, one in value.items() for line in _write_field(name, one, f"{indent}  ")),
        ]
    if isinstance(value, list | tuple):
        if not any(isinstance(one, dict | list) for one in value):
            return [f"{indent}{key}: [{', '.join(_write_scalar(one, in_list=True) for one in value)}]"]
        lines = [f"{indent}{key}:"]
        for one in value:
            inner = [line for name, part in one.items() for line in _write_field(name, part, f"{indent}    ")]
            lines += [f"{indent}  - {inner[0].strip()}", *inner[1:]] if inner else [f"{indent}  - {{}}"]
        return lines
    if isinstance(value, str) and _is_block(value):
        return [f"{indent}{key}: |-", *(f"{indent}  {line}" if line else "" for line in value.split("\n"))]
    return [f"{indent}{key}: {_write_scalar(value)}"]


def _is_block(text: str) -> bool:
    """Tell whether a text of several lines can be written as it is, indented."""
    lines = text.split("\n")
    return (
        len(lines) > 1
        and all(line.isprintable() and line == line.rstrip() for line in lines)
        and bool(lines[0])
        and bool(lines[-1])
        and not lines[0].startswith((" ", "#"))
    )


def _write_scalar(value: Any, *, in_list: bool = False) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    text = "" if value is None else str(value)
    return quote(text) if in_list and "," in text else write_text(text)


def write_text(text: str) -> str:
    """Return a text as YAML has it, in quotes if it needs them."""
    is_plain = _PLAIN.fullmatch(text) and text.isascii() and text.lower() not in _WORDS and "  " not in text
    return text if is_plain else quote(text)


def quote(text: str) -> str:
    """Return a text in double quotes, with escapes of YAML."""
    return '"' + "".join(_ESCAPES.get(one) or (one if one.isprintable() else _escape(one)) for one in text) + '"'


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def _escape(character: str) -> str:
    number = ord(character)
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
