"""Links between items, kept in step with every write and shown from both sides.

They are the `satchel://` URIs in texts, and the names of texts that a template includes.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from satchel.model import Document, Item, ItemKind, Prompt, Scope, Task
from satchel.storage import links as rows
from satchel.storage import projects as project_rows
from satchel.storage import search
from satchel.storage import tasks as task_rows
from satchel.storage.database import Tx
from satchel.storage.links import Kind, Target
from satchel.storage.links import Link as Link

_SHOWN = 20  # links in each direction

Linked = Prompt | Document | Task | Item


def record(tx: Tx, item: Item, before: Item | None = None) -> None:
    """Update the links that the text of an item contains, after a write of that item."""
    if before is None or before.content != item.content:
        if before is not None and _has_links(before):
            rows.remove(tx, item.kind, item.number, "text")
        if _has_links(item):
            project = None if item.kind == "task" else item.project
            rows.add(tx, item.kind, item.number, project, item.owner, "text", rows.find_targets(str(item.content)))
    included = list_included(item)
    if before is None or list_included(before) != included:
        if before is not None and list_included(before):
            rows.remove(tx, item.kind, item.number, "include")
        if included:
            targets = [(_find_kind(tx, item, name), name) for name in included[: rows.MOST]]
            rows.add(tx, item.kind, item.number, item.project, None, "include", targets)


def list_included(item: Linked) -> list[str]:
    """List the names that a template includes."""
    if not isinstance(item, Prompt | Item):
        return []
    state = item if isinstance(item, Prompt) else item.state
    return rows.find_included(str(item.content)) if state.arguments or state.is_constant else []


def _find_kind(tx: Tx, item: Item, name: str) -> Kind:
    """Return the kind of what a name in a template means: a document before a prompt, the project before `personal`."""
    personal = project_rows.by_name(tx, tx.scope.personal) if tx.scope.personal else None
    for project in filter(None, (item.project, personal.number if personal else 0)):
        known = rows.existing(tx, project, [("document", name), ("prompt", name)])
        for kind in ("document", "prompt"):
            if (kind, name) in known:
                return kind
    return "document"


def record_note(tx: Tx, owner: str, task: int, note: str) -> None:
    """Add the links of a new note on a task, up to a hundred for all notes of the task."""
    if rows.SCHEME not in note:
        return
    known = rows.of(tx, "task", task, ["note"])
    new = [target for target in rows.find_targets(note) if target not in known]
    rows.add(tx, "task", task, None, owner, "note", new[: rows.MOST - len(known)])


def of(tx: Tx, scope: Scope, kind: ItemKind, item: Linked, here: str = "") -> tuple[list[Link], list[Link]]:
    """Return the links from and to an item whose other end the scope may see.

    Links to items of other projects than `here`, by default the scope's project, have the project.
    """
    here = here or scope.project
    # Tasks may have links in their notes.
    has_links = isinstance(item, Task) or _has_links(item) or list_included(item)
    found = rows.of(tx, kind, item.number) if has_links else []
    targets = list(dict.fromkeys(found))[:_SHOWN]
    titles, home = _titles(tx, scope, targets), _name_home(scope, item)
    known = {("task", key) for key in titles} | _find_texts(tx, scope, item, targets)
    to = []
    for one, key in targets:
        is_missing = (one, key) not in known
        if one == "task":
            to.append(Link(kind=one, key=key, title=titles.get(key, ""), is_missing=is_missing))
            continue
        project, name = rows.split_key(key)
        there = "" if (project or home) == here else project or home
        to.append(Link(kind=one, key=name, project=there, is_missing=is_missing))
    return list({(one.kind, one.key, one.project): one for one in to}.values()), referrers(tx, scope, kind, item, here)


def referrers(tx: Tx, scope: Scope, kind: ItemKind, item: Linked, here: str = "") -> list[Link]:
    """List the visible items that link to a given one. A name in a URI means an item of the same project.

    A personal item may also be included by templates of other projects.
    """
    allowed = None if scope.projects is None else project_rows.numbers(tx, scope.projects)
    home = _name_home(scope, item)
    if isinstance(item, Task) or kind == "task":
        target: Target = ("task", str(item.number))
        project, long, itself = 0, target[1], (*target, "")
    else:
        target = ("prompt" if kind == "prompt" else "document", item.name)
        project, long, itself = item.project or 0, f"{home}/{item.name}", (*target, home)
    is_included = scope.project == scope.personal and kind != "task"
    values = {"has_loose": scope.projects is None, "is_included": is_included}
    found = rows.to(tx, target, long, scope.user, project, allowed, _SHOWN, **values)
    keyed = [((one.kind, one.key, "" if one.kind == "task" else one.project), one) for one in reversed(found)]
    others = {key: one for key, one in keyed if key != itself}
    seen = [one for one in reversed(others.values()) if not _has_own(tx, scope, one, target[1])][:_SHOWN]
    return [replace(one, project="") if one.project == (here or scope.project) else one for one in seen]


def _has_own(tx: Tx, scope: Scope, source: Link, name: str) -> bool:
    """Return whether a template of another project includes an item of its own project by a name."""
    if not source.is_include or source.project == scope.project:
        return False
    project = project_rows.by_name(tx, source.project)
    return project is not None and bool(rows.existing(tx, project.number, [("document", name), ("prompt", name)]))


def _name_home(scope: Scope, item: Linked) -> str:
    """Return the project in which the names of an item's links are looked up."""
    if isinstance(item, Task):
        return item.project or scope.project
    return (item.layer if isinstance(item, Prompt | Document) else "") or scope.project


def _titles(tx: Tx, scope: Scope, targets: Sequence[Target]) -> dict[str, str]:
    """Return the titles of those targets that are tasks, by number; omit tasks that the scope may not see."""
    numbers = [int(key) for kind, key in targets if kind == "task"]
    if not numbers or scope.user is None:
        return {}
    return {str(task.number): task.title for task in task_rows.details(tx, scope.user, numbers, scope.projects)}


def _find_texts(tx: Tx, scope: Scope, item: Linked, targets: Sequence[Target]) -> set[Target]:
    """Return the targets that are prompts or documents that the scope may see, in any spelling."""
    if all(kind == "task" for kind, _ in targets):
        return set()
    number = item.project_number if isinstance(item, Task) else item.project
    if number is None:
        project = project_rows.by_name(tx, scope.project)
        number = 0 if project is None else project.number
    elif number not in project_rows.names_of(tx, [number]):
        number = 0
    by_project: dict[int, dict[Target, Target]] = {}  # for each project, the targets in it, by kind and name
    for target in targets:
        name, key = ("", "") if target[0] == "task" else rows.split_key(target[1])
        if name and (scope.projects is None or name in scope.projects):
            project = project_rows.by_name(tx, name)
            by_project.setdefault(0 if project is None else project.number, {})[target[0], key] = target
        elif target[0] != "task" and not name:
            by_project.setdefault(number, {})[target] = target
    return {
        wanted[one] for number, wanted in by_project.items() if number for one in _find_in(tx, number, list(wanted))
    }


def _find_in(tx: Tx, project: int, wanted: Sequence[Target]) -> set[Target]:
    """Return the targets that are prompts or documents of a project, in any spelling."""
    known = rows.existing(tx, project, wanted) & set(wanted)
    for kind in {one[0] for one in wanted if one not in known}:
        spaces = [space for space, _ in search.list_spaces(tx, [project], [kind])]
        known |= {one for one in wanted if one[0] == kind and search.find_alike(tx, spaces, kind, one[1])}
    return known


def _has_links(item: Prompt | Document | Item) -> bool:
    return isinstance(item.content, str) and rows.SCHEME in item.content
