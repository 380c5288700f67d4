"""The short form for `make check`: a few ratios, each compared with its stored value in `bench/smoke.json`.

Only gross regressions fail: more than `SLACK` times the stored ratio, in two tries.
"""

import tempfile
from contextlib import ExitStack
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

import msgspec

from bench import drivers, stores, texts
from bench.drivers import Driver
from bench.load import Load
from bench.measuring import Case, interleave
from bench.parts.growth import serve
from bench.parts.start import make_start
from bench.results import Table, render_table
from bench.rivals import Rival, gather
from bench.stdio import Client, read_cpu, read_memory
from bench.surroundings import HERE, Run
from bench.web import HttpClient, HttpServer, http_environment, make_request, satchel_command, script_command

KEPT = HERE / "smoke.json"
SLACK = 2.0
CALLS, ADDS = 4000, 600  # whose processor time is measured


def main(*, renews: bool) -> int:
    """Measure and print; return 1 if something has become much slower."""
    found = measure()
    if renews:
        KEPT.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
        print(f"kept in {KEPT.name}")
        return 0
    kept = msgspec.json.decode(KEPT.read_bytes(), type=dict[str, float])
    if find_worse(found, kept):
        again = measure()  # a busy machine may have hit one side only
        found = {name: min(value, again[name]) for name, value in found.items()}
    worse = find_worse(found, kept)
    rows = [[name, f"{kept[name]:.2f}", f"{value:.2f}", f"{value / kept[name]:.2f}"] for name, value in found.items()]
    print(render_table(Table("", ["ratio", "kept", "now", "change"], rows)))
    print(f"much slower than kept: {', '.join(worse)}" if worse else f"nothing is {SLACK:g} × what it was")
    return 1 if worse else 0


def find_worse(found: dict[str, float], kept: dict[str, float]) -> list[str]:
    """Return the ratios that are far above the stored ones."""
    return [name for name, value in found.items() if value > SLACK * max(1.0, kept[name])]


def measure() -> dict[str, float]:
    """Measure all ratios; smaller is better."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="satchel-smoke-")))
        run = Run(folder, stack, share=0, rivals=())
        rivals = {rival.name: rival for rival in gather(run, "smoke").rivals}
        ratios = measure_start(rivals)
        ratios |= measure_calls(run, rivals)
        ratios |= measure_growth(run)
        ratios |= measure_http(run)
    return {name: round(value, 3) for name, value in ratios.items()}


def measure_start(rivals: dict[str, Rival]) -> dict[str, float]:
    """Compare a start with the bare loop's."""
    cases = [Case(name, make_start(rivals[name])) for name in ("bare loop", "satchel")]
    interleave(cases, 8, warmup=2)
    return {"start / bare loop": cases[1].median / cases[0].median}


def measure_calls(run: Run, rivals: dict[str, Rival]) -> dict[str, float]:
    """Compare memory, and the processor time of a get and an add, with the bare loop's."""
    gets, adds, weights = [], [], []
    for name in ("bare loop", "satchel, prompt-store"):
        driver = rivals[name].drive()
        client = driver.client
        assert isinstance(client, Client)
        run.stack.callback(client.close)
        start = read_cpu(client.process.pid)
        for _ in range(ADDS):
            driver.add()
        between = read_cpu(client.process.pid)
        for _ in range(CALLS):
            driver.do("get", 1)
        adds.append(between - start)
        gets.append(read_cpu(client.process.pid) - between)
        weights.append(read_memory(client.process.pid))
    return {
        "memory / bare loop": weights[1] / weights[0],
        "processor time of a get / bare loop": gets[1] / max(gets[0], 0.01),
        "processor time of an add / bare loop": adds[1] / max(adds[0], 0.01),
    }


def measure_growth(run: Run) -> dict[str, float]:
    """Compare lists and a search in 3,000 items with the same in 30."""
    clients = []
    for size in (30, 3000):
        file = run.folder / f"{size}.db"
        database = stores.open_new(str(file))
        stores.grow(database, 0, size)
        database.close()
        clients.append(serve(run, file, "satchel"))
    ratios = {}
    calls: dict[str, dict[str, Any]] = {"list_tasks": {}, "list_prompts": {}, "search": {"query": texts.RARE_WORD}}
    for tool, arguments in calls.items():
        cases = [Case(tool, partial(_call, client, tool, arguments)) for client in clients]
        interleave(cases, 40)
        ratios[f"{tool}, 3,000 / 30 items"] = cases[1].median / cases[0].median
    return ratios


def measure_http(run: Run) -> dict[str, float]:
    """Compare the processor time of a get over HTTP with a bare ASGI application's."""
    commands = {
        "bare": script_command("asgi.py", run.folder / "asgi.db"),
        "satchel": satchel_command(str(run.folder / "http.db")),
    }
    loads = []
    for command in commands.values():
        server = HttpServer(command, drivers.SAME_TOOLS, http_environment())
        run.stack.callback(server.close)
        client = HttpClient(server.port)
        driver = Driver(client, server.vocabulary)
        driver.add()
        client.close()
        request = make_request("get_prompt", {"id": driver.ids[0]})
        loads.append(Load(server.port, server.process.pid, repeat(request)))
    interleave([Case("load", partial(_load, load)) for load in loads], 3, warmup=0)
    bare, satchel = (load.cpu / load.calls for load in loads)
    return {"processor time of a get over HTTP / bare ASGI": satchel / bare}


def _call(client: Client, tool: str, arguments: dict[str, Any], _: int) -> float:
    return client.call(tool, arguments)[0]


def _load(load: Load, _: int) -> float:
    return load.run(8, 1.0)
