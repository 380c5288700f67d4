"""Every call is logged on stderr with name, outcome and duration, even if it is refused before a tool runs."""

import re
from collections.abc import Callable

from satchel.auth import tokens
from satchel.services import projects
from satchel.storage.database import Database
from tests.support.in_process_http import HttpInProcess
from tests.support.stdio import NEWEST, OLDEST, Client

ADA = "550e8400-e29b-41d4-a716-446655440000"
LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z (.*) \d+\.\d ms")
JSON = {"Content-Type": "application/json"}
# A client may send any text as a tool name. The log cuts it, and it cannot look like a log line.
FORGED = "x\n2026-01-01T00:00:00.000000Z add_task ok 0.1 ms\x1b[31m\u202e"


def logged(stderr: str) -> list[str]:
    """Return the log lines of the calls, without time and duration; check that stderr has nothing else."""
    lines = [LINE.fullmatch(line) for line in stderr.splitlines()]
    assert all(lines), stderr
    return [line[1] for line in lines if line]


def test_unknown_tools_and_malformed_arguments_are_logged(store: str, serve: Callable[..., Client]) -> None:
    client = serve("tasks", store, NEWEST, "--user", ADA)
    client.call("add_task", title="Sesame")
    client.call("add_task", title=5)
    for params in (
        {"name": "no_such_tool", "arguments": {"title": "Sesame"}},
        {"name": FORGED},
        {"name": "y" * 1_000_000},
        {"name": "add_task", "arguments": ["Sesame"]},
        {"name": "add_task", "arguments": "Sesame"},
        {"name": "no-such-tool", "arguments": 5},
        {"name": {"Sesame": 1}},
        {"arguments": {}},
        {"name": "Sesa\0me"},
    ):
        assert client.request("tools/call", params)["error"]["code"] == -32602
    client.close()
    assert logged(client.stderr) == [
        "add_task ok",
        "add_task WrongArgument",
        "no_such_tool UnknownTool",
        r"'x\n2026-01-01T00:00:00.000000Z add_task ok 0.1 ms\x1b[31m\u202e' UnknownTool",
        f"'{'y' * 64}' UnknownTool",
        "add_task InvalidParams",
        "add_task InvalidParams",
        "'no-such-tool' InvalidParams",
        "'tools/call' InvalidParams",
        "'tools/call' InvalidParams",
        r"'Sesa\x00me' InvalidParams",
    ]


def test_over_http_what_is_refused_with_403_is_logged_too(store: str, database: Database) -> None:
    with database.write() as tx:
        for name in ("a", "b"):
            projects.add(tx, name)
        read_only = tokens.create(tx, user=ADA, is_read_only=True)[1]
        only_a = tokens.create(tx, user=ADA, projects=["a"])[1]
    with HttpInProcess("--database", store, "--auth", "token") as server:
        server.token = read_only
        assert server.call("list_tasks", path="/mcp/tasks")["isError"] is False
        add = {"name": "add_task", "arguments": {"title": "Sesame"}}
        assert server.ask("tools/call", add, path="/mcp/tasks").status == 403
        assert server.ask("tools/call", {**add, "name": "delete_task"}, path="/mcp/todo", revision=OLDEST).status == 403
        assert server.fetch("POST", "/mcp/tool/add_task", b'{"title": "Sesame"}', JSON).status == 403
        batch = [server.message("tools/call", {"name": name}, "2025-03-26") for name in ("list_tasks", "add_task")]
        assert server.post(batch, path="/mcp/tasks").status == 403
        assert server.ask("tools/call", {"name": "no_such_tool"}, path="/mcp/todo").status == 400
        assert server.ask("tools/call", {"name": "list_tasks", "arguments": []}, path="/mcp/todo").status == 400
        assert server.fetch("POST", "/mcp/tool/no_such%1Btool", b"{}", JSON).status == 404
        assert server.fetch("POST", "/mcp/tool/list_tasks", b"{", JSON).status == 400
        assert server.fetch("POST", "/mcp/tool/list_tasks", b"[]", JSON).status == 400
        server.token = only_a
        assert server.ask("tools/call", add, path="/mcp/tasks?project=b").status == 403
        assert server.ask("tools/list", path="/mcp", headers={"Origin": "https://evil.example"}).status == 403
    assert logged(server.stderr) == [
        "list_tasks ok",
        "add_task Forbidden",
        "delete_task Forbidden",
        "add_task Forbidden",
        "list_tasks Forbidden",
        "add_task Forbidden",
        "no_such_tool UnknownTool",
        "list_tasks InvalidParams",
        r"'no_such\x1btool' UnknownTool",
        "list_tasks InvalidParams",
        "list_tasks InvalidParams",
        "'POST /mcp/tasks' Forbidden",
        "'POST /mcp' Forbidden",
    ]
