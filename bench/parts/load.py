"""Calls a second over HTTP: 1, 8 and 64 clients on one process and two, on SQLite and PostgreSQL, with and without
tokens and row-level security; beside the official SDK, fastmcp, the limit, and the Satchel of before."""

from functools import partial
from itertools import repeat
from pathlib import Path

from bench import drivers, installing, postgres, web
from bench.drivers import Driver
from bench.load import Load
from bench.measuring import Case, interleave, show
from bench.results import Plot, Result, Table
from bench.surroundings import Run
from bench.web import HttpClient, HttpServer, make_request, satchel_command, script_command

CLIENTS = (1, 8, 64)
GUARDED = ("--auth", "token", "--calls-per-minute", "0")


class Target:
    """A server that is asked for one prompt by many clients."""

    def __init__(self, name: str, server: HttpServer, token: str | None = None) -> None:
        self.name, self.server, self.token = name, server, token
        client = HttpClient(server.port, token)
        driver = Driver(client, server.vocabulary)
        driver.add()
        client.close()
        request = make_request("get_prompt", {"id": driver.ids[0]}, token)
        self.loads = {count: Load(server.port, server.process.pid, repeat(request)) for count in CLIENTS}

    def ask(self, count: int, seconds: float, _: int) -> float:
        """The calls in a second with so many clients."""
        return self.loads[count].run(count, seconds)


def measure(run: Run) -> Result:
    """All servers in rotation, for each number of clients."""
    result = Result("load")
    place = run.make_folder("load")
    targets = start_sqlite(run, place) + start_postgres(run, result)
    rounds, seconds = run.amount(1, 3), 0.3 if run.share < 0.1 else 1.0
    run.expect((rounds + 1) * len(CLIENTS))
    rates: dict[str, dict[int, float]] = {target.name: {} for target in targets}
    for count in CLIENTS:
        cases = [Case(target.name, partial(target.ask, count, seconds)) for target in targets]
        interleave(cases, rounds, step=run.step)
        for case in cases:
            if case.values:
                rates[case.name][count] = case.median
            else:
                result.notes.append(f"{case.name} with {count} clients failed: {case.failure}")
    tabulate(targets, rates, result)
    return result


def start_sqlite(run: Run, place: Path) -> list[Target]:
    """Satchel and its rivals on SQLite files."""
    commands = {
        "bare ASGI": script_command("asgi.py", place / "bare.db"),
        "official SDK": script_command("official.py", place / "sdk.db"),
        "official SDK, uvloop": script_command("official.py", place / "fast-sdk.db", "fast"),
        "fastmcp": script_command("fast.py", place / "fast.db"),
        "satchel": satchel_command(str(place / "one.db")),
        "satchel, 2 processes": satchel_command(str(place / "two.db"), "--workers", "2"),
    }
    return [start(run, name, command) for name, command in commands.items()]


def start_postgres(run: Run, result: Result) -> list[Target]:
    """Satchel of now and of before on PostgreSQL: as the owner, and with tokens and row-level security."""
    try:
        server = run.stack.enter_context(postgres.Server())
    except (RuntimeError, OSError) as error:
        result.notes.append(f"PostgreSQL was not measured: {str(error)[:200]}")
        return []
    _, role, token = server.make_guarded_store("guarded")
    targets = [
        start(run, "satchel, PostgreSQL", satchel_command(server.make_store("one"))),
        start(run, "satchel, PostgreSQL, 2 processes", satchel_command(server.make_store("two"), "--workers", "2")),
        start(run, "satchel, PostgreSQL, token and RLS", satchel_command(role, *GUARDED), token=token),
    ]
    try:
        source = installing.install_before()
    except installing.NotInstalled as error:
        result.notes.append(f"the Satchel of before ({installing.BASELINE}) could not be had: {error}")
        return targets
    older = server.make_store("older", source)
    _, older_role, older_token = server.make_guarded_store("older_guarded", source)
    plain, guarded = satchel_command(older), satchel_command(older_role, *GUARDED)
    name = "before, PostgreSQL"
    targets.append(start(run, name, plain, source=source))
    targets.append(start(run, f"{name}, token and RLS", guarded, token=older_token, source=source))
    return targets


def start(run: Run, name: str, command: list[str], *, token: str | None = None, source: Path | None = None) -> Target:
    """Start a server, and give it a prompt."""
    environment = web.http_environment("before" if source else "current", source)
    server = HttpServer(command, drivers.SAME_TOOLS, environment)
    run.stack.callback(server.close)
    return Target(name, server, token)


def tabulate(targets: list[Target], rates: dict[str, dict[int, float]], result: Result) -> None:
    """Calls a second, latencies and processor time; the goals compare eight clients."""
    rows = []
    for target in targets:
        load = target.loads[8]
        cells = [show(rates[target.name][count]) if count in rates[target.name] else "–" for count in CLIENTS]
        taken = sorted(load.taken) or [0.0]
        latency = [show(taken[int(share * (len(taken) - 1))] * 1000) for share in (0.5, 0.95, 0.99)]
        cost = show(load.cpu / load.calls * 1e6) if load.calls else "–"
        rows.append([target.name, *cells, " / ".join(latency), cost])
    head = ["get_prompt over HTTP", *(f"clients: {count}" for count in CLIENTS), "ms of 8 clients", "processor µs"]
    note = (
        "Calls a second. Milliseconds: median / 95 % / 99 % with eight clients, and the processor time of the server "
        "for one of these calls. The load generator shares the machine's cores with the server. "
        f"RLS is row-level security; before is the Satchel of commit {installing.BASELINE}."
    )
    result.tables.append(Table("HTTP", head, rows, note))
    points = {name: [(float(count), rate) for count, rate in found.items()] for name, found in rates.items() if found}
    plot = Plot("load", "Calls a second over HTTP", "calls/s", lines=points, across="clients", is_log=True)
    result.plots.append(plot)
    add_ratio(result, rates, "http/SDK", "satchel", "official SDK")
    add_ratio(result, rates, "postgres/before", "satchel, PostgreSQL", "before, PostgreSQL")
    both = "PostgreSQL, token and RLS"
    add_ratio(result, rates, "guarded postgres/before", f"satchel, {both}", f"before, {both}")


def add_ratio(result: Result, rates: dict[str, dict[int, float]], figure: str, one: str, other: str) -> None:
    """The ratio of two rates with eight clients, where both are known."""
    first, second = (rates.get(name, {}).get(8) for name in (one, other))
    if first and second:
        result.figures[figure] = first / second
