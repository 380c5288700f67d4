"""A token that is revoked stops what it began: a body that still arrives, and the rest of a batch."""

from pathlib import Path
from typing import Any

import pytest

from tests.attacks.floods import batch_request, list_titles, make_library, make_token, revoke, tool_request
from tests.support.in_process_http import WebInProcess
from tests.support.web import JSON, eventually, request

REVOKED = "The token was revoked."


@pytest.mark.parametrize("door", ["mcp", "tool"])
def test_a_token_that_is_revoked_while_the_body_arrives_does_nothing(store: str, door: str) -> None:
    token = make_token(store)
    other = make_token(store, token.user)
    raw = tool_request(token, "add_task", {"title": "late"})
    if door == "tool":
        raw = request("POST", "/mcp/tool/add_task", [JSON, token.header], b'{"title": "late"}')
    with WebInProcess("-d", store, "--auth", "token") as server, server.connect() as wire:
        wire.send(raw[:-5])
        assert list_titles(server, other) == []
        revoke(store, token)
        wire.send(raw[-5:] + raw)  # and one more behind it
        for _ in range(2):
            answer = wire.read()
            assert answer.status == 401 and answer.header("www-authenticate")
            told: Any = answer.json
            assert (told["error"]["message"] if door == "mcp" else told["error"]) == REVOKED
        assert list_titles(server, other) == []


def test_a_token_revoked_during_a_batch_runs_no_further_call(store: str, tmp_path: Path) -> None:
    make_library(tmp_path / "libraries" / "a")
    token = make_token(store)
    other = make_token(store, token.user)
    renders, writes = [("get_prompt", {"prompt": "a:slow", "arguments": {}})] * 4, [("add_tasks", {"lines": ["x"]})] * 5
    options = ("-d", store, "--auth", "token", "--libraries", str(tmp_path / "libraries"))
    with WebInProcess(*options) as server, server.connect() as wire:
        wire.send(batch_request(token, [*renders, *writes], "/mcp/satchel"))
        assert eventually(lambda: "get_prompt" in server.stderr)  # the first one has ended, after half a second
        revoke(store, token)
        answer = wire.read()
        assert answer.status == 200
        assert [one["error"]["message"] for one in answer.json[-5:]] == [REVOKED] * 5
        assert list_titles(server, other) == []
