"""What clients are told of a change in the store: each contract's own way to see it."""

from collections.abc import Iterable

from satchel.contracts.contract import Contract
from satchel.model import Scope, StoreChange
from satchel.protocol import ClientChange

EVERYTHING = ClientChange("everything")


def news(contract: Contract, changes: Iterable[StoreChange], scope: Scope) -> list[ClientChange]:
    """The changes as a client of a scope sees them; of other users, and of projects not open to it, nothing is told."""
    told: dict[ClientChange, None] = {}
    for change in changes:
        if change.owner not in (None, scope.user) or not _is_open(scope, change.project):
            continue
        if change.what == "everything" and contract.reads_store:
            return [EVERYTHING]
        told.update(dict.fromkeys(contract.changes(change, scope)))
    return list(told)


def _is_open(scope: Scope, project: str | None) -> bool:
    return project is None or scope.projects is None or project in scope.projects
