"""Lists with signs: what they add and remove, and which are refused."""

import pytest

from satchel.errors import WrongArgument
from satchel.model import ListChange
from satchel.services import signed_lists


def test_a_list_without_signs_replaces_all() -> None:
    assert signed_lists.read("tags", ["a", "b"]) == ["a", "b"]
    assert signed_lists.read("tags", []) == []
    assert signed_lists.apply(["old"], ["a", "b"]) == ["a", "b"]
    assert signed_lists.apply(["old"], []) == []


def test_a_list_with_signs_adds_and_removes() -> None:
    change = signed_lists.read("tags", ["+a", " -B ", "+ c", "--x", "+-y"])
    assert change == ListChange(added=("a", "c", "-y"), removed=("B", "-x"))
    assert signed_lists.apply(["b", "d", "-x"], change) == ["d", "a", "c", "-y"]


def test_removing_what_is_not_there_changes_nothing() -> None:
    assert signed_lists.apply(["a"], ListChange(removed=("b",))) == ["a"]
    assert signed_lists.apply(["a"], ListChange(added=("b",), removed=("B",))) == ["a"]


@pytest.mark.parametrize(("given", "place"), [(["+a", "b"], "tags[1]"), (["a", "-b"], "tags[0]"), (["+"], "tags[0]")])
def test_a_list_with_some_signs_is_refused(given: list[str], place: str) -> None:
    with pytest.raises(WrongArgument) as refused:
        signed_lists.read("tags", given)
    assert (refused.value.rule, refused.value.place) == ("signs", place)
