"""The tools for tasks: list, read, add, update, complete, claim and delete. `task_answers` makes the answers."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from msgspec import UNSET, UnsetType

from satchel.contracts.content import format_minute
from satchel.contracts.contract import Body, Context, Reply
from satchel.contracts.satchel import answers, task_answers, texts, tools
from satchel.contracts.satchel.answers import answer_once, decode_cursor, read_tags
from satchel.contracts.satchel.errors import name_target
from satchel.contracts.satchel.history import read_since
from satchel.errors import EntryRefused, Forbidden, NotFound, Reason, WrongArgument
from satchel.model import (
    ALL_PROJECTS,
    BlockerChange,
    ChangeQuery,
    ListChange,
    Task,
    TaskDraft,
    TaskFilter,
    TaskPatch,
    TaskPosition,
    TaskQuery,
)
from satchel.protocol.cursors import encode_cursor
from satchel.services import history, lookup, rules, task_lines, tasks

LISTS: dict[TaskFilter, str] = {
    "ready": "o",
    "pending": "o",
    "in_progress": "o",
    "review": "o",
    "completed": "d",
    "cancelled": "d",
    "all": "a",
}
_SETTLED = ("review", "completed", "cancelled")  # statuses in which nobody works on a task
_NAMES = {"all": "tasks", "review": "tasks in review"}


@task_answers.tells_taken
def list_tasks(context: Context, args: tools.ListTasks) -> Body:
    status: TaskFilter = args.status or ("pending" if args.due else "ready")
    last = decode_cursor(args.cursor, LISTS[status])
    named = None if args.project == ALL_PROJECTS else args.project or None
    here = named or context.scope.project
    due_from, due_before = rules.read_due(args.due, context.tx.now[:10]) if args.due else ("", "")
    query = TaskQuery(
        filter=status,
        due_from=due_from,
        due_before=due_before,
        priority=args.priority or None,
        project=named,
        text=args.query or "",
        tags=read_tags(args.tags),
        needs_all_tags=args.match == "all",
        holder_key=answers.find_holder(context).key if status == "ready" else None,
    )
    after = TaskPosition(last[1], int(last[2]), int(last[3]), last[4] or None) if last else None
    found, has_more = tasks.list_page(context.tx, context.scope, query, limit=args.limit, after=after)
    known = "" if args.project == ALL_PROJECTS else here  # in a list of all projects, each row has its project
    rows = [task_answers.make_row(task, known) for task in found]
    rows, found, has_more = answers.fit_page(rows, found, has_more=has_more)
    next_cursor = None
    if has_more:
        at = tasks.position_of(status, found[-1])
        next_cursor = encode_cursor(LISTS[status], at.moment, at.number, at.priority, at.due or "")
    lines = [task_answers.format_task(task, known) for task in found]
    members: dict[str, Any] = {"project": here, "tasks": rows}
    if status == "ready" and last is None and (held := tasks.count_held(context.tx, context.scope, query)):
        members["held"] = held
        lines.append(f"{held} more {'is' if held == 1 else 'are'} held by others.")
    return answers.reply_page(
        context,
        _name_tasks(status, args),
        lines,
        where=named,
        next_cursor=next_cursor,
        is_narrowed=bool(args.query or args.tags),
        is_continued=last is not None,
        notes=_describe_missing_tags(context, query, found) if last is None else (),
        **members,
    )


def _name_tasks(status: TaskFilter, args: tools.ListTasks) -> str:
    """Return words for the tasks that a call lists, such as `pending tasks of high priority due today`."""
    due = args.due.lower() if args.due else ""
    when = {"": "", "overdue": "that are overdue", "today": "due today", "week": "due in the next 7 days"}
    words = (
        _NAMES.get(status, f"{status.replace('_', ' ')} tasks"),
        f"of {args.priority} priority" if args.priority else "",
        when.get(due, f"due before {due[1:].strip()}"),
    )
    return " ".join(filter(None, words))


def _describe_missing_tags(context: Context, query: TaskQuery, found: Sequence[Task]) -> list[str]:
    seen = {tag for task in found for tag in task.tags}
    missing = [
        tag
        for tag in query.tags
        if rules.fold_tag(tag) not in seen and not tasks.has_tag(context.tx, context.scope, tag, query.project)
    ]
    if not missing:
        return []
    from satchel.contracts.satchel import guesses  # needed only after such a mistake

    return guesses.describe_tags(missing, "task", tasks.list_tags(context.tx, context.scope, query.project))


@task_answers.tells_taken
def get_task(context: Context, args: tools.GetTask) -> Body:
    with _name_project(context, args.project):
        task = tasks.find(context.tx, context.scope, args.task, args.project or None)
    here = task.project or context.scope.project
    if args.since is UNSET:
        text, whole = task_answers.show_whole(context, task, here)
        members: dict[str, Any] = {"task": whole}
    else:
        after, since = read_since(context, args.since)
        text, members = task_answers.show_news(context, task, here, ChangeQuery(since=since, after=after))
    members["since"] = encode_cursor("s", history.find_last_change(context.tx, context.scope, task.number))
    text += f"\n\nLater changes: since {members['since']}"
    return answers.reply(context, text, project=here, **members)


# -- changes ----------------------------------------------------------------------------------------------------


@task_answers.tells_taken
def add_task(context: Context, args: tools.AddTask) -> Body:
    answers.check_title("task", args.title)
    draft = TaskDraft(
        title=args.title,
        description=args.description or None,
        project=args.project or context.scope.project,
        tags=args.tags or (),
        priority=args.priority,
        due=args.due or None,
        blocked_by=_find_numbers(context, args.blocked_by or (), UNSET),
        parent=_find_parent(context, args.parent, UNSET) or None,
    )
    task = tasks.add(context.tx, context.scope, draft)
    notes = texts.describe_missing(context, [(task.project or "", task.description or "", "")])
    return _reply("Added", context, task, notes=notes)


@task_answers.tells_taken
def add_tasks(context: Context, args: tools.AddTasks) -> Body:
    input = {"lines": args.lines, "project": args.project or ""}
    return answer_once(context, "add_tasks", args.key, input, lambda: _add_lines(context, args))


def _add_lines(context: Context, args: tools.AddTasks) -> Reply:
    here, lines = args.project or context.scope.project, task_lines.read(args.lines)
    for line in lines:
        try:
            answers.check_title("task", line.title)
        except WrongArgument as wrong:
            raise EntryRefused(task_lines.place_of(line.place), wrong) from wrong
    report = partial(answers.report_progress, context, total=len(lines), what="tasks")
    added = task_lines.add_all(context.tx, context.scope, lines, here, report)
    text = "\n".join(["Added:", *(task_answers.format_task(task, here) for task in added)])
    doubts = [(task, found) for task in added if (found := task_lines.find_doubts(task.title))]
    notes = [f"#{task.number}: '{words}' stays in the title; {'; '.join(advice)}." for task, (words, advice) in doubts]
    notes += texts.describe_missing(context, [(task.project or "", task.description or "", "") for task in added])
    rows = [task_answers.make_row(task, here) for task in added]
    return answers.reply(context, text, notes=notes, project=here, tasks=rows)


@task_answers.tells_taken
def update_task(context: Context, args: tools.UpdateTask) -> Body:
    if args.title is not UNSET:
        answers.check_title("task", args.title)
    before = _lock_task(context, args)
    patch = TaskPatch(
        title=args.title,
        description=answers.none_if_empty(args.description),
        project=answers.none_if_empty(args.to),
        tags=UNSET if args.tags is UNSET else rules.read_changes("tags", args.tags),
        priority=args.priority,
        due=answers.none_if_empty(args.due),
        blocked_by=_read_blockers(context, args),
        parent=_find_parent(context, args.parent, args.project),
        status=tasks.choose_status(context.tx, before, args.status, args.to),
    )
    version, fence, holder = args.expected_version or None, args.fence or None, answers.find_protector(context)
    with name_target():
        after = tasks.update(context.tx, context.scope, before, patch, version, fence, holder=holder)
    _add_note(context, after, args.note)
    is_changed = after.version != before.version or args.note is not UNSET
    notes = task_answers.describe_holder(context, before) if is_changed and not fence else []
    if args.note and args.status is not UNSET and after.version != before.version:
        notes.append("The note was added.")
    if after.project != before.project:
        notes.append(f"#{after.number}{task_answers.describe_move(before.project, after.project)}")
        notes += task_answers.describe_staying(context, [before])
    if after.status in _SETTLED and (args.status is not UNSET or after.status != before.status):
        notes += task_answers.describe_closing(context, after)
    written = [(after.description or "", before.description or ""), (args.note or "", "")]
    notes += texts.describe_missing(context, [(after.project or "", *one) for one in written])
    done = "Updated" if after.version != before.version else "Noted on" if args.note else "Unchanged"
    return _reply(done, context, after, before, notes)


@task_answers.tells_taken
def complete_task(context: Context, args: tools.CompleteTask) -> Body:
    before = _lock_task(context, args)
    fence, holder = args.fence or None, answers.find_protector(context)
    status = tasks.choose_status(context.tx, before, "completed")
    was_completed = before.status == status
    after = tasks.update(context.tx, context.scope, before, TaskPatch(status=status), fence=fence, holder=holder)
    _add_note(context, after, args.note)
    if was_completed:
        if status == "review":
            return _reply("Already in review:", context, after, notes=task_answers.describe_closing(context, after))
        notes = ["The note was added."] if args.note else []
        return _reply("Already completed", context, after, notes=notes, already_completed=True)
    notes = [] if fence else task_answers.describe_holder(context, before)
    if before.is_cancelled:
        notes.append("It was cancelled.")
    if blockers := task_answers.list_blockers(after):
        notes.append(f"It was still blocked by {', '.join(blockers)}.")
    notes += task_answers.describe_closing(context, after)
    return _reply("Completed" if after.is_completed else "Sent to review", context, after, before, notes)


def _read_blockers(context: Context, args: tools.UpdateTask) -> list[int] | BlockerChange | UnsetType:
    if args.blocked_by is UNSET:
        return UNSET
    given = rules.read_changes("blocked_by", args.blocked_by)
    if not isinstance(given, ListChange):
        return _find_numbers(context, given, args.project)
    return BlockerChange(
        added=tuple(_find_numbers(context, given.added, args.project)),
        removed=tuple(_find_numbers(context, given.removed, args.project)),
    )


def _find_parent(context: Context, reference: str | UnsetType, project: str | UnsetType) -> int | UnsetType | None:
    """Return the number of the parent that a call names; None for an empty text, which detaches a subtask."""
    if reference is UNSET:
        return UNSET
    return _find_numbers(context, [reference], project)[0] if reference else None


def _add_note(context: Context, task: Task, note: str | UnsetType) -> None:
    if note is not UNSET:
        tasks.add_note(context.tx, context.scope, task, note)


def _reply(
    done: str, context: Context, task: Task, before: Task | None = None, notes: Sequence[str] = (), **members: Any
) -> Body:
    """Answer a change with the row of the task, and with the tasks that became ready if it closed the task."""
    here = task.project or context.scope.project
    closed = [task.number] if before and task.is_completed and not before.is_completed else []
    ready, lines = task_answers.show_ready(task_answers.find_unblocked(context, closed), here)
    text = "\n".join([f"{done} {task_answers.format_task(task, here)}, version {task.version}", *lines])
    row = task_answers.make_row(task, here, is_echo=True)
    return answers.reply(context, text, notes=notes, project=here, task=row, **members, **ready)


@task_answers.tells_taken
def claim_task(context: Context, args: tools.ClaimTask) -> Body:
    if args.release:
        return _release(context, args)
    holder, notes = answers.find_holder(context), list[str]()
    if args.task is not UNSET:
        found = _lock_task(context, args)
        task, claim = tasks.claim(context.tx, context.scope, found, holder, args.minutes, takes_over=args.take_over)
        notes = task_answers.describe_holder(context, found)
    else:
        wanted = args.project or context.scope.project
        task, claim = tasks.claim_next(context.tx, context.scope, wanted, holder, args.minutes)
    here = task.project or context.scope.project
    text, whole = task_answers.show_whole(context, task, here)
    until = format_minute(claim.until)
    text = f"Claimed until {until} as {claim.holder}, fence {claim.fence}:\n{text}"
    if task.open_blockers:
        notes.append(f"It is still blocked by {', '.join(f'#{one}' for one in task.open_blockers)}.")
    facts = {"holder": claim.holder, "until": until, "fence": claim.fence}
    return answers.reply(context, text, notes=notes, project=here, task=whole, **facts)


def _release(context: Context, args: tools.ClaimTask) -> Body:
    if args.task is UNSET:
        raise WrongArgument("task", "required")
    before = _lock_task(context, args)
    holder, takes_over = answers.find_holder(context), args.take_over or context.scope.is_person
    task = tasks.release(context.tx, context.scope, before, holder, takes_over=takes_over)
    here, was_claimed = task.project or context.scope.project, before.claim is not None
    text = f"Released #{task.number}" if was_claimed else f"#{task.number} was not claimed"
    text, row = f"{text}, version {task.version}", task_answers.make_row(task, here, is_echo=True)
    notes = task_answers.describe_holder(context, before)
    return answers.reply(context, text, notes=notes, project=here, task=row, released=was_claimed)


def _lock_task(context: Context, args: tools.UpdateTask | tools.CompleteTask | tools.ClaimTask) -> Task:
    """Lock the task that a call names; the result includes blockers that the caller may not see."""
    try:
        with _name_project(context, args.project):
            return tasks.lock(context.tx, context.scope, str(args.task), args.project or None)
    except Forbidden as error:
        if error.kind != "task":
            raise
        raise NotFound("task", error.key, context.scope) from error


@contextmanager
def _name_project(context: Context, project: str | UnsetType) -> Iterator[None]:
    """Name the project in the error for a title that only another project may have."""
    try:
        yield
    except NotFound as missing:
        if not project or missing.kind != "task" or lookup.is_number(lookup.without_scheme("task", missing.key)):
            raise
        why = Reason(f"does not exist in project '{project}'")
        raise NotFound("task", missing.key, context.within(project).scope, why=why) from missing


def _find_numbers(context: Context, references: Sequence[str], project: str | UnsetType) -> list[int]:
    for index, reference in enumerate(references):
        if not reference.strip():
            raise WrongArgument("blocked_by", "minLength", place=f"blocked_by[{index}]")
    with _name_project(context, project):
        return [tasks.find_number(context.tx, context.scope, one, project or None) for one in references]
