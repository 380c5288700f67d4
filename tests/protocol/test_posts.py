"""What a POST says by its headers, without any I/O; whole requests are looked at in tests/transports."""

import base64

import pytest

from satchel.protocol.posts import decoded


@pytest.mark.parametrize("value", ["plain", "two words", "a\tb", "", "SGVsbG8=", "=?base64?SGVsbG8=", "SGVsbG8=?="])
def test_a_plain_header_says_what_it_says(value: str) -> None:
    assert decoded(value) == value


@pytest.mark.parametrize("value", ["Hello", "", "Grüße 👋", " padded ", "two\nlines", "=?base64?literal?="])
def test_the_base64_form_is_decoded(value: str) -> None:
    assert decoded(f"=?base64?{base64.b64encode(value.encode()).decode()}?=") == value


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
def test_a_malformed_base64_form_says_nothing(payload: str) -> None:
    assert decoded(f"=?base64?{payload}?=") is None


@pytest.mark.parametrize("value", ["caf\u00e9", "a\x00b", "a\x7fb", "a\nb"])
def test_foreign_characters_say_nothing(value: str) -> None:
    assert decoded(value) is None
