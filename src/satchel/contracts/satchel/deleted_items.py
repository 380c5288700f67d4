"""Tells a caller more about a name that a project has not: what is similar, or where it is, or who deleted it when."""

from collections.abc import Callable
from functools import partial
from typing import Any

from satchel.contracts.contract import Body, Context, ExplainLater
from satchel.contracts.satchel.failures import AmbiguousTitle, DeletedItem, UnknownName, suggest_projects
from satchel.errors import EntryRefused, NotFound
from satchel.services import references


def with_explanations(run: Callable[[Context, Any], Body]) -> Callable[[Context, Any], Body]:
    """Have a tool suggest similar names, and tell apart what was deleted from what never existed.

    A tool that writes does so once its transaction is over, so that mistakes do not hold up other writers.
    """

    def run_explained(context: Context, arguments: Any) -> Body:
        try:
            return run(context, arguments)
        except (NotFound, EntryRefused, ExplainLater) as error:
            if context.tx.writes:
                raise ExplainLater(partial(_explain, error)) from error
            raise _explain(error, context) from error

    return run_explained


def _explain(error: Exception, context: Context) -> Exception:
    if isinstance(error, ExplainLater):
        error = error.explain(context)
    cause = error.cause if isinstance(error, EntryRefused) else error
    if not isinstance(cause, NotFound):
        return error
    if isinstance(cause, UnknownName) and cause.look is not None:
        cause = cause.look(context, cause)
    if not isinstance(error, EntryRefused):
        cause = suggest_projects(context, cause)
    cause = _find_personal(context, cause) or _find_deleted(context, cause) or cause
    return EntryRefused(error.place, cause) if isinstance(error, EntryRefused) else cause


def _find_personal(context: Context, missing: NotFound) -> UnknownName | None:
    """Where to change an item that the project only reads from the personal one; nothing changes there unasked."""
    if references.find_personal(context.tx, missing) is None:
        return None
    there, here = missing.scope.personal, missing.scope.project
    hint = f"It is in project '{there}', for every project: pass project: \"{there}\" to work on it there"
    if "update_items" in context.tools:
        hint += f', or first copy it here with update_items (project: "{there}", to: "{here}", copy: true)'
    return UnknownName(missing, hint=f"{hint}.")


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
