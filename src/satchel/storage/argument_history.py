"""Queries about the values that a user gave to the arguments of prompts."""

from collections.abc import Mapping

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


def delete(tx: Tx, prompt: str) -> None:
    """Delete the values of a prompt, of all users."""
    tx.run("delete from argument_values where prompt = :prompt", prompt=prompt)
