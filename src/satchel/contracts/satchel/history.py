"""The tools `history` and `restore`, and their answers."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import UNSET

from satchel.clock import parse_past
from satchel.contracts.content import format_count, format_minute, join_lines
from satchel.contracts.contract import Body, Context
from satchel.contracts.satchel import answers
from satchel.contracts.satchel.answers import decode_cursor, may_read
from satchel.contracts.satchel.errors import WrongValue, name_place
from satchel.contracts.satchel.tools import History, Restore
from satchel.errors import NotFound, WrongArgument
from satchel.model import KINDS, Author, ChangeQuery, Item, ItemKind, Scope, Version
from satchel.protocol.cursors import encode_cursor
from satchel.services import diffs, lookup, restoring
from satchel.services import history as versions
from satchel.services.history import FeedEntry
from satchel.services.restoring import Restored
from satchel.storage.database import Tx

_PAGE = 50
_MOST_LINES = 6  # changed lines in the answer to a restore
_LONGEST_LINE = 100


def history(context: Context, args: History) -> Body:
    if args.item is UNSET:
        return _list_changes(context, args)
    context, reference = answers.follow(context, args.item)
    item = _find(context, reference)
    if args.against is not UNSET:
        _, old, new, text = diffs.diff(context.tx, context.scope, item, args.against, args.version or None)
        said = text or f"Versions {old} and {new} are alike."
        return answers.reply(context, said, kind=item.kind, item=item.key, version=new, against=old, diff=text)
    if args.version is not UNSET:
        version = versions.read_version(context.tx, context.scope, item, args.version)
        kind, key, number, text = version.kind, version.key, version.version, diffs.render(version)
        head = f"[{kind} {key}, version {number}]"
        return answers.reply(context, text, head, kind=kind, item=key, version=number, text=text)
    return _list_versions(context, item, args)


def restore(context: Context, args: Restore) -> Body:
    if args.items is UNSET:
        if args.item is UNSET:
            raise WrongArgument("item", "required")
        context, reference = answers.follow(context, args.item)
        item = _find(context, reference, restoring.find)
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
            there, short = answers.follow(context, reference)
            item = _find(there, short, restoring.find)
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
    lines = [line for line in text.split("\n")[2:] if not line.startswith("@@ ")]
    left_out = [line for line in lines if line.startswith("\\ ")]  # such as "\ 98990 more lines"
    lines = [line for line in lines if not line.startswith("\\ ")]
    shown = [line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}..." for line in lines[:_MOST_LINES]]
    more = len(lines) - len(shown) + sum(int(line.split()[1]) for line in left_out)
    return [*shown, f"and {format_count(more, 'more line')}"] if more else shown


def _list_changes(context: Context, args: History) -> Body:
    last = decode_cursor(args.cursor, "h")
    after, since = (0, "") if args.since is UNSET else read_since(context, args.since)
    query = ChangeQuery(
        kinds=[kind for kind in KINDS if may_read(context, kind)],
        since=since,
        by=args.by or "",
        after=after,
        before=int(last[1]) if last else 2**53,
    )
    found, has_more = versions.list_changes(context.tx, context.scope, query, limit=_PAGE)
    lines = [_format_change(entry, context.scope) for entry in found]
    rows = [_describe_change(entry, context.scope) for entry in found]
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
        is_narrowed=bool(args.since or args.by),
        is_continued=last is not None,
        **members,
    )


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
    before = int(last[1]) if last else 2**53
    _, found, has_more = versions.list_versions(context.tx, context.scope, item, before=before, limit=_PAGE)
    lines = [f"{item.kind} {item.key}{' (in the trash)' if item.is_deleted else ''}"] if last is None else []
    rows = []
    for one in found:
        row = _describe_version(one, context.scope)
        line = f"v{one.version} {format_minute(one.at)} {one.done} by {name_author(one.author, context.scope)}"
        rows.append({**row, "labels": list(one.labels)} if one.labels else row)
        lines.append(f"{line} [{', '.join(one.labels)}]" if one.labels else line)
    return answers.reply_page(
        context,
        "versions",
        lines,
        next_cursor=encode_cursor("v", found[-1].version) if has_more else None,
        is_continued=last is not None,
        kind=item.kind,
        item=item.key,
        versions=rows,
    )


def _find(context: Context, reference: str, find: Callable[[Tx, Scope, str], Item] = lookup.find) -> Item:
    """Return the item that a reference names, deleted or not, if the caller may read it."""
    item = find(context.tx, context.scope, reference)
    if not may_read(context, item.kind):
        raise NotFound("item", reference, context.scope)
    return item


def _describe_change(entry: FeedEntry, scope: Scope) -> dict[str, Any]:
    one = entry.revision
    title = {"title": entry.title} if one.kind == "task" else {}
    return {"kind": one.kind, "item": entry.key, **title, **_describe_version(one, scope)}


def _describe_version(one: Version, scope: Scope) -> dict[str, Any]:
    author = name_author(one.author, scope)
    return {"version": one.version, "at": format_minute(one.at), "action": one.action, "by": author}


def _format_change(entry: FeedEntry, scope: Scope) -> str:
    one = entry.revision
    name = f"{entry.key} {join_lines(entry.title)}".rstrip() if one.kind == "task" else f"{one.kind} {entry.key}"
    return f"{format_minute(one.at)} {name} {one.done}, v{one.version}, by {name_author(one.author, scope)}"


def name_author(author: Author, scope: Scope) -> str:
    """Return the name of a change's author: the program, and the user unless it is the caller."""
    program = f"{author.client} {author.client_version}".strip() or author.contract or "unknown"
    if author.caller == "person":
        program = f"a person with {program}"
    is_other = author.user not in ("", scope.user)
    return f"user {author.user[:8]}, {program}" if is_other else program
