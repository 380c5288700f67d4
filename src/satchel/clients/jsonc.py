"""Reads JSON with comments and trailing commas, and changes single members by their position in the text.

Comments, trailing commas, indentation and line endings of the rest stay as they are. A text that is not such JSON is
refused with line and column.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

MAX_DEPTH = 200  # levels of objects and arrays

_BLANK = re.compile(r"[ \t\r\n]*")
_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.S)
_STRING = re.compile(r'"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*"')
_SPACE = re.compile(r"[ \t]*")
_REST_OF_LINE = re.compile(r"(?:[ \t]|/\*[^\r\n]*?\*/)*(?://[^\r\n]*)?")
_SCALAR = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null")


class WrongSyntax(Exception):
    """A syntax error, with its position in the document."""

    def __init__(self, text: str, position: int, what: str) -> None:
        line, column = find_line(text, position)
        super().__init__(f"line {line}, column {column}: {what}")
        self.line, self.column, self.what = line, column, what


def find_line(text: str, position: int) -> tuple[int, int]:
    """Return line and column of a position, counted from 1; ignore a byte order mark."""
    before = text[:position].replace("\r\n", "\n").replace("\r", "\n")
    line = before.rpartition("\n")[2]
    return before.count("\n") + 1, len(line.lstrip("\ufeff")) + 1


class Node(NamedTuple):
    """A value and its position in the text; an object has members, and so has a list, with numbers as keys."""

    start: int
    end: int
    value: Any
    members: "tuple[Member, ...]" = ()


class Member(NamedTuple):
    """A member of an object or a list; `comma` is the position of the comma after it, or -1."""

    key: str | int
    start: int
    node: Node
    comma: int


class Document(NamedTuple):
    """A parsed text; `root` is None if there is nothing but white space and comments."""

    text: str
    root: Node | None
    has_comments: bool


def parse(text: str) -> Document:
    """Parse a text."""
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
    """Return the value of a document; an empty document is an empty object."""
    root = parse(text).root
    return {} if root is None else root.value


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self.has_extras = False  # comments or trailing commas, which strict readers refuse

    def skip(self, position: int) -> int:
        """Return the next position that is neither white space nor comment."""
        while True:
            blank = _BLANK.match(self._text, position)
            assert blank is not None, "the pattern matches the empty text"
            position = blank.end()
            if not self._text.startswith("/", position):
                return position
            comment = _COMMENT.match(self._text, position)
            if comment is None:
                what = "a comment does not end" if self._text.startswith("/*", position) else "this is not a value"
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
        except ValueError as error:  # Python refuses numbers of more than some thousand digits
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
        items: list[Member] = []
        position = self.skip(start + 1)
        while not self._text.startswith("]", position):
            node = self.read(position, depth + 1)
            after = self.skip(node.end)
            comma = after if self._text.startswith(",", after) else -1
            items.append(Member(len(items), position, node, comma))
            position = self._next(after, comma, "]")
        return Node(start, position + 1, [one.node.value for one in items], tuple(items))

    def _next(self, after: int, comma: int, end: str) -> int:
        """Return the position of the next member of an object or array, or of its end."""
        position = after if comma < 0 else self.skip(comma + 1)
        is_end = self._text.startswith(end, position)
        if comma < 0 and not is_end:
            raise WrongSyntax(self._text, position, f"there should be a comma or {end}")
        self.has_extras = self.has_extras or (is_end and comma >= 0)
        return position


# -- changing ---------------------------------------------------------------------------------------------------


def set_member(text: str, path: Sequence[str], value: Any) -> str:
    """Set a member of a document; missing objects on the path are made.

    Raises:
        WrongSyntax: the document cannot be read, or a value on the path is not an object or occurs twice.
    """
    root = parse(text).root
    style = _Style(text, root)
    if root is None:
        gap = "" if not text.lstrip("\ufeff") or text.endswith(("\n", "\r")) else style.newline
        return text + gap + style.write(_nest(path, value), "") + style.newline
    parent = _check_object(text, root, "the document")
    for depth, key in enumerate(path):
        member = _find(text, parent, key)
        if member is None:
            return _insert(text, parent, key, _nest(path[depth + 1 :], value), style)
        if depth == len(path) - 1:
            old = text[member.node.start : member.node.end]
            is_flat = not style.is_block(parent) or (isinstance(value, list) and "\n" not in old)
            written = style.write(value, style.indent_at(member.start), is_flat=is_flat)
            return text[: member.node.start] + written + text[member.node.end :]
        parent = _check_object(text, member.node, f'"{key}"')
    raise AssertionError("a path has at least one key")


def remove_member(text: str, path: Sequence[str | int]) -> str:
    """Remove a member from a document, or an entry from a list in it; return the text unchanged if there is none.

    Raises:
        WrongSyntax: the document cannot be read, or a value on the path has another type or occurs twice.
    """
    parent = parse(text).root
    for key in path[:-1]:
        member = None if parent is None else _find(text, _check_holder(text, parent, key), key)
        if member is None:
            return text
        parent = member.node
    if parent is None or _find(text, _check_holder(text, parent, path[-1]), path[-1]) is None:
        return text
    position = next(number for number, member in enumerate(parent.members) if member.key == path[-1])
    if len(parent.members) == 1:
        inside = text[parent.start + 1 : parent.members[0].start] + text[_end(parent.members[0]) : parent.end - 1]
        if not inside.strip():  # nothing else, not even a comment
            return text[: parent.start + 1] + text[parent.end - 1 :]
    return _remove(text, parent.members, position)


def append_item(text: str, path: Sequence[str], value: Any) -> str:
    """Append an entry to a list of a document; a missing list and missing objects on the path are created.

    Raises:
        WrongSyntax: the document cannot be read, or a value on the path has another type or occurs twice.
    """
    root = parse(text).root
    parent: Node | None = root
    for key in path:
        member = None if parent is None else _find(text, _check_object(text, parent, f"what holds {key!r}"), key)
        parent = None if member is None else member.node
    if parent is None:
        return set_member(text, path, [value])
    if not isinstance(parent.value, list):
        raise WrongSyntax(text, parent.start, f'"{path[-1]}" should be a list')
    return _insert(text, parent, "", value, _Style(text, root))


def _check_holder(text: str, node: Node, key: str | int) -> Node:
    is_list = isinstance(key, int) and isinstance(node.value, list)
    return node if is_list else _check_object(text, node, f"what holds {key!r}")


def _check_object(text: str, node: Node, what: str) -> Node:
    if not isinstance(node.value, dict):
        raise WrongSyntax(text, node.start, f"{what} should be an object")
    return node


def _find(text: str, parent: Node, key: str | int) -> Member | None:
    found = [member for member in parent.members if member.key == key]
    if len(found) > 1:
        line, _ = find_line(text, found[0].start)
        raise WrongSyntax(text, found[1].start, f'"{key}" is there a second time, after line {line}')
    return found[0] if found else None


def _nest(path: Sequence[str], value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


class _Style:
    """The indentation and the line endings of a document."""

    def __init__(self, text: str, root: Node | None) -> None:
        self._text = text
        self.newline = "\r\n" if "\r\n" in text else "\n"
        self.unit = "  "
        if root is not None and root.members and self.is_block(root):
            first = self.indent_at(root.members[0].start)
            own = self.indent_at(root.start)
            if first.startswith(own) and len(first) > len(own):
                self.unit = first[len(own) :]
        self.is_compact = root is not None and bool(root.members) and not self.is_block(root)

    def is_block(self, node: Node) -> bool:
        """Return whether the members of an object are on lines of their own."""
        if not node.members:
            return False
        return "\n" in self._text[node.start : node.members[0].start]

    def indent_at(self, position: int) -> str:
        """Return the indentation of the line at a position."""
        begin = max(self._text.rfind("\n", 0, position), self._text.rfind("\r", 0, position)) + 1
        line = self._text[begin:position].lstrip("\ufeff")
        return line[: len(line) - len(line.lstrip(" \t"))]

    def write(self, value: Any, indent: str, *, is_flat: bool = False) -> str:
        """Write a value as JSON with this indentation."""
        if is_flat or self.is_compact:
            return json.dumps(value, ensure_ascii=False)
        lines = json.dumps(value, indent=self.unit, ensure_ascii=False).split("\n")
        return (self.newline + indent).join(lines)


def _insert(text: str, parent: Node, key: str, value: Any, style: _Style) -> str:
    """Add a member at the end of an object, or an entry at the end of a list."""
    name = "" if isinstance(parent.value, list) else f"{json.dumps(key, ensure_ascii=False)}: "
    if not parent.members:
        return _fill(text, parent, name, value, style)
    last = parent.members[-1]
    end = _end(last)
    comma = "," if last.comma < 0 else ""
    if not style.is_block(parent):
        added = f" {name}{style.write(value, '', is_flat=True)}"
        return text[:end] + comma + added + ("" if comma else ",") + text[end:]
    indent = style.indent_at(parent.members[0].start)
    # A comment on the line of the last member stays with it.
    rest = _REST_OF_LINE.match(text, end)
    assert rest is not None, "the pattern matches the empty text"
    place = rest.end() if text[rest.end() : rest.end() + 1] in ("\n", "\r") else end
    added = f"{style.newline}{indent}{name}{style.write(value, indent)}" + ("" if comma else ",")
    return text[:end] + comma + text[end:place] + added + text[place:]


def _fill(text: str, parent: Node, name: str, value: Any, style: _Style) -> str:
    """Put the first member into an empty object or list, after the comments in it."""
    inside = text[parent.start + 1 : parent.end - 1].rstrip(" \t\r\n")
    if style.is_compact:
        end_of_comment = style.newline if "//" in inside else ""
        member = f"{name}{style.write(value, '')}"
        return text[: parent.start + 1] + inside + end_of_comment + member + text[parent.end - 1 :]
    own = style.indent_at(parent.start)
    indent = own + style.unit
    member = f"{style.newline}{indent}{name}{style.write(value, indent)}{style.newline}{own}"
    return text[: parent.start + 1] + inside + member + text[parent.end - 1 :]


def _end(member: Member) -> int:
    """Return the position after a member and its comma."""
    return member.node.end if member.comma < 0 else member.comma + 1


def _remove(text: str, members: Sequence[Member], position: int) -> str:
    member = members[position]
    start, end = member.start, _end(member)
    before = len(text[:start].rstrip(" \t"))
    rest = _REST_OF_LINE.match(text, end)
    assert rest is not None, "the pattern matches the empty text"
    begins_line = before == 0 or text[before - 1] in "\r\n"
    ends_line = rest.end() == len(text) or text[rest.end()] in "\r\n"
    if begins_line and ends_line:
        # Remove the whole line, with the line break before it.
        start, end = before, rest.end()
        start -= 2 if text[:start].endswith("\r\n") else min(start, 1)
    elif position == 0 or not begins_line:
        # On a line with others, also remove the space after it, or before it if it is the last.
        space = _SPACE.match(text, end)
        assert space is not None, "the pattern matches the empty text"
        if position < len(members) - 1:
            end = space.end()
        elif position > 0:
            start = before
    text = text[:start] + text[end:]
    previous = members[position - 1] if position else None
    if previous is not None and position == len(members) - 1 and member.comma < 0:
        text = text[: previous.comma] + text[previous.comma + 1 :]
    return text
