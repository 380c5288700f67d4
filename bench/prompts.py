"""What each tool of the prompt-store contract costs over stdio with thousands of prompts, beside a bare loop.

Every round calls each case once, so that a busy moment of the machine hits them alike.
"""

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import bare_store
import postgres
import texts
from client import HERE, PYTHON, SATCHEL, Client, environment, median, quantile, table
from satchel.model import PromptDraft, Scope
from satchel.services import projects, prompts
from satchel.storage.database import open_database

GOAL_MS = 10.0
SHORT_GOAL_MS = 40.0  # one or two letters, which no trigram index serves
RATIO_GOAL = 3.0  # of a request to that of the bare loop
BATCH = 1000


@dataclass
class Case:
    """One kind of call and what was measured of it."""

    name: str
    tool: str
    arguments: Callable[[int], dict[str, Any]]  # of the round
    goal: float = GOAL_MS
    rival: str | None = None  # the tool of the bare store that does the like
    times: list[float] = field(default_factory=list)
    rival_times: list[float] = field(default_factory=list)
    total: int | None = None  # hits


def main() -> int:
    """Load, measure, print, and with --check judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prompts", type=int, default=10_000, help="how many to load (default: 10000)")
    parser.add_argument("--rounds", type=int, default=60, help="calls of each case that count (default: 60)")
    parser.add_argument(
        "--texts", type=Path, help=f"a CSV file with a column `prompt` (default: {texts.REAL}, if there)"
    )
    parser.add_argument("--database", help="an empty store instead of a SQLite file: postgresql://…")
    parser.add_argument("--postgres", action="store_true", help="start a PostgreSQL server for the run")
    parser.add_argument("--check", action="store_true", help="exit 1 when a goal is missed")
    options = parser.parse_args()
    path = options.texts or (texts.REAL if texts.REAL.exists() else None)

    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="satchel-bench-")))
        address = stack.enter_context(postgres.temporary_server()) if options.postgres else options.database
        where = address or str(folder / "store.db")
        stored = texts.samples(options.prompts, path)
        size = sum(len(sample.content.encode()) for sample in stored)
        print(f"{len(stored)} prompts, {size / len(stored) / 1024:.2f} KB each, from {path or 'invented words'}")
        ids = load(where, stored)
        if address:
            postgres.settle(address)
        else:
            print(f"store: {sum(file.stat().st_size for file in folder.glob('store.db*')) / 1e6:.0f} MB")
        cases = cases_for(stored, ids, texts.samples(2 * options.rounds + 20, path, seed=2))
        run(cases, where, folder, stored if not address else None, options.rounds)
    print(report(cases))
    missed = misses(cases)
    print(f"missed: {'; '.join(missed)}" if missed else "all goals met")
    return 1 if options.check and missed else 0


def load(where: str, stored: list[texts.Sample]) -> list[str]:
    """Add all samples through the service, some hundreds to a transaction; their ids."""
    database = open_database(where)
    scope = Scope()
    projects.require(database, scope)
    started = time.perf_counter()
    ids = []
    for start in range(0, len(stored), BATCH):
        with database.write() as tx:
            for sample in stored[start : start + BATCH]:
                kept = prompts.add(tx, scope, PromptDraft(title=sample.title, content=sample.content, tags=sample.tags))
                ids.append(kept.id)
    taken = time.perf_counter() - started
    database.close()
    print(f"loaded in {taken:.1f} s, {taken / len(stored) * 1000:.2f} ms each, {BATCH} to a transaction")
    return ids


def cases_for(stored: list[texts.Sample], ids: list[str], fresh: list[texts.Sample]) -> list[Case]:
    """The table of what is called."""
    find = texts.queries(stored)
    dice = random.Random(3)
    shuffled = dice.sample(ids, len(ids))
    doomed = shuffled[: len(ids) // 4]
    kept = shuffled[len(ids) // 4 :]

    def search(name: str, query: str, goal: float = GOAL_MS) -> Case:
        return Case(f"search_prompts, {name} “{query}”", "search_prompts", lambda _: {"query": query}, goal)

    def filtered(name: str, *tags: str) -> Case:
        return Case(f"filter_by_tags, {name}", "filter_by_tags", lambda _: {"tags": list(tags)})

    def added(round: int) -> dict[str, Any]:
        sample = fresh[2 * round]
        return {"title": f"{sample.title} added", "content": sample.content, "tags": list(sample.tags)}

    def updated(round: int) -> dict[str, Any]:
        sample = fresh[2 * round + 1]
        return {"id": kept[round], "title": f"{sample.title} updated", "content": sample.content}

    return [
        Case("list_prompts, first page", "list_prompts", lambda _: {}),
        Case("list_prompts, 100 from the first", "list_prompts", lambda _: {"limit": 100}),
        Case("list_prompts, deep offset", "list_prompts", lambda _: {"offset": len(ids) * 9 // 10}),
        Case("get_prompt", "get_prompt", lambda round: {"id": kept[-1 - round]}, rival="get"),
        Case("add_prompt", "add_prompt", added, rival="add"),
        Case("update_prompt", "update_prompt", updated),
        Case("delete_prompt", "delete_prompt", lambda round: {"id": doomed[round]}),
        search("common word", find.common),
        search("rare word", find.rare),
        search("no hit", find.nowhere),
        search("in titles only", texts.TITLE_ONLY),
        search("3 characters", find.three),
        search("2 characters", find.two, SHORT_GOAL_MS),
        search("1 character", find.one, SHORT_GOAL_MS),
        search("2 absent", find.absent_two, SHORT_GOAL_MS),
        search("1 absent", find.absent_one, SHORT_GOAL_MS),
        filtered("common", texts.COMMON_TAGS[0]),
        filtered("rare", texts.RARE_TAG),
        filtered("several", *texts.COMMON_TAGS[1:4], texts.RARE_TAG),
        Case("list_tags", "list_tags", lambda _: {}),
    ]


def run(cases: list[Case], where: str, folder: Path, stored: list[texts.Sample] | None, rounds: int) -> None:
    """Call every case once a round; the bare store, which has to be given samples, right beside its like."""
    surroundings = environment(folder / "bytecode")
    satchel = Client([SATCHEL, "serve", "--contract", "prompt-store", "--database", where], surroundings)
    bare, bare_ids = None, []
    if stored is not None:
        bare_ids = load_bare(str(folder / "bare.db"), stored)
        bare = Client([PYTHON, str(HERE / "bare_store.py"), str(folder / "bare.db")], surroundings)
    warmup = 5
    for round in range(rounds + warmup):
        for case in cases:
            arguments = case.arguments(round)
            taken, body = satchel.call(case.tool, arguments)
            case.total = body.get("total")
            if round >= warmup:
                case.times.append(taken)
            if bare is not None and case.rival:
                like = {"id": bare_ids[-1 - round]} if case.rival == "get" else arguments
                taken, _ = bare.call(case.rival, like)
                if round >= warmup:
                    case.rival_times.append(taken)
    memory = satchel.memory_kb()
    print(f"satchel after {rounds + warmup} rounds: RSS {memory['rss'] / 1024:.1f} MB")
    for client in filter(None, (satchel, bare)):
        client.close()


def load_bare(path: str, stored: list[texts.Sample]) -> list[str]:
    """Give the bare store the same rows."""
    connection = bare_store.connect(path)
    with connection:
        ids = [str(bare_store.add(connection, kept.title, kept.content, list(kept.tags))["id"]) for kept in stored]
    connection.close()
    return ids


def report(cases: list[Case]) -> str:
    """A table of all cases."""
    rows = [
        (
            case.name,
            "" if case.total is None else str(case.total),
            f"{median(case.times):.2f}",
            f"{quantile(case.times, 0.95):.2f}",
            f"{case.goal:.0f}",
            f"{median(case.rival_times):.2f}" if case.rival_times else "",
            f"{ratio(case):.2f}" if case.rival_times else "",
        )
        for case in cases
    ]
    return table(("call", "total", "median ms", "p95 ms", "goal", "bare ms", "ratio"), rows)


def ratio(case: Case) -> float:
    """How much more than the bare store."""
    return median(case.times) / median(case.rival_times)


def misses(cases: list[Case]) -> list[str]:
    """The goals that were missed."""
    slow = [f"{case.name} {median(case.times):.1f} ms" for case in cases if median(case.times) >= case.goal]
    dear = [f"{case.name} {ratio(case):.1f} ×" for case in cases if case.rival_times and ratio(case) > RATIO_GOAL]
    return slow + dear


if __name__ == "__main__":
    sys.exit(main())
