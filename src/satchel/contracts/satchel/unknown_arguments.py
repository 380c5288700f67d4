"""The error for arguments, and members of arguments, that a tool does not take."""

from satchel.contracts.satchel.nearest import find_argument
from satchel.contracts.schema import UnknownArgument

_MOST = 5  # unknown names that an error tells of
_LONGEST = 60  # characters of one


def describe_unknown(unknown: object) -> tuple[str, str, list[str]]:
    """What a call gave that there is not, what to give instead, and the names of that."""
    assert isinstance(unknown, tuple)
    told: list[UnknownArgument] = list(unknown[:_MOST])
    names = [_name(one) for one in told]
    rest = f" and {len(unknown) - _MOST} more" if len(unknown) > _MOST else ""
    message = f"Unknown argument{'s' if len(unknown) > 1 else ''}: {', '.join(names)}{rest}. Nothing was done."
    found = [(one, find_argument(one.name, one.known, one.given)) for one in told]
    near = {one.name: meant for one, meant in found if meant is not None}
    hints = [f"{meant} instead of {shorten_name(name)}" for name, meant in near.items()]
    hint = f"Use {', '.join(hints)}." if hints else ""
    strangers = {one.place: one for one, meant in found if meant is None}
    for place, one in strangers.items():
        hint += f" {f'{place} has' if place else 'The tool takes'} {', '.join(one.known)}."
    return message, hint.strip()[:1].upper() + hint.strip()[1:], list(dict.fromkeys(near.values()))


def _name(one: UnknownArgument) -> str:
    return f"{one.place}.{shorten_name(one.name)}" if one.place else shorten_name(one.name)


def shorten_name(name: str) -> str:
    """A name that a caller made up, fit to be shown."""
    plain = "".join(one if one.isprintable() else "?" for one in name[: _LONGEST + 1])
    return plain if len(plain) <= _LONGEST else f"{plain[:_LONGEST]}..."
