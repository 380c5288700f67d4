"""Queries for a new session: when its client last changed something, how many tasks are open, which tags are in use."""

from collections.abc import Sequence

from satchel.storage.database import Tx
from satchel.storage.tasks import OWNED, Allowed, confine

_LAST_CHANGE = """
    select at from revisions where number = (
        select max(newest) from (
            select (select max(number) from revisions where author = a.number) as newest
            from authors a where user_id = :user and client = :client
        ) as by_author
    )
"""
# Project by project, so that the changes in others are not read.
_LAST_CHANGE_WITHIN = """
    select at from revisions where number = (
        select max(newest) from (
            select (
                select number from revisions r where r.author = a.number and r.project = p.number
                order by r.number desc limit 1
            ) as newest
            from authors a cross join projects p
            where a.user_id = :user and a.client = :client and p.number in :projects
        ) as by_author
    )
"""
_COUNT_OPEN = """
    select coalesce(project, 0), count(*) from tasks
    where {owned} and completed_at is null and deleted_at is null group by coalesce(project, 0)
"""


def last_change_by(tx: Tx, user: str, client: str, projects: Sequence[int] | None = None) -> str | None:
    """When a client of a user last changed something, in some projects or anywhere; None where that is not known."""
    sql = _LAST_CHANGE if projects is None else _LAST_CHANGE_WITHIN
    row = tx.one(sql, user=user, client=client, projects=list(projects or ()))
    return row[0] if row else None


def tags_in_use(tx: Tx, project: int, owner: str, limit: int) -> list[str]:
    """The tags that most prompts of a project and open tasks of an owner in it have, the most frequent first."""
    sql = """
        select tag from (
            select tag from prompt_tags where project = :project
            union all
            select g.tag from tasks t join task_tags g on g.task = t.number
            where t.owner = :owner and t.project = :project and t.completed_at is null and t.deleted_at is null
        ) as used
        group by tag order by count(*) desc, tag limit :limit
    """
    return [tag for (tag,) in tx.all(sql, project=project, owner=owner, limit=limit)]


def count_open(tx: Tx, owner: str, allowed: Allowed) -> dict[int, int]:
    """Return how many open tasks of an owner there are, by the numbers of their projects; 0 stands for none."""
    sql = _COUNT_OPEN.format(owned=OWNED[allowed is not None])
    return {int(project): count for project, count in tx.all(sql, owner=owner, **confine(tx, allowed))}
