"""What each call costs with some dozens of items: all rivals over stdio, Satchel and the libraries also over HTTP."""

from collections.abc import Callable

from bench.drivers import VERBS, Driver
from bench.measuring import Case, count_samples
from bench.results import Plot, Result, Table
from bench.rivals import PEERS, gather
from bench.stdio import Client
from bench.surroundings import Run
from bench.web import HttpClient, gather_http

ITEMS = 50  # in a store before a call counts
PEER_NAMES = tuple(PEERS)


def measure(run: Run) -> Result:
    """Measure one verb after the other, each for all rivals in rotation."""
    rounds = run.amount(5, 60)
    field = gather(run, "calls")
    run.expect((rounds + 1) * len(VERBS) * 2)
    notes = [f"{name} could not be installed: {why}" for name, why in field.missing.items()]
    result = Result("calls", notes=notes)
    drivers: dict[str, Driver] = {}
    for rival in field.rivals:
        try:
            driver = rival.drive()
            assert isinstance(driver.client, Client)
            run.stack.callback(driver.client.close)
            fill(driver, run.amount(6, ITEMS))
            drivers[rival.name] = driver
        except (RuntimeError, OSError) as error:
            notes.append(f"{rival.name} failed: {str(error)[:200]}")
    result.tables.append(tabulate("Calls over stdio", drivers, measure_verbs("stdio", drivers, rounds, run), result))
    web: dict[str, Driver] = {}
    for name, server in gather_http(run, "calls-http").items():
        client = HttpClient(server.port)
        run.stack.callback(client.close)
        web[name] = Driver(client, server.vocabulary)
        web[name].prepare()
        fill(web[name], run.amount(6, ITEMS))
    result.tables.append(tabulate("Calls over HTTP", web, measure_verbs("HTTP", web, rounds, run), result))
    return result


def fill(driver: Driver, count: int) -> None:
    """Save the template and add the first items."""
    driver.save_template()
    for _ in range(count):
        driver.add()


def measure_verbs(kind: str, drivers: dict[str, Driver], rounds: int, run: Run) -> dict[str, list[Case]]:
    """Measure the milliseconds of each verb for each driver."""
    measured = {}
    for verb in VERBS:
        cases = [Case(name, make_call(driver, verb)) for name, driver in drivers.items() if driver.can(verb)]
        run.interleave(f"{verb} over {kind}", cases, rounds, budget=run.amount(2, 6))
        measured[verb] = cases
    return measured


def make_call(driver: Driver, verb: str) -> Callable[[int], float]:
    """Make a call with another item in each round, last one first: one rival renumbers items after a completed one."""
    return lambda round: driver.do(verb, max(1, len(driver.ids) - round))


def tabulate(title: str, drivers: dict[str, Driver], measured: dict[str, list[Case]], result: Result) -> Table:
    """Make the table of every verb, plots of `add` and `get`, and the figures of `add`."""
    cells = {(verb, case.name): case for verb, cases in measured.items() for case in cases}

    def show_case(verb: str, name: str) -> str:
        case = cells.get((verb, name))
        return case.summary if case is not None and case.values else "–"

    rows = []
    for name in drivers:
        samples = count_samples(case for (_, rival), case in cells.items() if rival == name)
        rows.append([name, *(show_case(verb, name) for verb in VERBS), samples])
    result.notes += [f"{title}: {case.name} failed: {case.failure}" for case in cells.values() if case.failure]
    kind = title.rpartition(" ")[2].lower()
    for verb in ("add", "get"):
        bars = {case.name: case.median for case in measured[verb] if case.values}
        result.plots.append(Plot(f"{verb}-{kind}", f"{verb} over {kind}, median", "ms", bars, is_log=True))
    if kind == "stdio":
        slow = [case.median for case in measured["add"] if case.values and case.name in PEER_NAMES]
        result.figures["add ms"] = cells["add", "satchel"].median
        if slow:
            result.figures["add/fastest peer"] = cells["add", "satchel"].median / min(slow)
    note = (
        "Milliseconds: median (quartiles). `get` reads one item by its id and returns all of it. Samples of each call; "
        "slow rivals stop early. A dash: the rival has no such tool, or needs a language model for it."
    )
    return Table(title, ["rival", *VERBS, "samples"], rows, note)
