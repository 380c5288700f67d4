"""Cancelled tasks: closed as completed ones are, and told apart where somebody asks."""

from satchel.model import BlockerChange, ListChange, Scope, Task, TaskDraft, TaskPatch, TaskQuery, TaskStatus
from satchel.services import diffs, history, projects, restoring, tasks
from satchel.storage.database import Database, Tx

ADA = Scope(user="00000000-0000-4000-8000-00000000000a")


def put(tx: Tx, number: int, status: TaskStatus) -> Task:
    return tasks.update(tx, ADA, number, TaskPatch(status=status))


def find(tx: Tx, filter: str) -> list[int]:
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
        assert (find(tx, "ready"), find(tx, "pending")) == ([second], [second])
        assert (find(tx, "completed"), find(tx, "cancelled")) == ([third], [first])
        assert find(tx, "all") == [third, second, first]
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
