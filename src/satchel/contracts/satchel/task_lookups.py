"""Finds the tasks that arguments name, and the types of these arguments."""

from functools import partial
from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from satchel.contracts.contract import Context
from satchel.contracts.satchel import shared
from satchel.contracts.satchel.failures import AmbiguousTitle, UnknownName, suggest
from satchel.contracts.schema import hidden
from satchel.errors import NotFound, WrongArgument
from satchel.model import Scope, TaskDetails
from satchel.services import tasks

_TITLE = hidden(is_trimmed=True, max_length=500, is_blank_refused=True)
_REFERENCE = hidden(takes_numbers=True, max_length=500, is_blank_refused=True)
_PRIORITIES = ["low", "normal", "high", "urgent"]

Title = Annotated[str, Meta(extra=_TITLE)]
Reference = Annotated[str, Meta(description="#4, title or URI", extra=_REFERENCE)]
Priority = Annotated[
    Literal["low", "normal", "high", "urgent"],
    Meta(extra_json_schema={"enum": _PRIORITIES}, extra=hidden(ignores_case=True)),  # in this order
]
Blockers = Annotated[list[str], Meta(extra=hidden(max_items=100, takes_numbers=True))]
Day = Annotated[str, Meta(description="YYYY-MM-DD", extra=shared.LINE)]
Fence = Annotated[int, Meta(description="Of your claim", extra=hidden(minimum=1, maximum=2**63 - 1))]
Note = Annotated[str, Meta(extra=shared.LINE)]


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
