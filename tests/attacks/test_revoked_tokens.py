"""F15: a token that is revoked stops what it began: a body that still arrives, and the rest of a batch."""

from typing import Any

import pytest

from tests.attacks.neighbours import GREEDY, SlowServer, ask, bearer, make_token, revoke, write_batch, write_call
from tests.support.web import JSON, Wire, request

REVOKED = "The token was revoked."


@pytest.mark.parametrize("door", ["mcp", "tool"])
def test_a_token_that_is_revoked_while_the_body_arrives_does_nothing(store: str, door: str) -> None:
    id, secret = make_token(store, GREEDY)
    _, other = make_token(store, GREEDY)
    if door == "mcp":
        raw = write_call(secret, "note", {"title": "late"})
    else:
        raw = request("POST", "/mcp/tool/add_task", [JSON, *bearer(secret)], b'{"title": "late"}')
    with SlowServer(store, "--auth", "token") as server, server.connect() as wire:
        wire.send(raw[:-5])
        assert ask(server, other, "titles") == ""
        revoke(store, id)
        wire.send(raw[-5:])
        answer = wire.read()
        assert answer.status == 401 and answer.header("www-authenticate")
        told: Any = answer.json
        assert (told["error"]["message"] if door == "mcp" else told["error"]) == REVOKED
        assert ask(server, other, "titles") == ""


def test_a_token_that_is_revoked_between_the_calls_of_a_batch_does_no_more(store: str) -> None:
    id, secret = make_token(store, GREEDY)
    _, other = make_token(store, GREEDY)
    batch = [("pause", {"milliseconds": 2000}), *[("note", {"title": f"{n}"}) for n in range(5)]]
    with SlowServer(store, "--auth", "token") as server, server.connect() as wire:
        wire.send(write_batch(secret, batch))
        wait_until_begun(wire)
        revoke(store, id)
        answer = wire.read()
        assert answer.status == 200
        done, *rest = answer.json
        assert done["result"]["content"][0]["text"] == "paused"
        assert [one["error"]["message"] for one in rest] == [REVOKED] * 5
        assert ask(server, other, "titles") == ""


def wait_until_begun(wire: Wire) -> None:
    """Give a batch the time to begin; if it has not, the token is refused before it, and the test fails."""
    wire.socket.settimeout(0.5)
    with pytest.raises(TimeoutError):
        wire.socket.recv(1)
    wire.socket.settimeout(60)
