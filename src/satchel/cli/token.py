"""`satchel token`: create, list and revoke the tokens that clients send to a server over HTTP."""

from typing import Any

import click

from satchel.auth import tokens
from satchel.cli.examples import Group
from satchel.cli.output import show_notes
from satchel.cli.session import Session, check_owner, command, project_option
from satchel.clock import parse_future
from satchel.errors import WrongArgument
from satchel.model import Timestamp, Token


@click.group(cls=Group)
def cli() -> None:
    """Create, list and revoke tokens. ID is a token's id, or its first 8 characters or more."""


@cli.command()
@click.option("--name", metavar="TEXT", default="", help="What the token is for, such as laptop.")
@click.option("--user", "-u", "owner", metavar="UUID", help="Its user.  [default: the local user; env: SATCHEL_USER]")
@click.option("--read-only", "is_read_only", is_flag=True, help="The token may not change anything.")
@project_option("Only for this project; may be repeated.", "names", multiple=True)
@click.option("--expires", metavar="WHEN", help="The expiry: 12h, 90d or 2w from now, the end of a day, or a UTC time.")
@command(in_project=False)
def create(
    session: Session, name: str, owner: str | None, is_read_only: bool, names: tuple[str, ...], expires: str | None
) -> None:
    """Create a token and show its secret, which is not stored."""
    check_owner(session, "may list tokens, not create or revoke them")
    user = _find_user(session) if owner is None else owner
    with session.database.write() as tx:
        expires_at = None if expires is None else parse_future(expires, tx.now)
        if expires is not None and expires_at is None:
            raise WrongArgument("expires_at", "format", value=expires, kind="token")
        token, secret = tokens.create(
            tx, user=user, name=name, is_read_only=is_read_only, projects=names or None, expires_at=expires_at
        )
    session.say(secret, {"token": secret, **_describe_grant(token), "expires_at": token.expires_at})
    if not session.as_json:
        until = f" until {token.expires_at}" if token.expires_at else ""
        note = f"With this secret a client acts as user {token.owner}{until}. It is not shown again."
        show_notes([f"{note} Revoke it with: satchel token revoke {token.id}"])


@cli.command("list")
@command(in_project=False, reads=True)
def list_(session: Session) -> None:
    """List the tokens, newest first; never their secrets."""
    with session.database.read() as tx:
        found, now = tokens.listed(tx), tx.now
    rows = [
        (
            token.id,
            token.name,
            token.owner,
            "read-only" if token.is_read_only else "",
            ",".join(token.projects or ()),
            token.created_at,
            token.expires_at or "",
            token.state(now),
        )
        for token in found
    ]
    columns = ("ID", "NAME", "USER", "READ-ONLY", "PROJECTS", "CREATED", "EXPIRES", "STATE")
    empty = "There are no tokens. Create one with: satchel token create --name laptop"
    session.table(columns, rows, {"tokens": [describe(token, now) for token in found]}, empty=empty)


@cli.command()
@click.argument("id", metavar="ID")
@command(in_project=False)
def revoke(session: Session, id: str) -> None:
    """Revoke a token: from the next request on it is refused."""
    check_owner(session, "may list tokens, not create or revoke them")
    with session.database.write() as tx:
        token, now = tokens.revoke(tx, id), tx.now
    session.say(f"Revoked token {token.id} of user {token.owner}.", describe(token, now))


def describe(token: Token, now: Timestamp) -> dict[str, Any]:
    """Return everything about a token except its secret."""
    times = {"created_at": token.created_at, "expires_at": token.expires_at, "revoked_at": token.revoked_at}
    return {**_describe_grant(token), **times, "state": token.state(now)}


def _describe_grant(token: Token) -> dict[str, Any]:
    return {
        "id": token.id,
        "name": token.name,
        "user": token.owner,
        "read_only": token.is_read_only,
        "projects": token.projects,
    }


def _find_user(session: Session) -> str:
    if session.scope.user is not None:
        return session.scope.user
    if session.database.is_shared:
        raise click.UsageError("Name the user of the token with --user UUID: many people share this store.")
    return session.scope.author.user
