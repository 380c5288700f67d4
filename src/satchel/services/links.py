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
    included, included_before = list_included(item), list_included(before) if before is not None else []
    if included != included_before:
        if included_before:
            rows.remove(tx, item.kind, item.number, "include")
        if included:
            targets = _find_targets(tx, item, included[: rows.MOST])
            rows.add(tx, item.kind, item.number, item.project, None, "include", targets)


def list_included(item: Linked) -> list[str]:
    """List the names and URIs that a template includes."""
    if not isinstance(item, Prompt | Item):
        return []
    state = item if isinstance(item, Prompt) else item.state
    return rows.find_included(str(item.content)) if state.arguments or state.is_constant else []


def _find_targets(tx: Tx, item: Item, names: Sequence[str]) -> list[Target]:
    """Resolve the names and URIs in a template.

    A name means a document before a prompt, and an item of the project before one of `personal`.
    """
    personal = project_rows.by_name(tx, tx.scope.personal) if tx.scope.personal else None
    wanted: list[Target] = [(kind, name) for name in names for kind in ("document", "prompt")]
    kinds: dict[str, Kind] = {}
    for project in (item.project, personal and personal.number):
        for kind, name in sorted(rows.existing(tx, project, wanted)) if project else ():
            kinds.setdefault(name, kind)
    return [next(iter(rows.find_targets(name)), (kinds.get(name, "document"), name)) for name in names]


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
    to = _resolve(tx, scope, list(dict.fromkeys(found))[:_SHOWN], _name_home(scope, item), here)
    return to, referrers(tx, scope, kind, item, here)


def find_missing(tx: Tx, scope: Scope, new: str, old: str, here: str) -> list[Link]:
    """Return the links that lead to nothing in a new text of the scope's project, except those of the old text."""
    if rows.SCHEME not in new or new == old:
        return []
    before = rows.find_targets(old)
    targets = [one for one in rows.find_targets(new) if one not in before]
    return [one for one in _resolve(tx, scope, targets, scope.project, here) if one.is_missing]


def _resolve(tx: Tx, scope: Scope, targets: Sequence[Target], home: str, here: str) -> list[Link]:
    """Return the targets of an item as links; their names are looked up in the project `home`."""
    titles = _titles(tx, scope, targets)
    known = {("task", key) for key in titles} | _find_texts(tx, scope, home, targets)
    to: dict[tuple[str, str, str], Link] = {}
    for one, key in targets:
        project, name = ("", key) if one == "task" else rows.split_key(key)
        there = "" if one == "task" or (project or home) == here else project or home
        title, is_missing = titles.get(key, "") if one == "task" else "", (one, key) not in known
        to[one, name, there] = Link(kind=one, key=name, title=title, project=there, is_missing=is_missing)
    return list(to.values())


def referrers(tx: Tx, scope: Scope, kind: ItemKind, item: Linked, here: str = "") -> list[Link]:
    """List the visible items that link to a given one. A name in a URI means an item of the same project.

    A personal item may also be included by templates of other projects.
    """
    allowed = None if scope.projects is None else project_rows.numbers(tx, scope.projects)
    home = _name_home(scope, item)
    if isinstance(item, Task) or kind == "task":
        target: Target = ("task", str(item.number))
        project, long = 0, target[1]
    else:
        target = ("prompt" if kind == "prompt" else "document", item.name)
        project, long = item.project or 0, f"{home}/{item.name}"
    is_included = scope.project == scope.personal and kind != "task"
    values = {"has_loose": scope.projects is None, "is_included": is_included}
    found = rows.to(tx, target, long, scope.user, project, allowed, _SHOWN, **values)
    others = [one for one in found if (one.kind, one.key) != target or (kind != "task" and one.project != home)]
    return [replace(one, project="") if one.project == (here or scope.project) else one for one in others[:_SHOWN]]


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


def _find_texts(tx: Tx, scope: Scope, home: str, targets: Sequence[Target]) -> set[Target]:
    """Return the targets that are prompts or documents that the scope may see, in any spelling."""
    split = [(*rows.split_key(target[1]), target) for target in targets if target[0] != "task"]
    found: set[Target] = set()
    for name in dict.fromkeys(name or home for name, _, _ in split):
        is_open = name == home or scope.projects is None or name in scope.projects
        project = project_rows.by_name(tx, name) if is_open else None
        if project is not None:
            wanted: dict[Target, list[Target]] = {}
            for there, key, target in split:
                if (there or home) == name:
                    wanted.setdefault((target[0], key), []).append(target)
            found.update(target for one in _find_in(tx, project.number, list(wanted)) for target in wanted[one])
    return found


def _find_in(tx: Tx, project: int, wanted: Sequence[Target]) -> set[Target]:
    """Return the targets that are prompts or documents of a project, in any spelling."""
    known = rows.existing(tx, project, wanted) & set(wanted)
    for kind in {one[0] for one in wanted if one not in known}:
        spaces = [space for space, _ in search.list_spaces(tx, [project], [kind])]
        known |= {one for one in wanted if one[0] == kind and search.find_alike(tx, spaces, kind, one[1])}
    return known


def _has_links(item: Prompt | Document | Item) -> bool:
    return isinstance(item.content, str) and rows.SCHEME in item.content
