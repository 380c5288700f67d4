"""The commands of `satchel task` for working on tasks: claim, release, note, done, cancel, reopen."""

import click

from satchel.cli.items import name_several
from satchel.cli.lists import show_notes
from satchel.cli.store import Session, command
from satchel.cli.tasks_shown import TASK, format_whole, show_changed, show_task


@click.command()
@click.argument("refs", type=TASK, metavar="REF...", nargs=-1, required=True)
@click.option("--note", metavar="TEXT", help="Add a note, to one task.")
@command(in_project=False, as_user=True)
def done(session: Session, refs: tuple[str, ...], note: str | None) -> None:
    """Mark tasks as done: all that are named, or none."""
    if len(refs) == 1:
        show_task(session, "Done: task {number}: {title}", session.call("complete_task", task=refs[0], note=note))
    elif note is not None:
        raise click.UsageError("--note goes to one task: name one REF.")
    else:
        _set_status(session, refs, "completed", "Done")


@click.command()
@click.argument("refs", type=TASK, metavar="REF...", nargs=-1, required=True)
@command(in_project=False, as_user=True)
def reopen(session: Session, refs: tuple[str, ...]) -> None:
    """Open tasks again that are done or cancelled: all that are named, or none."""
    _set_status(session, refs, "pending", "Open again")


@click.command()
@click.argument("refs", type=TASK, metavar="REF...", nargs=-1, required=True)
@command(in_project=False, as_user=True)
def cancel(session: Session, refs: tuple[str, ...]) -> None:
    """Mark tasks as cancelled: they will not be done. `satchel task reopen` opens them again."""
    _set_status(session, refs, "cancelled", "Cancelled")


def _set_status(session: Session, refs: tuple[str, ...], status: str, word: str) -> None:
    if len(refs) == 1:
        show_task(session, word + ": task {number}: {title}", session.call("update_task", task=refs[0], status=status))
        return
    answer = session.call("update_items", items=name_several(session, "task", refs), status=status)
    show_changed(session, [f"{word}: task {one['number']}: {one['title']}" for one in answer.value["items"]], answer)


@click.command()
@click.argument("ref", type=TASK, required=False)
@click.option("--minutes", type=click.IntRange(1, 1440), help="How long it is yours.  [default: 30]")
@click.option(
    "--project", "-p", "wanted", metavar="NAME", help="Without REF: the next of this project, not the current."
)
@command(in_project=False, as_user=True)
def claim(session: Session, ref: str | None, minutes: int | None, wanted: str | None) -> None:
    """Claim a task for some minutes, or without REF the next that is ready; again renews it.

    Agents that work beside you leave it alone until then.
    """
    session.makes_default = ref is None and wanted is None
    answer = session.call("claim_task", task=ref, minutes=minutes, project=wanted)
    session.say(
        f"Claimed until {answer.value['until']}, fence {answer.value['fence']}:\n{format_whole(answer)}", answer.value
    )
    if not session.as_json:
        show_notes(answer.notes)


@click.command()
@click.argument("ref", type=TASK)
@command(in_project=False, as_user=True)
def release(session: Session, ref: str) -> None:
    """Give a claimed task back, no matter who claimed it."""
    answer = session.call("claim_task", task=ref, release=True)
    was = "Released task {number}: {title}" if answer.value["released"] else "Task {number} was not claimed: {title}"
    show_task(session, was, answer)


@click.command()
@click.argument("ref", type=TASK)
@click.argument("text")
@command(in_project=False, as_user=True)
def note(session: Session, ref: str, text: str) -> None:
    """Add a note to a task. `satchel task show` has all of them."""
    show_task(session, "Noted on task {number}: {title}", session.call("update_task", task=ref, note=text))
