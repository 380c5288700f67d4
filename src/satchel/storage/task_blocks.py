"""Queries about which task waits for which. Both are of one owner, and nothing waits for itself in the end."""

from collections.abc import Sequence

from satchel.storage.database import Tx


def put(tx: Tx, owner: str, task: int, blockers: Sequence[int]) -> list[int]:
    """Make these the tasks that a task waits for; gives those that are the owner's, and so were put."""
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
    """Whether a task waits, over however many others, for itself."""
    sql = """
        with recursive above (number) as (
            select blocker from task_blocks where task = :task and owner = :owner
            union
            select b.blocker from above join task_blocks b on b.task = above.number where b.owner = :owner
        )
        select 1 from above where number = :task limit 1
    """
    return tx.one(sql, task=task, owner=owner) is not None


def waiting(tx: Tx, owner: str, blocker: int) -> list[int]:
    """The tasks that wait for a task."""
    sql = "select task from task_blocks where blocker = :blocker and owner = :owner order by task"
    return [task for (task,) in tx.all(sql, blocker=blocker, owner=owner)]
