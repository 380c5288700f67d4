"""What a purge leaves behind of others: a task that was blocked by the purged one."""

from satchel.model import Scope, TaskDraft, TaskPatch
from satchel.services import history, restoring, tasks
from satchel.storage.database import Database

SCOPE = Scope(user="11111111-1111-4111-8111-111111111111")


def test_a_task_whose_blocker_is_purged_keeps_its_versions(database: Database) -> None:
    with database.write(SCOPE) as tx:
        first = tasks.add(tx, SCOPE, TaskDraft(title="First"))
        second = tasks.add(tx, SCOPE, TaskDraft(title="Second", blocked_by=[first.number]))
    with database.write(SCOPE) as tx:
        restoring.purge(tx, SCOPE, f"#{first.number}")
    with database.read(SCOPE) as tx:
        _, found, _ = history.list_versions(tx, SCOPE, f"#{second.number}")
        assert [(one.version, one.action) for one in found] == [(1, "add")]
        assert tasks.find(tx, SCOPE, second.number).blocked_by == ()
    with database.write(SCOPE) as tx:
        tasks.update(tx, SCOPE, second.number, TaskPatch(title="Other", blocked_by=[]))
        assert history.read_version(tx, SCOPE, f"#{second.number}", 1).state.blocked_by == (first.number,)
