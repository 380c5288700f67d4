"""What `search` costs with 100,000 prompts of 2.5 KB, over real stdio: rare, common, several and mistyped words.

Every round calls each case once, so that a busy moment of the machine hits them alike.
"""

import argparse
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import postgres
import texts
from client import SATCHEL, Client, environment, median, quantile, table
from satchel.model import PromptDraft, PromptQuery, Scope
from satchel.services import projects, prompts
from satchel.storage.database import Database, open_database

USER = "550e8400-e29b-41d4-a716-446655440000"
SCOPE = Scope(user=USER)
BATCH = 1000
GOAL = 50.0  # ms
NOWHERE = "nowhere"  # the case that finds nothing


@dataclass
class Case:
    """One query and what was measured of it."""

    name: str
    query: str
    times: list[float] = field(default_factory=list)


def main() -> int:
    """Load, measure, print, and with --check judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=20)
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
        stored = texts.samples(options.items, path)
        database = open_database(store)
        fill(database, stored)
        database.close()
        if options.postgres:
            postgres.settle(address)
        cases = cases_for(stored)
        run(store, folder, cases, options.rounds)
    rows = [
        (case.name, f"`{case.query}`", f"{median(case.times):.1f}", f"{quantile(case.times, 0.95):.1f}")
        for case in cases
    ]
    print(table(("words", "query", "median ms", "p95 ms"), rows))
    missed = [case.name for case in cases if median(case.times) > GOAL]
    print(f"over {GOAL:.0f} ms: {', '.join(missed)}" if missed else "all goals met")
    return 1 if options.check and missed else 0


def fill(database: Database, stored: list[texts.Sample]) -> None:
    """Load the prompts, unless there are any."""
    projects.require(database, SCOPE)
    with database.read(SCOPE) as tx:
        if prompts.list_page(tx, SCOPE, PromptQuery(), limit=1)[0]:
            return
    started = time.perf_counter()
    for start in range(0, len(stored), BATCH):
        with database.write(SCOPE) as tx:
            for sample in stored[start : start + BATCH]:
                prompts.add(tx, SCOPE, PromptDraft(title=sample.title, content=sample.content, tags=sample.tags))
    print(f"{len(stored)} prompts in {time.perf_counter() - started:.0f} s")


def cases_for(stored: list[texts.Sample]) -> list[Case]:
    """Queries of every kind, with words that these samples have."""
    asked = texts.queries(stored[:5000])
    rare, common = asked.rare, asked.common
    return [
        Case("rare", rare),
        Case("common", common),
        Case("in nearly all", "the"),
        Case("rare and common", f"{rare} {common}"),
        Case("several common", f"{common} {texts.COMMON_TAGS[1]} write text"),
        Case("a question", f"how do I write a {common} for my {texts.COMMON_TAGS[0]} team"),
        Case("ten words", "create a detailed plan for testing and deploying python web applications securely"),
        Case("many common", "design system analysis report project data user content"),
        Case("mistyped", rare[:2] + rare[3] + rare[2] + rare[4:]),
        Case("mistyped beside common", f"{common} {rare[:-2]}{rare[-1]}"),
        Case("two words as one", f"{common}{texts.COMMON_TAGS[1]}"),
        Case("in titles", texts.TITLE_ONLY),
        Case(NOWHERE, asked.nowhere),
    ]


def run(store: str, folder: Path, cases: list[Case], rounds: int) -> None:
    """Call every case once a round, after three rounds that are not counted."""
    # The project is named: within a checkout the server would search the project of that, which is empty.
    command = [SATCHEL, "serve", "--database", store, "--user", USER, "--project", "default"]
    client = Client(command, environment(folder / "cache"))
    for round in range(rounds + 3):
        for case in cases:
            taken, answer = client.call("search", {"query": case.query})
            if not answer["hits"] and case.name != NOWHERE:
                raise RuntimeError(f"{case.query!r} found nothing: {answer}")
            if round >= 3:
                case.times.append(taken)
    client.close()


if __name__ == "__main__":
    sys.exit(main())
