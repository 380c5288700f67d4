"""Pages of the contract satchel while the list changes: unchanged items are shown once and in order."""

from pathlib import Path
from typing import Any

import pytest

from satchel.contracts.contract import Context, Reply
from satchel.contracts.satchel import documents as document_tools
from satchel.contracts.satchel import prompts as prompt_tools
from satchel.contracts.satchel import tasks as task_tools
from satchel.contracts.satchel.tools import ListPrompts, ListResources, ListTasks
from satchel.library.catalog import Libraries
from satchel.model import (
    DocumentDraft,
    PromptDraft,
    PromptPatch,
    Scope,
    TaskDraft,
    TaskPatch,
)
from satchel.services import documents, projects, prompts, tasks
from satchel.storage.database import Database, Tx
from tests.support.satchel import make_library

ADA = Scope(user="00000000-0000-4000-8000-00000000000a")
TOOLS: dict[str, tuple[Any, Any]] = {
    "prompts": (prompt_tools.list_prompts, ListPrompts),
    "resources": (document_tools.list_resources, ListResources),
    "tasks": (task_tools.list_tasks, ListTasks),
}


class Reader:
    """A client that reads one page after the other."""

    def __init__(self, database: Database, libraries: Libraries, what: str, **wanted: Any) -> None:
        self._database = database
        self._libraries = libraries
        self._what = what
        self._wanted = wanted
        self.is_done = False

    def turn(self) -> list[Any]:
        """Return the next page: names of prompts and resources, numbers of tasks."""
        tool, takes = TOOLS[self._what]
        with self._database.read(ADA) as tx:
            reply = tool(Context(ADA, tx, lambda: self._libraries), takes(**self._wanted))
            assert isinstance(reply, Reply) and isinstance(reply.structured, dict)
            found = reply.structured[self._what]
        self.is_done = "next_cursor" not in reply.structured
        assert self.is_done or len(found) == self._wanted["limit"]
        self._wanted["cursor"] = reply.structured.get("next_cursor", "")
        return [one.number if self._what == "tasks" else one.name for one in found]


@pytest.fixture
def libraries() -> Libraries:
    return Libraries([])


@pytest.fixture
def filled(database: Database) -> Database:
    """Return a store with six items of each kind: tasks 1 to 6, prompts and resources a to f."""
    projects.require(database, ADA)
    for name in "abcdef":
        with database.write(ADA) as tx:
            prompts.add(tx, ADA, PromptDraft(title=name, content="x", tags=["t"]))
            tasks.add(tx, ADA, TaskDraft(title=f"task {name}", tags=["t"]))
            documents.add(tx, ADA, DocumentDraft(name=name, uri=f"x:{name}", content="x", mime_type="text/plain"))
    return database


def named(tx: Tx, name: str) -> str:
    return prompts.get_by_name(tx, ADA, name).id


# -- prompts ----------------------------------------------------------------------------------------------------


def test_prompts_of_libraries_follow_by_name_whatever_comes_and_goes(filled: Database, tmp_path: Path) -> None:
    make_library(tmp_path, "desk", {name: ("x", []) for name in ("z", "b", "m")})
    make_library(tmp_path, "desk2", {"a": ("x", [])})
    libraries = Libraries([str(tmp_path)])
    reader = Reader(filled, libraries, "prompts", limit=5)
    assert [reader.turn(), reader.turn()] == [["f", "e", "d", "c", "b"], ["a", "desk:b", "desk:m", "desk:z", "desk2:a"]]
    assert reader.is_done

    reader = Reader(filled, libraries, "prompts", limit=4)
    assert [reader.turn(), reader.turn()] == [["f", "e", "d", "c"], ["b", "a", "desk:b", "desk:m"]]
    make_library(tmp_path, "desk", {name: ("x", []) for name in ("a", "n", "z", "b")})
    libraries.rescan()
    with filled.write(ADA) as tx:
        prompts.add(tx, ADA, PromptDraft(title="new", content="x"))
    assert reader.turn() == ["desk:n", "desk:z", "desk2:a"]
    assert reader.is_done


def test_libraries_whose_turn_comes_with_a_new_page(filled: Database, tmp_path: Path) -> None:
    make_library(tmp_path, "desk", {name: ("x", []) for name in ("a", "b")})
    reader = Reader(filled, Libraries([str(tmp_path)]), "prompts", limit=6)
    assert reader.turn() == ["f", "e", "d", "c", "b", "a"]
    with filled.write(ADA) as tx:
        prompts.delete(tx, ADA, named(tx, "a"))
        prompts.delete(tx, ADA, named(tx, "b"))
    assert reader.turn() == ["desk:a", "desk:b"]
    assert reader.is_done


def test_the_longest_names_of_libraries_lead_to_the_next_page(filled: Database, tmp_path: Path) -> None:
    make_library(tmp_path, "é" * 127, {f"{letter * 250}": ("x", []) for letter in "ab"})
    reader = Reader(filled, Libraries([str(tmp_path)]), "prompts", limit=7)
    assert [len(reader.turn()), len(reader.turn()), reader.is_done] == [7, 1, True]
    # Arguments are checked before the tool runs, so the cursor must not exceed their bounds.
    reader = Reader(filled, Libraries([str(tmp_path)]), "prompts", limit=7)
    reader.turn()
    assert len(reader._wanted["cursor"]) < 2000


def test_resources_are_not_repeated_or_skipped(filled: Database, libraries: Libraries) -> None:
    reader = Reader(filled, libraries, "resources", limit=2)
    assert reader.turn() == ["a", "b"]
    with filled.write(ADA) as tx:
        documents.delete(tx, ADA, "b")
        documents.delete(tx, ADA, "a")
    assert [reader.turn(), reader.turn()] == [["c", "d"], ["e", "f"]]
    assert reader.is_done


@pytest.mark.parametrize(
    ("status", "first", "rest"),
    [("pending", [1, 2], [3]), ("completed", [6, 5], [4]), ("all", [6, 5], [4, 3, 1])],
)
def test_tasks_that_change_meanwhile_move_no_others(
    filled: Database, libraries: Libraries, status: str, first: list[int], rest: list[int]
) -> None:
    with filled.write(ADA) as tx:
        for number in (4, 5, 6):
            tasks.complete(tx, ADA, number)
    reader = Reader(filled, libraries, "tasks", status=status, limit=2)
    assert reader.turn() == first
    with filled.write(ADA) as tx:
        tasks.add(tx, ADA, TaskDraft(title="new", priority="urgent"))
        tasks.update(tx, ADA, first[0], TaskPatch(tags=["other"]))
        tasks.delete(tx, ADA, 2)
    found = []
    while not reader.is_done:
        found += reader.turn()
    assert found == rest


def test_prompts_that_change_meanwhile_move_no_others(filled: Database, libraries: Libraries) -> None:
    for wanted in ({}, {"tags": ["t"]}, {"query": "x"}):
        reader = Reader(filled, libraries, "prompts", limit=2, **wanted)
        assert reader.turn() == ["f", "e"]
        with filled.write(ADA) as tx:
            added = prompts.add(tx, ADA, PromptDraft(title="new", content="x", tags=["t"]))
            prompts.update(tx, ADA, named(tx, "f"), PromptPatch(description="again"))
        assert [reader.turn(), reader.turn()] == [["d", "c"], ["b", "a"]]
        with filled.write(ADA) as tx:
            prompts.delete(tx, ADA, added.id)
            prompts.update(tx, ADA, named(tx, "f"), PromptPatch(description=None))
