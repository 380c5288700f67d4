"""With OAuth, only a token with the scope satchel:write changes anything, through every door."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jwt
import pytest

from tests.auth.issuer import jwk, rsa_key
from tests.support.in_process_http import HttpInProcess

ISSUER, AUDIENCE = "https://issuer.example", "https://satchel.example/mcp"
KEY = rsa_key()
OTHERS = (
    None,
    "",
    "openid profile",
    "satchel:read",
    "satchel:writer",
    "SATCHEL:WRITE",
    "write",
    "satchel",
    "satchel:*",
)


def token(scope: str | None, **more: Any) -> str:
    now = int(time.time())
    claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "iat": now, "exp": now + 600, **more}
    return jwt.encode(claims | ({} if scope is None else {"scope": scope}), KEY, "RS256", {"kid": "one"})


@pytest.fixture(scope="module", params=[(), ("--oauth-any-scope",)], ids=["our scope", "any scope"])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[HttpInProcess, bool]]:
    """A server, and whether tokens without our scopes may write."""
    folder: Path = tmp_path_factory.mktemp("scopes")
    (folder / "keys.json").write_text(json.dumps({"keys": [jwk(KEY, "one")]}))
    oauth = ("--auth", "oauth", "--oauth-issuer", ISSUER, "--oauth-keys", str(folder / "keys.json"))
    with HttpInProcess("-d", str(folder / "s.db"), *oauth, "--oauth-audience", AUDIENCE, *request.param) as server:
        yield server, bool(request.param)


def add(server: HttpInProcess, door: str) -> int:
    """Try to add something; the status."""
    body = json.dumps({"title": "x"}).encode()
    if door == "plain":
        return server.fetch("POST", "/mcp/tool/add_task", body, {"Content-Type": "application/json"}).status
    arguments = {"title": "x", "content": "y"} if door == "prompt-store" else {"title": "x"}
    tool = "add_prompt" if door == "prompt-store" else "add_task"
    return server.ask("tools/call", {"name": tool, "arguments": arguments}, path=f"/mcp/{door}").status


@pytest.mark.parametrize("door", ["plain", "tasks", "satchel", "prompt-store"])
def test_a_token_of_any_other_scope_only_reads(server: tuple[HttpInProcess, bool], door: str) -> None:
    one, is_any_enough = server
    for scope in OTHERS:
        one.token = token(scope, sub=f"{door} {scope}")
        may_write = is_any_enough and scope != "satchel:read"
        assert add(one, door) == (200 if may_write else 403), scope
        one.token = token(None, sub=f"{door} {scope}", scp=[scope or "openid"])
        assert add(one, door) in ((200, 409) if may_write else (403,)), scope
        assert one.ask("tools/list", path="/mcp/tasks").status == 200
    for number, scope in enumerate(("satchel:write", "openid satchel:write", "satchel:read satchel:write")):
        one.token = token(scope, sub=f"{door} good {number}")
        assert add(one, door) == 200
