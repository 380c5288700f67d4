"""Differences of versions: they show all that changed, and suffice to make the new text."""

import re
from collections.abc import Sequence
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.model import Argument, DocumentDraft, DocumentPatch, PromptDraft, PromptPatch, Scope, TaskDraft, TaskPatch
from satchel.services import diffs, documents, layers, projects, prompts, tasks
from satchel.services.diffs import _compare
from satchel.storage.database import Database

SCOPE = Scope(user="550e8400-e29b-41d4-a716-446655440000")
LINES = st.lists(st.sampled_from(["", "a", "b", "- c", "+ d", "@@ e"]), max_size=12)


def apply(old: Sequence[str], hunks: Sequence[str]) -> list[str]:
    """Apply a difference to some lines, as the program `patch` does."""
    new: list[str] = []
    position = 0
    for line in hunks:
        head = re.fullmatch(r"@@ -(\d+),(\d+) \+(\d+),(\d+) @@", line)
        if head:
            first, count, new_first, new_count = map(int, head.groups())
            start = first - (count > 0)
            new += old[position:start]
            position = start
            assert len(new) == new_first - (new_count > 0)
        elif line.startswith("+"):
            new.append(line[1:])
        else:
            assert old[position] == line[1:]
            new += old[position : position + 1] if line.startswith(" ") else []
            position += 1
    return [*new, *old[position:]]


def lines_of(text: str) -> list[str]:
    return text.split("\n") if text else []


@given(LINES, LINES, st.integers(0, 3))
def test_the_new_lines_are_the_old_ones_with_the_difference(old: list[str], new: list[str], context: int) -> None:
    pairs = [(old, new), ([*old, "x", *old], [*old, "y", *old]), ([*old, *new], [*old, *old, *new])]
    for before, after in [("\n".join(one), "\n".join(other)) for one, other in pairs]:
        assert apply(lines_of(before), _compare(before, after, context=context)) == lines_of(after)


def test_a_change_in_a_text_of_very_many_lines_is_found_quickly() -> None:
    old = "a\n" * 2_000_000
    new = old[:2_000_000] + "x\n" + old[2_000_002:]
    assert _compare(old, new, context=1) == ["@@ -1000000,3 +1000000,3 @@", " a", "-a", "+x", " a"]


def test_very_many_changed_lines_are_shown_in_part() -> None:
    old = "".join(f"{number % 7}\n" for number in range(100_000))
    new = "".join(f"{number % 5}\n" for number in range(50_000))
    hunk = _compare(f"same\n{old}", f"same\n{new}", context=1)
    # The first five lines and the last five are equal in both texts.
    shown = [f"-{number % 7}" for number in range(5, 1005)], [f"+{number % 5}" for number in range(5, 1005)]
    assert hunk == [
        "@@ -7,99990 +7,49990 @@",
        *shown[0],
        "\\ 98990 more lines",
        *shown[1],
        "\\ 48990 more lines",
    ]


def test_every_field_of_a_prompt_is_compared(database: Database) -> None:
    projects.require(database, SCOPE)
    with database.write(SCOPE) as tx:
        draft = PromptDraft(title="One", content="first\nsecond\n", tags=["b", "a"], description="What\nfor")
        name = prompts.add(tx, SCOPE, draft).name
        found = layers.find_prompt(tx, SCOPE, name)
        arguments = [Argument("x", "An x", True), Argument("y", None, False, ("1", "2"))]
        patch = PromptPatch(title="Two", content="first\nthird\n", tags=[], description="Why", arguments=arguments)
        prompts.update(tx, SCOPE, found.id, patch)
        item, old, new, text = diffs.diff(tx, SCOPE, "one")
    assert (item.kind, item.key, old, new) == ("prompt", "one", 1, 2)
    assert text.split("\n") == [
        "--- version 1",
        "+++ version 2",
        "-title: One",
        "-description: What",
        "-  for",
        "-tags: a, b",
        "+title: Two",
        "+description: Why",
        "+argument: x, An x",
        "+argument: y (optional), one of 1, 2",
        "@@ -1,3 +1,3 @@",
        " first",
        "-second",
        "+third",
        " ",
    ]


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ("text", "text\n", ["+"]),
        ("a\r\nb", "a\nb", ["-a\r", "+a"]),
        ("a\u2028b", "a\nb", ["-a\u2028b", "+a", "+b"]),
    ],
)
def test_a_change_of_line_ends_is_a_change(database: Database, before: str, after: str, changed: list[str]) -> None:
    projects.require(database, SCOPE)
    with database.write(SCOPE) as tx:
        documents.add(tx, SCOPE, DocumentDraft(name="doc", uri="x:doc", content=before))
        documents.update(tx, SCOPE, "doc", DocumentPatch(content=after))
        text = diffs.diff(tx, SCOPE, "doc", context=0)[3]
    assert [line for line in text.split("\n")[2:] if not line.startswith("@@")] == changed


def test_bytes_are_compared_by_their_hash(database: Database) -> None:
    projects.require(database, SCOPE)
    with database.write(SCOPE) as tx:
        documents.add(tx, SCOPE, DocumentDraft(name="x", uri="x:x", content=b"\xff1", mime_type="image/png"))
        documents.update(tx, SCOPE, "x", DocumentPatch(content=b"\xff2"))
        text = diffs.diff(tx, SCOPE, "x", context=0)[3]
    old, new = (sha256(content).hexdigest()[:16] for content in (b"\xff1", b"\xff2"))
    assert text.split("\n")[3:] == [f"-(2 bytes, SHA-256 {old})", f"+(2 bytes, SHA-256 {new})"]


def test_a_task_that_moves_shows_its_project(database: Database) -> None:
    projects.require(database, SCOPE)
    with database.write(SCOPE) as tx:
        projects.add(tx, "home")
        first = tasks.add(tx, SCOPE, TaskDraft(title="Milk", project="default"))
        second = tasks.add(tx, SCOPE, TaskDraft(title="Shop"))
        patch = TaskPatch(project="home", priority="high", due="2030-01-01", blocked_by=[second.number])
        tasks.update(tx, SCOPE, first.number, patch)
        text = diffs.diff(tx, SCOPE, f"#{first.number}")[3]
    assert text.split("\n")[2:] == [
        "-project: default",
        "+project: home",
        "-priority: normal",
        "+priority: high",
        "+due: 2030-01-01",
        f"+blocked_by: #{second.number}",
    ]
