"""Statements: lists and values as parameters on both engines; round trips and prepared statements on PostgreSQL."""

from typing import Any

import psycopg
import pytest

from satchel.errors import StoreFailed
from satchel.model import Scope, StoreChange
from satchel.storage.database import Database, Violation, open_database
from tests.support.postgres import PostgresServer
from tests.support.roles import two_roles

# -- both engines ---------------------------------------------------------------------------------------------------


def test_a_list_whose_name_begins_another_ones_name_is_its_own_parameter(database: Database) -> None:
    with database.read() as tx:
        sql = """
            select name from (select 'a' as name union all select 'b' union all select 'c') as names
            where name in :task and name in :tasks and name not in :tasks_0 and name <> :task_0 order by name
        """
        found = tx.all(sql, task=["a", "b", "c"], tasks=["b", "c"], tasks_0=["c"], task_0="a")
    assert found == [("b",)]


def test_a_quoted_text_is_no_parameter(database: Database) -> None:
    with database.read() as tx:
        found = tx.one("select ':name, in :names, 100 %, it''s $1', :name, 1 where 1 in :names", name="x", names=[1])
    assert found == (":name, in :names, 100 %, it's $1", "x", 1)


def test_an_empty_list_has_nothing_in_it(database: Database) -> None:
    with database.write() as tx:
        tx.run("insert into settings values ('a', '')")
        inside, outside = (
            tx.all(f"select name from settings where name = 'a' and name {word} :names", names=[])
            for word in ("in", "not in")
        )
    assert (inside, outside) == ([], [("a",)])


def test_a_text_is_found_in_another_at_the_same_place(database: Database) -> None:
    with database.read() as tx:
        assert tx.one("select instr(:text, :part), instr(:text, 'z')", text="äbc", part="c") == (3, 0)


# -- PostgreSQL -----------------------------------------------------------------------------------------------------


def test_a_transaction_begins_and_ends_with_one_round_trip_each(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, app = two_roles(postgres)
    database = open_database(app)
    with database.read(), database.write():  # opens the connections
        database.look_up(lambda tx: tx.one("select 1"))
    sent = record_sent(monkeypatch)
    with database.read(Scope(user="u'; --", projects=("a", "b"))) as tx:
        found = tx.one("select current_setting('satchel.user'), current_setting('satchel.projects')")
    assert (found, sent) == (("u'; --", "a,b"), ["begin", "select", "commit"])
    sent.clear()
    with database.write() as tx:
        tx.changed(StoreChange("prompts", "p"))
    assert sent == ["begin", "insert", "commit"]
    sent.clear()
    assert database.look_up(lambda tx: tx.one("select 1")) == (1,)
    assert sent == ["select"]
    database.close()


def record_sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that receives the first word of each later statement."""
    sent: list[str] = []
    execute, commit = psycopg.Cursor.execute, psycopg.Connection.commit

    def note(cursor: psycopg.Cursor[Any], query: Any, *given: Any, **options: Any) -> Any:
        sent.append((query.decode() if isinstance(query, bytes) else query).split()[0])
        return execute(cursor, query, *given, **options)

    def note_commit(connection: psycopg.Connection[Any]) -> None:
        sent.append("commit")
        commit(connection)

    monkeypatch.setattr(psycopg.Cursor, "execute", note)
    monkeypatch.setattr(psycopg.Connection, "commit", note_commit)
    return sent


VALUES = [
    *("", "text", "Ünï\n\t'\"\\%s :name $1", 0, 1, -1, 40_000, 2**40, -(2**62), 2**70),
    *(True, False, None, 1.5, b"\0\xff"),
    *([1, 2], [2**40], ["a", 'b"', "c,d", ""], [True, None], []),
]


def test_a_value_comes_back_as_it_was_sent(opened: Database) -> None:
    with opened.read() as tx:
        for value in VALUES * 8:  # often enough that the statement is prepared
            if isinstance(value, list):  # it has the type of the column
                kind = {int: "bigint", str: "text", bool: "boolean"}[type([*value, 1][0])]
                assert tx.one(f"select :value::{kind}[]", value=value) == (value,)
            else:
                assert tx.one("select :value, 1", value=value) == (value, 1)


def test_a_text_that_cannot_be_stored_is_refused_before_anything_is_sent(opened: Database) -> None:
    with pytest.raises(StoreFailed, match="NUL"), opened.write() as tx:
        tx.run("insert into settings values (:name, '')", name="a\0b")
    with opened.read() as tx:
        assert tx.all("select * from settings") == []


def test_what_comes_again_is_prepared(opened: Database) -> None:
    for _ in range(10):
        with opened.read() as tx:
            tx.one("select :a::int", a=1)
    with opened.read() as tx:
        assert tx.one("select count(*) from pg_prepared_statements where statement = 'select $1::int'") == (1,)


def test_a_constraint_is_named_whichever_statement_of_a_transaction_it_refuses(opened: Database) -> None:
    for first in ("select 1", "insert into settings values ('a', '')"):
        with pytest.raises(Violation) as refused, opened.write() as tx:
            tx.run(first)
            tx.many("insert into settings values (:name, '')", [{"name": "a"}, {"name": "a"}])
        assert refused.value.constraint == "settings_pkey"


def test_a_commit_after_a_failed_statement_is_a_failure(opened: Database) -> None:
    with pytest.raises(StoreFailed, match="nothing was done"), opened.write() as tx:
        tx.run("insert into projects (id, name, created_at, updated_at) values ('x', 'gone', '', '')")
        with pytest.raises(StoreFailed):
            tx.one("select 1 / 0")
    with opened.read() as tx:
        assert tx.one("select 1 from projects where name = 'gone'") is None
