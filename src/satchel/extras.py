"""The command that adds an extra to this copy of Satchel, by means of the tool that installed it."""

import json
import os
import shlex
import sys
from urllib.parse import unquote

_EXTRAS = {"psycopg": "postgres", "prometheus_client": "metrics", "mcp": "sdk", "mcp_types": "sdk"}  # by module


def find_extra(error: ImportError) -> str | None:
    """Return the extra whose module is missing; None for any other module."""
    return _EXTRAS.get((error.name or "").partition(".")[0])


def install_command(extra: str) -> str:
    """Return the command that installs Satchel with an extra: by uv, pipx or pip, or from its checkout."""
    from importlib.metadata import PackageNotFoundError, distribution  # 20 ms, and only after an error

    try:
        origin = json.loads(distribution("satchel").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:
        origin = {}
    url = origin.get("url", "")
    if origin.get("dir_info", {}).get("editable"):
        folder = unquote(url.removeprefix("file://"))
        return f"{_pip()} -e {shlex.quote(f'{folder}[{extra}]')}"
    version_control = origin.get("vcs_info", {}).get("vcs")
    source = f"{version_control}+{url}" if version_control else url
    requirement = shlex.quote(f"satchel[{extra}]{f' @ {source}' if source else ''}")
    if os.path.exists(os.path.join(sys.prefix, "uv-receipt.toml")):
        return f"uv tool install --force {requirement}"
    if os.path.exists(os.path.join(sys.prefix, "pipx_metadata.json")):
        return f"pipx install --force {requirement}"
    return f"{_pip()} {requirement}"


def _pip() -> str:
    """Return the command by which this environment's pip installs, or uv if there is no pip."""
    from importlib.util import find_spec

    python = shlex.quote(sys.executable)
    return f"{python} -m pip install" if find_spec("pip") else f"uv pip install --python {python}"
