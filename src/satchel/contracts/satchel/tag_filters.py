"""Tags that a list is narrowed by: as callers write them, and what is said about those that nothing has."""

from collections.abc import Iterable, Sequence

from msgspec import UNSET, UnsetType

from satchel.services.suggestions import closest_names


def read_tags(given: Sequence[str] | UnsetType) -> list[str]:
    """The tags of a filter; a `+` in front, as lists print it, is not a part of one."""
    return [] if given is UNSET else [tag.strip().removeprefix("+") for tag in given]


def describe_missing(missing: Sequence[str], what: str, known: Iterable[str]) -> list[str]:
    """A note for each tag that none of the things has, with the tags in use that are like it."""
    if not missing:
        return []
    from satchel.contracts.satchel.unknown_arguments import shorten_name  # only after such a mistake

    known = list(known)
    notes = []
    for tag in missing:
        near = closest_names(tag, known)
        meant = f" Did you mean {' or '.join(near)}?" if near else ""
        notes.append(f"No {what} has the tag '{shorten_name(tag)}'.{meant}")
    return notes
