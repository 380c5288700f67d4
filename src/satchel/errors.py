"""The errors that callers may act on. They hold facts; each contract and the command line put them into words.

`Refused`: the request cannot be granted as it is. `StoreError`: the database is at fault. `AuthError`: the caller of a
request over HTTP cannot be identified.
"""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from satchel.model import Claim, Scope


class SatchelError(Exception):
    """Base of all errors that Satchel raises on purpose."""


class Refused(SatchelError):
    """A request that cannot be granted as it is."""


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
        self.kind = kind  # prompt, document, task, …, if the value breaks a rule of the store
        self.field = field
        self.rule = rule  # the JSON Schema keyword that it breaks, or maxBytes
        self.limit = limit  # the value of the keyword
        self.value = value  # the given value, or the offending item of a list
        self.place = place or field  # the path to the value, as in arguments[0].name

    @property
    def is_unstorable(self) -> bool:
        """Whether the value contains NUL or an unpaired surrogate, which no store accepts."""
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
        self.reason = reason  # what is wrong with the text to replace; same: nothing would change
        self.index = index  # the index of the edit, from 0
        self.count = count  # how often the text occurs
        self.lines = lines  # the first lines where it occurs
        self.near = near  # the line most similar to a missing text: its number and text


class MissingPart(Refused):
    """A text has no such heading, or several that match."""

    def __init__(self, heading: str, near: tuple[str, ...], *, is_ambiguous: bool = False) -> None:
        super().__init__(f"{'several headings are' if is_ambiguous else 'there is no heading'} {heading!r}")
        self.heading = heading
        self.near = near  # existing headings that are similar, or the possible ones
        self.is_ambiguous = is_ambiguous


class NotFound(Refused):
    """The scope has no such item."""

    def __init__(
        self, kind: str, key: str, scope: Scope, *, near: Mapping[str, str] | None = None, why: "Reason | None" = None
    ) -> None:
        super().__init__(f"{kind} {key!r} not found")
        self.kind = kind
        self.key = key
        self.scope = scope
        self.near = near or {}  # similar references, each with a title if it is only a number
        self.why = why


class Reason(Struct, frozen=True):
    """Why something was not found, in the words of a contract."""

    message: str = ""  # what happened to the item; replaces the sentence that it does not exist
    hint: str = ""
    is_deleted: bool = False


class UnknownAuthor(Refused):
    """Nobody of this name made a change that the caller may see."""

    def __init__(self, by: str, authors: tuple[str, ...]) -> None:
        super().__init__(f"no change is by {by!r}")
        self.by = by
        self.authors = authors  # the names of those who made the last changes, last first


class Forbidden(Refused):
    """The item belongs to another user, or the token does not allow the call."""

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
        self.advice = advice  # the remedy, if it is not just to choose another


class VersionConflict(Refused):
    """The item was changed after the caller read it."""

    def __init__(self, kind: str, key: str, *, expected: int, actual: int, why: str = "") -> None:
        super().__init__(f"{kind} {key!r} has version {actual}, not {expected}")
        self.why = why  # who changed it, when and what
        self.kind = kind
        self.key = key
        self.expected = expected
        self.actual = actual


class TaskHeld(Refused):
    """Another agent has claimed a task."""

    def __init__(self, number: int, claim: Claim, *, was_yours: bool = False, others: tuple[int, ...] = ()) -> None:
        super().__init__(f"task {number} is held by {claim.holder!r} until {claim.until}")
        self.number = number
        self.claim = claim
        self.others = others  # more tasks of the call that other agents have claimed
        self.was_yours = was_yours  # the holder took the task over from the caller


class TaskClosed(Refused):
    """A task is completed, cancelled or in review, and cannot be claimed."""

    def __init__(self, number: int, status: str) -> None:
        super().__init__(f"task {number} is {status}")
        self.number = number
        self.status = status


class StaleFence(Refused):
    """The fencing number in a call is not that of the newest claim on the task."""

    def __init__(self, number: int, fence: int, claim: Claim | None) -> None:
        super().__init__(f"{fence} is not the fence of task {number}")
        self.number = number
        self.fence = fence
        self.claim = claim  # the newest claim; None if the task was never claimed


class NothingReady(Refused):
    """There is no task that could be claimed."""

    def __init__(self, project: str | None, *, blocked: int, held: int) -> None:
        super().__init__(f"nothing is ready: {blocked} tasks are blocked, {held} are held")
        self.project = project
        self.blocked = blocked
        self.held = held


class EntryRefused(Refused):
    """One of several entries is refused, and therefore all of them."""

    def __init__(self, place: str, cause: Refused) -> None:
        super().__init__(f"{place}: {cause}")
        self.place = place  # such as lines[3]
        self.cause = cause


class KeyReused(Refused):
    """An earlier call with other input had the same retry key."""

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
        self.kept = kept  # the readable versions, newest first


class LabelMissing(Refused):
    """No version of a prompt has this label."""

    def __init__(self, key: str, label: str, known: tuple[str, ...]) -> None:
        super().__init__(f"prompt {key!r} has no label {label!r}")
        self.key = key
        self.label = label
        self.known = known  # the labels that the prompt has


class AmbiguousItem(Refused):
    """Several items have the name that a call gave."""

    def __init__(self, key: str, references: tuple[str, ...], *, kind: str = "item", has_more: bool = False) -> None:
        super().__init__(f"{key!r} is the name of {' and '.join(references)}")
        self.key = key
        self.references = references  # references that identify the items
        self.kind = kind
        self.has_more = has_more  # there are more than these


class NotConfirmed(Refused):
    """The user was asked to confirm a call, and did not say yes."""

    def __init__(self, action: str) -> None:
        super().__init__(f"the user was asked: {action}")
        self.action = action  # decline, or cancel if the question was closed or never answered


class QuotaExceeded(Refused):
    """The call would exceed the amount that the user may store."""

    def __init__(self, what: Literal["items", "bytes"], limit: int) -> None:
        super().__init__(f"a user may keep {limit} {what}")
        self.what = what
        self.limit = limit

    @property
    def explanation(self) -> str:
        """The limit and what counts towards it, in a sentence without a full stop."""
        return f"You may keep at most {self.limit} {self.what}, deleted and replaced ones included until they expire"


class AnswerTooLarge(Refused):
    """The answer would exceed the limit."""

    def __init__(self, what: str, limit: int, argument: str | None = None) -> None:
        super().__init__(f"the answer to {what} is larger than {limit} bytes")
        self.what = what  # the tool or the method
        self.limit = limit  # in bytes
        self.argument = argument  # the argument by which the caller may ask for less


class StoreError(SatchelError):
    """The database, not the request, is at fault."""


class StoreFailed(StoreError):
    """The database failed while serving: disk full, connection lost, locked too long, a table missing."""


class StoreConflict(StoreFailed):
    """Another transaction or a lost connection ended the transaction; nothing was changed, and a retry may succeed."""


class OutcomeUnknown(StoreFailed):
    """The connection was lost during a commit, so that either everything was done or nothing."""


class StoreGone(StoreFailed):
    """The store's file was removed or replaced while it was open; the process must be restarted."""


class TooCostly(StoreFailed):
    """The transaction was rolled back because a statement took too long."""


class StoreUnusable(StoreError):
    """The store cannot be opened; the message gives the reason and the next step."""


class StoreMissing(StoreUnusable):
    """There is no store yet."""

    def __init__(self, message: str, store: str) -> None:
        super().__init__(message)
        self.store = store  # its path, or the name of its database


class Abandoned(Exception):
    """The client left or cancelled its call. The call is never answered."""


class AuthError(Exception):
    """The caller cannot be identified; raised before any contract runs."""


class Unauthorized(AuthError):
    """The token of a request is not valid here; the description quotes nothing from it."""

    def __init__(self, description: str) -> None:
        super().__init__(description)
        self.description = description  # goes into a header: ASCII without quotes and backslashes


class AuthUnavailable(AuthError):
    """The keys of the issuer cannot be fetched."""


class AuthUnusable(AuthError):
    """The settings of OAuth cannot work; the message says what is wrong and which setting to check."""
