"""The known names that are most like a mistyped one."""

from collections.abc import Iterable

_LONGEST = 200  # comparing longer names would take long


def closest_name(name: str, names: Iterable[str]) -> str | None:
    """The name most like the one that was typed, in any case; None where none is like it."""
    return next(iter(closest_names(name, names, 1)), None)


def closest_names(name: str, names: Iterable[str], count: int = 3) -> tuple[str, ...]:
    """The names most like the one that was typed, in any case, the best first, independent of their order."""
    import difflib  # only after a mistake, not in a cold start

    if len(name) > _LONGEST:
        return ()
    folded: dict[str, set[str]] = {}
    for known in names:
        if len(known) <= _LONGEST:
            folded.setdefault(known.casefold(), set()).add(known)
    closest = difflib.get_close_matches(name.casefold(), folded, n=count)
    return tuple(known for one in closest for known in sorted(folded[one]))[:count]
