"""History: `satchel log`, `diff`, `undo`, `trash`, `purge` and `history`."""

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click
from msgspec.structs import replace

from satchel import clock
from satchel.cli.completion import ITEM
from satchel.cli.examples import Command, Group
from satchel.cli.output import color_diff, count, has_colors, name_item, say, to_json
from satchel.cli.session import VERSION, Session, check_owner, command, confirm, project_option
from satchel.clock import parse_end, parse_past
from satchel.errors import StoreFailed, WrongArgument
from satchel.model import Author, ChangeQuery, ItemKind, Scope, Version, describe_change
from satchel.services import diffs, lookup, projects, restoring
from satchel.services import history as changes
from satchel.services.history import FeedEntry
from satchel.services.restoring import Step
from satchel.storage import trash as trash_rows
from satchel.storage.database import Tx
from satchel.storage.revisions import TABLES, measure

_LIMIT = 50
_MOST_UNDONE = 20  # changes that undo lists one by one
# By the action of a change: what undo will do, and did; it restores what any other action changed.
_PROPOSED = {"add": "delete", "delete": "bring back"}
_REPORTED = {"add": "deleted", "delete": "brought back"}
_PAGE = 500  # changes of the audit trail per transaction, so that a slow reader blocks nothing


# -- log --------------------------------------------------------------------------------------------------------


@click.command(cls=Command)
@click.argument("item", type=ITEM, required=False)
@click.option(
    "--since", metavar="TIME", default="", help="Changes since 2h, 3d, yesterday, monday, a day or a UTC time."
)
@click.option(
    "--until", metavar="TIME", default="", help="Changes until a time in the same forms; a day counts to its end."
)
@click.option(
    "--by", metavar="WHO", default="", help="Changes by you, person, model, a user, token, client or contract."
)
@click.option("--limit", type=click.IntRange(1, 10**9), help=f"The maximum.  [default: {_LIMIT}; jsonl: no limit]")
@click.option("--all", "is_everything", is_flag=True, help="All projects and users: for the owner of the store.")
@click.option("--format", type=click.Choice(["text", "jsonl"]), help="With --all: jsonl for one object a line.")
@command(as_user=True, reads=True)
def log(
    session: Session,
    item: str | None,
    since: str,
    until: str,
    by: str,
    limit: int | None,
    is_everything: bool,
    format: str | None,
) -> None:
    """Show changes, newest first: those in the project, or with ITEM all its versions.

    ITEM is the name or id of a prompt or document, a task's number as #4, or a satchel:// URI. With --all --format
    jsonl, the oldest change comes first, and nothing is left out.
    """
    if is_everything and item is not None:
        raise click.UsageError("--all shows all items: leave ITEM out.")
    if format is not None and not is_everything:
        raise click.UsageError("--format is for the audit trail: add --all, or use --json for one JSON document.")
    query = _read_query(session, since, until, by)
    if is_everything:
        check_owner(session, "does not see the changes of all users")
    if format == "jsonl":
        _stream(session, query, limit)
    elif item is not None:
        _show_versions(session, item, query, limit or _LIMIT)
    else:
        _show_feed(session, query, limit or _LIMIT, is_everything=is_everything)


def _read_query(session: Session, since: str, until: str, by: str) -> ChangeQuery:
    with session.read() as tx:
        moment = parse_past(since, tx.now) if since else ""
        end = parse_end(until, tx.now) if until else ""
    if moment is None:
        raise WrongArgument("since", "format", value=since)
    if end is None:
        raise WrongArgument("until", "format", value=until)
    return ChangeQuery(since=moment, until=end, by=(session.scope.user or "") if by in ("you", "me") else by)


def _show_feed(session: Session, query: ChangeQuery, limit: int, *, is_everything: bool) -> None:
    with session.read() as tx:
        if not is_everything:
            projects.current(tx, session.scope)
        found, has_more = changes.list_changes(tx, session.scope, query, limit=limit, is_everything=is_everything)
    columns = ["TIME", "WHO", "WITH", "WHAT"]
    rows = [[*_list_facts(session, entry.revision), summarize(entry)] for entry in found]
    if is_everything:
        columns.append("PROJECT")
        rows = [[*row, entry.project or ""] for row, entry in zip(rows, found, strict=True)]
    value = {"changes": [describe_entry(entry) for entry in found], "has_more": has_more}
    session.table(columns, rows, value, empty="No changes match. Those of all projects and users: satchel log --all")
    _hint_at_more(session, has_more)


def _show_versions(session: Session, reference: str, query: ChangeQuery, limit: int) -> None:
    with session.read() as tx:
        item, found, has_more = changes.list_versions(
            tx, session.scope, reference, query=query, limit=limit, with_notes=True
        )
        fields = diffs.list_changed_fields(tx, item, found)
        notes = changes.read_notes(tx, session.scope, found)
    rows = [
        [
            "" if one.note else str(one.version),
            *_list_facts(session, one),
            _describe_action(one, fields.get(one.number, ()), notes.get(one.note, "")),
        ]
        for one in found
    ]
    value = {
        "kind": item.kind,
        "item": item.key,
        "deleted": item.is_deleted,
        "versions": [
            {
                **describe_revision(one),
                "fields": list(fields.get(one.number, ())),
                **({"labels": list(one.labels)} if one.labels else {}),
                **({"note": notes.get(one.note)} if one.note else {}),
            }
            for one in found
        ],
        "has_more": has_more,
    }
    session.table(("VERSION", "TIME", "WHO", "WITH", "WHAT"), rows, value)
    _hint_at_more(session, has_more)


def _describe_action(one: Version, fields: Sequence[str], note: str) -> str:
    if one.note:
        return f"note: {' '.join(note.split())}"
    labels = f" [{', '.join(one.labels)}]" if one.labels else ""
    return f"{describe_change(one.action, fields)}{' (undo)' if one.undoes else ''}{labels}"


def _list_facts(session: Session, revision: Version) -> tuple[str, str, str]:
    """Return the time, the author and the program of a change."""
    author = revision.author
    return shorten_time(revision.at), name_user(author, session.scope), name_program(author)


def _stream(session: Session, query: ChangeQuery, limit: int | None) -> None:
    left = sys.maxsize if limit is None else limit
    while left > 0:
        with session.read() as tx:
            page = changes.list_audit_trail(tx, query, min(_PAGE, left))
        for entry in page:
            click.echo(to_json(describe_entry(entry), is_one_line=True))
        if len(page) < _PAGE:
            return
        query, left = replace(query, after=page[-1].revision.number), left - len(page)


def _hint_at_more(session: Session, has_more: bool) -> None:
    if has_more and sys.stdout.isatty() and not session.as_json:
        click.echo("There is more: use --since and --by, or a higher --limit.", err=True)


# -- words ------------------------------------------------------------------------------------------------------


def describe_entry(entry: FeedEntry) -> dict[str, Any]:
    """Return a change as an object for `log --json`. docs/guides/history.md lists the keys."""
    one = entry.revision
    item = {"kind": one.kind, "item": entry.key, "title": entry.title or None, "project": entry.project}
    return {**describe_revision(one), **item, **({"note": entry.note} if one.note else {})}


def describe_revision(revision: Version) -> dict[str, Any]:
    """Return a change without its item; unknown members are null."""
    what = {"number": revision.number or None, "at": revision.at, "action": revision.action}
    names = ("user", "token", "client", "client_version", "contract", "caller", "session")
    who = {name: getattr(revision.author, name) or None for name in names}
    return {**what, "version": revision.version, "undoes": revision.undoes, **who}


def summarize(entry: FeedEntry) -> str:
    """Return a change in a few words."""
    one = entry.revision
    if one.note:
        return f"noted on {name_entry(entry)}: {' '.join(entry.note.split())}"
    return f"{one.done} {name_entry(entry)}, version {one.version}{' (undo)' if one.undoes else ''}"


def name_entry(entry: FeedEntry) -> str:
    """Return the name, for people, of the item that a change is about."""
    return name_item(entry.revision.kind, entry.key, entry.title)


def shorten_time(at: str) -> str:
    """Format a time in UTC, to the second, as --since accepts it."""
    return f"{at[:19]}Z" if at else ""


def name_user(author: Author, scope: Scope) -> str:
    """Return the author of a change: "you", or the start of a user's id, which --by accepts."""
    if not author.user:
        return "unknown" if author != Author() else "Satchel"
    return "you" if author.user == scope.user else author.user[:8]


def name_program(author: Author) -> str:
    """Return the program of a change: client and contract, and whether a person or a model made the call."""
    if author.contract == "cli":
        return "command line"
    token = f"token {author.token[:8]}" if author.token else ""
    details = ", ".join(filter(None, [author.contract, author.caller, token]))
    client = f"{author.client} {author.client_version}".strip()
    return f"{client} ({details})" if client and details else client or details


# -- diff -------------------------------------------------------------------------------------------------------


@click.command(cls=Command)
@click.argument("item", type=ITEM)
@click.argument("a", type=VERSION, required=False)
@click.argument("b", type=VERSION, required=False)
@command(as_user=True, reads=True)
def diff(session: Session, item: str, a: int | None, b: int | None) -> None:
    """Show what changed in ITEM from version A to version B.

    B is by default the newest version, and A the one before it. ITEM is as in `satchel log`.
    """
    with session.read() as tx:
        found, old, new, text = diffs.diff(tx, session.scope, item, a, b)
    if session.as_json:
        click.echo(to_json({"kind": found.kind, "item": found.key, "from": old, "to": new, "diff": text}))
    elif text:
        _show_diff(text)
    elif old == new and a is None:
        say(f"There is only version {new} of {name_item(found.kind, found.key)}.", err=True)
    else:
        say(f"Versions {old} and {new} of {name_item(found.kind, found.key)} are the same.", err=True)


def _show_diff(text: str) -> None:
    """Print a diff: coloured and without control characters on a terminal, unchanged elsewhere."""
    if not sys.stdout.isatty() and not has_colors():
        click.echo(text.encode())  # bytes, because click would remove colours from a text
        return
    visible = "".join(one if one.isprintable() or one in "\t\n" else "\N{REPLACEMENT CHARACTER}" for one in text)
    click.echo(color_diff(visible) if has_colors() else visible)


# -- undo -------------------------------------------------------------------------------------------------------


@click.command(cls=Command)
@click.option("--last", type=click.IntRange(1, 1000), default=1, show_default=True, help="How many calls to undo.")
@project_option("Only changes in this project.")
@click.option("--yes", is_flag=True, help="Do it without asking.")
@command(in_project=False, as_user=True, reads=True)  # without a store there is nothing to undo
def undo(session: Session, last: int, wanted: str | None, yes: bool) -> None:
    """Undo the last call or command by you or your agents, with everything that it changed.

    The changes are shown first, and you are asked. An undo cannot be undone, but `satchel restore` restores versions.
    """
    if wanted is not None:
        with session.read() as tx:
            projects.get_existing(tx, session.scope, wanted)
        session.scope = replace(session.scope, projects=(wanted,))
    with session.read() as tx:
        steps = restoring.plan_undo(tx, session.scope, last)
    if not steps:
        session.say("Nothing to undo.", {"undone": []})
        return
    here = wanted or session.scope.project
    plan = [*_count_changes(steps, here, _PROPOSED), *_list_first(steps, _propose)]
    confirm("\n".join(["This will", *(f"  {line}" for line in plan), "Do it?"]), is_yes=yes)

    def take_back(tx: Tx) -> list[Step]:
        if not yes and restoring.plan_undo(tx, session.scope, last) != steps:
            raise click.ClickException("something else was changed while you were asked; nothing was undone.")
        return restoring.undo(tx, session.scope, last)

    done = session.transact(take_back)
    value = [{"at": step.at, "changes": [describe_entry(entry) for entry in step.changes]} for step in done]
    counts = [f"{line[0].upper()}{line[1:]}." for line in _count_changes(done, here, _REPORTED)]
    session.say("\n".join([*counts, *_list_first(done, _report)]), {"undone": value})


def _count_changes(steps: Sequence[Step], here: str, verbs: Mapping[str, str]) -> list[str]:
    """Describe changes that are many, or in other projects, in one line with counts for each project."""
    changed = [entry for step in steps for entry in step.changes]
    counts: dict[str, Counter[tuple[str, ItemKind]]] = {}
    for entry in changed:
        one = entry.revision
        counts.setdefault(_place(entry), Counter())[verbs.get(one.action, "put back"), one.kind] += 1
    if len(changed) <= _MOST_UNDONE and not {*counts} - {"", here}:
        return []
    lines = []
    for project, counted in counts.items():
        what = ", ".join(f"{verb} {count(number, kind)}" for (verb, kind), number in counted.items())
        where = f"in project '{project}'" + (f", not the current '{here}'" if project != here else "")
        lines.append(f"{where}: {what}" if project else what)
    return lines


def _place(entry: FeedEntry) -> str:
    """Return the project that contains a changed item; empty for projects themselves and tasks outside of projects."""
    return "" if entry.revision.kind == "project" else entry.project or ""


def _list_first(steps: Sequence[Step], describe: Callable[[FeedEntry], str]) -> list[str]:
    """Describe the first changes, each on a line, and count the others."""
    changed = [entry for step in steps for entry in step.changes]
    more = len(changed) - _MOST_UNDONE
    return [*map(describe, changed[:_MOST_UNDONE]), *([f"and {more} more"] if more > 0 else [])]


def _propose(entry: FeedEntry) -> str:
    one = entry.revision
    when = f"{shorten_time(one.at)} ({name_program(one.author)})"
    version = "" if one.action in _PROPOSED else f", version {one.version}"
    return f"{_PROPOSED.get(one.action, 'put back')} {name_entry(entry)}, which was {one.done} {when}{version}"


def _report(entry: FeedEntry) -> str:
    return f"{_REPORTED.get(entry.revision.action, 'put back').capitalize()} {name_entry(entry)}."


# -- trash ------------------------------------------------------------------------------------------------------


@click.group(cls=Group)
def trash() -> None:
    """List and remove deleted items. `satchel restore ITEM` brings one back."""


@trash.command("list")
@click.option("--all", "is_everything", is_flag=True, help="Deleted items of all projects, and deleted projects.")
@command(as_user=True, reads=True)
def list_trash(session: Session, is_everything: bool) -> None:
    """List deleted items that can be brought back, last deleted first."""
    with session.read() as tx:
        if not is_everything:
            projects.current(tx, session.scope)
        found = changes.list_trash(tx, session.scope, is_everything=is_everything)
        names = projects.names_of(tx, [one.project or 0 for one in found])
    value = [
        {
            "kind": one.kind,
            "item": one.name or f"#{one.number}",
            "title": one.title,
            "id": one.id,
            "project": names.get(one.project or 0),
            "version": one.version,
            "deleted_at": one.deleted_at,
            "kept_until": clock.days_before(one.updated_at, -session.database.retention.trash_days),
        }
        for one in found
    ]
    rows = [
        (
            *(str(one[fact] or "") for fact in ("kind", "item", "title", "project")),
            *(shorten_time(str(one[fact])) for fact in ("deleted_at", "kept_until")),
        )
        for one in value
    ]
    columns = ("KIND", "ITEM", "TITLE", "PROJECT", "DELETED", "KEPT UNTIL")
    where = "The trash" if is_everything else f"The trash of project '{session.scope.project}'"
    session.table(columns, rows, {"trash": value, "total": len(found)}, empty=f"{where} is empty.")


@trash.command()
@click.option("--yes", is_flag=True, help="Do it without asking.")
@command(in_project=False)
def empty(session: Session, yes: bool) -> None:
    """Permanently remove all deleted items of all projects and users, with their history and their bytes."""
    check_owner(session, "may not empty the trash of all users")
    with session.read() as tx:
        number = sum(trash_rows.count(tx).values())
    things = count(number, "deleted item")
    if number:
        confirm(f"This removes {things} of all projects and users for good. Continue?", is_yes=yes)
        changes.prune(session.database, empty_trash=True)
    done = f"Removed {things} for good." if number else "The trash is empty."
    report_removal(session, done, {"removed": number})


# -- purge ------------------------------------------------------------------------------------------------------


@click.command(cls=Command)
@click.argument("items", type=ITEM, metavar="ITEM...", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Do it without asking.")
@command(as_user=True)
def purge(session: Session, items: tuple[str, ...], yes: bool) -> None:
    """Permanently remove items, deleted or not, with all their versions and their bytes on disk, all or none.

    Deleted items of the same name go with them. ITEM is as in `satchel log`.
    """
    check_owner(session, "may not remove history")
    with session.read() as tx:
        every = [(item, lookup.find(tx, session.scope, item)) for item in items]
    found = {(one.kind, one.number): (reference, one) for reference, one in every}  # each item once
    things = ", ".join(name_item(one.kind, one.key) for _, one in found.values())
    confirm(f"This removes {things} with all versions for good. Continue?", is_yes=yes)

    def remove(tx: Tx) -> None:
        for reference, one in found.values():
            gone = restoring.purge(tx, session.scope, reference)
            if (gone.number, *gone.former) != (one.number, *one.former):
                raise click.ClickException("something was changed meanwhile; nothing was removed.")

    session.transact(remove)
    value = {"purged": [{"kind": item.kind, "item": item.key} for _, item in found.values()]}
    report_removal(session, f"Removed {things} for good.", value)


def report_removal(session: Session, done: str, value: Mapping[str, object]) -> None:
    """Overwrite the bytes of removed items on disk, and print the result and the remaining steps."""
    try:
        changes.clean_words(session.database)
        note = session.database.scrub()
    except StoreFailed as error:
        raise click.ClickException(
            f"{done} But its bytes are still on the disk: {error}. Try again with: satchel trash empty"
        ) from error
    session.say("\n".join([done, *([note] if note else [])]), {**value, "note": note or None})


# -- history ----------------------------------------------------------------------------------------------------


@click.group(cls=Group)
def history() -> None:
    """Show the size of history. `satchel log` shows its changes."""


@history.command()
@command(in_project=False, reads=True)
def size(session: Session) -> None:
    """Show the size of the history and trash of all projects and users, and their size on disk."""
    check_owner(session, "does not see the history of all users")
    with session.read() as tx:
        found, counts = measure(tx), trash_rows.count(tx)
    on_disk, store = session.database.measure_tables(TABLES)
    kept = session.database.retention
    listed = ", ".join(count(number, kind) for kind, number in counts.items())
    share = f", {on_disk / store:.1%} of the store ({store} bytes)" if store else ""
    lines = [
        f"changes    {found.revisions}{f', since {found.oldest[:10]}' if found.oldest else ''}",
        f"versions   {found.states} old ones in {found.state_bytes} bytes",
        f"trash      {listed or 'empty'}",
        f"on disk    {on_disk} bytes{share}",
        f"kept       every version for {kept.history_days} days, the newest {kept.history_versions} of each item for "
        f"longer, deleted items for {kept.trash_days} days",
    ]
    value = {
        "changes": found.revisions,
        "oldest": found.oldest,
        "old_versions": found.states,
        "old_version_bytes": found.state_bytes,
        "trash": counts,
        "bytes_on_disk": on_disk,
        "store_bytes": store,
        "trash_days": kept.trash_days,
        "history_days": kept.history_days,
        "history_versions": kept.history_versions,
    }
    session.say("\n".join(lines), value)
