"""Statements on PostgreSQL: what they cost in round trips, that values are those of psycopg, and what is prepared."""

from collections.abc import Iterator, Sequence

import psycopg
import pytest

from satchel.errors import StoreFailed
from satchel.model import Scope, StoreChange
from satchel.storage import postgres_statements
from satchel.storage.database import Database, Violation, open_database
from satchel.storage.postgres_connect import Address
from satchel.storage.postgres_statements import Connection, Sent, Statement, Statements
from tests.support.postgres import PostgresServer
from tests.support.roles import two_roles

PREPARED = "select count(*) from pg_prepared_statements where name like 'satchel%'"


@pytest.fixture
def address(postgres: PostgresServer) -> str:
    store = postgres.fresh()
    open_database(store).close()
    return store


@pytest.fixture
def connection(address: str) -> Iterator[Connection]:
    with Address(address).connect(autocommit=True) as connection:
        yield connection


class Trips:
    """Each round trip, as the first words of its statements."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.taken: list[list[str]] = []
        send = Statements.send

        def count(statements: Statements, sent: Sequence[Statement]) -> Sent:
            self.taken.append([sql.split()[0] for sql, _, _ in sent])
            return send(statements, sent)

        monkeypatch.setattr(Statements, "send", count)


def test_a_read_of_one_statement_is_one_round_trip_and_an_end_that_is_not_waited_for(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, app = two_roles(postgres)
    database, trips = open_database(app), Trips(monkeypatch)
    for _ in range(3):
        with database.read(Scope(user="u")) as tx:
            assert tx.one("select current_setting('satchel.user')") == ("u",)
    assert trips.taken == [["begin", "select", "select"], ["commit"]] * 3
    trips.taken.clear()
    with database.read():
        pass
    assert trips.taken == []
    assert database.look_up(lambda tx: tx.one("select 1")) == (1,)
    assert trips.taken == [["select"]]
    database.close()


def test_a_write_begins_and_ends_with_its_statements(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    database, trips = open_database(address), Trips(monkeypatch)
    with database.write() as tx:
        tx.run("insert into settings values ('a', 'b')")
        tx.run("update settings set value = 'c'")
        tx.changed(StoreChange("prompts", "p"))
    assert trips.taken[:3] == [["begin", "insert"], ["update"], ["insert", "commit"]]
    trips.taken.clear()
    with database.write() as tx:
        tx.put("insert into settings values ('d', 'e')")
        assert tx.all("select name from settings order by name") == [("a",), ("d",)]
        tx.put("insert into settings values ('f', 'g')")
    assert [one for one in trips.taken if one[-1] != "select" or "insert" in one] == [
        ["begin", "insert", "select"],
        ["insert", "commit"],
    ]
    with pytest.raises(Violation), database.write() as tx:
        tx.put("insert into settings values ('f', 'g')")
    trips.taken.clear()
    with database.write() as tx:
        tx.many("insert into settings values (:name, '')", [{"name": str(number)} for number in range(20)])
    assert [one for one in trips.taken if "select" not in one] == [["begin", *["insert"] * 20], ["commit"]]
    database.close()


VALUES = [
    *(
        "",
        "text",
        "Ünï\n\t'\"\\%s :name $1",
        0,
        1,
        -1,
        40_000,
        2**40,
        -(2**62),
        2**70,
        True,
        False,
        None,
        1.5,
        b"\0\xff",
    ),
    *([1, 2], [2**40], ["a", 'b"', "c,d", ""], [True, None], []),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_and_their_types_are_those_of_psycopg(connection: Connection, value: object) -> None:
    ours, theirs = "select :value, 1", "select %(v)s, 1"
    if not isinstance(value, str | list | None):  # of these PostgreSQL finds the type in the statement
        ours, theirs = "select :value, pg_typeof(:value)::text", "select %(v)s, pg_typeof(%(v)s)::text"
    expected = connection.execute(theirs.encode(), {"v": value}).fetchall()
    for _ in range(4):  # also once it is prepared
        assert connection.statements.run(ours, {"value": value}) == expected


def test_a_text_that_cannot_be_stored_is_refused_before_anything_is_sent(address: str) -> None:
    database = open_database(address)
    with pytest.raises(StoreFailed, match="NUL"), database.write() as tx:
        tx.run("insert into settings values (:name, '')", name="a\0b")
    with database.read() as tx:
        assert tx.all("select * from settings") == []
    database.close()


def test_what_comes_again_is_prepared_and_not_more_than_so_much(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_statements, "_MOST_PREPARED", 5)
    run = connection.statements.run
    for number in range(20):
        run(f"select {number}", {})
    assert connection.execute(PREPARED.encode()).fetchall() == [(0,)]
    for _ in range(3):
        for number in range(20):
            assert run(f"select {number}, :a::int", {"a": number}) == [(number, number)]
    [[count]] = connection.execute(PREPARED.encode()).fetchall()
    assert 1 <= count <= 6
    for _ in range(3):
        run("select 'a text that depends on its values'", {}, may_prepare=False)
    assert connection.execute(PREPARED.encode()).fetchall() == [(count,)]


def test_after_a_statement_that_fails_no_other_is_executed_and_the_connection_goes_on(connection: Connection) -> None:
    statements = connection.statements
    for _ in range(4):
        with pytest.raises(psycopg.errors.DivisionByZero):
            statements.run_all(
                [
                    ("insert into settings values ('a', 'b')", {}, True),
                    ("select 1 / :zero::int", {"zero": 0}, True),
                    ("insert into settings values ('c', 'd')", {}, True),
                ]
            )
        with pytest.raises(psycopg.errors.SyntaxError):
            statements.run("selekt 1", {})
        assert statements.run_all([("select 1", {}, True), ("select 2", {}, True)]) == [[(1,)], [(2,)]]
    assert statements.run("select * from settings", {}) == []  # they were one transaction


def test_a_constraint_is_named_whichever_statement_of_a_transaction_it_refuses(address: str) -> None:
    database: Database = open_database(address)
    for first in ("select 1", "insert into settings values ('a', '')"):
        with pytest.raises(Violation) as refused, database.write() as tx:
            tx.run(first)
            tx.many("insert into settings values (:name, '')", [{"name": "a"}, {"name": "a"}])
        assert refused.value.constraint == "settings_pkey"
    database.close()


def test_much_data_goes_both_ways_at_once(connection: Connection) -> None:
    large = "x" * 1_000_000
    statements: list[Statement] = [("select :text::text", {"text": f"{number}{large}"}, True) for number in range(30)]
    for place, rows in enumerate(connection.statements.run_all(statements)):
        assert rows == [(f"{place}{large}",)]


def test_a_commit_after_a_failed_statement_is_a_failure(address: str) -> None:
    database = open_database(address)
    with pytest.raises(StoreFailed, match="nothing was done"), database.write() as tx:
        tx.run("insert into projects (id, name, created_at, updated_at) values ('x', 'gone', '', '')")
        with pytest.raises(StoreFailed):
            tx.one("select 1 / 0")
    with database.read() as tx:
        assert tx.one("select 1 from projects where name = 'gone'") is None
    database.close()


def test_statements_that_are_not_used_any_more_go_between_transactions(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_statements, "_MOST_PREPARED", 5)
    database = open_database(address)
    for number in range(10):
        for _ in range(3):
            with database.read() as tx:
                assert tx.one(f"select {number} where :number = {number}", number=number) == (number,)
            with database.write() as tx:
                assert tx.one(f"select {number} where :number = {number}", number=number) == (number,)
    for open_tx in (database.read, database.write):
        with open_tx() as tx:
            [[count]] = tx.all(PREPARED)
            assert count <= 7
    database.close()
