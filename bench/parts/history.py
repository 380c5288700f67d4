"""What history costs: writes with it and without, and how much a store grows.

The same services write into two stores in turn; for one of them the functions that record changes do nothing.
"""

import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import apsw
import psycopg

from bench import postgres, texts
from bench.measuring import Case, count_samples, time_ms
from bench.results import Result, Table
from bench.stores import SCOPE
from bench.surroundings import Run
from satchel.model import Prompt, PromptDraft, PromptPatch, TaskDraft, TaskPatch
from satchel.services import projects, prompts, tasks
from satchel.services import recording as recorder
from satchel.storage import revisions
from satchel.storage.database import Database, Tx, open_database

SIZES = {"2.5 KB": 2500, "12 KB": 12_000, "63 KB": 63_000}
WORDS = [texts.word(number) for number in range(900)]
FILLING = 100  # prompts, and tasks, that are there already


@dataclass
class Store:
    """An open store, and the items that the cases work on."""

    database: Database
    has_history: bool
    dice: random.Random = field(default_factory=lambda: random.Random(5))
    known: dict[str, list[Prompt]] = field(default_factory=dict)  # by size
    numbers: list[int] = field(default_factory=list)  # of tasks


def measure(run: Run) -> Result:
    """Measure for each engine writes with history and without, and how much an edit makes the store grow."""
    result = Result("history")
    rounds, edits = run.amount(3, 100), run.amount(5, 200)
    run.expect((rounds + 1) * len(WRITES) * 2)
    measure_engine(run, "SQLite", lambda name: str(run.folder / f"{name}.db"), rounds, edits, result)
    try:
        server = run.stack.enter_context(postgres.Server())
    except (RuntimeError, OSError) as error:
        result.notes.append(f"PostgreSQL was not measured: {str(error)[:200]}")
        return result
    measure_engine(run, "PostgreSQL", server.make_database, rounds, edits, result)
    return result


def measure_engine(run: Run, engine: str, make: Callable[[str], str], rounds: int, edits: int, result: Result) -> None:
    """Make the tables of one engine; `make` returns the address of a new store."""
    kept = [open_store(make(f"writes{number}"), bool(number)) for number in (0, 1)]
    for store in kept:
        with recording(store.has_history):
            fill(store)
    rows = []
    for name, prepare in WRITES.items():
        names = ("without", "with")
        cases = [Case(one, make_write(store, prepare)) for one, store in zip(names, kept, strict=True)]
        run.interleave(f"{name}, {engine}", cases, rounds)
        without, with_ = cases
        ratio = with_.median / without.median
        rows.append([name, without.summary, with_.summary, count_samples(cases), f"{ratio:.2f}"])
        result.figures[f"history of {name}, {engine}"] = ratio
    for store in kept:
        store.database.close()
    head = [f"write on {engine}", "without, ms", "with, ms", "samples", "ratio"]
    result.tables.append(Table(f"What history costs on {engine}", head, rows))
    result.tables.append(measure_growth(engine, make, edits))


def make_write(store: Store, prepare: Callable[[Store], Callable[[Tx], object]]) -> Callable[[int], float]:
    """Make a function that times the transaction of a write, without making its text."""

    def write(_: int) -> float:
        act = prepare(store)
        with recording(store.has_history):
            return time_ms(lambda: run_in_transaction(store, act))

    return write


@contextmanager
def recording(has_history: bool) -> Iterator[None]:
    """Record history during the block, or replace the functions that store it; keep the index of words."""
    if has_history:
        yield
        return
    places = [(revisions, "add"), (revisions, "keep_state"), (recorder, "make_delta")]
    kept = [getattr(module, name) for module, name in places]
    for module, name in places:
        setattr(module, name, lambda *_: b"")
    try:
        yield
    finally:
        for (module, name), function in zip(places, kept, strict=True):
            setattr(module, name, function)


def open_store(address: str, has_history: bool) -> Store:
    """Open a new store with the default project."""
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


def run_in_transaction(store: Store, act: Callable[[Tx], object]) -> None:
    """Run an action in a transaction."""
    with store.database.write(SCOPE) as tx:
        act(tx)


def make_text(dice: random.Random, length: int) -> str:
    """Make sentences of words, with a length in all."""
    text = ""
    while len(text) < length:
        text += " ".join(dice.choices(WORDS, k=dice.randrange(6, 18))).capitalize() + ". "
    return text[:length]


def edit_sentence(dice: random.Random, text: str) -> str:
    """Replace one sentence of a text."""
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
    store.numbers.append(number)  # to be deleted, when all that are pending have been
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


def measure_growth(engine: str, make: Callable[[str], str], edits: int) -> Table:
    """Measure how much repeated edits of one sentence make a store grow, with history and without."""
    rows = []
    for size, length in SIZES.items():
        grown = []
        for has_history in (False, True):
            address = make(f"growth{length}{'with' if has_history else 'without'}")
            store = open_store(address, has_history)
            with recording(has_history):
                run_in_transaction(store, add(store, size))
                before = stored_bytes(address)
                for _ in range(edits):
                    run_in_transaction(store, edit(store, size))
                grown.append(stored_bytes(address) - before)
            store.database.close()
        share = (grown[1] - grown[0]) / edits / length
        rows.append([size, *(f"{one / edits:,.0f}" for one in grown), f"{share:.1%}"])
    head = [f"text edited on {engine}", "bytes an edit without", "with", "share of the text"]
    return Table(f"What an edit of one sentence adds on {engine}", head, rows)


def stored_bytes(address: str) -> int:
    """Return the bytes of a store on disk, after a checkpoint and a vacuum."""
    if not address.startswith("postgresql"):
        connection = apsw.Connection(address)
        connection.execute("pragma wal_checkpoint(truncate)")
        connection.close()
        return os.path.getsize(address)
    with psycopg.connect(address, autocommit=True) as session:
        for _ in range(2):  # the first leaves dead rows in the catalogue, of the tables that it made anew
            session.execute("vacuum full")
        [[size]] = session.execute("select pg_database_size(current_database())").fetchall()
        return int(size)
