"""F5: no read runs for ever, none hits another by the way it is ended, and long texts are searched in linear time."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from satchel.contracts import load
from satchel.errors import Abandoned, StoreFailed, TooCostly
from satchel.model import PromptDraft, PromptQuery, Scope
from satchel.services import projects, prompts
from satchel.services.search_lines import find_line
from satchel.services.search_query import parse
from satchel.storage.database import Database
from satchel.storage.search_text import MAX_INDEXED
from satchel.work import Work
from tests.attacks.neighbours import SlowServer, ask, send_all, text_of, write_call
from tests.attacks.slow_server import _ENDLESS as ENDLESS

MAIN = Scope(project="default")


def test_a_read_that_takes_too_long_is_ended_and_health_is_answered_meanwhile(store: str) -> None:
    with SlowServer(store, read_seconds=1.0) as server:
        wires = send_all(server, write_call(None, "spin"), 3)
        assert server.ask("GET", "/health").status == 200
        assert [text_of(wire.read()) for wire in wires] == ["Error: TooCostly"] * 3
        assert ask(server, None, "titles") == ""
        for wire in wires:
            wire.close()


def test_health_is_answered_while_one_local_user_holds_every_thread(store: str) -> None:
    with SlowServer(store) as server:
        wires = send_all(server, write_call(None, "spin"), 60)
        for _ in range(3):
            assert server.ask("GET", "/health").status == 200
        for wire in wires:
            wire.close()
        assert ask(server, None, "titles") == ""


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


@pytest.mark.parametrize("name", ["prompt-store", "mcpkg", "todo", "tasks", "satchel"])
def test_a_read_that_took_too_long_is_told_as_a_failure_of_the_store(name: str) -> None:
    contract = load(name)
    told = contract.explain_failure(contract.tools[0], TooCostly("x"))
    plain = contract.explain_failure(contract.tools[0], StoreFailed("x"))
    assert type(told) is type(plain) and (told == plain or name == "satchel")


def seconds(act: Callable[[], Any]) -> float:
    """The best of three times."""
    times = []
    for _ in range(3):
        started = time.perf_counter()
        act()
        times.append(time.perf_counter() - started)
    return min(times)


@pytest.mark.parametrize("projects_allowed", [None, ("default",)], ids=["all projects", "one project"])
def test_a_long_query_costs_little_more_than_a_short_one(
    database: Database, projects_allowed: tuple[str, ...] | None
) -> None:
    """With `glob` the long one took thousands of times as long, and nothing could end it."""
    projects.require(database, MAIN)
    scope = Scope(project="default", projects=projects_allowed)
    with database.write(scope) as tx:
        prompts.add(tx, scope, PromptDraft(title="long", content="a" * 300_000 + "\ufffe"))

    def search(text: str) -> int:
        with database.read(scope) as tx:
            return prompts.list_counted(tx, scope, PromptQuery(text=text), limit=10, offset=0).total

    assert search("a" * 900) == 1 and search("a" * 900 + "b") == 0
    assert seconds(lambda: search("a" * 900 + "b\ufffe")) < 100 * seconds(lambda: search("ab")) + 1


def test_the_line_of_a_hit_is_looked_for_in_the_part_that_is_indexed() -> None:
    terms = parse(" ".join(f"missing{number:03}" for number in range(120))).terms
    indexed, whole = "word and word\n" * (MAX_INDEXED // 14), "word and word\n" * 300_000
    assert seconds(lambda: find_line(whole, terms)) < 20 * seconds(lambda: find_line(indexed, terms))
