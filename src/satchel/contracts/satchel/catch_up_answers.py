"""What the tool `catch_up` does: the project, what was done since, what is claimed, what is ready, what there is."""

from typing import Any

from msgspec import UNSET

from satchel.contracts.content import join_lines
from satchel.contracts.contract import Body, Context
from satchel.contracts.satchel import shared
from satchel.contracts.satchel.catch_up import CatchUp
from satchel.contracts.satchel.history_answers import may_read, name_author, read_since
from satchel.contracts.satchel.projects import describe_why
from satchel.contracts.satchel.task_answers import format_task, make_row, write_minute
from satchel.model import KINDS, ChangeQuery, ProjectCounts, TaskQuery
from satchel.services import overview, projects, tasks
from satchel.services.overview import Doing

_MOST_DONE = 15
_MOST_READY = 5
_MOST_CLAIMED = 10
_MOST_PROJECTS = 10
_MOST_TAGS = 10
_LONGEST_TITLE = 80


def answer(context: Context, args: CatchUp) -> Body:
    """What `catch_up` answers."""
    structured: dict[str, Any] = {"project": context.scope.project}
    lines: list[str] = []
    for part in (_tell_place, _tell_others, _tell_done, _tell_claims, _tell_ready):
        members, more = part(context, args)
        structured |= members
        lines += more
    return shared.reply("\n".join(lines), structured)


Part = tuple[dict[str, Any], list[str]]  # members of the answer, and lines of its text


def _tell_place(context: Context, _args: CatchUp) -> Part:
    """The current project, why it is that, and what is in it."""
    project = projects.current(context.tx, context.scope)
    held = projects.count_current(context.tx, context.scope)
    why = describe_why(context.scope, exists=project.number > 0)
    tags = overview.list_tags(context.tx, context.scope, _MOST_TAGS)
    counts = _count(context, held, _count_open(context).get(project.number, 0))
    members: dict[str, Any] = {"why": why, **counts, **({"tags": tags} if tags else {})}
    line = f"Project '{context.scope.project}' ({why}): {_format_counts(counts)}"
    return members, [f"{line}; tags {', '.join(tags)}" if tags else line]


def _tell_others(context: Context, _args: CatchUp) -> Part:
    """The other projects, and how much is in each."""
    count_open = _count_open(context)
    found = [
        (project.name, _count(context, held, count_open.get(project.number, 0)))
        for project, held in projects.list_all(context.tx, context.scope)
        if project.name != context.scope.project
    ]
    if not found:
        return {}, []
    shown, more = found[:_MOST_PROJECTS], len(found) - _MOST_PROJECTS
    members: dict[str, Any] = {"others": [{"name": name, **counts} for name, counts in shown]}
    names = [f"{name} ({_format_counts(counts)})" for name, counts in shown]
    if more > 0:
        members["more_others"] = more
        names.append(f"{more} more")
    return members, [f"Other projects: {', '.join(names)}"]


def _tell_done(context: Context, args: CatchUp) -> Part:
    """What was done in the project since the caller was here, by whom."""
    after, since = (0, "") if args.since is UNSET else read_since(context, args.since)
    if not after and not since:
        since = overview.find_last_visit(context.tx, context.scope, context.client.name)
    kinds = [kind for kind in KINDS if kind != "project" and may_read(context, kind)]
    query = ChangeQuery(kinds=kinds, since=since, after=after)
    found, has_more = overview.list_done(context.tx, context.scope, query, _MOST_DONE)
    said = write_minute(since) if since else str(args.since)
    rows = [_format_done(context, one) for one in found]  # as JSON they would cost twice as much
    members: dict[str, Any] = {"since": said, "done": rows}
    lines = [f"Done since {said}:", *(f"- {row}" for row in rows)] if rows else [f"Nothing was done since {said}."]
    if has_more:
        members["more_done"] = True
        lines.append("and more: see history")
    return members, lines


def _tell_claims(context: Context, _args: CatchUp) -> Part:
    """The tasks that somebody works on."""
    if "list_tasks" not in context.tools:
        return {}, []
    here = context.scope.project
    found, has_more = tasks.list_page(context.tx, context.scope, TaskQuery(filter="in_progress"), limit=_MOST_CLAIMED)
    if not found:
        return {}, []
    lines = [
        "In progress:",
        *(format_task(task, here) for task in found),
        *(["and more: list_tasks"] if has_more else []),
    ]
    rows = {"in_progress": [make_row(task, here) for task in found]}
    return rows | ({"more_in_progress": True} if has_more else {}), lines


def _tell_ready(context: Context, _args: CatchUp) -> Part:
    """The most urgent tasks of the project that nobody holds, and how many more there are."""
    if "list_tasks" not in context.tools:
        return {}, []
    here = context.scope.project
    query = TaskQuery(filter="ready", project=here, holder_key="")  # of no holder: what is claimed was told
    found, count = overview.list_ready(context.tx, context.scope, query, _MOST_READY)
    _, everywhere = overview.list_ready(context.tx, context.scope, TaskQuery(filter="ready", holder_key=""), 0)
    more, elsewhere = count - len(found), everywhere - count
    members: dict[str, Any] = {"ready": [make_row(task, here) for task in found]}
    lines = ["Ready:" if found else "No task is ready in this project.", *(format_task(task, here) for task in found)]
    if more > 0:
        members["more_ready"] = more
        lines.append(f"and {more} more: list_tasks")
    if elsewhere > 0:
        members["ready_elsewhere"] = elsewhere
        lines.append(f"Ready in other projects, or in none: {elsewhere}")
    return members, lines


# -- shapes -----------------------------------------------------------------------------------------------------


def _count_open(context: Context) -> dict[int, int]:
    """How many open tasks are in each project, if the caller may read tasks."""
    return overview.count_open(context.tx, context.scope) if "list_tasks" in context.tools else {}


def _count(context: Context, held: ProjectCounts, open_tasks: int) -> dict[str, int]:
    """How many prompts, documents and open tasks there are, of those that the caller may read."""
    counts = {"prompts": held.prompts if may_read(context, "prompt") else 0}
    counts["documents"] = held.resources if may_read(context, "resource") else 0
    counts["open_tasks"] = open_tasks
    return {name: count for name, count in counts.items() if count}


def _format_counts(counts: dict[str, int]) -> str:
    named = [shared.format_count(count, name.removesuffix("s").replace("_", " ")) for name, count in counts.items()]
    return ", ".join(named) or "empty"


def _format_done(context: Context, one: Doing) -> str:
    entry = one.entry
    kind = "document" if entry.revision.kind == "resource" else entry.revision.kind
    name = f"{entry.key} {_shorten(entry.title)}" if entry.revision.kind == "task" else f"{kind} {entry.key}"
    who = name_author(entry.revision.author, context.scope)
    return f"{_write_time(context, entry.revision.at)} {name} {one.did} by {who}"


def _shorten(title: str) -> str:
    plain = join_lines(title)
    return plain if len(plain) <= _LONGEST_TITLE else f"{plain[:_LONGEST_TITLE]}..."


def _write_time(context: Context, at: str) -> str:
    """The time of a change of today, else its day."""
    return at[11:16] if at[:10] == context.tx.now[:10] else at[:10]
