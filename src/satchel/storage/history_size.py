"""What history and trash cost, for the operator of a store."""

from msgspec import Struct

from satchel.model import ItemKind, Timestamp
from satchel.storage import trash
from satchel.storage.database import Tx

TABLES = ("revisions", "revision_states", "authors")  # that exist for history alone


class HistorySize(Struct, frozen=True, kw_only=True):
    """How much history there is."""

    revisions: int
    oldest: Timestamp | None  # the time of the first revision
    states: int  # versions that are kept besides the newest ones
    state_bytes: int  # of these, compressed as they are
    trash: dict[ItemKind, int]  # deleted items that are still there, by kind


def measure(tx: Tx) -> HistorySize:
    """Measure the history of all projects and users."""
    row = tx.one("""
        select (select count(*) from revisions), (select min(at) from revisions),
            (select count(*) from revision_states), (select coalesce(sum(length(state)), 0) from revision_states)
    """)
    assert row is not None, "a select without from has one row"
    revisions, oldest, states, state_bytes = row
    return HistorySize(
        revisions=revisions, oldest=oldest, states=states, state_bytes=int(state_bytes), trash=trash.count(tx)
    )
