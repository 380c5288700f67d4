"""Memory of each rival after its start and after thousands of calls, and what a get costs the processor."""

import time

from bench.drivers import Driver
from bench.measuring import show
from bench.results import Plot, Result, Table
from bench.rivals import gather
from bench.stdio import Client, read_cpu, read_memory
from bench.surroundings import Run

ITEMS = 50
CHUNK = 100  # calls of a rival before it is the next one's turn


class Weighed:
    """A rival that runs, and what was measured of it."""

    def __init__(self, name: str, kind: str, driver: Driver, client: Client) -> None:
        self.name, self.kind, self.driver, self.client = name, kind, driver, client
        self.at_start = read_memory(client.process.pid)
        self.calls = 0
        self.spent = self.cpu = 0.0

    def work(self, seconds: float, most: int) -> bool:
        """Get items for a while, unless that has been enough; whether there is more to do."""
        if self.calls >= most or self.spent >= seconds:
            return False
        started, before = time.perf_counter(), read_cpu(self.client.process.pid)
        for number in range(min(CHUNK, most - self.calls)):
            self.driver.do("get", number % ITEMS + 1)
            self.calls += 1
            if time.perf_counter() - started > seconds / 4:
                break
        self.spent += time.perf_counter() - started
        self.cpu += read_cpu(self.client.process.pid) - before
        return True


def measure(run: Run) -> Result:
    """Weigh all rivals, then let them answer in turns until each has had its calls or its time."""
    field = gather(run, "memory")
    calls, seconds = run.amount(200, 10_000), run.amount(2, 12)
    run.expect(calls // CHUNK)
    weighed, notes = [], [f"{name} could not be had: {why}" for name, why in field.missing.items()]
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
    return report(weighed, notes)


def report(weighed: list[Weighed], notes: list[str]) -> Result:
    """The table, the plots and the figures."""
    most = max(one.calls for one in weighed)
    after = {one.name: read_memory(one.client.process.pid) for one in weighed}
    cost = {one.name: one.cpu / one.calls * 1e6 for one in weighed}
    rows = [
        [
            one.name,
            show(one.at_start),
            show(after[one.name]),
            f"{after[one.name] / after['bare loop']:.2f}",
            f"{one.calls:,}",
            show(cost[one.name]),
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
    head = ["rival", "MB after start", "MB after calls", "× bare", "calls", "processor µs of a get", "× bare"]
    note = (
        "Resident memory of the server and its children. A rival that exceeds the time budget stops before "
        f"{most:,} calls. Processor time includes child processes."
    )
    plots = [
        Plot("memory", f"Memory after {most:,} calls", "MB", after),
        Plot("processor", "Processor time of a get over stdio", "µs", cost, is_log=True),
    ]
    return Result("memory", tables=[Table("Memory", head, rows, note)], plots=plots, figures=figures, notes=notes)
