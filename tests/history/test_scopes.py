"""What a scope may not see, history and trash do not tell of: each answer is that for what does not exist."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from satchel.errors import Refused, VersionMissing
from satchel.model import ChangeQuery, Scope, TaskPatch
from satchel.services import diffs, documents, history, projects, restoring, tasks
from satchel.storage.database import Database, Tx, open_database
from tests.history.store import (
    ADA,
    BOB,
    add_projects,
    add_prompt,
    add_resource,
    add_task,
    delete_prompt,
    delete_task,
    edit_prompt,
    read,
    write,
)
from tests.support.postgres import PostgresServer
from tests.support.roles import two_roles

OPEN = Scope(user=ADA.user, project="open", projects=("open",))  # a token of Ada's for one project
LOST = Scope(user=ADA.user, project="gone", projects=("gone",))  # one for a project that was deleted
IN_SECRET = Scope(user=ADA.user, project="secret")
NOBODY = "00000000-0000-4000-8000-000000000000"

# What does not exist, in each form of a reference.
ABSENT = {
    "name": "nothing",
    "number": "#99999",
    "plain number": "99999",
    "task": "satchel://task/99999",
    "prompt": "satchel://prompt/nothing",
    "document": "satchel://resource/nothing",
    "project": "satchel://project/nothing",
    "uri": "doc://nothing",
    "id": NOBODY,
}


@dataclass
class World:
    """A store with things that some scopes may not see, and the references to them, by form."""

    database: Database
    of_ada: list[tuple[str, str]] = field(default_factory=list)  # her tasks, which Bob may not see
    in_secret: list[tuple[str, str]] = field(default_factory=list)  # what is closed to the token for `open`
    gone: str = ""  # the id of the deleted project
    moved: int = 0  # a task that was in `secret` at version 1, and in `open` since
    waiting: int = 0  # a task in `open` that is blocked by one in `secret`
    hidden: int = 0  # that one


@pytest.fixture(params=["sqlite", "role"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """Yield the same things on SQLite, and on PostgreSQL as a role that owns nothing."""
    if request.param == "sqlite":
        store = str(tmp_path / "s.db")
    else:
        server: PostgresServer = request.getfixturevalue("postgres")
        _, store = two_roles(server)
    database = open_database(store)
    yield fill(World(database))
    database.close()


def fill(world: World) -> World:
    database = world.database
    add_projects(database, "default", "open", "secret", "gone")
    add_prompt(database, OPEN, "Note")
    plan = add_prompt(database, IN_SECRET, "Plan", "one")
    edit_prompt(database, IN_SECRET, plan, "two")
    draft = add_prompt(database, IN_SECRET, "Draft")
    delete_prompt(database, IN_SECRET, draft)
    chart = add_resource(database, IN_SECRET, "map")
    old = add_resource(database, IN_SECRET, "old")
    write(database, IN_SECRET, lambda tx: documents.delete(tx, IN_SECRET, "old"))
    world.hidden = add_task(database, ADA, "Hidden", project="secret").number
    world.waiting = add_task(database, ADA, "Waiting", world.hidden, project="open").number
    world.moved = add_task(database, ADA, "Moved", project="secret").number
    write(database, ADA, lambda tx: tasks.update(tx, ADA, world.moved, TaskPatch(title="Here", project="open")))
    live = add_task(database, ADA, "Own")
    deleted, elsewhere = add_task(database, ADA, "Deleted"), add_task(database, ADA, "Elsewhere", project="secret")
    for task in (deleted, elsewhere):
        delete_task(database, ADA, task.number)
    add_task(database, BOB, "Of Bob")
    lost = write(database, ADA, lambda tx: projects.get(tx, ADA, "gone"))
    add_prompt(database, Scope(user=ADA.user, project="gone"), "Lost")
    write(database, ADA, lambda tx: projects.delete(tx, "gone"))
    world.gone = lost.id
    secret = read(database, ADA, lambda tx: projects.get(tx, ADA, "secret"))
    for one in (live, deleted, elsewhere):
        world.of_ada += [("number", f"#{one.number}"), ("plain number", str(one.number)), ("id", one.id)]
        world.of_ada.append(("task", f"satchel://task/{one.number}"))
    world.in_secret = [
        *(
            ("name", name)
            for name in ("plan", "Plan", "draft", "Draft", "map", "old", "x:map", "secret", "gone", "lost")
        ),
        *(("prompt", f"satchel://prompt/{name}") for name in ("plan", "draft", "Plan", "lost")),
        *(("document", f"satchel://resource/{name}") for name in ("map", "old")),
        *(("project", f"satchel://project/{name}") for name in ("secret", "gone", f"~{lost.id}")),
        *(("id", id) for id in (plan.id, draft.id, chart.id, old.id, lost.id, secret.id, elsewhere.id)),
        *(("number", f"#{number}") for number in (world.hidden, elsewhere.number)),
        *(("task", f"satchel://task/{number}") for number in (world.hidden, elsewhere.number)),
        ("name", f"~{lost.id}"),
    ]
    return world


TOOLS: dict[str, Callable[[Tx, Scope, str], Any]] = {
    "versions": history.list_versions,
    "newest": history.read_version,
    "first": lambda tx, scope, item: history.read_version(tx, scope, item, 1),
    "diff": lambda tx, scope, item: diffs.diff(tx, scope, item, 1),
    "restore": restoring.restore,
    "restore first": lambda tx, scope, item: restoring.restore(tx, scope, item, 1),
}


def ask(tx: Tx, tool: str, item: str) -> tuple[str, str, str]:
    """Why a scope is refused something, without what it asked for."""
    with pytest.raises(Refused) as refused:
        TOOLS[tool](tx, tx.scope, item)
    error = refused.value
    return type(error).__name__, getattr(error, "kind", ""), str(error).replace(repr(item), "X")


def test_what_is_out_of_bounds_is_answered_like_what_does_not_exist_and_is_not_changed(world: World) -> None:
    def count(tx: Tx) -> list[Any]:
        return [tx.all(f"select count(*) from {table}") for table in ("revisions", "prompts", "tasks")]

    before = read(world.database, ADA, count)
    for tool in ("versions", "first", "restore") if world.database.is_shared else TOOLS:
        for scope, references in ((BOB, world.of_ada), (OPEN, world.in_secret)):
            with world.database.write(scope) as tx:
                expected = {form: ask(tx, tool, item) for form, item in ABSENT.items()}
                assert {kind for kind, *_ in expected.values()} == {"NotFound"}
                for form, item in references:
                    assert ask(tx, tool, item) == expected[form], (tool, item)
        with world.database.write(LOST) as tx:
            for form, item in world.in_secret:
                if item != "gone":  # as every answer, it names the project that the token is for
                    assert ask(tx, tool, item) == ask(tx, tool, ABSENT[form]), (tool, item)
    assert read(world.database, ADA, count) == before


def test_the_feed_and_the_trash_tell_of_nothing_that_is_out_of_bounds(world: World) -> None:
    def feed(scope: Scope) -> list[tuple[str, str]]:
        found, _ = read(world.database, scope, lambda tx: history.list_changes(tx, scope, ChangeQuery(), limit=100))
        return [(one.revision.kind, one.title) for one in found]

    def trash(scope: Scope, *, is_everything: bool) -> list[str]:
        found = read(world.database, scope, lambda tx: history.list_trash(tx, scope, is_everything=is_everything))
        return sorted(one.title for one in found)

    in_open = Scope(user=BOB.user, project="open")
    assert feed(in_open) == [("task", "Of Bob"), ("prompt", "Note"), ("project", "open")]
    tasks_in_open = [("task", "Here"), ("task", "Waiting")]  # those of no project are in none that is open
    assert sorted(feed(OPEN)) == sorted([*tasks_in_open, ("prompt", "Note"), ("project", "open")])
    assert trash(in_open, is_everything=False) == []
    assert trash(OPEN, is_everything=False) == trash(OPEN, is_everything=True) == []
    assert trash(in_open, is_everything=True) == ["Draft", "gone", "old"]  # projects are open to every user
    assert trash(IN_SECRET, is_everything=False) == ["Deleted", "Draft", "Elsewhere", "old"]


def test_a_token_sees_the_versions_of_a_task_from_where_it_may_look(world: World) -> None:
    item = f"#{world.moved}"
    _, found, _ = read(world.database, OPEN, lambda tx: history.list_versions(tx, OPEN, item))
    assert [one.version for one in found] == [2]
    with world.database.write(OPEN) as tx:
        refused = {ask(tx, tool, item) for tool in ("first", "diff", "restore first")}
    assert refused == {("VersionMissing", "task", "task X has no version 1")}
    with pytest.raises(VersionMissing) as missing:
        read(world.database, OPEN, lambda tx: history.read_version(tx, OPEN, item, 1))
    assert missing.value.kept == (2,)
    assert read(world.database, ADA, lambda tx: history.read_version(tx, ADA, item, 1)).state.title == "Moved"


def test_a_token_reads_and_restores_around_blockers_that_it_may_not_see(world: World) -> None:
    database, item = world.database, f"#{world.waiting}"
    write(database, ADA, lambda tx: tasks.update(tx, ADA, world.waiting, TaskPatch(description="Another text of it")))
    with database.read(OPEN) as tx:
        for version, text in ((1, "About Waiting"), (2, "Another text of it")):
            old = history.read_version(tx, OPEN, item, version)
            assert (old.content, old.state.blocked_by) == (text, ())
    assert write(database, OPEN, lambda tx: restoring.restore(tx, OPEN, item)).notes == ()
    delete_task(database, OPEN, world.waiting)
    done = write(database, OPEN, lambda tx: restoring.restore(tx, OPEN, item, 2))
    assert (done.notes, done.item.version) == ((), 6)
    found = read(database, ADA, lambda tx: tasks.find(tx, ADA, world.waiting))
    assert (found.description, found.blocked_by) == ("Another text of it", (world.hidden,))


def test_a_hidden_blocker_in_the_trash_is_not_told(world: World) -> None:
    delete_task(world.database, ADA, world.waiting)
    delete_task(world.database, ADA, world.hidden)
    done = write(world.database, OPEN, lambda tx: restoring.restore(tx, OPEN, f"#{world.waiting}"))
    assert (done.notes, done.item.version) == ((), 3)
