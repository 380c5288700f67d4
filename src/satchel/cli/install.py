"""`satchel install`: puts Satchel into the settings of MCP clients."""

import os
from typing import TYPE_CHECKING, Any

import click

from satchel.cli.client_options import (
    Reporter,
    choose_clients,
    clients_argument,
    dry_option,
    fail,
    json_option,
    name_option,
    scope_option,
)
from satchel.clients.places import Machine, Scope
from satchel.clients.table import GENERIC, Client
from satchel.contracts import CONTRACTS

if TYPE_CHECKING:
    from satchel.config import Settings  # read when a client is installed

EXAMPLES = """\b
Examples:
  satchel install                         find the clients on this machine, and ask
  satchel install claude-code codex
  satchel install cursor --scope project --project web
  satchel install vscode --url https://satchel.example/mcp --token-env SATCHEL_TOKEN
  satchel install zed --print             only print the lines for its settings
  satchel install --print json            print the lines for a client that is not listed
"""


@click.command(epilog=EXAMPLES)
@clients_argument
@click.option("--all", "takes_all", is_flag=True, help="All clients on this machine, without asking.")
@scope_option
@click.option("--contract", "-c", metavar="NAME", help="The contract to serve, if not satchel.")
@click.option("--project", "-p", metavar="NAME", help="The project to work in, whatever the folder.")
@click.option("--url", metavar="URL", help="Connect to a server at this address, instead of starting one.")
@click.option("--token-env", metavar="VARIABLE", help="With --url: the environment variable that has the token.")
@click.option("--rule", is_flag=True, help="Also tell agents when to use Satchel, in AGENTS.md or CLAUDE.md.")
@name_option
@click.option("--print", "prints", is_flag=True, help="Print the lines for the client's file, and write nothing.")
@dry_option
@json_option
def cli(
    clients: tuple[str, ...],
    takes_all: bool,
    scope: Scope,
    contract: str | None,
    project: str | None,
    url: str | None,
    token_env: str | None,
    rule: bool,
    name: str,
    prints: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Connect MCP clients to Satchel: writes the entry into their settings, shows the change and keeps a backup.

    CLIENT is claude-code, claude-desktop, cursor, vscode, codex, gemini-cli, copilot-cli, opencode, windsurf, zed,
    cline, qwen-code, kiro or amp. For any other client, --print json prints the lines that most clients read.
    """
    from satchel.clients import changes
    from satchel.clients.entries import CannotInstall, Local
    from satchel.clients.files import UnusableFile

    machine = Machine.current()
    _check(contract, url, token_env, name, as_json=as_json)
    try:
        target = _make_target(machine, scope, contract, project, (url, token_env), as_json=as_json)
    except CannotInstall as error:
        fail(str(error), 1, as_json=as_json)
    if prints and clients == (GENERIC.name,):
        chosen = [GENERIC]
    else:
        chosen = choose_clients(
            clients, takes_all=takes_all, verb="install", candidates=machine.find_clients, as_json=as_json
        )
    report = Reporter(as_json=as_json)
    for client in chosen:
        try:
            if prints:
                snippet = changes.write_snippet(client, name, target)
                report.add(
                    client, "printed", snippet.rstrip("\n"), snippet=snippet, file=machine.find_file(client, scope)
                )
                continue
            _install(report, machine, client, scope, name, target, is_dry=dry_run)
            if rule:
                _add_rule(report, machine, client, scope, is_dry=dry_run)
        except (UnusableFile, CannotInstall) as error:
            report.add(client, "failed", f"satchel: {error}", error=str(error))
    answer = _try(report, target) if not (prints or dry_run) and isinstance(target, Local) else {}
    report.end(**answer)


def _check(contract: str | None, url: str | None, token_env: str | None, name: str, *, as_json: bool) -> None:
    if contract is not None and contract not in CONTRACTS:
        from satchel.services.suggestions import closest_name

        near = closest_name(contract, CONTRACTS)
        hint = f"Did you mean '{near}'? " if near else ""
        fail(f"there is no contract '{contract}'. {hint}There are: {', '.join(CONTRACTS)}.", 2, as_json=as_json)
    if token_env is not None and url is None:
        fail("--token-env belongs to --url: a server that the client starts needs no token.", 2, as_json=as_json)
    if token_env is not None and not (token_env.isascii() and token_env.isidentifier()):
        fail(f"'{token_env}' is not the name of an environment variable, like SATCHEL_TOKEN.", 2, as_json=as_json)
    if not name or not all(character.isascii() and (character.isalnum() or character in "-_") for character in name):
        fail("--name takes letters, digits, - and _.", 2, as_json=as_json)


def _make_target(
    machine: Machine,
    scope: Scope,
    contract: str | None,
    project: str | None,
    remote: tuple[str | None, str | None],
    *,
    as_json: bool,
) -> Any:
    from satchel import config
    from satchel.clients import entries

    url, token_env = remote
    if url is not None:
        address = entries.server_url(url, contract, project, list(CONTRACTS))
        if token_env and not entries.is_private(address):
            click.echo("Note: over http:// the token can be read on the way. Use https:// where you can.", err=True)
        return entries.Remote(address, token_env or "")
    try:
        settings = config.load({"project": project, "contract": contract})
    except config.SettingsError as error:
        fail(str(error), 2, as_json=as_json)
    _warn_of_missing_project(settings, project)
    command, *arguments = entries.own_command(machine.environment)
    if scope == "project" and os.path.basename(command) == "satchel" and _is_on_path(command, machine):
        command = "satchel"  # the file of a project goes to other machines
    arguments += entries.serve_arguments(contract, project)
    return entries.Local(command, tuple(arguments), entries.carry_variables(machine.environment, settings.home))


def _is_on_path(command: str, machine: Machine) -> bool:
    import shutil

    found = shutil.which("satchel", path=machine.environment.get("PATH"))
    return found is not None and os.path.realpath(found) == os.path.realpath(command)


def _warn_of_missing_project(settings: "Settings", project: str | None) -> None:
    database = settings.database
    if project is None or ("://" not in database and not os.path.exists(database)):
        return
    from satchel.errors import SatchelError
    from satchel.services import project_names
    from satchel.storage.database import open_database

    try:
        opened = open_database(database, settings.database_direct)
    except SatchelError:
        return  # `satchel doctor` says more about it
    try:
        if not project_names.exists(opened, project):
            hint = f"satchel project create {project}"
            click.echo(f"Note: project '{project}' does not exist yet. Make it with: {hint}", err=True)
    finally:
        opened.close()


def _install(
    report: Reporter, machine: Machine, client: Client, scope: Scope, name: str, target: Any, *, is_dry: bool
) -> None:
    from satchel.clients import changes
    from satchel.clients.entries import CannotInstall

    path = machine.find_file(client, scope)
    if path is None:
        raise CannotInstall(f"{client.title} has no settings file for a project. Leave out --scope project.")
    is_absent = scope == "user" and not machine.has(client)
    change = changes.plan_install(client, path, name, target, scope)
    if not change.is_needed:
        report.add(client, "unchanged", f"{client.title}: {name} is in {path} already.", change)
    elif is_dry:
        report.add(client, "planned", f"{client.title}: nothing was written, because of --dry-run.", change)
    else:
        backup = change.make()
        kept = f" The file before is {backup}." if backup else ""
        hint = f"{client.title} itself was not found on this machine." if is_absent else client.next_step
        text = f"{client.title}: installed {name} into {path}.{kept} {hint}"
        report.add(client, "installed", text, change, backup=backup)


def _add_rule(report: Reporter, machine: Machine, client: Client, scope: Scope, *, is_dry: bool) -> None:
    from satchel.clients import changes

    path = machine.find_rule(client, scope)
    if path is None:
        report.add(
            client, "unchanged", f"{client.title} reads no file with instructions, so there is no rule to write."
        )
        return
    change = changes.plan_rule(path, is_wanted=True)
    if change is None:
        report.add(client, "unchanged", f"{client.title}: the rule is in {path} already.")
    elif is_dry:
        report.add(client, "planned", f"{client.title}: nothing was written, because of --dry-run.", change)
    else:
        backup = change.make()
        report.add(client, "installed", f"{client.title}: added the rule to {path}.", change, backup=backup)


def _try(report: Reporter, target: Any) -> dict[str, Any]:
    """Start the entry once, as the clients will."""
    from satchel.clients import probe

    if not any(row["status"] in ("installed", "unchanged") for row in report.rows):
        return {}
    try:
        answer = probe.call(target, os.environ)
    except probe.NoAnswer as error:
        report.failed = True
        if not report.as_json:
            click.echo(f"satchel: the server does not answer: {error}. See: satchel doctor", err=True)
        return {"server": {"error": str(error)}}
    if not report.as_json:
        click.echo(f"The server starts and answers: {answer.server} {answer.version}, {answer.tools or 0} tools.")
    return {"server": {"name": answer.server, "version": answer.version, "tools": answer.tools}}
