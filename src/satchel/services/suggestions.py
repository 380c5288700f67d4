"""What somebody may have meant who mistyped a name."""

from collections.abc import Iterable

_LONGEST = 200  # what is longer was hardly typed, and comparing it would take long


def closest_name(name: str, names: Iterable[str]) -> str | None:
    """The name most like the one that was typed, whatever its case; None where none is like it."""
    near = closest_names(name, names, 1)
    return near[0] if near else None


def closest_names(name: str, names: Iterable[str], count: int = 3) -> tuple[str, ...]:
    """The names most like the one that was typed, whatever their case, the best first; in whatever order they come."""
    import difflib  # only for whoever mistyped

    if len(name) > _LONGEST:
        return ()
    folded: dict[str, set[str]] = {}
    for known in names:
        if len(known) <= _LONGEST:
            folded.setdefault(known.casefold(), set()).add(known)
    near = difflib.get_close_matches(name.casefold(), folded, n=count)
    return tuple(known for one in near for known in sorted(folded[one]))[:count]
