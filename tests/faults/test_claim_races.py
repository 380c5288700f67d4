"""Agents that race for tasks: each task is claimed and completed by one of them, once."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from tests.support.satchel import ok
from tests.support.soak import amount
from tests.support.stdio import NEWEST, Server
from tests.support.threads import in_threads

ADA = "550e8400-e29b-41d4-a716-446655440000"
AGENTS = amount(6, 20)
TASKS = amount(40, 200)

Call = Callable[[str, dict[str, Any]], Any]


def work(call: Call, done: list[int]) -> None:
    """Claim and complete tasks until there are none."""
    while True:
        claimed = call("claim_task", {})["structuredContent"]
        if "error" in claimed:
            assert claimed["error"]["code"] == "not_found", claimed
            if claimed["error"]["blocked"] == 0:
                return
            continue  # what blocks the others is still being worked on
        number = claimed["task"]["number"]
        completed = call("complete_task", {"task": number, "fence": claimed["fence"]})["structuredContent"]
        assert completed["task"]["status"] == "completed" and "already_completed" not in completed, completed
        done.append(number)


def race(callers: list[Call]) -> None:
    """Let all agents work at once, and check that each task was done once."""
    lines = [f"Task {index} after:{index - 20}" if index > 20 else f"Task {index}" for index in range(1, TASKS + 1)]
    for _ in range(2):  # a repeated call adds nothing
        added = callers[0]("add_tasks", {"lines": lines, "key": "race"})["structuredContent"]
    done: list[int] = []
    in_threads(lambda call: work(call, done), callers)
    assert Counter(done) == Counter(row["number"] for row in added["tasks"])
    assert len(added["tasks"]) == TASKS


def test_processes_on_one_store_do_each_task_once(store: str, serve_process: Callable[..., Server]) -> None:
    clients = [serve_process("satchel", store, NEWEST, "--user", ADA) for _ in range(AGENTS)]
    race([client.call for client in clients])
    assert len(ok(clients[0], "list_tasks", status="completed", limit=200)["tasks"]) == TASKS
