"""`satchel install` and `satchel uninstall`: put Satchel into the settings of MCP clients, and take it out."""

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn
from urllib.parse import parse_qs, urlsplit

import click

from satchel import config
from satchel.app import project_discovery
from satchel.cli.completion import CLIENT, PROJECT
from satchel.cli.errors import end
from satchel.cli.examples import Command
from satchel.cli.output import color_diff, to_json
from satchel.cli.session import json_option
from satchel.clients import changes, entries, hooks, probe
from satchel.clients.changes import Change
from satchel.clients.entries import CannotInstall, Local
from satchel.clients.files import UnusableFile
from satchel.clients.places import Machine, Scope
from satchel.clients.table import BY_NAME, CLIENTS, GENERIC, Client
from satchel.contracts import CONTRACTS
from satchel.errors import SatchelError
from satchel.model import DEFAULT_PROJECT, NAMED_BY_FILE
from satchel.services import projects
from satchel.services.texts import closest_name
from satchel.storage.database import open_database

_WRONG = "invalid_argument"
_CONTRACT = click.Choice(list(CONTRACTS))
_OTHER_CLIENT = "For any other client: satchel install --print json."
NAMES = ", ".join(client.name for client in CLIENTS)

clients_argument = click.argument("clients", type=CLIENT, metavar="[CLIENT]...", nargs=-1)
scope_option = click.option(
    "--scope",
    type=click.Choice(["user", "project"]),
    default="user",
    show_default=True,
    help="The settings of the user, or of the project in this folder.",
)
name_option = click.option("--name", default="satchel", show_default=True, help="The name of the server in the client.")
dry_option = click.option("--dry-run", is_flag=True, help="Show the change, and write nothing.")


class Reporter:
    """Prints each client's change at once, or collects all changes for one JSON document."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self.rows: list[dict[str, Any]] = []
        self.failed = False

    def add(self, client: Client, status: str, text: str, change: Change | None = None, **more: Any) -> None:
        """Report one step; `text` is for people."""
        self.failed = self.failed or status == "failed"
        file = {} if change is None else {"file": change.path}
        diff = {} if change is None or not change.diff else {"diff": change.diff}
        self.rows.append({"client": client.name, "status": status, **file, **more, **diff})
        if self.as_json:
            return
        if change is not None and change.diff:
            click.echo(color_diff(change.diff))
        click.echo(text, err=status == "failed")
        if change is not None and change.note:
            click.echo(f"Note: {change.note}", err=True)

    def end(self, **more: Any) -> NoReturn:
        """Print the JSON document, and end with status 1 if something failed, else 0."""
        if self.as_json:
            click.echo(to_json({"changes": self.rows, **more}))
        raise SystemExit(1 if self.failed else 0)


def find_client(word: str, *, as_json: bool) -> Client:
    """Return the client with this name."""
    name = word.strip().lower().replace(" ", "-").replace("_", "-")
    if name not in BY_NAME:
        near = closest_name(name, list(BY_NAME))
        hint = f"Did you mean '{near}'? " if near else ""
        end(f"there is no client '{word}'. {hint}There are: {NAMES}. {_OTHER_CLIENT}", _WRONG, as_json=as_json)
    return BY_NAME[name]


def choose_clients(
    words: Sequence[str], *, takes_all: bool, verb: str, candidates: Callable[[], list[Client]], as_json: bool
) -> list[Client]:
    """Return the named clients; without names, all candidates (--all) or those that the user confirms."""
    if words:
        return list({client.name: client for client in (find_client(word, as_json=as_json) for word in words)}.values())
    found = candidates()
    if not found:
        where = "Satchel is in no client's settings." if verb == "uninstall" else "No client was found on this machine."
        other = f" {_OTHER_CLIENT}" if verb == "install" else ""
        end(f"{where} Name one: satchel {verb} CLIENT. There are: {NAMES}.{other}", "not_found", as_json=as_json)
    if takes_all:
        return found
    names = " ".join(client.name for client in found)
    if not sys.stdin.isatty():
        end(f"name a client: satchel {verb} {names}, or --all.", _WRONG, as_json=as_json)
    click.echo(f"Found: {', '.join(client.title for client in found)}.", err=True)
    question = "Connect {}?" if verb == "install" else "Remove Satchel from {}?"
    return [client for client in found if click.confirm(question.format(client.title), default=True, err=True)]


# -- install ----------------------------------------------------------------------------------------------------


@click.command(cls=Command, epilog=f"Clients: {NAMES}.")
@clients_argument
@click.option("--all", "takes_all", is_flag=True, help="All clients on this machine, without asking.")
@scope_option
@click.option("--contract", "-c", type=_CONTRACT, metavar="NAME", help="The contract to serve.  [default: satchel]")
@click.option("--project", "-p", type=PROJECT, metavar="NAME", help="The project to work in, regardless of the folder.")
@click.option("--url", metavar="URL", help="Connect to a server at this address, instead of starting one.")
@click.option("--token-env", metavar="VARIABLE", help="With --url: the environment variable with the token.")
@click.option("--rule", is_flag=True, help="Also tell agents, in AGENTS.md or CLAUDE.md, when to use Satchel.")
@click.option("--hooks", "with_hooks", is_flag=True, help="Also begin the client's sessions with a brief catch-up.")
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
    with_hooks: bool,
    name: str,
    prints: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Connect MCP clients to Satchel: write the entry into their settings, show the change and keep a backup.

    Without CLIENT, Satchel finds the clients on this machine and asks about each. For a client that is not listed,
    --print json prints the lines that most clients read.
    """
    machine = Machine.current()
    _check(url, token_env, name, as_json=as_json)
    if with_hooks and url is not None:
        message = "--hooks needs a store on this machine, and --url names another one: leave one out."
        end(message, _WRONG, as_json=as_json)
    try:
        target = _make_target(machine, scope, contract, project, (url, token_env), as_json=as_json)
    except CannotInstall as error:
        end(str(error), as_json=as_json)
    if prints and clients == (GENERIC.name,):
        chosen = [GENERIC]
    else:
        chosen = choose_clients(
            clients, takes_all=takes_all, verb="install", candidates=machine.find_clients, as_json=as_json
        )
    report = Reporter(as_json=as_json)
    for client in chosen:
        try:
            if with_hooks and clients:
                hooks.find_hook(client)  # raises before anything is written
            if prints:
                snippet = changes.write_snippet(client, name, target)
                report.add(
                    client, "printed", snippet.rstrip("\n"), snippet=snippet, file=machine.find_file(client, scope)
                )
                if with_hooks and client.hook is not None:
                    snippet = hooks.write_snippet(client, _write_hook(client, target, project))
                    where = machine.find_hooks(client, scope)
                    report.add(client, "printed", snippet.rstrip("\n"), snippet=snippet, file=where)
                continue
            _install(report, machine, client, scope, name, target, is_dry=dry_run)
            if rule:
                _add_rule(report, machine, client, scope, is_dry=dry_run)
            if with_hooks:
                _add_hook(report, machine, client, scope, target, project, is_dry=dry_run)
        except (UnusableFile, CannotInstall) as error:
            report.add(client, "failed", f"satchel: {error}", error=str(error))
    answer = _try(report, target) if not (prints or dry_run) and isinstance(target, Local) else {}
    report.end(**answer)


def _check(url: str | None, token_env: str | None, name: str, *, as_json: bool) -> None:
    if token_env is not None and url is None:
        end("--token-env belongs to --url: a server that the client starts needs no token.", _WRONG, as_json=as_json)
    if token_env is not None and not (token_env.isascii() and token_env.isidentifier()):
        end(f"'{token_env}' is not the name of an environment variable, like SATCHEL_TOKEN.", _WRONG, as_json=as_json)
    if not name or not all(character.isascii() and (character.isalnum() or character in "-_") for character in name):
        end("--name takes letters, digits, - and _.", _WRONG, as_json=as_json)


def _make_target(
    machine: Machine,
    scope: Scope,
    contract: str | None,
    project: str | None,
    remote: tuple[str | None, str | None],
    *,
    as_json: bool,
) -> Any:
    url, token_env = remote
    if url is not None:
        address = entries.server_url(url, contract, project or _find_project(url, scope), list(CONTRACTS))
        if token_env and not entries.is_private(address):
            click.echo(
                "Note: over http:// others on the network can read the token. Use https:// if you can.", err=True
            )
        return entries.Remote(address, token_env or "")
    try:
        settings = config.load({"project": project, "contract": contract})
    except config.SettingsError as error:
        end(str(error), _WRONG, as_json=as_json)
    _warn_of_missing_project(settings, project)
    command, *arguments = entries.own_command(machine.environment)
    if scope == "project" and os.path.basename(command) == "satchel" and _is_on_path(command, machine):
        command = "satchel"  # a project's file is also used on other machines
    arguments.append("serve")
    for flag, value in (("--contract", contract), ("--project", project)):
        arguments += [flag, value] if value is not None else []
    return entries.Local(command, tuple(arguments), entries.carry_variables(machine.environment, settings.home))


def _find_project(url: str, scope: Scope) -> str | None:
    """Find the project on a server from a setting, a `.satchel` file or a question; None means the server's default."""
    if "project" in parse_qs(urlsplit(url).query):
        return None
    try:
        settings = config.load({})
    except config.SettingsError:
        return None  # this setting applies only to a server on this machine
    if settings.why_project is not None:
        return settings.project
    if scope == "project":
        files = [one.name for one in project_discovery.find_names() if one.why.startswith(NAMED_BY_FILE)]
        return files[0] if files else None
    if not sys.stdin.isatty():
        return None
    answer: str = click.prompt("Project on the server", default=DEFAULT_PROJECT, err=True)
    return None if answer == DEFAULT_PROJECT else answer


def _is_on_path(command: str, machine: Machine) -> bool:
    found = shutil.which("satchel", path=machine.environment.get("PATH"))
    return found is not None and os.path.realpath(found) == os.path.realpath(command)


def _warn_of_missing_project(settings: config.Settings, project: str | None) -> None:
    database = settings.database
    if project is None or ("://" not in database and not os.path.exists(database)):
        return
    try:
        opened = open_database(database, settings.database_direct)
    except SatchelError:
        return  # `satchel doctor` explains more
    try:
        if not projects.exists(opened, project):
            hint = f"satchel project create {project}"
            click.echo(f"Note: project '{project}' does not exist yet. Make it with: {hint}", err=True)
    finally:
        opened.close()


def _install(
    report: Reporter, machine: Machine, client: Client, scope: Scope, name: str, target: Any, *, is_dry: bool
) -> None:
    path = machine.find_file(client, scope)
    if path is None:
        raise CannotInstall(f"{client.title} has no settings file for a project. Leave out --scope project.")
    change = changes.plan_install(client, path, name, target, scope)
    if not change.is_needed:
        report.add(client, "unchanged", f"{client.title}: {name} is in {path} already.", change)
        return
    is_absent = scope == "user" and not machine.has(client)
    hint = f"{client.title} itself was not found on this machine." if is_absent else client.next_step
    _make(report, client, change, "installed", f"installed {name} into {path}.", hint, is_dry=is_dry)


def _add_rule(report: Reporter, machine: Machine, client: Client, scope: Scope, *, is_dry: bool) -> None:
    path = machine.find_rule(client, scope)
    change = None if path is None else changes.plan_rule(path, is_wanted=True)
    if path is None:
        text = f"{client.title} reads no instructions from a file of the {scope}, so no rule was written."
        if scope == "user" and client.project_files and client.project_rule:
            text += f" In the folder of a project, --scope project writes the rule to {client.project_rule}."
        report.add(client, "unchanged", text)
    elif change is None:
        report.add(client, "unchanged", f"{client.title}: the rule is in {path} already.")
    else:
        _make(report, client, change, "installed", f"added the rule to {path}.", is_dry=is_dry)


def _write_hook(client: Client, target: Local, project: str | None) -> str:
    """Return the command line of a hook: the command of the entry, with another subcommand."""
    words = target.arguments[: target.arguments.index("serve")]
    return hooks.write_command(client, [target.command, *words], target.variables, project)


def _add_hook(
    report: Reporter,
    machine: Machine,
    client: Client,
    scope: Scope,
    target: Local,
    project: str | None,
    *,
    is_dry: bool,
) -> None:
    path = machine.find_hooks(client, scope)
    if path is None:
        report.add(client, "unchanged", f"{client.title} documents no such hooks, so none was written.")
        return
    change = hooks.plan_install(client, path, _write_hook(client, target, project), scope)
    if change is None:
        report.add(client, "unchanged", f"{client.title}: the hook is in {path} already.")
        return
    trust = "Open /hooks in Codex, and trust it." if client.name == "codex" else ""
    _make(report, client, change, "installed", f"added the hook to {path}.", trust, is_dry=is_dry)


def _make(
    report: Reporter, client: Client, change: Change, status: str, done: str, hint: str = "", *, is_dry: bool
) -> None:
    """Make a change, unless `is_dry`, and report it."""
    if is_dry:
        report.add(client, "planned", f"{client.title}: nothing was written, because of --dry-run.", change)
        return
    backup = change.make()
    kept = f" The old file is {backup}." if backup else ""
    report.add(client, status, f"{client.title}: {done}{kept} {hint}".rstrip(), change, backup=backup)


def _try(report: Reporter, target: Any) -> dict[str, Any]:
    """Start the entry once, as a client will."""
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


# -- uninstall --------------------------------------------------------------------------------------------------


@click.command(cls=Command)
@clients_argument
@click.option("--all", "takes_all", is_flag=True, help="All clients that have Satchel, without asking.")
@scope_option
@name_option
@dry_option
@json_option
def uninstall(clients: tuple[str, ...], takes_all: bool, scope: Scope, name: str, dry_run: bool, as_json: bool) -> None:
    """Remove Satchel from the settings of MCP clients, with its hooks, and its rule from AGENTS.md or CLAUDE.md.

    The store is not changed. CLIENT is as for `satchel install`.
    """
    machine = Machine.current()
    chosen = choose_clients(
        clients,
        takes_all=takes_all,
        verb="uninstall",
        candidates=lambda: [client for client in CLIENTS if _has_any(machine, client, scope, name)],
        as_json=as_json,
    )
    report = Reporter(as_json=as_json)
    for client in chosen:
        try:
            _uninstall(report, machine, client, scope, name, is_dry=dry_run)
        except UnusableFile as error:
            report.add(client, "failed", f"satchel: {error}", error=str(error))
    report.end()


def _has_any(machine: Machine, client: Client, scope: Scope, name: str) -> bool:
    """Return whether a client has our entry or a hook of ours."""
    path = machine.find_file(client, scope)
    try:
        has_entry = path is not None and changes.plan_uninstall(client, path, name, scope) is not None
        return has_entry or bool(hooks.list_commands(client, machine, scope)[1])
    except UnusableFile:
        return False


def _uninstall(report: Reporter, machine: Machine, client: Client, scope: Scope, name: str, *, is_dry: bool) -> None:
    path, rule = machine.find_file(client, scope), machine.find_rule(client, scope)
    planned = [
        None if path is None else changes.plan_uninstall(client, path, name, scope),
        None if rule is None else changes.plan_rule(rule, is_wanted=False),
    ]
    wanted = [change for change in planned if change is not None]
    for change in wanted:
        _make(report, client, change, "removed", f"removed {name} from {change.path}.", is_dry=is_dry)
    hooked = machine.find_hooks(client, scope)  # planned last: some clients have entry and hooks in one file
    unhook = None if hooked is None else hooks.plan_uninstall(client, hooked, scope)
    if unhook is not None:
        _make(report, client, unhook, "removed", f"removed the hook from {unhook.path}.", is_dry=is_dry)
    elif not wanted:
        report.add(client, "absent", f"{client.title}: there is no {name} in {path or 'its settings'}.")
