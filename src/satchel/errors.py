"""The errors that callers may act on. They hold facts; each contract and the command line put them into words.

SatchelError
├── Refused              the request cannot be granted as it stands
│   ├── WrongArgument    an argument is missing, has the wrong type, or is out of bounds
│   ├── WrongEdit        an edit does not fit the text
│   ├── MissingPart      a text has no such heading
│   ├── NotFound         the scope has no such item
│   ├── Forbidden        it belongs to another user, or the token does not allow it
│   ├── Taken            something else already has this name, title or URI
│   ├── VersionConflict  it was changed after the caller read it
│   ├── TaskHeld         another agent has claimed a task
│   ├── TaskClosed       a task is completed or cancelled, and cannot be claimed
│   ├── StaleFence       the fencing number of a call is not that of the newest claim
│   ├── NothingReady     no task can be claimed
│   ├── EntryRefused     one entry of several is refused, and so all are
│   ├── KeyReused        a call with other input had this retry key
│   ├── VersionMissing   history does not have this version
│   ├── AmbiguousItem    several items have this name
│   ├── NotConfirmed     the user was asked, and did not say yes
│   ├── QuotaExceeded    the user would keep more than they may
│   └── AnswerTooLarge   the answer would exceed the limit
└── StoreError           the database, not the request, is at fault
    ├── StoreFailed      it failed while serving: disk full, connection lost, locked too long, a table missing
    │   ├── StoreConflict    another call won, or the connection was lost before the commit
    │   ├── StoreGone        its file was removed or replaced: start again
    │   └── TooCostly        the transaction was ended because a statement took too long: ask for less
    └── StoreUnusable    it cannot be opened: another program's, newer, damaged or unreachable
        └── StoreMissing     there is none yet

Abandoned                nobody waits for the answer; raised between the parts of a call, and never sent

AuthError                the caller cannot be identified; raised over HTTP, before any contract runs
├── Unauthorized         the token is unknown, malformed, expired, revoked, or for another server
├── AuthUnavailable      the keys of the issuer cannot be fetched
└── AuthUnusable         the settings of OAuth cannot work
"""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from satchel.model import Claim, Scope


class SatchelError(Exception):
    """Base of all errors that Satchel raises on purpose."""


class Refused(SatchelError):
    """The request cannot be granted as it stands."""


class WrongArgument(Refused):
    """An argument is missing, has the wrong type, or is out of bounds."""

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
        self.kind = kind  # prompt, document, task, … if the value breaks a rule of the store
        self.field = field
        self.rule = rule  # the JSON Schema keyword that it breaks, or maxBytes
        self.limit = limit  # the value of the keyword
        self.value = value  # the given value; for an item of a list, the item
        self.place = place or field  # the path to the value, as in arguments[0].name

    @property
    def is_unstorable(self) -> bool:
        """Whether the value is a text with NUL or a lone surrogate, which no store accepts."""
        return self.rule == "type" and self.limit == "text"


class WrongEdit(Refused):
    """An edit does not fit its text."""

    def __init__(
        self,
        reason: Literal["empty", "absent", "repeated", "same"],
        *,
        index: int,
        count: int = 0,
        lines: tuple[int, ...] = (),
        near: tuple[int, str] | None = None,
    ) -> None:
        super().__init__(f"edit {index}: {reason}")
        self.reason = reason  # about the text to replace; same: nothing would change
        self.index = index  # of the edit, from 0 on
        self.count = count  # how often the text occurs
        self.lines = lines  # the lines of the first occurrences
        self.near = near  # the line most similar to an absent text: its number and text


class MissingPart(Refused):
    """A text has no heading of this text."""

    def __init__(self, heading: str, near: tuple[str, ...]) -> None:
        super().__init__(f"there is no heading {heading!r}")
        self.heading = heading
        self.near = near  # headings that it has


class NotFound(Refused):
    """The scope has no such item."""

    def __init__(
        self,
        kind: str,
        key: str,
        scope: Scope,
        *,
        near: Mapping[str, str] | None = None,
        why: "Reason | None" = None,
    ) -> None:
        super().__init__(f"{kind} {key!r} not found")
        self.kind = kind
        self.key = key
        self.scope = scope
        self.near = near or {}  # similar references, each with its title if it is only a number
        self.why = why


class Reason(Struct, frozen=True):
    """The reason why an item was not found, in the words of a contract."""

    message: str = ""  # the fate of the item, which replaces the sentence that it does not exist
    hint: str = ""
    is_deleted: bool = False


class Forbidden(Refused):
    """It belongs to another user, or the token does not allow it."""

    def __init__(self, kind: str, key: str, scope: Scope) -> None:
        super().__init__(f"{kind} {key!r} is not accessible")
        self.kind = kind
        self.key = key
        self.scope = scope


class Taken(Refused):
    """Another item already has this name, title or URI, which must be unique."""

    def __init__(
        self, kind: str, field: str, key: str, scope: Scope, *, holder: str | None = None, advice: str = ""
    ) -> None:
        super().__init__(f"{kind} with {field} {key!r} already exists")
        self.kind = kind
        self.field = field
        self.key = key
        self.scope = scope
        self.holder = holder  # the name of the other item, if known
        self.advice = advice  # the remedy, unless it is to choose another value


class VersionConflict(Refused):
    """It was changed after the caller read it."""

    def __init__(self, kind: str, key: str, *, expected: int, actual: int) -> None:
        super().__init__(f"{kind} {key!r} has version {actual}, not {expected}")
        self.kind = kind
        self.key = key
        self.expected = expected
        self.actual = actual


class TaskHeld(Refused):
    """Another agent has claimed a task."""

    def __init__(self, number: int, claim: Claim) -> None:
        super().__init__(f"task {number} is held by {claim.holder!r} until {claim.until}")
        self.number = number
        self.claim = claim


class TaskClosed(Refused):
    """A task is completed or cancelled, and cannot be claimed."""

    def __init__(self, number: int, status: str) -> None:
        super().__init__(f"task {number} is {status}")
        self.number = number
        self.status = status


class StaleFence(Refused):
    """The fencing number of a call is not that of the newest claim of the task."""

    def __init__(self, number: int, fence: int, claim: Claim | None) -> None:
        super().__init__(f"{fence} is not the fence of task {number}")
        self.number = number
        self.fence = fence
        self.claim = claim  # the newest fence; None: the task was never claimed


class NothingReady(Refused):
    """No task can be claimed."""

    def __init__(self, project: str | None, *, blocked: int, held: int) -> None:
        super().__init__(f"nothing is ready: {blocked} tasks are blocked, {held} are held")
        self.project = project
        self.blocked = blocked
        self.held = held


class EntryRefused(Refused):
    """One entry of several is refused, and so all are."""

    def __init__(self, place: str, cause: Refused) -> None:
        super().__init__(f"{place}: {cause}")
        self.place = place  # as in lines[3]
        self.cause = cause


class KeyReused(Refused):
    """A call with other input had this retry key before."""

    def __init__(self, key: str) -> None:
        super().__init__(f"the key {key!r} was used for other input")
        self.key = key


class VersionMissing(Refused):
    """History does not have this version of an item: there never was one, or it was pruned."""

    def __init__(self, kind: str, key: str, version: int, kept: tuple[int, ...]) -> None:
        super().__init__(f"{kind} {key!r} has no version {version}")
        self.kind = kind
        self.key = key
        self.version = version
        self.kept = kept  # the versions that can be read, the newest first


class AmbiguousItem(Refused):
    """Several items have the name that a call gave."""

    def __init__(self, key: str, references: tuple[str, ...], *, kind: str = "item", has_more: bool = False) -> None:
        super().__init__(f"{key!r} is the name of {' and '.join(references)}")
        self.key = key
        self.references = references  # that distinguish the items
        self.kind = kind
        self.has_more = has_more  # there are more than these


class NotConfirmed(Refused):
    """The user was asked to confirm a call, and did not say yes."""

    def __init__(self, action: str) -> None:
        super().__init__(f"the user was asked: {action}")
        self.action = action  # decline, or cancel if the question was closed or never answered


class QuotaExceeded(Refused):
    """The user would keep more than they may."""

    def __init__(self, what: Literal["items", "bytes"], limit: int) -> None:
        super().__init__(f"a user may keep {limit} {what}")
        self.what = what
        self.limit = limit

    @property
    def explanation(self) -> str:
        """The limit and what counts towards it, as a sentence without its full stop."""
        return f"You may keep at most {self.limit} {self.what}, deleted and replaced ones included until they expire"


class AnswerTooLarge(Refused):
    """The answer would exceed the limit."""

    def __init__(self, what: str, limit: int, argument: str | None = None) -> None:
        super().__init__(f"the answer to {what} is larger than {limit} bytes")
        self.what = what  # the tool or the method
        self.limit = limit  # in bytes
        self.argument = argument  # the argument with which the caller can ask for less


class StoreError(SatchelError):
    """The database, not the request, is at fault."""


class StoreFailed(StoreError):
    """The database failed while serving."""


class StoreConflict(StoreFailed):
    """Nothing was done, because of another transaction or a lost connection; the call can be repeated."""


class StoreGone(StoreFailed):
    """The file of the store was removed or replaced; the process must be restarted."""


class TooCostly(StoreFailed):
    """The transaction was ended because a statement took too long; nothing of it remains."""


class StoreUnusable(StoreError):
    """The database cannot be opened; the message has the reason and the remedy."""


class StoreMissing(StoreUnusable):
    """There is no store yet."""

    def __init__(self, message: str, store: str) -> None:
        super().__init__(message)
        self.store = store  # its path, or the name of its database


class Abandoned(Exception):
    """Nobody waits for the answer of a call any more: the client disconnected or cancelled it."""


class AuthError(Exception):
    """The caller cannot be identified."""


class Unauthorized(AuthError):
    """The token of a request is not valid here; the description quotes nothing from it."""

    def __init__(self, description: str) -> None:
        super().__init__(description)
        self.description = description  # goes into a header: ASCII without quotes and backslashes


class AuthUnavailable(AuthError):
    """The keys of the issuer cannot be fetched."""


class AuthUnusable(AuthError):
    """The settings of OAuth cannot work; the message says what is wrong and which setting to check."""
