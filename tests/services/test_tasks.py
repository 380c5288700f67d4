"""Tasks: fields, finding, cancelling, notes, and blockers, which never form a circle."""

import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from satchel.errors import AmbiguousItem, Forbidden, NotFound, StoreConflict, WrongArgument
from satchel.model import (
    Author,
    BlockerChange,
    ListChange,
    Scope,
    StoreChange,
    Task,
    TaskDraft,
    TaskPatch,
    TaskQuery,
    TaskStatus,
)
from satchel.services import diffs, history, lookup, projects, restoring, tasks
from satchel.storage.database import Database, Tx
from tests.support.threads import in_threads

ADA = Scope(user="00000000-0000-4000-8000-00000000000a")
BOB = Scope(user="00000000-0000-4000-8000-00000000000b")


def keys(changes: dict[StoreChange, None]) -> set[str | None]:
    """Return the numbers of the tasks that a transaction announces."""
    return {change.key for change in changes if change.what == "task" and change.owner == ADA.user}


def suggest(tx: Tx, scope: Scope, reference: str) -> list[tuple[int, str]]:
    return [(number, title) for number, _, title in lookup.suggest(tx, scope, "task", reference)]


def test_a_task_keeps_its_fields_and_an_update_changes_only_what_is_given(database: Database) -> None:
    with database.write() as tx:
        projects.add(tx, "house")
        other = tasks.add(tx, ADA, TaskDraft(title="First"))
        assert (other.project, other.tags, other.priority, other.due) == (None, (), "normal", None)
        assert other.is_ready
        draft = TaskDraft(
            title="Second",
            description="D",
            project="house",
            tags=["b", "a", "A"],
            priority="urgent",
            due="2027-01-01",
            blocked_by=[other.number, other.number],
        )
        task = tasks.add(tx, ADA, draft)
        assert tasks.find(tx, ADA, task.number) == task == tasks.update(tx, ADA, task.number, TaskPatch())
        assert (task.open_blockers, task.is_ready) == ((other.number,), False)
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


def test_near_suggests_the_intended_task(database: Database) -> None:
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


def test_suggestions_have_the_same_order_on_both_engines(database: Database) -> None:
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
        # A task that a token cannot see does not make a title ambiguous.
        assert tasks.find(tx, confined, "Vier").number == first + 2


def test_an_update_without_a_difference_makes_no_version_and_is_not_announced(database: Database) -> None:
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


def test_every_write_announces_the_task_and_those_it_unblocks(database: Database) -> None:
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


def put(tx: Tx, number: int, status: TaskStatus) -> Task:
    return tasks.update(tx, ADA, number, TaskPatch(status=status))


def list_numbers(tx: Tx, filter: str) -> list[int]:
    query = TaskQuery(filter=filter)  # type: ignore[arg-type]
    return [task.number for task in tasks.list_page(tx, ADA, query, limit=50)[0]]


def test_a_cancelled_task_is_closed_and_blocks_nothing(database: Database) -> None:
    with database.write(ADA) as tx:
        first = tasks.add(tx, ADA, TaskDraft(title="First")).number
        second = tasks.add(tx, ADA, TaskDraft(title="Second", blocked_by=[first])).number
        third = tasks.add(tx, ADA, TaskDraft(title="Third")).number
        cancelled = put(tx, first, "cancelled")
        assert (cancelled.status, cancelled.completed_at) == ("cancelled", cancelled.updated_at)
        put(tx, third, "completed")
        assert (list_numbers(tx, "ready"), list_numbers(tx, "pending")) == ([second], [second])
        assert (list_numbers(tx, "completed"), list_numbers(tx, "cancelled")) == ([third], [first])
        assert list_numbers(tx, "all") == [third, second, first]
        assert [task.number for task in tasks.list_all(tx, ADA, "completed")] == [third, first]


def test_a_closed_task_is_closed_otherwise_or_reopened(database: Database) -> None:
    with database.write(ADA) as tx:
        number = tasks.add(tx, ADA, TaskDraft(title="First")).number
        cancelled = put(tx, number, "cancelled")
    with database.write(ADA) as tx:
        again = put(tx, number, "cancelled")
        assert (again.status, again.completed_at) == ("cancelled", cancelled.completed_at)
        completed = put(tx, number, "completed")
        assert completed.status == "completed" and (completed.completed_at or "") > (cancelled.completed_at or "")
        assert put(tx, number, "cancelled").status == "cancelled"
        _, was_completed = tasks.complete(tx, ADA, number)
        assert (tasks.find(tx, ADA, number).status, was_completed) == ("completed", False)
        reopened = put(tx, number, "pending")
        assert (reopened.status, reopened.completed_at, reopened.is_cancelled) == ("pending", None, False)


def test_history_keeps_that_a_task_was_cancelled(database: Database) -> None:
    with database.write(ADA) as tx:
        number = tasks.add(tx, ADA, TaskDraft(title="First")).number
    key = f"#{number}"
    with database.write(ADA) as tx:
        cancelled = put(tx, number, "cancelled")
        assert history.read_version(tx, ADA, key, 2).state.is_cancelled is True
        assert f"cancelled_at: {cancelled.completed_at}" in diffs.diff(tx, ADA, key)[3]
    with database.write(ADA) as tx:
        put(tx, number, "pending")
    with database.write(ADA) as tx:
        restoring.restore(tx, ADA, key, 2)
        restored = tasks.find(tx, ADA, number)
        assert (restored.status, restored.completed_at) == ("cancelled", cancelled.completed_at)
    with database.write(ADA) as tx:
        tasks.delete(tx, ADA, number)
    with database.write(ADA) as tx:
        restoring.restore(tx, ADA, key)
        assert tasks.find(tx, ADA, number).status == "cancelled"
        restoring.restore(tx, ADA, key, 1)
        assert tasks.find(tx, ADA, number).status == "pending"


def test_tags_and_blockers_are_added_and_removed(database: Database) -> None:
    with database.write(ADA) as tx:
        projects.add(tx, "open")
        projects.add(tx, "closed")
        first, second = (tasks.add(tx, ADA, TaskDraft(title=title, project="open")).number for title in ("1", "2"))
        hidden = tasks.add(tx, ADA, TaskDraft(title="3", project="closed")).number
        draft = TaskDraft(title="4", project="open", tags=["a", "b"], blocked_by=[first, hidden])
        number = tasks.add(tx, ADA, draft).number
        patch = TaskPatch(
            tags=ListChange(added=("C",), removed=("A", "zzz")),
            blocked_by=BlockerChange(added=(second,), removed=(first,)),
        )
        scope = Scope(user=ADA.user, projects=("open",))
        changed = tasks.update(tx, scope, number, patch)
        assert (changed.tags, changed.blocked_by, changed.waits_elsewhere) == (("b", "c"), (second,), True)
        assert tasks.find(tx, ADA, number).blocked_by == (second, hidden)
        assert tasks.keep_existing_blockers(tx, scope, [second, hidden]) == [second]


ANN = Author(user="00000000-0000-4000-8000-00000000000a", client="claude-code", client_version="2", contract="satchel")
WRITER = Scope(user=ANN.user, author=ANN)


def test_a_note_says_who_wrote_it_and_when_and_changes_no_version(database: Database) -> None:
    with database.write(WRITER) as tx:
        number = tasks.add(tx, WRITER, TaskDraft(title="One")).number
    with database.write(WRITER) as tx:
        tasks.add_note(tx, WRITER, number, "first\nline")
        now = tx.now
        assert tx.changes == {StoreChange("task", None, WRITER.user, str(number)): None}
    with database.write(Scope(user=WRITER.user)) as tx:
        tasks.add_note(tx, WRITER, number, "second")
        [first, second], count = tasks.list_notes(tx, WRITER, number, 50)
        assert (first.at, first.text, first.author) == (now, "first\nline", ANN)
        assert (second.text, second.author, count) == ("second", Author(user=ANN.user), 2)
        assert tasks.list_notes(tx, WRITER, number, 1) == ([second], 2)
        assert tasks.find(tx, WRITER, number).version == 1


def test_the_number_of_notes_is_bounded(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "MAX_NOTES", 2)
    with database.write(WRITER) as tx:
        number, other = (tasks.add(tx, WRITER, TaskDraft(title=title)).number for title in ("One", "Two"))
        tasks.add_note(tx, WRITER, number, "x" * 10_000)
        tasks.add_note(tx, WRITER, number, "second")
        with pytest.raises(WrongArgument) as many:
            tasks.add_note(tx, WRITER, number, "third")
        assert many.value.rule == "maxItems"
        tasks.add_note(tx, WRITER, other, "first")


def added(database: Database, count: int) -> list[int]:
    """Add some tasks, and return their numbers."""
    with database.write() as tx:
        return [tasks.add(tx, ADA, TaskDraft(title=f"T{number}")).number for number in range(count)]


def test_a_task_is_ready_when_all_its_blockers_are_closed(database: Database) -> None:
    one, two, last = added(database, 3)
    with database.write() as tx:
        assert tasks.update(tx, ADA, last, TaskPatch(blocked_by=[two, one])).blocked_by == (one, two)
        tasks.complete(tx, ADA, one)
        waiting = tasks.find(tx, ADA, last)
        assert (waiting.blocked_by, waiting.open_blockers, waiting.is_ready) == ((one, two), (two,), False)
        tasks.delete(tx, ADA, two)
        freed = tasks.find(tx, ADA, last)
        assert (freed.blocked_by, freed.open_blockers, freed.is_ready) == ((one,), (), True)
        tasks.update(tx, ADA, one, TaskPatch(status="pending"))
        assert not tasks.find(tx, ADA, last).is_ready


def test_a_blocker_is_a_task_of_ones_own(database: Database) -> None:
    [own] = added(database, 1)
    with database.write() as tx:
        foreign = tasks.add(tx, BOB, TaskDraft(title="B")).number
    for blocker in (foreign, 4711, 0, -1, 2**63):
        with pytest.raises(NotFound) as missing, database.write() as tx:
            tasks.update(tx, ADA, own, TaskPatch(title="Changed", blocked_by=[blocker]))
        assert missing.value.key == str(blocker)
        with pytest.raises(NotFound), database.write() as tx:
            tasks.add(tx, ADA, TaskDraft(title="Added", blocked_by=[own, blocker]))
    with database.read() as tx:
        assert [(task.title, task.version) for task in tasks.list_all(tx, ADA)] == [("T0", 1)]


def test_two_updates_at_once_make_no_circle(database: Database) -> None:
    pairs = [added(database, 2) for _ in range(5)]
    start = threading.Barrier(2)
    refused: list[int] = []

    def cross(place: int) -> None:
        for pair in pairs:
            start.wait()
            try:
                with database.write() as tx:
                    tasks.update(tx, ADA, pair[place], TaskPatch(blocked_by=[pair[not place]]))
            except (WrongArgument, StoreConflict):
                refused.append(pair[0])

    in_threads(cross, (0, 1))
    assert sorted(refused) == [pair[0] for pair in pairs]


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 5), st.sets(st.integers(0, 5), max_size=3)), max_size=12))
def test_no_sequence_of_updates_makes_a_circle(database: Database, steps: list[tuple[int, set[int]]]) -> None:
    numbers = added(database, 6)
    waits: dict[int, set[int]] = {place: set() for place in range(6)}

    def reaches(start: int, goal: int, graph: dict[int, set[int]]) -> bool:
        seen, rest = set(), list(graph[start])
        while rest:
            place = rest.pop()
            if place not in seen:
                seen.add(place)
                rest += graph[place]
        return goal in seen

    for task, blockers in steps:
        tried = {**waits, task: blockers}
        try:
            with database.write() as tx:
                tasks.update(tx, ADA, numbers[task], TaskPatch(blocked_by=[numbers[place] for place in blockers]))
            is_put = True
        except WrongArgument:
            is_put = False
        assert is_put != reaches(task, task, tried)
        if is_put:
            waits = tried
