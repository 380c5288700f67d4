"""`satchel task`: add, list, show, edit, finish and delete tasks of the local user, or of another."""

from typing import Any

import click

from satchel import clock
from satchel.cli import moving
from satchel.cli.store import Session, command, fields, given, say_deleted
from satchel.errors import NotFound
from satchel.model import Task, TaskDetails, TaskDraft, TaskPatch, TaskStatus
from satchel.services import tasks


@click.group()
def cli() -> None:
    """Add, list, show, edit, finish and delete tasks. REF is a task's number, with or without #, or its UUID."""


@cli.command()
@click.argument("title")
@click.option("--description", help="More about it.")
@command(in_project=False, as_user=True)
def add(session: Session, title: str, description: str | None) -> None:
    """Add a task."""
    with session.write() as tx:
        task = tasks.add(tx, session.scope, TaskDraft(title=title, description=(description or "").strip()))
    session.say(f"Added task {task.number}: {task.title}", describe(task))


@cli.command("list")
@click.option("--pending", "status", flag_value="pending", help="Only those that are not done.")
@click.option("--done", "status", flag_value="completed", help="Only those that are done.")
@command(in_project=False, as_user=True, reads=True)
def list_(session: Session, status: TaskStatus | None) -> None:
    """List tasks, the newest first."""
    with session.read() as tx:
        found = tasks.list_all(tx, session.scope, status)
    rows = [(str(task.number), "done" if task.is_completed else "", task.title) for task in found]
    session.table(("NUMBER", "DONE", "TITLE"), rows, {"tasks": [describe(task) for task in found], "total": len(found)})


@cli.command()
@click.argument("ref")
@command(in_project=False, as_user=True, reads=True)
def show(session: Session, ref: str) -> None:
    """Show a task."""
    with session.read() as tx:
        task = tasks.get(tx, session.scope, parse_reference(ref, session))
    lines = [f"{task.number}  {task.title}", *([task.description] if task.description else [])]
    lines += [f"created {task.created_at}", f"done {task.completed_at}" if task.completed_at else "not done"]
    session.say("\n".join(lines), describe(task))


@cli.command()
@click.argument("ref")
@click.argument("title", required=False)
@click.option("--description", help="Another description; '' takes it away.")
@command(in_project=False, as_user=True)
def edit(session: Session, ref: str, title: str | None, description: str | None) -> None:
    """Give a task another title or description."""
    if title is None and description is None:
        raise click.UsageError("Give a TITLE, or --description.")
    patch = TaskPatch(title=given(title), description=given(description and description.strip()))
    with session.write() as tx:
        task = tasks.update(tx, session.scope, parse_reference(ref, session), patch)
    session.say(f"Changed task {task.number}: {task.title}", describe(task))


@cli.command()
@click.argument("refs", metavar="REF...", nargs=-1, required=True)
@command(in_project=False, as_user=True)
def done(session: Session, refs: tuple[str, ...]) -> None:
    """Mark tasks as done: all that are named, or none."""
    with session.write() as tx:
        finished = [tasks.complete(tx, session.scope, parse_reference(ref, session))[0] for ref in dict.fromkeys(refs)]
    text = "\n".join(f"Done: task {task.number}: {task.title}" for task in finished)
    session.say(text, {"tasks": [describe(task) for task in finished]})


@cli.command()
@click.argument("refs", metavar="REF...", nargs=-1, required=True)
@command(in_project=False, as_user=True)
def delete(session: Session, refs: tuple[str, ...]) -> None:
    """Delete tasks: all that are named, or none. `satchel restore` brings them back."""
    with session.write() as tx:
        found = [tasks.get(tx, session.scope, parse_reference(ref, session)) for ref in refs]
        for id in dict.fromkeys(task.id for task in found):
            tasks.delete(tx, session.scope, id)
    numbers = list(dict.fromkeys(task.number for task in found))
    keys = list(map(str, numbers))
    say_deleted(session, f"Deleted task {', '.join(keys)}.", "task", keys, {"deleted": numbers})


def parse_reference(ref: str, session: Session) -> tasks.Reference:
    """The number or the UUID that a person typed."""
    digits = ref.removeprefix("#")
    if digits.isascii() and digits.isdigit():
        return int(digits[:20])
    id = clock.parse_id(ref)
    if id is None:
        raise NotFound("task", f"'{ref}'", session.scope)
    return id


def describe(task: Task) -> dict[str, Any]:
    """The fields of a task that every command shows."""
    more = set(TaskDetails.__struct_fields__) - set(Task.__struct_fields__)
    return {"number": task.number, **fields(task, *more), "completed": task.is_completed}


moving.add_commands(cli, "task")
