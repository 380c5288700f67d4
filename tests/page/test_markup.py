"""Differences as the page shows them."""

from satchel.page.markup import DiffLine, compare


def told(lines: list[DiffLine]) -> list[tuple[str, str, int | None, int | None]]:
    return [(line.kind, str(line.text), line.old, line.new) for line in lines]


def test_a_changed_line_is_shown_with_its_words_marked_and_lines_around_it() -> None:
    old = "".join(f"line {number}\n" for number in range(1, 11))
    assert told(compare(old, old.replace("line 6", "row <6>"))) == [
        ("gap", "", None, None),
        ("same", "line 3", 3, 3),
        ("same", "line 4", 4, 4),
        ("same", "line 5", 5, 5),
        ("removed", "<mark>line</mark> 6", 6, None),
        ("added", "<mark>row</mark> <mark>&lt;</mark>6<mark>&gt;</mark>", None, 6),
        ("same", "line 7", 7, 7),
        ("same", "line 8", 8, 8),
        ("same", "line 9", 9, 9),
    ]
    assert compare(old, old) == []


def test_two_million_changed_lines_are_shown_in_part() -> None:
    lines = told(compare("same\n" + "a\n" * 2_000_000, "same\n" + "b\n" * 2_000_000))
    assert lines[:2] == [("gap", "", None, None), ("removed", "<mark>a</mark>", 2, None)]
    assert lines[1001:1003] == [("added", "<mark>b</mark>", None, 2), ("added", "<mark>b</mark>", None, 3)]
    assert lines[-1] == ("gap", "3998000 more lines differ", None, None) and len(lines) == 2002


def test_words_of_long_lines_are_not_compared() -> None:
    old, new = "a b " * 1_000_000, "a c " * 1_000_000
    assert told(compare(old, new)) == [("removed", old, 1, None), ("added", new, None, 1)]
