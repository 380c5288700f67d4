"""What waits for what: never in a circle, and never for somebody else's task."""

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from satchel.errors import NotFound, StoreConflict, WrongArgument
from satchel.model import Scope, TaskDraft, TaskPatch
from satchel.services import tasks
from satchel.storage.database import Database

ADA = Scope(user="00000000-0000-4000-8000-00000000000a")
BOB = Scope(user="00000000-0000-4000-8000-00000000000b")


def added(database: Database, count: int) -> list[int]:
    """Return the numbers of so many new tasks."""
    with database.write() as tx:
        return [tasks.add(tx, ADA, TaskDraft(title=f"T{number}")).number for number in range(count)]


def test_what_waits_is_ready_when_nothing_open_is_before_it(database: Database) -> None:
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


def test_nothing_waits_for_itself(database: Database) -> None:
    one, two, three = added(database, 3)
    with database.write() as tx:
        tasks.update(tx, ADA, two, TaskPatch(blocked_by=[one]))
        tasks.update(tx, ADA, three, TaskPatch(blocked_by=[two]))
    for task, blockers in ((one, [one]), (one, [two]), (one, [three]), (two, [one, three])):
        with pytest.raises(WrongArgument) as wrong, database.write() as tx:
            tasks.update(tx, ADA, task, TaskPatch(blocked_by=blockers))
        assert (wrong.value.field, wrong.value.rule) == ("blocked_by", "acyclic")
    with database.write() as tx:
        tasks.update(tx, ADA, three, TaskPatch(blocked_by=[]))
        tasks.update(tx, ADA, one, TaskPatch(blocked_by=[three]))


def test_two_updates_at_once_make_no_circle(database: Database) -> None:
    for _ in range(5):
        one, two = added(database, 2)
        start = threading.Barrier(2)
        refused: list[Exception] = []

        def wait_for(task: int, blocker: int, start: threading.Barrier, refused: list[Exception]) -> None:
            start.wait()
            try:
                with database.write() as tx:
                    tasks.update(tx, ADA, task, TaskPatch(blocked_by=[blocker]))
            except (WrongArgument, StoreConflict) as error:
                refused.append(error)

        threads = [threading.Thread(target=wait_for, args=(*pair, start, refused)) for pair in ((one, two), (two, one))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(refused) == 1


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 5), st.sets(st.integers(0, 5), max_size=3)), max_size=12))
def test_whatever_is_tried_no_circle_comes_of_it(database: Database, steps: list[tuple[int, set[int]]]) -> None:
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
