"""Opaque cursors."""

import pytest

from satchel.protocol import ProtocolError
from satchel.protocol.cursors import page


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
    "cursor", ["", "x", "MTA=", "c2F0Y2hlbDo=", "c2F0Y2hlbDotMQ==", "c2F0Y2hlbDo5OTk=", "é", "\ud800"]
)
def test_a_cursor_of_anybody_elses_is_refused(cursor: str) -> None:
    with pytest.raises(ProtocolError) as refusal:
        page(list(range(7)), cursor, 3)
    assert refusal.value.code == -32602
