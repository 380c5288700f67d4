"""The two tools on fastmcp, as its documentation writes tools: functions with types.

python bench/servers/fast.py FILE          over stdio
python bench/servers/fast.py FILE PORT     over HTTP, without sessions and with JSON answers
"""

import sys
from typing import Any

from fastmcp import FastMCP
from notes import Notes  # type: ignore[import-not-found]

server = FastMCP("fast")
notes = Notes(sys.argv[1])


@server.tool
def add_prompt(title: str, content: str, tags: list[str] | None = None) -> dict[str, Any]:
    """Add a prompt"""
    added: dict[str, Any] = notes.add(title, content, tags)
    return added


@server.tool
def get_prompt(id: str) -> dict[str, Any]:
    """Get a prompt"""
    found: dict[str, Any] = notes.get(id)
    return found


if __name__ == "__main__":
    if len(sys.argv) > 2:
        import uvicorn

        app = server.http_app(path="/mcp", json_response=True, stateless_http=True)
        uvicorn.run(app, port=int(sys.argv[2]), access_log=False, log_level=40)
    else:
        server.run(show_banner=False)
