"""What clients are told of a change in the store: each contract's own way to see it."""

from collections.abc import Iterable

from satchel.contracts.contract import Contract
from satchel.model import Changed
from satchel.protocol import Change

EVERYTHING = Change("everything")


def news(contract: Contract, changes: Iterable[Changed], *, project: int | None, user: str | None) -> list[Change]:
    """The changes as a client sees who is in a project and acts as a user; nothing of others is told."""
    told: dict[Change, None] = {}
    for change in changes:
        if change.what == "everything" and contract.reads_store:
            return [EVERYTHING]
        if (change.project is None or change.project == project) and (change.owner is None or change.owner == user):
            told.update(dict.fromkeys(contract.changes(change)))
    return list(told)
