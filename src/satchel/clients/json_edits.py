"""Changes one member of a JSON document by its position in the text.

Comments, trailing commas, indentation and line ends of the rest stay as they are.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from satchel.clients.jsonc import Member, Node, WrongSyntax, find_line, parse

_SPACE = re.compile(r"[ \t]*")
_REST_OF_LINE = re.compile(r"(?:[ \t]|/\*[^\r\n]*?\*/)*(?://[^\r\n]*)?")


def set_member(text: str, path: Sequence[str], value: Any) -> str:
    """A text with a member set; objects on the way to it are made where they are missing.

    Raises:
        WrongSyntax: the document cannot be read, something on the way is no object, or is there twice.
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


def remove_member(text: str, path: Sequence[str]) -> str:
    """A text without a member; the same text where there is none.

    Raises:
        WrongSyntax: the document cannot be read, something on the way is no object, or is there twice.
    """
    parent = parse(text).root
    for key in path[:-1]:
        member = None if parent is None else _find(text, _check_object(text, parent, f"what holds {key!r}"), key)
        if member is None:
            return text
        parent = member.node
    if parent is None or _find(text, _check_object(text, parent, f"what holds {path[-1]!r}"), path[-1]) is None:
        return text
    position = next(number for number, member in enumerate(parent.members) if member.key == path[-1])
    if len(parent.members) == 1:
        inside = text[parent.start + 1 : parent.members[0].start] + text[_end(parent.members[0]) : parent.end - 1]
        if not inside.strip():  # nothing else, not even a comment
            return text[: parent.start] + "{}" + text[parent.end :]
    return _remove(text, parent.members, position)


def _check_object(text: str, node: Node, what: str) -> Node:
    if not isinstance(node.value, dict):
        raise WrongSyntax(text, node.start, f"{what} should be an object")
    return node


def _find(text: str, parent: Node, key: str) -> Member | None:
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
    """How a document is indented, and how its lines end."""

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
        """Whether the members of an object are on lines of their own."""
        if not node.members:
            return False
        return "\n" in self._text[node.start : node.members[0].start]

    def indent_at(self, position: int) -> str:
        """The white space at the beginning of the line of a position."""
        begin = max(self._text.rfind("\n", 0, position), self._text.rfind("\r", 0, position)) + 1
        line = self._text[begin:position].lstrip("\ufeff")
        return line[: len(line) - len(line.lstrip(" \t"))]

    def write(self, value: Any, indent: str, *, is_flat: bool = False) -> str:
        """A value as text, for a place with this indentation."""
        if is_flat or self.is_compact:
            return json.dumps(value, ensure_ascii=False)
        lines = json.dumps(value, indent=self.unit, ensure_ascii=False).split("\n")
        return (self.newline + indent).join(lines)


def _insert(text: str, parent: Node, key: str, value: Any, style: _Style) -> str:
    """A text with a member added at the end of an object."""
    name = json.dumps(key, ensure_ascii=False)
    if not parent.members:
        return _fill(text, parent, name, value, style)
    last = parent.members[-1]
    end = _end(last)
    comma = "," if last.comma < 0 else ""
    if not style.is_block(parent):
        added = f" {name}: {style.write(value, '', is_flat=True)}"
        return text[:end] + comma + added + ("" if comma else ",") + text[end:]
    indent = style.indent_at(parent.members[0].start)
    # A comment after the last member, on its line, stays with it.
    rest = _REST_OF_LINE.match(text, end)
    assert rest is not None, "the pattern matches the empty text"
    place = rest.end() if text[rest.end() : rest.end() + 1] in ("\n", "\r") else end
    added = f"{style.newline}{indent}{name}: {style.write(value, indent)}" + ("" if comma else ",")
    return text[:end] + comma + text[end:place] + added + text[place:]


def _fill(text: str, parent: Node, name: str, value: Any, style: _Style) -> str:
    """A text with the first member put into an empty object; comments in it stay before the member."""
    inside = text[parent.start + 1 : parent.end - 1].rstrip(" \t\r\n")
    if style.is_compact:
        end_of_comment = style.newline if "//" in inside else ""
        member = f"{name}: {style.write(value, '')}"
        return text[: parent.start + 1] + inside + end_of_comment + member + text[parent.end - 1 :]
    own = style.indent_at(parent.start)
    indent = own + style.unit
    member = f"{style.newline}{indent}{name}: {style.write(value, indent)}{style.newline}{own}"
    return text[: parent.start + 1] + inside + member + text[parent.end - 1 :]


def _end(member: Member) -> int:
    """The position after a member and its comma."""
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
        # The whole line, with the line break before it.
        start, end = before, rest.end()
        start -= 2 if text[:start].endswith("\r\n") else min(start, 1)
    elif position == 0 or not begins_line:
        # On a line with others: the space after it goes too, or the space before the last one.
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
