"""Lists with signs: what they add and remove, and which are refused."""

import pytest

from satchel.errors import WrongArgument
from satchel.model import ListChange
from satchel.services import rules


def test_a_list_without_signs_replaces_all() -> None:
    assert rules.read_changes("tags", ["a", "b"]) == ["a", "b"]
    assert rules.read_changes("tags", []) == []
    assert rules.apply_changes(["old"], ["a", "b"]) == ["a", "b"]
    assert rules.apply_changes(["old"], []) == []


def test_a_list_with_signs_adds_and_removes() -> None:
    change = rules.read_changes("tags", ["+a", " -B ", "+ c", "--x", "+-y"])
    assert change == ListChange(added=("a", "c", "-y"), removed=("B", "-x"))
    assert rules.apply_changes(["b", "d", "-x"], change) == ["d", "a", "c", "-y"]


def test_removing_what_is_not_there_changes_nothing() -> None:
    assert rules.apply_changes(["a"], ListChange(removed=("b",))) == ["a"]
    assert rules.apply_changes(["a"], ListChange(added=("b",), removed=("B",))) == ["a"]


@pytest.mark.parametrize(("given", "place"), [(["+a", "b"], "tags[1]"), (["a", "-b"], "tags[0]"), (["+"], "tags[0]")])
def test_a_list_with_some_signs_is_refused(given: list[str], place: str) -> None:
    with pytest.raises(WrongArgument) as refused:
        rules.read_changes("tags", given)
    assert (refused.value.rule, refused.value.place) == ("signs", place)
