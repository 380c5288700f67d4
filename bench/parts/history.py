"""What history costs: a write with it beside one without, what the store grows by, and calls beside an older Satchel.

The same services write into two stores in turn; for one of them, what records changes does nothing.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import apsw
import msgspec
import psycopg

import postgres
from client import HERE, median, quantile, table
from satchel.model import Prompt, PromptDraft, PromptPatch, PromptQuery, Scope, TaskDraft, TaskPatch, TaskQuery
from satchel.services import projects, prompts, tasks
from satchel.storage.database import Database, Tx, open_database

USER = "550e8400-e29b-41d4-a716-446655440000"
SCOPE = Scope(user=USER)
RATIO_GOAL = 1.35  # of a write with history to one without, at the median
GROWTH_GOAL = 0.1  # of a text, for an edit of one sentence
READ_GOAL = 1.1  # of a read to the same in the version before
SIZES = {"2.5 KB": 2500, "12 KB": 12_000, "63 KB": 63_000}
FILLING = 500  # prompts, and tasks, that are there already


@dataclass
class Case:
    """One kind of write, and the milliseconds of each, with history and without."""

    name: str
    prepare: Callable[["Store"], Callable[[Tx], object]]  # what is timed is the transaction, and not making its text
    times: dict[bool, list[float]] = field(default_factory=lambda: {True: [], False: []})


@dataclass
class Store:
    """An open store, and what the cases work on in it."""

    database: Database
    has_history: bool
    dice: random.Random = field(default_factory=lambda: random.Random(5))
    known: dict[str, list[Prompt]] = field(default_factory=dict)  # by size
    numbers: list[int] = field(default_factory=list)  # of tasks


def main() -> int:
    """Measure, print, and with --check judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=150, help="calls of each case that count")
    parser.add_argument("--edits", type=int, default=500, help="of each text whose growth is measured")
    parser.add_argument("--postgres", action="store_true", help="on a PostgreSQL server started for the run")
    parser.add_argument("--before", type=Path, help="a checkout of an older Satchel, to compare calls with")
    parser.add_argument("--calls", help=argparse.SUPPRESS)  # the address of a store: a child of --before
    parser.add_argument("--check", action="store_true", help="exit 1 when a goal is missed")
    options = parser.parse_args()
    if options.calls:
        print(msgspec.json.encode(time_calls(options.calls, options.rounds)).decode())
        return 0
    missed: list[str] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="satchel-bench-")))
        server = stack.enter_context(postgres.temporary_server()) if options.postgres else None
        missed += compare_writes(folder, server, options.rounds)
        missed += measure_growth(folder, server, options.edits)
        if options.before:
            missed += compare_versions(folder, server, options.before, options.rounds)
    print(f"missed: {'; '.join(missed)}" if missed else "all goals met")
    return 1 if options.check and missed else 0


# -- writes with history and without ----------------------------------------------------------------------------------


def compare_writes(folder: Path, server: str | None, rounds: int) -> list[str]:
    """Each write in both stores, in turn; prints a table, and returns the goals that were missed."""
    stores = [open_store(address_of(folder, server, f"writes{number}"), bool(number)) for number in (0, 1)]
    cases = [Case(name, prepare) for name, prepare in WRITES.items()]
    for store in stores:
        with recording(store.has_history):
            fill(store)
    for round in range(rounds + 10):
        for case in cases:
            for store in stores if round % 2 else reversed(stores):
                act = case.prepare(store)
                with recording(store.has_history):
                    started = time.perf_counter()
                    with store.database.write(SCOPE) as tx:
                        act(tx)
                    taken = (time.perf_counter() - started) * 1000
                if round >= 10:
                    case.times[store.has_history].append(taken)
    for store in stores:
        store.database.close()
    rows, missed = [], []
    for case in cases:
        with_, without = case.times[True], case.times[False]
        ratio = median(with_) / median(without)
        shown = (f"{median(without):.2f}", f"{median(with_):.2f}", f"{quantile(with_, 0.95):.2f}", f"{ratio:.2f}")
        rows.append((case.name, *shown, f"{RATIO_GOAL}"))
        if ratio > RATIO_GOAL:
            missed.append(f"{case.name} {ratio:.2f} ×")
    print(table(("write", "without ms", "with ms", "p95", "ratio", "goal"), rows))
    return missed


@contextmanager
def recording(has_history: bool) -> Iterator[None]:
    """With history, or with nothing in the place of what records changes."""
    if has_history:
        yield
        return
    modules = (prompts, projects, tasks)
    names = ("record_add", "record_update", "record_delete")
    kept = {(module, name): getattr(module, name) for module in modules for name in names}
    for module, name in kept:
        setattr(module, name, lambda *_: None)
    try:
        yield
    finally:
        for (module, name), function in kept.items():
            setattr(module, name, function)


def address_of(folder: Path, server: str | None, name: str) -> str:
    """The address of a new store."""
    if server is None:
        return str(folder / f"{name}.db")
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"create database {name}")
    return server.replace("/postgres?", f"/{name}?")


def open_store(address: str, has_history: bool) -> Store:
    """A new store with the default project."""
    database = open_database(address)
    with recording(has_history):
        projects.require(database, SCOPE)
    return Store(database, has_history)


def fill(store: Store) -> None:
    """Put some prompts of each size and some tasks into a store."""
    with store.database.write(SCOPE) as tx:
        for _ in range(FILLING):
            for prepare in (add_task, WRITES["add a prompt of 2.5 KB"], WRITES["add a prompt of 12 KB"]):
                prepare(store)(tx)


def run(store: Store, act: Callable[[Tx], object]) -> None:
    """Do something in a transaction."""
    with store.database.write(SCOPE) as tx:
        act(tx)


def make_text(dice: random.Random, length: int) -> str:
    """Sentences of words, as long as that."""
    words = ["".join(dice.choices("etaoinshrdlu", k=dice.randrange(2, 10))) for _ in range(400)]
    text = ""
    while len(text) < length:
        text += " ".join(dice.choices(words, k=dice.randrange(6, 18))).capitalize() + ". "
    return text[:length]


def edit_sentence(dice: random.Random, text: str) -> str:
    """A text with another sentence in the place of one."""
    sentences = text.split(". ")
    sentences[dice.randrange(len(sentences))] = make_text(dice, 80).strip(". ")
    return ". ".join(sentences)


def add(store: Store, size: str) -> Callable[[Tx], object]:
    title = f"{size} {store.dice.random()}"
    draft = PromptDraft(title=title, content=make_text(store.dice, SIZES[size]), tags=["a", "b"])
    known = store.known.setdefault(size, [])
    return lambda tx: known.append(prompts.add(tx, SCOPE, draft))


def edit(store: Store, size: str) -> Callable[[Tx], object]:
    known = store.known[size]
    place = store.dice.randrange(len(known))
    patch = PromptPatch(content=edit_sentence(store.dice, known[place].content))

    def act(tx: Tx) -> None:
        known[place] = prompts.update(tx, SCOPE, known[place].id, patch)

    return act


def delete(store: Store, size: str) -> Callable[[Tx], object]:
    id = store.known[size].pop(0).id
    return lambda tx: prompts.delete(tx, SCOPE, id)


def add_task(store: Store) -> Callable[[Tx], object]:
    draft = TaskDraft(title=f"Task {store.dice.random()}", description="What it is about. " * 5, tags=["a"])
    return lambda tx: store.numbers.append(tasks.add(tx, SCOPE, draft).number)


def update_task(store: Store) -> Callable[[Tx], object]:
    number = store.dice.choice(store.numbers)
    patch = TaskPatch(description=f"What it is about now, {store.dice.random()}. " * 3)
    return lambda tx: tasks.update(tx, SCOPE, number, patch)


def complete_task(store: Store) -> Callable[[Tx], object]:
    number = store.numbers.pop(0)
    return lambda tx: tasks.complete(tx, SCOPE, number)


def delete_task(store: Store) -> Callable[[Tx], object]:
    number = store.numbers.pop(0)
    return lambda tx: tasks.delete(tx, SCOPE, number)


WRITES: dict[str, Callable[[Store], Callable[[Tx], object]]] = {
    "add a prompt of 2.5 KB": lambda store: add(store, "2.5 KB"),
    "add a prompt of 12 KB": lambda store: add(store, "12 KB"),
    "edit a prompt of 2.5 KB": lambda store: edit(store, "2.5 KB"),
    "edit a prompt of 12 KB": lambda store: edit(store, "12 KB"),
    "delete a prompt of 2.5 KB": lambda store: delete(store, "2.5 KB"),
    "add a task": add_task,
    "update a task": update_task,
    "complete a task": complete_task,
    "delete a task": delete_task,
}


# -- growth -----------------------------------------------------------------------------------------------------------


def measure_growth(folder: Path, server: str | None, edits: int) -> list[str]:
    """Edit one sentence of a text again and again, with history and without; prints by how much the store grew."""
    rows, missed = [], []
    for size, length in SIZES.items():
        grown = []
        for has_history in (False, True):
            name = f"growth{length}{'with' if has_history else 'without'}"
            address = address_of(folder, server, name)
            store = open_store(address, has_history)
            with recording(has_history):
                run(store, add(store, size))
                before = stored_bytes(address)
                for _ in range(edits):
                    run(store, edit(store, size))
                grown.append(stored_bytes(address) - before)
            store.database.close()
        share = (grown[1] - grown[0]) / edits / length
        rows.append((size, *(f"{one / edits:.0f}" for one in grown), f"{share:.3f}", f"{GROWTH_GOAL}"))
        if share > GROWTH_GOAL:
            missed.append(f"growth of {size} {share:.3f}")
    print(table(("edited text", "without, bytes an edit", "with", "share of the text", "goal"), rows))
    return missed


def stored_bytes(address: str) -> int:
    """How many bytes a store has on the disk, after its log was moved into it and what is dead was removed."""
    if not address.startswith("postgresql"):
        connection = apsw.Connection(address)
        connection.execute("pragma wal_checkpoint(truncate)")
        connection.close()
        return os.path.getsize(address)
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("vacuum full")
        return int(connection.execute("select pg_database_size(current_database())").fetchall()[0][0])


# -- beside an older Satchel ------------------------------------------------------------------------------------------


def compare_versions(folder: Path, server: str | None, before: Path, rounds: int) -> list[str]:
    """The same calls by this Satchel and by an older one, each in a process of its own, in turn."""
    found: dict[bool, dict[str, list[float]]] = {True: {}, False: {}}
    for number in range(6):
        is_ours = bool(number % 2)
        source = HERE.parent / "src" if is_ours else before / "src"
        address = address_of(folder, server, f"calls{number}")
        command = [sys.executable, str(HERE / "history.py"), "--calls", address, "--rounds", str(rounds)]
        environment = {**os.environ, "PYTHONPATH": str(source)}
        done = subprocess.run(command, check=True, capture_output=True, env=environment)
        for name, times in msgspec.json.decode(done.stdout).items():
            found[is_ours].setdefault(name, []).extend(times)
    rows, missed = [], []
    for name, times in found[False].items():
        ratio = median(found[True][name]) / median(times)
        rows.append((name, f"{median(times):.3f}", f"{median(found[True][name]):.3f}", f"{ratio:.2f}"))
        if name.startswith(("get", "list", "search")) and ratio > READ_GOAL:
            missed.append(f"{name} {ratio:.2f} × the version before")
    print(table(("call", "before ms", "now ms", "ratio"), rows))
    return missed


def time_calls(address: str, rounds: int) -> dict[str, list[float]]:
    """The milliseconds of reads, lists and writes through the services of whichever Satchel is imported."""
    store = Store(open_database(address), True)
    projects.require(store.database, SCOPE)
    fill(store)
    reads: dict[str, Callable[[Tx], object]] = {
        "get a prompt": lambda tx: prompts.get_by_name(tx, SCOPE, store.dice.choice(store.known["2.5 KB"]).name),
        "list prompts": lambda tx: prompts.list_counted(tx, SCOPE, PromptQuery(), limit=20, offset=0),
        "search prompts": lambda tx: prompts.list_counted(tx, SCOPE, PromptQuery(text="shr"), limit=20, offset=0),
        "get a task": lambda tx: tasks.find(tx, SCOPE, store.dice.choice(store.numbers)),
        "list tasks": lambda tx: tasks.list_page(tx, SCOPE, TaskQuery(), limit=20),
        "list projects": lambda tx: projects.list_all(tx, SCOPE),
    }
    times: dict[str, list[float]] = {name: [] for name in (*reads, *WRITES)}
    for round in range(rounds + 10):
        for name in times:
            act = reads[name] if name in reads else WRITES[name](store)
            open_tx = store.database.read if name in reads else store.database.write
            started = time.perf_counter()
            with open_tx(SCOPE) as tx:
                act(tx)
            if round >= 10:
                times[name].append((time.perf_counter() - started) * 1000)
    store.database.close()
    return times


if __name__ == "__main__":
    sys.exit(main())
