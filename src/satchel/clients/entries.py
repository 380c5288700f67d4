"""Entries of clients: the command that starts Satchel, or the address of a server, in the shape of each client."""

import os
import shutil
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from msgspec import Struct

from satchel.clients import table
from satchel.clients.table import Client, Shape

# The names that clients use for the address of a server and the variables of a command.
URL_KEYS, VARIABLE_KEYS = ("url", "httpUrl", "serverUrl", "uri"), ("env", "environment", "envs")


class CannotInstall(Exception):
    """An entry cannot be made as requested; the message has the reason and the remedy."""


class Local(Struct, frozen=True):
    """A command that a client starts."""

    command: str
    arguments: tuple[str, ...] = ()
    variables: Mapping[str, str] = {}


class Remote(Struct, frozen=True):
    """The address of a server that clients reach over HTTP."""

    url: str
    token_variable: str = ""  # the environment variable with the token


def make_entry(client: Client, target: Local | Remote, name: str = "satchel") -> Shape:
    """Make the entry for a target in the form that a client reads.

    Raises:
        CannotInstall: the client cannot have such an entry.
    """
    if isinstance(target, Local):
        values: dict[str, Any] = {
            table.COMMAND: target.command,
            table.ARGUMENTS: list(target.arguments),
            table.WHOLE_COMMAND: [target.command, *target.arguments],
            table.VARIABLES: dict(target.variables),
            table.NAME: name,
        }
        return _fill(client.local, values)
    if client.remote is None:
        raise CannotInstall(
            f"{client.title} takes no address in its settings file: add {target.url} in its settings under Connectors."
        )
    if target.token_variable and not client.variable:
        raise CannotInstall(
            f"{client.title} cannot read a token from an environment variable. Install without --token-env, and add "
            "the header Authorization to the entry yourself."
        )
    reference = client.variable.format(target.token_variable) if target.token_variable else ""
    values = {
        table.URL: target.url,
        table.TOKEN: f"Bearer {reference}" if reference else "",
        table.TOKEN_VARIABLE: target.token_variable,
        table.NAME: name,
    }
    return _fill(client.remote, values)


def _fill(shape: Shape, values: Mapping[str, Any]) -> Shape:
    filled: Shape = {}
    for key, value in shape.items():
        if isinstance(value, dict):
            value = _fill(value, values)
        elif isinstance(value, str):
            value = values.get(value, value)
        if value not in ("", [], {}):
            filled[key] = value
    return filled


def read_entry(client: Client, entry: Any) -> Local | Remote | None:
    """Parse an entry of a client's file; return None if it cannot be understood."""
    if not isinstance(entry, dict):
        return None
    url = next((entry[key] for key in URL_KEYS if isinstance(entry.get(key), str)), None)
    if url is not None:
        return Remote(url, _read_variable(client, entry))
    words = list_words(entry)
    variables: Any = next((entry[key] for key in VARIABLE_KEYS if key in entry), {})
    if not words or not isinstance(variables, dict):
        return None
    return Local(words[0], tuple(words[1:]), {name: str(value) for name, value in variables.items()})


def list_words(entry: Any) -> list[str]:
    """Return the command and arguments of an entry; empty if they cannot be understood."""
    fields = entry if isinstance(entry, dict) else {}
    command, more = fields.get("command", fields.get("cmd")), fields.get("args", [])
    words = command if isinstance(command, list) else [command, *more] if isinstance(more, list) else []
    return words if all(isinstance(word, str) for word in words) else []


def _read_variable(client: Client, entry: Shape) -> str:
    """Return the name of the environment variable that holds the token for an entry with an address."""
    if isinstance(name := entry.get("bearer_token_env_var"), str):
        return name
    headers = entry.get("headers")
    header = headers.get("Authorization") if isinstance(headers, dict) else None
    if not isinstance(header, str) or not client.variable:
        return ""
    before, _, after = client.variable.format("\0").partition("\0")
    found = header.removeprefix("Bearer ")
    is_reference = found.startswith(before) and found.endswith(after)
    return found[len(before) : len(found) - len(after)] if is_reference else ""


def own_command(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the command that starts this copy of Satchel: a permanent path, and arguments.

    Raises:
        CannotInstall: Satchel runs from a cache, which may be emptied at any time.
    """
    script = os.path.join(sysconfig.get_path("scripts"), "satchel")
    if not os.path.exists(script):
        return (sys.executable, "-m", "satchel")
    if _is_cached(script, environment):
        raise CannotInstall(
            "Satchel runs from the cache of uv, which may be emptied. Install it to stay, then try again: "
            "uv tool install satchel (or, from its folder: uv tool install .)"
        )
    # `uv tool` and pipx put a link on the PATH, which outlives the environment.
    on_path = shutil.which("satchel", path=environment.get("PATH"))
    if on_path is not None and os.path.realpath(on_path) == os.path.realpath(script):
        return (os.path.abspath(on_path),)
    return (script,)


def _is_cached(script: str, environment: Mapping[str, str]) -> bool:
    cache = environment.get("UV_CACHE_DIR")
    parts = os.path.normpath(script).split(os.sep)
    return "archive-v0" in parts or bool(cache and script.startswith(os.path.join(os.path.abspath(cache), "")))


def carry_variables(environment: Mapping[str, str], home: str) -> dict[str, str]:
    """Return the variables that locate the data and that an entry must pass on, because many clients do not.

    Raises:
        CannotInstall: one of the variables contains a password.
    """
    carried: dict[str, str] = {}
    if environment.get("SATCHEL_HOME") or (sys.platform == "linux" and environment.get("XDG_DATA_HOME")):
        carried["SATCHEL_HOME"] = os.path.abspath(home)
    database = environment.get("SATCHEL_DATABASE")
    if database and "://" not in database:
        carried["SATCHEL_DATABASE"] = os.path.abspath(database)
    elif database:
        if urlsplit(database).password or "password" in dict(parse_qsl(urlsplit(database).query)):
            raise CannotInstall(
                "SATCHEL_DATABASE has a password in it, which must not be written into files of clients. Put the "
                f"address into {os.path.join(home, 'satchel.toml')} (database = …), or the password into ~/.pgpass."
            )
        carried["SATCHEL_DATABASE"] = database
    libraries = environment.get("SATCHEL_LIBRARIES")
    if libraries:
        folders = [os.path.abspath(os.path.expanduser(one)) for one in libraries.split(os.pathsep) if one]
        carried["SATCHEL_LIBRARIES"] = os.pathsep.join(folders)
    return carried


def server_url(url: str, contract: str | None, project: str | None, contracts: Sequence[str]) -> str:
    """Return the address at which a server has a contract and a project; add `/mcp` to an address without a path.

    Raises:
        CannotInstall: the address is not a server's, or contains a password.
    """
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_address = False
    if not is_address or any(character.isspace() or not character.isprintable() for character in url):
        raise CannotInstall(f"'{url}' is not an address like https://satchel.example/mcp.")
    if "@" in parts.netloc:
        raise CannotInstall("an address in a file must have no password in it. Use --token-env NAME.")
    path = parts.path if parts.path.strip("/") else "/mcp"
    if contract is not None:
        base, _, last = path.rstrip("/").rpartition("/")
        path = f"{base if last in contracts else path.rstrip('/')}/{quote(contract)}"
    query = parse_qsl(parts.query, keep_blank_values=True)
    if project is not None:
        query = [(name, value) for name, value in query if name != "project"] + [("project", project)]
    return parts._replace(path=path, query=urlencode(query), fragment="").geturl()


def is_private(url: str) -> bool:
    """Return whether traffic to an address is encrypted or does not leave this machine."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    return parts.scheme == "https" or host == "localhost" or host == "::1" or host.startswith("127.")
