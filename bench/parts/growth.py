"""What a call costs as a store grows from 100 to 100,000 prompts and tasks; search against a scan on both engines.

Satchel's store is filled through its services and copied at each size, so that all sizes are measured in rotation.
Peers are filled through their own tools for a limited time, and measured with the number that they reach.
"""

import shutil
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import apsw

from bench import postgres, stores, texts
from bench.drivers import Driver
from bench.measuring import Case, count_samples, time_ms
from bench.results import Plot, Result, Table
from bench.rivals import gather
from bench.stdio import Client
from bench.surroundings import SATCHEL, SCRATCH, Run, environment

CALLS: dict[str, tuple[str, Callable[[int], dict[str, Any]]]] = {
    "list prompts": ("list_prompts", lambda _: {}),
    "list tasks": ("list_tasks", lambda _: {}),
    "get a task": ("get_task", lambda round: {"task": f"#{round % 100 + 1}"}),
    "add a task": ("add_task", lambda round: {"title": f"Another {round}", "description": texts.sentence(round)}),
    "complete a task": ("complete_task", lambda round: {"task": f"#{round + 1}"}),
    "search a rare word": ("search", lambda _: {"query": texts.RARE_WORD}),
    "search a common word": ("search", lambda _: {"query": texts.COMMON_WORD}),
}
SEARCHES = {
    "rare word": texts.RARE_WORD,
    "common word": texts.COMMON_WORD,
    "absent word": texts.ABSENT_WORD,
    "two letters": "qu",
}
PEER_SIZES = (100, 1000)


def measure(run: Run) -> Result:
    """Measure Satchel at all sizes, peers as far as they come, and the scan of the largest store."""
    sizes = [10, 100] if run.is_quick else [100, 1000, 10_000, 100_000]
    sizes = [size for size in sizes if run.is_quick or size <= max(1000, 100_000 * run.share)]
    rounds = run.amount(3, 40)
    run.expect(len(sizes) + (rounds + 1) * len(CALLS) + (max(2, rounds // 4) + 1) * len(SEARCHES))
    files = fill(run, sizes)
    result = Result("growth")
    measure_calls(run, files, rounds, result)
    measure_search(run, files[sizes[-1]], sizes[-1], rounds, result)
    measure_postgres(run, files[sizes[-1]], sizes[-1], max(2, rounds // 4), result)
    measure_peers(run, result)
    return result


def fill(run: Run, sizes: list[int]) -> dict[int, Path]:
    """Grow one store; return a copy of it at each size."""
    place = run.make_folder("growth")
    growing = place / "growing.db"
    before, files = 0, {}
    for size in sizes:
        database = stores.open_new(str(growing))
        stores.grow(database, before, size)
        database.close()
        files[size] = place / f"{size}.db"
        shutil.copy(growing, files[size])
        before = size
        run.step()
    return files


def serve(run: Run, store: Path | str, contract: str) -> Client:
    """Start Satchel on a store."""
    command = [SATCHEL, "serve", "--contract", contract, "--database", str(store), "--user", stores.USER]
    client = Client([*command, "--project", "default"], environment(SCRATCH / "bytecode" / "satchel-bytecode"))
    run.stack.callback(client.close)
    return client


def measure_calls(run: Run, files: dict[int, Path], rounds: int, result: Result) -> None:
    """Measure each call at all sizes, in rotation."""
    clients = {size: serve(run, file, "satchel") for size, file in files.items()}
    rows, lines = [], {}
    for name, (tool, arguments) in CALLS.items():
        cases = [Case(f"{size:,}", make_call(client, tool, arguments)) for size, client in clients.items()]
        run.interleave(name, cases, rounds)
        ratio = cases[-1].median / cases[0].median
        rows.append([name, *(case.summary for case in cases), count_samples(cases), f"{ratio:.2f}"])
        lines[name] = [(float(size), case.median) for size, case in zip(files, cases, strict=True)]
        result.figures[f"growth of {name}"] = ratio
    head = ["call over stdio, ms", *(f"{size:,}" for size in files), "samples", "last / first"]
    note = "Medians (quartiles) with that many prompts and as many tasks in the store."
    result.tables.append(Table("Growth", head, rows, note))
    result.plots.append(Plot("growth", "Calls as the store grows", "ms", lines=lines, across="items", is_log=True))


def make_call(client: Client, tool: str, arguments: Callable[[int], dict[str, Any]]) -> Callable[[int], float]:
    """Make a function that calls a tool and returns the milliseconds."""
    return lambda round: client.call(tool, arguments(round))[0]


def measure_search(run: Run, file: Path, size: int, rounds: int, result: Result) -> None:
    """Measure substring search of the contract prompt-store beside `like '%…%'` over the same rows."""
    client = serve(run, file, "prompt-store")
    connection = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    run.stack.callback(connection.close)
    rows = []
    for name, word in SEARCHES.items():
        found = Case("index", make_call(client, "search_prompts", partial(make_query, word)))
        scanned = Case("scan", make_scan(connection, word))
        run.interleave(f"search of a {name} on SQLite", [found, scanned], max(2, rounds // 4), budget=20)
        ratio = scanned.median / found.median
        samples = count_samples([found, scanned])
        rows.append([f"{name} `{word}`", found.summary, scanned.summary, samples, f"{ratio:.1f}"])
        result.figures[f"scan/search, {name}"] = ratio
    head = [f"search in {size:,} prompts", "satchel, ms", "scan, ms", "samples", "scan / satchel"]
    note = "The scan is `like` over titles and texts of the same file, with a total and the first page, in process."
    result.tables.append(Table("Search against a scan", head, rows, note))


def measure_postgres(run: Run, file: Path, size: int, rounds: int, result: Result) -> None:
    """Measure searches of the same prompts on PostgreSQL: literal with a total and without, and by words."""
    try:
        server = run.stack.enter_context(postgres.Server())
        address = server.copy_store("growth", file)
    except (RuntimeError, OSError) as error:
        result.notes.append(f"PostgreSQL was not measured: {str(error)[:200]}")
        return
    counting, listing = serve(run, address, "prompt-store"), serve(run, address, "satchel")
    calls = {
        "with its total": (counting, "search_prompts"),
        "without": (listing, "list_prompts"),
        "by words": (listing, "search"),
    }
    rows, worst = [], 0.0
    for name, word in SEARCHES.items():
        cases = [Case(how, make_call(client, tool, partial(make_query, word))) for how, (client, tool) in calls.items()]
        run.interleave(f"search of a {name} on PostgreSQL", cases, rounds, budget=20)
        failed = [f"{case.name}, {name}: {case.failure}" for case in cases if not case.values]
        if failed:
            result.notes += failed
            continue
        rows.append([f"{name} `{word}`", *(case.summary for case in cases), count_samples(cases)])
        result.figures |= {f"search on PostgreSQL {case.name}, {name}": case.median for case in cases}
        worst = max(worst, cases[0].median)
    result.figures["slowest search on PostgreSQL ms"] = worst
    head = [f"search in {size:,} prompts on PostgreSQL, ms", *calls, "samples"]
    note = "The first two are literal: `prompt-store` returns an exact total, lists of `satchel` do not."
    result.tables.append(Table("Search on PostgreSQL", head, rows, note))


def make_query(word: str, _: int) -> dict[str, Any]:
    """Return the arguments of a search."""
    return {"query": word}


def make_scan(connection: apsw.Connection, word: str) -> Callable[[int], float]:
    """Make a function that scans and returns the milliseconds."""
    return lambda _: time_ms(lambda: scan(connection, word))


def scan(connection: apsw.Connection, word: str) -> None:
    """Search as a server without an index does: a total and the first page."""
    match = "from prompts where title like :word or content like :word"
    values = {"word": f"%{word}%"}
    connection.execute(f"select count(*) {match}", values).fetchall()
    connection.execute(f"select id, title, content {match} order by created_at desc limit 20", values).fetchall()


def measure_peers(run: Run, result: Result) -> None:
    """Measure `list`, `get` and `add` of the peers, with as many items as they accept in the time."""
    field = gather(run, "growth-peers")
    seconds = run.amount(2, 8)
    rows = []
    lines: dict[str, dict[str, list[tuple[float, float]]]] = {"add": {}, "list": {}}
    for rival in [one for one in field.rivals if one.kind == "peer" or one.name == "satchel"]:
        try:
            driver = rival.drive()
            assert isinstance(driver.client, Client)
            run.stack.callback(driver.client.close)
            for size in PEER_SIZES if not run.is_quick else (10,):
                add_for(driver, size, seconds)
                taken = {verb: time_verb(run, rival.name, driver, verb) for verb in ("add", "list", "get")}
                reached = len(driver.ids)
                rows.append([rival.name, f"{reached:,}", *(taken[verb].summary for verb in ("add", "list", "get"))])
                for verb, kept in lines.items():
                    kept.setdefault(rival.name, []).append((float(reached), taken[verb].median))
        except (RuntimeError, OSError) as error:
            result.notes.append(f"{rival.name} failed: {str(error)[:200]}")
    head = ["rival", "items", "add, ms", "list, ms", "get, ms"]
    note = (
        f"Medians (quartiles) of 7 samples. Each was filled through its own tool for at most {seconds} seconds a step."
    )
    result.tables.append(Table("Growth of peers", head, rows, note))
    for verb, kept in lines.items():
        plot = Plot(f"growth-{verb}", f"{verb} as the store grows", "ms", lines=kept, across="items", is_log=True)
        result.plots.append(plot)


def add_for(driver: Driver, size: int, seconds: float) -> None:
    """Add items up to a number, for a limited time."""
    until = time.perf_counter() + seconds
    while len(driver.ids) < size and time.perf_counter() < until:
        driver.add()


def time_verb(run: Run, name: str, driver: Driver, verb: str) -> Case:
    """Measure a verb a few times."""
    case = Case(f"{len(driver.ids)} items, {verb}", lambda round: driver.do(verb, round + 1))
    run.interleave(name, [case], 7, budget=5)
    if not case.values:
        raise RuntimeError(case.failure)
    return case
