"""`satchel uninstall`: takes Satchel out of the settings of MCP clients."""

import click

from satchel.cli.client_options import (
    Reporter,
    choose_clients,
    clients_argument,
    dry_option,
    json_option,
    name_option,
    scope_option,
)
from satchel.clients.places import Machine, Scope
from satchel.clients.table import CLIENTS, Client

EXAMPLES = """\b
Examples:
  satchel uninstall claude-code
  satchel uninstall --all
  satchel uninstall cursor --scope project
"""


@click.command(epilog=EXAMPLES)
@clients_argument
@click.option("--all", "takes_all", is_flag=True, help="All clients that have Satchel, without asking.")
@scope_option
@name_option
@dry_option
@json_option
def cli(clients: tuple[str, ...], takes_all: bool, scope: Scope, name: str, dry_run: bool, as_json: bool) -> None:
    """Take Satchel out of the settings of MCP clients, and its rule out of AGENTS.md or CLAUDE.md.

    Nothing of the store is touched. CLIENT is as for `satchel install`.
    """
    from satchel.clients.files import UnusableFile

    machine = Machine.current()
    chosen = choose_clients(
        clients,
        takes_all=takes_all,
        verb="uninstall",
        candidates=lambda: [client for client in CLIENTS if _has_entry(machine, client, scope, name)],
        as_json=as_json,
    )
    report = Reporter(as_json=as_json)
    for client in chosen:
        try:
            _uninstall(report, machine, client, scope, name, is_dry=dry_run)
        except UnusableFile as error:
            report.add(client, "failed", f"satchel: {error}", error=str(error))
    report.end()


def _has_entry(machine: Machine, client: Client, scope: Scope, name: str) -> bool:
    from satchel.clients import changes
    from satchel.clients.files import UnusableFile

    path = machine.find_file(client, scope)
    try:
        return path is not None and changes.plan_uninstall(client, path, name, scope) is not None
    except UnusableFile:
        return False


def _uninstall(report: Reporter, machine: Machine, client: Client, scope: Scope, name: str, *, is_dry: bool) -> None:
    from satchel.clients import changes

    path, rule = machine.find_file(client, scope), machine.find_rule(client, scope)
    planned = [
        None if path is None else changes.plan_uninstall(client, path, name, scope),
        None if rule is None else changes.plan_rule(rule, is_wanted=False),
    ]
    wanted = [change for change in planned if change is not None]
    if not wanted:
        report.add(client, "absent", f"{client.title}: there is no {name} in {path or 'its settings'}.")
    for change in wanted:
        if is_dry:
            report.add(client, "planned", f"{client.title}: nothing was written, because of --dry-run.", change)
        else:
            backup = change.make()
            text = f"{client.title}: removed {name} from {change.path}. The file before is {backup}."
            report.add(client, "removed", text, change, backup=backup)
