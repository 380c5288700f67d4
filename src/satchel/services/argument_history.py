"""The values that a user gave to the arguments of prompts, for completion. Each user sees only their own."""

from collections.abc import Mapping

from satchel import clock
from satchel.model import Scope
from satchel.services import rules
from satchel.storage import argument_history as rows
from satchel.storage.database import Tx


def key_within(project: str, prompt: str) -> str:
    """The key of the values that were given to a prompt of a project."""
    return f"{project}/{prompt}"


def has_new(tx: Tx, scope: Scope, prompt_key: str, values: Mapping[str, str]) -> bool:
    """Whether any of the values was not remembered within the last day."""
    kept = _storable(values)
    if not kept:
        return False
    used = rows.used(tx, scope.owner, prompt_key)
    day_ago = clock.days_before(tx.now)
    return any(used.get(pair, "") < day_ago for pair in kept.items())


def remember(tx: Tx, scope: Scope, prompt_key: str, values: Mapping[str, str]) -> None:
    """Store the values that the user gave to the arguments of a prompt, unless all of them were within the last day.

    A value that is empty, too long or cannot be stored is left out.
    """
    if has_new(tx, scope, prompt_key, values):
        rows.put(tx, scope.owner, prompt_key, _storable(values))


def recall(tx: Tx, scope: Scope, prompt_key: str, argument: str, text: str = "") -> tuple[str, ...]:
    """The values that the user gave to an argument: those that start with a text, then those that contain it.

    Case does not matter. In both groups the newest come first.
    """
    folded = text.casefold()
    known = [value for name, value in rows.used(tx, scope.owner, prompt_key) if name == argument]
    starting = [value for value in known if value.casefold().startswith(folded)]
    containing = [value for value in known if folded in value.casefold() and value not in starting]
    return (*starting, *containing)


def _storable(values: Mapping[str, str]) -> dict[str, str]:
    return {
        argument: value
        for argument, value in values.items()
        if 0 < len(value) <= rules.MAX_VALUE and rules.is_storable(value)
    }
