"""People log in to the page with an OAuth issuer: the code flow with PKCE, or a sentence about what is missing."""

import json
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from hashlib import sha256
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.auth.issuer import AUDIENCE, Issuer, jwk, rsa_key
from tests.page.visitor import Visitor, text_of
from tests.support.in_process_http import WebInProcess

METADATA = "/.well-known/oauth-authorization-server"


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    issuer = Issuer()
    yield issuer
    issuer.close()


def offer(issuer: Issuer, **more: Any) -> None:
    """Publish the metadata of an issuer that offers everything, with some changes."""
    metadata = {
        "issuer": issuer.url,
        "jwks_uri": f"{issuer.url}/keys",
        "authorization_endpoint": f"{issuer.url}/authorize",
        "token_endpoint": f"{issuer.url}/token",
        "code_challenge_methods_supported": ["S256"],
    }
    issuer.answers[METADATA] = json.dumps(metadata | more).encode()


def serve(tmp_path: Path, issuer: Issuer, *more: str) -> WebInProcess:
    oauth = ("--auth", "oauth", "--oauth-issuer", issuer.url, "--oauth-audience", AUDIENCE)
    return WebInProcess("-d", str(tmp_path / "s.db"), *oauth, *more)


def test_a_person_logs_in_with_the_code_flow_and_pkce(tmp_path: Path, issuer: Issuer) -> None:
    key, sent = rsa_key(), {}
    issuer.publish(jwk(key, "1"))
    offer(issuer)

    def give_token(request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers["content-length"])).decode()
        sent.update({name: values[0] for name, values in parse_qs(body).items()})
        answer = json.dumps({"access_token": issuer.token(key, "1", scope="satchel:read satchel:write")}).encode()
        request.send_response(200)
        request.send_header("content-length", str(len(answer)))
        request.end_headers()
        request.wfile.write(answer)

    issuer.answers["/token"] = give_token
    with serve(tmp_path, issuer, "--oauth-client-id", "page") as server:
        visitor = Visitor(server)
        assert "Log in" in text_of(visitor.get("/tasks"))
        away = urlsplit(visitor.ask("GET", "/login/start?next=/tasks").header("location") or "")
        asked = {name: values[0] for name, values in parse_qs(away.query).items()}
        assert away.path == "/authorize" and asked["client_id"] == "page"
        assert asked["redirect_uri"] == f"http://127.0.0.1:{server.port}/login/callback"

        wrong = visitor.ask("GET", f"/login/callback?code=c&state=x{asked['state']}")
        assert wrong.status == 401 and "was not started in this browser" in text_of(wrong)
        other = Visitor(server).ask("GET", f"/login/callback?code=c&state={asked['state']}")
        assert other.status == 401
        back = visitor.ask("GET", f"/login/callback?code=c&state={asked['state']}")

        assert back.status == 200 and "url=/tasks" in back.text
        challenge = urlsafe_b64encode(sha256(sent["code_verifier"].encode()).digest()).rstrip(b"=").decode()
        assert (sent["code"], challenge) == ("c", asked["code_challenge"])
        assert "Tasks" in text_of(visitor.get("/tasks")) and visitor.address == "/tasks"
        assert "Added" in text_of(visitor.post("/tasks", lines="Mine", project=""))


@pytest.mark.parametrize(
    ("more", "metadata", "said"),
    [
        ((), {}, "set --oauth-client-id"),
        (("--oauth-client-id", "page"), {"authorization_endpoint": ""}, "offers no authorization code flow"),
        (("--oauth-client-id", "page"), {"code_challenge_methods_supported": ["plain"]}, "does not offer PKCE"),
    ],
)
def test_the_page_says_what_is_missing(
    tmp_path: Path, issuer: Issuer, more: tuple[str, ...], metadata: dict[str, Any], said: str
) -> None:
    issuer.publish(jwk(rsa_key(), "1"))
    offer(issuer, **metadata)
    with serve(tmp_path, issuer, *more) as server:
        assert said in text_of(Visitor(server).get("/"))
