"""How commands end: the exit statuses, the codes of errors in JSON, and which error has which.

The codes are those of the tools of the `satchel` contract, and a few for what happens only on the command line.
"""

from typing import NamedTuple

from satchel.errors import (
    AmbiguousItem,
    AnswerTooLarge,
    EntryRefused,
    Forbidden,
    KeyReused,
    MissingBlocker,
    MissingPart,
    NotConfirmed,
    NotFound,
    NothingReady,
    QuotaExceeded,
    SatchelError,
    StaleFence,
    StoreError,
    Taken,
    TaskClosed,
    TaskHeld,
    VersionConflict,
    VersionMissing,
    WrongArgument,
    WrongEdit,
)


class Exit(NamedTuple):
    """One way to end."""

    status: int
    codes: tuple[str, ...]  # of the errors that end so
    meaning: str


EXITS = (
    Exit(0, (), "Done."),
    Exit(
        1,
        ("failed", "conflict", "unavailable", "internal"),
        "Failed: the store or a file cannot be used, a check found faults, or another was faster.",
    ),
    Exit(2, ("invalid_argument",), "Wrong usage: an unknown command or option, or a value that cannot be."),
    Exit(3, ("not_found", "forbidden"), "Not found: no such project, item, version or file."),
    Exit(5, ("already_exists",), "Already there: the name, title or URI is taken."),
    Exit(130, ("interrupted",), "Interrupted by Ctrl-C."),
)
STATUSES = {code: one.status for one in EXITS for code in one.codes}

_CODES: dict[type[SatchelError], str] = {  # the row of the most specific type counts
    SatchelError: "failed",
    StoreError: "unavailable",
    WrongArgument: "invalid_argument",
    WrongEdit: "invalid_argument",
    AmbiguousItem: "invalid_argument",
    AnswerTooLarge: "invalid_argument",
    NotFound: "not_found",
    MissingPart: "not_found",
    VersionMissing: "not_found",
    NothingReady: "not_found",
    Forbidden: "forbidden",
    QuotaExceeded: "forbidden",
    NotConfirmed: "forbidden",
    Taken: "already_exists",
    VersionConflict: "conflict",
    KeyReused: "conflict",
    MissingBlocker: "conflict",
    TaskHeld: "conflict",
    TaskClosed: "conflict",
    StaleFence: "conflict",
}


def code_of(error: SatchelError) -> str:
    """The code of an error."""
    if isinstance(error, EntryRefused):
        return code_of(error.cause)
    return next(_CODES[kind] for kind in type(error).__mro__ if kind in _CODES)
