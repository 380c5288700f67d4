"""`satchel catch-up`: where things stand in a project."""

import click

from satchel.cli.store import Session, command


@click.command()
@click.option("--since", metavar="TIME", help="What was done since: 2h, 3d ago, a day, or a UTC time.")
@command(needs_project=False, as_user=True, reads=True)
def cli(session: Session, since: str | None) -> None:
    """Show where things stand in the project: what was done and by whom, what is claimed, what is ready."""
    answer = session.call("catch_up", since=since)
    session.say(answer.text, answer.value)
