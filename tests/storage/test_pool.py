"""The pool of PostgreSQL connections: its order, lost connections, and their effect on a call."""

import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from satchel.errors import Abandoned, OutcomeUnknown, StoreConflict, StoreFailed
from satchel.storage import postgres_pool
from satchel.storage.database import Database
from satchel.storage.postgres import READ_CONNECTIONS, WRITE_CONNECTIONS, PostgresTx
from satchel.storage.postgres_connect import Address, Connection, complete
from satchel.storage.postgres_pool import Pool
from satchel.work import Work
from tests.support.process import PATIENCE, eventually

OTHERS = "from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"


def soon() -> float:
    return time.monotonic() + PATIENCE


def make_pool(address: str, size: int) -> Pool:
    return Pool(Address(address).connect, size, "tests")


def end_all_others(address: str) -> int:
    """End every other session of the database, wait until they are gone, and return their number."""
    with psycopg.connect(address, autocommit=True) as operator:
        ended = operator.execute(f"select pid, pg_terminate_backend(pid) {OTHERS}".encode()).fetchall()
        left = f"select 1 {OTHERS} and pid = any (%s)"
        assert eventually(lambda: not operator.execute(left.encode(), [[pid for pid, _ in ended]]).fetchall())
    return len(ended)


def pid_of(connection: Connection) -> int:
    return connection.info.backend_pid


# -- lending ----------------------------------------------------------------------------------------------------


def test_callers_get_a_connection_in_the_order_in_which_they_asked(address: str) -> None:
    pool = make_pool(address, 1)
    served: list[int] = []

    def work(number: int) -> None:
        with pool.lend(soon()):
            served.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(20)]
    with pool.lend(soon()):
        for place, thread in enumerate(threads, 1):
            thread.start()
            assert eventually(lambda: len(pool._waiting) == place)  # noqa: B023
    for thread in threads:
        thread.join(PATIENCE)
    assert served == list(range(20))
    pool.close()


def test_the_pool_lends_up_to_its_limit_and_a_long_wait_is_an_error(address: str) -> None:
    pool = make_pool(address, 2)
    with pool.lend(soon()) as first, pool.lend(soon()) as second:
        assert pid_of(first) != pid_of(second)
        with pytest.raises(StoreFailed, match="all 2 connections for tests were busy"), pool.lend(time.monotonic()):
            pass
    with pool.lend(soon()), pool.lend(soon()):  # the caller that gave up occupies no place
        pass
    pool.close()


def test_a_connection_is_used_again_and_what_was_left_open_on_it_is_rolled_back(address: str) -> None:
    pool = make_pool(address, 2)
    with pool.lend(soon()) as connection:
        connection.execute("begin; insert into settings values ('a', 'b')")
        pid = pid_of(connection)
    with pytest.raises(ZeroDivisionError), pool.lend(soon()) as connection:
        connection.execute("begin; insert into settings values ('a', 'b')")
        raise ZeroDivisionError
    with pool.lend(soon()) as connection:
        assert connection.execute("select * from settings").fetchall() == [] and pid_of(connection) == pid
    pool.close()


def test_what_is_idle_for_long_is_closed(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = make_pool(address, 3)
    with pool.lend(soon()), pool.lend(soon()), pool.lend(soon()):
        pass
    assert len(pool._idle) == 3
    monkeypatch.setattr(postgres_pool, "_LONGEST_IDLE", 0.0)
    for left in (2, 1, 1):  # the lent connection stays
        with pool.lend(soon()):
            pass
        assert len(pool._idle) == left
    pool.close()


def test_after_all_connections_are_lost_the_next_callers_get_new_ones(address: str) -> None:
    pool = make_pool(address, 5)
    with ThreadPoolExecutor(5) as five:
        barrier = threading.Barrier(5)

        def take(_: int) -> int:
            with pool.lend(soon()) as connection:
                barrier.wait(PATIENCE)
                assert connection.execute("select 1").fetchone() == (1,)
                return pid_of(connection)

        before = set(five.map(take, range(5)))
        assert end_all_others(address) == 5
        after = set(five.map(take, range(5)))
    assert len(after) == 5 and not before & after
    pool.close()


def test_a_connection_lost_in_use_discards_the_idle_ones(address: str) -> None:
    pool = make_pool(address, 3)
    with pool.lend(soon()) as connection:
        with pool.lend(soon()), pool.lend(soon()):
            pass
        assert len(pool._idle) == 2
        connection.close()
    assert pool._idle == []
    pool.close()


def test_a_server_that_is_not_there_is_tried_until_the_deadline(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[float] = []

    def connect() -> Connection:
        tries.append(time.monotonic())
        if len(tries) < 4:
            raise psycopg.OperationalError("connection refused")
        return Address(address).connect()

    pool = Pool(connect, 1, "tests")
    with pool.lend(soon()) as connection:
        assert connection.execute("select 1").fetchone() == (1,)
    assert len(tries) == 4
    pool.close()
    tries.clear()
    pool = Pool(connect, 1, "tests")
    refused = "cannot connect to the database: connection refused"
    with pytest.raises(StoreFailed, match=refused), pool.lend(time.monotonic()):
        pass
    assert len(tries) == 1


# -- the use of each connection ---------------------------------------------------------------------------------


def test_a_host_that_vanishes_is_noticed(address: str) -> None:
    with Address(address).connect() as connection:
        asked = connection.info.get_parameters()
    assert {name: asked[name] for name in asked if name.startswith(("tcp_", "keepalives", "connect_"))} == {
        "tcp_user_timeout": "10000",
        "keepalives_idle": "6",
        "keepalives_interval": "2",
        "keepalives_count": "2",
        "connect_timeout": "3",
    }


def test_the_primary_of_several_hosts_is_used_unless_the_address_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def read(address: str) -> Mapping[str, object]:
        return psycopg.conninfo.conninfo_to_dict(complete(address))

    assert "target_session_attrs" not in read("postgresql://a/db")
    assert read("postgresql://a:1,b:2/db")["target_session_attrs"] == "read-write"
    assert read("postgresql:///db?host=a,b&target_session_attrs=any")["target_session_attrs"] == "any"
    assert read("postgresql://a/db?tcp_user_timeout=77&connect_timeout=9")["tcp_user_timeout"] == "77"
    monkeypatch.setenv("PGTARGETSESSIONATTRS", "any")
    assert "target_session_attrs" not in read("postgresql://a,b/db")


# -- lost connections -------------------------------------------------------------------------------------------


def test_a_connection_lost_before_the_commit_is_a_conflict_because_nothing_was_done(
    address: str, opened: Database
) -> None:
    with pytest.raises(StoreConflict, match="lost; nothing was done"), opened.write() as tx:
        tx.run("insert into settings values ('a', 'b')")
        end_all_others(address)
        tx.run("insert into settings values ('c', 'd')")
    with pytest.raises(StoreConflict, match="lost before the commit"), opened.write() as tx:
        tx.run("insert into settings values ('a', 'b')")
        end_all_others(address)
    with opened.read() as tx:
        assert tx.all("select * from settings") == []


def test_a_connection_lost_at_the_commit_leaves_open_what_was_done_and_says_so(address: str, opened: Database) -> None:
    with psycopg.connect(address) as operator:
        operator.execute(
            """
            create function die() returns trigger language plpgsql as
                'begin perform pg_terminate_backend(pg_backend_pid()); return null; end';
            create constraint trigger at_commit after insert on settings deferrable initially deferred
                for each row execute function die();
            """
        )
    with (
        pytest.raises(OutcomeUnknown, match=r"lost during the commit.*unknown whether"),
        opened.write() as tx,
    ):
        tx.run("insert into settings values ('a', 'b')")


def test_a_read_whose_connection_is_lost_at_its_end_has_read_all(address: str, opened: Database) -> None:
    with opened.read() as tx:
        assert tx.all("select name from projects") == []
        end_all_others(address)


def test_a_write_on_what_is_no_longer_the_primary_is_tried_on_another_connection(
    address: str, opened: Database
) -> None:
    with pytest.raises(StoreConflict, match="nothing was done"), opened.write() as tx:
        tx.run("set transaction read only")
        tx.run("insert into settings values ('a', 'b')")
    with pytest.raises(StoreFailed, match="read-only") as failure, opened.read() as tx:
        tx.run("insert into settings values ('a', 'b')")
    assert type(failure.value) is StoreFailed


def test_a_statement_whose_columns_were_changed_is_prepared_again(address: str, opened: Database) -> None:
    def read() -> object:
        with opened.read() as tx:
            return tx.all("select * from settings")

    for _ in range(8):  # often enough to be prepared
        read()
    with psycopg.connect(address) as operator:
        operator.execute("alter table settings add column more text")
    with pytest.raises(StoreConflict):
        read()
    assert read() == []


# -- waiting ----------------------------------------------------------------------------------------------------


def test_writes_that_wait_stop_no_read_and_neither_stops_a_look_up(address: str, opened: Database) -> None:
    with psycopg.connect(address) as operator, psycopg.connect(address) as locking:
        operator.execute("select pg_advisory_lock(7)")
        locking.execute("lock table prompts in access exclusive mode")

        def write(number: int) -> None:
            with opened.write() as tx:
                tx.run("insert into settings values (:name, '')", name=str(number))
                tx.run("select pg_advisory_xact_lock_shared(7)")

        def read(_: int) -> None:
            with opened.read() as tx:
                tx.run("select count(*) from prompts")

        def count_waiting() -> int:
            with psycopg.connect(address) as looking:
                sql = f"select count(*) {OTHERS} and wait_event_type = 'Lock'"
                return int(looking.execute(sql.encode()).fetchall()[0][0])

        with ThreadPoolExecutor(40) as threads:
            writes = [threads.submit(write, number) for number in range(WRITE_CONNECTIONS + 2)]
            assert eventually(lambda: count_waiting() == WRITE_CONNECTIONS)
            with opened.read() as tx:
                assert tx.all("select * from settings") == []
            reads = [threads.submit(read, number) for number in range(READ_CONNECTIONS + 2)]
            assert eventually(lambda: count_waiting() == WRITE_CONNECTIONS + READ_CONNECTIONS)
            assert opened.look_up(lambda tx: tx.one("select count(*) from tokens")) == (0,)
            assert opened.schema > 0
            locking.rollback()
            operator.execute("select pg_advisory_unlock(7)")
            for done in (*reads, *writes):
                done.result(PATIENCE)


def test_a_look_up_is_tried_again_on_another_connection(address: str, opened: Database) -> None:
    calls: list[int] = []

    def find(tx: object) -> int:
        assert isinstance(tx, PostgresTx)
        calls.append(1)
        if len(calls) == 1:
            end_all_others(address)
        row = tx.one("select 5")
        assert row is not None
        return int(row[0])

    assert opened.look_up(find) == 5
    assert len(calls) == 2


def test_a_cancelled_read_ends_on_the_server_and_its_connection_goes_on(address: str, opened: Database) -> None:
    work = Work()

    def read() -> None:
        with opened.read() as tx, tx.bounded(work):
            tx.run("select pg_sleep(60)")

    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(read)
        with psycopg.connect(address, autocommit=True) as looking:
            sql = f"select 1 {OTHERS} and wait_event = 'PgSleep'"
            assert eventually(lambda: bool(looking.execute(sql.encode()).fetchall()))
        work.cancel()
        with pytest.raises(Abandoned):
            running.result(PATIENCE)
    assert len(opened._reads._idle) == 1  # type: ignore[attr-defined]
    with opened.read() as tx:
        assert tx.all("select 1") == [(1,)]
