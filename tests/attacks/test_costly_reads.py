"""Calls that are cancelled or take too long are ended, and those after them are not hit by it."""

import threading

import pytest

from satchel.errors import Abandoned
from satchel.model import PromptDraft, PromptQuery, Scope
from satchel.services import projects, prompts
from satchel.storage.database import Database
from satchel.work import Work

MAIN = Scope(project="default")
ENDLESS = """
    with recursive counted (number) as (select 1 union all select number + 1 from counted where number < 1000000000000)
    select max(number) from counted
"""


def test_what_ends_a_read_never_hits_the_next_one_on_its_connection(database: Database) -> None:
    for _ in range(20):
        work = Work()
        with pytest.raises(Abandoned), database.read() as tx, tx.bounded(work):
            timer = threading.Timer(0.02, work.cancel)
            timer.start()
            sql = ENDLESS
            tx.one(sql)
        with database.read() as tx:
            assert tx.one("select 1") == (1,)
        timer.join()
        with database.read() as tx:
            assert tx.one("select 1") == (1,)


def test_a_cancelled_write_is_finished(database: Database) -> None:
    work = Work()
    projects.require(database, MAIN)
    with database.write() as tx, tx.bounded(work):
        work.cancel()
        prompts.add(tx, MAIN, PromptDraft(title="kept", content="x"))
    with database.read() as tx:
        assert tx.all("select title from prompts") == [("kept",)]


def test_an_interrupted_transaction_runs_no_further_statement(database: Database) -> None:
    work = Work()
    with pytest.raises(Abandoned), database.read() as tx, tx.bounded(work):
        work.cancel()  # between two statements
        tx.one("select 1")


@pytest.mark.parametrize("projects_allowed", [None, ("default",)], ids=["all projects", "one project"])
def test_a_query_of_900_characters_is_searched(database: Database, projects_allowed: tuple[str, ...] | None) -> None:
    projects.require(database, MAIN)
    scope = Scope(project="default", projects=projects_allowed)
    with database.write(scope) as tx:
        prompts.add(tx, scope, PromptDraft(title="long", content="a" * 300_000 + "\ufffe"))

    def search(text: str) -> int:
        with database.read(scope) as tx:
            return prompts.list_counted(tx, scope, PromptQuery(text=text), limit=10, offset=0).total

    assert [search("a" * 900), search("a" * 900 + "b"), search("a" * 900 + "b\ufffe")] == [1, 0, 0]
