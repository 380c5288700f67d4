"""An issuer that does not answer: users whose keys are known notice nothing, and others get an answer soon."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from tests.auth.issuer import AUDIENCE, Issuer, jwk, rsa_key
from tests.support.in_process_http import WebInProcess
from tests.support.web import HANDSHAKE, call

KEY, OTHER = rsa_key(), rsa_key()
METADATA = "/.well-known/oauth-authorization-server"


class Hanging:
    """An issuer that can be stopped from answering."""

    def __init__(self) -> None:
        self.issuer = Issuer()
        self.issuer.publish(jwk(KEY, "one"))
        self.asked = threading.Event()
        self.go_on = threading.Event()

    def hang(self, path: str = "/keys") -> None:
        def never(request: BaseHTTPRequestHandler) -> None:
            self.asked.set()
            self.go_on.wait(60)
            request.send_error(500)

        self.issuer.answers[path] = never


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    hanging = Hanging()
    yield hanging
    hanging.go_on.set()
    hanging.issuer.close()


def test_a_login_that_waits_for_the_token_of_a_hanging_issuer_holds_up_nobody_else(
    hanging: Hanging, tmp_path: Path
) -> None:
    issuer = hanging.issuer
    endpoints = {name: f"{issuer.url}/{name}" for name in ("authorization_endpoint", "token_endpoint")}
    issuer.answers[METADATA] = json.dumps(
        {"issuer": issuer.url, "code_challenge_methods_supported": ["S256"], **endpoints}
    ).encode()
    cookie = ("Cookie", "satchel-login=state.verifier./")
    with serve(hanging, tmp_path, "--oauth-client-id", "page") as server:
        hanging.hang("/token_endpoint")
        statuses: list[int] = []

        def log_in() -> None:
            statuses.append(server.ask("GET", "/login/callback?code=c&state=state", [cookie]).status)

        visitors = [threading.Thread(target=log_in) for _ in range(60)]
        for visitor in visitors:
            visitor.start()
        assert hanging.asked.wait(60)
        for _ in range(10):
            assert ask(server, issuer.token(KEY, "one")) == 200
            assert "Log in" in server.ask("GET", "/login").text
        hanging.go_on.set()
        for visitor in visitors:
            visitor.join()
    assert statuses == [401] * 60


def serve(hanging: Hanging, tmp_path: Path, *more: str) -> WebInProcess:
    url = hanging.issuer.url
    options = ("--oauth-issuer", url, "--oauth-keys", f"{url}/keys", "--oauth-audience", AUDIENCE)
    return WebInProcess("-c", "prompt-store", "-d", str(tmp_path / "s.db"), "--auth", "oauth", *options, *more)


def ask(server: WebInProcess, token: str) -> int:
    headers, body = call("list_prompts", revision=HANDSHAKE)
    return server.ask("POST", "/mcp", [("Authorization", f"Bearer {token}"), *headers], body).status
