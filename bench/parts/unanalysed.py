"""Lists of tasks on a PostgreSQL store that grows and was never analysed, behind row-level security."""

import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

from bench import postgres
from bench.measuring import show
from bench.results import Result, Table
from bench.surroundings import Run
from satchel.model import Scope, TaskDraft, TaskQuery
from satchel.services import projects, tasks
from satchel.storage.database import Database, open_database

USERS = 8
CALLS = 20  # of each user, after each stage
SETTINGS = {"autovacuum": "off", "fsync": "off"}


def measure(run: Run) -> Result:
    """Add tasks in stages, with lists in between, and list them after each stage."""
    result = Result("unanalysed")
    try:
        server = run.stack.enter_context(postgres.Server(SETTINGS))
    except (RuntimeError, OSError) as error:
        result.notes.append(f"PostgreSQL was not measured: {str(error)[:200]}")
        return result
    _, role, _ = server.make_guarded_store("growing")
    database = open_database(role)
    run.stack.callback(database.close)
    projects.require(database, Scope())
    scopes = [Scope(user=f"{number:08d}-e29b-41d4-a716-446655440000") for number in range(USERS)]
    stages = [run.amount(size // 20, size) for size in (100, 200, 300)]
    run.expect(len(stages))
    rows, rates = [], []
    with ThreadPoolExecutor(USERS) as threads:
        for before, size in pairwise([0, *stages]):
            list(threads.map(lambda scope: add_tasks(database, scope, range(before, size)), scopes))  # noqa: B023
            started = time.perf_counter()
            list(threads.map(lambda scope: list_tasks(database, scope, CALLS), scopes))
            rates.append(USERS * CALLS / (time.perf_counter() - started))
            rows.append([f"{size}", show(rates[-1])])
            run.step()
    result.figures["list_tasks/s without statistics"] = min(rates)
    note = f"In process, through the services, {USERS} users at once; autovacuum is off, and nothing is analysed."
    head = ["tasks of each user", "list_tasks a second"]
    result.tables.append(Table("Lists of tasks while a store grows", head, rows, note))
    return result


def add_tasks(database: Database, scope: Scope, numbers: Iterable[int]) -> None:
    """Add tasks, of which each fifth waits for the one before, and list them now and then."""
    last = 0
    for number in numbers:
        blocked_by = [last] if number % 5 == 4 and last else []
        with database.write(scope) as tx:
            draft = TaskDraft(title=f"Task {number}", project=scope.project, tags=["one", "two"], blocked_by=blocked_by)
            last = tasks.add(tx, scope, draft).number
        if number % 10 == 0:
            list_tasks(database, scope, 1)


def list_tasks(database: Database, scope: Scope, calls: int) -> None:
    """List the user's tasks that are ready."""
    for _ in range(calls):
        with database.read(scope) as tx:
            tasks.list_page(tx, scope, TaskQuery(), limit=50)
