"""Queries about the notes of tasks, which are only added."""

from collections.abc import Sequence

from satchel.model import TaskNote
from satchel.storage.database import Tx
from satchel.storage.revisions import AUTHOR, find_author, make_author


def add(tx: Tx, owner: str, task: int, text: str, at: str | None = None) -> None:
    """Add a note of the author of the transaction to an owner's task, of the time of the transaction or another."""
    sql = """
        insert into task_notes (task, owner, author, at, text) values (:task, :owner, :author, :at, :text)
    """
    tx.run(sql, task=task, owner=owner, author=find_author(tx), at=at or tx.now, text=text)


def count(tx: Tx, owner: str, task: int) -> int:
    """How many notes an owner's task has."""
    row = tx.one("select count(*) from task_notes where task = :task and owner = :owner", task=task, owner=owner)
    return row[0] if row else 0


def newest(tx: Tx, owner: str, task: int, limit: int) -> list[TaskNote]:
    """The last notes of an owner's task, the oldest of them first."""
    sql = f"""
        select n.at, n.text, {AUTHOR} from task_notes n join authors a on a.number = n.author
        where n.task = :task and n.owner = :owner order by n.number desc limit :limit
    """
    rows = tx.all(sql, task=task, owner=owner, limit=limit)
    return [TaskNote(at=at, text=text, author=make_author(tuple(author))) for at, text, *author in reversed(rows)]


def of_tasks(tx: Tx, owner: str, tasks: Sequence[int]) -> list[tuple[int, str, str]]:
    """Return task, time and text of each note on some of an owner's tasks, the oldest first."""
    sql = "select task, at, text from task_notes where owner = :owner and task in :tasks order by number"
    return [(task, at, text) for task, at, text in tx.all(sql, owner=owner, tasks=list(tasks))]


def newest_of_open(
    tx: Tx, owner: str, project: int, since: str, limit: int, *, has_loose: bool
) -> list[tuple[int, TaskNote]]:
    """The last notes on an owner's open tasks of a project, with their tasks, the newest first.

    `has_loose` adds the tasks of no project.
    """
    # A cross join keeps SQLite from walking the notes of all users.
    sql = f"""
        select n.task, n.at, n.text, {AUTHOR}
        from tasks t cross join task_notes n join authors a on a.number = n.author
        where t.owner = :owner and t.deleted_at is null and t.completed_at is null
            and (t.project = :project or (:has_loose and t.project is null))
            and n.task = t.number and n.owner = :owner and n.at >= :since
        order by n.number desc limit :limit
    """
    values = {"owner": owner, "project": project, "has_loose": has_loose, "since": since, "limit": limit}
    rows = tx.all(sql, **values)
    return [(task, TaskNote(at=at, text=text, author=make_author(tuple(by)))) for task, at, text, *by in rows]
