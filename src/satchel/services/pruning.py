"""Keeps history and trash within the retention, in steps that hold the write lock for a few milliseconds each."""

from collections.abc import Callable, Sequence

from satchel import clock
from satchel.model import Scope
from satchel.services import lookup, restoring
from satchel.storage import pruning as rows
from satchel.storage.database import Cutoffs, Database, Tx


def prune(database: Database, *, pause: Callable[[], object] = lambda: None, empty_trash: bool = False) -> int:
    """Remove what is older than the retention, or with `empty_trash` all that was deleted; returns how many rows went.

    Raises:
        StoreFailed: the database failed.
    """
    now, kept = clock.now(), database.retention
    cutoffs = Cutoffs(
        history=clock.days_before(now, kept.history_days),
        versions=kept.history_versions,
        trash=now if empty_trash or not kept.trash_days else clock.days_before(now, kept.trash_days),
    )
    removed, position = 0, 0
    while (step := database.prune(cutoffs, position)) is not None:
        position, count = step
        removed += count
        if pause():
            return removed
    if removed:
        clean_words(database, pause=pause)
    return removed


def clean_words(database: Database, *, pause: Callable[[], object] = lambda: None) -> None:
    """Remove the words that only removed items and replaced versions had.

    Raises:
        StoreFailed: the database failed.
    """
    position: tuple[int, str] | None = (0, "")
    while position is not None and not pause():
        with database.write() as tx:
            position = tx.clean_words(position)


def forget_values(database: Database, libraries: Sequence[str] | None) -> int:
    """Remove the values of arguments of prompts that are not there any more; returns how many went.

    Those of a prompt in a library stay for as long as the trash does: a library that is not among `libraries` now may
    come back, or another server may have it. None: it is not known which there are.

    Raises:
        StoreFailed: the database failed.
    """
    before = clock.days_before(clock.now(), database.retention.trash_days)
    return database.forget_values(libraries, before)


def purge(tx: Tx, scope: Scope, reference: str) -> lookup.FoundItem:
    """Remove an item with its history for good, and the deleted ones of the same name; returns what it was.

    Raises:
        NotFound, AmbiguousItem: as `lookup.find`.
    """
    item = lookup.find(tx, scope, reference)
    if item.live is not None:
        restoring.delete(tx, scope, item.live)
    for number in item.numbers:
        rows.remove(tx, item.kind, number)
    return item
