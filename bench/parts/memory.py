"""Memory of each rival after its start and after thousands of calls, and the processor time of a get."""

import time

from bench.drivers import Driver
from bench.measuring import Case, show
from bench.results import Plot, Result, Table
from bench.rivals import gather
from bench.stdio import Client, read_cpu, read_memory
from bench.surroundings import Run

ITEMS = 50
CHUNK = 100  # calls of a rival in one turn


class Weighed:
    """A running rival, and its measurements."""

    def __init__(self, name: str, kind: str, driver: Driver, client: Client) -> None:
        self.name, self.kind, self.driver, self.client = name, kind, driver, client
        self.at_start = read_memory(client.process.pid)
        self.calls = 0
        self.spent = 0.0
        self.cost = Case(name, lambda _: 0.0)  # processor µs of a get, a sample for each chunk

    def work(self, seconds: float, most: int) -> bool:
        """Get items for a while; return False if the calls or the time are used up."""
        if self.calls >= most or self.spent >= seconds:
            return False
        started, before, calls = time.perf_counter(), read_cpu(self.client.process.pid), self.calls
        for number in range(min(CHUNK, most - self.calls)):
            self.driver.do("get", number % ITEMS + 1)
            self.calls += 1
            if time.perf_counter() - started > seconds / 4:
                break
        self.spent += time.perf_counter() - started
        self.cost.values.append((read_cpu(self.client.process.pid) - before) / (self.calls - calls) * 1e6)
        return True


def measure(run: Run) -> Result:
    """Weigh all rivals; then call them in turns until each has used up its calls or its time."""
    field = gather(run, "memory")
    calls, seconds = run.amount(200, 10_000), run.amount(2, 12)
    run.expect(calls // CHUNK)
    weighed, notes = [], [f"{name} could not be installed: {why}" for name, why in field.missing.items()]
    for rival in field.rivals:
        try:
            driver = rival.drive()
            client = driver.client
            assert isinstance(client, Client)
            run.stack.callback(client.close)
            weighed.append(Weighed(rival.name, rival.kind, driver, client))
            for _ in range(ITEMS):
                driver.add()
        except (RuntimeError, OSError) as error:
            notes.append(f"{rival.name} failed: {str(error)[:200]}")
            weighed = [one for one in weighed if one.name != rival.name]
    working = list(weighed)
    while working:
        for one in list(working):
            try:
                if not one.work(seconds, calls):
                    working.remove(one)
            except (RuntimeError, OSError) as error:
                notes.append(f"{one.name} failed: {str(error)[:200]}")
                working.remove(one)
                weighed.remove(one)
        run.step()
    run.samples |= {one.name: one.cost.values for one in weighed}
    return report(weighed, notes)


def report(weighed: list[Weighed], notes: list[str]) -> Result:
    """Make the table, the plots and the figures."""
    most = max(one.calls for one in weighed)
    after = {one.name: read_memory(one.client.process.pid) for one in weighed}
    cost = {one.name: one.cost.median for one in weighed}
    rows = [
        [
            one.name,
            show(one.at_start),
            show(after[one.name]),
            f"{after[one.name] / after['bare loop']:.2f}",
            f"{one.calls:,}",
            one.cost.summary,
            f"{len(one.cost.values)}",
            f"{cost[one.name] / cost['bare loop']:.1f}",
        ]
        for one in sorted(weighed, key=lambda one: after[one.name])
    ]
    peers = [one.name for one in weighed if one.kind == "peer"]
    figures = {
        "memory/bare": after["satchel"] / after["bare loop"],
        "get cpu/bare": cost["satchel, prompt-store"] / cost["bare loop"],
        "get cpu SDK/satchel": cost["official SDK"] / cost["satchel, prompt-store"],
    }
    if peers:
        figures["memory/leanest peer"] = after["satchel"] / min(after[name] for name in peers)
    head = [
        "rival",
        "MB after start",
        "MB after calls",
        "× bare",
        "calls",
        "processor µs of a get",
        "samples",
        "× bare",
    ]
    note = (
        "Resident memory of the server and its children. A rival that exceeds the time budget stops before "
        f"{most:,} calls. Processor time includes child processes: median (quartiles) of the means of {CHUNK} calls. "
        "A `get` reads one item by its id and returns all of it."
    )
    plots = [
        Plot("memory", f"Memory after {most:,} calls", "MB", after),
        Plot("processor", "Processor time of a get over stdio", "µs", cost, is_log=True),
    ]
    return Result("memory", tables=[Table("Memory", head, rows, note)], plots=plots, figures=figures, notes=notes)
