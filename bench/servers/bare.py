"""The least that a stdio server on SQLite can be: msgspec, apsw and a loop, without any check. The limit.

python bench/servers/bare.py FILE
"""

import sys
from typing import Any

import msgspec
from notes import DESCRIPTIONS, Notes  # type: ignore[import-not-found]

INITIALIZED: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "bare", "version": "0"},
}
TOOLS = [{"name": name, "description": text, "inputSchema": form} for name, (text, form) in DESCRIPTIONS.items()]


def main(path: str) -> None:
    """Answer `initialize`, `tools/list` and `tools/call` until the input ends."""
    notes = Notes(path)
    for line in sys.stdin.buffer:
        request = msgspec.json.decode(line)
        if "id" not in request:
            continue
        result: dict[str, Any] = INITIALIZED
        if request["method"] == "tools/call":
            body = notes.call(request["params"]["name"], request["params"]["arguments"])
            text = msgspec.json.encode(body).decode()
            result = {"content": [{"type": "text", "text": text}], "structuredContent": body, "isError": False}
        elif request["method"] == "tools/list":
            result = {"tools": TOOLS}
        sys.stdout.buffer.write(msgspec.json.encode({"jsonrpc": "2.0", "id": request["id"], "result": result}) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(sys.argv[1])
