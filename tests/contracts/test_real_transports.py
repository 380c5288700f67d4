"""One conversation for each contract: both engines, both transports, threads and processes give the same replies.

The other tests of the contracts run in a thread of the test process, on SQLite. This one checks that they may.
"""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from satchel.contracts import CONTRACTS
from tests.support.conversations import CONVERSATIONS, EXAMPLES, USER, fill_in, last_task
from tests.support.http import HttpServer
from tests.support.in_process import InProcess
from tests.support.in_process_http import HttpInProcess
from tests.support.postgres import PostgresServer
from tests.support.stdio import NEWEST, REVISIONS, Client, Server

Ask = Callable[[str, dict[str, Any]], Any]  # method and parameters → the whole answer


def answers(ask: Ask, contract: str) -> list[Any]:
    """Return the answers of a conversation, with ids replaced by their order of appearance, and times by one word.

    Whether two times of the same conversation are equal depends on where a second begins.
    """
    known: dict[str, str] = {}
    told, last = [], ""
    for method, params in CONVERSATIONS[contract]:
        answer = ask(method, fill_in(params, last))
        last = last_task(answer.get("result")) or last
        told.append(stable(answer, known))
    return told


def stable(value: Any, known: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: stable(item, known) for key, item in value.items() if key not in ("id", "jsonrpc")}
    if isinstance(value, list):
        return [stable(item, known) for item in value]
    if not isinstance(value, str):
        return value
    value = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)?", "<time>", value)
    identity = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    return re.sub(identity, lambda found: known.setdefault(found[0], f"<{len(known)}>"), value)


Kind = type[InProcess] | type[Server]
HttpKind = type[HttpInProcess] | type[HttpServer]


@pytest.fixture
def options(store: str) -> list[str]:
    """Return the options of `serve` for a store and the libraries of the examples."""
    return ["--user", USER, "--libraries", str(EXAMPLES), "--database", store]


@pytest.fixture
def expected(options: list[str], sqlite_template: Path, tmp_path: Path, revision: str) -> dict[str, list[Any]]:
    """Return the replies of servers in a thread, on their own SQLite store."""
    other = str(shutil.copy(sqlite_template, tmp_path / "expected.db"))
    said = converse(InProcess, [*options[:-1], other], revision)
    assert set(CONVERSATIONS) == set(CONTRACTS)
    assert "Internal error" not in str(said)
    return said


def converse(kind: Kind, options: list[str], revision: str) -> dict[str, list[Any]]:
    """Return the answers of all contracts over stdio, from one server per contract on the same store."""
    said = {}
    for contract in CONTRACTS:
        client = kind("--contract", contract, *options)
        if revision != NEWEST:
            client.initialize(revision)
        said[contract] = answers(lambda method, params: settled(client, method, params), contract)  # noqa: B023
        assert client.close() == 0, client.stderr
        assert "surprise in" not in client.stderr, client.stderr
    return said


def converse_over_http(kind: HttpKind, options: list[str], revision: str) -> dict[str, list[Any]]:
    """Return the answers of all contracts over HTTP, from one server."""
    with kind(*options) as server:
        return {
            contract: answers(
                lambda method, params: server.ask(method, params, revision=revision, path=f"/mcp/{contract}").json,  # noqa: B023
                contract,
            )
            for contract in CONTRACTS
        }


def settled(client: Client, method: str, params: dict[str, Any]) -> Any:
    """Return the answer to a request; notifications of changes may come before it."""
    identity = client.ask(method, params)
    while (message := client.read()).get("id") != identity:
        assert message["method"].startswith("notifications/"), message
    return message


Expected = dict[str, list[Any]]


def test_postgres_answers_as_sqlite_does(postgres: PostgresServer, options: list[str], expected: Expected) -> None:
    assert converse(InProcess, [*options[:-1], postgres.with_schema()], NEWEST) == expected


@pytest.mark.parametrize("revision", REVISIONS)
def test_http_answers_as_stdio_does_in_every_revision(options: list[str], expected: Expected, revision: str) -> None:
    assert converse_over_http(HttpInProcess, options, revision) == expected


@pytest.mark.process
def test_a_process_answers_as_a_thread_does_over_stdio(options: list[str], expected: Expected) -> None:
    assert converse(Server, options, NEWEST) == expected


@pytest.mark.process
def test_a_process_answers_as_a_thread_does_over_http(options: list[str], expected: Expected) -> None:
    assert converse_over_http(HttpServer, options, NEWEST) == expected
