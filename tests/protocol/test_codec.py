"""JSON on the wire: what is read, what is refused, what is written."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.protocol.codec import BadJson, decode, encode


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


@pytest.mark.parametrize(
    "raw",
    [
        *(b"", b"{", b"nope", b"NaN", b'{"a":NaN}', b"[Infinity]", b"-Infinity", b'"\xff"', b"\xef\xbb\xbf1", b"1 2"),
        *(b"'a'", b"[1,]", b'"\x01"', b'"\xed\xa0\x80"', b"{1:2}", nested(65), nested(100_000), b"1" * 5000 + b"x"),
    ],
)
def test_bad_json_is_refused(raw: bytes) -> None:
    with pytest.raises(BadJson):
        decode(raw)


def test_depth_64_is_decoded_and_depth_65_is_not() -> None:
    assert decode(nested(64)) is not None
    with pytest.raises(BadJson):
        decode(b'{"a":' * 65 + b"1" + b"}" * 65)
    # Brackets inside of texts are no depth.
    assert decode(encode(["[" * 1000])) == ["[" * 1000]


def test_the_last_of_repeated_keys_wins() -> None:
    assert decode(b'{"a":1,"a":2}') == {"a": 2}


def test_lone_surrogates_and_huge_numbers_are_read() -> None:
    assert decode(rb'{"id":1,"a":"\ud800"}') == {"id": 1, "a": "\ud800"}
    assert decode(b"[1e999]") == [float("inf")]
    assert decode(b"[1" + b"0" * 30 + b"]") == [10**30]
    assert decode(b"[" + b"9" * 5000 + b"]")[0] > 2**53
    assert decode(b"[-" + b"9" * 5000 + b"]")[0] < -(2**53)


def test_a_message_is_one_line_whatever_is_in_it() -> None:
    raw = encode({"a": "x\ny\r\u2028\u2029\x85\ud800"})
    assert len(raw.decode().splitlines()) == 1
    assert json.loads(raw) == {"a": "x\ny\r\u2028\u2029\x85?"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(), children, max_size=4),
)


@given(JSON)
def test_an_encoded_value_decodes_to_itself(value: object) -> None:
    assert decode(encode(value)) == value
