"""Pages of tasks have the same tasks in the same order, whatever plan the store chooses."""

from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from satchel.errors import WrongArgument
from satchel.model import PRIORITIES, Scope, Task, TaskDraft, TaskPatch, TaskQuery
from satchel.services import projects, rules, tasks
from satchel.storage import tasks as task_rows
from satchel.storage.database import Database
from tests.support.variants import both_engines

ADA = Scope(user="00000000-0000-4000-8000-00000000000a")
BOB = Scope(user="00000000-0000-4000-8000-00000000000b")


def titles(database: Database, **wanted: Any) -> list[str]:
    """Return the titles on a page."""
    with database.read() as tx:
        found, _ = tasks.list_page(tx, ADA, TaskQuery(**wanted), limit=50)
    return [task.title for task in found]


@pytest.fixture
def filled(database: Database) -> Database:
    """Return a store with tasks of all kinds."""
    with database.write() as tx:
        projects.add(tx, "house")
        projects.add(tx, "garden")
        tasks.add(tx, ADA, TaskDraft(title="plain", description="Straße"))
        tasks.add(tx, ADA, TaskDraft(title="low", priority="low", due="2026-01-01", tags=["a"]))
        late = tasks.add(
            tx, ADA, TaskDraft(title="late", priority="high", due="2026-12-01", tags=["a", "b"], project="house")
        )
        tasks.add(tx, ADA, TaskDraft(title="early", priority="high", due="2026-02-01", tags=["b"], project="garden"))
        tasks.add(tx, ADA, TaskDraft(title="no day", priority="high", project="house"))
        tasks.add(tx, ADA, TaskDraft(title="blocked", priority="urgent", blocked_by=[late.number], project="house"))
        for title in ("done first", "done last"):
            tasks.complete(tx, ADA, tasks.add(tx, ADA, TaskDraft(title=title)).number)
        tasks.add(tx, BOB, TaskDraft(title="Bob's", priority="urgent", tags=["a"]))
    return database


def test_each_filter_has_its_order(filled: Database) -> None:
    ready = ["early", "late", "no day", "plain", "low"]
    assert titles(filled, filter="ready") == ready
    assert titles(filled, filter="pending") == ["blocked", *ready]
    assert titles(filled, filter="completed") == ["done last", "done first"]
    everything = ["done last", "done first", "blocked", "no day", "early", "late", "low", "plain"]
    assert titles(filled, filter="all") == everything


@pytest.mark.parametrize("few", [300, 0])
def test_filters_combine(filled: Database, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_rows, "_FEW", few)
    assert titles(filled, project="house") == ["late", "no day"]
    assert titles(filled, filter="pending", project="house") == ["blocked", "late", "no day"]
    assert titles(filled, tags=["A", "b"]) == ["early", "late", "low"]
    assert titles(filled, tags=["a", "B"], needs_all_tags=True) == ["late"]
    assert titles(filled, tags=["nothing"]) == titles(filled, tags=["a", "nothing"], needs_all_tags=True) == []
    assert titles(filled, tags=["a", "nothing"]) == ["late", "low"]
    assert titles(filled, tags=["a"], project="house", text="LAT") == ["late"]
    assert titles(filled, text="strasse") == titles(filled, text="STRASSE") == ["plain"]
    assert titles(filled, text="%") == titles(filled, text="l_te") == []
    assert titles(filled, text="") == titles(filled)
    # No tag resembles these.
    assert titles(filled, tags=["K"]) == titles(filled, tags=["a", "é"], needs_all_tags=True) == []
    assert titles(filled, tags=["a", "é"]) == ["late", "low"]


@both_engines
@pytest.mark.parametrize("few", [300, 0])
def test_tasks_are_filtered_by_due_day_and_priority(
    filled: Database, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_rows, "_FEW", few)
    for due, found in (
        ("overdue", ["low"]),
        ("today", ["early"]),
        ("week", ["early"]),
        ("<2026-12-01", ["early", "low"]),
        (" < 2026-12-02 ", ["early", "late", "low"]),
    ):
        first, last = rules.read_due(due, "2026-02-01")
        assert titles(filled, filter="pending", due_from=first, due_before=last) == found, due
    week = rules.read_due("WEEK", "2026-11-25")
    assert week == ("2026-11-25", "2026-12-03")
    assert titles(filled, filter="pending", due_from=week[0], due_before=week[1]) == ["late"]
    assert titles(filled, filter="pending", priority="high") == ["early", "late", "no day"]
    assert titles(filled, filter="pending", priority="low", tags=["a"], due_before="2026-01-02") == ["low"]
    for wrong in ("soon", "<", "<tomorrow", "2026-12-01", ">2026-12-01"):
        with pytest.raises(WrongArgument) as refused:
            rules.read_due(wrong, "2026-02-01")
        assert (refused.value.field, refused.value.rule) == ("due", "filter")


def test_a_text_that_is_changed_is_found_by_what_it_says_now(filled: Database) -> None:
    with filled.write() as tx:
        plain = tasks.find(tx, ADA, "plain")
        tasks.update(tx, ADA, plain.number, TaskPatch(description="Platz"))
    assert titles(filled, text="straße") == []
    assert titles(filled, text="platz") == ["plain"]


@settings(max_examples=20)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(PRIORITIES),
            st.sampled_from([None, "2026-01-01", "2026-06-01", "0001-01-01"]),
            st.sampled_from([(), ("a",), ("a", "b"), ("b",)]),
            st.sampled_from(["pending", "completed", "cancelled"]),
            st.sampled_from(["İstanbul", "ﬁne", "Plain", "ǅ"]),
        ),
        max_size=10,
    ),
    st.sampled_from(["ready", "pending", "completed", "cancelled", "all"]),
    st.sampled_from([None, "i", "FI", "ǆ", "plain"]),
    st.integers(1, 3),
)
def test_pages_agree_with_the_whole_list(
    database: Database,
    kinds: list[tuple[Any, ...]],
    filter: Literal["ready", "pending", "completed", "cancelled", "all"],
    query: str | None,
    size: int,
) -> None:
    with database.write() as tx:
        tx.run("delete from tasks")
        for priority, due, tags, status, title in kinds:
            task = tasks.add(tx, ADA, TaskDraft(title=title, tags=tags, due=due, priority=priority))
            tasks.update(tx, ADA, task.number, TaskPatch(status=status))
        everything = [tasks.find(tx, ADA, task.number) for task in tasks.list_all(tx, ADA)]
        before, _ = tasks.list_page(tx, ADA, TaskQuery(filter=filter, text=query or "", tags=["a"]), limit=size)
        last = tasks.position_of(filter, before[-1]) if before else None
        found, has_more = tasks.list_page(
            tx, ADA, TaskQuery(filter=filter, text=query or "", tags=["a"]), limit=3, after=last
        )

    def is_wanted(task: Task) -> bool:
        is_right = filter in ("all", "pending" if task.status == "pending" else task.status)
        is_right = is_right or (filter == "ready" and task.is_ready)
        return is_right and "a" in task.tags and (query or "").casefold() in task.title.casefold()

    wanted = [task for task in everything if is_wanted(task)]
    if filter in ("completed", "cancelled"):
        wanted.sort(key=lambda task: (task.completed_at or "", task.number), reverse=True)
    elif filter != "all":
        wanted.sort(
            key=lambda task: (-PRIORITIES.index(task.priority), task.due or "9999", task.created_at, task.number)
        )
    assert list(before) == wanted[:size]
    assert list(found) == wanted[size : size + 3]
    assert has_more == (len(wanted) > size + 3)
