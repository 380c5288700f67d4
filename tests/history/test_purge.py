"""What a purge leaves behind of others: a task that was blocked by the purged one."""

from satchel.model import Scope, TaskDraft
from satchel.services import history, pruning, tasks
from satchel.storage.database import Database

SCOPE = Scope(user="11111111-1111-4111-8111-111111111111")


def test_a_task_whose_blocker_is_purged_was_changed_and_not_restored(database: Database) -> None:
    with database.write(SCOPE) as tx:
        first = tasks.add(tx, SCOPE, TaskDraft(title="First"))
        second = tasks.add(tx, SCOPE, TaskDraft(title="Second", blocked_by=[first.number]))
    with database.write(SCOPE) as tx:
        pruning.purge(tx, SCOPE, f"#{first.number}")
    with database.read(SCOPE) as tx:
        _, found, _ = history.list_versions(tx, SCOPE, f"#{second.number}")
        assert [(one.version, one.action) for one in found] == [(2, "update"), (1, "add")]
        assert tasks.find(tx, SCOPE, second.number).blocked_by == ()
