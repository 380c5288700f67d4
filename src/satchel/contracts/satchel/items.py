"""Items of any kind: the tools that tag, complete, cancel, reopen, move, copy, edit and delete them.

A bulk change takes references, or a query for the items of the call's project. With `dry_run` its transaction is rolled
back when the answer is complete.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from msgspec import UNSET, Struct, to_builtins
from msgspec.structs import replace

from satchel.contracts.content import format_count
from satchel.contracts.contract import Body, Context, Reply
from satchel.contracts.satchel import answers, task_answers, tools
from satchel.contracts.satchel import documents as document_tools
from satchel.contracts.satchel import prompts as prompt_tools
from satchel.contracts.satchel import tasks as task_tools
from satchel.contracts.satchel.answers import format_item
from satchel.contracts.satchel.errors import WrongValue, describe, name_place, name_target
from satchel.contracts.satchel.templates import check_templates, find_in_libraries, settle_update
from satchel.contracts.satchel.texts import describe_missing
from satchel.errors import NotFound, StoreConflict, VersionConflict, WrongArgument, WrongEdit
from satchel.model import (
    Document,
    DocumentPatch,
    Item,
    ItemKind,
    ListChange,
    Prompt,
    PromptPatch,
    PromptQuery,
    Task,
    TaskFilter,
    TaskPatch,
    TaskQuery,
    uri_of,
)
from satchel.services import (
    copying,
    documents,
    links,
    lookup,
    projects,
    prompts,
    rules,
    tasks,
    templates,
    texts,
)
from satchel.services.copying import Copyable
from satchel.services.templates import Checked
from satchel.services.texts import Edit, EditedText

_MOST_UNASKED = 10  # one call may delete, cancel or move more items only after asking the user
_MOST_COUNTED = 100_000  # matches of a query to count
_NAMED = 60  # characters of an item in a question
_MOST_LINES = 50  # items that a text lists one by one
_FIRST_LINES = 20  # items that it lists if there are more
# For each kind, the tool that the caller must be allowed to use for a change.
_CHANGING: dict[ItemKind, str] = {"prompt": "update_prompt", "document": "update_resource", "task": "update_task"}


_EXAMPLE = 'where: {"tags": ["old"], "status": "pending"}'
_OF_TASKS = ("status", "priority", "due")  # the fields of a query that only tasks have
_FIELDS = ("kind", "tags", *_OF_TASKS, "query")
_SELECT = f"{', '.join(_FIELDS[:-1])} or {_FIELDS[-1]}"

BulkChange = TypeVar("BulkChange", tools.Delete, tools.UpdateItems)


class _Named(Struct, frozen=True):
    """An item of a bulk change, without its content."""

    item: Item
    place: str  # in the call, for errors
    there: Context  # of the item's project

    @property
    def project(self) -> str:
        """The project to which a change of the item belongs."""
        return self.there.scope.project


class _RolledBack(Exception):
    """Carries the answer of a call out of its transaction, which must not be committed."""

    def __init__(self, answer: Reply) -> None:
        self.answer = answer


def _change_all(
    context: Context, args: BulkChange, member: str, change: Callable[[Context, BulkChange, Sequence[_Named]], Reply]
) -> Body:
    """Find the items of a bulk change and change them; `member` lists the items in the answer."""
    try:
        with context.write() as opened:
            named = _find_named(opened, args)
            if not named:
                members: dict[str, Any] = {member: [], **({"dry_run": True} if args.dry_run is True else {})}
                raise _RolledBack(answers.reply(opened, _describe_no_match(opened, args), **members))
            numbers = [one.item.number for one in named if one.item.kind == "task"]
            tasks.check_claims(tasks.list_some(opened.tx, opened.scope, numbers), answers.find_protector(opened))
            answer = change(opened, args, named)
            if args.dry_run is True:
                raise _RolledBack(_mark_dry_run(answer))
            return answer
    except _RolledBack as stop:
        return stop.answer


def _mark_dry_run(answer: Reply) -> Reply:
    """Say in an answer that nothing was changed."""
    assert isinstance(answer.structured, dict), "the tools of this contract answer so"
    [first] = answer.content
    text = f"Dry run, nothing was changed. The call would answer:\n{first['text']}"
    return Reply([{**first, "text": text}], {**answer.structured, "dry_run": True})


def _find_named(context: Context, args: BulkChange) -> list[_Named]:
    """Return the items that a bulk change names, each once, or those that match its query."""
    if args.where is not UNSET:
        if args.items is not UNSET:
            raise WrongValue("Give items or where, not both.", "Leave one of them out.", "where")
        return [_Named(item, f"where[{item.key}]", context) for item in _find_matching(context, args.where)]
    if args.items is UNSET:
        raise WrongValue("items is missing.", f"Name the items, or describe them, as in {_EXAMPLE}.", "items")
    answers.check_number("items", args.items)
    found: dict[tuple[ItemKind, int], _Named] = {}
    exact = lookup.find_all(context.tx, context.scope, args.items)
    for index, (reference, item) in enumerate(zip(args.items, exact, strict=True)):
        place, there = f"items[{index}]", answers.follow(context, reference)[0]
        with name_place(place):
            item = _check_found(context, reference, item)
        found[item.kind, item.number] = _Named(item, place, there)
    return list(found.values())


def _find_matching(context: Context, where: tools.Where) -> list[Item]:
    """Return the items of the call's project that match a query, which the lists would return too."""
    scope, most = context.scope, tools.MOST_ENTRIES
    projects.check_access(scope)
    if scope.project in (scope.makes, scope.personal) and projects.find(context.tx, scope.project) is None:
        return []  # a list would make the project
    kinds = _list_kinds(context, where)
    _check_tags(context, where, kinds)
    found = [_list_matching(context, kind, where, most) for kind in kinds]
    if (count := sum(number for _, number in found)) > most:
        message = f"{format_count(count, 'item')} match, and one call changes at most {most}."
        hint = f"Narrow the query with {_SELECT}, and make several calls."
        raise WrongValue(message, hint, "where", count=count)
    keys = [key for some, _ in found for key in some]
    return [item for item in lookup.find_all(context.tx, scope, keys) if item is not None]


def _describe_no_match(context: Context, args: BulkChange) -> str:
    assert args.where is not UNSET, "a list of items names at least one"
    kinds = _name_kinds(_list_kinds(context, args.where), "s")
    return f"No {kinds} in project '{context.scope.project}' match."


def _name_kinds(kinds: Sequence[ItemKind], plural: str = "") -> str:
    return " or ".join(", ".join(f"{kind}{plural}" for kind in kinds).rsplit(", ", 1)) or f"item{plural}"


def _check_tags(context: Context, where: tools.Where, kinds: Sequence[ItemKind]) -> None:
    """Check that each tag of a query is in use, because a mistyped one would select other items than meant."""
    tx, scope = context.tx, context.scope
    tags = answers.read_tags(where.tags)
    known = {tag for tag in tags if "task" in kinds and tasks.has_tag(tx, scope, tag, scope.project)}
    if "prompt" in kinds:
        matched = prompts.list_matched_tags(tx, scope, tags)
        known |= {tag for tag in tags if rules.fold_tag(tag) in matched}
    if missing := [tag for tag in tags if tag not in known]:
        from satchel.contracts.satchel import guesses  # needed only after such a mistake

        in_use = [tag.name for tag in prompts.list_tags(tx, scope)] if "prompt" in kinds else []
        in_use += tasks.list_tags(tx, scope, scope.project) if "task" in kinds else []
        what = f"{_name_kinds(kinds)} of project '{scope.project}'"
        message, hint, near = guesses.explain_tags(missing, what, dict.fromkeys(in_use))
        raise WrongValue(message, hint, "where", tuple(near))


def _list_matching(context: Context, kind: ItemKind, where: tools.Where, most: int) -> tuple[list[str], int]:
    """Return references to up to `most` items of a kind that match a query, and the number of all that match."""
    tx, scope, tags, text = context.tx, context.scope, answers.read_tags(where.tags), where.query or ""
    needs_all_tags = where.match == "all"
    if kind == "prompt":
        wanted = PromptQuery(text=text, tags=tags, needs_all_tags=needs_all_tags)
        page = prompts.list_counted(tx, scope, wanted, limit=most, offset=0)
        return [uri_of(kind, one.name) for one in page.items], page.total
    if kind == "document":
        found, _ = documents.list_page(tx, scope, text, limit=_MOST_COUNTED)
        return [uri_of(kind, one.name) for one in found[:most]], len(found)
    status: TaskFilter = where.status or ("pending" if where.due else "all")
    holder = answers.find_holder(context).key if status == "ready" else None
    with name_place("where"):
        due_from, due_before = rules.read_due(where.due, tx.now[:10]) if where.due else ("", "")
    query = TaskQuery(
        filter=status,
        project=scope.project,
        text=text,
        tags=tags,
        needs_all_tags=needs_all_tags,
        priority=where.priority or None,
        due_from=due_from,
        due_before=due_before,
        holder_key=holder,
    )
    listed, has_more = tasks.list_page(tx, scope, query, limit=most)
    count = tasks.count_listed(tx, scope, query, _MOST_COUNTED) if has_more else len(listed)
    return [f"#{number}" for number in sorted(one.number for one in listed)], count


def _list_kinds(context: Context, where: tools.Where) -> list[ItemKind]:
    """Return the kinds that a query can match: only tasks have a status or a due day, and documents have no tags."""
    if not any(getattr(where, name) for name in _FIELDS):
        raise WrongValue("where is empty.", f"Say which items: {_SELECT}, as in {_EXAMPLE}.", "where")
    lacks: dict[ItemKind, str] = {"document": "tags"} if where.tags else {}
    for name in _OF_TASKS:
        lacks |= {"prompt": name, "document": name} if getattr(where, name) else {}
    if where.kind and where.kind in lacks:
        lacked = lacks[where.kind]
        raise WrongValue(f"A {where.kind} has no {lacked}.", f"Leave out where.kind or where.{lacked}.", "where")
    kinds: Sequence[ItemKind] = [where.kind] if where.kind else [kind for kind in _CHANGING if kind not in lacks]
    return [kind for kind in kinds if _CHANGING[kind] in context.tools]


def _check_found(context: Context, reference: str, item: Item | None = None) -> Item:
    """Return `item`, or else the item that a reference names, if the caller may change it."""
    context, short = answers.follow(context, reference)
    in_library = find_in_libraries(context, short)
    if in_library is not None:
        raise WrongArgument("prompt", "readOnly", value=in_library.name)
    try:
        item = item or lookup.find(context.tx, context.scope, short)
    except NotFound as missing:
        if missing.kind == "project":
            raise
    if item is not None and item.kind == "project" and not item.is_deleted:
        hint = "Only a person can do this: with satchel project rename or satchel project delete NAME, or on the page."
        raise WrongValue(f"'{item.name}' is a project.", hint, "item")
    if item is None or item.is_deleted or _CHANGING.get(item.kind) not in context.tools:
        raise NotFound("item", reference, context.scope)
    return item


def _confirm(context: Context, args: BulkChange, what: str, named: Sequence[_Named], where: str = "") -> None:
    """Ask the user before many items are deleted, cancelled or moved."""
    if len(named) <= _MOST_UNASKED or args.dry_run is True:
        return
    first = ", ".join(format_item(one.item)[:_NAMED] for one in named[:_MOST_UNASKED])
    context.confirm(f"{what} {len(named)} items{where}? {first}, and {len(named) - _MOST_UNASKED} more.")


def _count_kinds(named: Sequence[_Named]) -> str:
    """Count items by kind, as in `2 tasks and 1 prompt`."""
    counts = Counter(one.item.kind for one in named)
    return " and ".join(", ".join(format_count(count, kind) for kind, count in counts.items()).rsplit(", ", 1))


def _shorten(lines: list[str]) -> list[str]:
    """Return lines about items for a text; of very many, the first ones and the number of the others."""
    return lines if len(lines) <= _MOST_LINES else [*lines[:_FIRST_LINES], f"and {len(lines) - _FIRST_LINES} more"]


# -- delete -----------------------------------------------------------------------------------------------------


def delete(context: Context, args: tools.Delete) -> Body:
    return _change_all(context, args, "deleted", _delete)


@task_answers.tells_taken
def _delete(context: Context, args: tools.Delete, named: Sequence[_Named]) -> Reply:
    _confirm(context, args, "Delete", named)
    tx, scope, gone = context.tx, context.scope, _list_references(context, named)
    keys = [answers.name_item(context, one.item, one.project) for one in named]
    referred, said, waiting = [], [], set()
    for key, one in zip(keys, named, strict=True):
        blocked = tasks.list_blocked(tx, scope, one.item.number) if one.item.kind == "task" else []
        waiting |= {task.number for task in blocked if not task.is_ready}
        waiters = [links.Link(kind="task", key=str(task.number), title=task.title) for task in blocked]
        others = _list_others(context, one, gone, waiters)
        if others:
            referred.append({"item": key, "by": [link.reference for link in others]})
        waited = {link.reference for link in waiters}
        if by := [link.reference for link in others if link.reference in waited]:
            said.append(f"{', '.join(by)} waited for {key}.")
        if by := [link.reference for link in others if not link.is_include and link.reference not in waited]:
            said.append(f"{key} was referred to by {', '.join(by)}.")
        said += [f"{key}{remark}" for remark in _describe_includes(others)]
    going = tasks.list_some(tx, scope, [one.item.number for one in named if one.item.kind == "task"])
    notes = [note for task in going for note in task_answers.describe_holder(context, task, f"#{task.number}")]
    notes += _describe_subtasks(context, going)
    for home in {one.project: one.there.scope for one in named}.values():
        ids = [one.item.id for one in named if one.item.kind == "prompt" and one.project == home.project]
        if ids:
            prompts.delete(tx, home, *ids)
    for one in named:
        if one.item.kind == "task":
            tasks.delete(tx, scope, one.item.number, holder=answers.find_protector(context))
        elif one.item.kind == "document":
            documents.delete(tx, one.there.scope, one.item.name)
    unblocked = [task for task in tasks.list_some(tx, scope, sorted(waiting)) if task.is_ready]
    ready, ready_lines = task_answers.show_ready(unblocked, scope.project)
    lines, deleted = [], []
    for key, one in zip(keys, named, strict=True):
        is_task = one.item.kind == "task"
        lines.append(format_item(one.item) if is_task else f"{one.item.kind} {key}")
        deleted.append({"kind": one.item.kind, "item": key, **({"title": one.item.title} if is_task else {})})
    lines = [f"{_count_kinds(named)} deleted:", *_shorten(lines)] if lines[1:] else [f"Deleted {lines[0]}"]
    lines += [*_shorten(said), *ready_lines]
    members = {**({"referred": referred} if referred else {}), **ready}
    return answers.reply(context, "\n".join(lines), notes=notes, deleted=deleted, **members)


def _describe_subtasks(context: Context, going: Sequence[Task]) -> list[str]:
    """Say which subtasks stay when their parents are deleted."""
    numbers = {task.number for task in going}
    notes = []
    for task in going:
        found = tasks.list_subtasks(context.tx, context.scope, task.number) if task.subtasks else []
        if left := [f"#{one.number}" for one in found if one.number not in numbers]:
            count = format_count(len(left), "subtask")
            notes.append(f"#{task.number} had {count}, now without a parent: {_name_some(left)}.")
    return notes


def _list_references(context: Context, named: Sequence[_Named]) -> set[str]:
    """Return the references by which links name the items of a call."""
    here = context.scope.project
    return {
        one.item.key
        if one.item.kind == "task"
        else uri_of(one.item.kind, one.item.name, "" if one.project == here else one.project)
        for one in named
    }


def _list_others(context: Context, one: _Named, gone: set[str], waiters: Sequence[links.Link] = ()) -> list[links.Link]:
    """List the items that refer to one that is about to go, without those that go too; `waiters` come first."""
    here, found = context.scope.project, list(waiters)
    for link in links.referrers(context.tx, one.there.scope, one.item.kind, one.item):
        project = "" if link.kind == "task" else link.project or one.project
        found.append(replace(link, project="" if project == here else project))
    return [link for reference, link in {link.reference: link for link in found}.items() if reference not in gone]


def _describe_includes(referrers: Sequence[links.Link]) -> list[str]:
    """Return a remark about an item that is about to go, if templates include it."""
    by = [one.reference for one in referrers if one.is_include]
    return [f" was included by {', '.join(by)}, which cannot be filled in without it."] if by else []


# -- edit_text --------------------------------------------------------------------------------------------------

_CORRECTING = {  # by the rule that the edited text would break
    "template": "Correct the edit, or make the prompt plain text: update_prompt with arguments: [].",
    "include": "Correct the edit, add what it includes first, or make the prompt plain text with arguments: [].",
    "minLength": "Leave some text, or delete the item.",
}


def edit_text(context: Context, args: tools.EditText) -> Body:
    context, reference = answers.follow(context, args.item)
    args = replace(args, item=reference)
    with context.read() as opened:
        item, edited = _edit(opened, args)
    contents = [(item.name, edited.text), ("", str(item.content))] if item.kind == "prompt" else []
    checked = check_templates(context, contents)
    with context.write() as opened:
        return _edit_and_save(opened, args, checked)


def _edit(context: Context, args: tools.EditText) -> tuple[Item, EditedText]:
    """Find the item and apply the edits to its text."""
    item = _check_found(context, args.item)
    if isinstance(item.content, bytes):
        raise WrongArgument("item", "contentEncoding", value=item.name)
    if args.expected_version is not UNSET and args.expected_version != item.version:
        raise VersionConflict(item.kind, item.key, expected=args.expected_version, actual=item.version)
    edits = [Edit(one.old, one.new, one.all) for one in args.edits or []]
    if not edits and not args.append and not args.prepend:
        raise WrongArgument("edits", "anyOf", limit=("edits", "append", "prepend"))
    try:
        return item, texts.apply_edits(item.content, edits, prepend=args.prepend or "", append=args.append or "")
    except WrongEdit as wrong:
        if wrong.reason == "absent" and item.kind == "task" and _is_in_note(context, item, edits[wrong.index].old):
            message = f"edits[{wrong.index}].old occurs only in a note. Nothing was changed."
            raise WrongValue(message, "Notes cannot be edited; add a new one with note.", "edits") from wrong
        raise


def _is_in_note(context: Context, item: Item, text: str) -> bool:
    notes, _ = tasks.list_notes(context.tx, context.scope, item.number, tasks.MAX_NOTES)
    return any(text in note.text for note in notes)


@task_answers.tells_taken
def _edit_and_save(context: Context, args: tools.EditText, checked: Checked) -> Body:
    item, edited = _edit(context, args)
    key = item.key
    try:
        version, notes = _save(context, item, edited.text, checked)
        notes += describe_missing(context, [(_find_home(context, item), edited.text, str(item.content))])
    except VersionConflict as clash:  # another call changed it after the read, which only PostgreSQL allows
        raise StoreConflict(f"{key} was changed while it was edited") from clash
    except WrongArgument as wrong:  # the field of the error is not an argument of this tool
        message, hint = describe(wrong)
        message = f"With these edits, {message} Nothing was changed."
        raise WrongValue(message, _CORRECTING.get(wrong.rule, hint), "edits" if args.edits else "append") from wrong
    members: dict[str, Any] = {"changed": [{"line": one.line, "text": one.text} for one in edited.changed]}
    lines = [f"Edited {key}, version {version}:", *(f"{one.line}: {one.text}" for one in edited.changed)]
    if edited.more:
        members["more"] = edited.more
        lines.append(f"and {format_count(edited.more, 'more line')}")
    return answers.reply(context, "\n".join(lines), notes=notes, item=key, version=version, **members)


def _find_home(context: Context, item: Item) -> str:
    """Return the project in which the names of an item's links are looked up."""
    number = item.project if item.kind == "task" else None
    return projects.names_of(context.tx, [number]).get(number, "") if number else ""


def _save(context: Context, item: Item, text: str, checked: Checked) -> tuple[int, list[str]]:
    """Store the new text of an item; return the new version, and notes about the text."""
    tx, scope, version = context.tx, context.scope, item.version
    if item.kind == "task":
        patch, holder = TaskPatch(description=text or None), answers.find_protector(context)
        return tasks.update(tx, scope, item.number, patch, version, holder=holder).version, []
    if item.kind == "document":
        return documents.update(tx, scope, item.name, DocumentPatch(content=text), version).version, []
    fields, notes = settle_update(checked, prompts.get(tx, scope, item.id), text, None)
    return prompts.update(tx, scope, item.id, PromptPatch(content=text, **fields), version).version, notes


# -- update_items -----------------------------------------------------------------------------------------------


class _Changed(Struct):
    """The changes of a call so far."""

    items: list[Copyable | int]  # a task is a number, because a later change may unblock it
    closed: list[int]  # tasks that were open before
    notes: dict[str, list[str]]  # remarks, each with the items that it is about
    moved: list[Task]  # tasks that were moved, as they were before

    def note(self, remark: str, item: str) -> None:
        """Make a remark about an item; a remark about several items is said once."""
        self.notes.setdefault(remark, []).append(item)

    def say_notes(self) -> list[str]:
        """Return the remarks as sentences."""
        said = []
        for remark, items in self.notes.items():
            first, verb, rest = remark.split(" ", 2)
            verb = _PLURALS.get(verb, verb) if items[1:] else verb
            said.append(f"{_name_some(items)}{first} {verb} {rest}")
        return said


_PLURALS = {"was": "were", "waits": "wait"}  # verbs that begin a remark


def _name_some(items: Sequence[str]) -> str:
    more = f" and {len(items) - _MOST_UNASKED} more" if len(items) > _MOST_UNASKED else ""
    return f"{', '.join(items[:_MOST_UNASKED])}{more}"


def update_items(context: Context, args: tools.UpdateItems) -> Body:
    return _change_all(context, args, "items", _update)


@task_answers.tells_taken
def _update(context: Context, args: tools.UpdateItems, named: Sequence[_Named]) -> Reply:
    if args.copy and not args.to:
        raise WrongArgument("to", "required")
    if args.tags is not UNSET:  # checked before the first item, so that the error names no item
        rules.clean_tag_changes("item", rules.read_changes("tags", args.tags))
    if args.due:
        rules.clean_due("task", args.due)
    if args.to:
        projects.get(context.tx, context.scope, args.to)
    for one in named:
        with name_place(one.place):
            _check_change(one.there, one.item, args)
    if args.status == "cancelled":
        _confirm(context, args, "Cancel", named)
    elif args.to and not args.copy:
        _confirm(context, args, "Move", named, f" to project '{args.to}'")
    changed, gone = _Changed([], [], {}, []), _list_references(context, named)
    for index, one in enumerate(named):
        with name_place(one.place):
            _change(one.there, one.item, args, changed)
            if args.to and not args.copy and one.item.kind != "task" and args.to != context.scope.personal:
                for remark in _describe_includes(_list_others(context, one, gone)):
                    changed.note(remark, one.item.key)
        answers.report_progress(context, index + 1, len(named))
    return _reply_changes(context, args, named, changed)


def _check_change(context: Context, item: Item, args: tools.UpdateItems) -> None:
    """Check that a change fits the kind of an item."""
    what = format_item(item)
    for field in ("status", "priority", "due") if item.kind != "task" else ():
        if getattr(args, field) is not UNSET:
            remedy = f"Leave out this item or {field}." if args.where is UNSET else 'Add kind: "task" to where.'
            raise WrongValue(f"{what} has no {field}.", remedy, field)
    if args.to == "" and item.kind != "task":
        raise WrongValue(f"{what} must be in a project.", "Give a project as to.", "to")
    if args.tags is not UNSET and item.kind == "document":
        raise WrongValue(f"{what} cannot have tags.", "Leave out this item or tags.", "tags")
    if args.copy and item.kind == "task":
        raise WrongValue(f"{what} cannot be copied.", "Move the task, or add a new one with add_tasks.", "copy")
    if args.copy and args.tags is not UNSET:
        raise WrongValue("A copy keeps its tags.", "Copy first, then tag the copies.", "tags")
    if args.to == context.scope.project and item.kind != "task" and not args.copy:
        raise WrongValue(f"{what} is in project '{args.to}' already.", "Give another project as to.", "to")


def _change(context: Context, item: Item, args: tools.UpdateItems, changed: _Changed) -> None:
    """Change one item."""
    if item.kind == "task":
        _change_task(context, item, args, changed)
        return
    tx, scope = context.tx, context.scope
    found: Copyable
    if item.kind == "document":
        found = documents.get_by_name(tx, scope, item.name)
    else:
        found = before = prompts.get(tx, scope, item.id)
        if args.tags is not UNSET:
            found = prompts.update(tx, scope, item.id, PromptPatch(tags=rules.read_changes("tags", args.tags)))
            _note_tags(args, before, found, item.key, changed)
    if args.to:
        found, notes = (copying.copy if args.copy else copying.move)(tx, scope, found, str(args.to))
        for note in notes:
            changed.note(f": {note}", item.name)
        if not args.copy:
            changed.note(task_answers.describe_move(scope.project, args.to), item.key)
    changed.items.append(found)


def _note_tags(
    args: tools.UpdateItems, before: Prompt | Task, after: Prompt | Task, key: str, changed: _Changed
) -> None:
    """Note which tags a plain list of tags replaced; additions and removals say themselves what they change."""
    is_plain = args.tags is not UNSET and not isinstance(rules.read_changes("tags", args.tags), ListChange)
    if is_plain and before.tags and before.tags != after.tags:
        done = f"replaced by {', '.join(after.tags)}" if after.tags else "removed"
        changed.note(f": tags {', '.join(before.tags)} {done}.", key)


def _change_task(context: Context, item: Item, args: tools.UpdateItems, changed: _Changed) -> None:
    before = tasks.find(context.tx, context.scope, item.number)
    changed.items.append(before.number)
    patch = TaskPatch(
        status=tasks.choose_status(context.tx, before, args.status, args.to),
        priority=args.priority,
        due=answers.none_if_empty(args.due),
        tags=UNSET if args.tags is UNSET else rules.read_changes("tags", args.tags),
        project=answers.none_if_empty(args.to),
    )
    holder = answers.find_protector(context)
    with name_target():
        after = tasks.update(context.tx, context.scope, before.number, patch, holder=holder)
    if after.version == before.version:
        if args.status is not UNSET:
            changed.note(f" was {'in review' if before.status == 'review' else before.status} already.", item.key)
        if args.to:
            changed.note(f" was in project {args.to} already.", item.key)
        return
    _note_tags(args, before, after, item.key, changed)
    if after.project != before.project:
        changed.note(task_answers.describe_move(before.project, after.project), item.key)
        changed.moved.append(before)
    if after.status == "review" and (args.status == "completed" or before.is_completed):
        changed.note(" waits for review by a person.", item.key)
    if after.is_completed and not before.is_completed:
        changed.closed.append(before.number)
        for note in task_answers.describe_holder(context, before, ""):
            changed.note(note, item.key)


def _reply_changes(context: Context, args: tools.UpdateItems, named: Sequence[_Named], changed: _Changed) -> Reply:
    """Answer with the changed items; `named` has them as they were before."""
    here, numbers = context.scope.project, [one for one in changed.items if isinstance(one, int)]
    after = {task.number: task for task in tasks.list_some(context.tx, context.scope, numbers)}
    items = [after[one] if isinstance(one, int) else one for one in changed.items]
    done = "unchanged" if [one.version for one in items] == [one.item.version for one in named] else "updated"
    if args.to and (args.copy or done == "updated"):
        done = f"{'copied' if args.copy else 'moved'} to project '{args.to}'"
    if args.status == "completed":
        for task in (after[number] for number in changed.closed):
            if blockers := task_answers.list_blockers(task):
                changed.note(f" was still blocked by {', '.join(blockers)}.", f"#{task.number}")
    for one, item in zip(named, items, strict=True):
        if args.to and isinstance(item, Prompt):  # only now, because other items of the call may be what it includes
            for note in templates.describe_missing(context.tx, projects.enter(one.there.scope, args.to), item):
                changed.note(f": {note}", item.name)
    notes = changed.say_notes() + task_answers.describe_staying(context, changed.moved)
    notes += task_answers.describe_closing(context, *(after[one] for one in changed.closed))
    ready, ready_lines = task_answers.show_ready(task_answers.find_unblocked(context, changed.closed), here)
    rows, lines = [], []
    for one, item in zip(named, items, strict=True):
        row, line = _show(item, here, args.to or one.project)
        rows.append(row)
        lines.append(line if args.to or one.project == here else f"{line} @{one.project}")
    text = "\n".join([f"{_count_kinds(named)} {done}:", *_shorten(lines), *ready_lines])
    return answers.reply(context, text, notes=notes, items=rows, **ready)


def _show(one: Prompt | Document | Task, here: str, there: str) -> tuple[dict[str, Any], str]:
    """Describe a changed item, as a row and as a line."""
    if isinstance(one, Task):
        line = f"{task_answers.format_task(one, here)}, version {one.version}"
        return to_builtins(task_answers.make_row(one, here, is_echo=True)), line
    elsewhere = {} if there == here else {"project": there}
    if isinstance(one, Prompt):
        prompt = prompt_tools.make_row(one, is_echo=True)
        return {"kind": "prompt", **to_builtins(prompt), **elsewhere}, prompt_tools.format_row(prompt)
    document = document_tools.make_row(one, is_echo=True)
    return {"kind": "document", **to_builtins(document), **elsewhere}, document_tools.format_row(document)


def show(context: Context, args: tools.Show) -> Body:
    """Show tasks or prompts; hosts without apps get a text."""
    if args.what == "prompts":
        return prompt_tools.list_prompts(context, tools.ListPrompts(query=args.query, project=args.project))
    wanted = tools.ListTasks(status="pending", query=args.query, project=args.project)
    return task_tools.list_tasks(context, wanted)
