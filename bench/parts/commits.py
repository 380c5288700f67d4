"""Additions a second on a PostgreSQL whose commits take 3 ms, as on a slow disk or with a standby."""

from collections.abc import Iterator
from functools import partial

from bench import drivers, postgres
from bench.load import Load
from bench.measuring import Case, show
from bench.results import Result, Table
from bench.surroundings import Run
from bench.web import HttpServer, http_environment, make_request, satchel_command

CLIENTS = 16
SLOW_COMMITS = {"commit_delay": "3000", "commit_siblings": "0"}  # commits at the same time share one flush


def measure(run: Run) -> Result:
    """Add prompts with many clients."""
    result = Result("commits")
    rounds, seconds = run.amount(1, 5), 0.3 if run.share < 0.1 else 2.0
    run.expect(rounds + 1)
    try:
        server = run.stack.enter_context(postgres.Server(SLOW_COMMITS))
    except (RuntimeError, OSError) as error:
        result.notes.append(f"not measured: {str(error)[:200]}")
        return result
    load = start(run, server.make_store("satchel"))
    case = Case("adds a second", partial(add, load, seconds))
    run.interleave("adds a second", [case], rounds)
    if not case.values:
        result.notes.append(f"failed: {case.failure}")
        return result
    result.figures["adds/s"] = case.median
    cells = [show(case.median), case.spread, f"{len(case.values)}", show(load.cpu / load.calls * 1e6)]
    head = ["add_prompt, PostgreSQL", "calls a second", "quartiles", "samples", "processor µs of the server"]
    note = f"{CLIENTS} clients add prompts over HTTP to one process, with `commit_delay` of 3 ms."
    result.tables.append(Table("Adds at a commit of 3 ms", head, [["satchel, prompt-store", *cells]], note))
    return result


def start(run: Run, store: str) -> Load:
    """Start a server on a store."""
    server = HttpServer(satchel_command(store), drivers.PROMPT_STORE, http_environment())
    run.stack.callback(server.close)
    return Load(server.port, server.process.pid, make_additions())


def add(load: Load, seconds: float, _: int) -> float:
    """Return the additions a second."""
    return load.run(CLIENTS, seconds)


def make_additions() -> Iterator[bytes]:
    """Yield requests that add one prompt after the other, all of one length."""
    tool, arguments = drivers.PROMPT_STORE.verbs["add"]
    number = 0
    while True:
        number += 1
        yield make_request(tool, {**arguments(1, ""), "title": f"Prompt {number:08}"})
