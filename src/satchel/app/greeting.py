"""The greeting of a server over HTTP: lines to copy for connecting clients."""

import json
import shlex
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

PLACEHOLDER = "TOKEN"  # stands for the secret that `satchel token create` prints


def write_greeting(
    *,
    contract: str,
    others: Sequence[str],
    url: str,
    project: str | None,
    has_page: bool,
    needs_token: bool,
) -> str:
    """Return the greeting of a server; `project` is the folder's project, or None for the server's default."""
    address = f"{url}/mcp" + (f"?project={quote(project, safe='')}" if project else "")
    header = f"Authorization: Bearer {PLACEHOLDER}"
    install = f"satchel install CLIENT --url {url}/mcp" + (f" --project {shlex.quote(project)}" if project else "")
    claude = f"claude mcp add --transport http --scope user satchel '{address}'"
    entry: dict[str, Any] = {"url": address}
    curl = f"curl {url}/health"
    if needs_token:
        install += " --token-env SATCHEL_TOKEN"
        claude += f' --header "{header}"'
        entry["headers"] = {"Authorization": f"Bearer {PLACEHOLDER}"}
    code = json.dumps({"name": "satchel", "type": "http", **entry}, separators=(",", ":"))
    lines = [
        f"serving {contract} at {address} (others at {url}/mcp/NAME: {', '.join(others)})",
        *([f"  For people    open {url}/ in a browser"] if has_page else []),
        *([f"  Token         satchel token create, for {PLACEHOLDER} below"] if needs_token else []),
        f"  Any client    {install}",
        f"  Claude Code   {claude}",
        f"  VS Code       code --add-mcp '{code}'",
        f'  Cursor        "satchel": {json.dumps(entry)} in ~/.cursor/mcp.json',
        f"  curl          {curl}",
        "Stop with Ctrl-C.",
    ]
    return "\n".join(lines)
