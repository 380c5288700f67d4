"""Tokens of an OAuth issuer: whom they speak for, and every way in which they are not good."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from satchel.auth.oauth import OAuth
from satchel.errors import AuthUnusable
from satchel.model import Identity
from tests.auth.issuer import AUDIENCE, KEY, OTHER, Issuer, base64url, ec_key, ed_key, forged, jwk, pem, refusal

ADA = "6f0a2f5e-9c1c-4a6e-8a51-0d8f8f3c2b11"


def test_the_subject_of_a_token_is_the_user(issuer: Issuer, oauth: OAuth) -> None:
    user = str(uuid5(NAMESPACE_URL, f"{issuer.url}#ada"))
    assert oauth.identify(issuer.token(KEY, "one")) == Identity(user=user, projects=None, is_read_only=True)
    assert oauth.identify(issuer.token(KEY, "one", sub=ADA.upper(), scope="satchel:write")) == Identity(user=ADA)
    assert oauth.identify(issuer.token(KEY, "one", sub="Ada")).user != user


@pytest.mark.parametrize(
    ("claims", "is_read_only"),
    [
        ({}, True),
        ({"scope": "openid profile"}, True),
        ({"scope": "openid satchel:read"}, True),
        ({"scope": "satchel:read satchel:write"}, False),
        ({"scope": "satchel:write"}, False),
        ({"scope": "satchel:reader"}, True),
        ({"scope": "satchel:writer satchel:write2 Satchel:Write"}, True),
        ({"scp": ["satchel:read"]}, True),
        ({"scp": "satchel:read email"}, True),
        ({"scp": ["satchel:read", "satchel:write"]}, False),
        ({"scope": "satchel:read", "scp": ["satchel:write"]}, False),
    ],
)
def test_scopes_say_whether_it_may_write(
    issuer: Issuer, oauth: OAuth, claims: dict[str, Any], is_read_only: bool
) -> None:
    assert oauth.identify(issuer.token(KEY, "one", **claims)).is_read_only is is_read_only


def test_with_any_scope_accepted_only_the_read_scope_limits_a_token(issuer: Issuer) -> None:
    oauth = OAuth(issuer.url, {AUDIENCE}, keys=f"{issuer.url}/keys", is_any_scope_enough=True)
    for scope, is_read_only in (
        ("openid profile", False),
        ("", False),
        ("satchel:writer", False),
        ("satchel:read", True),
    ):
        assert oauth.identify(issuer.token(KEY, "one", scope=scope)).is_read_only is is_read_only


def test_a_claim_limits_the_projects(issuer: Issuer, oauth: OAuth) -> None:
    assert oauth.identify(issuer.token(KEY, "one", satchel_projects=["a", "b"])).projects == ("a", "b")
    assert oauth.identify(issuer.token(KEY, "one", satchel_projects=[])).projects == ()
    malformed: list[Any] = ["a", ["*"], ["a,b"], [""], [1], ["a\n"], {}]
    for odd in malformed:
        token = issuer.token(KEY, "one", satchel_projects=odd)
        assert refusal(oauth, token) == "the claims of the token are malformed"


def test_the_audience_may_be_one_of_several(issuer: Issuer, oauth: OAuth) -> None:
    oauth.identify(issuer.token(KEY, "one", aud=["https://elsewhere.example", AUDIENCE]))


NOW = int(time.time())


@pytest.mark.parametrize(
    ("claims", "description"),
    [
        ({"iss": "https://elsewhere.example"}, "the token is from another issuer"),
        ({"iss": None}, "the token is from another issuer"),
        ({"aud": "https://elsewhere.example"}, "the token is for another audience"),
        ({"aud": AUDIENCE + "/more"}, "the token is for another audience"),
        ({"aud": ["https://elsewhere.example"]}, "the token is for another audience"),
        ({"aud": []}, "the token is for another audience"),
        ({"aud": None}, "the token is for another audience"),
        ({"exp": None}, "the token has no expiry"),
        ({"exp": NOW - 70}, "the token has expired"),
        ({"exp": 0}, "the token has expired"),
        ({"nbf": NOW + 3600}, "the token is not valid yet"),
        ({"iat": NOW + 3600}, "the token is not valid yet"),
        ({"sub": None}, "the token names no subject"),
        ({"sub": ""}, "the token names no subject"),
        ({"sub": 7}, "the claims of the token are malformed"),
        ({"sub": "\ud800"}, "the claims of the token are malformed"),
        ({"exp": "soon"}, "the claims of the token are malformed"),
        ({"exp": float("inf")}, "the claims of the token are malformed"),
        ({"aud": [1]}, "the claims of the token are malformed"),
        ({"scope": ["satchel:read"]}, "the claims of the token are malformed"),
    ],
)
def test_invalid_claims_are_rejected(issuer: Issuer, oauth: OAuth, claims: dict[str, Any], description: str) -> None:
    assert refusal(oauth, issuer.token(KEY, "one", **claims)) == description


def test_clocks_may_differ_by_a_minute(issuer: Issuer, oauth: OAuth) -> None:
    now = int(time.time())
    oauth.identify(issuer.token(KEY, "one", exp=now - 30))
    oauth.identify(issuer.token(KEY, "one", nbf=now + 30, iat=now + 30))


def test_a_signature_with_another_key_is_rejected(issuer: Issuer, oauth: OAuth) -> None:
    wrong = "the signature of the token is wrong"
    assert refusal(oauth, issuer.token(OTHER, "one")) == wrong
    good = issuer.token(KEY, "one")
    head, _, signature = good.split(".")
    claims = base64url(json.dumps(issuer.claims(sub="eve")).encode())
    assert refusal(oauth, f"{head}.{claims}.{signature}") == wrong
    assert refusal(oauth, f"{head}.{claims}.") == wrong


def test_only_the_configured_algorithm_is_accepted(issuer: Issuer, oauth: OAuth) -> None:
    another = "the token is signed with another algorithm"
    published: bytes = issuer.answers["/keys"]  # type: ignore[assignment]
    for header in ({"alg": "none", "kid": "one"}, {"alg": "None"}, {"alg": ""}, {"kid": "one"}, {"alg": ["RS256"]}):
        assert refusal(oauth, forged(header, issuer.claims())) == another
    for secret in (pem(KEY), published, b"x"):
        assert refusal(oauth, forged({"alg": "HS256", "kid": "one"}, issuer.claims(), secret)) == another
        said = refusal(oauth, forged({"alg": "RS256", "kid": "one"}, issuer.claims(), secret))
        assert said == "the signature of the token is wrong"
    assert refusal(oauth, issuer.token(KEY, "one", "RS512")) == another
    assert refusal(oauth, issuer.token(KEY, "one", "PS256")) == another
    assert refusal(oauth, issuer.token(ec_key(), "one", "ES256")) == another


def test_unknown_critical_headers_are_rejected(issuer: Issuer, oauth: OAuth) -> None:
    oauth.identify(issuer.token(KEY, "one"))
    for odd in ({"crit": ["exp"], "exp": 1}, {"kid": 7}, {"kid": None}, {"b64": False}):
        token = forged({"alg": "RS256", "kid": "one"} | odd, issuer.claims(), b"x")
        assert refusal(oauth, token) == "the token is malformed"


def test_garbage_is_rejected_without_fetching_keys(issuer: Issuer, oauth: OAuth) -> None:
    deep = base64url(b"[" * 10_000)
    short = ("", ".", "..", "a.b.c", "x" * 500, "é.é.é", "\udc80", "e30.e30", "W10.e30.e30")
    for token in (*short, f"{deep}.e30.e30"):
        assert refusal(oauth, token) == "the token is malformed"
    assert issuer.asked == []


def test_a_token_may_be_long_but_not_enormous(issuer: Issuer, oauth: OAuth) -> None:
    oauth.identify(issuer.token(KEY, "one", groups=["g" * 100] * 100))
    assert refusal(oauth, issuer.token(KEY, "one", groups=["g" * 100] * 130)) == "the token is too long"
    assert refusal(oauth, "a" * 10_000_000) == "the token is too long"


def test_a_payload_that_is_no_object_is_refused(issuer: Issuer, oauth: OAuth) -> None:
    import jwt

    for payload in (b"", b"[]", b"null", b"\xff", b"[" * 5000, b'{"x":' * 2000):
        token = jwt.PyJWS().encode(payload, KEY, "RS256", {"kid": "one"})
        assert refusal(oauth, token) == "the claims of the token are malformed"


@pytest.mark.parametrize(
    ("algorithm", "key"),
    [
        ("RS384", KEY),
        ("RS512", KEY),
        ("PS256", KEY),
        ("PS384", KEY),
        ("PS512", KEY),
        ("ES256", ec_key()),
        ("ES384", ec_key(ec.SECP384R1())),
        ("ES512", ec_key(ec.SECP521R1())),
        ("EdDSA", ed_key()),
    ],
)
def test_every_algorithm_with_a_public_key(issuer: Issuer, algorithm: str, key: Any, tmp_path: Path) -> None:
    issuer.publish(jwk(key, "one"))
    oauth = OAuth(issuer.url, {AUDIENCE}, algorithm, f"{issuer.url}/keys")
    oauth.identify(issuer.token(key, "one", algorithm))
    assert refusal(oauth, issuer.token(KEY, "one")) == "the token is signed with another algorithm"

    (tmp_path / "key.pem").write_bytes(pem(key))
    OAuth(issuer.url, {AUDIENCE}, algorithm, str(tmp_path / "key.pem")).identify(issuer.token(key, "any", algorithm))


@pytest.mark.parametrize("algorithm", ["HS256", "HS512", "none", "", "rs256", "ES256K"])
def test_symmetric_algorithms_and_none_are_rejected(algorithm: str) -> None:
    with pytest.raises(AuthUnusable, match="--oauth-algorithm"):
        OAuth("https://issuer.example", {AUDIENCE}, algorithm)


@pytest.mark.parametrize(
    "where", ["http://issuer.example", "ftp://127.0.0.1", "issuer.example", "https://", "file:///x"]
)
def test_keys_are_fetched_safely_or_not_at_all(where: str) -> None:
    with pytest.raises(AuthUnusable, match="--oauth-issuer"):
        OAuth(where, {AUDIENCE})
    if "://" in where:
        with pytest.raises(AuthUnusable, match="--oauth-keys"):
            OAuth("https://issuer.example", {AUDIENCE}, keys=where)


def test_a_missing_library_is_reported_with_what_to_install() -> None:
    for missing in ("jwt", "cryptography"):
        code = f"import sys; sys.modules[{missing!r}] = None\nimport satchel.auth.oauth"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True)
        assert "AuthUnusable: OAuth needs an extra. Install it with: " in done.stderr and "[oauth]" in done.stderr
