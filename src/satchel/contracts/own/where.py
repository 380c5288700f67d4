"""Which project a call works in: its argument, or the one of the connection."""

from msgspec import UNSET, UnsetType, structs

from satchel.model import Scope


def within(scope: Scope, project: str | UnsetType) -> Scope:
    """The scope of a call that may name a project."""
    if project is UNSET or not project:
        return scope
    return structs.replace(scope, project=project, why="the argument project")
