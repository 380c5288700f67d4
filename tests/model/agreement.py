"""Compares a store with the model in `past`: versions, states, items, trash, feed and search."""

from collections.abc import Iterable
from typing import Any

from satchel.model import ChangeQuery, Item, PromptQuery, Scope, uri_of
from satchel.services import documents, history, lookup, projects, prompts, tasks
from satchel.storage import revisions
from satchel.storage.database import Database, Tx
from tests.history.store import ADA, BOB, CYD
from tests.model.past import Past, Thing, Version

FIELDS = {
    "prompt": ("name", "title", "description", "tags", "arguments"),
    "document": ("name", "uri", "mime_type", "description"),
    "task": ("title", "description", "tags", "priority", "due", "completed_at", "is_cancelled"),
    "project": ("name",),
}


def check(database: Database, past: Past) -> None:
    """Check that a store agrees with the model, about the present and the past."""
    for user in (ADA, BOB, CYD):
        with database.read(user) as tx:
            own = [one for one in past.things.values() if one.owner in (None, user.user)]
            for thing in own:
                # Items that all users see are checked once, for the user with the last change.
                if thing.owner is not None or user.user == past.transactions[-1].user:
                    _check_versions(tx, past, thing)
                    _check_states(tx, past, thing, user)
            _check_trash(tx, own, user)
            _check_tasks(tx, past, user)
            for project in past.live("project"):
                _check_feed(tx, past, project, Scope(user=user.user, project=project.name))
                if user.user == past.transactions[-1].user:
                    _check_project(tx, past, project, Scope(user=user.user, project=project.name))


def list_projects(past: Past) -> list[str]:
    """Return the names of the projects that exist."""
    return sorted(one.name for one in past.live("project"))


def _check_versions(tx: Tx, past: Past, thing: Thing) -> None:
    found = revisions.of_items(tx, thing.kind, [thing.number])  # type: ignore[arg-type]
    said = {
        one.version: (one.action, one.project, one.author.user, one.author.contract, one.undoes is not None)
        for one in found
    }
    assert len(found) == len(said)
    expected = {version: _describe(past, change) for version, change in thing.versions.items()}
    assert said == expected, (thing.key, said, expected)


def _describe(past: Past, change: Version) -> tuple[Any, ...]:
    author = past.transactions[change.transaction]
    return change.action, change.project, author.user, author.contract, change.undoes is not None


def _check_states(tx: Tx, past: Past, thing: Thing, user: Scope) -> None:
    if thing.kind in ("prompt", "document") and not past.is_project(thing.project):
        return  # no reference reaches an item in a deleted project until the project is restored
    scope, reference = user, uri_of(thing.kind, thing.name.removeprefix("#"))
    if not thing.is_live:
        reference = thing.id
        scope = Scope(user=user.user, project=next(iter(list_projects(past)), "default"))
        if not list_projects(past):
            return
    elif thing.kind != "task" and thing.kind != "project":
        scope = Scope(user=user.user, project=past.things["project", thing.project or 0].name)
    item = lookup.find(tx, scope, reference)
    for version, change in thing.versions.items():
        if change.state is not None:
            old = history.read_version_of(tx, scope, item, version)
            assert (old.number, old.version) == (thing.number, version)
            assert describe_item(old) == change.state, (thing.key, version)


def describe_item(item: Item) -> dict[str, Any]:
    """Return a version of an item in the form of the model."""
    said = {name: getattr(item.state, name) for name in FIELDS[item.kind]}
    if item.kind in ("prompt", "document"):
        said["content"] = item.content
    if item.kind == "task":
        said["description"] = item.content or None
        said["blocked_by"] = list(item.state.blocked_by)
    return said


def _check_trash(tx: Tx, own: Iterable[Thing], user: Scope) -> None:
    """Compare the deleted items that a user can restore, in all projects."""
    some = next(iter(projects.list_all(tx)), None)
    if some is None:
        return
    found = history.list_trash(tx, Scope(user=user.user, project=some[0].name), is_everything=True)
    said = {(one.kind, one.number): (one.id, one.project, one.version) for one in found}
    deleted = [one for one in own if not one.is_live]
    assert said == {one.key: (one.id, one.project, one.version) for one in deleted}


def _check_tasks(tx: Tx, past: Past, user: Scope) -> None:
    found = {one.number: tasks.find(tx, user, one.number) for one in tasks.list_all(tx, user)}
    own = {one.number: one for one in past.live("task") if one.owner == user.user}
    assert found.keys() == own.keys()
    for number, thing in own.items():
        task, state = found[number], thing.state
        said = {name: getattr(task, name) for name in FIELDS["task"]} | {"blocked_by": list(task.blocked_by)}
        expected = state | {"blocked_by": past.live_blockers(thing)}
        assert (said, task.version, task.project_number) == (expected, thing.version, thing.project)


def _check_project(tx: Tx, past: Past, project: Thing, scope: Scope) -> None:
    own = past.live("prompt", project.number)
    listed, _ = prompts.list_headers(tx, scope)
    assert [one.number for one in listed] == sorted(one.number for one in own)
    for thing in own:
        prompt = prompts.get(tx, scope, thing.id)
        said = {name: getattr(prompt, name) for name in FIELDS["prompt"]} | {"content": prompt.content}
        assert (said, prompt.version) == (thing.state, thing.version)
    hits = prompts.list_counted(tx, scope, PromptQuery(text="NEEDLE"), limit=1, offset=0).total
    assert hits == sum("needle" in one.state["content"].casefold() for one in own)
    found = documents.list_all(tx, scope)
    assert [one.number for one in found] == sorted(one.number for one in past.live("document", project.number))
    for document in found:
        whole, thing = documents.get_by_name(tx, scope, document.name), past.things["document", document.number]
        said = {name: getattr(whole, name) for name in FIELDS["document"]} | {"content": whole.content}
        assert (said, whole.version) == (thing.state, thing.version)


def _check_feed(tx: Tx, past: Past, project: Thing, scope: Scope) -> None:
    """Compare the changes in a project and in the user's tasks of no project, in their order."""
    found, has_more = history.list_changes(tx, scope, ChangeQuery(), limit=10_000)
    said = [((one.revision.kind, one.revision.item), one.revision.version) for one in reversed(found)]
    expected = []
    for transaction in past.transactions:
        for key, version in transaction.changes:
            thing = past.things.get(key) or past.removed.get((key, version))
            if thing is None or thing.owner not in (None, scope.user):
                continue
            where = thing.versions[version].project
            if where == project.number or (thing.kind == "task" and where is None):
                expected.append((key, version))
    assert (said, has_more) == (expected, False), (project.key, said, expected)
