"""Changes keys of one table of a TOML document by their position in the text.

`tomllib` reads the document and says what is wrong with it. Here only the statements of a readable document are found:
headers, and keys with their values. All lines but those of the table stay as they are.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from satchel.clients.jsonc import WrongSyntax

Path = tuple[str, ...]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_KEY_PART = re.compile(r"""[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'""")
_SPACE = re.compile(r"[ \t]*")
# What a value is made of: strings of all four kinds, comments inside arrays, and characters.
_PIECE = re.compile(
    r'"""(?:[^\\]|\\.)*?"""{1,3}(?!")|\'\'\'.*?\'{3,5}(?!\')|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#[^\n]*|[\[\]{}\n]'
    r"|[^\"'#\[\]{}\n]+",
    re.S,
)
_AT = re.compile(r" *\(at line (\d+), column (\d+)\)| *\(at end of document\)")


class Statement(NamedTuple):
    """A header, or a key with its value, with the lines that it stands on."""

    start: int
    end: int  # after the line break
    path: Path  # of the table or of the value, from the root
    value: tuple[int, int] | None = None  # where the value stands; None for a header
    is_array: bool = False  # a header in double brackets


def load(text: str) -> dict[str, Any]:
    """The value of a document.

    Raises:
        WrongSyntax: it is not TOML.
    """
    mark = len(text) - len(text.removeprefix("\ufeff"))
    try:
        return tomllib.loads(text[mark:])
    except tomllib.TOMLDecodeError as error:
        found = _AT.search(str(error))
        position = len(text)
        if found is not None and found.group(1) is not None:
            lines = text[mark:].split("\n")[: int(found.group(1)) - 1]
            position = mark + sum(len(line) + 1 for line in lines) + int(found.group(2)) - 1
        raise WrongSyntax(text, position, _AT.sub("", str(error))) from error
    except RecursionError as error:
        raise WrongSyntax(text, 0, "it is nested too deep") from error


def set_keys(text: str, path: Path, values: Mapping[str, Any], removed: Sequence[str] = ()) -> str:
    """A text in which some keys of a table have these values, and others are gone.

    Raises:
        WrongSyntax: the document cannot be read, or the table is part of an inline table.
    """
    before = load(text)
    own = _find_own(text, path)
    header = next((one for one in own if one.value is None and one.path == path), None)
    if header is None:
        table = {key: one for key, one in _look(before, path).items() if key not in removed}
        return _append(_cut(text, own), path, {**table, **values})
    for key in removed:
        text = _cut(text, _find_own(text, (*path, key)))
    for key, value in values.items():
        text = _set_key(text, path, key, value)
    return text


def remove_table(text: str, path: Path) -> str:
    """A text without a table, and without the blank lines before it; the same text where there is none.

    Raises:
        WrongSyntax: the document cannot be read, or the table is part of an inline table.
    """
    load(text)
    newline = _newline(text)
    for one in reversed(_find_own(text, path)):
        before, after = text[: one.start], text[one.end :]
        if one.value is None:
            before = before.rstrip("\r\n \t")
            after = after if before.removeprefix("\ufeff") else after.lstrip("\r\n")
            before += newline if before.removeprefix("\ufeff") else ""
        text = before + after
    return text


def _look(document: Any, path: Path) -> dict[str, Any]:
    for key in path:
        document = document.get(key, {}) if isinstance(document, dict) else {}
    return document if isinstance(document, dict) else {}


def _set_key(text: str, path: Path, key: str, value: Any) -> str:
    own = _find_own(text, (*path, key))
    if len(own) == 1 and own[0].value is not None and own[0].path == (*path, key):
        start, end = own[0].value
        return text[:start] + write(value) + text[end:]
    text = _cut(text, own)  # as dotted keys, or as a table of its own
    header = next(one for one in _find_own(text, path) if one.value is None and one.path == path)
    place = header.end
    for one in _find_statements(text):
        if one.start >= header.end:
            if one.value is None:
                break
            place = one.end
    newline = _newline(text)
    gap = "" if text[:place].endswith("\n") else newline
    return text[:place] + gap + f"{_write_key(key)} = {write(value)}{newline}" + text[place:]


def _append(text: str, path: Path, value: Mapping[str, Any]) -> str:
    newline = _newline(text)
    lines = [
        f"[{'.'.join(map(_write_key, path))}]",
        *(f"{_write_key(key)} = {write(one)}" for key, one in value.items()),
    ]
    rest = text.rstrip("\r\n \t")
    gap = newline * 2 if rest.removeprefix("\ufeff") else ""
    return (rest if gap else text) + gap + newline.join(lines) + newline


def _find_own(text: str, path: Path) -> list[Statement]:
    """The statements of a table or value and of those within it."""
    own = []
    for one in _find_statements(text):
        if one.path[: len(path)] == path:
            if one.is_array:
                raise WrongSyntax(text, one.start, f"{'.'.join(one.path)} is a list of tables here")
            own.append(one)
        elif one.value is not None and path[: len(one.path)] == one.path:
            what = f"{'.'.join(one.path)} should be a section in brackets here, not a value in one line"
            raise WrongSyntax(text, one.start, what)
    return own


def _find_statements(text: str) -> Iterator[Statement]:
    """Every header and every key of a document that tomllib can read. What is inside values is skipped."""
    position = 1 if text.startswith("\ufeff") else 0
    table: Path = ()
    while position < len(text):
        start = _skip_space(text, position)
        first = text[start : start + 1]
        if first in ("", "\n", "\r", "#"):
            position = _line_end(text, start)
        elif first == "[":
            is_array = text.startswith("[[", start)
            table, after = _read_key(text, start + (2 if is_array else 1))
            end = _line_end(text, after)
            yield Statement(position, end, table, is_array=is_array)
            position = end
        else:
            key, after = _read_key(text, start)
            value, end = _find_value(text, _skip_space(text, after + 1))
            yield Statement(position, end, (*table, *key), value)
            position = end


def _read_key(text: str, position: int) -> tuple[Path, int]:
    """A key with dots, and the position after it."""
    parts: list[str] = []
    while True:
        part = _KEY_PART.match(text, _skip_space(text, position))
        if part is None:
            raise WrongSyntax(text, position, "the key cannot be read")
        word = part.group()
        # tomllib itself decodes a quoted key.
        parts.append(word if _BARE.fullmatch(word) else next(iter(tomllib.loads(f"{word} = 1"))))
        position = _skip_space(text, part.end())
        if not text.startswith(".", position):
            return tuple(parts), position
        position += 1


def _find_value(text: str, start: int) -> tuple[tuple[int, int], int]:
    """Where the value that starts here stands, and the end of its last line; brackets may go over several lines."""
    depth, position, end = 0, start, start
    while position < len(text):
        piece = _PIECE.match(text, position)
        if piece is None:
            raise WrongSyntax(text, position, "the value cannot be read")
        word, position = piece.group(), piece.end()
        if word == "\n" and depth == 0:
            break
        depth += (word in ("[", "{")) - (word in ("]", "}"))
        if word.strip() and not word.startswith("#"):
            end = position - (len(word) - len(word.rstrip()))
    return (start, end), position


def _skip_space(text: str, position: int) -> int:
    space = _SPACE.match(text, position)
    assert space is not None, "the pattern matches the empty text"
    return space.end()


def _line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end + 1


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _cut(text: str, statements: Sequence[Statement]) -> str:
    for one in reversed(statements):
        text = text[: one.start] + text[one.end :]
    return text


def _write_key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _quote(key)


def write(value: Any) -> str:
    """A value as TOML, on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, list):
        return f"[{', '.join(map(write, value))}]"
    if isinstance(value, dict):
        inside = ", ".join(f"{_write_key(key)} = {write(one)}" for key, one in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    return str(value)  # numbers and times look the same in Python


def _quote(text: str) -> str:
    """A text in double quotes: what JSON escapes, TOML escapes alike, but for DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
