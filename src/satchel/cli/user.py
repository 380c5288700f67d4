"""`satchel user`: who the local user is."""

import click

from satchel.cli.store import Session, command
from satchel.services import users


@click.command()
@command(in_project=False)
def cli(session: Session) -> None:
    """Show the user whose tasks are yours, a UUID: the one of SATCHEL_USER, else the local user.

    The local user is made once, and kept in the store, or in the data folder where the store is on PostgreSQL.
    """
    user = session.scope.user or users.local(session.database, session.home)
    session.say(user, {"user": user})
