"""Checks of `satchel doctor` on the clients: every entry is started, or its address called, as the client would."""

import os
import shutil
from collections.abc import Iterator, Mapping

from satchel.cli.findings import Finding, Repairable, attempt
from satchel.clients import changes, probe
from satchel.clients.entries import CannotInstall, Local, Remote, own_command, read_entry
from satchel.clients.files import UnusableFile
from satchel.clients.places import Machine, Scope
from satchel.clients.table import CLIENTS, Client

_SCOPES: tuple[Scope, ...] = ("user", "project")


def check_clients(machine: Machine, *, is_fixing: bool) -> Iterator[Finding]:
    """A finding for each entry of Satchel in the settings of a client."""
    has_any = False
    for client in CLIENTS:
        places = {machine.find_file(client, scope): scope for scope in reversed(_SCOPES)}  # in the home folder: one
        for scope in reversed(places.values()):
            for finding in _check_client(machine, client, scope, is_fixing=is_fixing):
                has_any = True
                yield finding
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
            # A file of a project may come from anyone: nothing of it is run or called without being asked.
            message = f"{name} in {path} does not start this Satchel, and was not tried."
            yield Finding(check=check, status="note", message=message, file=path)
        else:
            entry_of = _Entry(client, scope, name, path, target, again)
            yield attempt(check, lambda one=entry_of: one.look(machine), is_fixing=is_fixing)  # type: ignore[misc]


class _Entry:
    """One entry of a client's file."""

    def __init__(self, client: Client, scope: Scope, name: str, path: str, target: Local | Remote, again: str) -> None:
        self._client, self._scope, self._name, self._path = client, scope, name, path
        self._target, self._again = target, again

    def look(self, machine: Machine) -> str:
        """Start the server of the entry, or call it."""
        _, entries = changes.find_entries(self._client, machine, self._scope)
        target = read_entry(self._client, entries.get(self._name)) or self._target
        try:
            answer = probe.call(target, _client_environment(machine.environment, target))
        except probe.NoAnswer as error:
            message = f"{self._name} in {self._path}: {error}."
            raise Repairable(message, self._remedy(target, machine), lambda: self._repair(target, machine)) from error
        tools = "" if answer.tools is None else f", {answer.tools} tools"
        return f"{self._client.title}: {self._name} answers ({answer.server} {answer.version}{tools})"

    def _remedy(self, target: Local | Remote, machine: Machine) -> str:
        if isinstance(target, Local):
            return self._again
        if target.token_variable and not machine.environment.get(target.token_variable):
            return f"Set {target.token_variable} to a token: satchel token create, on the server."
        return "Check that the server runs, and that the token is valid."

    def _repair(self, target: Local | Remote, machine: Machine) -> str:
        """Let an entry start this Satchel, where its command is gone."""
        if not isinstance(target, Local) or probe.is_executable(target.command, machine.environment):
            raise OSError("only you can")
        try:
            command, *before = own_command(machine.environment)
        except CannotInstall as error:
            raise OSError(str(error)) from error
        given = target.arguments[2:] if target.arguments[:2] == ("-m", "satchel") else target.arguments
        renewed = Local(command, (*before, *given), target.variables)
        changes.plan_install(self._client, self._path, self._name, renewed, self._scope).make()
        return f"Its command is {command} now."


def _is_ours(target: Local | Remote, machine: Machine) -> bool:
    """Whether an entry is one that `satchel install --scope project` could have written here."""
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
    # Its variables would send the server to any file: those that are set here are known anyway.
    is_known = all(machine.environment.get(name) == value for name, value in target.variables.items())
    return is_own and before == own[1:] and is_plain and is_known


def _client_environment(environment: Mapping[str, str], target: Local | Remote) -> dict[str, str]:
    """The environment of a client: not the settings of Satchel that are only in ours."""
    kept = {target.token_variable} if isinstance(target, Remote) else set()
    return {name: value for name, value in environment.items() if name in kept or not name.startswith("SATCHEL_")}
