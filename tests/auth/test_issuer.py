"""The keys of an issuer: where they are found, when they are fetched again, and which of them are never used."""

import asyncio
import json
import threading
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from satchel.auth.issuer import FetchFailed, fetch
from satchel.auth.oauth import OAuth
from satchel.errors import AuthUnavailable, AuthUnusable
from tests.auth.conftest import Clock
from tests.auth.issuer import AUDIENCE, KEY, OTHER, Issuer, base64url, ec_key, jwk, pem, refusal, rsa_key
from tests.support.threads import in_threads

UNKNOWN = "the token is signed with an unknown key"


def test_keys_are_fetched_once_and_again_every_five_minutes(issuer: Issuer, oauth: OAuth, clock: Clock) -> None:
    for _ in range(3):
        oauth.identify(issuer.token(KEY, "one"))
    assert issuer.asked == ["/keys"]
    clock.now += 301
    go_on = threading.Event()
    renewed = json.dumps({"keys": [jwk(OTHER, "two")]}).encode()

    def answer_late(request: BaseHTTPRequestHandler) -> None:
        go_on.wait(60)
        request.send_response(200)
        request.send_header("Content-Length", str(len(renewed)))
        request.end_headers()
        request.wfile.write(renewed)

    issuer.answers["/keys"] = answer_late
    oauth.identify(issuer.token(KEY, "one"))  # starts a fetch and does not wait for it
    go_on.set()
    oauth.issuer.keys.wait(60)
    assert refusal(oauth, issuer.token(KEY, "one")) == UNKNOWN
    assert issuer.asked == ["/keys"] * 2
    oauth.identify(issuer.token(OTHER, "two"))


def test_a_new_key_is_found_by_the_first_token_that_names_it(issuer: Issuer, oauth: OAuth, clock: Clock) -> None:
    oauth.identify(issuer.token(KEY, "one"))
    clock.now += 10
    issuer.publish(jwk(KEY, "one"), jwk(OTHER, "two"))
    oauth.identify(issuer.token(OTHER, "two"))
    oauth.identify(issuer.token(KEY, "one"))
    assert issuer.asked == ["/keys"] * 2


def test_an_unknown_key_id_causes_a_fetch_only_every_ten_seconds(issuer: Issuer, oauth: OAuth, clock: Clock) -> None:
    oauth.identify(issuer.token(KEY, "one"))
    for number in range(30):
        clock.now += 1
        assert refusal(oauth, issuer.token(KEY, f"made up {number}")) == UNKNOWN
    assert len(issuer.asked) == 1 + 3


def test_cached_keys_are_used_while_the_issuer_is_down(issuer: Issuer, oauth: OAuth, clock: Clock) -> None:
    oauth.identify(issuer.token(KEY, "one"))
    for broken in (None, b"", b"{}", b'{"keys": []}', b"<html>", json.dumps({"keys": [jwk(ec_key(), "one")]}).encode()):
        clock.now += 301
        issuer.answers["/keys"] = broken or b""
        oauth.identify(issuer.token(KEY, "one"))
        oauth.issuer.keys.wait(60)
    asked = len(issuer.asked)
    assert asked == 7
    for _ in range(9):
        clock.now += 1
        oauth.identify(issuer.token(KEY, "one"))
    assert len(issuer.asked) == asked
    # A key that we do not know may be one that we could not fetch.
    with pytest.raises(AuthUnavailable, match="cannot fetch the keys of the issuer"):
        oauth.identify(issuer.token(OTHER, "two"))
    issuer.publish(jwk(OTHER, "two"))
    clock.now += 1
    oauth.identify(issuer.token(OTHER, "two"))


def test_without_any_keys_the_error_is_unavailable_not_unauthorized(issuer: Issuer, oauth: OAuth, clock: Clock) -> None:
    del issuer.answers["/keys"]
    for _ in range(3):
        with pytest.raises(AuthUnavailable, match=r"cannot fetch the keys of the issuer .*404"):
            oauth.identify(issuer.token(KEY, "one"))
    assert issuer.asked == ["/keys"]  # not once for each request
    issuer.publish(jwk(KEY, "one"))
    clock.now += 10
    oauth.identify(issuer.token(KEY, "one"))


def test_an_unreachable_issuer_is_unavailable(issuer: Issuer, oauth: OAuth) -> None:
    token = issuer.token(KEY, "one")
    gone = OAuth(issuer.url, {AUDIENCE}, keys="http://127.0.0.1:1/keys")
    with pytest.raises(AuthUnavailable, match="cannot fetch"):
        gone.identify(token)


def test_a_token_that_does_not_name_its_key_works_with_the_only_one(issuer: Issuer, clock: Clock) -> None:
    where = f"{issuer.url}/keys"
    OAuth(issuer.url, {AUDIENCE}, keys=where).identify(issuer.token(KEY))
    issuer.publish(jwk(KEY, "one"), jwk(ec_key(), "ec"), jwk(OTHER, "enc", use="enc"))
    OAuth(issuer.url, {AUDIENCE}, keys=where).identify(issuer.token(KEY))  # the only one that fits
    issuer.publish(jwk(KEY, "one"), jwk(OTHER, "two"))
    assert refusal(OAuth(issuer.url, {AUDIENCE}, keys=where), issuer.token(KEY)) == UNKNOWN


def test_two_keys_of_one_name_are_both_tried(issuer: Issuer, oauth: OAuth) -> None:
    issuer.publish(jwk(OTHER, "one"), jwk(KEY, "one"))
    oauth.identify(issuer.token(KEY, "one"))
    oauth.identify(issuer.token(OTHER, "one"))


SECRET = {"kty": "oct", "k": base64url(b"x" * 32)}


UNFIT: dict[str, Any] = {
    "a secret": SECRET | {"kid": "one", "alg": "RS256"},
    "for HS256": jwk(KEY, "one", alg="HS256"),
    "for RS512": jwk(KEY, "one", alg="RS512"),
    "to encrypt": jwk(KEY, "one", use="enc"),
    "not to verify": jwk(KEY, "one", key_ops=["encrypt"]),
    "of another type": jwk(KEY, "one") | {"kty": "EC"},
    "a number": jwk(KEY, "one") | {"n": 7},
    "no base64": jwk(KEY, "one") | {"n": "!"},
    "no exponent": jwk(KEY, "one") | {"e": ""},
    "no modulus": jwk(KEY, "one") | {"n": None},
    "too short": jwk(rsa_key(1024), "one"),
    "a curve": jwk(ec_key(), "one"),
    "no type": {"kid": "one"},
    "no object": 7,
    "nothing": None,
}


def test_a_key_that_does_not_fit_is_never_used(issuer: Issuer) -> None:
    for what, published in UNFIT.items():
        oauth = OAuth(issuer.url, {AUDIENCE}, keys=f"{issuer.url}/keys")
        issuer.publish(published, jwk(OTHER, "two"))
        assert refusal(oauth, issuer.token(KEY, "one")) == UNKNOWN, what
        oauth.identify(issuer.token(OTHER, "two"))


def test_a_curve_belongs_to_its_algorithm(issuer: Issuer) -> None:
    long, short = ec_key(ec.SECP384R1()), ec_key()
    issuer.publish(jwk(long, "long"), jwk(short, "short"))
    oauth = OAuth(issuer.url, {AUDIENCE}, "ES384", f"{issuer.url}/keys")
    oauth.identify(issuer.token(long, "long", "ES384"))
    assert refusal(oauth, issuer.token(long, "short", "ES384")) == UNKNOWN


def test_a_private_key_that_was_published_by_mistake_is_read_as_public(issuer: Issuer, oauth: OAuth) -> None:
    from jwt.algorithms import RSAAlgorithm

    issuer.publish(json.loads(RSAAlgorithm.to_jwk(KEY)) | {"kid": "one", "key_ops": ["sign", "verify"]})
    oauth.identify(issuer.token(KEY, "one"))


def test_keys_may_be_in_a_file(issuer: Issuer, tmp_path: Path, clock: Clock) -> None:
    file = tmp_path / "keys"
    file.write_text(json.dumps({"keys": [jwk(KEY, "one")]}))
    oauth = OAuth(issuer.url, {AUDIENCE}, keys=str(file))
    oauth.identify(issuer.token(KEY, "one"))
    file.write_bytes(pem(OTHER))
    clock.now += 301
    oauth.identify(issuer.token(OTHER, "whatever"))
    oauth.identify(issuer.token(OTHER))
    assert refusal(oauth, issuer.token(KEY, "one")) == "the signature of the token is wrong"
    file.unlink()
    clock.now += 301
    oauth.identify(issuer.token(OTHER))
    oauth.issuer.keys.wait(60)
    oauth.identify(issuer.token(OTHER))
    assert issuer.asked == []


def test_a_file_without_a_key_is_reported_at_the_start(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    wrong = [
        b"",
        b"{}",
        b"[",
        pem(ec_key()),
        b"-----BEGIN PUBLIC KEY-----\nx\n-----END PUBLIC KEY-----\n",
        b"x" * 2**21,
    ]
    for content in wrong:
        file.write_bytes(content)
        with pytest.raises(AuthUnusable, match="Check --oauth-keys"):
            OAuth("https://issuer.example", {AUDIENCE}, keys=str(file))
    with pytest.raises(AuthUnusable, match="No such file"):
        OAuth("https://issuer.example", {AUDIENCE}, keys=str(tmp_path / "nowhere"))


def test_threads_share_the_keys_and_one_fetches(issuer: Issuer, oauth: OAuth) -> None:
    token = issuer.token(KEY, "one")
    start = threading.Barrier(16)

    def work(_: int) -> None:
        start.wait()
        oauth.identify(token)

    in_threads(work, range(16))
    assert issuer.asked == ["/keys"]


def test_a_fetch_that_hangs_for_a_minute_does_not_prevent_the_next(issuer: Issuer, oauth: OAuth, clock: Clock) -> None:
    oauth.identify(issuer.token(KEY, "one"))
    asked, answer = threading.Event(), threading.Event()

    def hang(request: BaseHTTPRequestHandler) -> None:
        asked.set()
        answer.wait(60)
        request.send_error(500)

    issuer.answers["/keys"] = hang
    clock.now += 301
    oauth.identify(issuer.token(KEY, "one"))
    assert asked.wait(60)
    clock.now += 59
    oauth.identify(issuer.token(KEY, "one"))
    assert issuer.asked == ["/keys"] * 2
    issuer.publish(jwk(OTHER, "two"))
    clock.now += 1
    oauth.identify(issuer.token(OTHER, "two"))
    answer.set()


# Discovery


def metadata(at: Issuer, path: str = "", **more: str) -> bytes:
    return json.dumps({"issuer": at.url + path, "jwks_uri": f"{at.url}/keys"} | more).encode()


def test_the_metadata_of_the_issuer_says_where_its_keys_are(issuer: Issuer) -> None:
    issuer.answers["/.well-known/oauth-authorization-server"] = metadata(issuer)
    oauth = OAuth(issuer.url, {AUDIENCE})
    oauth.identify(issuer.token(KEY, "one"))
    asyncio.run(oauth.issuer.read_metadata())  # a login uses the same metadata
    assert issuer.asked == ["/.well-known/oauth-authorization-server", "/keys"]


def test_openid_metadata_is_the_second_choice(issuer: Issuer) -> None:
    issuer.answers["/.well-known/openid-configuration"] = metadata(issuer)
    OAuth(issuer.url, {AUDIENCE}).identify(issuer.token(KEY, "one"))
    assert issuer.asked[1:] == ["/.well-known/openid-configuration", "/keys"]


@pytest.mark.parametrize("slash", ["", "/"])
def test_an_issuer_with_a_path(issuer: Issuer, slash: str) -> None:
    path = f"/realms/one{slash}"
    issuer.answers["/.well-known/oauth-authorization-server/realms/one"] = metadata(issuer, path)
    token = issuer.token(KEY, "one", iss=issuer.url + path)
    OAuth(issuer.url + path, {AUDIENCE}).identify(token)

    issuer.asked.clear()
    issuer.answers["/realms/one/.well-known/openid-configuration"] = issuer.answers.popitem()[1]
    OAuth(issuer.url + path, {AUDIENCE}).identify(token)
    assert issuer.asked == [
        "/.well-known/oauth-authorization-server/realms/one",
        "/realms/one/.well-known/openid-configuration",
        "/keys",
    ]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"issuer": "https://elsewhere.example"}, "another issuer"),
        ({"jwks_uri": "http://issuer.example/keys"}, "neither https nor on this machine"),
        ({"jwks_uri": "file:///etc/passwd"}, "neither https nor on this machine"),
    ],
)
def test_metadata_of_another_issuer_is_rejected(issuer: Issuer, more: dict[str, str], said: str) -> None:
    issuer.answers["/.well-known/oauth-authorization-server"] = metadata(issuer, **more)
    with pytest.raises(AuthUnavailable, match=said):
        OAuth(issuer.url, {AUDIENCE}).identify(issuer.token(KEY, "one"))
    assert "/keys" not in issuer.asked


def test_metadata_that_is_malformed(issuer: Issuer) -> None:
    for odd in (b"", b"[]", b"{}", b"[" * 100_000, b'{"issuer": 7}'):
        issuer.answers["/.well-known/oauth-authorization-server"] = odd
        with pytest.raises(AuthUnavailable, match="is not the metadata of an issuer"):
            OAuth(issuer.url, {AUDIENCE}).identify(issuer.token(KEY, "one"))


# Fetching


def leads(to: str) -> Any:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(302)
        request.send_header("Location", to)
        request.send_header("Content-Length", "0")
        request.end_headers()

    return answer


def test_a_redirect_is_followed_only_to_an_allowed_address(issuer: Issuer) -> None:
    issuer.answers |= {"/a": leads("/b"), "/b": b"found"}
    assert fetch(f"{issuer.url}/a") == b"found"
    wrong = ("https://127.0.0.1:1/", "http://issuer.example/", "file:///etc/passwd", "ftp://127.0.0.1/", "//x.example/")
    for to in wrong:
        issuer.answers["/a"] = leads(to)
        with pytest.raises(FetchFailed, match=r"not allowed|status 302"):
            fetch(f"{issuer.url}/a")
    issuer.answers["/a"] = leads("/a")
    with pytest.raises(FetchFailed):
        fetch(f"{issuer.url}/a")


def test_a_document_is_neither_large_nor_slow(issuer: Issuer) -> None:
    issuer.answers |= {"/largest": b"x" * 2**20, "/larger": b"x" * (2**20 + 1), "/drip": drip}
    assert len(fetch(f"{issuer.url}/largest")) == 2**20
    with pytest.raises(FetchFailed, match="larger"):
        fetch(f"{issuer.url}/larger")
    with pytest.raises(FetchFailed, match="takes longer"):
        fetch(f"{issuer.url}/drip", timeout=0.5)


def drip(request: BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.send_header("Content-Length", "1000")
    request.end_headers()
    try:
        for _ in range(1000):
            request.wfile.write(b"x")
            request.wfile.flush()
            time.sleep(0.02)
    except OSError:
        pass
