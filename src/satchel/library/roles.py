"""Prompts with several messages: sections that begin with a line `user:`, `assistant:` or `system:`."""

import re
from collections.abc import Iterable

_ROLES = ("user", "assistant", "system")

# This is the form of Prompty; `role: user` is read, too.
_LINE = re.compile(r"^(?:role:[ \t]*({0})|({0}):)[ \t]*\r?$".format("|".join(_ROLES)), re.M)
_FIRST = re.compile(r"\s*(?:role:[ \t]*(?:{0})|(?:{0}):)[ \t]*\r?(?:\n|\Z)".format("|".join(_ROLES)))

Message = tuple[str, str]  # a role of MCP, `user` or `assistant`, and a text


def has_sections(source: str) -> bool:
    """Return whether a text begins with a line such as `user:`."""
    return _FIRST.match(source) is not None


def mark(source: str, token: str) -> str:
    """Put a mark in place of each line that begins a section; line numbers stay the same.

    This happens before a template is rendered, so that a value cannot begin a message.
    """
    return _LINE.sub(lambda found: f"\0{token}{_ROLES.index(found[1] or found[2])}\0", source)


def split_marked(text: str, token: str) -> list[Message]:
    """Split a text with marks into messages.

    Raises:
        ValueError: something changed a mark.
    """
    first, *rest = re.split(f"\0{token}([0-{len(_ROLES) - 1}])\0", text)
    if any(token in part or "\0" in part for part in (first, *rest[1::2])):
        raise ValueError("a line that begins a section is in a filter or an expression that changes it")
    return _make_messages([("user", first), *zip((_ROLES[int(one)] for one in rest[::2]), rest[1::2], strict=True)])


def split_text(text: str) -> list[Message]:
    """Split a text that is not a template into messages."""
    if not has_sections(text):
        return [("user", text)]
    found = list(_LINE.finditer(text))
    ends = [one.start() for one in found[1:]] + [len(text)]
    return _make_messages((one[1] or one[2], text[one.end() : end]) for one, end in zip(found, ends, strict=True))


def _make_messages(sections: Iterable[tuple[str, str]]) -> list[Message]:
    """Make messages of sections that are not empty. MCP has no role `system`, so such a section becomes the user's."""
    plain = [("assistant" if role == "assistant" else "user", part.strip("\r\n")) for role, part in sections]
    return [one for one in plain if one[1].strip()] or [("user", "")]
