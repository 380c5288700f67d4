"""Calls that add several things: how many, and how far a call has come."""

from collections.abc import Sequence
from typing import Any

from satchel.contracts.contract import Context
from satchel.errors import WrongArgument

_STEP = 50  # entries between two reports


def check_number(field: str, entries: Sequence[Any]) -> None:
    """Check that a call adds something."""
    if not entries:
        raise WrongArgument(field, "minItems", limit=1)


def report_progress(context: Context, done: int, total: int) -> None:
    """Tell the client how far a long call has come, now and then."""
    if done % _STEP == 0 and done < total:
        context.report(done, total, f"{done} of {total}")
