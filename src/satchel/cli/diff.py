"""`satchel diff`: what changed between two versions of an item."""

import sys

import click

from satchel.cli.changes import name_item
from satchel.cli.colors import has_colors
from satchel.cli.printing import say, to_json
from satchel.cli.store import VERSION, Session, command
from satchel.services import diffs


@click.command()
@click.argument("item")
@click.argument("a", type=VERSION, required=False)
@click.argument("b", type=VERSION, required=False)
@command(needs_project=False, as_user=True, reads=True)
def cli(session: Session, item: str, a: int | None, b: int | None) -> None:
    """Show what changed in ITEM from version A to version B.

    Without B it is the newest version, and without A the one before it. ITEM is as in `satchel log`.
    """
    with session.read() as tx:
        found, old, new, text = diffs.diff(tx, session.scope, item, a, b)
    if session.as_json:
        click.echo(to_json({"kind": found.kind, "item": found.key, "from": old, "to": new, "diff": text}))
    elif text:
        _show(text)
    elif old == new and a is None:
        say(f"There is only version {new} of {name_item(found.kind, found.key)}.", err=True)
    else:
        say(f"Versions {old} and {new} of {name_item(found.kind, found.key)} are the same.", err=True)


def _show(text: str) -> None:
    """Print a difference: coloured and without control characters on a terminal, unchanged for other programs."""
    if not sys.stdout.isatty() and not has_colors():
        click.echo(text.encode())  # as bytes: from a text, click would remove colours that it has itself
        return
    for number, line in enumerate(text.split("\n")):
        visible = "".join(character if character.isprintable() or character == "\t" else "�" for character in line)
        click.echo(_colour(visible, is_head=number < 2) if has_colors() else visible)


def _colour(line: str, *, is_head: bool) -> str:
    if is_head:
        return click.style(line, bold=True)
    if line.startswith("@@"):
        return click.style(line, fg="cyan")
    return click.style(line, fg={"-": "red", "+": "green"}.get(line[:1]))
