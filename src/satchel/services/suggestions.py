"""The known names that are most like a mistyped one."""

from collections.abc import Iterable
from itertools import islice

_MOST = 2000  # names that are compared, which takes about 10 ms
_LONGEST = 200  # characters of names that are compared
_ALIKE = 0.5  # the least likeness of names that are alike


def closest_name(name: str, names: Iterable[str]) -> str | None:
    """Return the name most similar to a typed one, ignoring case, or None if none is similar."""
    return next(iter(closest_names(name, names, 1)), None)


def closest_entries(text: str, known: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return up to three names of entries whose name, title or URI is most similar to a text."""
    entries = list(known)
    names = {other: name for name, other in entries} | {name: name for name, _ in entries}
    return tuple(dict.fromkeys(names[one] for one in closest_names(text, names, 6)))[:3]


def closest_names(name: str, names: Iterable[str], count: int = 3) -> tuple[str, ...]:
    """Return the names most similar to a typed one, ignoring case, best first; compare only the first of very many."""
    if len(name) > _LONGEST:
        return ()
    wanted, letters = _pairs(name.casefold()), sorted(name.casefold())
    alike = []
    for known in dict.fromkeys(islice(names, _MOST)):
        if len(known) <= _LONGEST:
            pairs = _pairs(known.casefold())
            likeness = 2 * len(wanted & pairs) / (len(wanted) + len(pairs))
            if letters == sorted(known.casefold()):  # in another order, which short names are not alike by pairs
                likeness = max(likeness, _ALIKE)
            if likeness >= _ALIKE:
                alike.append((-likeness, known))
    return tuple(known for _, known in sorted(alike)[:count])


def _pairs(name: str) -> set[str]:
    """Return the pairs of letters that are neighbours or have one letter between them, which survive a swap.

    Comparing them takes a few microseconds for any names; the ratio of difflib took up to a millisecond.
    """
    bounded = f"^{name}$"
    pairs = {bounded[place : place + 2] for place in range(len(bounded) - 1)}
    return pairs | {f"{first} {second}" for first, second in zip(bounded, bounded[2:], strict=False)}
