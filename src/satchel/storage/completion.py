"""Queries for completion: names that start with or contain a text, and earlier values of prompts' arguments."""

from collections.abc import Mapping, Sequence

from satchel.model import Timestamp
from satchel.storage.database import Tx

# One query for each list of names; it returns the names between two texts, along an index and with a limit.
PROJECTS = (
    "select name from projects where name >= :start and name < :end and deleted_at is null order by name limit :most"
)
PROMPTS = """
    select name from prompts where project = :project and deleted_at is null and name >= :start and name < :end
    order by name limit :most
"""
# This query steps from tag to tag, not from row to row, because every prompt may have the same tag.
PROMPT_TAGS = """
    with recursive steps (name, step) as (
        select min(tag), 1 from prompt_tags where project = :project and tag >= :start and tag < :end
        union all
        select (select min(t.tag) from prompt_tags t
            where t.project = :project and t.tag > steps.name and t.tag < :end), steps.step + 1
        from steps where steps.name is not null and steps.step < :most
    )
    select name from steps where name is not null order by name
"""

# Names to search for a text inside them; among later names, only those that start with the text are found.
_MOST_NAMES = 20_000
_MOST_TAGS = 2_000

_LAST = "\U0010ffff"  # after a prefix, sorts after every text that starts with the prefix

_CONTAINING = "select name from ({}) as names where instr(lower(name), :text) > 0 order by name limit :limit"


def names_starting(tx: Tx, names: str, project: int | None, text: str, limit: int) -> list[str]:
    """Return the names in `names`, one of the lists above, that start with a text."""
    return [name for (name,) in tx.all(names, project=project, start=text, end=text + _LAST, most=limit)]


def names_containing(tx: Tx, names: str, project: int | None, folded: str, limit: int) -> list[str]:
    """Return the names in `names`, one of the lists above, that contain a text, ignoring the case of ASCII letters."""
    sql = _CONTAINING.format(names)
    most = _MOST_TAGS if names is PROMPT_TAGS else _MOST_NAMES
    return [name for (name,) in tx.all(sql, project=project, start="", end=_LAST, text=folded, most=most, limit=limit)]


# -- values given to arguments ----------------------------------------------------------------------------------------

_KEPT = 20  # newest values of one argument to keep


def used_values(tx: Tx, owner: str, prompt: str) -> dict[tuple[str, str], Timestamp]:
    """Return the values of each argument of a prompt with the time of their last use, newest first."""
    sql = """
        select argument, value, used_at from argument_values where owner = :owner and prompt = :prompt
        order by used_at desc, value
    """
    rows = tx.all(sql, owner=owner, prompt=prompt)
    return {(argument, value): used_at for argument, value, used_at in rows}


def put_values(tx: Tx, owner: str, prompt: str, values: Mapping[str, str]) -> None:
    """Store values with the present time, and delete all stored values except the newest."""
    keep = """
        insert into argument_values (owner, prompt, argument, value, used_at)
        values (:owner, :prompt, :argument, :value, :now)
        on conflict (owner, prompt, argument, value) do update set used_at = excluded.used_at
        where argument_values.used_at < excluded.used_at
    """
    forget = """
        delete from argument_values
        where owner = :owner and prompt = :prompt and argument = :argument and value in (
            select value from argument_values
            where owner = :owner and prompt = :prompt and argument = :argument
            order by used_at desc, value limit 1000 offset :kept
        )
    """
    # Sorted, so that two transactions with the same values lock rows in the same order.
    for argument, value in sorted(values.items()):
        tx.run(keep, owner=owner, prompt=prompt, argument=argument, value=value, now=tx.now)
        tx.run(forget, owner=owner, prompt=prompt, argument=argument, kept=_KEPT)


def find_forgotten_values(tx: Tx, libraries: Sequence[str] | None, before: Timestamp) -> list[str]:
    """Return the keys of deleted prompts that have values of any user.

    A library's prompt counts as deleted if it is not in `libraries` and was not used since a time. If `libraries` is
    None, the libraries are unknown, and none of their prompts counts. PostgreSQL has the function
    `satchel_forget_values` for this.
    """
    sql = """
        select v.prompt, max(v.used_at) from argument_values v
        where not exists (
            select 1 from projects o join prompts p on p.project = o.number
            where o.name = substr(v.prompt, 1, instr(v.prompt, '/') - 1)
                and p.name = substr(v.prompt, instr(v.prompt, '/') + 1)
                and o.deleted_at is null and p.deleted_at is null
        ) group by v.prompt
    """
    known = {*(libraries or ())}
    return [
        prompt
        for prompt, used_at in tx.all(sql)
        if ":" not in prompt.partition("/")[0] or (libraries is not None and prompt not in known and used_at < before)
    ]


def delete_values(tx: Tx, prompt: str) -> int:
    """Delete the values of a prompt, of all users; return their number."""
    return len(tx.all("delete from argument_values where prompt = :prompt returning 1", prompt=prompt))
