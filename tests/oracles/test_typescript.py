"""The official TypeScript clients, 1.x and 2.x, talk to a real server; what they hand their callers is compared whole.

Each client has one conversation (ts/conversation.mjs) on a new store, which all the tests of that client then read.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from satchel import __version__
from tests.oracles import node

pytestmark = pytest.mark.npm

PRINTED = json.loads((Path(__file__).parents[1] / "contracts" / "prompt_store.json").read_text())["tools"]
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")

SERVER = {"name": "prompt-store", "version": __version__}
CAPABILITIES = {"tools": {"listChanged": False}}
IN_EVERY_RESULT = {"_meta": {"io.modelcontextprotocol/serverInfo": SERVER}}
NOT_CACHED = {"ttlMs": 0, "cacheScope": "private"}

# What to run → the revision that has to come out of it. The 1.x line cannot be told to ask for an older one.
CLIENTS = {
    ("sdk1.mjs",): "2025-11-25",
    ("sdk2.mjs", "default"): "2025-11-25",
    ("sdk2.mjs", "auto"): "2026-07-28",
    ("sdk2.mjs", "2025-06-18"): "2025-06-18",
    ("sdk2.mjs", "2025-03-26"): "2025-03-26",
    ("sdk2.mjs", "2024-11-05"): "2024-11-05",
}
NEWEST = ("sdk2.mjs", "auto")


@dataclass(frozen=True)
class Conversation:
    """What one client told of its conversation with the server."""

    client: tuple[str, ...]
    said: dict[str, Any]
    log: str

    @property
    def revision(self) -> str:
        return CLIENTS[self.client]

    @property
    def is_newest(self) -> bool:
        return self.client == NEWEST

    def __getitem__(self, step: str) -> Any:
        return self.said[step]

    def body(self, outcome: dict[str, Any], *, is_error: bool = False) -> Any:
        """Return the body of a tool's answer, after checking everything around it."""
        text = outcome["result"]["content"][0]["text"]
        body = json.loads(text)
        expected: dict[str, Any] = {"content": [{"type": "text", "text": text}], "isError": is_error}
        if self.revision >= "2025-06-18":
            expected["structuredContent"] = body
        if self.is_newest:
            expected |= IN_EVERY_RESULT
        assert outcome == {"result": expected}
        return body

    def refusal(self, code: int, message: str, data: object = None) -> dict[str, Any]:
        """Return the form in which this client shows a JSON-RPC error."""
        if self.client == ("sdk1.mjs",):
            error = {"kind": "McpError", "code": code, "message": f"MCP error {code}: {message}"}
        else:
            error = {"kind": "ProtocolError", "code": code, "message": message}
        return {"error": error if data is None else {**error, "data": data}}


@pytest.fixture(scope="module", params=CLIENTS, ids=" ".join)
def heard(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Conversation:
    """The conversation of each client in turn."""
    folder = tmp_path_factory.mktemp("judge")
    script, *mode = request.param
    done = node.run(script, *mode, *node.satchel("prompt-store", folder / "satchel.db"), home=folder)
    assert done.returncode == 0, done.stderr
    return Conversation(request.param, json.loads(done.stdout), done.stderr)


def entry(prompt: dict[str, Any], snippet: str) -> dict[str, Any]:
    """Return a prompt, as the lists show it."""
    return {**{key: value for key, value in prompt.items() if key != "content"}, "snippet": snippet}


def page(*prompts: dict[str, Any], total: int, limit: int = 10, offset: int = 0, **echo: object) -> dict[str, Any]:
    has_more = offset + len(prompts) < total
    return {"prompts": [*prompts], "total": total, "limit": limit, "offset": offset, "has_more": has_more, **echo}


def test_the_client_agrees_with_the_server_on_a_revision_and_learns_what_it_is(heard: Conversation) -> None:
    assert heard["version"] == heard.revision
    assert heard["server"] == SERVER
    assert heard["capabilities"] == CAPABILITIES


def test_the_eight_tools_arrive_in_order_and_as_printed(heard: Conversation) -> None:
    tools = [
        {"name": name, "description": tool["description"], "inputSchema": tool["inputSchema"]}
        for name, tool in PRINTED.items()
    ]

    assert len(tools) == 8
    assert heard["tools"] == {
        "result": {"tools": tools, **({**IN_EVERY_RESULT, **NOT_CACHED} if heard.is_newest else {})}
    }


def test_an_added_prompt_is_got_listed_searched_and_filtered(heard: Conversation) -> None:
    added = heard.body(heard["added"])
    awkward = heard.body(heard["awkwardRead"])
    prompt = {
        "id": added["id"],
        "title": "Code Review Assistant",
        "content": "You are a code reviewer. Look for bugs.",
        "tags": ["coding", "review"],
        "created_at": added["created_at"],
        "updated_at": added["created_at"],
    }
    listed = entry(prompt, "You are a code reviewer. Look for bugs.")
    newer = entry(awkward, 'Bonjour 👋 next line and more "quotes" \\ tab .')

    assert UUID.fullmatch(added["id"]) and TIME.fullmatch(added["created_at"])
    assert added == {"id": added["id"], "title": "Code Review Assistant", "created_at": added["created_at"]}
    assert heard.body(heard["got"]) == prompt
    assert heard.body(heard["listed"]) == page(newer, listed, total=2)
    assert heard.body(heard["searched"]) == page(listed, total=1, query="REVIEWER")
    assert heard.body(heard["filtered"]) == page(listed, total=1, matched_tags=["coding"])
    assert [heard.body(one) for one in heard["pages"]] == [
        page(newer, total=2, limit=1),
        page(listed, total=2, limit=1, offset=1),
        page(total=2, limit=1, offset=2),
    ]


def test_text_that_careless_line_splitting_would_tear_comes_back_as_it_went(heard: Conversation) -> None:
    added = heard.body(heard["awkward"])

    assert heard.body(heard["awkwardRead"]) == {
        "id": added["id"],
        "title": "Awkward",
        "content": heard["awkwardContent"],
        "tags": [],
        "created_at": added["created_at"],
        "updated_at": added["created_at"],
    }


def test_a_call_that_asks_for_progress_is_answered_like_any_other(heard: Conversation) -> None:
    tags = {"tags": [{"name": "coding", "prompt_count": 1}, {"name": "review", "prompt_count": 1}], "total": 2}

    assert heard.body(heard["tags"]) == tags
    assert heard.body(heard["withProgress"]) == tags


def test_a_failure_of_a_tool_is_a_result_with_the_contracts_own_error(heard: Conversation) -> None:
    duplicate, _, invalid_tag = PRINTED["add_prompt"]["errors"]
    [not_found] = PRINTED["get_prompt"]["errors"]

    assert heard.body(heard["duplicate"], is_error=True) == duplicate
    assert heard.body(heard["invalidTag"], is_error=True) == invalid_tag
    assert heard.body(heard["notFound"], is_error=True) == not_found
    assert heard.body(heard["missingArgument"], is_error=True) == {
        "error": {"code": "INVALID_INPUT", "message": "Invalid content: it is required"}
    }
    assert duplicate["error"]["code"] == "DUPLICATE_TITLE"


def test_an_unknown_tool_and_unknown_methods_reach_the_caller_with_code_and_message(heard: Conversation) -> None:
    unknown = heard.refusal(-32601, "Method not found")

    assert heard["unknownTool"] == heard.refusal(-32602, "Unknown tool: nope")
    assert heard["unknownMethods"] == {"prompts/list": unknown, "satchel/nope": unknown}


def test_bad_parameters_reach_the_caller_with_code_message_and_data(heard: Conversation) -> None:
    def invalid(details: str) -> dict[str, Any]:
        return heard.refusal(-32602, "Invalid params", {"details": details})

    assert heard["unknownCursor"] == invalid("Unknown cursor")
    assert heard["namelessCall"] == invalid("Missing required parameter: name")
    assert heard["listAsArguments"] == invalid("arguments must be an object")


def test_ping_is_answered_in_the_handshake_generation(heard: Conversation) -> None:
    if heard.is_newest:  # where it does not exist, and the client does not let us ask
        assert heard["ping"]["error"]["code"] == "METHOD_NOT_SUPPORTED_BY_PROTOCOL_VERSION"
    else:
        assert heard["ping"] == {"result": {}}


def test_calls_sent_at_once_are_all_answered_and_take_effect_in_order(heard: Conversation) -> None:
    added = [heard.body(outcome) for outcome in heard["pipelined"]]
    last = heard.body(heard["listedAtLast"])

    assert [prompt["title"] for prompt in added] == ["One", "Two", "Three", "Four", "Five"]
    assert [prompt["id"] for prompt in last["prompts"][:5]] == [prompt["id"] for prompt in reversed(added)]


def test_a_prompt_is_updated_and_then_deleted(heard: Conversation) -> None:
    prompt = heard.body(heard["got"])
    updated = heard.body(heard["updated"])
    last = heard.body(heard["listedAtLast"])

    assert updated == {"id": prompt["id"], "title": "Reviewer", "updated_at": updated["updated_at"]}
    assert updated["updated_at"] >= prompt["updated_at"]
    assert heard.body(heard["gotUpdated"]) == {**prompt, **updated, "content": "Look for bugs."}
    assert heard.body(heard["deleted"]) == {"deleted": True, "id": prompt["id"]}
    assert [one["title"] for one in last["prompts"]] == ["Five", "Four", "Three", "Two", "One", "Awkward"]


def test_the_client_has_nothing_to_complain_of_and_the_server_leaves_by_itself(heard: Conversation) -> None:
    assert heard["problems"] == []
    assert heard["exit"] == [0, None]
    assert "surprise in" not in heard.log


@pytest.mark.parametrize("heard", [NEWEST], indirect=True, ids=" ".join)
def test_the_newest_revision_is_discovered(heard: Conversation) -> None:
    discovered = {"supportedVersions": ["2026-07-28"], "capabilities": CAPABILITIES, **NOT_CACHED, **IN_EVERY_RESULT}

    assert heard["discovered"] == {**discovered, "resultType": "complete"}
    assert heard["discoveredAgain"] == {"result": discovered}


@pytest.mark.parametrize("heard", [NEWEST], indirect=True, ids=" ".join)
def test_a_subscription_is_acknowledged_with_what_we_announce_and_ended_when_the_server_stops(
    heard: Conversation,
) -> None:
    # This contract announces no changes, so nothing of the wish is honoured; the stream is served all the same.
    assert heard["listened"] == {"result": {"honoured": {}, "closed": "local"}}
    assert heard["listenedToTheEnd"] == {"result": {"honoured": {}, "closed": "graceful"}}
