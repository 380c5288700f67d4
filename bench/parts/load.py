"""Calls a second over HTTP with 1, 8 and 64 clients: Satchel on SQLite and PostgreSQL, the official SDK and fastmcp."""

from functools import partial
from itertools import repeat
from pathlib import Path

from bench import drivers, postgres, web
from bench.drivers import Driver
from bench.load import Load
from bench.measuring import Case, quantile, show, show_tail
from bench.results import Plot, Result, Table
from bench.surroundings import Run
from bench.web import HttpClient, HttpServer, make_request, satchel_command, script_command

CLIENTS = (1, 8, 64)
GUARDED = ("--auth", "token", "--calls-per-minute", "0")


class Target:
    """A server from which many clients get one prompt."""

    def __init__(self, name: str, server: HttpServer, token: str | None = None) -> None:
        self.name, self.server, self.token = name, server, token
        client = HttpClient(server.port, token)
        driver = Driver(client, server.vocabulary)
        driver.add()
        client.close()
        request = make_request("get_prompt", {"id": driver.ids[0]}, token)
        self.loads = {count: Load(server.port, server.process.pid, repeat(request)) for count in CLIENTS}

    def ask(self, count: int, seconds: float, _: int) -> float:
        """Return the calls a second with a number of clients."""
        return self.loads[count].run(count, seconds)


def measure(run: Run) -> Result:
    """Measure all servers in rotation, for each number of clients."""
    result = Result("load")
    place = run.make_folder("load")
    targets = start_sqlite(run, place) + start_postgres(run, result)
    rounds, seconds = run.amount(1, 3), 0.3 if run.share < 0.1 else 1.0
    run.expect((rounds + 1) * len(CLIENTS))
    rates: dict[str, dict[int, Case]] = {target.name: {} for target in targets}
    for count in CLIENTS:
        cases = [Case(target.name, partial(target.ask, count, seconds)) for target in targets]
        run.interleave(f"calls a second, {count} clients", cases, rounds)
        for case in cases:
            if case.values:
                rates[case.name][count] = case
            else:
                result.notes.append(f"{case.name} with {count} clients failed: {case.failure}")
    tabulate(targets, rates, result)
    return result


def start_sqlite(run: Run, place: Path) -> list[Target]:
    """Start Satchel and its rivals on SQLite files."""
    commands = {
        "bare ASGI": script_command("asgi.py", place / "bare.db"),
        "official SDK": script_command("official.py", place / "sdk.db"),
        "official SDK, uvloop": script_command("official.py", place / "fast-sdk.db", "fast"),
        "fastmcp": script_command("fast.py", place / "fast.db"),
        "satchel, prompt-store": satchel_command(str(place / "one.db")),
        "satchel, prompt-store, 2 processes": satchel_command(str(place / "two.db"), "--workers", "2"),
    }
    return [start(run, name, command) for name, command in commands.items()]


def start_postgres(run: Run, result: Result) -> list[Target]:
    """Start Satchel on PostgreSQL: as the owner, and with tokens and row-level security."""
    try:
        server = run.stack.enter_context(postgres.Server())
    except (RuntimeError, OSError) as error:
        result.notes.append(f"PostgreSQL was not measured: {str(error)[:200]}")
        return []
    _, role, token = server.make_guarded_store("guarded")
    return [
        start(run, "satchel, prompt-store, PostgreSQL", satchel_command(server.make_store("one"))),
        start(
            run,
            "satchel, prompt-store, PostgreSQL, 2 processes",
            satchel_command(server.make_store("two"), "--workers", "2"),
        ),
        start(run, "satchel, prompt-store, PostgreSQL, token and RLS", satchel_command(role, *GUARDED), token),
    ]


def start(run: Run, name: str, command: list[str], token: str | None = None) -> Target:
    """Start a server, and add a prompt."""
    server = HttpServer(command, drivers.SAME_TOOLS, web.http_environment())
    run.stack.callback(server.close)
    return Target(name, server, token)


def tabulate(targets: list[Target], rates: dict[str, dict[int, Case]], result: Result) -> None:
    """Make the table of calls a second, latencies and processor time; the goal compares eight clients."""
    rows = []
    for target in targets:
        load = target.loads[8]
        known = rates[target.name]
        cells = [known[count].summary if count in known else "–" for count in CLIENTS]
        taken = [seconds * 1000 for seconds in load.taken] or [0.0]
        latency = [show(quantile(taken, 0.5)), show_tail(taken, 0.95), show_tail(taken, 0.99)]
        cost = show(load.cpu / load.calls * 1e6) if load.calls else "–"
        rows.append([target.name, *cells, " / ".join(latency), f"{len(load.taken):,}", cost])
    head = [
        "get_prompt over HTTP",
        *(f"clients: {count}" for count in CLIENTS),
        "ms of 8 clients",
        "calls timed",
        "processor µs",
    ]
    note = (
        "Calls a second: median (quartiles) of the rounds. Milliseconds: median / 95 % / 99 % with eight clients, and "
        "the processor time of the server for one of these calls. The load generator shares the machine's cores with "
        "the server. RLS is row-level security."
    )
    result.tables.append(Table("HTTP", head, rows, note))
    points = {
        name: [(float(count), case.median) for count, case in found.items()] for name, found in rates.items() if found
    }
    plot = Plot("load", "Calls a second over HTTP", "calls/s", lines=points, across="clients", is_log=True)
    result.plots.append(plot)
    ours, sdk = (rates.get(name, {}).get(8) for name in ("satchel, prompt-store", "official SDK"))
    if ours and sdk:
        result.figures["http/SDK"] = ours.median / sdk.median
