"""`satchel doctor`: check everything that Satchel needs, and explain how to repair each problem."""

import http.client
import os
import platform
import shutil
import socket
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from functools import partial
from typing import Literal

import apsw
import click
from msgspec import Struct
from msgspec.structs import replace

from satchel import __version__, config
from satchel.cli.examples import Command
from satchel.cli.output import count, to_json
from satchel.cli.session import database_option, json_option
from satchel.clients import changes, hooks, probe
from satchel.clients.entries import CannotInstall, Local, Remote, own_command, read_entry
from satchel.clients.files import UnusableFile
from satchel.clients.places import Machine, Scope
from satchel.clients.table import CLIENTS, Client
from satchel.config import Http, Settings
from satchel.errors import SatchelError
from satchel.library.validate import check_all
from satchel.library.watch import sees_changes
from satchel.storage import schema
from satchel.storage.database import is_postgres, open_database
from satchel.storage.status import StoreStatus, check_file, compare_index, read_status, rebuild_index

_LEAST_SPACE = 100 * 2**20  # bytes of free space below which a warning is given
_SCOPES: tuple[Scope, ...] = ("user", "project")
_MARKS = {"ok": ("ok", "green"), "fixed": ("fixed", "green"), "note": ("note", None), "warning": ("warning", "yellow")}

Status = Literal["ok", "fixed", "note", "warning", "failure"]


class Finding(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of one check, with a remedy for a problem."""

    check: str
    status: Status
    message: str
    remedy: str = ""
    file: str = ""
    line: int | None = None


class Problem(Exception):
    """A problem that a check found: a message, the remedy, and a safe repair if there is one."""

    def __init__(
        self, message: str, remedy: str = "", repair: Callable[[], str] | None = None, status: Status = "failure"
    ) -> None:
        super().__init__(message)
        self.remedy, self.repair, self.status = remedy, repair, status


def attempt(check: str, look: Callable[[], str], *, is_fixing: bool = False) -> Finding:
    """Run a check: `look` returns a sentence or raises a Problem, which `is_fixing` repairs before a second look."""
    try:
        return Finding(check=check, status="ok", message=look())
    except Problem as wrong:
        found = Finding(check=check, status=wrong.status, message=str(wrong), remedy=wrong.remedy)
        if not is_fixing or wrong.repair is None:
            return found
        try:
            done = wrong.repair()
            look()
        except Exception as error:
            return replace(found, status="failure", message=f"{wrong} It could not be repaired: {error}")
        return Finding(check=check, status="fixed", message=f"{wrong} {done}")
    except Exception as error:
        return _explain_break(check, error)


# -- the command ------------------------------------------------------------------------------------------------


@click.command(cls=Command)
@click.option("--fix", is_flag=True, help="Repair what is safe: modes, schema, search index, moved commands.")
@database_option
@json_option
def cli(fix: bool, database: str | None, as_json: bool) -> None:
    """Check the installation, the store, the libraries and every connected client.

    Each problem is printed with its remedy. The exit status is 1 if a check failed.
    """
    found: list[Finding] = []
    for finding in _look(database, is_fixing=fix):
        found.append(finding)
        if not as_json:
            _print(finding)
    problems = sum(finding.status == "failure" for finding in found)
    if as_json:
        click.echo(to_json({"ok": not problems, "findings": found}))
    else:
        click.echo("No problems." if not problems else f"{count(problems, 'problem')}.")
    raise SystemExit(1 if problems else 0)


def _look(database: str | None, *, is_fixing: bool) -> Iterator[Finding]:
    """Run all checks; yield each finding at once."""
    versions = f"Satchel {__version__}, Python {platform.python_version()}, SQLite {apsw.sqlite_lib_version()}"
    yield Finding(check="interpreter", status="ok", message=f"{versions} ({sys.executable})")
    try:
        settings = config.load({"database": database})
        http = config.load({"database": database, "transport": "http"}).http
    except config.SettingsError as error:
        yield Finding(check="settings", status="failure", message=str(error), remedy="Correct the setting.")
    else:
        told = f"contract {settings.contract}, project {settings.project}"
        yield Finding(check="settings", status="ok", message=told)
        home, store, direct = settings.home, settings.database, settings.database_direct
        yield attempt("data folder", lambda: check_home(home), is_fixing=is_fixing)
        yield from _guard("store", lambda: check_store(store, direct, is_fixing=is_fixing))
        yield from _guard("libraries", lambda: check_libraries(settings))
        yield attempt("watcher", lambda: check_watcher(home))
        yield attempt("port", lambda: check_port(http, is_needed=settings.http is not None))
    yield from _guard("clients", lambda: check_clients(Machine.current(), is_fixing=is_fixing))


def _guard(check: str, look: Callable[[], Iterable[Finding]]) -> Iterator[Finding]:
    """Yield the findings of a check; if the check crashes, yield that as a finding, so that other checks still run."""
    try:
        yield from look()
    except Exception as error:
        yield _explain_break(check, error)


def _explain_break(check: str, error: Exception) -> Finding:
    message = f"it could not be checked: {type(error).__name__}: {error}"
    return Finding(check=check, status="failure", message=message)


def _print(finding: Finding) -> None:
    mark, color = _MARKS.get(finding.status, ("failed", "red"))
    click.echo(f"{click.style(f'{mark:<8}', fg=color)}{finding.check:<13} {finding.message}")
    if finding.remedy:
        click.echo(f"{'':<22}-> {finding.remedy}")


# -- this machine -----------------------------------------------------------------------------------------------


def check_home(home: str) -> str:
    """Check that the data folder is writable, private, and has free space."""
    if not os.path.isdir(home):
        if os.path.lexists(home):
            raise Problem(f"{home} is not a folder.", "Move it away, or set SATCHEL_HOME.")
        return f"{home} does not exist yet; the first use makes it"
    if not os.access(home, os.W_OK | os.X_OK):
        raise Problem(f"{home} cannot be written.", "Make it writable, or set SATCHEL_HOME to another.")
    check_private(home, 0o700)
    free = shutil.disk_usage(home).free
    if free < _LEAST_SPACE:
        raise Problem(f"{home}: only {free // 2**20} MiB are free.", "Free some space.")
    return f"{home} is writable and private, {free / 2**30:.1f} GiB free"


def check_private(path: str, mode: int) -> str:
    """Check that nobody else can read a file or folder."""

    def tighten() -> str:
        os.chmod(path, mode)
        return f"Its mode is {mode:o} now."

    if stat.S_IMODE(os.stat(path).st_mode) & 0o077:
        raise Problem(f"{path} can be read by others.", f"chmod {mode:o} {path}", tighten, "warning")
    return "only you can read the file"


def check_libraries(settings: Settings) -> Iterator[Finding]:
    """Yield every problem of the libraries or, if there is none, one finding with their number."""
    is_default = settings.libraries[0] == os.path.join(settings.home, "libraries")
    if is_default and not any(map(os.path.lexists, settings.libraries)):
        hint = "make one with: satchel library new NAME"
        yield Finding(check="libraries", status="ok", message=f"there are none yet; {hint}")
        return
    report = check_all(settings.libraries)
    for problem in report.problems:
        paths = [os.path.join(root, problem.file) for root in settings.libraries]
        yield Finding(
            check="libraries",
            status="warning" if problem.is_warning else "failure",
            message=str(problem),
            remedy="" if problem.is_warning else "Correct it, then: satchel library validate",
            file=next((path for path in paths if os.path.lexists(path)), problem.file),
            line=problem.line,
        )
    if not any(not problem.is_warning for problem in report.problems):
        counts = f"{report.libraries} libraries with {report.prompts} prompts"
        yield Finding(check="libraries", status="ok", message=f"{counts} in {', '.join(settings.libraries)}")


def check_watcher(home: str) -> str:
    """Check that the system reports changed files, so that clients learn of changed templates."""
    base = home if os.path.isdir(home) and os.access(home, os.W_OK | os.X_OK) else None
    why = ""
    try:
        with tempfile.TemporaryDirectory(prefix=".doctor-", dir=base) as folder:
            if sees_changes(folder):
                return "the change of a test file was noticed"
    except (OSError, RuntimeError) as error:
        why = f": {error}"
    remedy = "Changed templates are noticed within 30 seconds. On Linux raise fs.inotify.max_user_watches."
    raise Problem(f"The change of a test file was not noticed{why}.", remedy, status="warning")


def check_port(http: Http | None, *, is_needed: bool) -> str:
    """Check that the port for HTTP is free, or that Satchel serves at it."""
    assert http is not None, "these settings are for the transport http"
    place, host = f"{http.host}:{http.port}", http.host.strip("[]")
    try:
        family = socket.getaddrinfo(host, http.port, type=socket.SOCK_STREAM)[0][0]
        socket.create_server((host, http.port), family=family).close()
    except OSError as error:
        if _is_satchel(host, http.port):
            return f"Satchel serves at {place} already"
        remedy = "Choose another: satchel serve --transport http --port 0, or port = … in satchel.toml"
        what = f"{place} cannot be used for HTTP: {error.strerror}."
        raise Problem(what, remedy, status="failure" if is_needed else "warning") from error
    return f"{place} is free"


def _is_satchel(host: str, port: int) -> bool:
    """Return whether Satchel answers at the port."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - only compared  # nosec B104
    connection = http.client.HTTPConnection(host, port, timeout=2)
    try:
        connection.request("GET", "/health")
        return b'"schema"' in connection.getresponse().read(1000)
    except (OSError, http.client.HTTPException, ValueError):
        return False
    finally:
        connection.close()


# -- the store --------------------------------------------------------------------------------------------------


def check_store(where: str, direct: str | None = None, *, is_fixing: bool) -> Iterator[Finding]:
    """Yield all findings about a store. Nothing is made or migrated without --fix.

    `direct` is the address of the PostgreSQL server itself, if there is a pooler in front of it.
    """
    try:
        is_shared = is_postgres(where)
        if not is_shared and not os.path.exists(where):
            message = f"there is no store {where} yet; the first use makes it"
            yield Finding(check="store", status="ok", message=message)
            return
        status = read_status(where)
    except SatchelError as error:
        yield Finding(check="store", status="failure", message=str(error), remedy=_remedy(where))
        return
    known = {name: number for name, number in status.counts.items() if number is not None}
    counts = ", ".join(count(number, name.removesuffix("s")) for name, number in known.items())
    held = f": {counts}" if counts else "; it is empty"
    yield Finding(check="store", status="ok", message=f"{status.engine} {status.store} opens{held}")
    if not is_shared:
        yield attempt("integrity", lambda: _look_at_file(where))
        yield attempt("privacy", lambda: check_private(where, 0o600), is_fixing=is_fixing)
    schema = attempt("schema", lambda: _look_at_schema(where, direct, status), is_fixing=is_fixing)
    yield schema
    if schema.status in ("ok", "fixed"):
        yield attempt("search", lambda: _look_at_search(where, direct, status), is_fixing=is_fixing)


def _remedy(where: str) -> str:
    if "://" in where:
        return "Check the address in SATCHEL_DATABASE or satchel.toml, and that the server runs and lets you in."
    return "Restore a backup of it, or name another file with --database or SATCHEL_DATABASE."


def _look_at_file(where: str) -> str:
    try:
        wrong = check_file(where)
    except SatchelError as error:
        wrong = [str(error)]
    if wrong:
        raise Problem("; ".join(wrong), "Stop all servers, keep a copy of the file, and restore a backup.")
    return "the file is intact"


def _look_at_schema(where: str, direct: str | None, status: StoreStatus) -> str:
    now = read_status(where)
    if schema.explain_number(now.schema):
        what = f"the store has schema {now.schema}, and this Satchel knows schemas {schema.NUMBER} to {now.newest}."
        remedy = "Dump the store with the Satchel that wrote it, and load the dump into a new store with this one."
        raise Problem(what, remedy)
    if now.schema < now.newest:
        what = f"the store has schema {now.schema}; the newest is {now.newest}."
        how: Status = "failure" if status.schema > 0 else "warning"
        raise Problem(what, "satchel database migrate", lambda: _migrate(where, direct), how)
    return f"schema {now.schema}, the newest"


def _migrate(where: str, direct: str | None) -> str:
    open_database(where, direct).close()
    return "It was migrated."


def _look_at_search(where: str, direct: str | None, status: StoreStatus) -> str:
    if status.row_security:
        what = "not compared: this role sees one user at a time. Run satchel doctor as the owner of the store."
        raise Problem(what, status="note")
    try:
        with closing(open_database(where, direct)) as opened, opened.read() as tx:
            state = compare_index(tx)
    except SatchelError as error:
        raise Problem(str(error), _remedy(where)) from error
    if not state.is_in_step:
        what = f"the search index is out of date: {state.missing} items are missing, {state.stale} wrong."
        raise Problem(what, "satchel doctor --fix", lambda: _rebuild(where, direct))
    return f"the search index is up to date ({state.compared} items compared)"


def _rebuild(where: str, direct: str | None) -> str:
    with closing(open_database(where, direct)) as opened, opened.write() as tx:
        rebuild_index(tx)
    return "It was rebuilt from all items."


# -- the clients ------------------------------------------------------------------------------------------------


def check_clients(machine: Machine, *, is_fixing: bool) -> Iterator[Finding]:
    """Yield a finding for each entry of Satchel in the settings of a client."""
    has_any = False
    for client in CLIENTS:
        places = {machine.find_file(client, scope): scope for scope in reversed(_SCOPES)}  # one file in the home folder
        for scope in reversed(places.values()):
            for finding in _check_client(machine, client, scope, is_fixing=is_fixing):
                has_any = True
                yield finding
            yield from _check_hooks(machine, client, scope)
    if not has_any:
        yield Finding(check="clients", status="note", message="no client is connected yet", remedy="satchel install")


def _check_client(machine: Machine, client: Client, scope: Scope, *, is_fixing: bool) -> Iterator[Finding]:
    check = f"client {client.name}"
    try:
        path, entries = changes.find_entries(client, machine, scope)
    except UnusableFile as error:
        yield Finding(check=check, status="failure", message=str(error), remedy="Correct the file.")
        return
    for name, entry in entries.items():
        target = read_entry(client, entry)
        again = f"satchel install {client.name}" + (f" --name {name}" if name != "satchel" else "")
        again += " --scope project" if scope == "project" else ""
        if target is None:
            message = f"{name} in {path} has no command and no address."
            yield Finding(check=check, status="failure", message=message, remedy=again, file=path)
        elif scope == "project" and not _is_ours(target, machine):
            # A project's file may come from anyone: do not run or call what it names.
            message = f"{name} in {path} does not start this Satchel, and was not tried."
            yield Finding(check=check, status="note", message=message, file=path)
        else:
            look = partial(_look_at_entry, machine, client, scope, name, target, again)
            yield attempt(check, look, is_fixing=is_fixing)


def _check_hooks(machine: Machine, client: Client, scope: Scope) -> Iterator[Finding]:
    """Yield a finding for each hook of ours, without running it."""
    check = f"hook {client.name}"
    try:
        path, commands = hooks.list_commands(client, machine, scope)
    except UnusableFile as error:
        yield Finding(check=check, status="failure", message=str(error), remedy="Correct the file.")
        return
    for command in commands:
        program = hooks.find_program(command)
        if shutil.which(program, path=machine.environment.get("PATH")) is not None:
            yield Finding(check=check, status="ok", message=f"{client.title}: sessions begin with catch-up", file=path)
            continue
        again = f"satchel install {client.name} --hooks" + (" --scope project" if scope == "project" else "")
        message = f"the hook in {path} starts {program}, which does not exist."
        yield Finding(check=check, status="failure", message=message, remedy=again, file=path)


def _look_at_entry(
    machine: Machine, client: Client, scope: Scope, name: str, target: Local | Remote, again: str
) -> str:
    """Start or call an entry's server, as its client does; `again` is the command that rewrites the entry."""
    path, entries = changes.find_entries(client, machine, scope)
    target = read_entry(client, entries.get(name)) or target  # a repair has changed the entry
    try:
        answer = probe.call(target, _client_environment(machine.environment, target))
    except probe.NoAnswer as error:
        repair = None
        if isinstance(target, Local):
            remedy = f"Correct the reported cause, or rewrite the entry: {again}"
            if shutil.which(target.command, path=machine.environment.get("PATH")) is None:
                remedy, repair = again, partial(_renew_entry, machine, client, scope, name, path, target)
        elif target.token_variable and not machine.environment.get(target.token_variable):
            remedy = f"Set {target.token_variable} to a token: satchel token create, on the server."
        else:
            remedy = "Check that the server runs, and that the token is valid."
        raise Problem(f"{name} in {path}: {error}.", remedy, repair) from error
    tools = "" if answer.tools is None else f", {answer.tools} tools"
    return f"{client.title}: {name} answers ({answer.server} {answer.version}{tools})"


def _renew_entry(machine: Machine, client: Client, scope: Scope, name: str, path: str, target: Local) -> str:
    """Rewrite an entry whose command no longer exists, so that it starts this copy of Satchel."""
    command, *before = own_command(machine.environment)
    given = target.arguments[2:] if target.arguments[:2] == ("-m", "satchel") else target.arguments
    renewed = Local(command, (*before, *given), target.variables)
    changes.plan_install(client, path, name, renewed, scope).make()
    return f"Its command is {command} now."


def _is_ours(target: Local | Remote, machine: Machine) -> bool:
    """Return whether `satchel install --scope project` could have written an entry here."""
    if isinstance(target, Remote):
        return False
    try:
        own = own_command(machine.environment)
    except CannotInstall:
        return False
    found = shutil.which(target.command, path=machine.environment.get("PATH")) or ""
    is_own = bool(found) and os.path.realpath(found) == os.path.realpath(own[0])
    before, words = target.arguments[: len(own) - 1], target.arguments[len(own) - 1 :]
    flags, values = words[1::2], words[2::2]
    is_plain = words[:1] == ("serve",) and len(flags) == len(values) and set(flags) <= {"--contract", "--project"}
    # Variables could point the server at any file; those that are also set here are trusted.
    is_known = all(machine.environment.get(name) == value for name, value in target.variables.items())
    return is_own and before == own[1:] and is_plain and is_known


def _client_environment(environment: Mapping[str, str], target: Local | Remote) -> dict[str, str]:
    """Return the environment that a client passes to its server: ours, without the settings of Satchel."""
    kept = {target.token_variable} if isinstance(target, Remote) else set()
    return {name: value for name, value in environment.items() if name in kept or not name.startswith("SATCHEL_")}
