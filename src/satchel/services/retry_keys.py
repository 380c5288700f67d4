"""Keys that make calls idempotent: the first answer to a key is stored, and repeated calls get it again.

A key belongs to one user and one tool. A call asks `recall` first, and calls `remember` in the transaction of its
changes.
"""

from satchel import clock
from satchel.errors import KeyReused, StoreConflict, WrongArgument
from satchel.model import Scope
from satchel.services import rules
from satchel.storage import retry_keys as rows
from satchel.storage.database import Tx, Violation

MAX_KEY = 200  # characters
KEPT_DAYS = 7
MOST = 1_000  # keys of one user


def digest(scope: Scope, *parts: bytes) -> str:
    """Return a digest of a call's input, including the projects that its token may enter."""
    import hashlib  # few calls have a key

    opened = ["*"] if scope.projects is None else sorted(scope.projects)
    sum = hashlib.sha256("\n".join([scope.project, *opened]).encode())
    for part in parts:
        sum.update(b"\0%d\0" % len(part) + part)
    return sum.hexdigest()


def recall(tx: Tx, scope: Scope, tool: str, key: str, digest: str) -> bytes | None:
    """Return the answer to the earlier call of a tool with this key; None if there was no such call.

    Raises:
        WrongArgument: the key is empty, too long, or cannot be stored.
        KeyReused: the earlier call had other input.
    """
    rules.check_text("key", key)
    if not key.strip():
        raise WrongArgument("key", "minLength", limit=1)
    if len(key) > MAX_KEY:
        raise WrongArgument("key", "maxLength", limit=MAX_KEY)
    found = rows.find(tx, scope.owner, tool, key, clock.days_before(tx.now, KEPT_DAYS))
    if found is None:
        return None
    if found[0] != digest:
        raise KeyReused(key)
    return found[1]


def remember(tx: Tx, scope: Scope, tool: str, key: str, digest: str, answer: bytes) -> None:
    """Store the answer of the first call with a key.

    Raises:
        StoreConflict: the same call ran at the same time and was faster; a retry returns its answer.
    """
    # Before the insert: an expired key would otherwise conflict with the new one.
    rows.remove_oldest(tx, scope.owner, before=clock.days_before(tx.now, KEPT_DAYS), most=MOST - 1)
    try:
        rows.add(tx, scope.owner, tool, key, digest=digest, answer=answer)
    except Violation as violation:
        raise StoreConflict(f"another call with the key {key!r} was faster") from violation
