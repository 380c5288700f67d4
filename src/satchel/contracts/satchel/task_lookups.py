"""Finds the tasks that arguments name, and the types of these arguments."""

from functools import partial

from msgspec import UNSET, UnsetType

from satchel.contracts.contract import Context
from satchel.contracts.satchel.errors import AmbiguousTitle, UnknownName, suggest
from satchel.errors import NotFound, WrongArgument
from satchel.model import Scope, TaskDetails
from satchel.services import tasks


def find_task(context: Context, reference: str) -> TaskDetails:
    """The task with a number, UUID, title or URI.

    Raises:
        AmbiguousTitle: several tasks have that title.
        UnknownName: there is none; it suggests tasks with similar titles.
    """
    try:
        return tasks.find(context.tx, context.scope, reference)
    except NotFound as missing:
        if missing.kind != "task":
            raise
        same, has_more = tasks.find_by_title(context.tx, context.scope, reference)
        if same:
            raise AmbiguousTitle(missing, tuple(f"#{number}" for number in same), has_more=has_more) from missing
        raise suggest(context, missing, partial(_suggest, context.scope, reference)) from missing


def _suggest(scope: Scope, reference: str, context: Context, missing: NotFound) -> UnknownName:
    near = tasks.suggest(context.tx, scope, reference)
    return UnknownName(missing, tuple(f"#{number}" for number, _ in near), tuple(title for _, title in near))


def find_numbers(context: Context, references: list[str] | UnsetType) -> list[int] | UnsetType:
    """The numbers of several tasks."""
    if references is UNSET:
        return UNSET
    for index, reference in enumerate(references):
        if not reference.strip():
            raise WrongArgument("blocked_by", "minLength", place=f"blocked_by[{index}]")
    return [find_task(context, reference).number for reference in references]
