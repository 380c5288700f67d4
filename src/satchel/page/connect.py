"""Instructions for connecting clients to this server, from the table that `satchel install` uses."""

from msgspec import Struct

from satchel.clients.changes import write_snippet
from satchel.clients.entries import Remote
from satchel.clients.table import CLIENTS, Client
from satchel.page.visit import Answer, Shown, Visit

_NAME = "satchel"  # the name of the entry
_VARIABLE = "SATCHEL_TOKEN"  # the environment variable from which a client reads its token
_CONFIG = "the settings folder (~/.config, on macOS ~/Library/Application Support)"


class ClientSetup(Struct, frozen=True, kw_only=True):
    """Instructions for one client."""

    client: Client
    command: str  # does everything, if Satchel is installed beside the client
    file: str = ""
    lines: str = ""  # the lines for that file; empty if the client takes no address in a file
    note: str = ""


def show(visit: Visit) -> Answer:
    """Show the instructions for each client, with the address of this server."""
    url = f"{visit.server.url}/mcp"
    variable = _VARIABLE if visit.server.auth != "none" else ""
    connections = [describe(client, url, variable) for client in CLIENTS]
    return Shown("connect.html", {"connections": connections, "url": url, "variable": variable})


def describe(client: Client, url: str, variable: str) -> ClientSetup:
    """Return the instructions for a client and an address; a named environment variable supplies the token."""
    if client.remote is None:
        note = f"It takes addresses in its settings, under Connectors: add {url} there."
        return ClientSetup(client=client, command="", note=note)
    note, read = "", variable
    if variable and not client.variable:
        note, read = 'It reads no token from the environment: add "Authorization": "Bearer TOKEN" to its "headers".', ""
    option = f" --token-env {read}" if read else ""
    return ClientSetup(
        client=client,
        command=f"satchel install {client.name} --url {url}{option}",
        file=_find_file(client),
        lines=write_snippet(client, _NAME, Remote(url, read)).rstrip(),
        note=note,
    )


def _find_file(client: Client) -> str:
    """Return the usual path of a client's settings, for readers on any platform."""
    path = next(path for path in client.user_files[""] if not path.startswith("$"))
    return path.replace("%config%/", "") + (f" in {_CONFIG}" if path.startswith("%config%") else "")
