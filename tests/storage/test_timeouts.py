"""PostgreSQL's time-outs: a statement or a lock that takes too long fails the call, and the pool continues to work."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from satchel.errors import StoreFailed, TooCostly
from satchel.storage.database import Database, open_database
from tests.support.process import PATIENCE
from tests.support.threads import in_threads


@pytest.fixture
def filled(address: str, opened: Database) -> str:
    """Return the address of a store with a row."""
    with opened.write() as tx:  # without the short time-outs
        tx.run("insert into settings values ('a', 'b')")
    return address


@contextmanager
def reopened(store: str, options: str) -> Iterator[Database]:
    """Yield a store whose address sets other time-outs."""
    database = open_database(f"{store}&options={options.replace(' ', '%20').replace('=', '%3D')}")
    yield database
    database.close()


def shown(database: Database, name: str) -> str:
    with database.read() as tx:
        row = tx.one("select current_setting(:name)", name=name)
    assert row is not None
    return str(row[0])


def test_a_statement_beyond_its_time_is_a_failure_and_the_pool_goes_on(filled: str) -> None:
    with reopened(filled, "-c statement_timeout=200ms") as impatient:
        for _ in range(5):
            with pytest.raises(TooCostly, match="statement timeout"), impatient.write() as tx:
                tx.run("insert into settings values ('lost', '')")
                tx.run("select pg_sleep(15)")
        with impatient.read() as tx:
            assert tx.all("select name from settings") == [("a",)]


def test_a_lock_is_not_waited_for_without_end(filled: str) -> None:
    with reopened(filled, "-c lock_timeout=200ms") as impatient:
        with impatient.write() as holding:
            holding.run("update settings set value = 'held'")
            with pytest.raises(StoreFailed, match="lock timeout"), impatient.write() as tx:
                tx.run("update settings set value = 'mine'")
        with impatient.read() as tx:
            assert tx.all("select value from settings") == [("held",)]


def test_options_of_the_address_and_of_the_environment_count(
    address: str, opened: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shown(opened, "statement_timeout") == "5s" and shown(opened, "lock_timeout") == "10s"
    with opened.write() as tx:
        assert tx.one("select current_setting('statement_timeout')") == ("20s",)
    with reopened(address, "-c statement_timeout=7s -c work_mem=5MB") as database:
        assert shown(database, "statement_timeout") == "7s" and shown(database, "work_mem") == "5MB"
        assert shown(database, "lock_timeout") == "10s"
    monkeypatch.setenv("PGOPTIONS", "-c statement_timeout=8s")
    database = open_database(address)
    assert shown(database, "statement_timeout") == "8s" and shown(database, "lock_timeout") == "10s"
    database.close()


def test_a_deadlock_is_a_conflict_for_one_and_nothing_for_the_other(opened: Database) -> None:
    with opened.write() as tx:
        tx.run("insert into settings values ('a', ''), ('b', '')")
    both = threading.Barrier(2)
    outcomes: list[str] = []

    def cross(names: list[str]) -> None:
        first, second = names
        try:
            with opened.write() as tx:
                tx.run("update settings set value = 'x' where name = :name", name=first)
                both.wait(PATIENCE)
                tx.run("update settings set value = 'x' where name = :name", name=second)
            outcomes.append("done")
        except StoreFailed as error:
            outcomes.append(type(error).__name__)

    in_threads(cross, [["a", "b"], ["b", "a"]])
    assert sorted(outcomes) == ["StoreConflict", "done"]
