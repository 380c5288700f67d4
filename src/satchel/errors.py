"""The errors that callers may act on. Facts inside; each door finds its own words for them.

SatchelError
├── Refused              the request cannot be granted as it stands
│   ├── WrongArgument    an argument is missing, of the wrong type, or out of bounds
│   ├── NotFound         there is no such thing in this scope
│   ├── Forbidden        it is somebody else's
│   ├── Taken            something else already has this name, title or URI
│   ├── Unauthorized     nobody knows who asks: the token is wrong; said over HTTP, before any contract is asked
│   └── VersionConflict  it was changed since the caller looked at it
└── StoreError           the database, not the request, is at fault
    ├── StoreFailed      it failed while serving: disk full, connection lost, locked too long
    │   └── StoreConflict    two writers got in each other's way, and this one was undone: it may try again
    └── StoreUnusable    it cannot be opened: not ours, newer than we are, corrupt, out of reach
"""

from satchel.model import Scope


class SatchelError(Exception):
    """Whatever Satchel raises on purpose."""


class Refused(SatchelError):
    """The request cannot be granted as it stands."""


class WrongArgument(Refused):
    """An argument is missing, of the wrong type, or out of bounds."""

    def __init__(
        self,
        field: str,
        rule: str,
        *,
        limit: object = None,
        value: object = None,
        kind: str | None = None,
        place: str | None = None,
    ) -> None:
        super().__init__(f"{field}: {rule}")
        self.kind = kind  # of the thing that it is an argument about, where a rule of that thing is offended
        self.field = field
        self.rule = rule  # the JSON Schema keyword that it offends, or maxBytes
        self.limit = limit  # what the keyword demands
        self.value = value  # what was given; for an item of a list, the item
        self.place = place or field  # where in the argument, as in arguments[0].name


class NotFound(Refused):
    """There is no such thing in this scope."""

    def __init__(self, kind: str, key: str, scope: Scope) -> None:
        super().__init__(f"{kind} {key!r} not found")
        self.kind = kind
        self.key = key
        self.scope = scope


class Forbidden(Refused):
    """It is somebody else's."""

    def __init__(self, kind: str, key: str, scope: Scope) -> None:
        super().__init__(f"{kind} {key!r} belongs to somebody else")
        self.kind = kind
        self.key = key
        self.scope = scope


class Taken(Refused):
    """Something else already has what should be unique."""

    def __init__(self, kind: str, field: str, key: str, scope: Scope, *, holder: str | None = None) -> None:
        super().__init__(f"{kind} with {field} {key!r} already exists")
        self.kind = kind
        self.field = field
        self.key = key
        self.scope = scope
        self.holder = holder  # the name of what has it, where that is known


class Unauthorized(Refused):
    """The token of a request is none that counts; the description quotes nothing from it."""

    def __init__(self, description: str) -> None:
        super().__init__(description)
        self.description = description  # plain enough to stand in a header: ASCII without quotes and backslashes


class VersionConflict(Refused):
    """It was changed since the caller looked at it."""

    def __init__(self, kind: str, key: str, *, expected: int, actual: int) -> None:
        super().__init__(f"{kind} {key!r} has version {actual}, not {expected}")
        self.kind = kind
        self.key = key
        self.expected = expected
        self.actual = actual


class StoreError(SatchelError):
    """The database, not the request, is at fault."""


class StoreFailed(StoreError):
    """The database failed while serving."""


class StoreConflict(StoreFailed):
    """Two writers got in each other's way, and this one was undone: it may try again."""


class StoreUnusable(StoreError):
    """The database cannot be opened; the message says what, why and what next."""
