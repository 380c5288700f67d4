"""Pages of the contract satchel while the list changes: what does not change is shown once and in order."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from satchel.contracts.contract import Context, Reply
from satchel.contracts.satchel import documents as document_tools
from satchel.contracts.satchel import prompts as prompt_tools
from satchel.contracts.satchel import tasks as task_tools
from satchel.contracts.satchel.tools import ListPrompts, ListResources, ListTasks
from satchel.library.catalog import Catalog, Libraries, Library
from satchel.library.manifest import LibraryPrompt
from satchel.model import (
    PRIORITIES,
    Argument,
    DocumentDraft,
    PromptDraft,
    PromptPatch,
    Scope,
    Task,
    TaskDraft,
    TaskPatch,
)
from satchel.services import documents, projects, prompts, tasks
from satchel.storage import prompts as prompt_rows
from satchel.storage import search_engines
from satchel.storage import tasks as task_rows
from satchel.storage.database import Database, Tx
from tests.support.satchel import make_library
from tests.support.soak import amount

ADA = Scope(user="00000000-0000-4000-8000-00000000000a")
TOOLS: dict[str, tuple[Any, Any]] = {
    "prompts": (prompt_tools.list_prompts, ListPrompts),
    "resources": (document_tools.list_resources, ListResources),
    "tasks": (task_tools.list_tasks, ListTasks),
}


class Reader:
    """A client that reads one page after the other, and remembers every entry."""

    def __init__(self, database: Database, libraries: Libraries, what: str, **wanted: Any) -> None:
        self._database = database
        self._libraries = libraries
        self._what = what
        self._wanted = wanted
        self.shown: list[Any] = []
        self.is_done = False
        self.states: list[tuple[int, int]] = []  # the tasks that were shown, and their versions then
        self._left = 100  # pages, before this is taken for a circle

    def turn(self) -> list[Any]:
        """Return the next page: names of prompts and resources, numbers of tasks."""
        self._left -= 1
        assert self._left, "pages without end"
        tool, takes = TOOLS[self._what]
        with self._database.read(ADA) as tx:
            reply = tool(Context(ADA, tx, lambda: self._libraries), takes(**self._wanted))
            assert isinstance(reply, Reply) and isinstance(reply.structured, dict)
            found = reply.structured[self._what]
            if self._what == "tasks":  # rows of tasks have no version
                self.states += [(task.number, tasks.find(tx, ADA, task.number).version) for task in found]
        self.shown += found
        self.is_done = "next_cursor" not in reply.structured
        assert self.is_done or len(found) == self._wanted["limit"]
        self._wanted["cursor"] = reply.structured.get("next_cursor", "")
        return [one.number if self._what == "tasks" else one.name for one in found]


@pytest.fixture
def libraries() -> Libraries:
    return Libraries([])


@pytest.fixture
def filled(database: Database) -> Database:
    """A store with six of each: tasks 1 to 6, prompts and resources a to f."""
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
    # What a tool may be given is looked at before it is called.
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


def test_stored_prompts_are_listed_with_their_arguments(filled: Database, libraries: Libraries) -> None:
    with filled.write(ADA) as tx:
        declared = [Argument("to", "Who", True, ("Ann", "Bob")), Argument("news", None, False)]
        prompts.add(tx, ADA, PromptDraft(title="letter", content="Dear {{ to }}", arguments=declared))
    for wanted in ({}, {"query": "dear"}):
        reader = Reader(filled, libraries, "prompts", limit=1, **wanted)
        reader.turn()
        arguments = reader.shown[0].arguments
        assert arguments == ("to", "news?")


# -- against a model --------------------------------------------------------------------------------------------


@contextmanager
def ways(few: int, newest: int) -> Iterator[None]:
    """Let the store go other ways than those of so small a one."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (prompt_rows, task_rows, search_engines):
            patch.setattr(module, "_FEW", few)
        patch.setattr(prompt_rows, "_NEWEST", newest)
        yield


WAYS = st.sampled_from([(300, 200), (0, 200), (0, 0), (0, 2)])
DAYS = st.sampled_from([None, None, "2026-01-01", "2026-06-01", "0001-01-01"])
TAGS = st.sampled_from([(), ("a",), ("a", "b")])
TASKS = st.tuples(st.sampled_from(PRIORITIES), DAYS, TAGS, st.sampled_from(["open", "done", "blocked"]))
PLACES = st.integers(0, 30)
TASK_CHANGES = st.one_of(
    st.tuples(st.just("status"), PLACES, st.sampled_from(["pending", "completed"])),
    st.tuples(st.just("priority"), PLACES, st.sampled_from(PRIORITIES)),
    st.tuples(st.just("due"), PLACES, DAYS),
    st.tuples(st.just("delete"), PLACES, st.none()),
    st.tuples(st.just("add"), PLACES, TASKS),
)


def put(tx: Tx, kind: tuple[Any, ...]) -> int:
    """Return a new task; one that is blocked waits for the oldest that there is."""
    priority, due, tags, state = kind
    others = [task.number for task in tasks.list_all(tx, ADA, "pending")]
    blockers = [min(others)] if state == "blocked" and others else []
    number = tasks.add(
        tx, ADA, TaskDraft(title="Some task", priority=priority, due=due, tags=tags, blocked_by=blockers)
    ).number
    if state == "done":
        tasks.complete(tx, ADA, number)
    return number


def change_task(tx: Tx, change: tuple[Any, ...]) -> set[int]:
    """Change a task, and tell which are others now: those that waited for it as well."""
    what, place, value = change
    if what == "add":
        return {put(tx, value)}
    known = [tasks.find(tx, ADA, task.number) for task in tasks.list_all(tx, ADA)]
    if not known:
        return set()
    number = known[place % len(known)].number
    if what == "delete":
        tasks.delete(tx, ADA, number)
    else:
        tasks.update(tx, ADA, number, TaskPatch(**{what: value}))
    return {number, *(task.number for task in known if number in task.blocked_by)}


def in_order(filter: str, known: list[Task]) -> list[Task]:
    if filter == "completed":
        return sorted(known, key=lambda task: (task.completed_at or "", task.number), reverse=True)
    if filter == "all":
        return sorted(known, key=lambda task: (task.created_at, task.number), reverse=True)
    return sorted(
        known, key=lambda task: (-PRIORITIES.index(task.priority), task.due or "9999", task.created_at, task.number)
    )


@settings(max_examples=amount(20, 60))
@given(
    moments=st.lists(st.lists(TASKS, min_size=1, max_size=5), max_size=3),
    status=st.sampled_from(["ready", "ready", "pending", "completed", "all"]),
    wanted=st.sampled_from([{}, {"tags": ["a"]}, {"query": "some"}, {"query": "SOME", "tags": ["a", "b"]}]),
    limit=st.integers(1, 4),
    changes=st.lists(st.lists(TASK_CHANGES, max_size=2), max_size=6),
    way=WAYS,
)
def test_tasks_that_stay_as_they_are_are_shown_once_and_in_order(
    database: Database,
    moments: list[list[Any]],
    status: str,
    wanted: dict[str, Any],
    limit: int,
    changes: list[list[Any]],
    way: tuple[int, int],
) -> None:
    with database.write(ADA) as tx:
        tx.run("delete from tasks")
    for kinds in moments:
        with database.write(ADA) as tx:  # all made, and done, at one moment
            for kind in kinds:
                put(tx, kind)
    with database.read(ADA) as tx:
        before = [tasks.find(tx, ADA, task.number) for task in tasks.list_all(tx, ADA)]
    touched: set[int] = set()
    reader = Reader(database, Libraries([]), "tasks", status=status, limit=limit, **wanted)
    with ways(*way):
        reader.turn()
        while not reader.is_done:
            with database.write(ADA) as tx:
                for change in changes.pop(0) if changes else ():
                    touched |= change_task(tx, change)
            reader.turn()

    def is_listed(task: Task) -> bool:
        of_status = {
            "ready": not task.is_completed and not task.open_blockers,
            "pending": not task.is_completed,
            "completed": task.is_completed,
            "all": True,
        }
        return of_status[status] and ("tags" not in wanted or bool(task.tags)) and task.number not in touched

    shown = [task.number for task in reader.shown if task.number not in touched]
    assert shown == [task.number for task in in_order(status, before) if is_listed(task)]
    assert len(reader.states) == len(set(reader.states))


NAMES = st.sampled_from(["desk:a", "desk:b", "desk:c", "desk_x:a", "desk2:a", "lamp:a"])
PROMPT_CHANGES = st.one_of(
    st.tuples(st.just("add"), st.just(0)),
    st.tuples(st.sampled_from(["update", "delete", "tag"]), PLACES),
    st.tuples(st.just("library"), NAMES),
)


def shelve(libraries: Libraries, names: set[str]) -> None:
    """Make these the prompts of libraries, each library with the last first."""
    found = []
    for library in sorted({name.partition(":")[0] for name in names}):
        keys = sorted((name.partition(":")[2] for name in names if name.startswith(f"{library}:")), reverse=True)
        held = tuple(LibraryPrompt(key, "some words", ()) for key in keys)
        found.append(Library(library, "/", library, held, held, (None,) * len(held), (), False))
    libraries._catalog = Catalog(tuple(found), (), ())


def change_prompt(tx: Tx, change: tuple[str, int], title: str) -> str | None:
    """Change a stored prompt, and tell which."""
    what, place = change
    if what == "add":
        return prompts.add(tx, ADA, PromptDraft(title=title, content="Some words", tags=["a"])).name
    known = [prompt.name for prompt in prompts.list_headers(tx, ADA)[0]]
    if not known:
        return None
    name = known[place % len(known)]
    if what == "delete":
        prompts.delete(tx, ADA, named(tx, name))
    elif what == "tag":
        prompts.update(tx, ADA, named(tx, name), PromptPatch(tags=["a"]))
    else:
        prompts.update(tx, ADA, named(tx, name), PromptPatch(content="Some words, others"))
    return name


@settings(max_examples=amount(20, 60))
@given(
    moments=st.lists(st.lists(TAGS, min_size=1, max_size=5), max_size=3),
    shelf=st.sets(NAMES),
    wanted=st.sampled_from([{}, {"tags": ["a"]}, {"query": "SOME"}, {"query": "so", "tags": ["a", "b"]}]),
    limit=st.integers(1, 4),
    changes=st.lists(st.lists(PROMPT_CHANGES, max_size=2), max_size=6),
    way=WAYS,
)
def test_prompts_that_stay_as_they_are_are_shown_once_and_in_order(
    database: Database,
    moments: list[list[Any]],
    shelf: set[str],
    wanted: dict[str, Any],
    limit: int,
    changes: list[list[Any]],
    way: tuple[int, int],
) -> None:
    projects.require(database, ADA)
    with database.write(ADA) as tx:
        tx.run("delete from prompts")
    stored: list[str] = []
    for number, moment in enumerate(moments):
        with database.write(ADA) as tx:  # all of one moment
            for place, tags in enumerate(moment):
                name = prompts.add(
                    tx, ADA, PromptDraft(title=f"{number} {place}", content="Some words", tags=tags)
                ).name
                stored = [name, *stored] if tags or "tags" not in wanted else stored
    expected = stored + (sorted(shelf, key=lambda name: name.split(":")) if "tags" not in wanted else [])
    touched: set[str | None] = set()
    libraries = Libraries([])
    shelve(libraries, shelf)
    reader = Reader(database, libraries, "prompts", limit=limit, **wanted)
    with ways(*way):
        reader.turn()
        while not reader.is_done:
            for change in changes.pop(0) if changes else ():
                if change[0] == "library":
                    touched.add(change[1])
                    shelf = shelf ^ {change[1]}
                    shelve(libraries, shelf)
                else:
                    with database.write(ADA) as tx:
                        touched.add(change_prompt(tx, change, f"new {len(reader.shown)} {len(touched)}"))
            reader.turn()

    shown = [prompt.name for prompt in reader.shown if prompt.name not in touched]
    assert shown == [name for name in expected if name not in touched]
    states = [(prompt.name, prompt.version) for prompt in reader.shown]
    assert len(states) == len(set(states))
