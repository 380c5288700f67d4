"""Arguments, and members of arguments, that no schema declares; for contracts that swallow nothing."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

Schema = dict[str, Any]

# What the host n8n adds to the arguments of every call, whatever the tool; a model does not write these.
_OF_HOSTS = frozenset(("toolCallId", "sessionId", "chatInput"))
_BESIDE_THEM = frozenset(("action", "tool"))


class UnknownName(Struct, frozen=True):
    """A name that a caller used, where a schema has others."""

    place: str  # what it is a member of, as in edits[0]; empty for an argument
    name: str
    known: tuple[str, ...]  # the names that there are, the required ones first
    given: tuple[str, ...]  # those of them that the caller used too

    @property
    def argument(self) -> str:
        """The argument that it is, or is in."""
        return self.place.partition(".")[0].partition("[")[0] or self.name


def drop_host_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments without those that a host added by itself."""
    if _OF_HOSTS.isdisjoint(arguments):
        return arguments
    return {name: value for name, value in arguments.items() if name not in _OF_HOSTS | _BESIDE_THEM}


def find_unknown(schema: Schema, value: Any, place: str = "") -> Iterator[UnknownName]:
    """Every unknown name in a value, from the outside in; what is of another type is left to the check of types."""
    if isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            yield from find_unknown(schema["items"], item, f"{place}[{index}]")
    if not isinstance(value, dict) or "properties" not in schema:
        return
    members: Schema = schema["properties"]
    given = tuple(name for name in value if name in members)
    if len(given) < len(value):
        required = schema.get("required", ())
        known = tuple(sorted(members, key=lambda name: name not in required))
        for name in value:
            if name not in members:
                yield UnknownName(place, name, known, given)
    for name in given:
        yield from find_unknown(members[name], value[name], f"{place}.{name}" if place else name)
