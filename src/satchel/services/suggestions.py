"""The known names that are most like a mistyped one."""

from collections.abc import Iterable

_LONGEST = 200  # comparing longer names would take long


def closest_name(name: str, names: Iterable[str]) -> str | None:
    """The name most like the one that was typed, in any case; None where none is like it."""
    return next(iter(closest_names(name, names, 1)), None)


def closest_entries(text: str, known: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Of things with a name and a title or URI, the names of up to three of which either is most like a text."""
    entries = list(known)
    names = {other: name for name, other in entries} | {name: name for name, _ in entries}
    return tuple(dict.fromkeys(names[one] for one in closest_names(text, names, 6)))[:3]


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
