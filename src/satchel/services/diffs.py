"""Versions of items as texts, and the difference between two of them."""

from collections.abc import Sequence

from satchel.model import Argument, ItemKind, Scope
from satchel.services import history, projects
from satchel.services.history import OldVersion
from satchel.services.references import FoundItem
from satchel.services.states import State
from satchel.storage.database import Tx

Change = tuple[int, int, int, int]  # the lines from, to of the old text, and those of the new one in their place

_MOST_LINES = 5000  # that are compared with each other, which takes half a second; more are shown as replaced


def render(kind: ItemKind, state: State) -> str:
    """An item as a text: a line for each field that has a value, then its content."""
    content = _read_content(kind, state)
    lines = [f"{name}: {value}" for name, value in _list_fields(kind, state)]
    return "\n".join([*lines, "", content]) if content else "\n".join(lines)


def diff(
    tx: Tx, scope: Scope, reference: str, old: int | None = None, new: int | None = None, *, context: int = 1
) -> tuple[FoundItem, int, int, str]:
    """The difference of two versions of an item, and which they are: its fields, then hunks of its content.

    Without `new` it is the newest version, without `old` the one before `new`, or `new` where there is none before.

    Raises:
        NotFound, AmbiguousItem, VersionMissing: as `history.read_version`.
    """
    after = history.read_version(tx, scope, reference, new)
    if old is None:
        old = next((one for one in history.kept_versions(tx, after.item) if one < after.version), after.version)
    before = history.read_version(tx, scope, reference, old)
    fields = _compare_fields(_write_fields(tx, before), _write_fields(tx, after))
    hunks = _compare(_write_content(before), _write_content(after), context)
    names = [f"--- version {before.version}", f"+++ version {after.version}"]
    return after.item, before.version, after.version, "\n".join([*names, *fields, *hunks]) if fields or hunks else ""


def _read_content(kind: ItemKind, state: State) -> str:
    if state.is_binary:
        return f"({len(state.data)} bytes, SHA-256 {_hash(state.data)})"
    return state.description or "" if kind == "task" else state.text


def _list_fields(kind: ItemKind, state: State) -> list[tuple[str, str]]:
    """The fields of an item that have a value, except its content."""
    fields = [
        ("name", state.name),
        ("title", state.title),
        ("description", "" if kind == "task" else state.description or ""),
        ("uri", state.uri),
        ("mime_type", state.mime_type),
        ("tags", ", ".join(state.tags)),
        *(("argument", _write_argument(one)) for one in state.arguments),
        ("priority", state.priority if kind == "task" else ""),
        ("due", state.due or ""),
        ("blocked_by", ", ".join(f"#{number}" for number in state.blocked_by)),
        ("cancelled_at" if state.is_cancelled else "completed_at", state.completed_at or ""),
    ]
    return [(name, value.replace("\n", "\n  ")) for name, value in fields if value]


def _write_argument(argument: Argument) -> str:
    name = argument.name if argument.is_required else f"{argument.name} (optional)"
    more = " or another" if argument.is_open else ""
    values = f"one of {', '.join(argument.values)}{more}" if argument.values else ""
    return ", ".join(filter(None, [name, argument.description, values]))


def _hash(data: bytes) -> str:
    import hashlib  # only binary resources need it

    return hashlib.sha256(data).hexdigest()[:16]


def _write_fields(tx: Tx, version: OldVersion) -> list[str]:
    """The fields of a version, a line each, or several."""
    lines = [f"{name}: {value}" for name, value in _list_fields(version.item.kind, version.state)]
    if version.item.kind == "task" and version.project is not None:
        name = projects.names_of(tx, [version.project]).get(version.project, "(deleted)")
        lines.insert(0, f"project: {name}")
    return lines


def _write_content(version: OldVersion) -> list[str]:
    """The lines of the content of a version, as callers count them."""
    content = _read_content(version.item.kind, version.state)
    # Not splitlines, which would hide a change of line ends.
    return content.split("\n") if content else []


def _compare_fields(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """The fields that differ; they have no line numbers, because they are in no text."""
    lines: list[str] = []
    for i, j, k, m in _find_changes(old, new):
        for sign, fields in (("-", old[i:j]), ("+", new[k:m])):
            lines += [f"{sign}{line}" for field in fields for line in field.split("\n")]
    return lines


def _compare(old: Sequence[str], new: Sequence[str], context: int) -> list[str]:
    """The hunks of a unified difference."""
    hunks: list[list[Change]] = []
    for change in _find_changes(old, new):
        if hunks and change[0] - hunks[-1][-1][1] <= 2 * context:
            hunks[-1].append(change)
        else:
            hunks.append([change])
    return [line for hunk in hunks for line in _write_hunk(old, new, hunk, context)]


def _find_changes(old: Sequence[str], new: Sequence[str]) -> list[Change]:
    from difflib import SequenceMatcher  # 5 ms of a start, and only this needs it

    start = _count_equal(old, new)
    end = _count_equal(old[start:][::-1], new[start:][::-1])
    here, there = old[start : len(old) - end], new[start : len(new) - end]
    if not here and not there:
        return []
    if max(len(here), len(there)) > _MOST_LINES:
        return [(start, len(old) - end, start, len(new) - end)]
    codes = SequenceMatcher(None, here, there).get_opcodes()
    return [(start + i, start + j, start + k, start + m) for tag, i, j, k, m in codes if tag != "equal"]


def _write_hunk(old: Sequence[str], new: Sequence[str], changes: Sequence[Change], context: int) -> list[str]:
    before = min(context, changes[0][0])
    after = min(context, len(old) - changes[-1][1])
    position, end = changes[0][0] - before, changes[-1][1] + after
    ranges = f"-{_range(position, end)} +{_range(changes[0][2] - before, changes[-1][3] + after)}"
    lines = [f"@@ {ranges} @@"]
    for i, j, k, m in changes:
        lines += [f" {line}" for line in old[position:i]]
        lines += [*(f"-{line}" for line in old[i:j]), *(f"+{line}" for line in new[k:m])]
        position = j
    return lines + [f" {line}" for line in old[position:end]]


def _count_equal(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines two texts begin with alike."""
    pairs = zip(one, other, strict=False)
    return next((count for count, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _range(start: int, end: int) -> str:
    """Lines as the head of a hunk has them: the first one, and how many."""
    return f"{start + 1 if end > start else start},{end - start}"
