"""How answers show tasks: a row or a line in lists and echoes, and the whole task, each as JSON and as text."""

from collections.abc import Sequence
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from satchel.contracts.content import format_count, join_lines
from satchel.contracts.contract import Context
from satchel.contracts.satchel.texts import find_links
from satchel.model import Claim, Holder, Task, TaskNote
from satchel.services import tasks
from satchel.services.task_lines import Mark, TaskLine, write

HIDDEN_BLOCKER = "a task of a project that is not open here"

_MOST_NOTES = 50  # of a whole task
MARKS: dict[str, Mark] = {"pending": "", "in_progress": "~", "completed": "x", "cancelled": "-"}

# -- rows -------------------------------------------------------------------------------------------------------


class TaskRow(Struct, omit_defaults=True):
    """A task in a list or an echo; what is as usual is left out."""

    number: int
    title: str
    status: str = "pending"
    priority: str = "normal"
    due: str | None = None
    tags: tuple[str, ...] = ()
    project: str | UnsetType | None = UNSET  # where it is another than that of the answer
    blocked_by: tuple[int, ...] = ()  # the open ones
    blocked_elsewhere: bool = False  # by tasks of projects that the caller may not see
    holder: str = ""
    until: str = ""
    version: int | UnsetType = UNSET  # in echoes of writes


def make_row(task: Task, here: str, *, is_echo: bool = False) -> TaskRow:
    """A task as a row of an answer about a project."""
    return TaskRow(
        number=task.number,
        title=task.title,
        status=task.status,
        priority=task.priority,
        due=task.due,
        tags=task.tags,
        project=UNSET if task.project == here else task.project,
        blocked_by=task.open_blockers,
        blocked_elsewhere=task.waits_elsewhere,
        holder=task.claim.holder if task.claim else "",
        until=write_minute(task.claim.until) if task.claim else "",
        version=task.version if is_echo else UNSET,
    )


def format_task(task: Task, here: str | None = None) -> str:
    """A task in one line, in the grammar of `add_tasks`; without its project where that is `here`."""
    line = TaskLine(
        title=task.title,
        label=task.number,
        mark=MARKS[task.status],
        priority=task.priority,
        due=task.due,
        tags=task.tags,
        project=None if task.project == here else task.project,
        after=tuple(f"#{number}" for number in task.open_blockers),
    )
    more = (
        f"({format_claim(task.claim)})" if task.claim else "",
        f"(waits for {HIDDEN_BLOCKER})" if task.waits_elsewhere else "",
        "(in no project)" if here is not None and task.project is None else "",
    )
    return " ".join([write(line), *filter(None, more)])


def list_blockers(task: Task) -> list[str]:
    """The open tasks that block a task."""
    numbers = [f"#{number}" for number in task.open_blockers]
    return [*numbers, HIDDEN_BLOCKER] if task.waits_elsewhere else numbers


def format_claim(claim: Claim) -> str:
    """Who holds a task, and until when in UTC."""
    return f"{claim.holder} until {claim.until[11:16]}"


def write_minute(moment: str) -> str:
    """A time to the minute."""
    return f"{moment[:16]}Z"


def find_holder(context: Context) -> Holder:
    """Who the caller is, for claims."""
    return tasks.make_holder(context.client.name, context.session, context.scope)


def describe_holder(context: Context, task: Task, what: str = "It") -> list[str]:
    """A note where another agent holds a task."""
    if task.claim is None or task.claim.holder_key == find_holder(context).key:
        return []
    return [f"{what} was held by {format_claim(task.claim)}."]


# -- whole tasks ------------------------------------------------------------------------------------------------


class WholeTask(Struct, omit_defaults=True):
    """A task with everything that the caller may know about it; empty members are left out."""

    number: int
    title: str
    status: str
    version: int
    created: str
    updated: str
    completed: str = ""  # or cancelled
    description: str | None = None
    priority: str = "normal"
    due: str | None = None
    tags: tuple[str, ...] = ()
    project: str | UnsetType | None = UNSET
    blocked_by: list[dict[str, Any]] = []
    blocked_elsewhere: bool = False
    blocks: list[dict[str, Any]] = []
    holder: str = ""
    until: str = ""
    fence: int = 0
    notes: list[dict[str, str]] = []
    older_notes: int = 0  # that are left out
    links: Sequence[str] = ()
    linked_from: Sequence[str] = ()


class Surroundings(Struct, frozen=True, kw_only=True):
    """What is around a task: those it waits for, those that wait for it, its last notes, and its links."""

    blockers: list[Task]
    blocked: list[Task]
    notes: list[TaskNote]
    older_notes: int
    links: Sequence[str]
    linked_from: Sequence[str]


def look_around(context: Context, task: Task) -> Surroundings:
    """What is around a task, as far as the caller may see it."""
    notes, count = tasks.list_notes(context.tx, context.scope, task.number, _MOST_NOTES)
    links, linked_from = find_links(context, "task", task)
    return Surroundings(
        blockers=tasks.list_some(context.tx, context.scope, task.blocked_by),
        blocked=tasks.list_blocked(context.tx, context.scope, task.number),
        notes=notes,
        older_notes=count - len(notes),
        links=links,
        linked_from=linked_from,
    )


def describe_whole(task: Task, around: Surroundings, here: str, *, with_claim: bool = True) -> WholeTask:
    """A task as JSON; its claim is left out where the answer has it already."""
    claim = task.claim if with_claim else None
    return WholeTask(
        number=task.number,
        title=task.title,
        status=task.status,
        version=task.version,
        created=write_minute(task.created_at),
        updated=write_minute(task.updated_at),
        completed=write_minute(task.completed_at) if task.completed_at else "",
        description=task.description,
        priority=task.priority,
        due=task.due,
        tags=task.tags,
        project=UNSET if task.project == here else task.project,
        blocked_by=[_describe_neighbour(one) for one in around.blockers],
        blocked_elsewhere=task.waits_elsewhere,
        blocks=[_describe_neighbour(one) for one in around.blocked],
        holder=claim.holder if claim else "",
        until=write_minute(claim.until) if claim else "",
        fence=claim.fence if claim else 0,
        notes=[{"at": write_minute(one.at), "by": _name_author(one), "text": one.text} for one in around.notes],
        older_notes=around.older_notes,
        links=around.links,
        linked_from=around.linked_from,
    )


def format_whole(task: Task, around: Surroundings) -> str:
    """A task as text."""
    closed = "cancelled" if task.is_cancelled else "completed"
    times = [
        f"version {task.version}",
        f"created {write_minute(task.created_at)}",
        f"updated {write_minute(task.updated_at)}",
        f"{closed} {write_minute(task.completed_at)}" if task.completed_at else "",
        f"fence {task.claim.fence}" if task.claim else "",
    ]
    notes = [f"{write_minute(one.at)} {_name_author(one)}: {one.text}" for one in around.notes]
    if around.older_notes:
        notes.insert(0, f"({format_count(around.older_notes, 'older note')} left out)")
    parts = [
        "\n".join([format_task(task), ", ".join(filter(None, times))]),
        task.description or "",
        _format_list("Waits for", [_format_neighbour(one) for one in around.blockers]),
        _format_list("Blocks", [_format_neighbour(one) for one in around.blocked]),
        _format_list("Notes", notes),
        _format_list("Links", around.links),
        _format_list("Linked from", around.linked_from),
    ]
    return "\n\n".join(filter(None, parts))


def _format_list(title: str, lines: Sequence[str]) -> str:
    return "\n".join([f"{title}:", *(f"- {line}" for line in lines)]) if lines else ""


def _describe_neighbour(task: Task) -> dict[str, Any]:
    row: dict[str, Any] = {"number": task.number, "title": task.title}
    return row if task.status == "pending" else {**row, "status": task.status}


def _format_neighbour(task: Task) -> str:
    mark = MARKS[task.status]
    return " ".join(filter(None, [f"#{task.number}", f"[{mark}]" if mark else "", join_lines(task.title)]))


def _name_author(note: TaskNote) -> str:
    author = note.author
    return f"{author.client} {author.client_version}".strip() or author.contract or "unknown"
