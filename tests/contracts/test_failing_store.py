"""A store that another program damaged, or whose file is gone: each contract's error, and the remedy on stderr."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from satchel.model import Scope
from satchel.services import projects
from satchel.storage.database import Database
from tests.support.in_process_http import HttpInProcess
from tests.support.process import eventually
from tests.support.stdio import NEWEST, Client

ADA = "550e8400-e29b-41d4-a716-446655440000"
UNABLE = "Unable to complete request. Please try again."
INTERNAL = {"code": -32603, "message": "Internal error"}
GONE = "The store was removed or replaced while it was served."
NEXT_STEP = "Another program changed the store: restore a backup of it"


@pytest.fixture
def damage(store: str, database: Database) -> Callable[[str], None]:
    """Return a function that runs a statement on the store, as another program would."""
    projects.require(database, Scope())

    def run(sql: str) -> None:
        with database.write() as tx:
            tx.run(sql)

    return run


def body_of(client: Client, tool: str, **arguments: Any) -> Any:
    result = client.call(tool, arguments)
    assert result["isError"] is True
    return result.get("structuredContent", result["content"][0]["text"])


def wait_for(*clients: Client) -> None:
    """Wait until the servers have opened the store."""
    for client in clients:
        assert "result" in client.request("tools/list")


# With a missing table or a missing column, the whole statement is refused.
TASKS_GONE = ["alter table tasks rename to tasks_elsewhere", "alter table tasks rename column title to heading"]


@pytest.mark.parametrize("sql", TASKS_GONE)
def test_a_missing_table_or_column_of_tasks_is_a_failure_of_the_database(
    sql: str, store: str, damage: Callable[[str], None], serve: Callable[..., Client]
) -> None:
    todo, tasks = serve("todo", store), serve("tasks", store, NEWEST, "--user", ADA)
    own = serve("satchel", store, NEWEST, "--user", ADA)
    wait_for(todo, tasks, own)
    damage(sql)
    for tool, arguments, instead in (
        ("add_task", {"title": "T"}, {"task": None}),
        ("list_tasks", {}, {"tasks": [], "count": 0}),
        ("complete_task", {"task_id": ADA}, {"task": None}),
        ("delete_task", {"task_id": ADA}, {"deleted_task_id": None}),
        ("update_task", {"task_id": ADA, "title": "T"}, {"task": None}),
    ):
        assert body_of(todo, tool, user_id=ADA, **arguments) == {"success": False, **instead, "message": UNABLE}
    for tool, given in (
        ("add_task", {"title": "T"}),
        ("list_tasks", {}),
        ("complete_task", {"task_id": 1}),
        ("delete_task", {"task_id": 1}),
        ("update_task", {"task_id": 1, "title": "T"}),
    ):
        assert body_of(tasks, tool, **given) == {"success": False, "error": UNABLE, "code": "DATABASE_ERROR"}
    error = body_of(own, "add_task", title="T")["error"]
    assert (error["code"], error["message"]) == ("unavailable", UNABLE)
    assert error["hint"] == "Nothing was changed. If this persists, the server's log says why."
    for client in (todo, tasks, own):
        assert NEXT_STEP in client.stderr and "add_task StoreFailed" in client.stderr


def test_over_http_the_door_answers_500(store: str, damage: Callable[[str], None]) -> None:
    with HttpInProcess("--database", store, "--user", ADA) as server:
        damage(TASKS_GONE[0])
        door = server.fetch("POST", "/mcp/tool/list_tasks", b"{}", {"Content-Type": "application/json"})
        assert (door.status, door.json) == (500, {"success": False, "error": UNABLE, "code": "DATABASE_ERROR"})


def test_a_store_whose_file_is_gone_says_that_a_new_start_helps(
    sqlite_template: Path, tmp_path: Path, serve: Callable[..., Client]
) -> None:
    store = Path(shutil.copy(sqlite_template, tmp_path / "moved.db"))
    clients = {name: serve(name, str(store), NEWEST) for name in ("satchel", "prompt-store", "mcpkg", "tasks")}
    wait_for(*clients.values())
    store.rename(tmp_path / "elsewhere.db")
    own = clients["satchel"]
    # The server checks the file about twenty times a second.
    assert eventually(lambda: own.call("list_prompts")["isError"] is True)
    assert body_of(own, "list_prompts")["error"] == {
        "code": "unavailable",
        "message": GONE,
        "hint": "Nothing was changed. Start the server again; its log says more.",
    }
    assert own.request("prompts/list")["error"] == {
        "code": -32603,
        "message": f"Internal error: {GONE} Start the server again; its log says more.",
        "data": {"details": f"{GONE} Start the server again; its log says more."},
    }
    # In the other contracts, the document defines the error; the operator finds the remedy on stderr.
    assert eventually(lambda: clients["prompt-store"].call("list_tags")["isError"] is True)
    assert body_of(clients["prompt-store"], "list_tags")["error"] == {"code": "INTERNAL_ERROR", "message": UNABLE}
    assert eventually(lambda: "error" in clients["mcpkg"].request("prompts/list"))
    assert clients["mcpkg"].request("prompts/list")["error"] == INTERNAL
    assert body_of(clients["tasks"], "add_task", title="T")["code"] == "DATABASE_ERROR"
    for client in clients.values():
        assert re.search(
            r"the store \S+moved.db was removed or replaced while it was open; start Satchel again", client.stderr
        )
        assert "Traceback" not in client.stderr
