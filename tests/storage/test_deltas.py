"""A difference and the next state give back the old state, byte for byte."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.storage.deltas import apply_delta, make_delta
from tests.support.soak import amount

# Bytes with much in common: the same few blocks in another order, with pieces left out.
BLOCKS = st.lists(st.sampled_from([b"", b"a", b"ab" * 40, bytes(range(256)), "日本茶".encode() * 30]), max_size=8)
BYTES = st.one_of(st.binary(max_size=200), BLOCKS.map(b"".join))


@given(old=BYTES, new=BYTES)
def test_any_state_comes_back_from_any_other(old: bytes, new: bytes) -> None:
    assert apply_delta(make_delta(old, new), new) == old


@given(old=BYTES)
def test_a_state_without_a_next_one_is_kept_whole(old: bytes) -> None:
    assert apply_delta(make_delta(old, b""), b"") == old


@given(begin=BYTES, middle=st.binary(max_size=80), other=st.binary(max_size=80), end=BYTES)
def test_one_edit_costs_little_more_than_what_it_replaced(
    begin: bytes, middle: bytes, other: bytes, end: bytes
) -> None:
    delta = make_delta(begin + middle + end, begin + other + end)
    assert apply_delta(delta, begin + other + end) == begin + middle + end
    assert len(delta) <= len(middle) + 7  # two lengths of up to three bytes each, and the form of the rest


@pytest.mark.parametrize("size", [0, 1, 127, 128, 32 * 1024 - 1, 32 * 1024, 32 * 1024 + 1, 200_000])
def test_states_around_the_window_of_zlib(size: int) -> None:
    dice = random.Random(size)
    noise, words = dice.randbytes(size), b" ".join(dice.choice([b"tea", b"cup", b"pot"]) for _ in range(size // 4))
    for old in (noise, words, words + noise, noise + b"end", b"begin" + words):
        for new in (noise, words, old[1:], old[:-1], b"x" + old, old + b"x", old[::-1], b""):
            assert apply_delta(make_delta(old, new), new) == old


def test_the_largest_content_comes_back() -> None:
    dice = random.Random(4)
    old = dice.randbytes(amount(1, 4) * 1024 * 1024)
    for place in (0, len(old) // 2, len(old) - 1):
        new = old[:place] + b"another" + old[place + 1 :]
        delta = make_delta(old, new)
        assert apply_delta(delta, new) == old and len(delta) < 20
