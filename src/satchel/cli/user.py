"""`satchel user`: the local user."""

import click

from satchel.cli.examples import Command
from satchel.cli.session import Session, command


@click.command(cls=Command)
@command(in_project=False, as_user=True)
def cli(session: Session) -> None:
    """Show your user, a UUID: SATCHEL_USER, or else the local user. Tasks belong to a user.

    The local user is created once and stored in the store, or in the data folder if the store is on PostgreSQL.
    """
    session.say(session.scope.user or "", {"user": session.scope.user})
