"""What somebody may have meant who mistyped a name."""

from collections.abc import Iterable


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name most like the one that was typed, whatever its case; None where none is like it."""
    import difflib  # only for whoever mistyped

    folded = {known.casefold(): known for known in names}
    near = difflib.get_close_matches(name.casefold(), folded, n=1)
    return folded[near[0]] if near else None
