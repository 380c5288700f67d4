"""A fault at every call of the database driver, in every tool and method: done or undone, never half of it.

The call fails with the words that its contract has for a failing store, and the next one works.
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from satchel.contracts import load
from satchel.errors import OutcomeUnknown, StoreFailed, StoreUnusable, TooCostly
from satchel.storage import schema
from satchel.storage.database import open_database
from tests.faults.injection import (
    FILE_FAULTS,
    POSTGRES_FAULTS,
    SQLITE_FAULTS,
    Fault,
    Injector,
    inject_files,
    inject_postgres,
    inject_sqlite,
    lose_answer_of_commit,
)
from tests.faults.judging import comparable, failure_of, forbid_surprises
from tests.faults.rewinding import Filled, FilledPostgres, FilledSqlite
from tests.search import test_in_step
from tests.support.dumps import without_generated
from tests.support.every_call import CALLS, PLACE, WRITING, arguments_of
from tests.support.postgres import ReusedDatabase
from tests.support.runners import STORED, body_of, has_failed

MOST_CALLS = 2_000  # of the driver, in one call of a tool

pytestmark = pytest.mark.timeout(1800)

Reached = tuple[dict[str, Any], dict[str, Any], str]  # the rows before a call, after it, and its answer


@pytest.fixture(autouse=True)
def no_surprise(monkeypatch: pytest.MonkeyPatch) -> None:
    forbid_surprises(monkeypatch)


@pytest.fixture
def postgres_statements(
    monkeypatch: pytest.MonkeyPatch, reused_database: ReusedDatabase, postgres: object
) -> Iterator[tuple[Filled, Injector]]:
    filled = FilledPostgres(reused_database.emptied())
    yield filled, inject_postgres(monkeypatch)
    monkeypatch.undo()
    filled.close()


def test_every_tool_and_method_has_a_call() -> None:
    for contract in STORED:
        table = load(contract)
        assert CALLS[contract].keys() == {tool.name for tool in table.tools} | set(table.methods)


@pytest.mark.parametrize(
    "contract", [one if one == "tasks" else pytest.param(one, marks=pytest.mark.soak) for one in STORED]
)
def test_statements_of_sqlite(
    monkeypatch: pytest.MonkeyPatch, sqlite_template: Path, tmp_path: Path, contract: str
) -> None:
    injector = inject_sqlite(monkeypatch)
    filled = FilledSqlite(sqlite_template, tmp_path)
    fail_everywhere(filled, injector, contract, list(SQLITE_FAULTS.values()))
    filled.close()


@pytest.mark.soak
@pytest.mark.parametrize("checkpoints", [False, True])
@pytest.mark.parametrize("contract", STORED)
def test_writes_and_syncs_of_sqlite(
    monkeypatch: pytest.MonkeyPatch, sqlite_template: Path, tmp_path: Path, contract: str, checkpoints: bool
) -> None:
    injector = inject_files(monkeypatch, checkpoints=checkpoints)
    filled = FilledSqlite(sqlite_template, tmp_path)
    # SQLite goes on when a checkpoint fails. Our file layer cannot: apsw raises what a method of it raised.
    fail_everywhere(filled, injector, contract, list(FILE_FAULTS.values()), may_be_done=checkpoints)
    filled.close()


@pytest.mark.soak
@pytest.mark.parametrize("contract", STORED)
def test_statements_of_postgres(postgres_statements: tuple[Filled, Injector], contract: str) -> None:
    fail_everywhere(*postgres_statements, contract, list(POSTGRES_FAULTS.values()))


@pytest.mark.soak
def test_a_lost_answer_of_a_commit_means_done_or_undone(postgres_statements: tuple[Filled, Injector]) -> None:
    filled, injector = postgres_statements
    for contract, name in sorted(WRITING):
        reached = reach(filled, contract, name)
        arguments = arguments_of(contract, name, filled.ids)
        with injector.armed(1, lose_answer_of_commit, only_commits=True):
            result = filled.runners.call(contract, name, arguments, PLACE)
        assert injector.has_fired
        found = without_generated(filled.dumper.dump())
        assert found in reached[:2], (contract, name, "is half done")
        assert has_failed(result) or found == reached[1], (contract, name, "was told, and is not there")
        filled.rewind()


def fail_everywhere(
    filled: Filled, injector: Injector, contract: str, faults: list[Fault], *, may_be_done: bool = False
) -> None:
    """Let every call of the driver fail, one after the other, in every tool and method of a contract."""
    for name in CALLS[contract]:
        reached = reach(filled, contract, name)
        for number in range(1, MOST_CALLS):
            fired = False
            for fault in faults:
                result = attempt(filled, injector, contract, name, number, fault)
                fired = fired or injector.has_fired
                if may_be_done and without_generated(filled.dumper.dump()) == reached[1]:
                    filled.rewind()
                else:
                    check(filled, injector, contract, name, result, reached)
            if not fired:
                break
        else:
            raise AssertionError(f"{contract} {name} never ends")
        test_in_step.check(filled.runners.database)
        filled.rewind()


def reach(filled: Filled, contract: str, name: str) -> Reached:
    """Return what a call without a fault does to the store, and what it answers."""
    before = without_generated(filled.dumper.dump())
    result = filled.runners.call(contract, name, arguments_of(contract, name, filled.ids), PLACE)
    assert not has_failed(result), (contract, name, result)
    after = without_generated(filled.dumper.dump())
    filled.rewind()
    return before, after, comparable(result)


def attempt(filled: Filled, injector: Injector, contract: str, name: str, number: int, fault: Fault) -> dict[str, Any]:
    with injector.armed(number, fault):
        return filled.runners.call(contract, name, arguments_of(contract, name, filled.ids), PLACE)


def check(
    filled: Filled, injector: Injector, contract: str, name: str, result: dict[str, Any], reached: Reached
) -> None:
    """Done and told so, or undone and told so. Then the store is as it was."""
    before, after, answer = (str(one) for one in reached)
    found, said = str(without_generated(filled.dumper.dump())), comparable(result)
    if has_failed(result):
        assert injector.has_fired
        failures = [
            failure_of(contract, name, error) for error in (StoreFailed("x"), OutcomeUnknown("x"), TooCostly("x"))
        ]
        assert (body_of(result) if "isError" in result else result) in failures
        assert found == before, (contract, name, "is half done")
        filled.settle()
        return
    if injector.has_fired:  # it was tried again, and the sequences of PostgreSQL went on
        before, after, answer, found, said = (re.sub(r"\d+", "N", one) for one in (before, after, answer, found, said))
    assert said == answer
    # Values that were given to a prompt are kept after the answer, if they can be.
    assert found == after or (found == before and (contract, name) not in WRITING), (contract, name, "is half done")
    filled.rewind()


@pytest.mark.soak
@pytest.mark.parametrize("is_new", [True, False])
def test_a_store_that_cannot_be_opened_is_refused_and_opens_the_next_time(
    monkeypatch: pytest.MonkeyPatch, sqlite_template: Path, tmp_path: Path, is_new: bool
) -> None:
    """A fault at every statement of a start, and of the migrations of a new store."""
    injector, faults = inject_sqlite(monkeypatch), list(SQLITE_FAULTS.values())
    for number in range(1, MOST_CALLS):
        path = tmp_path / f"{number}.db"
        if not is_new:
            shutil.copy(sqlite_template, path)
        try:
            with injector.armed(number, faults[number % len(faults)]):
                open_database(str(path)).close()
        except StoreUnusable as refusal:
            assert str(path) in str(refusal) and str(refusal).endswith(".")
        if not injector.has_fired:
            break
        database = open_database(str(path))
        assert database.schema == schema.NUMBER
        database.close()
    assert number > (20 if is_new else 3)
