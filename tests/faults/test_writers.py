"""Many writers at once, and writers that are killed: nothing acknowledged is lost, nobody is refused."""

import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import apsw
import psycopg

from satchel.model import PromptQuery, Scope
from satchel.services import prompts
from satchel.storage.database import open_database
from tests.support.postgres import PostgresServer
from tests.support.process import eventually
from tests.support.soak import amount
from tests.support.stdio import Server, modern_meta

SCOPE = Scope()
ADDS = amount(100, 500)
TASKS = amount(60, 250)
KILLS = amount(5, 20)


def said(result: dict[str, Any]) -> Any:
    return json.loads(result["content"][0]["text"])


def together(*works: Callable[[], None]) -> None:
    """Run several pieces of work at once, and fail if one of them does."""
    failures: list[BaseException] = []

    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_two_processes_add_prompts_at_once(store: str, serve_process: Callable[..., Server]) -> None:
    def work(client: Server, name: str) -> None:
        for number in range(ADDS):
            result = client.call("add_prompt", title=f"{name}{number}", content="text", tags=["t"])
            assert result["isError"] is False, result

    a, b = serve_process("prompt-store", store), serve_process("prompt-store", store)
    together(lambda: work(a, "a"), lambda: work(b, "b"))
    assert said(a.call("list_prompts"))["total"] == 2 * ADDS
    assert said(b.call("list_tags"))["tags"] == [{"name": "t", "prompt_count": 2 * ADDS}]


def test_of_200_racing_adds_of_one_title_exactly_one_wins(store: str, serve_process: Callable[..., Server]) -> None:
    outcomes: list[str] = []

    def work(client: Server) -> None:
        for _ in range(50):
            body = said(client.call("add_prompt", title="The one", content="text"))
            outcomes.append(body["error"]["code"] if "error" in body else "won")

    clients = [serve_process("prompt-store", store) for _ in range(4)]
    together(*(lambda client=client: work(client) for client in clients))
    assert sorted(outcomes) == ["DUPLICATE_TITLE"] * 199 + ["won"]


def test_crossing_updates_of_titles_are_refused_or_done_but_never_fail(
    store: str, serve_process: Callable[..., Server]
) -> None:
    codes: list[str] = []

    def work(client: Server, ids: list[str], offset: int) -> None:
        for number in range(amount(60, 150)):
            title = f"T{(number + offset) % 2}"
            body = said(client.call("update_prompt", id=ids[number % 2], title=title, content=str(number)))
            codes.append(body["error"]["code"] if "error" in body else "done")

    clients = [serve_process("prompt-store", store) for _ in range(2)]
    ids = [said(clients[0].call("add_prompt", title=f"T{number}", content="x"))["id"] for number in range(2)]
    together(lambda: work(clients[0], ids, 0), lambda: work(clients[1], ids, 1))
    assert set(codes) <= {"done", "DUPLICATE_TITLE"}


def test_racing_titles_with_one_slug_all_get_names(store: str, serve_process: Callable[..., Server]) -> None:
    def work(client: Server, offset: int) -> None:
        for number in range(15):
            result = client.call("add_prompt", title="Hello" + "!" * (offset + number), content="x")
            assert result["isError"] is False, result

    clients = [serve_process("prompt-store", store) for _ in range(3)]
    together(*(lambda n=n, c=c: work(c, 15 * n) for n, c in enumerate(clients)))
    database = open_database(store)
    with database.read() as tx:
        names = [name for (name,) in tx.all("select name from prompts")]
    database.close()
    assert len(set(names)) == 45


def feed(stdin: IO[bytes], round: int) -> None:
    """Ask for prompt after prompt until nobody takes it any more."""
    with suppress(BrokenPipeError), stdin:
        for number in range(2000):
            arguments = {"title": f"{round}/{number}", "content": "some text of a few words " * 40, "tags": ["a", "b"]}
            params = {"name": "add_prompt", "arguments": arguments, "_meta": modern_meta()}
            message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
            stdin.write(json.dumps(message).encode() + b"\n")


def test_nothing_acknowledged_is_lost_over_kills_in_mid_write(tmp_path: Path) -> None:
    store = str(tmp_path / "s.db")
    acknowledged: set[str] = set()
    dice = random.Random(7)
    for round in range(KILLS):
        process = subprocess.Popen(
            [sys.executable, "-m", "satchel", "serve", "--contract", "prompt-store", "--database", store],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert process.stdin is not None and process.stdout is not None
        feeder = threading.Thread(target=feed, args=(process.stdin, round))
        feeder.start()
        first = process.stdout.readline()
        killer = threading.Timer(dice.uniform(0.01, 0.25), process.kill)
        killer.start()
        lines = [first, *process.stdout]
        killer.join()
        process.wait()
        feeder.join()
        process.stdout.close()
        for line in lines:
            if line.endswith(b"\n"):  # a torn line is no acknowledgement
                acknowledged.add(json.loads(line)["result"]["structuredContent"]["title"])
    database = open_database(store)
    with database.read() as tx:
        kept = {title for (title,) in tx.all("select title from prompts")}
        torn = tx.all("select number from prompts where (select count(*) from prompt_tags where prompt = number) <> 2")
        untold = tx.all("select number from prompts where number not in (select prompt from prompt_texts)")
        assert prompts.list_counted(tx, SCOPE, PromptQuery(text="few words"), limit=1, offset=0).total == len(kept)
    database.close()
    assert len(acknowledged) >= KILLS  # one in each round, and more where the disk is quick
    assert acknowledged <= kept and torn == [] and untold == []
    raw = apsw.Connection(store)
    assert raw.execute("pragma integrity_check").fetchall() == [("ok",)]
    raw.execute("insert into prompt_index (prompt_index, rank) values ('integrity-check', 0)")
    raw.close()


def test_a_writer_that_is_stopped_holds_the_others_up_no_longer_than_it_is_stopped(tmp_path: Path) -> None:
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

    def work(number: int, client: Server) -> None:
        while min(progress) < TASKS and max(progress) < 10 * TASKS:
            body = said(client.call("add_task", user_id=ADA, title=f"{number}/{progress[number]}"))
            assert body["success"] is True, body
            ids.append(body["task"]["id"])
            progress[number] += 1

    clients = [serve_process("todo", store) for _ in range(4)]
    together(*(lambda n=n, c=c: work(n, c) for n, c in enumerate(clients)))
    assert len(set(ids)) == len(ids) == sum(progress)
    assert said(clients[0].call("list_tasks", user_id=ADA))["count"] == len(ids)
    assert min(progress) >= TASKS, progress  # by SQLite's own waiting, one had 1 and another 5,436


def test_a_postgres_that_restarts_in_mid_load_loses_nothing_and_is_found_again() -> None:
    postgres = PostgresServer()
    try:
        store = postgres.fresh()
        acknowledged: set[str] = set()
        back = threading.Event()
        with Server("--contract", "todo", "--database", store) as client:
            client.call("list_tasks", user_id=ADA)

            def restart() -> None:
                assert eventually(lambda: len(acknowledged) > 10)
                postgres.stop()
                time.sleep(1.5)
                postgres.start()
                back.set()

            restarting = threading.Thread(target=restart)
            restarting.start()
            failures = number = 0
            while True:
                body = said(client.call("add_task", user_id=ADA, title=f"T{number}"))
                if body["success"]:
                    acknowledged.add(body["task"]["id"])
                    if back.is_set():
                        break
                else:
                    failures += 1
                    assert body == {
                        "success": False,
                        "task": None,
                        "message": "Unable to complete request. Please try again.",
                    }
                    time.sleep(0.02)
                number += 1
            restarting.join()
            assert len(acknowledged) > 10
            listed = said(client.call("list_tasks", user_id=ADA))["tasks"]
            assert acknowledged <= {task["id"] for task in listed}
    finally:
        postgres.close()


def has_somebody_waiting(store: str) -> bool:
    """Whether a session waits for a lock that another one has."""
    sql = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
    with psycopg.connect(store) as operator:
        return bool(operator.execute(sql).fetchall())


def test_on_postgres_what_goes_in_mid_call_is_called_by_its_name(
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
            assert eventually(lambda: has_somebody_waiting(store))  # for the row
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
        assert eventually(lambda: has_somebody_waiting(store))
        first.commit()
        asking.join()
        assert answers[0]["success"] is True
        assert first.execute("select completed_at from tasks").fetchone() == ("2020-01-01T00:00:00.000000Z",)
