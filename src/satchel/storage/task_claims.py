"""Queries about claims of tasks. The row of a task's last claim stays, so that its fence never shrinks."""

from collections.abc import Sequence

from satchel.model import Claim, Holder
from satchel.storage.database import Row, Tx

_COLUMNS = "holder, holder_key, until, fence"


def find(tx: Tx, owner: str, task: int) -> Claim | None:
    """The last claim of an owner's task, which may have ended."""
    sql = f"select {_COLUMNS} from task_claims where task = :task and owner = :owner"
    row = tx.one(sql, task=task, owner=owner)
    return _claim(row) if row else None


def active(tx: Tx, owner: str, tasks: Sequence[int]) -> dict[int, Claim]:
    """The claims of some of an owner's tasks that have not ended, by the number of the task."""
    # `owner || ''` keeps SQLite off the owner index: a few numbers are faster than all claims of the owner.
    sql = f"""
        select task, {_COLUMNS} from task_claims where owner || '' = :owner and task in :tasks and until > :now
    """
    return {row[0]: _claim(row[1:]) for row in tx.all(sql, owner=owner, tasks=list(tasks), now=tx.now)}


def put(tx: Tx, owner: str, task: int, holder: Holder, until: str) -> Claim:
    """Claim an owner's task, from any holder, with the next fence."""
    sql = f"""
        insert into task_claims (task, owner, holder, holder_key, until, fence)
        values (:task, :owner, :holder, :holder_key, :until, 1)
        on conflict (task) do update set holder = excluded.holder, holder_key = excluded.holder_key,
            until = excluded.until, fence = task_claims.fence + 1
        returning {_COLUMNS}
    """
    row = tx.one(sql, task=task, owner=owner, holder=holder.name, holder_key=holder.key, until=until)
    assert row is not None, "an insert returns its row"
    return _claim(row)


def renew(tx: Tx, owner: str, task: int, until: str) -> Claim:
    """Have the claim of an owner's task end at another time, with the same fence."""
    sql = f"update task_claims set until = :until where task = :task and owner = :owner returning {_COLUMNS}"
    row = tx.one(sql, task=task, owner=owner, until=until)
    assert row is not None, "only a claim that is there is renewed"
    return _claim(row)


def end(tx: Tx, owner: str, task: int) -> None:
    """End the claim of an owner's task, where it has one."""
    tx.run("update task_claims set until = '' where task = :task and owner = :owner", task=task, owner=owner)


def _claim(row: Row) -> Claim:
    holder, holder_key, until, fence = row
    return Claim(holder=holder, holder_key=holder_key, until=until, fence=fence)
