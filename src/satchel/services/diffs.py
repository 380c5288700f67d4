"""Versions of items as texts, and the difference between two of them."""

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from satchel.model import Argument, Item, Scope, State, Version
from satchel.services import history, lookup, projects, recording, texts
from satchel.storage.database import Tx
from satchel.storage.deltas import common_prefix

Change = tuple[int, int, int, int]  # the range of lines in the old text, and the range that replaces it in the new one

# The fields of a state, except those of a task's status.
_FIELDS = (
    *("name", "title", "description", "tags", "arguments", "is_constant", "uri", "mime_type"),
    *("priority", "due", "blocked_by", "parent", "review", "expires", "replaced_by"),
)
_MOST_BYTES = 32 * 1024 * 1024  # total size of the versions to compare for one list
_MOST_COMPARED = 40_000  # pairs of lines to compare for such a list
_MOST_LINES = 5000  # lines to compare, which takes half a second; beyond this, all are shown as replaced
_MOST_SHOWN = 1000  # lines to show on each side of such a replacement


def render(item: Item) -> str:
    """Render an item as a text: a line for each field that has a value, then its content."""
    content, lines = _read_content(item), write_fields(item)
    return "\n".join([*lines, "", content]) if content else "\n".join(lines)


def write_fields(item: Item) -> list[str]:
    """Write a line for each field of an item that has a value, except its content."""
    return [f"{name}: {value}" for name, value in _list_fields(item)]


def diff(
    tx: Tx,
    scope: Scope,
    reference: lookup.Reference,
    old: int | None = None,
    new: int | None = None,
    *,
    context: int = 1,
) -> tuple[Item, int, int, str]:
    """Return an item, the numbers of two versions, and their difference: fields, then hunks of the content.

    By default, `new` is the newest version, and `old` is the version before `new`; if there is none, `old` is `new`.
    """
    item = lookup.find(tx, scope, reference)
    after = history.read_version(tx, scope, item, new)
    if old is None:
        old = next((one for one in history.kept_versions(tx, scope, item) if one < after.version), after.version)
    before = history.read_version(tx, scope, item, old)
    fields = _compare_fields(_write_all_fields(tx, before), _write_all_fields(tx, after))
    contents = (_read_content(one) for one in (before, after))
    hunks = _compare(*contents, context=context)
    names = [f"--- version {before.version}", f"+++ version {after.version}"]
    return after, before.version, after.version, "\n".join([*names, *fields, *hunks]) if fields or hunks else ""


def list_changed_fields(tx: Tx, item: Item, versions: Sequence[Version]) -> dict[int, tuple[str, ...]]:
    """Map the numbers of some changes of an item to the fields that each of them changed.

    A text comes with its number of changed lines. The oldest version in history has no fields; neither do versions that
    could only be compared after rebuilding too many bytes.
    """
    found: dict[int, tuple[str, ...]] = {}
    size = 0
    for number in dict.fromkeys(one.item for one in versions):
        wanted = {one.version: one for one in versions if one.item == number and not one.note}
        above, after = 0, _Compared(None, item.state, item.content)
        for version, project, data in history.iterate_states(tx, item, number, min(wanted, default=1) - 1):
            size += len(data)
            if size > _MOST_BYTES:
                return found
            before = _Compared(project, *recording.decode(item.kind, data))
            if above in wanted:
                found[wanted[above].number] = tuple(_name_changes(item, wanted[above], before, after))
            above, after = version, before
    return found


class _Compared(Struct, frozen=True):
    """One of two versions to compare."""

    project: int | None
    state: State
    content: str | bytes


def _name_changes(item: Item, change: Version, before: _Compared, after: _Compared) -> list[str]:
    """Name the fields that a change of an item changed."""
    is_task = item.kind == "task"
    changed = [name for name in _FIELDS if getattr(before.state, name) != getattr(after.state, name)]
    # A call says with `arguments` whether a text is a template.
    fields = list(dict.fromkeys("arguments" if name == "is_constant" else name for name in changed))
    if change.action in ("update", "restore") and _find_status(before.state) != _find_status(after.state):
        fields.append("status")
    if item.kind != "project" and before.project != after.project and change.action != "move":
        fields.append("project")
    if before.content != after.content:
        text = "description" if is_task else "content"
        if isinstance(before.content, str) and isinstance(after.content, str):
            text += f" ({_count_changed_lines(before.content, after.content)})"
        fields.append(text)
    return fields


def _find_status(state: State) -> tuple[bool, ...]:
    return state.review_at is not None, state.completed_at is not None, state.is_cancelled


def _count_changed_lines(old: str, new: str) -> str:
    """Count the lines that a change of a text replaced, added or removed.

    Between places that are far apart, lines that only moved do not count.
    """
    differing = find_differing(old, new, 0)
    if not differing.is_large and len(differing.old) * len(differing.new) <= _MOST_COMPARED:
        count = sum(max(j - i, m - k) for i, j, k, m in _find_changes(differing.old, differing.new))
    else:
        before, after = Counter(old.split("\n")), Counter(new.split("\n"))
        count = max((before - after).total(), (after - before).total())
    return "1 line" if count == 1 else f"{count} lines" if count else "lines moved"


def _read_content(item: Item) -> str:
    if isinstance(item.content, bytes):
        from hashlib import sha256  # only binary documents need it

        return f"({len(item.content)} bytes, SHA-256 {sha256(item.content).hexdigest()[:16]})"
    return item.content


def _list_fields(item: Item) -> list[tuple[str, str]]:
    """List the fields of an item that have a value, except its content."""
    state = item.state
    fields = [
        ("name", state.name),
        ("title", state.title),
        ("description", state.description or ""),
        ("uri", state.uri),
        ("mime_type", state.mime_type),
        ("expires", state.expires or ""),
        ("replaced_by", state.replaced_by or ""),
        ("tags", ", ".join(state.tags)),
        *(("argument", _write_argument(one)) for one in state.arguments),
        ("template", "without arguments" if state.is_constant else ""),
        ("priority", state.priority if item.kind == "task" else ""),
        ("due", state.due or ""),
        ("blocked_by", ", ".join(f"#{number}" for number in state.blocked_by)),
        ("parent", "" if state.parent is None else f"#{state.parent}"),
        ("review", state.review or ""),
        ("review_at", state.review_at or ""),
        ("cancelled_at" if state.is_cancelled else "completed_at", state.completed_at or ""),
    ]
    return [(name, value.replace("\n", "\n  ")) for name, value in fields if value]


def _write_argument(argument: Argument) -> str:
    name = argument.name if argument.is_required else f"{argument.name} (optional)"
    more = " or another" if argument.is_open else ""
    values = f"one of {', '.join(argument.values)}{more}" if argument.values else ""
    return ", ".join(filter(None, [name, argument.description, values]))


def _write_all_fields(tx: Tx, version: Item) -> list[str]:
    """Write the fields of a version, each in one or more lines."""
    lines = write_fields(version)
    if version.kind == "task" and version.project is not None:
        name = projects.names_of(tx, [version.project]).get(version.project, "(deleted)")
        lines.insert(0, f"project: {name}")
    return lines


def _compare_fields(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """List the fields that differ; they get no line numbers, because they are not part of the text."""
    lines: list[str] = []
    for i, j, k, m in _find_changes(old, new):
        for sign, fields in (("-", old[i:j]), ("+", new[k:m])):
            lines += [f"{sign}{line}" for field in fields for line in field.split("\n")]
    return lines


def shorten(lines: Sequence[str], longest: int) -> list[str]:
    """Cut long lines of a difference to the part around the first character in which a line and its new form differ."""
    shown: list[str] = []
    removed: list[tuple[int, str]] = []  # lines that wait for their new form, with their positions
    for line in lines:
        place = 0
        if line.startswith("-"):
            removed.append((len(shown), line))
        elif not line.startswith("+"):
            removed = []
        elif removed:
            position, before = removed.pop(0)
            place = common_prefix(before[1:], line[1:])
            shown[position] = _cut(before, place, longest)
        shown.append(_cut(line, place, longest))
    return shown


def _cut(line: str, place: int, longest: int) -> str:
    """Cut a line of a difference, which begins with a sign, to the part around a position in its text."""
    return line[:1] + texts.shorten_around(line[1:], place, longest)


def _compare(old: str, new: str, *, context: int) -> list[str]:
    """Return the hunks of a unified difference. Only line feeds end lines, because callers count lines that way."""
    differing = find_differing(old, new, context)
    if differing.is_large:
        return _write_replaced(find_differing(old, new, 0))
    hunks: list[list[Change]] = []
    for change in _find_changes(differing.old, differing.new):
        if hunks and change[0] - hunks[-1][-1][1] <= 2 * context:
            hunks[-1].append(change)
        else:
            hunks.append([change])
    return [line for hunk in hunks for line in _write_hunk(differing, hunk, context)]


class Differing(Struct, frozen=True, kw_only=True):
    """The lines of two texts between their common beginning and their common end."""

    before: int  # the lines of the common beginning
    old: list[str]
    new: list[str]
    more_old: int = 0  # the lines left out because there are too many
    more_new: int = 0

    @property
    def is_large(self) -> bool:
        """Whether there are too many lines to compare."""
        return bool(self.more_old or self.more_new)


def find_differing(old: str, new: str, context: int) -> Differing:
    """Return the lines in which two texts differ, with a few lines of context.

    The common prefix and suffix are cut off before the rest is split, because a text may have two million lines.
    """
    start = common_prefix(old, new)
    end = common_prefix(old[start:][::-1], new[start:][::-1])
    start = old.rfind("\n", 0, start) + 1
    for _ in range(context):
        start = old.rfind("\n", 0, start - 1) + 1 if start else 0
    stop = _find_line_end(old, len(old) - end)
    for _ in range(context):
        stop = _find_line_end(old, stop + 1)
    end = len(old) - stop
    kept = [text[start : len(text) - end] if text else None for text in (old, new)]
    (here, more_here), (there, more_there) = (_split(one) for one in kept)
    if more_here or more_there:
        here, more_here = here[:_MOST_SHOWN], more_here + max(0, len(here) - _MOST_SHOWN)
        there, more_there = there[:_MOST_SHOWN], more_there + max(0, len(there) - _MOST_SHOWN)
    return Differing(before=old.count("\n", 0, start), old=here, new=there, more_old=more_here, more_new=more_there)


def _find_line_end(text: str, place: int) -> int:
    """Return the end of the line that contains a position."""
    found = text.find("\n", place)
    return len(text) if found < 0 else found


def _split(text: str | None) -> tuple[list[str], int]:
    """Return the first lines of a text, and the number of the others; None counts as a text without lines."""
    if text is None:
        return [], 0
    # Not splitlines, which would hide a change of line endings.
    lines = text.split("\n", _MOST_LINES)
    rest = lines.pop() if len(lines) > _MOST_LINES else None
    return lines, 0 if rest is None else rest.count("\n") + 1


def _write_replaced(differing: Differing) -> list[str]:
    """Write one hunk that replaces all lines; used if there are too many to compare."""
    old, new, before = differing.old, differing.new, differing.before
    ends = before + len(old) + differing.more_old, before + len(new) + differing.more_new
    lines = [f"@@ -{_range(before, ends[0])} +{_range(before, ends[1])} @@"]
    for sign, shown, more in (("-", old, differing.more_old), ("+", new, differing.more_new)):
        lines += [f"{sign}{line}" for line in shown]
        lines += [f"\\ {more} more lines"] if more else []
    return lines


def _find_changes(old: Sequence[str], new: Sequence[str]) -> list[Change]:
    from difflib import SequenceMatcher  # needed here only, and takes 5 ms of a start

    start = _count_equal(old, new)
    end = _count_equal(old[start:][::-1], new[start:][::-1])
    here, there = old[start : len(old) - end], new[start : len(new) - end]
    if not here and not there:
        return []
    codes = SequenceMatcher(None, here, there).get_opcodes()
    return [(start + i, start + j, start + k, start + m) for tag, i, j, k, m in codes if tag != "equal"]


def _write_hunk(differing: Differing, changes: Sequence[Change], context: int) -> list[str]:
    old, new, skipped = differing.old, differing.new, differing.before
    before = min(context, changes[0][0])
    after = min(context, len(old) - changes[-1][1])
    position, end = changes[0][0] - before, changes[-1][1] + after
    there = changes[0][2] - before, changes[-1][3] + after
    ranges = f"-{_range(skipped + position, skipped + end)} +{_range(skipped + there[0], skipped + there[1])}"
    lines = [f"@@ {ranges} @@"]
    for i, j, k, m in changes:
        lines += [f" {line}" for line in old[position:i]]
        lines += [*(f"-{line}" for line in old[i:j]), *(f"+{line}" for line in new[k:m])]
        position = j
    return lines + [f" {line}" for line in old[position:end]]


def _count_equal(one: Sequence[str], other: Sequence[str]) -> int:
    """Count the lines of the common prefix of two texts."""
    pairs = zip(one, other, strict=False)
    return next((count for count, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _range(start: int, end: int) -> str:
    """Format a range of lines for the head of a hunk: the number of the first line, and the number of lines."""
    return f"{start + 1 if end > start else start},{end - start}"
