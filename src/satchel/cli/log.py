"""`satchel log`: what changed in a project, the versions of an item, and the audit trail of a store."""

import sys

import click
from msgspec.structs import replace

from satchel.cli import changes
from satchel.cli.printing import to_json
from satchel.cli.store import Session, check_owner, command
from satchel.errors import WrongArgument
from satchel.model import ChangeQuery
from satchel.services import history, projects
from satchel.services.moments import parse_past

_LIMIT = 50
_PAGE = 500  # of the audit trail: each is a transaction of its own, so that a slow reader blocks nothing


@click.command()
@click.argument("item", required=False)
@click.option("--since", metavar="TIME", default="", help="Only later: 30m, 12h, 7d, 2w ago, a day, or a UTC time.")
@click.option("--by", metavar="WHO", default="", help="Only by: you, person, model, a user, token, client or contract.")
@click.option("--limit", type=click.IntRange(1, 10**9), help=f"How many at most.  [default: {_LIMIT}; jsonl: no limit]")
@click.option("--all", "is_everything", is_flag=True, help="All projects and users: for the owner of the store.")
@click.option("--format", type=click.Choice(["text", "jsonl"]), help="With --all: jsonl for one object a line.")
@command(needs_project=False, as_user=True, reads=True)
def cli(
    session: Session,
    item: str | None,
    since: str,
    by: str,
    limit: int | None,
    is_everything: bool,
    format: str | None,
) -> None:
    """Show what changed, by whom, the newest first: in the project, or with ITEM in all its versions.

    ITEM is the name or id of a prompt or resource, a task's number, or a satchel:// URI. With --all --format jsonl the
    oldest comes first, and nothing is left out.
    """
    if is_everything and item is not None:
        raise click.UsageError("--all shows all items: leave ITEM out.")
    if format is not None and not is_everything:
        raise click.UsageError("--format is for the audit trail: say --all too, or --json for one document.")
    query = _read_query(session, since, by)
    if is_everything:
        check_owner(session, "does not see the changes of all users")
    if format == "jsonl":
        _stream(session, query, limit)
    elif item is not None:
        _show_versions(session, item, query, limit or _LIMIT)
    else:
        if not is_everything:
            projects.require(session.database, session.scope)
        _show_feed(session, query, limit or _LIMIT, is_everything=is_everything)


def _read_query(session: Session, since: str, by: str) -> ChangeQuery:
    with session.read() as tx:
        moment = parse_past(since, tx.now) if since else ""
    if moment is None:
        raise WrongArgument("since", "format", value=since)
    return ChangeQuery(since=moment, by=(session.scope.user or "") if by in ("you", "me") else by)


def _show_feed(session: Session, query: ChangeQuery, limit: int, *, is_everything: bool) -> None:
    with session.read() as tx:
        found, has_more = history.list_changes(tx, session.scope, query, limit=limit, is_everything=is_everything)
    columns = ["TIME", "WHO", "WITH", "WHAT"]
    rows = [
        [
            changes.shorten_time(entry.revision.at),
            changes.name_user(entry.revision.author, session.scope),
            changes.name_program(entry.revision.author),
            changes.summarize(entry),
        ]
        for entry in found
    ]
    if is_everything:
        columns.append("PROJECT")
        rows = [[*row, entry.project or ""] for row, entry in zip(rows, found, strict=True)]
    value = {"changes": [changes.describe_entry(entry) for entry in found], "has_more": has_more}
    session.table(columns, rows, value)
    _hint_at_more(session, has_more)


def _show_versions(session: Session, reference: str, query: ChangeQuery, limit: int) -> None:
    with session.read() as tx:
        item, found, has_more = history.list_versions(tx, session.scope, reference, query=query, limit=limit)
    rows = [
        [
            str(one.version),
            changes.shorten_time(one.at),
            changes.name_user(one.author, session.scope),
            changes.name_program(one.author),
            changes.name_action(one),
        ]
        for one in found
    ]
    value = {
        "kind": item.kind,
        "item": item.key,
        "deleted": item.live is None,
        "versions": [changes.describe_revision(one) for one in found],
        "has_more": has_more,
    }
    session.table(("VERSION", "TIME", "WHO", "WITH", "WHAT"), rows, value)
    _hint_at_more(session, has_more)


def _stream(session: Session, query: ChangeQuery, limit: int | None) -> None:
    left = sys.maxsize if limit is None else limit
    while left > 0:
        with session.read() as tx:
            page = history.list_audit_trail(tx, query, min(_PAGE, left))
        for entry in page:
            click.echo(to_json(changes.describe_entry(entry), is_one_line=True))
        if len(page) < _PAGE:
            return
        query, left = replace(query, after=page[-1].revision.number), left - len(page)


def _hint_at_more(session: Session, has_more: bool) -> None:
    if has_more and sys.stdout.isatty() and not session.as_json:
        click.echo("There is more: narrow it with --since and --by, or say --limit.", err=True)
