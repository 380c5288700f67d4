"""A token limited to projects has the tasks of these projects, through every contract, and no others of its user."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from satchel.errors import Refused
from satchel.model import Scope, Task, TaskDraft, TaskPatch
from satchel.services import projects, restoring, tasks
from satchel.storage.database import Tx
from tests.attacks.worlds import ENGINES, World, find_addresses
from tests.support.in_process_http import HttpInProcess
from tests.support.postgres import PostgresServer
from tests.support.roles import two_roles
from tests.support.satchel import ok, refusal

ANN = "11111111-1111-4111-8111-111111111111"
EVERYWHERE = Scope(user=ANN)
LIMITED = Scope(user=ANN, project="pub", projects=("pub",))
NOT_YOURS = "You don't have permission to modify this task"
CANARY = "xyzzyplugh"  # in every title and note that the token must not see


class Tasks(World):
    """Ann's tasks: one in the open project, others in another project, in none, in a deleted one, and in the trash."""

    def __init__(self, owner: str, server: str) -> None:
        super().__init__(owner, server)
        for name in ("default", "pub", "priv", "gone"):
            self.write(EVERYWHERE, partial(projects.add, name=name))
        self.seen = self.add("Seen", "pub")
        self.hidden = [self.add(f"{CANARY} {where}", where) for where in ("priv", None, "gone")]
        for task in self.hidden:
            self.write(EVERYWHERE, partial(tasks.add_note, scope=EVERYWHERE, task=task.number, text=CANARY))
        self.write(EVERYWHERE, lambda tx: projects.delete(tx, "gone"))
        self.deleted = self.add(f"{CANARY} deleted", None)
        self.write(EVERYWHERE, lambda tx: tasks.delete(tx, EVERYWHERE, self.deleted.number))

    def add(self, title: str, project: str | None, *blockers: int) -> Task:
        tags = ["hush"] if CANARY in title else []
        draft = TaskDraft(title=title, project=project, tags=tags, blocked_by=blockers)
        return self.write(EVERYWHERE, lambda tx: tasks.add(tx, EVERYWHERE, draft))

    def versions(self) -> dict[str, int]:
        found = self.read(EVERYWHERE, lambda tx: tasks.list_all(tx, EVERYWHERE))
        return {task.title: task.version for task in found}


@pytest.fixture(params=ENGINES)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Tasks]:
    world = Tasks(*find_addresses(request, tmp_path))
    yield world
    world.close()


@pytest.fixture
def server(world: Tasks) -> Iterator[HttpInProcess]:
    with HttpInProcess("--database", world.address, "--auth", "token") as server:
        server.token = world.make_token(ANN, ["pub"])
        yield server


# Its first project, where the one of the connection is not its own.
@pytest.mark.parametrize("scope", [LIMITED, Scope(user=ANN, project="default", projects=("pub", "priv"))])
def test_what_it_adds_is_in_its_project_and_stays_in_one(world: Tasks, scope: Scope) -> None:
    added = world.write(scope, lambda tx: tasks.add(tx, scope, TaskDraft(title="New")))
    assert added.project == "pub"
    with pytest.raises(Refused):
        world.write(scope, lambda tx: tasks.update(tx, scope, added.number, TaskPatch(project=None)))
    world.write(scope, lambda tx: tasks.delete(tx, scope, added.number))
    assert world.write(scope, lambda tx: restoring.restore(tx, scope, f"#{added.number}")).was_deleted
    assert world.read(EVERYWHERE, lambda tx: tasks.find(tx, EVERYWHERE, added.number)).project == "pub"


def test_what_it_adds_through_every_contract_lands_in_its_project(server: HttpInProcess, world: Tasks) -> None:
    server.call("add_task", title="One", path="/mcp/tasks")
    server.call("add_task", user_id=ANN, title="Two", path="/mcp/todo")
    ok(server, "add_tasks", lines=["Three"])
    door = server.fetch("POST", "/mcp/tool/add_task", b'{"title": "Four"}', {"Content-Type": "application/json"})
    assert door.status == 200
    assert refusal(server, "update_task", task="One", project="")["argument"] == "project"
    found = world.read(EVERYWHERE, lambda tx: tasks.list_all(tx, EVERYWHERE))
    numbers = [one.number for one in found[:4]]
    new = world.read(EVERYWHERE, lambda tx: tasks.list_some(tx, EVERYWHERE, numbers))
    assert [(one.title, one.project) for one in new] == [(title, "pub") for title in ("Four", "Three", "Two", "One")]


def test_a_token_whose_project_was_deleted_sees_nothing_and_is_told_why(server: HttpInProcess, world: Tasks) -> None:
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


def test_row_level_security_keeps_its_search_and_notes_to_its_projects(postgres: PostgresServer) -> None:
    """As the role of the server, without a where clause."""
    world = Tasks(*two_roles(postgres))

    def look(tx: Tx) -> tuple[Any, Any, Any]:
        spaces = tx.all("select within from search_spaces where kind = 'task'")
        [[opened]] = tx.execute("select satchel_open_spaces(array(select generate_series(1, 1000)))", {})
        return {within for (within,) in spaces}, len(opened), tx.all("select text from task_notes")

    pub = world.read(EVERYWHERE, lambda tx: projects.get(tx, EVERYWHERE, "pub")).number
    within, opened, notes = world.read(LIMITED, look)
    assert (within, opened, notes) == ({pub}, 1, [])
    within, opened, notes = world.read(EVERYWHERE, look)
    assert len(within) == opened == 4 and len(notes) == 3
    world.close()
