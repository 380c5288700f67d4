"""Many writers at once: nobody is refused, and nothing is done twice."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg

from satchel.storage.database import open_database
from tests.support.locks import count_waiting
from tests.support.postgres import PostgresServer
from tests.support.process import eventually
from tests.support.soak import amount
from tests.support.stdio import Server
from tests.support.threads import in_threads

TASKS = amount(30, 250)


def said(result: dict[str, Any]) -> Any:
    return json.loads(result["content"][0]["text"])


def test_exactly_one_of_200_racing_adds_of_one_title_succeeds(store: str, serve_process: Callable[..., Server]) -> None:
    outcomes: list[str] = []

    def work(client: Server) -> None:
        for _ in range(50):
            body = said(client.call("add_prompt", title="The one", content="text"))
            outcomes.append(body["error"]["code"] if "error" in body else "won")

    clients = [serve_process("prompt-store", store) for _ in range(4)]
    in_threads(work, clients)
    assert sorted(outcomes) == ["DUPLICATE_TITLE"] * 199 + ["won"]


def test_crossing_updates_of_titles_are_refused_or_done_but_never_fail(
    store: str, serve_process: Callable[..., Server]
) -> None:
    codes: list[str] = []

    def work(place: int) -> None:
        for number in range(amount(60, 150)):
            title = f"T{(number + place) % 2}"
            body = said(clients[place].call("update_prompt", id=ids[number % 2], title=title, content=str(number)))
            codes.append(body["error"]["code"] if "error" in body else "done")

    clients = [serve_process("prompt-store", store) for _ in range(2)]
    ids = [said(clients[0].call("add_prompt", title=f"T{number}", content="x"))["id"] for number in range(2)]
    in_threads(work, range(2))
    assert set(codes) <= {"done", "DUPLICATE_TITLE"}


def test_racing_titles_with_one_slug_all_get_names(store: str, serve_process: Callable[..., Server]) -> None:
    def work(place: int) -> None:
        for number in range(15):
            title = "Hello" + "!" * (15 * place + number)
            result = clients[place].call("add_prompt", title=title, content="x")
            assert result["isError"] is False, result

    clients = [serve_process("prompt-store", store) for _ in range(3)]
    in_threads(work, range(3))
    database = open_database(store)
    with database.read() as tx:
        names = [name for (name,) in tx.all("select name from prompts")]
    database.close()
    assert len(set(names)) == 45


def test_a_stopped_writer_delays_the_others_only_while_it_is_stopped(tmp_path: Path) -> None:
    # A process that holds the gate and does nothing: the others wait in the queue and are served when it lets go.
    store = str(tmp_path / "s.db")
    open_database(store).close()
    code = f"import fcntl; f = open({store + '-gate'!r}, 'w'); fcntl.flock(f, 2); print(flush=True); input()"
    holder = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout is not None
    holder.stdout.readline()
    with Server("--contract", "prompt-store", "--database", store) as client:
        params = {"name": "add_prompt", "arguments": {"title": "T", "content": "x"}}
        asked = client.ask("tools/call", params)
        assert client.is_silent(1.0)
        holder.communicate(b"\n")
        answer = client.read()
        assert (answer["id"], answer["result"]["isError"]) == (asked, False)


ADA = "550e8400-e29b-41d4-a716-446655440000"


def test_four_processes_add_tasks_and_none_is_starved(store: str, serve_process: Callable[..., Server]) -> None:
    """All go on until the slowest is done, so that one which is held up for a second is not taken for a starved one."""
    ids: list[str] = []
    progress = [0] * 4

    def work(number: int) -> None:
        while min(progress) < TASKS and max(progress) < 10 * TASKS:
            body = said(clients[number].call("add_task", user_id=ADA, title=f"{number}/{progress[number]}"))
            assert body["success"] is True, body
            ids.append(body["task"]["id"])
            progress[number] += 1

    clients = [serve_process("todo", store) for _ in range(4)]
    in_threads(work, range(4))
    assert len(set(ids)) == len(ids) == sum(progress)
    assert said(clients[0].call("list_tasks", user_id=ADA))["count"] == len(ids)
    assert min(progress) >= TASKS, progress  # by SQLite's own waiting, one had 1 and another 5,436


def test_on_postgres_an_item_deleted_during_a_call_is_named_in_the_error(
    postgres: PostgresServer, serve_process: Callable[..., Server]
) -> None:
    """The database is made to wait in the middle of a call, and what the call is about goes meanwhile."""
    store = postgres.fresh()
    client = serve_process("mcpkg", store)
    for table, where, tool, arguments, expected in (
        (
            "prompts",
            "name = 'n'",
            "update_prompt",
            {"name": "n", "content": "x"},
            "Prompt 'n' does not exist in project",
        ),
        ("prompts", "name = 'n'", "delete_prompt", {"name": "n"}, "Prompt 'n' does not exist in project"),
        ("projects", "true", "update_prompt", {"name": "n", "content": "x"}, "Project 'default' does not exist"),
        (
            "projects",
            "true",
            "create_resource",
            {"name": "r", "uri": "x:r", "content": ""},
            "Project 'default' does not",
        ),
    ):
        database = open_database(store)
        with database.write() as tx:
            tx.run("delete from projects")
            tx.run("insert into projects (id, name, created_at, updated_at) values ('p', 'default', '', '')")
        database.close()
        client.call("create_prompt", name="n", content="x")
        answers: list[Any] = []
        asking = threading.Thread(
            target=lambda tool=tool, given=arguments, to=answers: to.append(client.call(tool, given))
        )
        with psycopg.connect(store) as deleting:
            deleting.execute(f"delete from {table} where {where}".encode())
            asking.start()
            assert eventually(lambda: count_waiting(store) == 1)  # for the row
            deleting.commit()
            asking.join()
        assert expected in answers[0]["content"][0]["text"], answers


def test_on_postgres_a_second_completion_changes_nothing(
    postgres: PostgresServer, serve_process: Callable[..., Server]
) -> None:
    store = postgres.fresh()
    client = serve_process("todo", store)
    task = said(client.call("add_task", user_id=ADA, title="T"))["task"]["id"]
    with psycopg.connect(store) as first:
        first.execute("update tasks set completed_at = '2020-01-01T00:00:00.000000Z'")
        answers: list[Any] = []
        asking = threading.Thread(
            target=lambda: answers.append(said(client.call("complete_task", user_id=ADA, task_id=task)))
        )
        asking.start()
        assert eventually(lambda: count_waiting(store) == 1)
        first.commit()
        asking.join()
        assert answers[0]["success"] is True
        assert first.execute("select completed_at from tasks").fetchone() == ("2020-01-01T00:00:00.000000Z",)
