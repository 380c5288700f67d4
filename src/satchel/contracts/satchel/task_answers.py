"""Answers about tasks: a row or a line in lists and echoes, or the whole task, each as JSON and as text."""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from satchel.contracts.content import format_count, format_minute, join_lines
from satchel.contracts.contract import Body, Context, Reply
from satchel.contracts.satchel.answers import add_notes, find_holder
from satchel.contracts.satchel.history import describe_versions
from satchel.contracts.satchel.texts import find_links
from satchel.contracts.satchel.tools import Neighbour, Note, TaskRow, WholeTask
from satchel.model import MAX_DESCRIPTION, ChangeQuery, Claim, Task, uri_of
from satchel.services import history, tasks, texts
from satchel.services.task_lines import Mark, TaskLine, write

HIDDEN_BLOCKER = "a task of a project that is not open here"

_MOST_NOTES = 50  # notes in an answer about one task
_MOST_NEWS = 100  # changes and notes in an answer about what is new
_MOST_BOXES = 5  # unticked boxes that a note names
_LONGEST_BOX = 60
_MOST_STAYING = 10  # subtasks that a note names
MARKS: dict[str, Mark] = {"pending": "", "in_progress": "~", "review": "?", "completed": "x", "cancelled": "-"}


def make_row(task: Task, here: str, *, is_echo: bool = False) -> TaskRow:
    """Return the row that describes a task in an answer about the project `here`."""
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
        parent=task.parent,
        subtasks=_write_progress(task),
        unticked=len(texts.find_boxes(task.description or "")),
        holder=task.claim.holder if task.claim else "",
        until=format_minute(task.claim.until) if task.claim else "",
        version=task.version if is_echo else UNSET,
    )


def _write_progress(task: Task) -> str:
    """Write how many of a task's subtasks are closed; empty if it has none."""
    return f"{task.subtasks_done}/{task.subtasks}" if task.subtasks else ""


def format_task(task: Task, here: str | None = None) -> str:
    """Write a task as one line, in the grammar of `add_tasks`; omit its project if that is `here`."""
    line = TaskLine(
        title=task.title,
        label=task.number,
        mark=MARKS[task.status],
        priority=task.priority,
        due=task.due,
        tags=task.tags,
        project=None if task.project == here else task.project,
        after=tuple(f"#{number}" for number in task.open_blockers),
        parent=f"#{task.parent}" if task.parent else None,
        progress=_write_progress(task),
    )
    boxes = len(texts.find_boxes(task.description or ""))
    more = (
        f"({_count_boxes(boxes)} open)" if boxes else "",
        f"({format_claim(task.claim)})" if task.claim else "",
        f"(waits for {HIDDEN_BLOCKER})" if task.waits_elsewhere else "",
        "(in no project)" if here is not None and task.project is None else "",
    )
    return " ".join([write(line), *filter(None, more)])


def list_blockers(task: Task) -> list[str]:
    """Return the open tasks that block a task."""
    numbers = [f"#{number}" for number in task.open_blockers]
    return [*numbers, HIDDEN_BLOCKER] if task.waits_elsewhere else numbers


def format_claim(claim: Claim) -> str:
    """Format a claim: who holds it, and when it ends, in UTC."""
    return f"{claim.holder} until {claim.until[11:16]}"


def tells_taken(run: Callable[..., Body]) -> Callable[..., Reply]:
    """Add notes to the answers of a tool about the caller's tasks that others took over."""

    @wraps(run)
    def tell(context: Context, *args: Any) -> Reply:
        body = run(context, *args)
        taken = tasks.list_taken(context.tx, context.scope, find_holder(context))
        return add_notes(body, [_describe_taken(context, *one) for one in taken])

    return tell


def _describe_taken(context: Context, number: int, claim: Claim) -> str:
    is_held = claim.until > context.tx.now
    holds = f"{claim.holder} holds it until {claim.until[11:16]}" if is_held else "nobody holds it now"
    return f"#{number} was taken over from you at {format_minute(claim.taken_at)}; {holds}."


def describe_holder(context: Context, task: Task, what: str = "It") -> list[str]:
    """Describe the other agent that held a task, if there was one."""
    if task.claim is None or task.claim.holder_key == find_holder(context).key:
        return []
    return [f"{what} was held by {format_claim(task.claim)}."]


def describe_closing(context: Context, *closed: Task) -> list[str]:
    """Note the open boxes and subtasks of closed tasks or tasks in review, and parents that can be completed now."""
    notes = []
    for task in closed:
        if task.status == "review":
            notes.append(f"#{task.number} waits for review by a person.")
        if boxes := [] if task.is_cancelled else texts.find_boxes(task.description or ""):
            named = ", ".join(join_lines(one)[:_LONGEST_BOX] for one in boxes[:_MOST_BOXES])
            are, more = "is" if len(boxes) == 1 else "are", ", ..." if len(boxes) > _MOST_BOXES else ""
            notes.append(f"{_count_boxes(len(boxes))} of #{task.number} {are} not ticked: {named}{more}.")
        if left := task.subtasks - task.subtasks_done:
            notes.append(f"{format_count(left, 'subtask')} of #{task.number} {'is' if left == 1 else 'are'} open.")
    parents = sorted({task.parent for task in closed if task.is_completed and task.parent is not None})
    for parent in tasks.list_some(context.tx, context.scope, parents):
        if not parent.is_completed and parent.subtasks == parent.subtasks_done:
            title = join_lines(parent.title)
            notes.append(f"All subtasks of #{parent.number} {title} are closed: it can be completed.")
    return notes


def _count_boxes(boxes: int) -> str:
    return "1 box" if boxes == 1 else f"{boxes} boxes"


def describe_move(before: str | None, after: str | None) -> str:
    """Return a remark about an item that was moved from one project to another; a task may be in none."""
    return f" moved from {before or 'no project'} to {after or 'no project'}."


def describe_staying(context: Context, moved: Sequence[Task]) -> list[str]:
    """Say which subtasks of moved tasks stay in the project where their parents were; `moved` are these parents."""
    notes = []
    for task in moved:
        found = tasks.list_subtasks(context.tx, context.scope, task.number) if task.subtasks else []
        if left := [f"#{one.number}" for one in found if one.project == task.project]:
            count, stay = format_count(len(left), "subtask"), "stays" if len(left) == 1 else "stay"
            named = f"{', '.join(left[:_MOST_STAYING])}{', ...' if len(left) > _MOST_STAYING else ''}"
            notes.append(f"{count} of #{task.number} {stay} in {task.project or 'no project'}: {named}.")
    return notes


def find_unblocked(context: Context, closed: Sequence[int]) -> list[Task]:
    """Return the tasks, each once, that became ready because others were closed."""
    found = {
        task.number: task
        for number in closed
        for task in tasks.list_blocked(context.tx, context.scope, number)
        if task.is_ready
    }
    return [found[number] for number in sorted(found)]


def show_ready(unblocked: Sequence[Task], here: str) -> tuple[dict[str, Any], list[str]]:
    """Return, for an answer, the members and the lines that list the tasks that became ready."""
    if not unblocked:
        return {}, []
    lines = ["Ready now:", *(format_task(task, here) for task in unblocked)]
    return {"ready": [make_row(task, here) for task in unblocked]}, lines


def show_whole(context: Context, task: Task, here: str) -> tuple[str, WholeTask]:
    """Return a task with the notes, blockers and links that the caller may see, as text and as JSON."""
    blockers = tasks.list_some(context.tx, context.scope, task.blocked_by)
    blocked = tasks.list_blocked(context.tx, context.scope, task.number)
    parents = tasks.list_some(context.tx, context.scope, [task.parent] if task.parent else [])
    children = tasks.list_subtasks(context.tx, context.scope, task.number) if task.subtasks else []
    notes, count = tasks.list_notes(context.tx, context.scope, task.number, _MOST_NOTES)
    names = history.name_authors([one.author for one in notes], context.scope)
    links, linked_from = find_links(context, "task", task)
    whole = replace(
        _make_whole(task, here),
        description=task.description,
        blocked_by=_list_neighbours(blockers, task),
        blocks=_list_neighbours(blocked, task),
        parent=next(iter(_list_neighbours(parents, task)), None),
        children=_list_neighbours(children, task),
        notes=[Note(format_minute(one.at), names[one.author], one.text) for one in notes],
        older_notes=count - len(notes),
        links=links,
        linked_from=linked_from,
    )
    older = [f"({format_count(whole.older_notes, 'older note')} left out)"] if whole.older_notes else []
    more_children = ["..."] if task.subtasks > len(children) else []
    parts = [
        _format_head(task, whole),
        task.description or "",
        _format_list("Waits for", [_format_neighbour(one, task) for one in blockers]),
        _format_list("Blocks", [_format_neighbour(one, task) for one in blocked]),
        _format_list("Subtask of", [_format_neighbour(one, task) for one in parents]),
        _format_list("Subtasks", [*(_format_neighbour(one, task) for one in children), *more_children]),
        _format_list("Notes", [*older, *(f"{one.at} {one.by}: {one.text}" for one in whole.notes)]),
        _format_list("Links", links),
        _format_list("Linked from", linked_from),
    ]
    return "\n\n".join(filter(None, parts)), whole


def show_news(context: Context, task: Task, here: str, query: ChangeQuery) -> tuple[str, dict[str, Any]]:
    """Return a task with only its changes and notes since a time or another change, as text and as members."""
    item, found, has_more = history.list_versions(
        context.tx, context.scope, uri_of("task", task.number), query=query, limit=_MOST_NEWS, with_notes=True
    )
    rows, lines = describe_versions(context, item, found, MAX_DESCRIPTION)
    changes = [row for row, one in zip(rows, found, strict=True) if not one.note]
    told = [line for line, one in zip(lines, found, strict=True) if not one.note]
    written = history.read_notes(context.tx, context.scope, found, MAX_DESCRIPTION)
    notes = [
        Note(row["at"], row["by"], written[one.note])
        for row, one in zip(rows[::-1], found[::-1], strict=True)
        if one.note in written
    ]
    news = replace(_make_whole(task, here), notes=notes)
    parts = [
        _format_head(task, news),
        _format_list("Changes", [*told, *(["older ones are left out: see history"] if has_more else [])]),
        _format_list("Notes", [f"{one.at} {one.by}: {one.text}" for one in notes]),
        "" if found else "No changes and no notes since then.",
    ]
    more = {"more_changes": True} if has_more else {}
    return "\n\n".join(filter(None, parts)), {"task": news, "changes": changes, **more}


def _make_whole(task: Task, here: str) -> WholeTask:
    """Return the facts of a task, without its texts and the tasks around it."""
    claim = task.claim
    return WholeTask(
        number=task.number,
        title=task.title,
        status=task.status,
        version=task.version,
        created=format_minute(task.created_at),
        updated=format_minute(task.updated_at),
        completed=format_minute(task.completed_at) if task.completed_at else "",
        priority=task.priority,
        due=task.due,
        tags=task.tags,
        project=UNSET if task.project == here else task.project,
        blocked_elsewhere=task.waits_elsewhere,
        subtasks=_write_progress(task),
        unticked=len(texts.find_boxes(task.description or "")),
        holder=claim.holder if claim else "",
        until=format_minute(claim.until) if claim else "",
        fence=claim.fence if claim else 0,
    )


def _list_neighbours(found: Sequence[Task], task: Task) -> list[Neighbour]:
    return [
        Neighbour(one.number, one.title, one.status, one.due, UNSET if one.project == task.project else one.project)
        for one in found
    ]


def _format_head(task: Task, whole: WholeTask) -> str:
    facts = [
        f"version {task.version}",
        f"created {whole.created}",
        f"updated {whole.updated}",
        f"{task.status} {whole.completed}" if whole.completed else "",
        f"in review since {format_minute(task.review_at)}" if task.review_at else "",
        f"fence {task.claim.fence}" if task.claim else "",
    ]
    return f"{format_task(task)}\n{', '.join(filter(None, facts))}"


def _format_list(title: str, lines: Iterable[str]) -> str:
    listed = "".join(f"\n- {line}" for line in lines)
    return f"{title}:{listed}" if listed else ""


def _format_neighbour(one: Task, task: Task) -> str:
    """Write a task that another names as one line: its state, its due day, and its project if that is another."""
    project = None if one.project == task.project else one.project
    return write(TaskLine(title=one.title, label=one.number, mark=MARKS[one.status], due=one.due, project=project))
