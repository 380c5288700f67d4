"""Tells a caller that what a call names was deleted, when and by whom, and how it comes back."""

from collections.abc import Callable
from typing import Any

from satchel.contracts.contract import Body, Context
from satchel.contracts.satchel.failures import AmbiguousTitle, DeletedItem
from satchel.errors import EntryRefused, NotFound
from satchel.services import references


def with_deleted(run: Callable[[Context, Any], Body]) -> Callable[[Context, Any], Body]:
    """Have a tool tell apart what was deleted from what never existed."""

    def run_with_deleted(context: Context, arguments: Any) -> Body:
        try:
            return run(context, arguments)
        except NotFound as missing:
            deleted = _find_deleted(context, missing)
            if deleted is None:
                raise
            raise deleted from missing
        except EntryRefused as refused:
            deleted = _find_deleted(context, refused.cause) if isinstance(refused.cause, NotFound) else None
            if deleted is None:
                raise
            raise EntryRefused(refused.place, deleted) from refused

    return run_with_deleted


def _find_deleted(context: Context, missing: NotFound) -> DeletedItem | None:
    from satchel.contracts.satchel.history_answers import may_read, name_author, write_time  # only after a miss

    if missing.kind == "project" or isinstance(missing, AmbiguousTitle):
        return None
    kind = next((one for one in references.NAMED if one == missing.kind), None)
    found = references.find_deleted(context.tx, missing.scope, kind, missing.key)
    if found is None or found.kind == "project" or not may_read(context, found.kind):
        return None
    deletion = references.find_deletion(context.tx, found)
    return DeletedItem(
        NotFound(found.kind, found.key, missing.scope),
        at=write_time(deletion) if deletion else "",
        by=name_author(deletion.author, context.scope) if deletion else "",
        can_restore="restore" in context.tools,
    )
