"""What a POST says by its headers, without any I/O; whole requests are looked at in tests/transports."""

import base64

import pytest

from satchel.protocol import Offer
from satchel.protocol.codec import decode, encode
from satchel.protocol.streamable_http import Headers, Post, decode_header
from tests.support.stdio import NEWEST, modern_meta


@pytest.mark.parametrize("value", ["plain", "two words", "a\tb", "", "SGVsbG8=", "=?base64?SGVsbG8=", "SGVsbG8=?="])
def test_a_plain_header_is_its_own_value(value: str) -> None:
    assert decode_header(value) == value


@pytest.mark.parametrize("value", ["Hello", "", "Grüße 👋", " padded ", "two\nlines", "=?base64?literal?="])
def test_the_base64_form_is_decoded(value: str) -> None:
    assert decode_header(f"=?base64?{base64.b64encode(value.encode()).decode()}?=") == value


@pytest.mark.parametrize(
    "payload",
    [
        "SGVsbG8",  # no padding
        "SGVsbG8==",  # too much of it
        "SGVs!!!bG8=",
        "SGVs bG8=",
        "SGVsbG9=",  # bits that say nothing, so that another text says the same
        "_-__",  # the alphabet of URLs
        "/w==",  # no UTF-8
    ],
)
def test_a_malformed_base64_form_has_no_value(payload: str) -> None:
    assert decode_header(f"=?base64?{payload}?=") is None


@pytest.mark.parametrize("value", ["caf\u00e9", "a\x00b", "a\x7fb", "a\nb"])
def test_a_header_that_is_not_printable_ascii_has_no_value(value: str) -> None:
    assert decode_header(value) is None


OFFER = Offer(server={"name": "s", "version": "1"}, capabilities={"tools": {}}, methods=frozenset({"tools/call"}))
MIRRORED = {"run": {"region": "Mcp-Param-Region", "amount": "Mcp-Param-Amount", "is_dry": "Mcp-Param-Dry-Run"}}
ONLY_VERSION = Headers([(b"mcp-protocol-version", NEWEST.encode())])


def mismatch(arguments: object, *headers: tuple[str, str]) -> str | None:
    """Return the fault of a call of `run`, if it has one."""
    params = {"name": "run", "arguments": arguments, "_meta": modern_meta()}
    raw = encode({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    standard = [("mcp-protocol-version", NEWEST), ("mcp-method", "tools/call"), ("mcp-name", "run")]
    lines = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in (*standard, *headers)]
    post = Post(OFFER, Headers(lines), raw, MIRRORED)
    if post.exchange.calls:
        return None
    error = decode(post.exchange.output()[0])["error"]
    assert (post.status(), error["code"]) == (400, -32020)
    return str(error["message"].removeprefix("Header mismatch: "))


@pytest.mark.parametrize(
    ("arguments", "header"),
    [
        ({"region": "us-west1"}, ("mcp-param-region", "us-west1")),
        ({"region": "Grüße"}, ("mcp-param-region", "=?base64?R3LDvMOfZQ==?=")),
        ({"amount": 42}, ("mcp-param-amount", "42")),
        ({"amount": 42}, ("mcp-param-amount", "42.0")),
        ({"amount": -7}, ("mcp-param-amount", "-7")),
        ({"is_dry": True}, ("mcp-param-dry-run", "true")),
        ({"region": None, "else": 1}, ("mcp-param-unknown", "x")),
        ({}, ("mcp-param-unknown", "x")),
        ({"region": ["a"]}, ("mcp-param-unknown", "x")),  # for the tool to refuse
    ],
)
def test_arguments_with_matching_headers_are_accepted(arguments: object, header: tuple[str, str]) -> None:
    assert mismatch(arguments, header) is None


@pytest.mark.parametrize(
    ("arguments", "header"),
    [
        ({"region": "us-west1"}, ("mcp-param-region", "US-WEST1")),
        ({"region": "Hello"}, ("mcp-param-region", "=?base64?SGVsbG8?=")),
        ({"region": "caf\u00e9"}, ("mcp-param-region", "caf\u00e9")),
        ({"region": ""}, ("mcp-param-region", "=?base64?!?=")),
        ({"region": None}, ("mcp-param-region", "null")),
        ({}, ("mcp-param-region", "us-west1")),
        ("no object", ("mcp-param-region", "us-west1")),
        ({"region": ["a"]}, ("mcp-param-region", "a")),
        ({"amount": 42}, ("mcp-param-amount", "43")),
        ({"amount": 42}, ("mcp-param-amount", "4_2")),
        ({"amount": 1}, ("mcp-param-amount", "true")),
        ({"is_dry": True}, ("mcp-param-dry-run", "True")),
        ({"is_dry": True}, ("mcp-param-dry-run", "1")),
    ],
)
def test_a_header_that_differs_from_its_argument_is_rejected(arguments: object, header: tuple[str, str]) -> None:
    title = {name.lower(): name for name in MIRRORED["run"].values()}[header[0]]
    assert mismatch(arguments, header) == f"{title} header does not match the body"


def test_a_mirrored_argument_needs_its_header_once() -> None:
    assert mismatch({"region": "x"}) == "Mcp-Param-Region header is missing"
    twice = [("mcp-param-region", "x")] * 2
    assert mismatch({"region": "x"}, *twice) == "Mcp-Param-Region is given more than once"


def test_a_malformed_request_is_rejected_before_its_headers_are_checked() -> None:
    for broken in ({"id": 1.5}, {"jsonrpc": "1.0"}):
        params = {"name": "run", "arguments": {"region": "here"}, "_meta": modern_meta()}
        raw = encode({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params, **broken})
        post = Post(OFFER, ONLY_VERSION, raw, MIRRORED)
        assert (post.status(), decode(post.exchange.output()[0])["error"]["code"]) == (400, -32600)


def test_a_notification_needs_no_matching_headers() -> None:
    raw = encode({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "run", "arguments": {"region": "here"}}})
    post = Post(OFFER, ONLY_VERSION, raw, MIRRORED)
    assert not post.exchange.is_answered


def test_a_client_of_the_handshake_generation_has_no_stream_on_which_it_could_be_asked() -> None:
    raw = encode({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "run"}})
    [call] = Post(OFFER, Headers([(b"mcp-protocol-version", b"2025-11-25")]), raw, {}).exchange.calls
    assert not call.can_ask
