"""Tasks with all that is known of them: what may be said of one, and finding it again."""

from typing import Any

import pytest

from satchel.errors import AmbiguousItem, Forbidden, NotFound
from satchel.model import BlockerChange, ListChange, Scope, StoreChange, TaskDraft, TaskPatch, TaskQuery
from satchel.services import history, lookup, projects, tasks
from satchel.storage.database import Database, Tx

ADA = Scope(user="00000000-0000-4000-8000-00000000000a")
BOB = Scope(user="00000000-0000-4000-8000-00000000000b")


def keys(changes: dict[StoreChange, None]) -> set[str | None]:
    """Return the numbers of the tasks of which a transaction tells."""
    return {change.key for change in changes if change.what == "task" and change.owner == ADA.user}


def suggest(tx: Tx, scope: Scope, reference: str) -> list[tuple[int, str]]:
    return [(number, title) for number, _, title in lookup.suggest(tx, scope, "task", reference)]


def test_a_task_keeps_all_that_is_said_of_it(database: Database) -> None:
    with database.write() as tx:
        projects.add(tx, "house")
        first = tasks.add(tx, ADA, TaskDraft(title="Buy paint"))
        task = tasks.add(
            tx,
            ADA,
            TaskDraft(
                title="Paint the door",
                description="Green",
                project="house",
                tags=["Spring", "paint", "PAINT"],
                priority="high",
                due="2026-02-28",
                blocked_by=[first.number, first.number],
            ),
        )
    with database.read() as tx:
        assert tasks.find(tx, ADA, task.number) == task
    assert (task.project, task.tags, task.priority, task.due) == ("house", ("paint", "spring"), "high", "2026-02-28")
    assert (task.blocked_by, task.open_blockers, task.is_ready) == ((first.number,), (first.number,), False)
    assert (first.project, first.tags, first.priority, first.due, first.is_ready) == (None, (), "normal", None, True)


def test_an_update_changes_only_what_is_given(database: Database) -> None:
    with database.write() as tx:
        projects.add(tx, "house")
        other = tasks.add(tx, ADA, TaskDraft(title="First"))
        given: dict[str, Any] = {
            "title": "Second",
            "description": "D",
            "project": "house",
            "tags": ["a", "b"],
            "priority": "urgent",
            "due": "2027-01-01",
            "blocked_by": [other.number],
        }
        task = tasks.add(tx, ADA, TaskDraft(**given))
        same = tasks.update(tx, ADA, task.number, TaskPatch())
        assert same == task
        assert (task.version, task.title, task.tags, task.blocked_by) == (1, "Second", ("a", "b"), (other.number,))
        assert (task.project, task.priority, task.due, task.description) == ("house", "urgent", "2027-01-01", "D")
        emptied = tasks.update(
            tx, ADA, task.number, TaskPatch(description=None, project=None, tags=(), due=None, blocked_by=())
        )
        assert (emptied.title, emptied.priority) == ("Second", "urgent")
        assert (emptied.description, emptied.project, emptied.tags, emptied.due) == (None, None, (), None)
        assert (emptied.blocked_by, emptied.is_ready) == ((), True)


def test_a_project_must_be_there_and_allowed(database: Database) -> None:
    confined = Scope(user=ADA.user, projects=("open",))
    with database.write() as tx:
        projects.add(tx, "open")
        projects.add(tx, "closed")
        with pytest.raises(NotFound):
            tasks.add(tx, ADA, TaskDraft(title="T", project="nowhere"))
        with pytest.raises(Forbidden):
            tasks.add(tx, confined, TaskDraft(title="T", project="closed"))
        task = tasks.add(tx, confined, TaskDraft(title="T", project="open"))
        with pytest.raises(Forbidden):
            tasks.update(tx, confined, task.number, TaskPatch(project="closed"))
        with pytest.raises(Forbidden):
            tasks.list_page(tx, confined, TaskQuery(project="closed"), limit=10)


def test_a_task_is_found_by_number_id_or_a_title_that_only_one_has(database: Database) -> None:
    with database.write() as tx:
        task = tasks.add(tx, ADA, TaskDraft(title="Buy milk"))
        long = tasks.add(tx, ADA, TaskDraft(title="x" * 400))
        tasks.add(tx, ADA, TaskDraft(title="x" * 399 + "y"))
        tasks.add(tx, ADA, TaskDraft(title="Twice"))
        tasks.add(tx, ADA, TaskDraft(title="Twice"))
        for title in ("999", "#999", "0", "-1"):
            tasks.add(tx, ADA, TaskDraft(title=title))
        number, id = task.number, task.id
        for reference in (number, str(number), f"#{number}", f" #{number} ", id, id.upper(), "Buy milk", " BUY-milk "):
            assert tasks.find(tx, ADA, reference) == task
            with pytest.raises(NotFound):
                tasks.find(tx, BOB, reference)
        assert tasks.find(tx, ADA, long.title) == long
        numbers = ("999", "#999", " 999 ", 999, "0", 0, "#0", -1, "-1", "#-1", 2**63, "9" * 30)
        for reference in ("Twice", "TWICE", "Buy", "", "#", "²", "٣", *numbers):  # a number is never a title
            with pytest.raises(AmbiguousItem if str(reference).lower() == "twice" else NotFound):
                tasks.find(tx, ADA, reference)


def test_only_an_id_tells_that_a_task_is_somebody_elses(database: Database) -> None:
    with database.write() as tx:
        task = tasks.add(tx, ADA, TaskDraft(title="T"))
        with pytest.raises(Forbidden):
            tasks.lock(tx, BOB, task.id)
        with pytest.raises(NotFound):
            tasks.lock(tx, BOB, task.number)
        with pytest.raises(NotFound):
            tasks.lock(tx, BOB, BOB.user or "")


def test_near_gives_what_was_meant(database: Database) -> None:
    with database.write() as tx:
        for title in ("Buy milk", "Call Mum", "Write the letter", "Write the latter"):
            tasks.add(tx, ADA, TaskDraft(title=title))
        tasks.add(tx, BOB, TaskDraft(title="Buy silk"))
        known = {task.title: task.number for task in tasks.list_all(tx, ADA)}
        assert suggest(tx, ADA, "buy milkk") == [(known["Buy milk"], "Buy milk")]
        assert [title for _, title in suggest(tx, ADA, "write the lettre")] == [
            "Write the letter",
            "Write the latter",
        ]
        for reference in ("4711", "#4711", "0", "-1", "9" * 30, "00000000-0000-4000-8000-000000000000"):
            assert suggest(tx, ADA, reference) == [], reference
        assert suggest(tx, ADA, "nothing like it") == suggest(tx, ADA, "x" * 5000) == []


def test_what_is_near_comes_in_one_order_on_every_engine(database: Database) -> None:
    with database.write() as tx:
        projects.add(tx, "closed")
        projects.add(tx, "open")
        first = tasks.add(tx, ADA, TaskDraft(title="Vier", project="closed")).number
        for title in ("vier", "Vier", "VIER", "Vier", "Vier", "Four"):
            tasks.add(tx, ADA, TaskDraft(title=title, project="open"))
        assert suggest(tx, ADA, "viar") == [(first + 3, "VIER"), (first, "Vier"), (first + 2, "Vier")]
        with pytest.raises(AmbiguousItem) as ambiguous:
            tasks.find(tx, ADA, " Vier ")
        assert ambiguous.value.references == tuple(f"#{first + number}" for number in (0, 2, 4))
        assert ambiguous.value.has_more
        assert tasks.find(tx, ADA, "Four").number == first + 6
        confined = Scope(user=ADA.user, projects=("open",))
        assert suggest(tx, confined, "viar")[1:] == [(first + 2, "Vier"), (first + 4, "Vier")]
        with pytest.raises(AmbiguousItem) as ambiguous:
            tasks.find(tx, confined, "Vier")
        assert ambiguous.value.references == tuple(f"#{first + number}" for number in (2, 4, 5))
        assert not ambiguous.value.has_more
        for number in (4, 5):
            tasks.delete(tx, ADA, first + number)
        # What a token cannot see is no reason to call a title ambiguous.
        assert tasks.find(tx, confined, "Vier").number == first + 2


def test_a_change_that_changes_nothing_makes_no_version_and_tells_nobody(database: Database) -> None:
    with database.write() as tx:
        blocker = tasks.add(tx, ADA, TaskDraft(title="First")).number
        given: dict[str, Any] = {"title": "T", "description": "D", "tags": ["a"], "blocked_by": [blocker]}
        task = tasks.add(tx, ADA, TaskDraft(**given))
        done = tasks.add(tx, ADA, TaskDraft(title="Done")).number
        closed = tasks.update(tx, ADA, done, TaskPatch(status="completed"))
    same = [
        *({name: value} for name, value in given.items()),
        {"tags": ListChange(added=("A",), removed=("b",))},
        {"blocked_by": BlockerChange(added=(blocker,))},
        {"status": "pending"},
    ]
    for patch in same:
        with database.write() as tx:
            assert tasks.update(tx, ADA, task.number, TaskPatch(**patch)) == task, patch
            assert tx.changes == {}
    with database.write() as tx:
        assert tasks.update(tx, ADA, done, TaskPatch(status="completed")) == closed
        assert [one.version for one in history.list_versions(tx, ADA, f"#{task.number}")[1]] == [1]


def test_every_write_tells_of_the_task_and_of_those_it_frees(database: Database) -> None:
    with database.write() as tx:
        first = tasks.add(tx, ADA, TaskDraft(title="First"))
        second = tasks.add(tx, ADA, TaskDraft(title="Second", blocked_by=[first.number]))
        assert keys(tx.changes) == {str(first.number), str(second.number)}
    both = {str(first.number), str(second.number)}
    for act, told in (
        (lambda tx: tasks.update(tx, ADA, first.number, TaskPatch(title="New")), {str(first.number)}),
        (lambda tx: tasks.complete(tx, ADA, first.id), both),
        (lambda tx: tasks.complete(tx, ADA, first.id), set()),
        (lambda tx: tasks.update(tx, ADA, first.number, TaskPatch(status="pending")), both),
        (lambda tx: tasks.update(tx, ADA, first.number, TaskPatch(status="completed")), both),
        (lambda tx: tasks.delete(tx, ADA, first.id), both),
    ):
        with database.write() as tx:
            act(tx)
            assert keys(tx.changes) == told
