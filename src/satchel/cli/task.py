"""`satchel task`: add, list, show, edit and delete tasks. `task_work` has the commands for working on them."""

from collections.abc import Sequence
from typing import Any

import click

from satchel.cli import moving, task_work
from satchel.cli.days import DAY
from satchel.cli.items import call_history, history_options, name_several, show_deleted
from satchel.cli.lists import page_options, show_list, show_notes
from satchel.cli.store import Session, command
from satchel.cli.tasks_shown import COLUMNS, TASK, format_whole, list_cells, show_task

PRIORITIES = ("low", "normal", "high", "urgent")
STATUSES = ("ready", "open", "in-progress", "done", "cancelled", "all")
_FILTERS = {"open": "pending", "in-progress": "in_progress", "done": "completed"}  # where the tool says otherwise

project_option = click.option("--project", "-p", "wanted", metavar="NAME", help="Only of this project; else of all.")
tags_option = click.option("--tag", "-t", "tags", multiple=True, metavar="TAG", help="Only with this tag, or another.")


@click.group()
def cli() -> None:
    """Add, list, show, edit, claim, finish and delete tasks.

    REF is the number of a task, with or without #, its title, its UUID, or satchel://task/NUMBER.
    """


@cli.command()
@click.argument("title")
@click.option("--description", metavar="TEXT", help="More about it.")
@click.option("--tag", "-t", "tags", multiple=True, metavar="TAG", help="A tag; may be repeated.")
@click.option("--priority", type=click.Choice(PRIORITIES, case_sensitive=False), help="How urgent it is.")
@click.option("--due", type=DAY, help="The day by which it is due: 2026-12-31, tomorrow, friday or 3d.")
@click.option(
    "--after",
    "--blocked-by",
    "-a",
    "blockers",
    multiple=True,
    metavar="REF",
    help="A task that comes first; may be repeated.",
)
@click.option("--project", "-p", "wanted", metavar="NAME", help="The project that it belongs to; else the current one.")
@command(in_project=False, as_user=True)
def add(
    session: Session,
    title: str,
    description: str | None,
    tags: tuple[str, ...],
    priority: str | None,
    due: str | None,
    blockers: tuple[str, ...],
    wanted: str | None,
) -> None:
    """Add a task."""
    session.makes_default = wanted is None
    answer = session.call(
        "add_task",
        title=title,
        description=description,
        tags=list(tags) or None,
        priority=priority,
        due=due,
        blocked_by=list(blockers) or None,
        project=wanted,
    )
    show_task(session, "Added task {number}: {title}", answer)


@cli.command("list")
@click.option("--status", type=click.Choice(STATUSES), help="Only those in this state.  [default: all]")
@click.option("--open", "--pending", "status", flag_value="open", help="Only those that are not done.")
@click.option("--done", "status", flag_value="done", help="Only those that are done.")
@click.option("--ready", "status", flag_value="ready", help="Only those that can be started now.")
@click.option("--search", "query", metavar="TEXT", help="Only with this text in title or description.")
@tags_option
@click.option("--all-tags", is_flag=True, help="Only with all of the tags, not one of them.")
@project_option
@command(in_project=False, as_user=True, reads=True)
@page_options
def list_(session: Session, status: str | None, query: str | None, **filters: Any) -> None:
    """List tasks: those in one state the most urgent first, those in any state the newest first."""
    show_tasks(session, status or "all", query, **filters)


@cli.command()
@tags_option
@project_option
@command(in_project=False, as_user=True, reads=True)
@page_options
def ready(session: Session, **filters: Any) -> None:
    """List the tasks that can be started now, the most urgent first."""
    show_tasks(session, "ready", None, **filters)


@cli.command()
@click.argument("query", metavar="TEXT")
@click.option(
    "--status", type=click.Choice(STATUSES), default="all", show_default=True, help="Only those in this state."
)
@project_option
@command(in_project=False, as_user=True, reads=True)
@page_options
def search(session: Session, query: str, status: str, **filters: Any) -> None:
    """List the tasks with a text in title or description, in any case. `satchel search` finds by words."""
    show_tasks(session, status, query, **filters)


def show_tasks(
    session: Session,
    status: str,
    query: str | None,
    *,
    page: Any,
    wanted: str | None,
    tags: Sequence[str] = (),
    all_tags: bool = False,
) -> None:
    """Print a list of tasks."""
    answer = session.list(
        "list_tasks",
        "tasks",
        page,
        status=_FILTERS.get(status, status),
        query=query,
        tags=list(tags) or None,
        match="all" if all_tags else None,
        project=wanted,
    )
    is_narrowed = bool(query or tags or wanted) or status != "all"
    empty = "No tasks match. Show all with: satchel task list" if is_narrowed else _NO_TASKS
    show_list(session, answer, COLUMNS, list_cells(answer.value), empty=empty)
    if not session.as_json and (held := answer.value.get("held")):
        show_notes([f"{held} more {'is' if held == 1 else 'are'} claimed by others: satchel task list --open"])


_NO_TASKS = "There are no tasks yet. Add one with: satchel task add 'Write the docs' --priority high"


@cli.command()
@click.argument("ref", type=TASK)
@command(in_project=False, as_user=True, reads=True)
def show(session: Session, ref: str) -> None:
    """Show a task with its description, notes, blockers and links."""
    answer = session.call("get_task", task=ref)
    session.say(format_whole(answer), answer.value)


@cli.command()
@click.argument("ref", type=TASK)
@click.argument("title", required=False)
@click.option("--description", metavar="TEXT", help="Another description; '' takes it away.")
@click.option(
    "--tag",
    "-t",
    "tags",
    multiple=True,
    metavar="TAG",
    help="The new tags, in place of the old ones; +TAG adds one and -TAG takes one away.",
)
@click.option("--no-tags", is_flag=True, help="Take all tags away.")
@click.option("--priority", type=click.Choice(PRIORITIES, case_sensitive=False), help="Another priority.")
@click.option("--due", type=DAY, help="Another day; '' takes it away.")
@click.option(
    "--after",
    "--blocked-by",
    "-a",
    "blockers",
    multiple=True,
    metavar="REF",
    help="The tasks that come first, in place of the old ones; +REF and -REF add and take away.",
)
@click.option("--no-after", is_flag=True, help="Nothing comes first any more.")
@click.option("--project", "-p", "wanted", metavar="NAME", help="Move it to this project.")
@click.option("--note", metavar="TEXT", help="Add a note.")
@click.option("--version", "version", type=click.IntRange(1), metavar="N", help="Only if this is still its version.")
@command(in_project=False, as_user=True)
def edit(
    session: Session,
    ref: str,
    *,
    tags: tuple[str, ...],
    no_tags: bool,
    blockers: tuple[str, ...],
    no_after: bool,
    wanted: str | None,
    version: int | None,
    **fields: str | None,
) -> None:
    """Change what is given of a task."""
    patch: dict[str, Any] = {
        **fields,
        "tags": list(tags) if tags or no_tags else None,
        "blocked_by": list(blockers) if blockers or no_after else None,
        "project": wanted,
    }
    if all(value is None for value in patch.values()):
        raise click.UsageError("Give a TITLE, or an option with what shall change.")
    answer = session.call("update_task", task=ref, **patch, expected_version=version)
    show_task(session, "Changed task {number}: {title}", answer)


@cli.command()
@click.argument("refs", type=TASK, metavar="REF...", nargs=-1, required=True)
@command(in_project=False, as_user=True)
def delete(session: Session, refs: tuple[str, ...]) -> None:
    """Delete tasks: all that are named, or none. `satchel restore` brings them back."""
    if len(refs) == 1:
        answer = session.call("delete_task", task=refs[0])
        keys = [str(answer.value["deleted"])]
    else:
        answer = session.call("delete", items=name_several(session, "task", refs))
        keys = [one["item"].removeprefix("#") for one in answer.value["deleted"]]
    show_deleted(session, "task", keys, answer)


@cli.command()
@click.argument("ref", type=TASK)
@history_options
@command(in_project=False, as_user=True, reads=True)
def history(session: Session, ref: str, **options: Any) -> None:
    """Show the versions of a task, one of them, or what changed between two."""
    call_history(session, "task", ref, **options)


for one in (task_work.done, task_work.reopen, task_work.cancel, task_work.claim, task_work.release, task_work.note):
    cli.add_command(one)


moving.add_commands(cli, "task")
