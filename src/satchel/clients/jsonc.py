"""Reads JSON with comments and trailing commas, and where each member of an object stands in the text.

Anything else is refused with its line and column.
"""

import json
import re
from typing import Any, NamedTuple

MAX_DEPTH = 200  # levels of objects and arrays

_BLANK = re.compile(r"[ \t\r\n]*")
_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.S)
_STRING = re.compile(r'"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*"')
_SCALAR = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null")


class WrongSyntax(Exception):
    """A document cannot be read; `position` is where."""

    def __init__(self, text: str, position: int, what: str) -> None:
        line, column = find_line(text, position)
        super().__init__(f"line {line}, column {column}: {what}")
        self.line, self.column, self.what = line, column, what


def find_line(text: str, position: int) -> tuple[int, int]:
    """Line and column of a position, both counted from 1; a byte order mark is in no column."""
    before = text[:position].replace("\r\n", "\n").replace("\r", "\n")
    line = before.rpartition("\n")[2]
    return before.count("\n") + 1, len(line.lstrip("\ufeff")) + 1


class Node(NamedTuple):
    """A value and where it stands; `members` are those of an object."""

    start: int
    end: int
    value: Any
    members: "tuple[Member, ...]" = ()


class Member(NamedTuple):
    """A member of an object; `comma` is the position of the comma after it, or -1."""

    key: str
    start: int
    node: Node
    comma: int


class Document(NamedTuple):
    """A parsed text. `root` is None where there is nothing but white space and comments."""

    text: str
    root: Node | None
    has_comments: bool


def parse(text: str) -> Document:
    """Parse a text.

    Raises:
        WrongSyntax: it is not JSON with comments.
    """
    parser = _Parser(text)
    start = parser.skip(1 if text.startswith("\ufeff") else 0)
    root = None
    if start < len(text):
        root = parser.read(start, 0)
        after = parser.skip(root.end)
        if after < len(text):
            raise WrongSyntax(text, after, "there is something after the end of the document")
    return Document(text, root, parser.has_extras)


def load(text: str) -> Any:
    """The value of a document; an empty one is an empty object.

    Raises:
        WrongSyntax: it is not JSON with comments.
    """
    root = parse(text).root
    return {} if root is None else root.value


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self.has_extras = False  # comments or trailing commas, which strict readers refuse

    def skip(self, position: int) -> int:
        """The next position that is neither white space nor comment."""
        while True:
            blank = _BLANK.match(self._text, position)
            assert blank is not None, "the pattern matches the empty text"
            position = blank.end()
            if not self._text.startswith("/", position):
                return position
            comment = _COMMENT.match(self._text, position)
            if comment is None:
                what = "a comment does not end" if self._text.startswith("/*", position) else "a value cannot begin so"
                raise WrongSyntax(self._text, position, what)
            self.has_extras = True
            position = comment.end()

    def read(self, start: int, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise WrongSyntax(self._text, start, f"it is nested more than {MAX_DEPTH} levels deep")
        first = self._text[start : start + 1]
        if first == "{":
            return self._read_object(start, depth)
        if first == "[":
            return self._read_array(start, depth)
        found = (_STRING if first == '"' else _SCALAR).match(self._text, start)
        if found is None:
            raise WrongSyntax(self._text, start, self._explain(start))
        try:
            return Node(start, found.end(), json.loads(found.group()))
        except ValueError as error:  # Python reads no number of more than some thousand digits
            raise WrongSyntax(self._text, start, "the number is too long") from error

    def _explain(self, start: int) -> str:
        first = self._text[start : start + 1]
        if not first:
            return "the text ends where a value should be"
        if first == '"':
            return "a string does not end on its line, or has a character that must be escaped"
        return f"there should be a value, not {first!r}"

    def _read_object(self, start: int, depth: int) -> Node:
        members: list[Member] = []
        position = self.skip(start + 1)
        while not self._text.startswith("}", position):
            key = _STRING.match(self._text, position)
            if key is None:
                raise WrongSyntax(self._text, position, "there should be a name in double quotes, or }")
            colon = self.skip(key.end())
            if not self._text.startswith(":", colon):
                raise WrongSyntax(self._text, colon, "there should be a colon after the name")
            node = self.read(self.skip(colon + 1), depth + 1)
            after = self.skip(node.end)
            comma = after if self._text.startswith(",", after) else -1
            members.append(Member(json.loads(key.group()), position, node, comma))
            position = self._next(after, comma, "}")
        value = {member.key: member.node.value for member in members}
        return Node(start, position + 1, value, tuple(members))

    def _read_array(self, start: int, depth: int) -> Node:
        items: list[Any] = []
        position = self.skip(start + 1)
        while not self._text.startswith("]", position):
            node = self.read(position, depth + 1)
            items.append(node.value)
            after = self.skip(node.end)
            position = self._next(after, after if self._text.startswith(",", after) else -1, "]")
        return Node(start, position + 1, items)

    def _next(self, after: int, comma: int, end: str) -> int:
        """The position of the next member or of the end of its object or array."""
        position = after if comma < 0 else self.skip(comma + 1)
        is_end = self._text.startswith(end, position)
        if comma < 0 and not is_end:
            raise WrongSyntax(self._text, position, f"there should be a comma or {end}")
        self.has_extras = self.has_extras or (is_end and comma >= 0)
        return position
