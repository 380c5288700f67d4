"""Opaque cursors."""

import pytest

from satchel.protocol import ProtocolError
from satchel.protocol.cursors import decode_cursor, encode_cursor, page


def test_pages_lead_from_one_to_the_next_and_end() -> None:
    items = list(range(7))
    seen: list[int] = []
    cursor = None
    while True:
        part, cursor = page(items, cursor, 3)
        seen += part
        if cursor is None:
            break
    assert seen == items
    assert page(items, None, 7) == (items, None)
    assert page([], None, 7) == ([], None)


@pytest.mark.parametrize(
    "cursor",
    [
        *("", "x", "MTA=", "é", "\ud800"),
        *(encode_cursor("at", position) for position in (-1, 0, 7, 999, 10**18)),
        encode_cursor("at", "03"),
        encode_cursor("resources", 3),
    ],
)
def test_a_cursor_that_was_never_issued_is_refused(cursor: str) -> None:
    with pytest.raises(ProtocolError) as refusal:
        page(list(range(7)), cursor, 3)
    assert refusal.value.code == -32602


def test_a_cursor_with_any_letter_changed_is_refused() -> None:
    _, cursor = page(list(range(7)), None, 3)
    assert cursor is not None
    for place, letter in enumerate(cursor):
        for other in {"A", "M", "z", "=", "é"} - {letter}:
            with pytest.raises(ProtocolError):
                page(list(range(7)), cursor[:place] + other + cursor[place + 1 :], 3)


def test_a_cursor_keeps_its_key() -> None:
    form = r"(task) (\w+) ([0-9]+)|(done) ([0-9]+)"
    assert decode_cursor(encode_cursor("task", "garden", 7), form) == ("task", "garden", "7")
    assert decode_cursor(encode_cursor("done", 8), form) == ("done", "8")
