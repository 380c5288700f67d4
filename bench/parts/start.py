"""How long a client waits for the answer to `initialize`: Satchel, the bare loop and all peers."""

from collections.abc import Callable

from bench.measuring import Case, show
from bench.results import Plot, Result, Table
from bench.rivals import Rival, gather
from bench.surroundings import Run


def measure(run: Run) -> Result:
    """Start every rival repeatedly; the first start finds neither bytecode nor a store."""
    field = gather(run, "start", is_first=True)
    rounds = run.amount(2, 15)
    run.expect(rounds + 1)
    cases = [Case(rival.name, make_start(rival)) for rival in field.rivals]
    run.interleave("start", cases, rounds, budget=run.amount(6, 20))
    return report(cases, {rival.name: rival.kind for rival in field.rivals}, field.missing)


def make_start(rival: Rival) -> Callable[[int], float]:
    """Make a function that starts a rival once and returns the milliseconds."""

    def start(_: int) -> float:
        client = rival.start()
        client.close()
        return client.start_ms

    return start


def report(cases: list[Case], kinds: dict[str, str], missing: dict[str, str]) -> Result:
    """Make the table, the plot and the figures."""
    done = [case for case in cases if case.values]
    bare = next(case for case in done if kinds[case.name] == "limit").median
    rows = [
        [
            case.name,
            show(case.median),
            case.spread,
            f"{len(case.values)}",
            f"{case.median / bare:.2f}",
            show(case.first or 0),
        ]
        for case in sorted(done, key=lambda case: case.median)
    ]
    rows += [[case.name, "–", "–", "–", "–", "–"] for case in cases if not case.values]
    rows += [[name, "–", "–", "–", "–", "–"] for name in missing]
    peers = [case.median for case in done if kinds[case.name] == "peer"]
    ours = next(case for case in done if case.name == "satchel")
    figures = {"start/bare": ours.median / bare, "start ms": ours.median}
    if peers:
        figures["start/fastest peer"] = ours.median / min(peers)
    head = ["start to `initialize`", "ms", "quartiles", "samples", "× bare loop", "first start, ms"]
    plot = Plot(
        "start", "From a process to its first answer", "ms", {case.name: case.median for case in done}, is_log=True
    )
    notes = [f"{case.name} did not start: {case.failure}" for case in cases if case.failure]
    notes += [f"{name} could not be installed: {why}" for name, why in missing.items()]
    note = "The first start has neither compiled bytecode nor a store."
    return Result("start", tables=[Table("Start", head, rows, note)], plots=[plot], figures=figures, notes=notes)
