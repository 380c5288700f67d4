"""A quiet user of a server under each attack of tests/attacks: the times of its answers, and the server's memory."""

import multiprocessing
import multiprocessing.synchronize
import time

from tests.attacks.attackers import ATTACKS, Attack
from tests.attacks.floods import PeakMemory, QuietUser, Site, make_token, open_site

from bench.goals import GOALS
from bench.measuring import show
from bench.results import Result, Table
from bench.surroundings import Run

FIGURES = ("quiet median ms", "quiet worst ms", "attacked MB")  # of the worst attack

_processes = multiprocessing.get_context("spawn")  # attackers in this process would slow down the quiet user


def measure(run: Run) -> Result:
    """Run the attacks one after the other on one server with one process, on SQLite."""
    folder = run.make_folder("attacks")
    site = run.stack.enter_context(open_site(str(folder / "s.db"), folder))
    seconds = 0.2 if run.is_quick else run.amount(1, 10)
    run.expect(len(ATTACKS) + 1)
    rows, medians, worsts, peaks = [], [], [], []
    for name in ("no attack", *ATTACKS):
        quiet, peak = attack(site, name, seconds)
        run.samples[f"ms under {name}"] = [one * 1000 for one in quiet.seconds]
        medians.append(quiet.median * 1000)
        worsts.append(quiet.worst * 1000)
        peaks.append(peak.mb)
        rows.append([name, show(medians[-1]), show(worsts[-1]), f"{len(quiet.seconds)}", f"{peaks[-1]:.0f}"])
        run.step()
    bounds = {goal.figure: goal.bound for goal in GOALS}
    median, worst, memory = (f"≤ {bounds[figure]:,.0f}" for figure in FIGURES)
    rows.append(["goal", median, worst, "", memory])
    head = ["", "median ms", "worst ms", "answers", "server, MB"]
    note = (
        f"A user with a token adds tasks, lists them, and asks for /health on new connections, for {seconds} s of each "
        "attack. A request that got 503, or whose connection was closed, is sent again; its time runs from the first "
        "attempt. Attackers, quiet user and server share the cores. Memory is the peak of the largest process."
    )
    figures = dict(zip(FIGURES, map(max, (medians, worsts, peaks)), strict=True))
    return Result("attacks", tables=[Table("A quiet user under attack", head, rows, note)], figures=figures)


def attack(site: Site, name: str, seconds: float) -> tuple[QuietUser, PeakMemory]:
    """Run a quiet user beside an attack."""
    peak = PeakMemory(site.server.process.pid)
    quiet = QuietUser(site.server.port, make_token(site.store))
    if name not in ATTACKS:
        with quiet:
            time.sleep(seconds)
        return quiet, peak
    has_begun = _processes.Event()
    arguments = (has_begun, name, site.server.port, site.mallory.header, site.prompt, seconds)
    attackers = _processes.Process(target=run_attack, args=arguments)
    attackers.start()
    assert has_begun.wait(60), "the attackers did not start"
    with quiet:
        attackers.join()
    return quiet, peak


def run_attack(
    has_begun: multiprocessing.synchronize.Event,
    name: str,
    port: int,
    token: tuple[str, str],
    prompt: str,
    seconds: float,
) -> None:
    """Attack in a process of its own."""
    has_begun.set()
    ATTACKS[name](Attack(port, token, prompt, seconds))
