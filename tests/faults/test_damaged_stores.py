"""Stores that are cut, overwritten or altered by another program: a clear text, and nothing overwritten."""

import hashlib
import itertools
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import apsw
import pytest

from satchel import clock
from satchel.errors import StoreUnusable
from satchel.library import catalog
from satchel.storage.database import open_database
from tests.faults.judging import failure_of, forbid_surprises
from tests.support.every_call import NAMES, PLACE, WRITING, arguments_of, fill_store
from tests.support.runners import Runners, body_of, has_failed
from tests.support.soak import amount

CUTS = amount(5, 600)
FLIPS = amount(24, 2_000)
COLUMNS = amount(10, 1)  # every so manieth column of every table is damaged

READING = [one for one in NAMES if one not in WRITING]

Damage = Callable[[bytes], bytes]


@pytest.fixture(autouse=True)
def no_surprise(monkeypatch: pytest.MonkeyPatch) -> None:
    forbid_surprises(monkeypatch)


@pytest.fixture(scope="module")
def libraries() -> Iterator[catalog.Libraries]:
    found = catalog.Libraries(())
    yield found
    found.renderer.close()


@pytest.fixture
def whole(
    sqlite_template: Path, tmp_path: Path, libraries: catalog.Libraries, monkeypatch: pytest.MonkeyPatch
) -> "Whole":
    """Return a filled store at rest, the same bytes in every run."""
    ids, ticks = itertools.count(1), itertools.count(1)
    with monkeypatch.context() as patch:
        patch.setattr(clock, "new_id", lambda: str(UUID(int=next(ids))))
        patch.setattr(clock, "now", lambda: f"2026-11-17T09:00:00.{next(ticks):06}Z")
        return Whole(Path(shutil.copy(sqlite_template, tmp_path / "whole.db")), libraries)


class Whole:
    """A filled store, of which damaged copies are made."""

    def __init__(self, path: Path, libraries: catalog.Libraries) -> None:
        self._libraries = libraries
        self.path, self.copy = path, path.with_name("damaged.db")
        self._ids = fill_store(path)
        self.content = path.read_bytes()

    def write_copy(self, content: bytes) -> None:
        """Make a copy with another content, and nothing beside it."""
        for ending in ("-wal", "-shm", "-gate"):
            Path(f"{self.copy}{ending}").unlink(missing_ok=True)
        self.copy.write_bytes(content)

    def try_copy(self, names: list[tuple[str, str]] = NAMES) -> str:
        """Open the copy and call everything on it: it is refused whole, or each call succeeds or fails in its words."""
        before = digest(self.copy)
        try:
            database = open_database(str(self.copy))
        except StoreUnusable as refusal:
            assert digest(self.copy) == before, "a refused store was changed"
            assert str(self.copy) in str(refusal) and str(refusal).endswith(".")
            return "refused"
        runners, failed = Runners(database, self._libraries), False
        try:
            for contract, name in sorted(names, key=WRITING.__contains__):  # those that read before those that write
                result = runners.call(contract, name, arguments_of(contract, name, self._ids), PLACE)
                failed = failed or (has_failed(result) and is_of_store(contract, name, result))
        finally:
            database.close()
        return "failed" if failed else "served"


def is_of_store(contract: str, name: str, result: dict[str, Any]) -> bool:
    """Return whether a failure is that of a broken store, and not of something that is not there."""
    return bool((body_of(result) if "isError" in result else result) == failure_of(contract, name))


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_store_that_was_cut_is_refused(whole: Whole) -> None:
    dice, size = random.Random(3), len(whole.content)
    sizes = {1, 15, 16, 100, 511, 512, 1000, 4095, 4096, 4097, size - 4096, size - 1}
    for cut in sorted(sizes | {dice.randrange(1, size) for _ in range(CUTS)}):
        whole.write_copy(whole.content[:cut])
        assert whole.try_copy() == "refused", cut


@pytest.mark.timeout(1800)
def test_a_store_with_flipped_bits_is_refused_or_answers_in_the_contracts_words(whole: Whole) -> None:
    dice, bits = random.Random(5), 8 * len(whole.content)
    places = [dice.randrange(8 * 100) for _ in range(FLIPS // 4)]  # in the header
    places += [dice.randrange(bits) for _ in range(FLIPS - len(places))]
    outcomes = set()
    tried = READING + sorted(WRITING)[:: amount(6, 1)]
    for place in places:
        flipped = bytearray(whole.content)
        for bit in range(place, min(place + dice.choice((1, 1, 64)), bits)):
            flipped[bit // 8] ^= 1 << (bit % 8)
        whole.write_copy(bytes(flipped))
        outcomes.add(whole.try_copy(tried))
    assert outcomes >= {"refused", "served"}


VALUES = ("cast(x'41ff42' as text)", "'gar{bage'", "77")  # no UTF-8, no JSON and no number, and a wrong number


def test_rows_that_another_program_altered_are_failures_of_the_store(whole: Whole) -> None:
    outcomes = set()
    for number, (table, column) in enumerate(list_columns(whole.path)):
        for value in VALUES[number % len(VALUES) :][:1] if COLUMNS > 1 else VALUES:
            if number % COLUMNS:
                continue
            whole.write_copy(whole.content)
            raw = apsw.Connection(str(whole.copy))
            raw.execute("pragma ignore_check_constraints = on; pragma foreign_keys = off")
            try:
                raw.execute(f"update or ignore {table} set {column} = {value}")
            except apsw.Error:
                continue  # the table takes no such value
            finally:
                raw.close()
            outcomes.add(whole.try_copy(READING))
    assert outcomes >= {"failed", "served"}


def test_a_constraint_that_no_call_expects_is_a_failure_of_the_store(whole: Whole) -> None:
    whole.write_copy(whole.content)
    raw = apsw.Connection(str(whole.copy))
    raw.execute("create table others (one integer unique); insert into others values (1)")
    raw.execute("create trigger foreign_rule after update on prompts begin insert into others values (1); end")
    raw.close()
    assert whole.try_copy([("prompt-store", "delete_prompt")]) == "failed"


def list_columns(path: Path) -> list[tuple[str, str]]:
    raw = apsw.Connection(str(path))
    sql = "select name from sqlite_schema where type = 'table' and sql not like 'create virtual%'"
    tables = [name for (name,) in raw.execute(sql) if "_index" not in name and not name.startswith("sqlite_")]
    found = [(name, row[1]) for name in tables for row in raw.execute(f"pragma table_info({name})")]
    raw.close()
    return found


def test_a_log_that_is_garbage_or_of_another_store_changes_nothing(whole: Whole) -> None:
    for log in (b"", b"x", b"garbage " * 5000, b"\x37\x7f\x06\x82" + b"\0" * 5000):
        whole.write_copy(whole.content)
        Path(f"{whole.copy}-wal").write_bytes(log)
        assert whole.try_copy([one for one in READING if one[0] == "prompt-store"]) == "served"
        assert digest(whole.copy) == digest(whole.path)


def test_a_store_without_the_log_that_it_had_is_what_it_was_before(whole: Whole) -> None:
    database = open_database(str(whole.path))
    with database.write() as tx:
        tx.run("insert into settings values ('new', 'value')")
    whole.write_copy(whole.path.read_bytes())  # without the log, as a careless copy is
    database.close()
    assert whole.try_copy(READING) == "served"
