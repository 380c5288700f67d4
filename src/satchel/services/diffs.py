"""Versions of items as texts, and the difference between two of them."""

from satchel.model import ItemKind, Scope
from satchel.services import history
from satchel.services.references import FoundItem
from satchel.services.states import State
from satchel.storage.database import Tx


def render(kind: ItemKind, state: State) -> str:
    """An item as a text: a line for each field that has a value, then its content."""
    content = state.description or "" if kind == "task" else state.text
    if state.is_binary:
        content = f"({len(state.data)} bytes)"
    lines = [f"{name}: {value}" for name, value in list_fields(kind, state)]
    return "\n".join([*lines, "", content]) if content else "\n".join(lines)


def list_fields(kind: ItemKind, state: State) -> list[tuple[str, str]]:
    """The fields of an item that have a value, except its content."""
    arguments = [one.name if one.is_required else f"{one.name} (optional)" for one in state.arguments]
    fields = {
        "name": state.name,
        "title": state.title,
        "description": "" if kind == "task" else state.description or "",
        "uri": state.uri,
        "mime_type": state.mime_type,
        "tags": ", ".join(state.tags),
        "arguments": ", ".join(arguments),
        "priority": state.priority if kind == "task" else "",
        "due": state.due or "",
        "blocked_by": ", ".join(f"#{number}" for number in state.blocked_by),
        "completed_at": state.completed_at or "",
    }
    return [(name, value) for name, value in fields.items() if value]


def diff(
    tx: Tx, scope: Scope, reference: str, old: int | None = None, new: int | None = None, *, context: int = 1
) -> tuple[FoundItem, int, int, str]:
    """The unified difference of two versions of an item, and which they are.

    Without `new` it is the newest version, without `old` the one before `new`.

    Raises:
        NotFound, AmbiguousItem, VersionMissing: as `history.read_version`.
    """
    import difflib  # 5 ms of a start, and only this needs it

    after = history.read_version(tx, scope, reference, new)
    if old is None:
        old = next((one for one in history.kept_versions(tx, after.item) if one < after.version), after.version)
    before = history.read_version(tx, scope, reference, old)
    lines = difflib.unified_diff(
        render(after.item.kind, before.state).splitlines(),
        render(after.item.kind, after.state).splitlines(),
        f"version {before.version}",
        f"version {after.version}",
        n=context,
        lineterm="",
    )
    return after.item, before.version, after.version, "\n".join(lines)
