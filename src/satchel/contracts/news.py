"""What clients are told of a change in the store: each contract's own way to see it."""

from collections.abc import Iterable

from satchel.contracts.contract import Contract
from satchel.model import Changed, Scope
from satchel.protocol import Change

EVERYTHING = Change("everything")


def news(contract: Contract, changes: Iterable[Changed], scope: Scope, project: int | None) -> list[Change]:
    """The changes as a client of a scope sees them, whose project has this number; nothing of others is told."""
    told: dict[Change, None] = {}
    for change in changes:
        if change.what == "everything" and contract.reads_store:
            return [EVERYTHING]
        if change.project in (None, project) and change.owner in (None, scope.user):
            told.update(dict.fromkeys(contract.changes(change, scope)))
    return list(told)
