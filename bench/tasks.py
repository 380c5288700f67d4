"""What the `tasks` and `todo` tools cost with 10,000 tasks of one user, beside the same with 100, over real stdio.

A linear cost shows as a ratio of 100 between the two; a call that looks at one task should not grow at all.
"""

import argparse
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import postgres
from client import SATCHEL, Client, environment, median, quantile, table
from satchel.model import Scope, TaskDraft
from satchel.services import tasks
from satchel.storage.database import open_database

USER = "550e8400-e29b-41d4-a716-446655440000"
GOALS = {"list": 150.0, "add": 2.0, "complete": 2.0, "delete": 2.0}


def main() -> int:
    """Measure, print the table, and with --check tell by the exit status whether a goal was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--postgres", action="store_true", help="on a PostgreSQL server started for the run")
    parser.add_argument("--check", action="store_true", help="end with 1 when a goal of SQLite's is missed")
    options = parser.parse_args()
    rows: list[tuple[str, ...]] = []
    missed = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        sizes = (100, options.tasks)
        stores = []
        for size in sizes:
            where = stack.enter_context(postgres.temporary_server()) if options.postgres else str(folder / f"{size}.db")
            fill(where, size)
            stores.append(where)
        for contract in ("tasks", "todo"):
            figures = [measure(contract, where, folder, options.rounds) for where in stores]
            for call in GOALS:
                small, large = (median(figure[call]) for figure in figures)
                p95 = quantile(figures[1][call], 0.95)
                goal = GOALS[call]
                rows.append(
                    (
                        f"{contract}: {call}",
                        f"{small:.2f}",
                        f"{large:.2f}",
                        f"{p95:.2f}",
                        f"{large / small:.1f}",
                        f"{goal:.0f}",
                    )
                )
                if large > goal:
                    missed.append(f"{contract} {call} {large:.2f} ms")
    head = ("call", "100 tasks, ms", f"{options.tasks} tasks, ms", "p95 ms", "growth", "goal ms")
    print(table(head, rows))
    print(f"missed: {', '.join(missed)}" if missed else "every goal is met")
    return 1 if missed and options.check else 0


def fill(where: str, size: int) -> None:
    """Put a user's tasks into a new store, every third one done."""
    database = open_database(where)
    scope = Scope(user=USER)
    with database.write() as tx:
        for number in range(size):
            task = tasks.add(
                tx, scope, TaskDraft(title=f"Task {number} of some length", description="What it is about. " * 5)
            )
            if number % 3 == 0:
                tasks.complete(tx, scope, task.id, renews=False)
    database.close()


def measure(contract: str, where: str, folder: Path, rounds: int) -> dict[str, list[float]]:
    """The milliseconds of each kind of call."""
    command = [SATCHEL, "serve", "--contract", contract, "--database", where, "--user", USER]
    client = Client(command, environment(folder / "cache"))
    who: dict[str, Any] = {} if contract == "tasks" else {"user_id": USER}
    taken: dict[str, list[float]] = {call: [] for call in GOALS}
    for number in range(rounds + 3):
        listed, _ = client.call("list_tasks", who)
        added, said = client.call("add_task", {**who, "title": f"New {number}"})
        task = {"task_id": said["data"]["id"] if contract == "tasks" else said["task"]["id"]}
        completed, _ = client.call("complete_task", {**who, **task})
        deleted, _ = client.call("delete_task", {**who, **task})
        if number >= 3:  # the first ones are for warming up
            for call, milliseconds in zip(GOALS, (listed, added, completed, deleted), strict=True):
                taken[call].append(milliseconds)
    client.close()
    return taken


if __name__ == "__main__":
    sys.exit(main())
