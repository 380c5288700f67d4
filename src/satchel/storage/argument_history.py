"""Queries about the values that a user gave to the arguments of prompts."""

from collections.abc import Mapping, Sequence

from satchel.model import Timestamp
from satchel.storage.database import Tx

_KEPT = 20  # values of one argument, the newest


def used(tx: Tx, owner: str, prompt: str) -> dict[tuple[str, str], Timestamp]:
    """When each value of each argument of a prompt was used last, the newest first."""
    sql = """
        select argument, value, used_at from argument_values where owner = :owner and prompt = :prompt
        order by used_at desc, value
    """
    rows = tx.all(sql, owner=owner, prompt=prompt)
    return {(argument, value): used_at for argument, value, used_at in rows}


def put(tx: Tx, owner: str, prompt: str, values: Mapping[str, str]) -> None:
    """Store values as used now, and delete all but the newest."""
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
    # Sorted, so that two transactions with the same values take their row locks in the same order.
    for argument, value in sorted(values.items()):
        tx.run(keep, owner=owner, prompt=prompt, argument=argument, value=value, now=tx.now)
        tx.run(forget, owner=owner, prompt=prompt, argument=argument, kept=_KEPT)


def find_orphans(tx: Tx, libraries: Sequence[str] | None, before: Timestamp) -> list[str]:
    """The keys of prompts that are not there but have values, of any user.

    A prompt in a library is not there where it is not among `libraries` and was not used since a time; None: it is not
    known which there are. PostgreSQL has the same as the function `satchel_forget_values`.
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


def delete(tx: Tx, prompt: str) -> int:
    """Delete the values of a prompt, of all users; returns how many there were."""
    return len(tx.all("delete from argument_values where prompt = :prompt returning 1", prompt=prompt))
