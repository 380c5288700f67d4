"""What `satchel install` and `satchel uninstall` share: which clients, which file, and how a change is reported."""

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import click

from satchel.clients.table import BY_NAME, CLIENTS, Client

if TYPE_CHECKING:
    from satchel.clients.changes import Change  # `--help` needs nothing that reads files

NAMES = ", ".join(client.name for client in CLIENTS)

clients_argument = click.argument(
    "clients", metavar="[CLIENT]...", nargs=-1, shell_complete=lambda _context, _parameter, word: list_names(word)
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
scope_option = click.option(
    "--scope",
    type=click.Choice(["user", "project"]),
    default="user",
    show_default=True,
    help="The settings of the user, or of the project in this folder.",
)
name_option = click.option("--name", default="satchel", show_default=True, help="What the client calls the server.")
dry_option = click.option("--dry-run", is_flag=True, help="Show the change, and write nothing.")


def list_names(incomplete: str) -> list[str]:
    """The names of clients that begin so."""
    return [client.name for client in CLIENTS if client.name.startswith(incomplete)]


class Reporter:
    """Prints what happens to each client, or collects it for one JSON document."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self.rows: list[dict[str, Any]] = []
        self.failed = False

    def add(self, client: Client, status: str, text: str, change: "Change | None" = None, **more: Any) -> None:
        """Report one step; `text` is for people."""
        self.failed = self.failed or status == "failed"
        file = {} if change is None else {"file": change.path}
        diff = {} if change is None or not change.diff else {"diff": change.diff}
        self.rows.append({"client": client.name, "status": status, **file, **more, **diff})
        if self.as_json:
            return
        if change is not None and change.diff:
            click.echo(_color(change.diff))
        click.echo(text, err=status == "failed")
        if change is not None and change.note:
            click.echo(f"Note: {change.note}", err=True)

    def end(self, **more: Any) -> NoReturn:
        """Print the JSON document, and end with the status: 1 where something failed."""
        if self.as_json:
            from satchel.cli.printing import to_json

            click.echo(to_json({"changes": self.rows, **more}))
        raise SystemExit(1 if self.failed else 0)


def _color(diff: str) -> str:
    """A diff with colours, which click leaves out where they are not wanted."""
    colors = {"+": "green", "-": "red", "@": "cyan"}
    lines = [
        line if line[:3] in ("+++", "---") else click.style(line, fg=colors.get(line[:1])) for line in diff.split("\n")
    ]
    return "\n".join(lines)


def fail(message: str, status: int, *, as_json: bool) -> NoReturn:
    """End the command with an error message."""
    from satchel.cli.store import end

    end(message, status, as_json=as_json)


def find_client(word: str, *, as_json: bool) -> Client:
    """The client that a word names."""
    name = word.strip().lower().replace(" ", "-").replace("_", "-")
    if name not in BY_NAME:
        from satchel.services.suggestions import closest_name

        near = closest_name(name, list(BY_NAME))
        hint = f"Did you mean '{near}'? " if near else ""
        fail(f"there is no client '{word}'. {hint}There are: {NAMES}.", 2, as_json=as_json)
    return BY_NAME[name]


def choose_clients(
    words: Sequence[str], *, takes_all: bool, verb: str, candidates: Callable[[], list[Client]], as_json: bool
) -> list[Client]:
    """The clients that are named; without names all candidates with --all, or those that the user says yes to."""
    if words:
        return list({client.name: client for client in (find_client(word, as_json=as_json) for word in words)}.values())
    found = candidates()
    if not found:
        where = "Satchel is in no client's settings." if verb == "uninstall" else "No client was found on this machine."
        fail(f"{where} Name one: satchel {verb} CLIENT. There are: {NAMES}.", 3, as_json=as_json)
    if takes_all:
        return found
    names = " ".join(client.name for client in found)
    if not sys.stdin.isatty():
        fail(f"say which: satchel {verb} {names}, or --all.", 2, as_json=as_json)
    click.echo(f"Found: {', '.join(client.title for client in found)}.", err=True)
    question = "Connect {}?" if verb == "install" else "Remove Satchel from {}?"
    return [client for client in found if click.confirm(question.format(client.title), default=True, err=True)]
