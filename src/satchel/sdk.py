"""Satchel as a server of the official MCP SDK, for teams that run or mount it in a program of their own.

    server = create_server("tasks", database="satchel.db")

Needs the extra `satchel[sdk]`. See docs/teams/embedding.md.
"""

from collections.abc import Sequence
from typing import Any

from satchel.app import load_settings
from satchel.app.startup import CannotStart
from satchel.config import SettingsError
from satchel.extras import install_command

try:
    from mcp.server import Server

    from satchel.app import sdk
except ImportError as error:
    if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
        raise
    raise ImportError(f"satchel.sdk needs the official MCP SDK. Install it with: {install_command('sdk')}") from error

__all__ = ["CannotStart", "SettingsError", "create_server"]


def create_server(
    contract: str | None = None,
    *,
    database: str | None = None,
    project: str | None = None,
    libraries: Sequence[str] = (),
    user: str | None = None,
    toolsets: Sequence[str] = (),
    read_only: bool = False,
) -> Server[Any]:
    """Create a low-level server of the official SDK with the tools, prompts and resources of a contract.

    The arguments are the options of `satchel serve`; omitted ones come from the environment and `satchel.toml`, as
    for the command over stdio. The store is open from the first lifespan of the server to the end of the last one;
    a lifespan raises CannotStart if the store cannot be used.

    Raises:
        SettingsError: a setting has an invalid value.
    """
    settings = load_settings(
        transport="stdio",
        contract=contract,
        database=database,
        project=project,
        libraries=libraries,
        user=user,
        toolsets=toolsets,
        read_only=read_only,
    )
    return sdk.create_server(settings)
