"""A token limited to projects: what it adds, and what history, undo and restore do, stays inside of these projects.

That it neither sees nor changes anything else by any tool is in test_matrix.py.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from satchel.errors import Refused
from satchel.model import ChangeQuery, Scope, TaskDraft, TaskPatch
from satchel.protocol.cursors import encode_cursor
from satchel.services import history, projects, restoring, tasks
from tests.attacks.worlds import ENGINES, World, find_addresses
from tests.support.in_process_http import HttpInProcess
from tests.support.satchel import ok, refusal

ANN = "11111111-1111-4111-8111-111111111111"
EVERYWHERE = Scope(user=ANN)
LIMITED = Scope(user=ANN, project="pub", projects=("pub",))
CANARY = "xyzzyplugh"  # in every title that the token must not see


@pytest.fixture(params=ENGINES)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    world = World(*find_addresses(request, tmp_path))
    for name in ("pub", "priv"):
        world.write(EVERYWHERE, partial(projects.add, name=name))
    yield world
    world.close()


@pytest.fixture
def server(world: World) -> Iterator[HttpInProcess]:
    with HttpInProcess("--database", world.address, "--auth", "token") as server:
        server.token = world.make_token(ANN, ["pub"])
        yield server


def add_task(world: World, title: str, project: str) -> int:
    draft = TaskDraft(title=title, project=project)
    return world.write(EVERYWHERE, lambda tx: tasks.add(tx, EVERYWHERE, draft)).number


# Its first project, where the one of the connection is not its own.
@pytest.mark.parametrize("scope", [LIMITED, Scope(user=ANN, project="default", projects=("pub", "priv"))])
def test_tasks_that_it_adds_are_in_its_project_and_stay_in_one(world: World, scope: Scope) -> None:
    added = world.write(scope, lambda tx: tasks.add(tx, scope, TaskDraft(title="New")))
    assert added.project == "pub"
    with pytest.raises(Refused):
        world.write(scope, lambda tx: tasks.update(tx, scope, added.number, TaskPatch(project=None)))
    world.write(scope, lambda tx: tasks.delete(tx, scope, added.number))
    assert world.write(scope, lambda tx: restoring.restore(tx, scope, f"#{added.number}")).was_deleted
    assert world.read(EVERYWHERE, lambda tx: tasks.find(tx, EVERYWHERE, added.number)).project == "pub"


def test_every_contract_adds_its_tasks_to_its_project(server: HttpInProcess, world: World) -> None:
    server.call("add_task", title="One", path="/mcp/tasks")
    server.call("add_task", user_id=ANN, title="Two", path="/mcp/todo")
    ok(server, "add_tasks", lines=["Three"])
    door = server.fetch("POST", "/mcp/tool/add_task", b'{"title": "Four"}', {"Content-Type": "application/json"})
    assert door.status == 200
    assert refusal(server, "update_task", task="One", to="")["argument"] == "to"
    found = world.read(EVERYWHERE, lambda tx: tasks.list_all(tx, EVERYWHERE))
    numbers = [one.number for one in found[:4]]
    new = world.read(EVERYWHERE, lambda tx: tasks.list_some(tx, EVERYWHERE, numbers))
    assert [(one.title, one.project) for one in new] == [(title, "pub") for title in ("Four", "Three", "Two", "One")]


def test_a_token_whose_project_was_deleted_sees_nothing_and_learns_why(server: HttpInProcess, world: World) -> None:
    add_task(world, "Seen", "pub")
    add_task(world, CANARY, "priv")
    world.write(EVERYWHERE, lambda tx: projects.delete(tx, "pub"))
    assert server.call("list_tasks", path="/mcp/tasks")["structuredContent"]["data"] == []
    said = server.call("add_task", title="x", path="/mcp/tasks")["structuredContent"]
    assert (said["code"], said["error"]) == ("VALIDATION_ERROR", "Project 'pub' does not exist")
    said = server.call("add_task", user_id=ANN, title="x", path="/mcp/todo")["structuredContent"]
    assert said == {"success": False, "task": None, "message": "Project 'pub' does not exist"}
    assert CANARY not in str(server.call("catch_up"))
    back = world.write(EVERYWHERE, lambda tx: restoring.restore(tx, EVERYWHERE, "satchel://project/pub"))
    assert back.was_deleted
    assert [one["title"] for one in ok(server, "list_tasks", status="all")["tasks"]] == ["Seen"]


@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_moved_task_is_reported_without_its_later_title(world: World, is_deleted: bool) -> None:
    number = add_task(world, "Plain", "pub")
    moved = TaskPatch(title=CANARY, project="priv")
    world.write(EVERYWHERE, lambda tx: tasks.update(tx, EVERYWHERE, number, moved))
    if is_deleted:
        world.write(EVERYWHERE, lambda tx: tasks.delete(tx, EVERYWHERE, number))
    feed, _ = world.read(LIMITED, lambda tx: history.list_changes(tx, LIMITED))
    assert [(one.key, one.title, one.revision.version) for one in feed] == [(f"#{number}", "", 1), ("pub", "pub", 1)]
    told = str(world.read(LIMITED, lambda tx: history.list_visible_changes(tx, LIMITED)))
    elsewhere = world.read(LIMITED, lambda tx: history.list_elsewhere(tx, LIMITED, ChangeQuery()))
    told += str(
        world.read(
            LIMITED, lambda tx: history.list_bursts(tx, LIMITED, ChangeQuery(), elsewhere, "", limit=10, names=5)
        )
    )
    told += str(world.read(LIMITED, lambda tx: restoring.plan_undo(tx, LIMITED, 9)))
    assert CANARY not in told
    for act in (restoring.undo, partial(restoring.take_back, revision=feed[0].revision)):
        with pytest.raises(Refused) as refused:
            world.write(LIMITED, lambda tx, act=act: act(tx, LIMITED))  # type: ignore[misc]
        assert CANARY not in str(refused.value)


def test_a_marker_tells_no_times_of_foreign_changes(world: World, server: HttpInProcess) -> None:
    add_task(world, "Seen", "pub")
    with world.open_as_owner() as owner, owner.write() as tx:
        tx.run("update revisions set at = '2020-01-01T00:00:00.000000Z'")
        bob = Scope(user="22222222-2222-4222-8222-222222222222", project="priv")
        tasks.add(tx, bob, TaskDraft(title=CANARY, project="priv"))
        last = tx.value("select max(number) from revisions")
    server.token = world.make_token(ANN, ["pub"])
    for number in (last, last + 1):
        assert ok(server, "catch_up", since=encode_cursor("s", number))["since"] == "2020-01-01T00:00Z"


def test_undo_reverses_changes_in_its_projects_and_leaves_the_rest(world: World) -> None:
    own = add_task(world, "Own", "pub")
    hidden = add_task(world, CANARY, "priv")
    world.write(LIMITED, lambda tx: tasks.delete(tx, LIMITED, own))
    world.write(EVERYWHERE, lambda tx: tasks.delete(tx, EVERYWHERE, hidden))
    world.write(EVERYWHERE, lambda tx: projects.rename(tx, "priv", "secret"))
    [step] = world.write(LIMITED, lambda tx: restoring.undo(tx, LIMITED))
    assert [(one.key, one.title) for one in step.changes] == [(f"#{own}", "Own")]
    [step] = world.write(LIMITED, lambda tx: restoring.undo(tx, LIMITED))  # that it was added
    assert [one.key for one in step.changes] == [f"#{own}"]
    assert world.write(LIMITED, lambda tx: restoring.undo(tx, LIMITED)) == []
    assert world.read(EVERYWHERE, lambda tx: tasks.list_all(tx, EVERYWHERE)) == []


def test_a_limited_token_neither_renames_nor_removes_its_project_by_a_restore(world: World) -> None:
    for old, new in (("pub", "public"), ("public", "pub")):
        world.write(EVERYWHERE, partial(projects.rename, old=old, new=new))
    changes, _ = world.read(LIMITED, lambda tx: history.list_visible_changes(tx, LIMITED))
    with pytest.raises(Refused):
        world.write(LIMITED, lambda tx: restoring.restore(tx, LIMITED, "satchel://project/pub", 2))
    for change in changes:
        with pytest.raises(Refused):
            world.write(LIMITED, lambda tx, change=change: restoring.take_back(tx, LIMITED, change.revision))  # type: ignore[misc]
    assert len(changes) == 3
    found = world.read(EVERYWHERE, lambda tx: projects.list_all(tx, EVERYWHERE))
    assert [project.name for project, _ in found] == ["priv", "pub"]
