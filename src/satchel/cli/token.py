"""`satchel token`: create, list and revoke the tokens that clients send to a server over HTTP."""

from typing import Any

import click

from satchel.auth import tokens
from satchel.cli.store import Session, check_owner, command
from satchel.errors import WrongArgument
from satchel.model import Timestamp, Token
from satchel.services import users
from satchel.services.moments import parse_future


@click.group()
def cli() -> None:
    """Make, list and revoke tokens. ID is a token's id, or its first 8 characters or more."""


@cli.command()
@click.option("--user", "-u", "owner", metavar="UUID", help="Whose token; else the local user's. [env: SATCHEL_USER]")
@click.option("--read-only", "is_read_only", is_flag=True, help="It changes nothing.")
@click.option("--project", "-p", "names", metavar="NAME", multiple=True, help="Only this project; may be repeated.")
@click.option("--expires", metavar="WHEN", help="A time from now (30m, 12h, 90d, 2w), a last day, or a UTC time.")
@command(in_project=False)
def create(
    session: Session, owner: str | None, is_read_only: bool, names: tuple[str, ...], expires: str | None
) -> None:
    """Make a token, and show its secret this once."""
    check_owner(session, "may list tokens, not make or revoke them")
    user = _user(session) if owner is None else owner
    with session.database.write() as tx:
        expires_at = None if expires is None else parse_expiry(expires, tx.now)
        token, secret = tokens.create(
            tx, user=user, is_read_only=is_read_only, projects=names or None, expires_at=expires_at
        )
    session.say(secret, {"token": secret, **_describe_grant(token), "expires_at": token.expires_at})
    if not session.as_json:
        until = f" until {token.expires_at}" if token.expires_at else ""
        click.echo(
            f"This secret lets user {token.owner} in{until}. Keep it well: it is not shown again. "
            f"Take it back with: satchel token revoke {token.id}",
            err=True,
        )


@cli.command("list")
@command(in_project=False, reads=True)
def list_(session: Session) -> None:
    """List the tokens, the newest first; never their secrets."""
    with session.database.read() as tx:
        found, now = tokens.listed(tx), tx.now
    rows = [
        (
            token.id,
            token.owner,
            "read-only" if token.is_read_only else "",
            ",".join(token.projects or ()),
            token.created_at,
            token.expires_at or "",
            token.state(now),
        )
        for token in found
    ]
    columns = ("ID", "USER", "READ-ONLY", "PROJECTS", "CREATED", "EXPIRES", "STATE")
    session.table(columns, rows, {"tokens": [describe(token, now) for token in found]})


@cli.command()
@click.argument("id", metavar="ID")
@command(in_project=False)
def revoke(session: Session, id: str) -> None:
    """Revoke a token: from the next request on it is refused."""
    check_owner(session, "may list tokens, not make or revoke them")
    with session.database.write() as tx:
        token, now = tokens.revoke(tx, id), tx.now
    session.say(f"Revoked token {token.id} of user {token.owner}.", describe(token, now))


def parse_expiry(when: str, now: Timestamp) -> Timestamp:
    """The time of --expires: a duration from now, the end of a day, or a UTC time."""
    moment = parse_future(when, now)
    if moment is None:
        raise WrongArgument("expires_at", "format", value=when, kind="token")
    return moment


def describe(token: Token, now: Timestamp) -> dict[str, Any]:
    """Everything about a token that may be shown."""
    times = {"created_at": token.created_at, "expires_at": token.expires_at, "revoked_at": token.revoked_at}
    return {**_describe_grant(token), **times, "state": token.state(now)}


def _describe_grant(token: Token) -> dict[str, Any]:
    return {"id": token.id, "user": token.owner, "read_only": token.is_read_only, "projects": token.projects}


def _user(session: Session) -> str:
    if session.scope.user is not None:
        return session.scope.user
    if session.database.is_shared:
        raise click.UsageError("Whose token? Name the user with --user UUID: many share this store.")
    return users.local(session.database, session.home)
