"""Streamable HTTP as MCP has it, in both generations: headers, statuses, streams and their end."""

import itertools
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import conformance_server
from tests.support.http import Answer, HttpClient, HttpServer
from tests.support.in_process_http import HttpInProcess
from tests.support.stdio import META, NEWEST, REVISIONS, modern_meta

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "libraries"
HANDSHAKES = REVISIONS[:-1]
LIST_TAGS = {"name": "list_tags", "arguments": {}}

VERSION, METHOD, NAME = "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpInProcess]:
    """A server with something of everything: tools at /mcp, prompts and resources at /mcp/mcpkg, libraries at twig."""
    store = str(tmp_path_factory.mktemp("http") / "satchel.db")
    with HttpInProcess("--contract", "prompt-store", "--database", store, "--libraries", str(EXAMPLES)) as server:
        for tool, given in (
            ("create_prompt", {"name": "greeting", "content": "Hello"}),
            ("create_resource", {"name": "notes", "uri": "file:///Grüße/notes.md", "content": "# Notes"}),
        ):
            assert server.call(tool, given, path="/mcp/mcpkg")["isError"] is False
        yield server


def refusal(answer: Answer) -> tuple[int, int, str]:
    return answer.status, answer.error["code"], answer.error["message"]


# -- the newest generation: headers that mirror the body ----------------------------------------------------------


def test_a_request_whose_headers_mirror_it_is_answered_in_json(server: HttpClient) -> None:
    answer = server.ask("tools/call", LIST_TAGS)

    assert (answer.status, answer.kind) == (200, "application/json")
    assert answer.json["result"]["resultType"] == "complete"
    assert answer.json["result"]["_meta"][f"{META}serverInfo"]["name"] == "prompt-store"
    assert "mcp-session-id" not in answer.headers


def test_a_header_that_is_missing_or_given_twice_is_a_mismatch(server: HttpClient) -> None:
    for name, value in ((VERSION, NEWEST), (METHOD, "tools/call"), (NAME, "list_tags")):
        missing = server.ask("tools/call", LIST_TAGS, headers={name: None})
        assert refusal(missing) == (400, -32020, f"Header mismatch: {name} header is missing")
        twice = server.ask("tools/call", LIST_TAGS, headers={name: [value, value]})
        assert refusal(twice) == (400, -32020, f"Header mismatch: {name} is given more than once")


def test_a_header_that_says_something_else_is_a_mismatch(server: HttpClient) -> None:
    for name, value in (
        (VERSION, "2025-11-25"),
        (VERSION, "2027-01-01"),
        (VERSION, ""),
        (METHOD, "tools/list"),
        (METHOD, "TOOLS/CALL"),
        (METHOD, "=?base64?dG9vbHMvY2FsbA==?="),  # which is for names only
        (NAME, "list_prompts"),
        (NAME, "List_Tags"),
        (NAME, ""),
        (NAME, "=?base64?bGlzdF90YWdz"),  # which is not the Base64 form, and means itself
    ):
        answer = server.ask("tools/call", LIST_TAGS, headers={name: value})
        assert refusal(answer) == (400, -32020, f"Header mismatch: {name} header does not match the body"), value


def test_every_method_is_mirrored_and_some_have_a_name(server: HttpClient) -> None:
    asked: tuple[tuple[str, dict[str, Any], str], ...] = (
        ("tools/list", {}, "/mcp"),
        ("prompts/get", {"name": "greeting"}, "/mcp/mcpkg"),
        ("resources/read", {"uri": "file:///Grüße/notes.md"}, "/mcp/mcpkg"),
        ("server/discover", {}, "/mcp/todo"),
    )
    for method, params, path in asked:
        assert server.ask(method, params, path=path).status == 200
        assert server.ask(method, params, path=path, headers={METHOD: None}).error["code"] == -32020
        if params:
            assert server.ask(method, params, path=path, headers={NAME: None}).error["code"] == -32020
        else:
            assert server.ask(method, params, path=path, headers={NAME: "whatever"}).status == 200


# -- the newest generation: versions and errors -------------------------------------------------------------------


def test_an_unsupported_version_gets_the_supported_ones(server: HttpClient) -> None:
    for date in ("2025-11-25", "2027-01-01", ""):
        message = server.message("tools/list")
        message["params"]["_meta"] = modern_meta(date)
        answer = server.post(message, {VERSION: date})  # and who knows what other headers it has
        assert (answer.status, answer.json["id"]) == (400, message["id"])
        assert answer.error == {
            "code": -32022,
            "message": "Unsupported protocol version",
            "data": {"supported": [NEWEST], "requested": date},
        }


def test_metadata_of_the_newest_generation_without_a_version_is_a_bad_request(server: HttpClient) -> None:
    headers: tuple[dict[str, str], ...] = ({}, {VERSION: "2025-11-25"})
    for key, given in itertools.product(("clientCapabilities", "clientInfo"), headers):
        for method in ("tools/list", "server/discover", "initialize"):
            params = {"_meta": {f"{META}{key}": {}}}
            answer = server.post({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}, given)
            assert (answer.status, answer.json["id"], answer.error["code"]) == (400, 7, -32602)


def test_errors_of_requests_have_a_status_of_http(server: HttpClient) -> None:
    for method in ("satchel/nope", "initialize", "resources/subscribe"):
        assert refusal(server.ask(method, {})) == (404, -32601, "Method not found")
    assert refusal(server.ask("tools/call", {"name": "nope"})) == (400, -32602, "Unknown tool: nope")
    assert refusal(server.ask("tools/list", {"cursor": "nope"})) == (400, -32602, "Invalid params")


# -- the handshake generation -----------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", HANDSHAKES)
def test_a_handshake_is_answered_and_needs_no_session(server: HttpClient, revision: str) -> None:
    opened = server.ask("initialize", revision=revision)
    ready = server.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, {VERSION: revision})
    called = server.ask("tools/call", LIST_TAGS, revision=revision)

    assert opened.result["protocolVersion"] == revision
    assert (ready.status, ready.body) == (202, b"")
    assert called.result["isError"] is False
    assert ("structuredContent" in called.result) == (revision >= "2025-06-18")
    assert "mcp-session-id" not in opened.headers


def test_a_header_with_a_version_that_nobody_knows_is_refused(server: HttpClient) -> None:
    for date in ("1999-01-01", "", "2025-06-18, 2025-11-25"):
        answer = server.ask("tools/list", revision="2025-11-25", headers={VERSION: date})
        assert refusal(answer) == (400, -32022, "Unsupported protocol version")
        assert answer.error["data"] == {"supported": [NEWEST], "requested": date}


def test_errors_of_requests_are_only_in_the_body(server: HttpClient) -> None:
    for revision in HANDSHAKES:
        assert refusal(server.ask("satchel/nope", {}, revision=revision)) == (200, -32601, "Method not found")


def test_without_the_header_a_batch_is_answered_as_a_batch(server: HttpClient) -> None:
    batch = [
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "satchel/nope"},
        {"jsonrpc": "2.0", "id": 3, "method": "initialize", "params": {"protocolVersion": "2025-03-26"}},
        {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": LIST_TAGS},
    ]
    for headers in ({}, {VERSION: "2025-03-26"}):
        answer = server.post(batch, headers)
        assert (answer.status, answer.kind) == (200, "application/json")
        assert [one["id"] for one in answer.json] == [1, 2, 3, 4]
        assert [one.get("error", {}).get("code") for one in answer.json] == [None, -32601, -32600, None]


# -- both -------------------------------------------------------------------------------------------------------


def test_notifications_and_responses_are_accepted_without_a_word(server: HttpClient) -> None:
    messages: tuple[dict[str, Any], ...] = (
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
        {"jsonrpc": "2.0", "method": "notifications/whatever"},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
    )
    for revision, message in itertools.product((None, *REVISIONS), messages):
        answer = server.post(message, {VERSION: revision})
        assert (answer.status, answer.body, answer.kind) == (202, b"", None)


def test_what_is_no_json_or_no_request_is_a_bad_request(server: HttpClient) -> None:
    for revision in (None, *REVISIONS):
        for body in (b"", b"{", b'{"jsonrpc":"2.0","id":1,"method":NaN}', b"\xff\xfe"):
            answer = server.post(body, {VERSION: revision})
            assert refusal(answer) == (400, -32700, "Parse error")
            # JSON-RPC has a null id here; from 2025-11-25 on, and where nothing was agreed on, MCP leaves it out.
            has_null = revision is not None and revision < "2025-11-25"
            assert answer.json.get("id", "absent") == (None if has_null else "absent")
        answer = server.post({"jsonrpc": "1.0", "id": 4, "method": "tools/list"}, {VERSION: revision})
        assert refusal(answer) == (400, -32600, "Invalid request") and answer.json["id"] == 4


# -- streams ----------------------------------------------------------------------------------------------------

EVENTS = {"Accept": "text/event-stream"}


def test_there_is_no_stream_where_nothing_is_announced_or_for_another_generation(server: HttpClient) -> None:
    nothing = [(path, "2025-11-25") for path in ("/mcp", "/mcp/todo", "/mcp/tasks", "/mcp/mcpkg")]
    for path, date in (*nothing, ("/mcp/twig", NEWEST), ("/mcp/twig", "1999-01-01")):
        answer = server.fetch("GET", path, headers={**EVENTS, VERSION: date})
        assert (answer.status, answer.headers["allow"]) == (405, "POST")


def test_a_stream_is_accepted_in_every_way_that_http_has(server: HttpClient) -> None:
    for accept in (None, "", "application/json", "text/plain, application/*"):
        answer = server.fetch("GET", "/mcp/twig", headers={"Accept": accept, VERSION: "2025-11-25"})
        assert answer.status == 406
    for accept in ("*/*", "text/*;q=0.5", "application/json,TEXT/EVENT-STREAM ; q=1", "x, text/event-stream"):
        server.open("2025-11-25", path="/mcp/twig", accept=accept).close()


def test_a_get_opens_a_stream_that_no_proxy_keeps_back(server: HttpClient) -> None:
    for revision in HANDSHAKES:
        with server.open(revision, path="/mcp/twig") as stream:
            assert stream.headers["cache-control"] == "no-cache, no-transform"
            assert stream.headers["x-accel-buffering"] == "no"
    with server.open(path="/mcp/twig") as stream:
        assert stream.is_silent()


def test_a_listener_first_learns_what_is_announced(server: HttpClient) -> None:
    wish = {"promptsListChanged": True, "toolsListChanged": True, "resourceSubscriptions": ["x:y"]}
    with server.listen(wish, path="/mcp/twig") as stream:
        assert stream.headers["x-accel-buffering"] == "no"
        assert stream.read() == {
            "jsonrpc": "2.0",
            "method": "notifications/subscriptions/acknowledged",
            "params": {"notifications": {"promptsListChanged": True}, "_meta": {f"{META}subscriptionId": stream.id}},
        }
        assert stream.is_silent()


def test_a_change_reaches_both_generations(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "libraries")
    options = ("--contract", "twig", "--libraries", str(tmp_path / "libraries"), "--database", str(tmp_path / "s.db"))
    with (
        HttpInProcess(*options) as server,
        server.listen({"promptsListChanged": True}) as listened,
        server.listen({"toolsListChanged": True}) as elsewhere,
        server.open() as opened,
    ):
        listened.read()
        elsewhere.read()
        before = server.ask("prompts/list").result["prompts"]
        (tmp_path / "libraries" / "everyday" / "twig.toml").write_text("[prompts.only]\n")

        changed = "notifications/prompts/list_changed"
        tag = {"_meta": {f"{META}subscriptionId": listened.id}}
        assert listened.read() == {"jsonrpc": "2.0", "method": changed, "params": tag}
        assert opened.read() == {"jsonrpc": "2.0", "method": changed}
        assert elsewhere.is_silent()
        assert server.ask("prompts/list").result["prompts"] != before


# -- the end ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_leaves_ends_its_streams_in_order(tmp_path: Path, number: int) -> None:
    options = ("--contract", "twig", "--libraries", str(EXAMPLES), "--database", str(tmp_path / "s.db"))
    with (
        HttpServer(*options) as server,
        server.listen({"promptsListChanged": True}) as listened,
        server.open() as opened,
    ):
        listened.read()
        server.process.send_signal(number)
        last = listened.read()
        assert (last["id"], last["result"]["resultType"]) == (listened.id, "complete")
        assert last["result"]["_meta"][f"{META}subscriptionId"] == listened.id
        assert listened.ended() and opened.ended()
        assert server.process.wait(5) == 0


def test_a_call_in_progress_is_finished_before_the_end(tmp_path: Path) -> None:
    command = [sys.executable, "-m", conformance_server.__name__]
    call = {"name": "test_tool_with_progress", "_meta": {"progressToken": "p"}}
    with HttpServer("--database", str(tmp_path / "s.db"), command=command) as server:
        with server.begin("tools/call", call) as stream:
            assert stream.read()["params"] == {"progressToken": "p", "progress": 0, "total": 100}
            server.process.send_signal(signal.SIGTERM)
            assert [stream.read()["params"]["progress"] for _ in range(2)] == [50, 100]
            last = stream.read()
            assert (last["id"], last["result"]["content"]) == (stream.id, [{"type": "text", "text": "Done."}])
            assert stream.ended()
        assert server.process.wait(5) == 0
