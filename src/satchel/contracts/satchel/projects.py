"""Projects: the tools that add and list them, and `catch_up`, which reports recent and next work."""

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Literal

from msgspec import UNSET
from msgspec.structs import replace

from satchel.clock import days_before
from satchel.contracts.content import format_count, format_minute, join_lines
from satchel.contracts.contract import Body, Context
from satchel.contracts.satchel import answers
from satchel.contracts.satchel.answers import may_read
from satchel.contracts.satchel.history import read_since
from satchel.contracts.satchel.task_answers import format_task, make_row, tells_taken
from satchel.contracts.satchel.tools import AddProject, CatchUp, ListProjects, Remember
from satchel.model import (
    ACTION_WORDS,
    KINDS,
    Action,
    Author,
    ChangeQuery,
    ItemKind,
    ProjectCounts,
    TaskQuery,
    Timestamp,
    Version,
)
from satchel.protocol.cursors import encode_cursor
from satchel.services import documents, history, layers, projects, tasks
from satchel.services.history import Burst, Completion, name_author
from satchel.services.rules import read_due

_MOST_CLOSED = 10
_MOST_DONE = 15
_LEAST_ROWS = 3  # the minimum of rows of closed tasks and of changes, even if they are long
_ROOM = 1000  # characters for changes and notes
_ROOM_OF_CLOSED = 600
_NEW_DAYS = 7  # days with activity that a new client gets
_MOST_MEMORIES = 10  # lines of one project
_ROOM_OF_MEMORY = 1000  # characters for these lines
_LONGEST_MEMORY = 200
_MOST_READY = 5
_MOST_OUTDATED = 5
_MOST_CLAIMED = 10
_MOST_REVIEWED = 5
_MOST_EXPIRED = 5
_MOST_DUE = 5
_MOST_PROJECTS = 10
_MOST_TAGS = 10
_MOST_NOTES = 5
_MOST_TITLES = 3  # titles to show of tasks that one author changed
_MOST_NAMES = 5
_LONGEST_TITLE = 60
_LONGEST_NOTE = 72
_LONGEST_LAST_NOTE = 120  # of a closed task
_DID: dict[Action, str] = {**ACTION_WORDS, "update": "updated"}


def add_project(context: Context, args: AddProject) -> Body:
    projects.check_access(projects.enter(context.scope, args.name))
    project = projects.add(context.tx, args.name)
    is_current = project.name == context.scope.project
    text = f"Added project '{project.name}'{'' if is_current else ': pass its name as project to use it'}."
    alike = projects.list_alike(context.tx, context.scope, project.name)
    notes = [f"Project '{other}' exists too: upper and lower case differ in names." for other in alike]
    return answers.reply(context, text, notes=notes, project=project.name, added=True)


def list_projects(context: Context, _args: ListProjects) -> Body:
    here, found = context.scope.project, projects.list_all(context.tx, context.scope)
    open_tasks = projects.count_open_tasks(context.tx, context.scope) if may_read(context, "task") else None
    rows, lines = [], []
    for project, held in found:
        counts = {"prompts": held.prompts, "documents": held.documents}
        if open_tasks is not None:
            counts["open_tasks"] = open_tasks.get(project.number, 0)
        review = {"review": project.review} if project.review else {}
        rows.append({"name": project.name, **counts, **review})
        lines.append(f"- {project.name}: {_format_counts(counts)}{'; people review its tasks' if review else ''}")
    exists = any(project.name == here for project, _ in found)
    why = projects.describe_why(context.scope, exists=exists)
    current = "The current project is" if exists or context.scope.makes else "There is no project"
    text = "\n".join([f"{current} '{here}' ({why}).", *lines])
    return answers.reply(context, text, why=why, projects=rows)


def remember(context: Context, args: Remember) -> Body:
    line, is_added = documents.remember(context.tx, context.scope, args.text)
    where = f"{documents.MEMORY} of project '{context.scope.project}'"
    text = f"Added to {where}:" if is_added else f"Nothing was added: {where} has this line already."
    notes = [] if is_added else ["It was remembered before: edit memory.md if it changed."]
    return answers.reply(context, f"{text}\n- {line}", notes=notes, added=is_added, line=line)


Part = tuple[dict[str, Any], list[str]]  # members of the answer, and lines of its text


@tells_taken
def catch_up(context: Context, args: CatchUp) -> Body:
    query, period = _read_since(context, args)
    since = history.find_time(context.tx, context.scope, query)
    elsewhere = history.list_elsewhere(context.tx, context.scope, query)
    parts = [_tell_projects(context, elsewhere), _tell_done(context, query, since, elsewhere, period)]
    parts.append(_tell_memory(context))
    if may_read(context, "task"):
        claimed = TaskQuery(filter="in_progress")
        parts.append(_list_tasks(context, "in_progress", claimed, _MOST_CLAIMED, "list_tasks with status in_progress"))
        parts += [_tell_expired(context, since), _tell_review(context)]
        parts += [_tell_due(context, "overdue", "overdue"), _tell_due(context, "due_today", "today")]
        parts.append(_tell_ready(context))
    parts.append(_tell_outdated(context))
    if newest := history.find_newest(context.tx, context.scope, elsewhere):
        marker = encode_cursor("s", newest)
        parts.append(({"marker": marker}, [f"Later: catch_up with since {marker}"]))
    members: dict[str, Any] = {}
    lines: list[str] = []
    for part, more in parts:
        members |= part
        lines += more
    return answers.reply(context, "\n".join(lines), **members)


def _read_since(context: Context, args: CatchUp) -> tuple[ChangeQuery, str]:
    """Return a query for the requested changes, and the period in words."""
    kinds = [kind for kind in KINDS if kind != "project" and may_read(context, kind)]
    after, moment = (0, "") if args.since is UNSET else read_since(context, args.since)
    query = ChangeQuery(kinds=kinds, since=moment, after=after)
    if after or moment:
        return query, ""
    if visit := history.find_last_visit(context.tx, context.scope, context.client.name):
        is_today = visit == days_before(context.tx.now)
        why = "the last 24 hours, because your last change is in them" if is_today else "your last change"
        return replace(query, since=visit), why
    days = f"the last {_NEW_DAYS} days"
    active = history.find_active_days(context.tx, context.scope, query, _NEW_DAYS)
    since = active or days_before(context.tx.now, _NEW_DAYS)
    return replace(query, since=since), f"{days}{' with changes' if active else ''}, because you are new here"


def _tell_projects(context: Context, elsewhere: Sequence[Version]) -> Part:
    """Report the current project, the reason for it, its content, and the size and activity of other projects."""
    tx, scope = context.tx, context.scope
    exists = projects.current(tx, scope).number > 0
    open_tasks, changes = projects.count_open_tasks(tx, scope), Counter(one.project for one in elsewhere)
    found = {
        project.name: _count(context, held, open_tasks.get(project.number, 0), changes[project.number])
        for project, held in projects.list_all(tx, scope)
    }
    counts = found.pop(scope.project, {})
    why, tags = projects.describe_why(scope, exists=exists), projects.list_tags(tx, scope, _MOST_TAGS)
    members: dict[str, Any] = {"why": why, **counts, **({"tags": tags} if tags else {})}
    line = f"Project '{scope.project}' ({why}): {_format_counts(counts)}"
    line += f"; tags {', '.join(tags)}" if tags else ""
    if not found:
        return members, [line]
    listed = sorted(found.items(), key=lambda one: -one[1].get("changes", 0))
    shown, more = listed[:_MOST_PROJECTS], len(listed) - _MOST_PROJECTS
    members["others"] = [{"name": name, **counts} for name, counts in shown]
    names = [f"{name} ({_format_counts(counts)})" for name, counts in shown]
    if more > 0:
        members["more_others"] = more
        names.append(f"{more} more")
    lines = [line, f"Other projects: {', '.join(names)}"]
    if scope.personal and (scope.personal == scope.project or scope.personal in dict(shown)):
        lines.append(f"What is saved in '{scope.personal}' is read in every project, by all users of this store.")
    return members, lines


def _tell_done(
    context: Context, query: ChangeQuery, since: Timestamp, elsewhere: Sequence[Version], period: str
) -> Part:
    """Report the closed tasks with their last notes, what each author did, and the latest notes on open tasks."""
    start = format_minute(since) if since else "the beginning"
    said = f"since {start}{f', {period}' if period else ''}"
    notes, has_more = _list_notes(context, query, since)
    completed, completed_lines = _tell_closed(context, "completed", query, since)
    cancelled, cancelled_lines = _tell_closed(context, "cancelled", query, since)
    changes, change_lines = _tell_changes(context, query, elsewhere, _ROOM - sum(map(len, notes)))
    lines = [*completed_lines, *cancelled_lines, *change_lines]
    lines = [f"S{said[1:]}:", *lines] if lines else [f"Nothing was done {said}."]
    if notes:
        lines += ["Notes on open tasks:", *(f"- {note}" for note in notes)]
    told: dict[str, Any] = {"task_notes": notes} if notes else {}
    if has_more:
        told["more_task_notes"] = True
        lines.append("and more: history")
    return {"since": start, "period": said, **completed, **cancelled, **changes, **told}, lines


def _tell_closed(
    context: Context, status: Literal["completed", "cancelled"], query: ChangeQuery, since: Timestamp
) -> Part:
    if not may_read(context, "task"):
        return {}, []
    found, has_more = history.list_closed(context.tx, context.scope, status, since, _MOST_CLOSED, after=query.after)
    rows = [_format_closed(context, one) for one in found]
    if not rows:
        return {}, []
    kept = _count_fitting(rows, _ROOM_OF_CLOSED)
    members: dict[str, Any] = {status: rows[:kept]}
    lines = [f"{status.capitalize()}:", *(f"- {row}" for row in rows[:kept])]
    if has_more or kept < len(rows):
        members[f"more_{status}"] = True
        lines.append(f"and more: list_tasks with status {status}")
    return members, lines


def _tell_changes(context: Context, query: ChangeQuery, elsewhere: Sequence[Version], room: int) -> Part:
    client = context.client.name
    found, has_more = history.list_bursts(
        context.tx, context.scope, query, elsewhere, client, limit=_MOST_DONE, names=_MOST_NAMES
    )
    rows = [_format_burst(context, one) for one in found]  # as texts, because JSON objects need twice as many tokens
    kept = _count_fitting(rows, room)
    members: dict[str, Any] = {"done": rows[:kept]}
    lines = []
    for heading, is_own in (("Changes:", False), ("Yours:", True)):
        listed = [f"- {row}" for row, one in zip(rows[:kept], found, strict=False) if one.is_own == is_own]
        lines += [heading, *listed] if listed else []
    if has_more or kept < len(rows):
        members["more_done"] = True
        lines.append("and more: history")
    return members, lines


def _count_fitting(rows: Sequence[str], room: int) -> int:
    """Count the rows that fit into a number of characters; at least a few."""
    return max(min(_LEAST_ROWS, len(rows)), sum(size <= room for size in accumulate(map(len, rows))))


def _list_notes(context: Context, query: ChangeQuery, since: Timestamp) -> tuple[list[str], bool]:
    """List the last notes on open tasks, and whether there are more."""
    if not may_read(context, "task"):
        return [], False
    found = projects.list_notes(context.tx, context.scope, since, _MOST_NOTES + 1, has_seen=query.after > 0)
    rows = [
        f"{_write_time(context, note.at)} #{number} {_name_program(context, note.author)}: "
        f"{_shorten(note.text, _LONGEST_NOTE)}"
        for number, note in found[:_MOST_NOTES]
    ]
    return rows, len(found) > _MOST_NOTES


def _tell_memory(context: Context) -> Part:
    """Report the newest lines of the memories of the project and of the personal project."""
    if not may_read(context, "document") and "remember" not in context.tools:
        return {}, []
    members: dict[str, Any] = {}
    lines = []
    for name, scope in (
        ("memory", context.scope),
        ("personal_memory", layers.find_personal(context.tx, context.scope)),
    ):
        found = documents.list_memories(context.tx, scope) if scope else []
        newest = [_shorten(line, _LONGEST_MEMORY) for line in found[: -_MOST_MEMORIES - 1 : -1]]
        kept = newest[: _count_fitting(newest, _ROOM_OF_MEMORY)][::-1]
        if scope is None or not kept:
            continue
        members[name] = kept
        lines += [f"Remembered in '{scope.project}':", *(f"- {line}" for line in kept)]
        if len(kept) < len(found):
            members[f"more_{name}"] = len(found) - len(kept)
            lines.append(f"and {len(found) - len(kept)} older: read_resource {documents.MEMORY}")
    return members, lines


def _list_tasks(context: Context, name: str, query: TaskQuery, limit: int, more: str) -> Part:
    """List the first tasks that match a query; `more` is the call that lists the others."""
    here = context.scope.project
    found, has_more = tasks.list_page(context.tx, context.scope, query, limit=limit)
    if not found:
        return {}, []
    members: dict[str, Any] = {name: [make_row(task, here) for task in found]}
    lines = [f"{name.replace('_', ' ').capitalize()}:", *(format_task(task, here) for task in found)]
    if has_more:
        members[f"more_{name}"] = True
        lines.append(f"and more: {more}")
    return members, lines


def _tell_review(context: Context) -> Part:
    """Name the tasks of the project that wait for a person to accept them."""
    query = TaskQuery(filter="review", project=context.scope.project)
    found, has_more = tasks.list_page(context.tx, context.scope, query, limit=_MOST_REVIEWED)
    if not found:
        return {}, []
    names = [f"#{task.number} {_shorten(task.title)}" for task in found] + (["..."] if has_more else [])
    return {"in_review": names}, [f"In review: {', '.join(names)}"]


def _tell_expired(context: Context, since: Timestamp) -> Part:
    """List the open tasks whose claims ran out in the period."""
    here = context.scope.project
    found = tasks.list_expired_claims(context.tx, context.scope, since, _MOST_EXPIRED)
    if not found:
        return {}, []
    rows = [
        replace(make_row(task, here), holder=claim.holder, until=format_minute(claim.until)) for task, claim in found
    ]
    lines = [f"{format_task(task, here)} (by {claim.holder} at {claim.until[11:16]})" for task, claim in found]
    return {"expired_claims": rows}, ["Claims that ran out:", *lines]


def _tell_due(context: Context, name: str, due: str) -> Part:
    """List the open tasks of the project that are due in a period, most urgent first."""
    first, end = read_due(due, context.tx.now[:10])
    query = TaskQuery(
        filter="pending",
        project=context.scope.project,
        takes_unfiled=context.scope.projects is None,
        due_from=first,
        due_before=end,
    )
    return _list_tasks(context, name, query, _MOST_DUE, f"list_tasks with due {due}")


def _tell_ready(context: Context) -> Part:
    """List the most urgent unclaimed tasks of the project, and count the others."""
    here = context.scope.project
    query = TaskQuery(filter="ready", project=here, holder_key="")  # empty: leaves out all claimed tasks, listed above
    found, has_more = tasks.list_page(context.tx, context.scope, query, limit=_MOST_READY)
    count = tasks.count_listed(context.tx, context.scope, query) if has_more else len(found)
    everywhere = tasks.count_listed(context.tx, context.scope, TaskQuery(filter="ready", holder_key=""))
    more, elsewhere = count - len(found), everywhere - count
    members: dict[str, Any] = {"ready": [make_row(task, here) for task in found]}
    lines = ["Ready:" if found else "No task is ready in this project.", *(format_task(task, here) for task in found)]
    if more > 0:
        members["more_ready"] = more
        lines.append(f"and {more} more: list_tasks")
    if elsewhere > 0:
        members["ready_elsewhere"] = elsewhere
        lines.append(f"Ready outside this project: {elsewhere}")
    return members, lines


def _tell_outdated(context: Context) -> Part:
    """List the prompts and documents that are expired or replaced, the last ones first."""
    kinds = [kind for kind in layers.KINDS if may_read(context, kind)]
    found = layers.list_outdated(context.tx, context.scope, kinds, _MOST_OUTDATED)
    if not found:
        return {}, []
    rows = [f"{one.kind} {one.name} {', '.join(answers.describe_age(one))}" for one in found]
    members: dict[str, Any] = {"expired": rows}
    lines = ["Out of date:", *(f"- {row}" for row in rows)]
    if more := found[0].count - len(rows):
        members["more_expired"] = more
        lines.append(f"and {more} more: list_prompts and list_resources mark them")
    return members, lines


def _count(context: Context, held: ProjectCounts, open_tasks: int, changes: int) -> dict[str, int]:
    """Count a project's items of each kind that the caller may read, and its changes."""
    counts: tuple[tuple[ItemKind, str, int], ...] = (
        ("prompt", "prompts", held.prompts),
        ("document", "documents", held.documents),
        ("task", "open_tasks", open_tasks),
    )
    found = {name: count for kind, name, count in counts if count and may_read(context, kind)}
    return {**found, "changes": changes} if changes else found


def _format_counts(counts: dict[str, int]) -> str:
    words = [format_count(count, name.removesuffix("s").replace("_", " ")) for name, count in counts.items()]
    return ", ".join(words) or "empty"


def _format_closed(context: Context, one: Completion) -> str:
    task = one.task
    author = f" by {_name_program(context, one.author)}" if one.author else ""
    note = f": {_shorten(one.note.text, _LONGEST_LAST_NOTE)}" if one.note else ""
    is_earlier = one.note is not None and one.note.at[:19] < (task.completed_at or "")[:19]
    if one.note and (is_earlier or author != f" by {_name_program(context, one.note.author)}"):
        note = f"; last note by {_name_program(context, one.note.author)}{note}"
    return f"{_write_time(context, task.completed_at or '')} #{task.number} {_shorten(task.title)}{author}{note}"


def _format_burst(context: Context, one: Burst) -> str:
    count, kind = len(one.revisions), one.newest.kind
    start = f"{_write_time(context, one.newest.at)} {_name_program(context, one.newest.author)} {_DID[one.action]}"
    where = f" to {one.to}" if one.to else " here" if one.action == "move" else ""
    if count == 1:
        return f"{start} {'' if kind == 'task' else f'{kind} '}{_name_items(one)}{where}"
    return f"{start} {'at least ' if one.is_cut else ''}{count:,} {kind}s{where}: {_name_items(one)}"


def _name_items(one: Burst) -> str:
    """Name the items of a burst: a few tasks by title, many by ranges of numbers."""
    if one.newest.kind == "task" and len(one.revisions) > _MOST_TITLES:
        return _format_numbers(sorted(revision.item for revision in one.revisions))
    longest = _LONGEST_TITLE // len(one.entries)
    names = [
        f"{entry.key} {_shorten(entry.title, longest)}".rstrip() if entry.revision.kind == "task" else entry.key
        for entry in one.entries
    ]
    return ", ".join([*names, *(["..."] if len(one.revisions) > len(names) else [])])


def _name_program(context: Context, author: Author) -> str:
    """Name an author without the version of the program."""
    return name_author(replace(author, client_version=""), context.scope)


def _format_numbers(numbers: Sequence[int]) -> str:
    """Format the numbers of tasks, with consecutive ones as `#1 … #12`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    names = [f"#{run[0]} … #{run[-1]}" if run[2:] else ", ".join(f"#{number}" for number in run) for run in runs]
    return ", ".join([*names[:_MOST_NAMES], *(["..."] if len(names) > _MOST_NAMES else [])])


def _shorten(text: str, longest: int = _LONGEST_TITLE) -> str:
    plain = join_lines(text)
    return plain if len(plain) <= longest else f"{plain[:longest]}..."


def _write_time(context: Context, at: str) -> str:
    """Format a time of today as hours and minutes, and any other time as a day."""
    return at[11:16] if at[:10] == context.tx.now[:10] else at[:10]
