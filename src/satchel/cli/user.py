"""`satchel user`: who the local user is."""

import click

from satchel.cli.store import Session, command
from satchel.services import users


@click.command()
@command(in_project=False)
def cli(session: Session) -> None:
    """Show the local user, whose tasks are yours: a UUID made once for each store."""
    user = users.local(session.database, session.home)
    session.say(user, {"user": user})
