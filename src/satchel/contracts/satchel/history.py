"""The tools `history` and `restore`, and their answers."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from satchel.clock import parse_end, parse_past
from satchel.contracts.content import format_count, format_minute, join_lines
from satchel.contracts.contract import Body, Context
from satchel.contracts.satchel import answers, texts
from satchel.contracts.satchel.answers import decode_cursor, may_read
from satchel.contracts.satchel.errors import WrongValue, name_place
from satchel.contracts.satchel.tools import History, Restore
from satchel.errors import NotFound, WrongArgument
from satchel.model import KINDS, Author, ChangeQuery, Item, ItemKind, Scope, Version, describe_change
from satchel.protocol.cursors import encode_cursor
from satchel.services import diffs, lookup, restoring, tasks
from satchel.services import history as versions
from satchel.services.history import LONGEST_NOTE, FeedEntry
from satchel.services.restoring import Restored
from satchel.storage.database import Tx
from satchel.storage.revisions import LAST

_PAGE = 50
_MOST_LINES = 6  # changed lines in the answer to a restore
_LONGEST_LINE = 100
_LONGEST_DIFFERENCE = 400  # characters of a line in a diff


def history(context: Context, args: History) -> Body:
    if args.item is UNSET:
        return _list_changes(context, args)
    context, _ = answers.follow(context, args.item)
    item = _find(context, args.item)
    if args.against is not UNSET:
        _, old, new, whole = diffs.diff(context.tx, context.scope, item, args.against, args.version or None)
        text = "\n".join(diffs.shorten(whole.split("\n"), _LONGEST_DIFFERENCE))
        said = text or f"Versions {old} and {new} are alike."
        return answers.reply(context, said, kind=item.kind, item=item.key, version=new, against=old, diff=text)
    if args.version is not UNSET or args.lines or args.heading:
        version = versions.read_version(context.tx, context.scope, item, args.version or None)
        return _show_version(context, version, args.lines or "", args.heading or "")
    return _list_versions(context, item, args)


def _show_version(context: Context, version: Item, lines: str, heading: str) -> Body:
    """Answer with a version: its fields, and its text or a part of it."""
    content, mime_type = version.content, version.state.mime_type
    facts: dict[str, Any] = {"kind": version.kind, "item": version.key, "version": version.version}
    head = f"[{version.kind} {version.key}, version {version.version}]"
    if isinstance(content, bytes):
        if lines or heading:
            raise WrongArgument("lines" if lines else "heading", "contentEncoding", value=mime_type)
        text = diffs.render(version)
        return answers.reply(context, text, head, **facts, text=text)
    has_headings = version.kind != "document" or texts.can_have_headings(mime_type)
    read = texts.read_part(content, lines, heading, has_headings=has_headings, takes_whole=False)
    if not read.lines and not lines and not heading:
        text = diffs.render(version)
        return answers.reply(context, text, head, **facts, text=text)
    members = {name: value for name, value in read.members.items() if value}
    fields = [] if lines or heading else diffs.write_fields(version)
    head = "\n".join([head, *fields, *read.facts])
    return answers.reply(context, read.text, head, notes=read.notes, **facts, text=read.text, **members)


def restore(context: Context, args: Restore) -> Body:
    if args.items is UNSET:
        if args.item is UNSET:
            raise WrongArgument("item", "required")
        context, _ = answers.follow(context, args.item)
        item = _find(context, args.item, restoring.find)
        text, answer, notes = _restore(context, item, None if args.version is UNSET else args.version)
        return answers.reply(context, text, notes=notes, restored=answer)
    if args.item is not UNSET or args.version is not UNSET:
        argument = "version" if args.item is UNSET else "item"
        message = f"{argument} cannot be given with items."
        raise WrongValue(message, "Restore several items without version, or one with item.", argument)
    return _restore_all(context, args.items)


def _restore_all(context: Context, given: Sequence[str]) -> Body:
    """Restore several items, each once, all or none."""
    answers.check_number("items", given)
    done: dict[tuple[ItemKind, int], tuple[str, dict[str, Any], Sequence[str]]] = {}
    for index, reference in enumerate(given):
        with name_place(f"items[{index}]"):
            # Found only now, because the restore of a project brings back items in it.
            there, _ = answers.follow(context, reference)
            item = _find(there, reference, restoring.find)
            if (item.kind, item.number) not in done:
                text, answer, notes = _restore(there, item)
                answer["item"] = answers.name_item(context, item, there.scope.project)
                done[item.kind, item.number] = (text, answer, notes)
        answers.report_progress(context, index + 1, len(given))
    lines = [text for text, _, _ in done.values()]
    notes = [f"{answer['item']}: {note}" for _, answer, about in done.values() for note in about]
    return answers.reply(context, "\n".join(lines), notes=notes, items=[answer for _, answer, _ in done.values()])


def _restore(context: Context, item: Item, version: int | None = None) -> tuple[str, dict[str, Any], Sequence[str]]:
    """Restore an item; return the answer as a text and as members, and notes."""
    if item.kind == "task":
        tasks.check_claims(tasks.list_some(context.tx, context.scope, [item.number]), answers.find_protector(context))
    done = restoring.restore(context.tx, context.scope, item, version)
    key = done.item.key
    what = f"{done.item.kind} {key}"
    if not done.is_changed:
        text = f"Nothing changed: {what} has this content already, version {done.item.version}"
    elif done.was_deleted:
        text = f"Brought back {what}, version {done.item.version}"
    else:
        text = f"Restored {what} from version {done.from_version}, now version {done.item.version}"
    answer: dict[str, Any] = {
        "kind": done.item.kind,
        "item": key,
        "version": done.item.version,
        "from_version": done.from_version,
        "changed": done.is_changed,
    }
    changes = _list_changed_lines(context, done) if done.is_changed and not done.was_deleted else []
    if changes:
        answer["lines"] = changes
    return "\n".join([f"{text}.", *changes]), answer, done.notes


def _list_changed_lines(context: Context, done: Restored) -> list[str]:
    """List the first lines that a restore removed and added, each with its sign."""
    text = diffs.diff(context.tx, context.scope, done.item, done.item.version - 1, context=0)[3]
    lines = diffs.shorten(text.split("\n")[2:], _LONGEST_LINE)
    lines = [line for line in lines if not line.startswith("@@ ")]
    left_out = [line for line in lines if line.startswith("\\ ")]  # such as "\ 98990 more lines"
    lines = [line for line in lines if not line.startswith("\\ ")]
    shown = lines[:_MOST_LINES]
    more = len(lines) - len(shown) + sum(int(line.split()[1]) for line in left_out)
    return [*shown, f"and {format_count(more, 'more line')}"] if more else shown


def _list_changes(context: Context, args: History) -> Body:
    last = decode_cursor(args.cursor, "h")
    query = replace(
        _read_query(context, args),
        kinds=[kind for kind in KINDS if may_read(context, kind)],
        before=int(last[1]) if last else 2**53,
    )
    found, has_more = versions.list_changes(context.tx, context.scope, query, limit=_PAGE)
    names = versions.name_authors([entry.revision.author for entry in found], context.scope)
    lines = [_format_change(entry, names) for entry in found]
    rows = [_describe_change(entry, names) for entry in found]
    members: dict[str, Any] = {"changes": rows}
    if found and last is None:
        members["since"] = encode_cursor("s", found[0].revision.number)
        lines.append(f"Later changes: since {members['since']}")
    return answers.reply_page(
        context,
        "changes",
        lines,
        where=context.scope.project,
        next_cursor=encode_cursor("h", found[-1].revision.number) if has_more else None,
        is_narrowed=bool(args.since or args.until or args.by),
        is_continued=last is not None,
        **members,
    )


def _read_query(context: Context, args: History) -> ChangeQuery:
    """Return a query for the changes since, until and by."""
    after, since = (0, "") if args.since is UNSET else read_since(context, args.since)
    until = parse_end(args.until, context.tx.now) if args.until else ""
    if until is None:
        raise WrongArgument("until", "format", value=args.until)
    return ChangeQuery(since=since, until=until, by=args.by or "", after=after)


def read_since(context: Context, text: str) -> tuple[int, str]:
    """Parse `since` into a revision number or a time; changes after it are listed.

    Raises:
        WrongArgument: `since` is neither the `since` of an answer nor a time.
    """
    if not text:
        return 0, ""
    try:
        marker = decode_cursor(text, "s")
        return (int(marker[1]) if marker else 0), ""
    except WrongArgument:
        moment = parse_past(text, context.tx.now)
        if moment is None:
            raise WrongArgument("since", "format", value=text) from None
        return 0, moment


def _list_versions(context: Context, item: Item, args: History) -> Body:
    last = decode_cursor(args.cursor, "v")
    before = (int(last[1]), int(last[2])) if last else LAST
    query = _read_query(context, args)
    _, found, has_more = versions.list_versions(
        context.tx, context.scope, item, query=query, before=before, limit=_PAGE, with_notes=True
    )
    where = " (in the trash)" if item.is_deleted else ""
    lines = [f"{item.kind} {item.key}{where}"] if last is None and found else []
    rows, described = describe_versions(context, item, found)
    return answers.reply_page(
        context,
        f"changes of {item.kind} {item.key}",
        lines + described,
        next_cursor=encode_cursor("v", found[-1].version, found[-1].number) if has_more else None,
        is_narrowed=bool(args.since or args.until or args.by),
        is_continued=last is not None,
        kind=item.kind,
        item=item.key,
        versions=rows,
    )


def describe_versions(
    context: Context, item: Item, found: Sequence[Version], longest: int = LONGEST_NOTE
) -> tuple[list[dict[str, Any]], list[str]]:
    """Describe versions of an item, and notes on it, as rows and as lines."""
    names = versions.name_authors([one.author for one in found], context.scope)
    fields = diffs.list_changed_fields(context.tx, item, found)
    notes = versions.read_notes(context.tx, context.scope, found, longest)
    rows, lines = [], []
    for one in found:
        row = _describe_version(one, names, notes.get(one.note, ""))
        changed, labels = fields.get(one.number, ()), f" [{', '.join(one.labels)}]" if one.labels else ""
        more = {"fields": list(changed), "labels": list(one.labels)}
        rows.append({**row, **{name: value for name, value in more.items() if value}})
        if one.note:
            lines.append(f"{row['at']} note by {row['by']}: {row['text']}")
        else:
            lines.append(f"v{one.version} {row['at']} {describe_change(one.action, changed)} by {row['by']}{labels}")
    return rows, lines


def _find(context: Context, reference: str, find: Callable[[Tx, Scope, str], Item] = lookup.find) -> Item:
    """Return the item that a reference names, deleted or not, if the caller may read it."""
    item = find(context.tx, context.scope, reference)
    if not may_read(context, item.kind):
        raise NotFound("item", reference, context.scope)
    return item


def _describe_change(entry: FeedEntry, names: Mapping[Author, str]) -> dict[str, Any]:
    one = entry.revision
    title = {"title": entry.title} if one.kind == "task" else {}
    return {"kind": one.kind, "item": entry.key, **title, **_describe_version(one, names, entry.note)}


def _describe_version(one: Version, names: Mapping[Author, str], note: str) -> dict[str, Any]:
    row = {"version": one.version, "at": format_minute(one.at), "action": one.action, "by": names[one.author]}
    return {**row, "text": " ".join(note.split())} if one.note else row


def _format_change(entry: FeedEntry, names: Mapping[Author, str]) -> str:
    one, author = entry.revision, names[entry.revision.author]
    if one.note:
        return f"{format_minute(one.at)} note by {author} on {entry.key}: {' '.join(entry.note.split())}"
    name = f"{entry.key} {join_lines(entry.title)}".rstrip() if one.kind == "task" else f"{one.kind} {entry.key}"
    return f"{format_minute(one.at)} {name} {one.done}, v{one.version}, by {author}"
