"""Lists of an update that say what to add and remove, `+x` and `-x`, besides those that replace all."""

from collections.abc import Sequence

from satchel.errors import WrongArgument
from satchel.model import ListChange


def read(field: str, given: Sequence[str]) -> Sequence[str] | ListChange:
    """A list of an update: what to add and remove where its entries have signs, else the list itself.

    Raises:
        WrongArgument: only some of the entries have a sign.
    """
    signed = [entry.lstrip()[:1] in ("+", "-") for entry in given]
    if not any(signed):
        return given
    for index, entry in enumerate(given):
        bare = entry.strip()[1:]
        if not signed[index] or not bare.strip():
            raise WrongArgument(field, "signs", value=entry, place=f"{field}[{index}]")
    stripped = [entry.strip() for entry in given]
    return ListChange(
        added=tuple(entry[1:].strip() for entry in stripped if entry[0] == "+"),
        removed=tuple(entry[1:].strip() for entry in stripped if entry[0] == "-"),
    )


def apply(current: Sequence[str], given: Sequence[str] | ListChange) -> list[str]:
    """The tags that an item has after an update; removing one that it does not have changes nothing."""
    if not isinstance(given, ListChange):
        return list(given)
    removed = {entry.lower() for entry in given.removed}
    added = [entry for entry in given.added if entry.lower() not in removed]
    return [*(entry for entry in current if entry.lower() not in removed), *added]
