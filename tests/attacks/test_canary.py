"""No secret and no content gets into the log, and no path, statement or traceback into an answer, whatever is asked."""

import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from satchel.auth import tokens
from satchel.contracts import CONTRACTS, load
from satchel.model import Scope
from satchel.services import projects
from satchel.storage.database import open_database
from tests.support.command import run
from tests.support.in_process import InProcess
from tests.support.in_process_http import HttpInProcess
from tests.support.postgres import PostgresServer
from tests.support.soak import amount

ADA = "6f0a2f5e-9c1c-4a6e-8a51-0d8f8f3c2b11"
CANARY = "canary-text-5f1d"
PASSWORD = "canary-password-77"
# What an error may not tell: folders and files of ours, SQL, frames of Python, classes of drivers.
INSIDE = re.compile(
    r"Traceback|File \"|site-packages|/src/satchel|\.py\b|sqlite|apsw|psycopg|\bselect\b.+\bfrom\b|insert into|pragma"
    r"|/tmp/|/dev/shm|\.db\b|satchel_schema|no such (table|column)|relation \"",
    re.IGNORECASE,
)
ODD = ([CANARY], {CANARY: CANARY}, f"{CANARY}\ud800", CANARY * 4000, f"{CANARY}\0", 5.5, None, -1)
BREAKAGES = (
    "alter table prompts rename to prompts_elsewhere",
    "alter table tasks rename column title to heading",
    "alter table documents rename to resources_elsewhere",
)


def valid(schema: dict[str, Any], text: str = CANARY) -> Any:
    """Return a value that a schema may accept, with the canary in every text."""
    if "enum" in schema:
        return schema["enum"][0]
    for choice in ("anyOf", "oneOf"):
        if choice in schema:
            return valid(schema[choice][0], text)
    kind = schema.get("type", "string")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return {name: valid(one, text) for name, one in schema.get("properties", {}).items()}
    if kind == "array":
        return [valid(schema.get("items", {}), text)]
    if kind in ("integer", "number"):
        return 1
    if kind == "boolean":
        return True
    return ADA if schema.get("format") == "uuid" else text


def calls(contract: str) -> Iterator[tuple[str, Any]]:
    """Every tool with good arguments, with each of them wrong in several ways, with too few and with unknown ones."""
    for tool in load(contract).tools:
        schema: dict[str, Any] = load(contract).publish_schema(tool)["properties"]["input"]
        required = {name: valid(schema["properties"][name]) for name in schema.get("required", ())}
        everything = valid(schema)
        yield tool.name, everything
        yield tool.name, required
        yield tool.name, {}
        yield tool.name, {**required, CANARY: CANARY}
        for name in schema.get("properties", {}):
            for odd in ODD[: amount(4, 8)]:
                yield tool.name, {**required, name: odd}


METHODS: list[tuple[str, dict[str, Any]]] = [
    ("prompts/get", {"name": CANARY, "arguments": {"code": CANARY}}),
    ("resources/read", {"uri": f"satchel://resource/{CANARY}"}),
    (
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": CANARY}, "argument": {"name": CANARY, "value": CANARY}},
    ),
    (f"{CANARY}/{CANARY}", {CANARY: CANARY}),
    ("tools/call", {"name": f"{CANARY} {CANARY}", "arguments": {}}),
]


def check_answers(answers: list[str]) -> None:
    """Check that no error reveals internals."""
    for answer in answers:
        without = answer.replace(CANARY, "")
        assert not INSIDE.search(without), INSIDE.search(without)


def is_error(message: Any) -> bool:
    return "error" in message or bool(message.get("result", {}).get("isError"))


def check_log(stderr: str, *secrets: str) -> None:
    """Check that no argument and no secret was logged; only an invented name of a tool or method may be."""
    lines = [line for line in stderr.splitlines() if not re.search(rf"Z '{CANARY}.{{0,60}}' \w+ [\d.]+ ms$", line)]
    for line in lines:
        assert not any(secret in line for secret in (CANARY, *secrets)), line
    assert "surprise in" not in stderr, stderr


@pytest.mark.parametrize("contract", CONTRACTS)
def test_stdio_logs_nothing_of_what_calls_contain(store: str, contract: str, tmp_path: Path) -> None:
    errors = []
    with closing(InProcess("--contract", contract, "--database", store, "--libraries", str(tmp_path))) as server:
        for breakage in ("", *BREAKAGES):
            if breakage and not load(contract).reads_store:
                continue
            if breakage:
                damage(store, breakage)
            for tool, arguments in calls(contract):
                if breakage and len(json.dumps(arguments)) > 2000:
                    continue
                answer = server.request("tools/call", {"name": tool, "arguments": arguments})
                errors += [json.dumps(answer)] if is_error(answer) else []
            for method, params in METHODS:
                errors += [json.dumps(server.request(method, params))]
    assert len(errors) > 3
    check_answers(errors)
    check_log(server.stderr)


def damage(store: str, sql: str) -> None:
    """Break a table, as another program would."""
    database = open_database(store)
    with database.write() as tx:
        tx.run(sql)
    database.close()


def test_over_http_neither_tokens_nor_contents_are_logged(store: str) -> None:
    database = open_database(store)
    projects.require(database, Scope())
    with database.write() as tx:
        _, secret = tokens.create(tx, user=ADA)
        _, reader = tokens.create(tx, user=ADA, is_read_only=True)
    database.close()
    wrong = "satchel_" + "canaryW" * 6 + "x"
    errors = []
    with HttpInProcess("--database", store, "--auth", "token") as server:
        for contract in CONTRACTS:
            for number, (tool, arguments) in enumerate(calls(contract)):
                server.token = (secret, secret, reader, wrong, f"{wrong}x")[number % 5]
                body = json.dumps(
                    {
                        "jsonrpc": "2.0",
                        "id": 1,
                        "method": "tools/call",
                        "params": {"name": tool, "arguments": arguments},
                    }
                )
                if number % 3 and len(body) > 20_000:
                    continue
                answer = server.fetch(
                    "POST",
                    f"/mcp/{contract}?project={CANARY}" if number % 7 == 0 else f"/mcp/{contract}",
                    body.encode("utf-8", "surrogatepass"),
                    HEADERS,
                )
                errors += [answer.body.decode()] if answer.status != 200 or b'"isError":true' in answer.body else []
        server.token = secret
        kind = {"Content-Type": "application/json"}
        for tool in ("add_task", CANARY):
            for raw in (b"{", CANARY.encode(), json.dumps({"title": 5, CANARY: CANARY}).encode()):
                errors.append(server.fetch("POST", f"/mcp/tool/{tool}", raw, kind).body.decode())
        for path in ("/", f"/mcp/{CANARY}", "/mcp/../../etc/passwd", f"/health?{CANARY}"):
            server.fetch("GET", path)
        server.token = None
        for given in (f"Basic {secret}", secret, f"Bearer {secret} {secret}"):
            errors.append(server.fetch("POST", "/mcp/tasks", b"{}", {"Authorization": given}).body.decode())
    assert len(errors) > 50
    check_answers(errors)
    for error in errors:
        assert not any(one in error for one in (secret, reader, wrong))
    check_log(server.stderr, secret, reader, wrong, secret[8:], wrong[8:30])


HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2025-06-18",
}


def test_rows_that_postgres_quotes_in_its_errors_are_not_logged(postgres: PostgresServer) -> None:
    store = postgres.fresh()
    open_database(store).close()
    with psycopg.connect(store) as connection:
        connection.execute("alter table prompts add constraint odd check (length(title) < 3)")
    with closing(InProcess("--contract", "prompt-store", "--database", store)) as server:
        assert server.call("add_prompt", {"title": CANARY, "content": CANARY})["isError"] is True
    assert 'violates check constraint "odd"' in server.stderr
    check_log(server.stderr)


def test_the_password_of_a_database_is_never_logged(postgres: PostgresServer) -> None:
    store = postgres.fresh().replace("satchel@", f"satchel:{PASSWORD}@")
    with closing(InProcess("--contract", "prompt-store", "--database", store)) as server:
        server.call("add_prompt", {"title": CANARY, "content": CANARY})
    check_log(server.stderr, PASSWORD)
    nowhere = f"postgresql://satchel:{PASSWORD}@127.0.0.1:1/x"
    for bad in (nowhere, f"postgresql://satchel:{PASSWORD}@[bad/x", store.replace("/t", "/no_such_t")):
        for command in (("prompt", "list"), ("prompt", "add", "T", "text"), ("database", "status"), ("dump",)):
            done = run(*command, "-d", bad)
            assert done.returncode == 1 and PASSWORD not in (done.stdout + done.stderr).decode(), (bad, command)
