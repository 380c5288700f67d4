"""What the commands that list share: which part of a list is shown, and what an empty one says."""

import shlex
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from satchel.cli import printing
from satchel.cli.store import Session

if TYPE_CHECKING:
    from satchel.cli.calls import Answer

_LIMIT = 50  # entries that a list shows, as the tools do


def page_options(run: Callable[..., None]) -> Callable[..., None]:
    """Add the options that choose a part of a list, and give the command a `Page`."""

    @click.option("--limit", default=_LIMIT, show_default=True, type=click.IntRange(1, 10**6), help="How many at most.")
    @click.option("--all", "is_all", is_flag=True, help="All of them, whatever the limit.")
    @click.option("--offset", default=0, type=click.IntRange(0, 10**9), help="How many to skip.")
    @click.option("--cursor", metavar="CURSOR", help="Go on behind a page: its next_cursor.")
    @wraps(run)
    def with_page(
        session: Session, *, limit: int, is_all: bool, offset: int, cursor: str | None, **options: Any
    ) -> None:
        from satchel.cli.calls import Page  # with the contract, which `--help` need not wait for

        run(session, page=Page(None if is_all else limit, offset, cursor), **options)

    return with_page


def show_list(
    session: Session,
    answer: "Answer",
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    empty: str,
) -> None:
    """Print a list, on stderr what it does not say: that it is empty, that there is more, notes."""
    session.table(columns, rows, answer.value)
    if session.as_json:
        return
    notes = answer.notes
    if not rows and not notes:
        notes = [empty]
    if "next_cursor" in answer.value:
        notes.append(f"There is more: the same with --cursor {shlex.quote(answer.value['next_cursor'])}, or --all.")
    show_notes(notes)


def show_notes(notes: Sequence[str]) -> None:
    """Print what a person may not expect, beside the result."""
    if notes:
        sys.stdout.flush()  # so that it comes after the result on a terminal
    for note in notes:
        printing.say(note, err=True)
