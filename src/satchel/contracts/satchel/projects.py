"""Projects: the tools that add and list them, and `catch_up`, which reports recent and next work."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from msgspec import UNSET

from satchel.contracts.content import format_count, format_minute, join_lines
from satchel.contracts.contract import Body, Context
from satchel.contracts.satchel import answers
from satchel.contracts.satchel.answers import may_read
from satchel.contracts.satchel.history import read_since
from satchel.contracts.satchel.task_answers import format_task, make_row
from satchel.contracts.satchel.tools import AddProject, CatchUp, ListProjects
from satchel.model import KINDS, ChangeQuery, ItemKind, ProjectCounts, TaskQuery
from satchel.services import history, layers, projects, tasks
from satchel.services.history import Doing, name_author

_MOST_DONE = 15
_LEAST_DONE = 5  # the minimum of rows, even if rows and notes are long
_ROOM = 1000  # characters for rows and notes
_MOST_READY = 5
_MOST_CLAIMED = 10
_MOST_PROJECTS = 10
_MOST_TAGS = 10
_MOST_NOTES = 5
_MOST_TITLES = 3  # titles to show of tasks that one call changed
_MOST_NAMES = 5
_LONGEST_TITLE = 60
_LONGEST_NOTE = 72


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
        rows.append({"name": project.name, **counts})
        lines.append(f"- {project.name}: {_format_counts(counts)}")
    exists = any(project.name == here for project, _ in found)
    why = projects.describe_why(context.scope, exists=exists)
    current = "The current project is" if exists or context.scope.makes else "There is no project"
    text = "\n".join([f"{current} '{here}' ({why}).", *lines])
    return answers.reply(context, text, why=why, projects=rows)


Part = tuple[dict[str, Any], list[str]]  # members of the answer, and lines of its text


def catch_up(context: Context, args: CatchUp) -> Body:
    query, said = _read_since(context, args)
    members: dict[str, Any] = {}
    lines: list[str] = []
    parts = [_tell_projects(context), _tell_done(context, query, said)]
    if may_read(context, "task"):
        parts += [_tell_claims(context), _tell_ready(context)]
    for part, more in parts:
        members |= part
        lines += more
    return answers.reply(context, "\n".join(lines), **members)


def _read_since(context: Context, args: CatchUp) -> tuple[ChangeQuery, str]:
    """Return a query for the requested changes, and words for the time since when."""
    after, moment = (0, "") if args.since is UNSET else read_since(context, args.since)
    if not after and not moment:
        moment = history.find_last_visit(context.tx, context.scope, context.client.name)
    kinds = [kind for kind in KINDS if kind != "project" and may_read(context, kind)]
    said = format_minute(moment) if moment else str(args.since)
    return ChangeQuery(kinds=kinds, since=moment, after=after), said


def _tell_projects(context: Context) -> Part:
    """Report the current project, the reason for it, its content, and the size of other projects."""
    tx, scope = context.tx, context.scope
    exists = projects.current(tx, scope).number > 0
    open_tasks = projects.count_open_tasks(tx, scope)
    found = {
        project.name: _count(context, held, open_tasks.get(project.number, 0))
        for project, held in projects.list_all(tx, scope)
    }
    counts = found.pop(scope.project, {})
    why, tags = projects.describe_why(scope, exists=exists), projects.list_tags(tx, scope, _MOST_TAGS)
    members: dict[str, Any] = {"why": why, **counts, **({"tags": tags} if tags else {})}
    line = f"Project '{scope.project}' ({why}): {_format_counts(counts)}"
    line += f"; tags {', '.join(tags)}" if tags else ""
    if not found:
        return members, [line]
    shown, more = list(found.items())[:_MOST_PROJECTS], len(found) - _MOST_PROJECTS
    members["others"] = [{"name": name, **counts} for name, counts in shown]
    personal = layers.enter_personal(scope)
    read_here = personal.project if personal else ""
    names = [
        f"{name} ({_format_counts(counts)}{'; read here too' if name == read_here else ''})" for name, counts in shown
    ]
    if more > 0:
        members["more_others"] = more
        names.append(f"{more} more")
    return members, [line, f"Other projects: {', '.join(names)}"]


def _tell_done(context: Context, query: ChangeQuery, said: str) -> Part:
    """Report the changes since the caller's last visit, with their authors, and the latest notes on open tasks."""
    found, has_more = history.list_done(context.tx, context.scope, query, _MOST_DONE)
    rows = [_format_done(context, one) for one in found]  # as texts, because JSON objects need twice as many tokens
    notes = _list_notes(context, query)
    room = _ROOM - sum(map(len, notes))
    kept = max(min(_LEAST_DONE, len(rows)), sum(size <= room for size in accumulate(map(len, rows))))
    members: dict[str, Any] = {"since": said, "done": rows[:kept]}
    lines = [f"Done since {said}:", *(f"- {row}" for row in rows[:kept])]
    if not rows:
        lines = [f"Nothing was done since {said}."]
    if has_more or kept < len(rows):
        members["more_done"] = True
        lines.append("and more: see history")
    if notes:
        members["task_notes"] = notes
        lines += ["Notes on open tasks:", *(f"- {note}" for note in notes)]
    return members, lines


def _list_notes(context: Context, query: ChangeQuery) -> list[str]:
    if not may_read(context, "task"):
        return []
    return [
        f"{_write_time(context, note.at)} #{number} {name_author(note.author, context.scope)}: "
        f"{_shorten(note.text, _LONGEST_NOTE)}"
        for number, note in projects.list_notes(context.tx, context.scope, query, _MOST_NOTES)
    ]


def _tell_claims(context: Context) -> Part:
    """List the claimed tasks."""
    here = context.scope.project
    found, has_more = tasks.list_page(context.tx, context.scope, TaskQuery(filter="in_progress"), limit=_MOST_CLAIMED)
    if not found:
        return {}, []
    members: dict[str, Any] = {"in_progress": [make_row(task, here) for task in found]}
    lines = ["In progress:", *(format_task(task, here) for task in found)]
    if has_more:
        members["more_in_progress"] = True
        lines.append("and more: list_tasks")
    return members, lines


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


def _count(context: Context, held: ProjectCounts, open_tasks: int) -> dict[str, int]:
    """Count a project's items of each kind that the caller may read."""
    counts: tuple[tuple[ItemKind, str, int], ...] = (
        ("prompt", "prompts", held.prompts),
        ("document", "documents", held.documents),
        ("task", "open_tasks", open_tasks),
    )
    return {name: count for kind, name, count in counts if count and may_read(context, kind)}


def _format_counts(counts: dict[str, int]) -> str:
    words = [format_count(count, name.removesuffix("s").replace("_", " ")) for name, count in counts.items()]
    return ", ".join(words) or "empty"


def _format_done(context: Context, one: Doing) -> str:
    who = name_author(one.revision.author, context.scope)
    adder = name_author(one.adder, context.scope) if one.adder else ""
    deed = f"{one.did} by {who}"
    if adder:
        deed = f"added and {deed}" if adder == who else f"{deed}, added by {adder}"
    time = _write_time(context, one.revision.at)
    kind = one.revision.kind
    if len(one.entries) == 1:
        entry = one.entries[0]
        name = f"{entry.key} {_shorten(entry.title)}".rstrip() if kind == "task" else f"{kind} {entry.key}"
        return f"{time} {name} {deed}"
    return f"{time} {len(one.entries)} {kind}s {deed}: {_name_items(one)}"


def _name_items(one: Doing) -> str:
    """Name several items: a few tasks by title, many by ranges of numbers."""
    entries = one.entries[::-1]
    if one.revision.kind == "task" and len(entries) > _MOST_TITLES:
        return _format_numbers(sorted(entry.revision.item for entry in entries))
    shown, longest = entries[:_MOST_NAMES], _LONGEST_TITLE // len(entries)
    names = [
        f"{entry.key} {_shorten(entry.title, longest)}" if one.revision.kind == "task" else entry.key for entry in shown
    ]
    return ", ".join([*names, *(["..."] if len(entries) > len(shown) else [])])


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
