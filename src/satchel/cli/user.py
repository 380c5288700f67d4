"""`satchel user`: who the local user is."""

import click

from satchel.cli.store import Session, command


@click.command()
@command(in_project=False, as_user=True)
def cli(session: Session) -> None:
    """Show the local user, whose tasks are yours: a UUID made once for each store."""
    assert session.scope.user is not None
    session.say(session.scope.user, {"user": session.scope.user})
