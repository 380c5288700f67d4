"""Queries about which task blocks which. Both have the same owner, and there are no circles."""

from collections.abc import Sequence

from satchel.storage.database import Tx


def replace(tx: Tx, owner: str, task: int, blockers: Sequence[int]) -> list[int]:
    """Replace the blockers of a task; returns those that were stored because they are the owner's."""
    tx.run("delete from task_blocks where task = :task and owner = :owner", task=task, owner=owner)
    sql = """
        insert into task_blocks (task, blocker, owner)
        select :task, number, owner from tasks where owner = :owner and number in :blockers
        returning blocker
    """
    if not blockers:
        return []
    return [blocker for (blocker,) in tx.all(sql, owner=owner, task=task, blockers=list(blockers))]


def is_circular(tx: Tx, owner: str, task: int) -> bool:
    """Whether a task blocks itself, directly or through others."""
    sql = """
        with recursive above (number) as (
            select blocker from task_blocks where task = :task and owner = :owner
            union
            select b.blocker from above join task_blocks b on b.task = above.number where b.owner = :owner
        )
        select 1 from above where number = :task limit 1
    """
    return tx.one(sql, task=task, owner=owner) is not None


def blocked_by(tx: Tx, owner: str, blocker: int) -> list[int]:
    """The tasks that a task blocks."""
    sql = "select task from task_blocks where blocker = :blocker and owner = :owner order by task"
    return [task for (task,) in tx.all(sql, blocker=blocker, owner=owner)]
