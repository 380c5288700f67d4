"""Claims of tasks: their holders, their duration, and the calls that a fence refuses."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from satchel import clock
from satchel.errors import NotFound, NothingReady, StaleFence, TaskClosed, TaskHeld
from satchel.model import Author, Holder, Scope, StoreChange, Task, TaskDraft, TaskPatch, TaskQuery
from satchel.services import history, projects, restoring, tasks
from satchel.storage.database import Database, Tx

ADA = Scope(user="00000000-0000-4000-8000-00000000000a")
BOB = Scope(user="00000000-0000-4000-8000-00000000000b")
ANN, BEN = Holder("ann 0001", "ann", True), Holder("ben 0002", "ben", True)


@contextmanager
def later(database: Database, minutes: int) -> Iterator[Tx]:
    """Yield a transaction some minutes from now."""
    with database.write(ADA) as tx:
        tx.__dict__["now"] = clock.minutes_after(clock.now(), minutes)
        yield tx


def add(tx: Tx, title: str, **more: object) -> Task:
    return tasks.add(tx, ADA, TaskDraft(title=title, **more))  # type: ignore[arg-type]


def ready(tx: Tx, holder: Holder | None) -> list[int]:
    query = TaskQuery(filter="ready", holder_key=None if holder is None else holder.key)
    return [task.number for task in tasks.list_page(tx, ADA, query, limit=50)[0]]


def test_a_claimed_task_is_in_progress_until_the_claim_runs_out(database: Database) -> None:
    with database.write(ADA) as tx:
        task = add(tx, "One")
        claim = tasks.claim(tx, ADA, task.number, ANN, 30)[1]
        assert (claim.holder, claim.holder_key, claim.fence) == ("ann 0001", "ann", 1)
        assert claim.until == clock.minutes_after(tx.now, 30)
        held = tasks.find(tx, ADA, task.number)
        assert (held.status, held.claim, held.version) == ("in_progress", claim, 1)
        in_progress, _ = tasks.list_page(tx, ADA, TaskQuery(filter="in_progress"), limit=9)
        assert list(in_progress) == [held]
        assert [ready(tx, one) for one in (ANN, BEN, None)] == [[task.number], [], [task.number]]
        assert [tasks.count_held(tx, ADA, TaskQuery(holder_key=one.key)) for one in (ANN, BEN)] == [0, 1]
    with later(database, 29) as tx:
        assert tasks.find(tx, ADA, task.number).status == "in_progress"
    with later(database, 31) as tx:
        assert tasks.find(tx, ADA, task.number).status == "pending"
        assert ready(tx, BEN) == [task.number]
        assert tasks.list_page(tx, ADA, TaskQuery(filter="in_progress"), limit=9) == ((), False)


def test_only_its_holder_renews_a_claim(database: Database) -> None:
    with database.write(ADA) as tx:
        number = add(tx, "One").number
        first = tasks.claim(tx, ADA, number, ANN, 10)[1]
        with pytest.raises(TaskHeld) as refused:
            tasks.claim(tx, ADA, number, BEN, 10)
        assert (refused.value.number, refused.value.claim) == (number, first)
        renewed = tasks.claim(tx, ADA, number, ANN, 1440)[1]
        assert (renewed.fence, renewed.until) == (1, clock.minutes_after(tx.now, 1440))
        assert tasks.find(tx, ADA, number).claim == renewed
    with later(database, 1441) as tx:
        assert tasks.claim(tx, ADA, number, ANN, 10)[1].fence == 2
    with later(database, 1452) as tx:
        assert tasks.claim(tx, ADA, number, BEN, 10)[1].fence == 3


def test_a_renewal_without_a_session_has_a_new_fence(database: Database) -> None:
    with database.write(ADA) as tx:
        number = add(tx, "One").number
        assert [tasks.claim(tx, ADA, number, Holder("ann 0001", "ann"), 10)[1].fence for _ in range(3)] == [1, 2, 3]
    assert tasks.make_holder("ann", "s1", ADA).has_session
    assert not tasks.make_holder("ann", "", ADA).has_session


def test_anyone_of_the_user_releases_a_claim(database: Database) -> None:
    with database.write(ADA) as tx:
        number = add(tx, "One").number
        claim = tasks.claim(tx, ADA, number, ANN, 10)[1]
        with pytest.raises(NotFound):
            tasks.release(tx, BOB, number)
        assert tasks.find(tx, ADA, number).claim == claim
        assert tasks.release(tx, ADA, number).claim is None
        assert tasks.release(tx, ADA, number).status == "pending"
        assert tasks.claim(tx, ADA, number, ANN, 10)[1].fence == 2


def test_claims_are_announced_and_are_no_versions(database: Database) -> None:
    with database.write(ADA) as tx:
        projects.add(tx, "house")
        number = add(tx, "One", project="house").number
    told = {StoreChange("task", "house", ADA.user, str(number)): None}
    with database.write(ADA) as tx:
        tasks.claim(tx, ADA, number, ANN, 10)
        assert tx.changes == told
    with database.write(ADA) as tx:
        tasks.release(tx, ADA, number)
        assert tx.changes == told
    with database.read(ADA) as tx:
        _, versions, _ = history.list_versions(tx, ADA, f"#{number}")
        assert [one.version for one in versions] == [1]


def test_the_next_one_is_the_most_urgent_that_is_ready_and_free(database: Database) -> None:
    with database.write(ADA) as tx:
        projects.add(tx, "house")
        first = add(tx, "First", project="house")
        add(tx, "Blocked", project="house", priority="urgent", blocked_by=[first.number])
        high = add(tx, "High", project="house", priority="high")
        elsewhere = add(tx, "Elsewhere", priority="urgent")
        assert tasks.claim_next(tx, ADA, "house", ANN, 5)[0].number == high.number
        assert tasks.claim_next(tx, ADA, "house", ANN, 5)[0].number == first.number  # not the one already held
        with pytest.raises(NothingReady) as nothing:
            tasks.claim_next(tx, ADA, "house", ANN, 5)
        assert (nothing.value.project, nothing.value.blocked, nothing.value.held) == ("house", 1, 2)
        assert tasks.claim_next(tx, ADA, None, BEN, 5)[0].number == elsewhere.number
        with pytest.raises(NotFound):
            tasks.claim_next(tx, ADA, "nowhere", ANN, 5)
        with pytest.raises(NothingReady) as nothing:
            tasks.claim_next(tx, BOB, None, ANN, 5)
        assert (nothing.value.blocked, nothing.value.held) == (0, 0)


def test_closed_deleted_and_foreign_tasks_cannot_be_claimed(database: Database) -> None:
    with database.write(ADA) as tx:
        done, cancelled, gone = (add(tx, title).number for title in ("Done", "Cancelled", "Gone"))
        tasks.complete(tx, ADA, done)
        tasks.update(tx, ADA, cancelled, TaskPatch(status="cancelled"))
        tasks.delete(tx, ADA, gone)
        for number, status in ((done, "completed"), (cancelled, "cancelled")):
            with pytest.raises(TaskClosed) as refused:
                tasks.claim(tx, ADA, number, ANN, 5)
            assert refused.value.status == status
        with pytest.raises(NotFound):
            tasks.claim(tx, ADA, gone, ANN, 5)
        with pytest.raises(NotFound):
            tasks.claim(tx, BOB, done, ANN, 5)


@pytest.mark.parametrize("end", ["complete", "completed", "cancelled", "delete"])
def test_closing_and_deleting_end_a_claim_and_its_fence_goes_on(database: Database, end: str) -> None:
    with database.write(ADA) as tx:
        number = add(tx, "One").number
        tasks.claim(tx, ADA, number, ANN, 5)
        if end == "complete":
            tasks.complete(tx, ADA, number)
        elif end == "delete":
            tasks.delete(tx, ADA, number)
        else:
            tasks.update(tx, ADA, number, TaskPatch(status=end))  # type: ignore[arg-type]
    with database.write(ADA) as tx:
        if end == "delete":
            restoring.restore(tx, ADA, f"#{number}")
        else:
            tasks.update(tx, ADA, number, TaskPatch(status="pending"))
        assert tasks.find(tx, ADA, number).claim is None
        assert tasks.claim(tx, ADA, number, BEN, 5)[1].fence == 2


def test_a_fence_that_is_not_the_newest_changes_nothing(database: Database) -> None:
    with database.write(ADA) as tx:
        number = add(tx, "One").number
        with pytest.raises(StaleFence) as never:
            tasks.complete(tx, ADA, number, fence=1)
        assert never.value.claim is None
        old = tasks.claim(tx, ADA, number, ANN, 1)[1]
    with later(database, 2) as tx:
        new = tasks.claim(tx, ADA, number, BEN, 5)[1]
        for act in (
            lambda: tasks.complete(tx, ADA, number, fence=old.fence),
            lambda: tasks.update(tx, ADA, number, TaskPatch(title="x"), fence=old.fence),
            lambda: tasks.update(tx, ADA, number, TaskPatch(), fence=old.fence),
        ):
            with pytest.raises(StaleFence) as refused:
                act()
            assert (refused.value.fence, refused.value.claim) == (old.fence, new)
        assert tasks.update(tx, ADA, number, TaskPatch(), 1, new.fence).version == 1
        assert tasks.update(tx, ADA, number, TaskPatch(title="x"), fence=new.fence).title == "x"
        assert tasks.complete(tx, ADA, number, fence=new.fence)[1] is False
        assert tasks.complete(tx, ADA, number, fence=new.fence)[1] is True  # a retry, as after a lost answer


def test_a_scope_claims_only_in_its_projects(database: Database) -> None:
    with database.write(ADA) as tx:
        projects.add(tx, "open")
        projects.add(tx, "closed")
        hidden = add(tx, "Hidden", project="closed", priority="urgent").number
        blocked = add(tx, "Blocked", project="open", priority="high", blocked_by=[hidden]).number
        seen = add(tx, "Seen", project="open").number
    scope = Scope(user=ADA.user, projects=("open",))
    with database.write(scope) as tx:
        assert tasks.claim_next(tx, scope, None, ANN, 5)[0].number == seen
        with pytest.raises(NotFound):
            tasks.claim(tx, scope, hidden, ANN, 5)
        with pytest.raises(NothingReady) as nothing:
            tasks.claim_next(tx, scope, None, ANN, 5)
        assert (nothing.value.blocked, nothing.value.held) == (1, 1)
        assert tasks.claim(tx, scope, blocked, ANN, 5)[1].fence == 1


def test_a_purge_removes_the_claim(database: Database) -> None:
    with database.write(ADA) as tx:
        number, kept = add(tx, "One").number, add(tx, "Two").number
        for one in (number, kept):
            tasks.claim(tx, ADA, one, ANN, 5)
    with database.write(ADA) as tx:
        restoring.purge(tx, ADA, f"#{number}")
        assert tx.all("select task from task_claims") == [(kept,)]


def test_a_holder_is_named_after_its_client_and_distinguished_by_session_token_or_user() -> None:
    token = Scope(user=ADA.user, author=Author(token="t1"))
    holders = [
        tasks.make_holder("claude-code", "session 1", ADA),
        tasks.make_holder("claude-code", "session 2", ADA),
        tasks.make_holder("codex", "session 1", ADA),
        tasks.make_holder("claude-code", "", token),
        tasks.make_holder("claude-code", "", ADA),
        tasks.make_holder("claude-code", "", BOB),
    ]
    assert len({holder.key for holder in holders}) == len({holder.name for holder in holders}) == 6
    assert holders[0] == tasks.make_holder("claude-code", "session 1", token)
    for holder in holders:
        name, apart = holder.name.rsplit(" ", 1)
        assert name in ("claude-code", "codex") and len(apart) == 4
    assert tasks.make_holder("", "x", ADA).name.startswith("client ")
    assert tasks.make_holder("a\0b", "x", ADA).name.startswith("client ")
    assert len(tasks.make_holder("long " * 1000, "x", ADA).name) <= 65
