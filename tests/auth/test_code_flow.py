"""The login of a browser with an issuer: what hinders it, and how often the issuer is asked."""

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from satchel.auth import code_flow
from satchel.auth import issuer as module
from satchel.auth.code_flow import CodeFlow
from satchel.auth.oauth import OAuth
from satchel.errors import AuthUnavailable, Unauthorized
from tests.auth.conftest import Clock
from tests.auth.issuer import AUDIENCE, KEY, Issuer
from tests.support.in_process_http import WebInProcess
from tests.support.process import eventually
from tests.support.web import HANDSHAKE, call

METADATA, OPENID = "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"
QUERY, COOKIE = {"state": "state", "code": "c"}, "state.verifier"


@pytest.fixture(autouse=True)
def offers_the_code_flow(issuer: Issuer) -> None:
    metadata = {
        "issuer": issuer.url,
        "jwks_uri": f"{issuer.url}/keys",
        "authorization_endpoint": f"{issuer.url}/authorize",
        "token_endpoint": f"{issuer.url}/token",
        "code_challenge_methods_supported": ["S256"],
    }
    issuer.answers[METADATA] = json.dumps(metadata).encode()


@pytest.fixture
def flow(issuer: Issuer) -> CodeFlow:
    return CodeFlow(OAuth(issuer.url, {AUDIENCE}), "page", "https://satchel.example")


def find_obstacles(flow: CodeFlow, count: int = 1) -> set[str]:
    async def find() -> list[str]:
        return await asyncio.gather(*(flow.find_obstacle() for _ in range(count)))

    return set(asyncio.run(find()))


def test_logins_and_tokens_share_the_metadata(issuer: Issuer, flow: CodeFlow) -> None:
    answer = json.dumps({"access_token": issuer.token(KEY, "one", sub="ada", scope="satchel:write")})
    issuer.answers["/token"] = answer.encode()
    assert find_obstacles(flow, 50) == {""}
    start = asyncio.run(flow.begin())
    assert start.url.startswith(f"{issuer.url}/authorize?response_type=code&client_id=page&")
    identity = asyncio.run(flow.finish(QUERY, COOKIE))
    assert not identity.is_read_only
    assert issuer.asked == [METADATA, "/token", "/keys"]


def test_all_visitors_share_one_fetch_and_a_failure_is_cached_for_ten_seconds(
    issuer: Issuer, flow: CodeFlow, clock: Clock
) -> None:
    good = issuer.answers[METADATA]
    issuer.answers[METADATA] = b"{}"
    why = f"The issuer {issuer.url} cannot be reached: {issuer.url}{METADATA} is not the metadata of an issuer; "
    [obstacle] = find_obstacles(flow, 50)
    assert obstacle.startswith(why) and obstacle.endswith("status 404.")
    clock.now += 9
    assert find_obstacles(flow, 50) == {obstacle}
    with pytest.raises(AuthUnavailable):
        asyncio.run(flow.begin())
    assert issuer.asked == [METADATA, OPENID]
    issuer.answers[METADATA] = good
    clock.now += 1
    assert find_obstacles(flow) == {""}


def test_a_visitor_waits_for_a_hanging_issuer_only_for_a_bounded_time(
    issuer: Issuer, flow: CodeFlow, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = hang(issuer, METADATA, "/token")
    monkeypatch.setattr(module, "_WAIT", 0.01)
    assert find_obstacles(flow, 50) == {f"The issuer {issuer.url} cannot be reached: it has not answered yet."}
    assert issuer.asked == [METADATA]
    go_on.set()


def test_one_login_at_a_time_asks_for_its_token(
    issuer: Issuer, flow: CodeFlow, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_obstacles(flow) == {""}
    go_on = hang(issuer, "/token")
    monkeypatch.setattr(code_flow, "_PATIENCE", 0.2)
    refused: list[str] = []

    async def finish() -> None:
        try:
            await flow.finish(QUERY, COOKIE)
        except (AuthUnavailable, Unauthorized) as error:
            refused.append(str(error))
            if len(refused) == 19:  # all who wait have given up
                go_on.set()

    async def finish_all() -> None:
        await asyncio.gather(*(finish() for _ in range(20)))

    asyncio.run(finish_all())
    assert len(refused) == 20 and "the issuer has not answered in time" in refused
    assert issuer.asked == [METADATA, "/token"]


def test_logins_that_wait_for_a_hanging_issuer_do_not_delay_other_requests(issuer: Issuer, tmp_path: Path) -> None:
    url, go_on, statuses = issuer.url, hang(issuer, "/token"), []
    options = ("--oauth-issuer", url, "--oauth-keys", f"{url}/keys", "--oauth-audience", AUDIENCE)
    more = ("--auth", "oauth", "--oauth-client-id", "page", "-d", str(tmp_path / "s.db"))
    headers, body = call("list_prompts", revision=HANDSHAKE)
    headers.append(("Authorization", f"Bearer {issuer.token(KEY, 'one')}"))
    with WebInProcess("-c", "prompt-store", *options, *more) as server:

        def log_in(_: int) -> None:
            cookie = ("Cookie", "satchel-login=state.verifier./")
            statuses.append(server.ask("GET", "/login/callback?code=c&state=state", [cookie]).status)

        with ThreadPoolExecutor(60) as visitors:
            visitors.map(log_in, range(60))
            assert eventually(lambda: "/token" in issuer.asked)
            for _ in range(10):
                assert server.ask("POST", "/mcp", headers, body).status == 200
                assert "Log in" in server.ask("GET", "/login").text
            go_on.set()
    assert statuses == [401] * 60


def test_a_redirect_without_a_login_is_refused(flow: CodeFlow) -> None:
    for query, cookie, said in (
        (QUERY, "", "was not started in this browser"),
        (QUERY, "state.", "was not started in this browser"),
        (QUERY | {"state": "other"}, COOKIE, "was not started in this browser"),
        (QUERY | {"iss": "https://other.example"}, COOKIE, "from another issuer"),
        (QUERY | {"code": ""}, COOKIE, "refused the login"),
        (QUERY, COOKIE, "returned no token"),
    ):
        with pytest.raises(Unauthorized, match=said):
            asyncio.run(flow.finish(query, cookie))


def hang(issuer: Issuer, *paths: str) -> threading.Event:
    """Block the answers of the issuer at some paths until the event is set."""
    go_on = threading.Event()

    def answer(request: BaseHTTPRequestHandler) -> None:
        go_on.wait(60)
        request.send_error(500)

    hanging: Any = dict.fromkeys(paths, answer)
    issuer.answers |= hanging
    return go_on
