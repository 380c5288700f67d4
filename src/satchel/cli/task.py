"""`satchel task`: add, list, show, edit, claim, finish, review and delete tasks."""

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from satchel.cli.completion import BLOCKER, TASK, TASK_TAG
from satchel.cli.errors import end
from satchel.cli.examples import Group
from satchel.cli.items import (
    EDIT_TAGS_HELP,
    add_commands,
    ask_about_held,
    expected_version_option,
    held_option,
    name_several,
    tags_option,
)
from satchel.cli.output import show_notes
from satchel.cli.session import Answer, Option, Session, command, page_options, project_option
from satchel.clock import read_day
from satchel.errors import NotFound
from satchel.model import describe_change

if TYPE_CHECKING:
    from satchel.services.task_lines import TaskLine

Row = dict[str, Any]  # a task in an answer

COLUMNS = ("NO", "STATUS", "TITLE", "PRIORITY", "DUE", "TAGS", "AFTER", "PROJECT")
PRIORITIES = ("low", "normal", "high", "urgent")
STATUSES = ("ready", "open", "in-progress", "review", "done", "cancelled", "all")
_FILTERS = {"open": "pending", "in-progress": "in_progress", "done": "completed"}  # the tool's names for these
_CLOSED = ("completed", "cancelled")
_NO_TASKS = "There are no open tasks. Add one with: satchel task add 'Write the docs' --priority high"


class _Day(click.types.StringParamType):
    """A day such as 2026-12-01; the store refuses any other text."""

    name = "day"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(super().convert(value, param, ctx))
        return read_day(text, date.today()) or text


class _Status(click.Choice[str]):
    """A status in the words of this command; those of the tools are accepted too."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        own = {word: ours for ours, word in _FILTERS.items()}
        return super().convert(own.get(value, value), param, ctx)


narrow_option = project_option("Only tasks of this project.  [default: all]")
narrow_by_tag_option = tags_option(TASK_TAG, "Only tasks with this tag; if repeated, with at least one of the tags.")


def blockers_option(help: str) -> Option:
    """Return the option for blockers."""
    names = ("--after", "--blocked-by", "-a", "blockers")
    return click.option(*names, type=BLOCKER, multiple=True, metavar="REF", help=help)


def due_option(help: str) -> Option:
    """Return the option for the due day."""
    return click.option("--due", type=_Day(), metavar="DAY", help=help)


def priority_option(help: str) -> Option:
    """Return the option for the priority."""
    return click.option("--priority", type=click.Choice(PRIORITIES, case_sensitive=False), help=help)


@click.group(cls=Group)
def cli() -> None:
    """Add, list, show, edit, claim, finish, review and delete tasks.

    REF is the number of a task, with or without #, its title, its UUID, or satchel://task/NUMBER.
    """


@cli.command()
@click.argument("title")
@click.option("--description", metavar="TEXT", help="More about it.")
@tags_option(TASK_TAG, "A tag; may be repeated.")
@priority_option("Its priority.")
@due_option("The day it is due: 2026-12-31, tomorrow, friday or 3d.")
@blockers_option("A blocker, a task to finish first; may be repeated.")
@click.option("--parent", type=TASK, metavar="REF", help="The task of which it is a subtask.")
@project_option("Its project.  [default: the current one]")
@command(in_project=False, as_user=True)
def add(
    session: Session,
    title: str,
    description: str | None,
    tags: tuple[str, ...],
    priority: str | None,
    due: str | None,
    blockers: tuple[str, ...],
    parent: str | None,
    wanted: str | None,
) -> None:
    r"""Add a task. TITLE may end with !high due:2026-12-01 +tag @project after:4 in:2, which options override.

    A backslash keeps such a word in the title, as in 'Learn \+1'.
    """
    from satchel.services import task_lines  # 20 ms, which `--help` need not wait for

    line = _read_line(title)
    project = wanted or line.project
    if project is None:
        session.require_default()
    try:
        answer = session.call(
            "add_task",
            title=line.title,
            description=description,
            tags=list(tags or line.tags) or None,
            priority=priority or line.priority,
            due=due or line.due,
            blocked_by=list(blockers or line.after) or None,
            parent=parent or line.parent,
            project=project,
        )
    except NotFound as missing:
        if wanted is not None or missing.kind != "project":
            raise
        advice = f"Make it first, or write \\@{project} to keep the word in the title."
        end(f"project '{project}' does not exist. {advice}", "not_found", as_json=session.as_json)
    if doubts := task_lines.find_doubts(line.title):
        answer.value.setdefault("notes", []).append(f"'{doubts[0]}' stays in the title; {'; '.join(doubts[1])}.")
    _show_task(session, "Added task {number}: {title}", answer)


def _read_line(text: str) -> "TaskLine":
    """Parse a line such as `TITLE !high +tag` into a task; a text of several lines becomes the title unchanged."""
    from satchel.services import task_lines  # as above

    if not text.strip() or len(text.splitlines()) > 1:
        return task_lines.TaskLine(title=text)
    [line] = task_lines.read([text])
    if line.mark:
        raise click.UsageError(f"A new task is open: leave [{line.mark}] out, or keep it in the title: \\[{line.mark}]")
    # A label means other lines of a call. Here a number in front is a word of the title, as in '#12 crashes'.
    return line if line.label is None else replace(line, title=f"#{line.label} {line.title}")


@cli.command("list")
@click.option("--status", type=_Status(STATUSES), help="Only tasks in this state.  [default: open]")
@click.option("--search", "query", metavar="TEXT", help="Only with this text in title or description, in any case.")
@narrow_by_tag_option
@click.option("--all-tags", is_flag=True, help="Require all tags given by --tag, not just one.")
@click.option("--due", metavar="WHEN", help="Only tasks due then: overdue, today, week or '<2026-12-01'.")
@priority_option("Only tasks of this priority.")
@narrow_option
@command(in_project=False, as_user=True, reads=True)
@page_options
def list_(session: Session, status: str | None, query: str | None, **filters: Any) -> None:
    """List open tasks, most urgent first; with --status all every task, newest first.

    `satchel search` finds tasks by words.
    """
    _show_page(session, status or "open", query, **filters)


@cli.command()
@narrow_by_tag_option
@narrow_option
@command(in_project=False, as_user=True, reads=True)
@page_options
def ready(session: Session, **filters: Any) -> None:
    """List the tasks that can be started now, most urgent first."""
    _show_page(session, "ready", None, **filters)


def _show_page(
    session: Session,
    status: str,
    query: str | None,
    *,
    limit: int | None,
    wanted: str | None,
    tags: Sequence[str] = (),
    all_tags: bool = False,
    due: str | None = None,
    priority: str | None = None,
) -> None:
    answer = session.list(
        "list_tasks",
        "tasks",
        limit,
        status=_FILTERS.get(status, status),
        query=query,
        tags=list(tags) or None,
        match="all" if all_tags else None,
        due=due,
        priority=priority,
        project=wanted,
    )
    is_narrowed = bool(query or tags or wanted or due or priority) or status not in ("open", "all")
    empty = "No tasks match. Show all with: satchel task list --status all" if is_narrowed else _NO_TASKS
    rows = [
        [
            str(task["number"]),
            name_status(task),
            _name_with_place(task),
            task.get("priority", ""),
            task.get("due") or "",
            ", ".join(task.get("tags", ())),
            ", ".join(list_blockers(task)),
            task.get("project", answer.value["project"]) or "",
        ]
        for task in answer.value["tasks"]
    ]
    session.show_list(answer, COLUMNS, rows, empty=empty)
    if not session.as_json and (held := answer.value.get("held")):
        show_notes([f"{held} more {'is' if held == 1 else 'are'} claimed by others: satchel task list"])


@cli.command()
@click.argument("ref", type=TASK)
@click.option("--since", metavar="TIME", help="Only notes and changes since 2h, 3d, a day or a UTC time.")
@command(in_project=False, as_user=True, reads=True)
def show(session: Session, ref: str, since: str | None) -> None:
    """Show a task with its description, notes, blockers, subtasks and links."""
    answer = session.call("get_task", task=ref, since=since)
    session.say(format_whole(answer), answer.value)


@cli.command()
@click.argument("ref", type=TASK)
@click.argument("title", required=False)
@click.option("--description", metavar="TEXT", help="The new description; '' removes it.")
@tags_option(TASK_TAG, EDIT_TAGS_HELP)
@click.option("--no-tags", is_flag=True, help="Remove all tags.")
@priority_option("Another priority.")
@due_option("The new due day; '' removes it.")
@blockers_option("The blockers, in place of the old ones; +REF adds one and -REF removes one.")
@click.option("--no-after", is_flag=True, help="Remove all blockers.")
@click.option("--parent", type=TASK, metavar="REF", help="Make it a subtask of REF; '' detaches it.")
@project_option("Move the task to this project.")
@click.option("--note", metavar="TEXT", help="Add a note.")
@expected_version_option
@held_option
@command(in_project=False, as_user=True)
def edit(
    session: Session,
    ref: str,
    *,
    yes: bool,
    tags: tuple[str, ...],
    no_tags: bool,
    blockers: tuple[str, ...],
    no_after: bool,
    wanted: str | None,
    version: int | None,
    **fields: str | None,
) -> None:
    """Change the given parts of a task."""
    patch: dict[str, Any] = {
        **fields,
        "tags": list(tags) if tags or no_tags else None,
        "blocked_by": list(blockers) if blockers or no_after else None,
        "to": wanted,
    }
    if all(value is None for value in patch.values()):
        raise click.UsageError("Give a new TITLE or an option.")
    if any(value is not None for field, value in patch.items() if field != "note"):
        ask_about_held(session, [ref], is_yes=yes)
    answer = session.call("update_task", task=ref, **patch, expected_version=version)
    _show_task(session, answer.change + " task {number}: {title}", answer)


# -- work -------------------------------------------------------------------------------------------------------


@cli.command()
@click.argument("refs", type=TASK, metavar="REF...", nargs=-1, required=True)
@click.option("--note", metavar="TEXT", help="Add a note to the task; only one task can be named.")
@held_option
@command(in_project=False, as_user=True)
def done(session: Session, refs: tuple[str, ...], note: str | None, *, yes: bool) -> None:
    """Mark the given tasks as done, all or none."""
    ask_about_held(session, refs, is_yes=yes)
    if len(refs) == 1:
        _show_task(session, "Done: task {number}: {title}", session.call("complete_task", task=refs[0], note=note))
    elif note is not None:
        raise click.UsageError("--note applies to one task only: name one REF.")
    else:
        _set_status(session, refs, "completed", "Done")


@cli.command()
@click.argument("refs", type=TASK, metavar="REF...", nargs=-1, required=True)
@command(in_project=False, as_user=True)
def reopen(session: Session, refs: tuple[str, ...]) -> None:
    """Reopen the given tasks, which are done or cancelled, all or none."""
    _set_status(session, refs, "pending", "Open again")


@cli.command()
@click.argument("refs", type=TASK, metavar="REF...", nargs=-1, required=True)
@held_option
@command(in_project=False, as_user=True)
def cancel(session: Session, refs: tuple[str, ...], *, yes: bool) -> None:
    """Mark tasks as cancelled: they will not be done. `satchel task reopen` opens them again."""
    ask_about_held(session, refs, is_yes=yes)
    _set_status(session, refs, "cancelled", "Cancelled")


@cli.command()
@click.argument("ref", type=TASK)
@click.option("--note", metavar="TEXT", help="Add a note to the task.")
@command(in_project=False, as_user=True)
def accept(session: Session, ref: str, note: str | None) -> None:
    """Accept a task that waits for review, and mark it as done."""
    _decide(session, ref, "completed", note, "Accepted task {number}: {title}")


@cli.command("return")
@click.argument("ref", type=TASK)
@click.option("--note", metavar="TEXT", help="Say in a note what is missing.")
@command(in_project=False, as_user=True)
def return_(session: Session, ref: str, note: str | None) -> None:
    """Return a task that waits for review, and open it again."""
    _decide(session, ref, "pending", note, "Returned task {number}: {title}")


def _decide(session: Session, ref: str, status: str, note: str | None, sentence: str) -> None:
    """Accept or return a task that waits for review."""
    task: Row = session.call("get_task", task=ref).value["task"]
    if task["status"] != "review":
        is_what = name_status(task) or "open"
        raise click.ClickException(f"task {task['number']} does not wait for review: it is {is_what}.")
    given = {"status": status, "note": note, "expected_version": task["version"]}
    _show_task(session, sentence, session.call("update_task", task=str(task["number"]), **given))


def _set_status(session: Session, refs: tuple[str, ...], status: str, word: str) -> None:
    if len(refs) == 1:
        answer = session.call("update_task", task=refs[0], status=status)
        _show_task(session, word + ": task {number}: {title}", answer)
        return
    answer = session.call("update_items", items=name_several(session, "task", refs), status=status)
    _show_changed(session, [f"{word}: task {one['number']}: {one['title']}" for one in answer.value["items"]], answer)


@cli.command()
@click.argument("ref", type=TASK, required=False)
@click.option("--minutes", type=click.IntRange(1, 1440), help="How long the claim lasts, in minutes.  [default: 30]")
@project_option("Without REF: the project to take the next task from.  [default: the current one]")
@held_option
@command(in_project=False, as_user=True)
def claim(session: Session, ref: str | None, minutes: int | None, wanted: str | None, *, yes: bool) -> None:
    """Claim a task so that other agents leave it, or without REF the next ready one; call again to renew."""
    if ref is None and wanted is None:
        session.require_default()
    ask_about_held(session, [ref] if ref else [], is_yes=yes, question="Take over")
    take_over = True if ref else None  # the user has agreed to take it from an agent
    answer = session.call("claim_task", task=ref, minutes=minutes, project=wanted, take_over=take_over)
    until = f"Claimed until {answer.value['until']}, fence {answer.value['fence']}"
    session.say(f"{until}:\n{format_whole(answer)}", answer)


@cli.command()
@click.argument("ref", type=TASK)
@command(in_project=False, as_user=True)
def release(session: Session, ref: str) -> None:
    """Release a claimed task, no matter who claimed it."""
    answer = session.call("claim_task", task=ref, release=True)
    was = "Released task {number}: {title}" if answer.value["released"] else "Task {number} was not claimed: {title}"
    _show_task(session, was, answer)


@cli.command()
@click.argument("ref", type=TASK)
@click.argument("text")
@command(in_project=False, as_user=True)
def note(session: Session, ref: str, text: str) -> None:
    """Add a note to a task. `satchel task show` shows all of them."""
    _show_task(session, "Noted on task {number}: {title}", session.call("update_task", task=ref, note=text))


add_commands(
    cli,
    "task",
    tags_option(TASK_TAG, "Delete the tasks with this tag; if repeated, with at least one of the tags."),
    click.option(
        "--status",
        type=_Status(STATUSES),
        callback=lambda _context, _option, value: _FILTERS.get(value, value),
        help="Delete the tasks in this state.",
    ),
    project_option("The project of the selected tasks.  [default: the current one]"),
)


# -- words ------------------------------------------------------------------------------------------------------


def name_status(task: Row) -> str:
    """Return the status of a task in everyday words; empty for an open task."""
    names = {"pending": "", "completed": "done", "in_progress": "in progress", "review": "in review"}
    status: str = task.get("status", "pending")
    return names.get(status, status)


def _name_with_place(task: Row) -> str:
    """Return the title of a task with the progress of its subtasks and the number of its parent."""
    parent = f"(in #{task['parent']})" if task.get("parent") else ""
    return " ".join(filter(None, [task["title"], task.get("subtasks", ""), parent]))


def list_blockers(task: Row) -> list[str]:
    """Return the open tasks that block a task."""
    elsewhere = ["a task elsewhere"] if task.get("blocked_elsewhere") else []
    return [f"#{number}" for number in task.get("blocked_by", ())] + elsewhere


def _show_task(session: Session, sentence: str, answer: Answer) -> None:
    _show_changed(session, [sentence.format(**answer.value["task"])], answer)


def _show_changed(session: Session, sentences: Sequence[str], answer: Answer) -> None:
    """Print sentences about changed tasks, and list the tasks that became ready."""
    ready = [f"Ready now: task {one['number']}: {one['title']}" for one in answer.value.get("ready", ())]
    session.say("\n".join([*sentences, *ready]), answer)


def format_whole(answer: Answer) -> str:
    """Return everything about a task as a text."""
    task: Row = answer.value["task"]
    is_waiting = any(one.get("status", "pending") not in _CLOSED for one in task.get("blocked_by", ()))
    facts = [
        name_status(task) or ("waiting" if is_waiting else "open"),
        f"{task['priority']} priority" if "priority" in task else "",
        f"due {task['due']}" if task.get("due") else "",
        f"tags {', '.join(task['tags'])}" if task.get("tags") else "",
        f"project {task.get('project', answer.value['project'])}"
        if task.get("project", "") is not None
        else "no project",
        f"subtasks {task['subtasks']}" if task.get("subtasks") else "",
        f"claimed by {task['holder']} until {task['until']}" if task.get("holder") else "",
    ]
    times = [f"created {task['created']}", f"updated {task['updated']}", f"version {task['version']}"]
    times += [f"{name_status(task)} {task['completed']}"] if task.get("completed") else ["not done"]
    notes = [f"{one['at']} {one['by']}: {one['text']}" for one in task.get("notes", ())]
    if older := task.get("older_notes"):
        notes.insert(0, f"({older} older left out)")
    parts = [
        f"{task['number']}  {task['title']}\n{', '.join(filter(None, facts))}\n{', '.join(times)}",
        task.get("description") or "",
        _format_list("After", [_format_neighbour(one) for one in task.get("blocked_by", ())]),
        _format_list("Blocks", [_format_neighbour(one) for one in task.get("blocks", ())]),
        _format_list("Subtask of", [_format_neighbour(task["parent"])] if task.get("parent") else []),
        _format_list("Subtasks", [_format_neighbour(one) for one in task.get("children", ())]),
        _format_list("Changes", [_format_change(one) for one in answer.value.get("changes", ())]),
        _format_list("Notes", notes),
        _format_list("Links", task.get("links", ())),
        _format_list("Linked from", task.get("linked_from", ())),
    ]
    return "\n\n".join(filter(None, parts))


def _format_list(title: str, lines: Sequence[str]) -> str:
    return "\n".join([f"{title}:", *(f"- {line}" for line in lines)]) if lines else ""


def _format_change(change: Row) -> str:
    done = describe_change(change["action"], change.get("fields", ()))
    return f"{change['at']} version {change['version']} {done} by {change['by']}"


def _format_neighbour(task: Row) -> str:
    state = name_status(task)
    return f"#{task['number']} {task['title']}{f' ({state})' if state else ''}"
