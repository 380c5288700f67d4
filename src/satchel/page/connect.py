"""How clients connect to this server: the exact lines for each."""

import shlex

import msgspec

from satchel.page.visit import Answer, Shown, Visit


def show(visit: Visit) -> Answer:
    """The lines for each client, with the address of this server."""
    url = f"{visit.server.url}/mcp"
    has_token = visit.server.auth != "none"
    header = ' --header "Authorization: Bearer $SATCHEL_TOKEN"' if has_token else ""
    entry: dict[str, object] = {"type": "http", "url": url}
    if has_token:
        entry["headers"] = {"Authorization": "Bearer ${env:SATCHEL_TOKEN}"}
    as_json = msgspec.json.format(msgspec.json.encode({"mcpServers": {"satchel": entry}}), indent=2).decode()
    code = msgspec.json.encode({"name": "satchel", **entry}).decode()
    codex = f'[mcp_servers.satchel]\nurl = "{url}"' + ('\nbearer_token_env_var = "SATCHEL_TOKEN"' if has_token else "")
    lines = (
        ("Claude Code", f"claude mcp add --transport http --scope user satchel {url}{header}", "in a terminal"),
        ("VS Code", f"code --add-mcp {shlex.quote(code)}", "in a terminal"),
        ("Cursor", as_json, "in ~/.cursor/mcp.json"),
        ("Codex", codex, "in ~/.codex/config.toml"),
        ("Gemini CLI", f"gemini mcp add --transport http --scope user satchel {url}", "in a terminal"),
    )
    return Shown("connect.html", {"lines": lines, "url": url, "has_token": has_token})
