"""Parts of texts: ranges of lines, sections below headings, outlines."""

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.errors import MissingPart, WrongArgument
from satchel.services import texts
from satchel.services.texts import Heading, TextPart, find_headings

PAGE = """---
title: # not a heading
---
# Guide

Intro

## Set up ##

```sh
# a comment
```

### On *Linux*

apt

## Use

run

# Set up

again
"""


@pytest.mark.parametrize(
    ("wanted", "part"),
    [
        ("2", TextPart("b\n", 2, 2, 3)),
        ("1-2", TextPart("a\nb\n", 1, 2, 3)),
        (" 2 - 3 ", TextPart("b\nc", 2, 3, 3)),
        ("2-", TextPart("b\nc", 2, 3, 3)),
        ("1-99", TextPart("a\nb\nc", 1, 3, 3)),
    ],
)
def test_a_range_names_lines(wanted: str, part: TextPart) -> None:
    assert texts.take_lines("a\nb\nc", wanted) == part


@pytest.mark.parametrize("wanted", ["", "0", "-3", "3-2", "a", "1,2", "1-2-3", "9999999999", "²"])
def test_an_invalid_range_is_refused(wanted: str) -> None:
    with pytest.raises(WrongArgument) as refused:
        texts.take_lines("a\nb\nc", wanted)
    assert (refused.value.field, refused.value.rule) == ("lines", "format")


@pytest.mark.parametrize(("text", "total"), [("a\nb\nc", 3), ("a\n", 1), ("", 0)])
def test_lines_behind_the_last_are_refused_with_their_number(text: str, total: int) -> None:
    with pytest.raises(WrongArgument) as refused:
        texts.take_lines(text, "4-5")
    assert (refused.value.rule, refused.value.limit) == ("maximum", total)


def test_headings_are_those_of_markdown() -> None:
    assert list(texts.find_headings(PAGE)) == [
        Heading(4, 1, "Guide"),
        Heading(8, 2, "Set up"),
        Heading(14, 3, "On *Linux*"),
        Heading(18, 2, "Use"),
        Heading(22, 1, "Set up"),
    ]
    assert list(texts.find_headings("#no\n#######no\n    # no\n# \n   ## yes\r\n")) == [Heading(5, 2, "yes")]


@pytest.mark.parametrize(
    ("heading", "first", "last", "others"),
    [
        ("guide", 4, 21, ()),
        (" SET  UP ", 8, 17, (22,)),
        ("## Set up", 8, 17, ()),
        ("# set up", 22, 24, ()),
        ("On Linux", 14, 17, ()),
        ("use", 18, 21, ()),
    ],
)
def test_a_section_goes_to_the_next_heading_of_its_level(
    heading: str, first: int, last: int, others: tuple[int, ...]
) -> None:
    part, also = texts.take_section(PAGE, heading)
    assert (part.first, part.last, also) == (first, last, others)
    assert part == texts.take_lines(PAGE, f"{first}-{last}")


@pytest.mark.parametrize(
    ("heading", "near"), [("Setup", ("Set up",)), ("zzz", ("Guide", "Set up", "On *Linux*")), ("### Use", ("Use",))]
)
def test_an_unknown_heading_is_refused_with_the_existing_ones(heading: str, near: tuple[str, ...]) -> None:
    with pytest.raises(MissingPart) as missing:
        texts.take_section(PAGE, heading)
    assert missing.value.near == near


NUMBERED = "# 7. Terms\n## 7.1 Parties\n## 7.2 Scope\n### A.1) Limits\n## 7.2 Price\n# 8 Ends\n"


@pytest.mark.parametrize(
    ("heading", "first", "last"),
    [("7", 1, 5), ("7.1", 2, 2), ("# 8", 6, 6), ("a.1", 4, 4), ("SCOPE", 3, 4), ("7.2 price", 5, 5)],
)
def test_a_number_finds_its_heading_and_so_does_the_text_after_it(heading: str, first: int, last: int) -> None:
    part, also = texts.take_section(NUMBERED, heading)
    assert (part.first, part.last, also) == (first, last, ())


def test_a_number_of_several_headings_or_of_none_lists_those_that_it_may_mean() -> None:
    for heading, near, is_ambiguous in (
        ("7.2", ("7.2 Scope", "7.2 Price"), True),
        ("7.3", ("7.1 Parties", "7.2 Scope", "7.2 Price"), False),
        ("A", ("A.1) Limits",), False),
    ):
        with pytest.raises(MissingPart) as missing:
            texts.take_section(NUMBERED, heading)
        assert (missing.value.near, missing.value.is_ambiguous) == (near, is_ambiguous)


def test_an_outline_keeps_the_upper_levels_and_as_many_of_the_next_as_fit() -> None:
    text = "".join(f"# {one}\n" + "".join(f"## {one}.{two}\n" for two in range(9)) for one in range(10))
    headings, others = texts.make_outline(text)
    shown = [f"# {one.text}" if one.level == 1 else one.text for one in headings]
    assert (shown[:3], shown[-6:]) == (["# 0", "0.0", "0.1"], ["5.3", "5.4", "# 6", "# 7", "# 8", "# 9"])
    assert (len(headings), [one.text for one in others[:5]], len(others)) == (
        60,
        ["5.5", "5.6", "5.7", "5.8", "6.0"],
        40,
    )
    headings, others = texts.make_outline("# x\n" * 100)
    assert (len(headings), len(others), others[0].line) == (60, 40, 61)
    assert texts.make_outline("plain") == ((), ())


def test_the_beginning_of_a_long_text_ends_with_a_line_if_it_can() -> None:
    assert texts.take_beginning("line\n" * 1000) == TextPart("line\n" * 300, 1, 300, 1000)
    assert texts.take_beginning("x" * 9000) == TextPart("x" * 1500, 1, 1, 1)


def test_only_the_first_of_very_many_headings_are_found() -> None:
    text = "# h\n" * 20_000 + "# last\n"
    part, others = texts.take_section(text, "h")
    assert (part.first, part.last, part.total, len(others)) == (1, 1, 20_001, 9_999)
    with pytest.raises(MissingPart):
        texts.take_section(text, "last")
    assert len(texts.make_outline(text)[1]) == 9_940


@given(st.text("ab\n#`\r\u2028", max_size=60), st.data())
def test_lines_are_found_as_in_a_list_of_all(text: str, data: st.DataObject) -> None:
    lines, total = text.split("\n"), texts.count_lines(text)
    first = data.draw(st.integers(1, max(1, total)))
    last = data.draw(st.integers(first, max(first, total)))
    part = "".join(f"{line}\n" for line in lines[first - 1 : last])
    assert texts._take(text, first, last).text == (part if last < len(lines) else part[:-1])


def test_headings_with_much_white_space_take_little_time() -> None:
    start = process_time()
    assert [one.text for one in find_headings(f"# a{' ' * 30_000}b\n# c #\t{' ' * 30_000}\n# d#")][1:] == ["c", "d#"]
    assert process_time() - start < 0.3
