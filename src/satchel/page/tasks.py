"""Tasks: list by urgency, one task with blockers both ways, notes and history, add by a line, edit."""

from collections.abc import Sequence

from satchel import clock
from satchel.errors import NotFound, SatchelError, WrongArgument
from satchel.model import (
    PRIORITIES,
    Holder,
    TaskFilter,
    TaskPatch,
    TaskPosition,
    TaskQuery,
    TaskStatus,
    describe_change,
)
from satchel.page import words
from satchel.page.visit import Answer, Redirect, Shown, Visit, link
from satchel.services import diffs, history, links, projects, rules, task_lines, tasks
from satchel.storage.database import Tx

FILTERS: dict[str, TaskFilter] = {
    "ready": "ready",
    "open": "pending",
    "progress": "in_progress",
    "review": "review",
    "done": "completed",
    "cancelled": "cancelled",
    "all": "all",
}
_DUES = {"overdue": "overdue", "today": "due today", "week": "due in 7 days"}
_PAGE = 100
_NEWEST = 300  # the newest tasks, whose tags the list can be filtered by
_NOTES = 50
_VERSIONS = 10
_MOST_CARDS = 200  # open tasks on a board
_DONE = 20
_CLAIM_MINUTES = 480  # how long a person holds a task after moving it to "in progress"


def show_list(visit: Visit, error: str = "", line: str = "") -> Answer:
    """Show the user's tasks, by status, due day, priority, project, tag and text."""
    name = visit.query.get("status", "open")
    tags = [tag for tag in visit.query.get("tag", "").split(",") if tag]
    due, priority = visit.query.get("due", ""), visit.query.get("priority", "")
    due_from, due_before = rules.read_due(due, clock.now()[:10]) if due else ("", "")
    query = TaskQuery(
        due_from=due_from,
        due_before=due_before,
        priority=next((one for one in PRIORITIES if one == priority), None),
        text=visit.query.get("q", ""),
        tags=tags,
        needs_all_tags=True,
        filter=FILTERS.get(name, "pending"),
        project=visit.query.get("project") or None,
    )
    with visit.read() as tx:
        after = _read_position(visit.query.get("after", ""))
        found, has_more = tasks.list_page(tx, visit.scope, query, limit=_PAGE, after=after)
        names = projects.list_names(tx, visit.scope)
        known = tasks.list_tags(tx, visit.scope, query.project, _NEWEST)
    last = ""
    if found and has_more:
        end = tasks.position_of(query.filter, found[-1])
        last = f"{end.moment},{end.number},{end.priority},{end.due or ''}"
    values = {"found": found, "next": last, "status": name, "tags": tags, "known_tags": known[:30], "text": query.text}
    more = {"names": names, "wanted": query.project or "", "error": error, "line": line}
    kept = {"status": name, "q": query.text, "project": query.project, "tag": ",".join(tags)}
    kept |= {"due": due, "priority": priority}
    choices = {"due": due, "dues": _DUES, "priority": priority, "priorities": PRIORITIES}
    return Shown("tasks.html", values | more | choices | {"filters": kept})


def show(visit: Visit) -> Answer:
    """Show one task."""
    with visit.read() as tx:
        task = tasks.find(tx, visit.scope, _number(visit))
        around = tasks.list_some(tx, visit.scope, task.blocked_by)
        blocks = tasks.list_blocked(tx, visit.scope, task.number)
        parents = tasks.list_some(tx, visit.scope, [task.parent] if task.parent else [])
        subtasks = tasks.list_subtasks(tx, visit.scope, task.number)
        notes, count = tasks.list_notes(tx, visit.scope, task.number, _NOTES)
        item, revisions, _ = history.list_versions(tx, visit.scope, f"satchel://task/{task.number}", limit=_VERSIONS)
        fields = diffs.list_changed_fields(tx, item, revisions)
        to, back = links.of(tx, visit.scope, "task", task)
        names = projects.list_names(tx, visit.scope)
    values = {"task": task, "blockers": around, "blocks": blocks, "notes": notes, "note_count": count}
    values |= {"parents": parents, "subtasks": subtasks}
    more = {"revisions": revisions, "links": to, "referrers": back, "names": names, "priorities": PRIORITIES}
    changes = {"fields": fields, "describe": describe_change}
    return Shown("task.html", values | more | changes | {"error": ""})


def add(visit: Visit) -> Answer:
    """Add a task for each line, such as `Write docs !high due:2026-12-01 +docs @web`; all or none."""
    text = visit.field("lines")
    try:
        lines = task_lines.read([text])
        project = visit.field("project") or None
        added = visit.write(lambda tx: task_lines.add_all(tx, visit.scope, lines, project, lambda _: None))
    except SatchelError as error:
        return show_list(visit, words.explain(error), text)
    said = ", ".join(f"#{task.number} “{task.title}”" for task in added[:3])
    more = f" and {len(added) - 3} more" if len(added) > 3 else ""
    return Redirect(visit.back or link("tasks"), f"Added {said}{more}.", can_undo=True)


def save(visit: Visit) -> Answer:
    """Change a task."""
    patch = TaskPatch(
        title=visit.field("title"),
        description=visit.field("description").strip() or None,
        project=visit.field("project") or None,
        tags=[tag for tag in visit.field("tags").replace(",", " ").split() if tag],
        priority=visit.field("priority", "normal"),  # type: ignore[arg-type]
        due=visit.field("due").strip() or None,
        blocked_by=_read_numbers(visit.field("blocked_by")),
        parent=_read_parent(visit.field("parent")),
    )
    number, version, holder = _number(visit), visit.number("version"), _find_protector(visit)
    task = visit.write(lambda tx: tasks.update(tx, visit.scope, number, patch, version, holder=holder))
    return Redirect(link("tasks", str(task.number)), f"Saved #{task.number}.", can_undo=True)


def set_status(visit: Visit) -> Answer:
    """Complete, cancel, reopen, start or release a task, accept or return one in review, or set its priority."""
    number = _number(visit)
    return move(visit, [number], link("tasks", str(number)))


def move(visit: Visit, numbers: Sequence[int], page: str) -> Redirect:
    """Change the status or priority of all given tasks, or of none, and return to a page.

    Raises:
        NotFound: there is no such task or status.
        TaskHeld: an agent holds one of the tasks, and the person was not asked yet.
    """
    to, note = visit.field("to"), visit.field("note").strip()
    statuses: dict[str, TaskStatus] = {"done": "completed", "cancelled": "cancelled", "ready": "pending"}
    if to not in (*statuses, "progress", *PRIORITIES) or not numbers:
        raise NotFound("column", to, visit.scope)
    own, protector = _make_holder(visit), _find_protector(visit)
    takes_over = protector is None

    def act(tx: Tx) -> bool:
        before = [tasks.find(tx, visit.scope, number).version for number in numbers]
        for number in numbers:
            if to == "progress":
                tasks.claim(tx, visit.scope, number, own, _CLAIM_MINUTES, takes_over=takes_over)
            elif to in statuses:
                tasks.release(tx, visit.scope, number, own, takes_over=takes_over)
                tasks.update(tx, visit.scope, number, TaskPatch(status=statuses[to]))
                if note:
                    tasks.add_note(tx, visit.scope, number, note)
            else:
                patch = TaskPatch(priority=to)  # type: ignore[arg-type]
                tasks.update(tx, visit.scope, number, patch, holder=protector)

        return before != [tasks.find(tx, visit.scope, number).version for number in numbers]

    is_recorded = visit.write(act)  # not for claims and releases
    with visit.read() as tx:
        moved = [tasks.find(tx, visit.scope, number) for number in numbers]
    what = to if to in PRIORITIES else moved[0].status.replace("_", " ")
    which = f"#{moved[0].number} “{moved[0].title}”" if len(moved) == 1 else f"{len(moved)} tasks"
    return Redirect(visit.back or page, f"{which}: {what}.", can_undo=is_recorded)


def add_note(visit: Visit) -> Answer:
    """Add a note to a task."""
    number = _number(visit)
    visit.write(lambda tx: tasks.add_note(tx, visit.scope, number, visit.field("note").strip()))
    return Redirect(link("tasks", str(number)), "Added a note.")


def delete(visit: Visit) -> Answer:
    """Move a task to the trash."""
    number, holder = _number(visit), _find_protector(visit)
    task = visit.write(lambda tx: tasks.delete(tx, visit.scope, number, holder=holder))
    return Redirect(link("tasks"), f"#{task.number} “{task.title}” is in the trash.", can_undo=True)


# -- the board ----------------------------------------------------------------------------------------------------


def show_board(visit: Visit) -> Answer:
    """Show the board of a project, or of every project."""
    project = visit.path.get("project")
    with visit.read() as tx:
        board = tasks.list_board(tx, visit.scope, project, most_open=_MOST_CARDS, most_done=_DONE)
        names = projects.list_names(tx, visit.scope)
    values = {"columns": tasks.BOARD, "cards": board.cards, "has_more": board.has_more, "names": names}
    return Shown("board.html", {**values, "wanted": project or ""})


def move_cards(visit: Visit) -> Answer:
    """Move cards to another column, or change their priority."""
    return move(visit, _read_numbers(" ".join(visit.form.get("task", ())[:_MOST_CARDS])), link("board"))


# -- parts --------------------------------------------------------------------------------------------------------


def _make_holder(visit: Visit) -> Holder:
    """Return the person as the holder of a claim."""
    return tasks.make_holder("page", visit.session, visit.scope)


def _find_protector(visit: Visit) -> Holder | None:
    """Return the person as a holder, so that claims of agents protect their tasks; None if the person was asked."""
    return None if visit.field("anyway") else _make_holder(visit)


def _read_numbers(text: str) -> list[int]:
    parts = text.replace("#", " ").replace(",", " ").split()
    if not all(part.isascii() and part.isdigit() and len(part) < 16 for part in parts):
        raise WrongArgument("blocked_by", "format", value=text)
    return [int(part) for part in parts]


def _read_parent(text: str) -> int | None:
    """Return the number of the parent in the form; None for an empty field."""
    numbers = _read_numbers(text)
    if len(numbers) > 1:
        raise WrongArgument("parent", "format", value=text)
    return next(iter(numbers), None)


def _number(visit: Visit) -> int:
    text = visit.path.get("number", "")
    if not (text.isascii() and text.isdigit()) or len(text) > 15:
        raise NotFound("task", text, visit.scope)
    return int(text)


def _read_position(text: str) -> TaskPosition | None:
    parts = text.split(",")
    if len(parts) != 4 or not (parts[1].isdigit() and parts[2].isdigit()):
        return None
    return TaskPosition(parts[0], int(parts[1][:15]), int(parts[2][:2]), parts[3] or None)
