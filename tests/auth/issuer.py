"""An OAuth issuer for tests: real keys, tokens signed with them, and a web server of its own that publishes them."""

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import get_default_algorithms

from satchel.auth.oauth import OAuth
from satchel.errors import Unauthorized

AUDIENCE = "https://satchel.example/mcp"


def rsa_key(size: int = 2048) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=size)


KEY, OTHER = rsa_key(), rsa_key()


def ec_key(curve: ec.EllipticCurve | None = None) -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(curve or ec.SECP256R1())


def ed_key() -> ed25519.Ed25519PrivateKey:
    return ed25519.Ed25519PrivateKey.generate()


def pem(key: Any) -> bytes:
    raw: bytes = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return raw


def jwk(key: Any, kid: str | None = None, **more: Any) -> dict[str, Any]:
    """Return a public key as a JWK."""
    names = {rsa.RSAPrivateKey: "RS256", ec.EllipticCurvePrivateKey: "ES256", ed25519.Ed25519PrivateKey: "EdDSA"}
    name = next(name for kind, name in names.items() if isinstance(key, kind))
    fields: dict[str, Any] = json.loads(get_default_algorithms()[name].to_jwk(key.public_key()))
    fields.pop("key_ops", None)
    return fields | ({} if kid is None else {"kid": kid}) | more


def base64url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def forged(header: dict[str, Any], claims: dict[str, Any], secret: bytes | None = None) -> str:
    """Return a token as PyJWT would not make it: unsigned, or signed with HMAC and whatever secret."""
    text = ".".join(base64url(json.dumps(part).encode()) for part in (header, claims))
    return f"{text}." + (base64url(hmac.digest(secret, text.encode(), hashlib.sha256)) if secret else "")


class Issuer:
    """Answers on a port of this machine; `answers` maps paths to bodies, and counts how often each was asked for."""

    def __init__(self) -> None:
        self.answers: dict[str, bytes | Callable[[BaseHTTPRequestHandler], None]] = {}
        self.asked: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append(self.path)
                answer = outer.answers.get(self.path)
                if callable(answer):
                    answer(self)
                    return
                self.send_response(404 if answer is None else 200)
                self.send_header("Content-Length", str(len(answer or b"")))
                self.end_headers()
                self.wfile.write(answer or b"")

            do_POST = do_GET  # noqa: N815 - the name that the server calls

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def publish(self, *keys: dict[str, Any], path: str = "/keys") -> None:
        self.answers[path] = json.dumps({"keys": keys}).encode()

    def claims(self, **more: Any) -> dict[str, Any]:
        """Claims of a good token; None takes one away."""
        now = int(time.time())
        claims = {"iss": self.url, "aud": AUDIENCE, "sub": "ada", "iat": now, "nbf": now, "exp": now + 600} | more
        return {name: claim for name, claim in claims.items() if claim is not None}

    def token(self, key: Any, kid: str | None = None, algorithm: str = "RS256", **claims: Any) -> str:
        headers = {} if kid is None else {"kid": kid}
        return jwt.PyJWS().encode(json.dumps(self.claims(**claims)).encode(), key, algorithm, headers)


def refusal(oauth: OAuth, token: str) -> str:
    """Return why a token is refused; the text fits into a header."""
    with pytest.raises(Unauthorized) as refused:
        oauth.identify(token)
    description = refused.value.description
    assert description.isascii() and description.isprintable() and not set(description) & set('"\\')
    return description
