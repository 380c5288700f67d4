"""How long upkeep takes: backup, restore, dump, load, and the longest step of pruning."""

import time
from pathlib import Path

import apsw

from bench import stores
from bench.measuring import show, time_ms
from bench.results import Result, Table
from bench.surroundings import Run
from satchel.model import Retention
from satchel.services import history
from satchel.storage.backup import backup, restore
from satchel.storage.database import open_database
from satchel.storage.dump import Dump, dump, load

OLD = "2020-01-01T00:00:00.000000Z"


def measure(run: Run) -> Result:
    """Measure each once, because these take seconds."""
    count = run.amount(50, 10_000)
    run.expect(5)
    place = run.make_folder("upkeep")
    store = str(place / "store.db")
    database = stores.open_new(store)
    stores.grow(database, 0, count)
    database.close()
    steps = {
        "backup": lambda: backup(store, str(place / "backup.db")),
        "restore": lambda: restore(str(place / "restored.db"), str(place / "backup.db")),
        "dump": lambda: write_dump(store, place / "dump.jsonl"),
        "load": lambda: read_dump(str(place / "loaded.db"), place / "dump.jsonl"),
    }
    rows = []
    for name, act in steps.items():
        rows.append([f"{name} of {count:,} prompts and tasks", f"{show(time_ms(act) / 1000)} s"])
        run.step()
    many = count * 5
    taken, removed = prune(str(place / "old.db"), many)
    rows.append([f"longest of {len(taken):,} steps that pruned {removed:,} rows", f"{show(max(taken) * 1000)} ms"])
    run.step()
    return Result("upkeep", tables=[Table("Upkeep on SQLite", ["what", "took"], rows, "One sample each.")])


def write_dump(store: str, file: Path) -> None:
    """Dump a store to a file."""
    with open(file, "wb") as opened:
        dump(store, opened.write)


def read_dump(store: str, file: Path) -> None:
    """Load a dump from a file."""
    with open(file, "rb") as opened:
        load(store, Dump(opened))


def prune(path: str, many: int) -> tuple[list[float], int]:
    """Fill the history of a new store with old revisions, and time every step that removes some of them."""
    stores.open_new(path).close()
    connection = apsw.Connection(path)
    connection.execute(
        """
        begin;
        with recursive n(i) as (select 0 union all select i + 1 from n where i < :many)
        insert into revisions (kind, item, version, action, at, project)
        select 'prompt', i % 100 + 1, i / 100 + 1, 'update', :old, 1 from n;
        insert into revision_states (revision, state) select number, randomblob(150) from revisions;
        commit
        """,
        {"many": many, "old": OLD},
    )
    connection.close()
    database = open_database(path)
    database.retention = Retention(history_days=1)
    steps: list[float] = []
    started = time.perf_counter()

    def note() -> None:
        nonlocal started
        steps.append(time.perf_counter() - started)
        started = time.perf_counter()

    removed = history.prune(database, pause=note)
    database.close()
    return steps, removed
