"""Finds items of all kinds by number, id, name, title or URI in one statement."""

from collections.abc import Sequence

from satchel.model import Item
from satchel.storage.database import Tx
from satchel.storage.tasks import CONFINED, Allowed, by_confinement, confine

_PROJECT = "(select number from projects where name = :project and deleted_at is null)"
_PROMPT = f"""
    number, id, version, updated_at, name, title, project, null as owner from prompts
    where project = {_PROJECT} and deleted_at is null and
"""
# `project + 0` keeps SQLite from using the index by project, which it would scan whole to find these few ids.
_PROMPT_BY_ID = f"""
    number, id, version, updated_at, name, title, project, null as owner from prompts
    where project + 0 = {_PROJECT} and deleted_at is null and id in :keys
"""
_DOCUMENT = f"""
    number, id, version, updated_at, name, name, project, null from documents
    where project = {_PROJECT} and deleted_at is null and
"""
_TASK = "number, id, version, updated_at, '', title, project, owner from tasks where"
_AMONG = f"owner || '' = :owner and deleted_at is null and {CONFINED}"
# The match comes first, then the members of an Item. A name takes precedence over a title or a URI; an id, over all.
_TEXTS = f"""
    select id as key, 0 as rank, 'prompt' as kind, {_PROMPT_BY_ID}
    union all select name, 1, 'prompt', {_PROMPT} name in :keys
    union all select title, 2, 'prompt', {_PROMPT} title in :keys
    union all select name, 1, 'document', {_DOCUMENT} name in :keys
    union all select uri, 2, 'document', {_DOCUMENT} uri in :keys
"""
# `title || ''` keeps SQLite from replacing the title inside substr, which would rule out the expression index.
_TASKS = f"""
    union all select cast(number as text), 0, 'task', {_TASK} {_AMONG} and number in :numbers
    union all select id, 0, 'task', {_TASK} {_AMONG} and id in :keys
    union all select * from (
        select title, 2, 'task', {_TASK} {{owned}} and deleted_at is null
            and substr(title, 1, 60) in :starts and title || '' in :keys
        order by number + 0 limit :most
    ) as titled
"""
_ALL = by_confinement(f"{_TEXTS} {_TASKS}")


def find_exactly(
    tx: Tx, project: str, owner: str | None, keys: Sequence[str], allowed: Allowed
) -> list[tuple[str, int, Item]]:
    """Find the items of a project and an owner by the given keys; return key, rank of the column that has it, and item.

    The items come without content. Only the first tasks with the same title are returned.
    """
    values: dict[str, object] = {"project": project, "keys": list(keys)}
    sql = _TEXTS
    if owner is not None:
        sql = _ALL[allowed is not None]
        numbers = [int(key) for key in keys if key.isascii() and key.isdigit() and len(key) < 19]
        values |= {"owner": owner, "numbers": numbers, "starts": [key[:60] for key in keys], "most": 4 * len(keys)}
        values |= confine(tx, allowed)
    return [(row[0], row[1], Item(*row[2:])) for row in tx.all(sql, **values)]
