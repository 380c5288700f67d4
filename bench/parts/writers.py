"""Concurrent writers of one store, each with its own server process, and the writes that are lost."""

import threading
import time
from collections.abc import Callable

from bench.drivers import Driver
from bench.measuring import show
from bench.results import Result, Table
from bench.rivals import Rival, gather
from bench.stdio import Client
from bench.surroundings import Run

WRITERS = 4


def measure(run: Run) -> Result:
    """Measure all rivals whose items can be counted, one after the other, because each needs the whole machine."""
    field = gather(run, "writers")
    rivals = [rival for rival in field.rivals if rival.count is not None]
    run.expect(len(rivals))
    most, seconds = run.amount(5, 100), run.amount(10, 20)
    rows, figures = [], {}
    notes = [f"{name} could not be installed: {why}" for name, why in field.missing.items()]
    for rival in rivals:
        assert rival.count is not None
        try:
            acknowledged, taken = write(rival, most, seconds)
            kept = read_count(rival.count)
        except (RuntimeError, OSError) as error:
            notes.append(f"{rival.name} failed: {str(error)[:200]}")
            continue
        finally:
            run.step()
        lost = "all: its file is broken" if kept is None else str(max(0, acknowledged - kept))
        rows.append(
            [rival.name, str(acknowledged), "–" if kept is None else str(kept), lost, show(acknowledged / taken)]
        )
        if rival.name == "satchel":
            figures["lost writes"] = float(acknowledged - (kept or 0))
    head = ["rival", "acknowledged", "in the store", "lost", "writes a second"]
    note = (
        f"{WRITERS} clients with a server process each add items to one store, up to {most} each or {seconds} seconds. "
        "One run."
    )
    return Result("writers", tables=[Table("Concurrent writers", head, rows, note)], figures=figures, notes=notes)


def write(rival: Rival, most: int, seconds: float) -> tuple[int, float]:
    """Add items with all writers; return the acknowledged ones and the seconds that they took."""
    first = rival.drive()
    drivers = [first, *(Driver(rival.start(), rival.vocabulary) for _ in range(WRITERS - 1))]
    counts = [0] * WRITERS
    began = time.perf_counter()

    def work(place: int) -> None:
        driver = drivers[place]
        driver.ids = [""] * (place * most)  # so that each writes items of its own
        while counts[place] < most and time.perf_counter() - began < seconds:
            try:
                driver.add()
            except (RuntimeError, OSError, KeyError, IndexError):
                if _has_ended(driver):
                    return
                continue  # refused, and so not acknowledged
            counts[place] += 1

    threads = [threading.Thread(target=work, args=[place]) for place in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    taken = time.perf_counter() - began
    for driver in drivers:
        assert isinstance(driver.client, Client)
        driver.client.close()
    return sum(counts), taken


def read_count(count: Callable[[], int]) -> int | None:
    """Count the items of a store; return None if it can no longer be read."""
    try:
        return count()
    except (OSError, ValueError, KeyError):
        return None


def _has_ended(driver: Driver) -> bool:
    assert isinstance(driver.client, Client)
    return driver.client.process.poll() is not None
