"""What the tools of Satchel's own contract cost with 100,000 prompts and 100,000 tasks, over real stdio.

Every round calls each case once, so that a busy moment of the machine hits them alike.
"""

import argparse
import random
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import postgres
import texts
from client import SATCHEL, Client, environment, median, quantile, table
from satchel.model import PromptDraft, PromptQuery, Scope, Task, TaskDraft
from satchel.services import projects, prompts, tasks
from satchel.storage.database import Database, Tx, open_database

USER = "550e8400-e29b-41d4-a716-446655440000"
SCOPE = Scope(user=USER)
BATCH = 1000
PROJECTS = tuple(f"project-{number}" for number in range(10))
PRIORITIES = ("low", "normal", "normal", "normal", "high", "urgent")


@dataclass
class Case:
    """One kind of call and what was measured of it."""

    name: str
    tool: str
    arguments: dict[str, Any]
    goal: float
    skipped: int = 0  # rows of pages before, of 200 each
    times: list[float] = field(default_factory=list)


def main() -> int:
    """Load, measure, print, and with --check judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prompts", type=int, default=100_000)
    parser.add_argument("--tasks", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--texts", type=Path, help=f"a CSV file with a column `prompt` (default: {texts.REAL})")
    parser.add_argument("--database", help="a store instead of a new SQLite file; one that is filled is used as it is")
    parser.add_argument("--postgres", action="store_true", help="start a PostgreSQL server for the run")
    parser.add_argument("--check", action="store_true", help="exit 1 when a goal is missed")
    options = parser.parse_args()
    path = options.texts or (texts.REAL if texts.REAL.exists() else None)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="satchel-bench-")))
        address = stack.enter_context(postgres.temporary_server()) if options.postgres else options.database
        store = address or str(folder / "store.db")
        database = open_database(store)
        stored = texts.samples(options.prompts, path)
        if is_empty(database):
            fill(database, stored, options.tasks)
            if options.postgres:
                postgres.settle(address)
        with database.read(SCOPE) as tx:
            some = prompts.list_counted(tx, SCOPE, PromptQuery(), limit=1, offset=1234).items[0].name
        database.close()
        cases = cases_for(stored, some)
        go_on(store, folder, cases)
        run(store, folder, cases, options.rounds)
    print(table(("call", "median ms", "p95 ms", "goal"), [shown(case) for case in cases]))
    missed = [f"{case.name} {median(case.times):.1f} ms" for case in cases if median(case.times) >= case.goal]
    print(f"missed: {'; '.join(missed)}" if missed else "all goals met")
    return 1 if options.check and missed else 0


def is_empty(database: Database) -> bool:
    """Whether nothing was loaded yet."""
    projects.require(database, SCOPE)
    with database.read(SCOPE) as tx:
        return not prompts.list_page(tx, SCOPE, PromptQuery(), limit=1)[0]


def fill(database: Database, stored: list[texts.Sample], count: int) -> None:
    """Load prompts, and tasks of which 10 % are done, 20 % blocked, half in a project."""
    dice = random.Random(4)
    started = time.perf_counter()
    for start in range(0, len(stored), BATCH):
        with database.write(SCOPE) as tx:
            for sample in stored[start : start + BATCH]:
                prompts.add(tx, SCOPE, PromptDraft(title=sample.title, content=sample.content, tags=sample.tags))
    between = time.perf_counter()
    with database.write(SCOPE) as tx:
        for name in PROJECTS:
            projects.add(tx, name)
    known: list[Task] = []
    for start in range(0, count, BATCH):
        with database.write(SCOPE) as tx:
            known += [add_task(tx, dice, number, known) for number in range(start, min(start + BATCH, count))]
    done = time.perf_counter()
    print(f"{len(stored)} prompts in {between - started:.0f} s, {count} tasks in {done - between:.0f} s")


def add_task(tx: Tx, dice: random.Random, number: int, known: list[Task]) -> Task:
    """A task like many."""
    verb = dice.choice(("Write", "Read", "Call", "Mend", "Buy", "Review"))
    title = f"{verb} {dice.choice(texts.COMMON_TAGS)} {number}"
    description = " ".join(dice.choices(texts.COMMON_TAGS, k=12)) + (" Xylographer" if number % 5000 == 7 else "")
    tags = {tag for place, tag in enumerate(texts.COMMON_TAGS) if dice.random() < 0.3 / (place + 1)}
    tags |= {texts.RARE_TAG} if number % 3000 == 11 else set()
    task = tasks.add(
        tx,
        SCOPE,
        TaskDraft(
            title=title,
            description=description,
            project=dice.choice(PROJECTS) if dice.random() < 0.5 else None,
            tags=sorted(tags),
            priority=dice.choice(PRIORITIES),
            due=f"2027-{dice.randrange(1, 13):02}-{dice.randrange(1, 29):02}" if dice.random() < 0.4 else None,
            blocked_by=[dice.choice(known).number] if known and dice.random() < 0.2 else (),
        ),
    )
    if dice.random() < 0.1:
        tasks.complete(tx, SCOPE, task.number, renews=False)
    return task


def cases_for(stored: list[texts.Sample], some: str) -> list[Case]:
    """The table of what is called, and how many milliseconds it may take."""
    find = texts.queries(stored)
    common, rare = texts.COMMON_TAGS[0], texts.RARE_TAG

    def prompt_page(name: str, goal: float, *, skipped: int = 0, **wanted: Any) -> Case:
        return Case(f"list_prompts, {name}", "list_prompts", wanted, goal, skipped)

    def task_page(name: str, goal: float, *, skipped: int = 0, **wanted: Any) -> Case:
        return Case(f"list_tasks, {name}", "list_tasks", wanted, goal, skipped)

    return [
        prompt_page("first page", 5),
        prompt_page("behind 20,000", 5, skipped=20_000),
        prompt_page(f"common “{find.common}”, behind 2,000", 50, skipped=2000, query=find.common),
        prompt_page(f"common “{find.common}”", 50, query=find.common),
        prompt_page(f"rare “{find.rare}”", 50, query=find.rare),
        prompt_page("absent", 50, query=find.nowhere),
        prompt_page("common, common tag", 50, query=find.common, tags=[common]),
        prompt_page("common, two tags, all", 50, query=find.common, tags=[common, "writing"], match="all"),
        prompt_page("common, rare tag", 50, query=find.common, tags=[rare]),
        prompt_page("common tag", 20, tags=[common]),
        prompt_page("rare tag", 20, tags=[rare]),
        Case("get_prompt", "get_prompt", {"prompt": some}, 5),
        task_page("ready", 20),
        task_page("ready, behind 20,000", 20, skipped=20_000),
        task_page("pending", 20, status="pending"),
        task_page("completed", 20, status="completed"),
        task_page("all", 20, status="all"),
        task_page("ready in a project", 20, project=PROJECTS[3]),
        task_page("ready, common tag", 20, tags=[common]),
        task_page("ready, rare tag", 20, tags=[rare]),
        task_page("ready, common “write”", 50, query="write"),
        task_page("ready, absent text", 100, query="qzxjv"),
        Case("list_projects", "list_projects", {}, 50),
    ]


def go_on(store: str, folder: Path, cases: list[Case]) -> None:
    """Turn to the page where each case of a later one begins."""
    client = Client(
        [SATCHEL, "serve", "--database", store, "--user", USER, "--project", "default"], environment(folder / "cache")
    )
    for case in cases:
        for _ in range(case.skipped // 200):
            _, page = client.call(case.tool, {**case.arguments, "limit": 200})
            case.arguments["cursor"] = page["next_cursor"]
    client.close()


def run(store: str, folder: Path, cases: list[Case], rounds: int) -> None:
    """Call every case once a round."""
    client = Client(
        [SATCHEL, "serve", "--database", store, "--user", USER, "--project", "default"], environment(folder / "cache")
    )
    for round in range(rounds + 3):
        for case in cases:
            taken, _ = client.call(case.tool, case.arguments)
            if round >= 3:
                case.times.append(taken)
    client.close()


def shown(case: Case) -> tuple[str, ...]:
    """A row of the table."""
    return case.name, f"{median(case.times):.2f}", f"{quantile(case.times, 0.95):.2f}", f"{case.goal:.0f}"


if __name__ == "__main__":
    sys.exit(main())
