"""How much a user may keep. Checked after each change, in its transaction, so that a refused one leaves nothing."""

from satchel.errors import QuotaExceeded
from satchel.storage import users
from satchel.storage.database import Tx

# What transactions that are not committed yet may add together. Within so much of a limit, they wait for each other.
_MARGIN_ITEMS = 10_000
_MARGIN_BYTES = 256 * 1024 * 1024


def check(tx: Tx) -> None:
    """Check what the user of a transaction keeps, its own changes included.

    Raises:
        QuotaExceeded: it is more than they may.
    """
    quota = tx.scope.quota
    if quota is None:
        return
    user = tx.scope.author.user or tx.scope.user or ""
    items, size = users.read_usage(tx, user)
    is_near = (quota.items and items > quota.items - _MARGIN_ITEMS) or (
        quota.bytes and size > quota.bytes - _MARGIN_BYTES
    )
    if is_near:
        tx.lock(f"usage of {user}")
        items, size = users.read_usage(tx, user)  # now with those that were committed meanwhile
    if quota.items and items > quota.items:
        raise QuotaExceeded("items", quota.items)
    if quota.bytes and size > quota.bytes:
        raise QuotaExceeded("bytes", quota.bytes)
