"""`satchel undo`: takes back what a user did last."""

from collections.abc import Sequence

import click

from satchel.cli.changes import describe_entry, name_entry, name_program, shorten_time
from satchel.cli.store import Session, command, confirm
from satchel.services import undo
from satchel.services.history import FeedEntry
from satchel.services.undo import Step
from satchel.storage.database import Tx


@click.command()
@click.option("--last", type=click.IntRange(1, 1000), default=1, show_default=True, help="How many of them.")
@click.option("--yes", is_flag=True, help="Do it without asking.")
@command(in_project=False, as_user=True)
def cli(session: Session, last: int, yes: bool) -> None:
    """Take back the last thing that you, or an agent of yours, did: everything that one call or command changed.

    It tells what it will do, and asks. What was taken back before is not taken back again; `satchel restore` can.
    """
    with session.read() as tx:
        steps = undo.plan(tx, session.scope, last)
    if not steps:
        session.say("Nothing to undo.", {"undone": []})
        return
    plan = "\n".join(f"  {_propose(entry)}" for step in steps for entry in step.changes)
    confirm(f"This will\n{plan}\nDo it?", is_yes=yes)

    def take_back(tx: Tx) -> list[Step]:
        if not yes and undo.plan(tx, session.scope, last) != steps:
            raise click.ClickException("something else was changed while you were asked; nothing was undone.")
        return undo.undo(tx, session.scope, last)

    done = session.transact(take_back)
    value = [{"at": step.at, "changes": [describe_entry(entry) for entry in step.changes]} for step in done]
    session.say("\n".join(_report(done)), {"undone": value})


def _propose(entry: FeedEntry) -> str:
    one = entry.revision
    when = f"{shorten_time(one.at)} ({name_program(one.author)})"
    name = name_entry(entry)
    if one.action == "add":
        return f"delete {name}, which was added {when}"
    if one.action == "delete":
        return f"bring back {name}, which was deleted {when}"
    how = "restored" if one.action == "restore" else "changed"
    return f"put {name} back to what it was before it was {how} {when}, version {one.version}"


def _report(done: Sequence[Step]) -> list[str]:
    words = {"add": "Deleted", "delete": "Brought back"}
    return [
        f"{words.get(entry.revision.action, 'Put back')} {name_entry(entry)}."
        for step in done
        for entry in step.changes
    ]
