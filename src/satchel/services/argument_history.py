"""The values that a user gave to the arguments of prompts before, to be offered again. Nobody else sees them."""

from collections.abc import Mapping

from satchel import clock
from satchel.model import Scope
from satchel.services import rules
from satchel.services.tasks import owner
from satchel.storage import argument_history as rows
from satchel.storage.database import Tx


def is_news(tx: Tx, scope: Scope, prompt_key: str, values: Mapping[str, str]) -> bool:
    """Whether any of the values is worth remembering: it was not within the last day."""
    worthy = _worthy(values)
    if not worthy:
        return False
    used = rows.all_used(tx, owner(scope), prompt_key)
    day_ago = clock.day_before(tx.now)
    return any(used.get(pair, "") < day_ago for pair in worthy.items())


def remember(tx: Tx, scope: Scope, prompt_key: str, values: Mapping[str, str]) -> None:
    """Keep what the user gave to the arguments of a prompt, unless all of it is news no more.

    What is empty, long or cannot be kept is passed over.
    """
    if is_news(tx, scope, prompt_key, values):
        rows.put(tx, owner(scope), prompt_key, _worthy(values))


def recalled(
    tx: Tx, scope: Scope, prompt_key: str, argument: str, prefix: str = "", limit: int = rows.KEPT
) -> tuple[str, ...]:
    """What the user gave to an argument, whatever its case: what starts with a text, then what contains it.

    Of both the newest first.
    """
    folded = prefix.casefold()
    known = [value for value, _ in rows.used(tx, owner(scope), prompt_key, argument)]
    starting = [value for value in known if value.casefold().startswith(folded)]
    containing = [value for value in known if folded in value.casefold() and value not in starting]
    return tuple((starting + containing)[:limit])


def _worthy(values: Mapping[str, str]) -> dict[str, str]:
    return {
        argument: value
        for argument, value in values.items()
        if 0 < len(value) <= rules.MAX_VALUE and rules.is_storable(value)
    }
