"""Additions a second on a PostgreSQL whose commits take 3 ms, as on a disk or with a standby: now, and before."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from bench import drivers, installing, postgres
from bench.load import Load
from bench.measuring import Case, interleave, show
from bench.results import Result, Table
from bench.surroundings import Run
from bench.web import HttpServer, http_environment, make_request, satchel_command

CLIENTS = 16
SLOW_COMMITS = {"commit_delay": "3000", "commit_siblings": "0"}  # commits at the same time share one flush


def measure(run: Run) -> Result:
    """Both in rotation, with many clients that add prompts."""
    result = Result("commits")
    rounds, seconds = run.amount(1, 5), 0.3 if run.share < 0.1 else 2.0
    run.expect(rounds + 1)
    try:
        server = run.stack.enter_context(postgres.Server(SLOW_COMMITS))
        sources: dict[str, Path | None] = {"satchel": None, "before": installing.install_before()}
    except (RuntimeError, OSError) as error:
        result.notes.append(f"not measured: {str(error)[:200]}")
        return result
    loads = {name: start(run, name, server.make_store(name, source), source) for name, source in sources.items()}
    cases = [Case(name, partial(add, load, seconds)) for name, load in loads.items()]
    interleave(cases, rounds, step=run.step)
    rows = []
    for case in cases:
        if not case.values:
            result.notes.append(f"{case.name} failed: {case.failure}")
            return result
        load = loads[case.name]
        rows.append([case.name, show(case.median), case.spread, show(load.cpu / load.calls * 1e6)])
    result.figures["adds/before"] = cases[0].median / cases[1].median
    note = (
        f"{CLIENTS} clients add prompts over HTTP to one process, with `commit_delay` of 3 ms. "
        f"Before is the Satchel of commit {installing.BASELINE}."
    )
    head = ["add_prompt, PostgreSQL", "calls a second", "quartiles", "processor µs of the server"]
    result.tables.append(Table("Adds at a commit of 3 ms", head, rows, note))
    return result


def start(run: Run, name: str, store: str, source: Path | None) -> Load:
    """A server on a store."""
    server = HttpServer(satchel_command(store), drivers.PROMPT_STORE, http_environment(name, source))
    run.stack.callback(server.close)
    return Load(server.port, server.process.pid, make_additions())


def add(load: Load, seconds: float, _: int) -> float:
    """The additions in a second."""
    return load.run(CLIENTS, seconds)


def make_additions() -> Iterator[bytes]:
    """Requests that add one prompt after the other, all of one length."""
    tool, arguments = drivers.PROMPT_STORE.verbs["add"]
    number = 0
    while True:
        number += 1
        yield make_request(tool, {**arguments(1, ""), "title": f"Prompt {number:08}"})
