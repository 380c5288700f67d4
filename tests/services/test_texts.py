"""Edits of texts: exact replacement, all or none, and the lines that changed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.errors import WrongEdit
from satchel.services import texts
from satchel.services.texts import ChangedLine, Edit, EditedText


def edited(text: str, *edits: Edit, **more: str) -> tuple[str, list[tuple[int, str]]]:
    done = texts.apply_edits(text, edits, **more)
    return done.text, [(one.line, one.text) for one in done.changed]


def refused(text: str, *edits: Edit) -> WrongEdit:
    with pytest.raises(WrongEdit) as wrong:
        texts.apply_edits(text, edits)
    return wrong.value


def test_a_text_that_occurs_once_is_replaced() -> None:
    assert edited("one\ntwo\nthree", Edit("two", "2")) == ("one\n2\nthree", [(2, "2")])
    assert edited("one\ntwo\nthree", Edit("one\ntwo", "1\n2\n2.5")) == (
        "1\n2\n2.5\nthree",
        [(1, "1"), (2, "2"), (3, "2.5")],
    )
    assert edited("one\ntwo\nthree", Edit("two\n", "")) == ("one\nthree", [(2, "three")])
    assert edited("one\ntwo", Edit("\ntwo", "")) == ("one", [(1, "one")])
    assert edited("one", Edit("one", "")) == ("", [(1, "")])


def test_edits_are_applied_in_order_and_lines_are_those_of_the_result() -> None:
    text = "a\nb\nc\nd"
    assert edited(text, Edit("d", "D"), Edit("a\n", "a\nA\nA\n")) == (
        "a\nA\nA\nb\nc\nD",
        [(1, "a"), (2, "A"), (3, "A"), (6, "D")],
    )
    assert edited(text, Edit("b", "xyz"), Edit("y", "_")) == ("a\nx_z\nc\nd", [(2, "x_z")])


def test_a_text_is_replaced_everywhere_on_request() -> None:
    assert edited("a b a\nc\na", Edit("a", "xy", True)) == ("xy b xy\nc\nxy", [(1, "xy b xy"), (3, "xy")])
    assert edited("aaaa", Edit("aa", "b", True)) == ("bb", [(1, "bb")])


def test_lines_are_added_before_and_behind() -> None:
    assert edited("b", prepend="a", append="c") == ("a\nb\nc", [(1, "a"), (3, "c")])
    assert edited("b\n", prepend="a\n", append="c\nd\n") == ("a\nb\nc\nd\n", [(1, "a"), (3, "c"), (4, "d")])
    assert edited("", append="c") == ("c", [(1, "c")])
    assert edited("b", Edit("b", "x"), prepend="a") == ("a\nx", [(1, "a"), (2, "x")])


def test_line_ends_of_windows_are_kept() -> None:
    assert edited("a\r\nb\r\nc", Edit("a\nb", "1\n2")) == ("1\r\n2\r\nc", [(1, "1"), (2, "2")])
    assert edited("a\r\nb", Edit("b", "b\nc")) == ("a\r\nb\r\nc", [(2, "b"), (3, "c")])
    assert edited("a\r\nb", prepend="1\n2", append="3\n")[0] == "1\r\n2\r\na\r\nb\r\n3\r\n"
    assert edited("a\nb\r\nc", Edit("b\nc", "1\n2"), append="d")[0] == "a\n1\r\n2\nd"


def test_a_text_that_occurs_more_often_is_refused_with_its_lines() -> None:
    wrong = refused("x\ny x\nx", Edit("y", "z"), Edit("x", "_"))
    assert (wrong.reason, wrong.index, wrong.count, wrong.lines) == ("repeated", 1, 3, (1, 2, 3))
    assert len(refused("x\n" * 50, Edit("x", "_")).lines) == 10
    wrong = refused("-\n-\n-", Edit("-\n-", "_"))  # the two places overlap
    assert (wrong.reason, wrong.count, wrong.lines) == ("repeated", 2, (1, 2))


def test_a_text_that_does_not_occur_is_refused_with_the_nearest_line() -> None:
    text = "The quick brown fox\njumps over\nthe lazy dog"
    assert refused(text, Edit("The quick borwn fox", "x")).near == (1, "The quick brown fox")
    assert refused(text, Edit("and\njumps  over", "x")).near == (2, "jumps over")
    assert refused(text, Edit("nothing like it", "x")).near is None
    assert refused(text, Edit("...", "x")).near is None


@pytest.mark.parametrize(
    ("edits", "reason"),
    [
        ([Edit("", "x")], "empty"),
        ([Edit("a", "a")], "same"),
        ([Edit("a", "b"), Edit("b", "a")], "same"),
        ([], "same"),
    ],
)
def test_an_edit_that_changes_nothing_is_refused(edits: list[Edit], reason: str) -> None:
    assert refused("a", *edits).reason == reason


def test_long_lines_are_shown_around_the_change_and_many_are_counted() -> None:
    line = "x" * 1000 + "OLD" + "y" * 1000
    done = texts.apply_edits(line, [Edit("OLD", "NEW")])
    assert "NEW" in done.changed[0].text and len(done.changed[0].text) == 202
    many = texts.apply_edits("a\n" * 100, [Edit("a", "b", True)])
    assert many == EditedText("b\n" * 100, tuple(ChangedLine(number, "b") for number in range(1, 21)), 80)


def test_a_large_text_with_many_places_is_edited_in_bounded_work() -> None:
    text = "ab\n" * 1_000_000  # comparing each place with every other would take hours
    edits = [Edit(old, new, True) for old, new in (("a", "cc"), ("b", "d"), ("cc", "e"), ("d", "f"), ("e", "gg"))]
    done = texts.apply_edits(text, edits)
    assert done.text == "ggf\n" * 1_000_000 and len(done.changed) == 20


some_text = st.text(alphabet="ab\n", max_size=12)


@given(text=some_text, edits=st.lists(st.tuples(some_text.filter(bool), some_text), max_size=4))
def test_edits_agree_with_plain_replacement_and_unchanged_lines_are_not_reported(
    text: str, edits: list[tuple[str, str]]
) -> None:
    expected = text
    for old, new in edits:
        if old == new or old not in expected:
            return
        expected = expected.replace(old, new)
    if expected == text:
        return
    done = texts.apply_edits(text, [Edit(old, new, True) for old, new in edits])
    assert done.text == expected
    lines = expected.split("\n")
    assert done.changed and all(lines[one.line - 1] == one.text for one in done.changed)
    # Lines before the first reported change are unchanged.
    untouched = done.changed[0].line - 1
    assert lines[:untouched] == text.split("\n")[:untouched]
