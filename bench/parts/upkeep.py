"""How long backup, restore, dump and load of 100,000 prompts take: `python bench/backup.py [PROMPTS [POSTGRES]]`.

With the address of an empty PostgreSQL database, the dump goes there and back too.
"""

import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from satchel.model import PromptDraft, Scope
from satchel.services import projects, prompts
from satchel.storage.backup import backup
from satchel.storage.database import open_database
from satchel.storage.dump import dump
from satchel.storage.loading import Dump, load
from satchel.storage.replacing import restore


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Print how long a block takes, and what it takes of the processor."""
    start, used = time.perf_counter(), time.process_time()
    yield
    print(f"{what:<28}{time.perf_counter() - start:7.1f} s{time.process_time() - used:9.1f} s of processor", flush=True)


def seed(store: str, count: int) -> None:
    """A store with prompts of about 1 KB."""
    chance = random.Random(1)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(3, 9))) for _ in range(8000)]
    database, scope = open_database(store), Scope()
    projects.require(database, scope)
    for start in range(0, count, 500):
        with database.write() as tx:
            for number in range(start, min(start + 500, count)):
                text = " ".join(chance.choices(words, k=150))
                prompts.add(
                    tx, scope, PromptDraft(title=f"Prompt {number}", content=text, tags=(chance.choice(words),))
                )
    database.close()


def write_dump(store: str, file: Path) -> None:
    """Dump a store to a file."""
    with open(file, "wb") as opened:
        dump(store, opened.write)


def read_dump(store: str, file: Path) -> None:
    """Load a dump from a file."""
    with open(file, "rb") as opened:
        load(store, Dump(opened))


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory(prefix="satchel-bench-") as folder:
        place = Path(folder)
        store = str(place / "store.db")
        with timed(f"seed {count}"):
            seed(store, count)
        with timed("backup"):
            backup(store, str(place / "backup.db"))
        with timed("restore"):
            restore(str(place / "restored.db"), str(place / "backup.db"))
        with timed("dump from SQLite"):
            write_dump(store, place / "dump.jsonl")
        with timed("load into SQLite"):
            read_dump(str(place / "loaded.db"), place / "dump.jsonl")
        if len(sys.argv) > 2:
            with timed("load into PostgreSQL"):
                read_dump(sys.argv[2], place / "dump.jsonl")
            with timed("dump from PostgreSQL"):
                write_dump(sys.argv[2], place / "again.jsonl")


if __name__ == "__main__":
    main()
