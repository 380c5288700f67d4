"""The least that an HTTP server can be: uvicorn, a body, one look into the file, and the answer. The limit over HTTP.

python bench/servers/asgi.py FILE PORT
"""

import sys
from typing import Any

import msgspec
import uvicorn
from notes import Notes  # type: ignore[import-not-found]


def make_app(notes: Notes) -> Any:
    """Make an ASGI application that answers `tools/call`."""

    async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:  # noqa: ARG001
        message = await receive()
        request = msgspec.json.decode(message["body"])
        body = notes.call(request["params"]["name"], request["params"]["arguments"])
        content = [{"type": "text", "text": msgspec.json.encode(body).decode()}]
        result = {"content": content, "structuredContent": body, "isError": False}
        raw = msgspec.json.encode({"jsonrpc": "2.0", "id": request["id"], "result": result})
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(raw)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": raw})

    return app


if __name__ == "__main__":
    app = make_app(Notes(sys.argv[1]))
    port = int(sys.argv[2])
    uvicorn.run(app, port=port, loop="uvloop", http="httptools", lifespan="off", access_log=False, log_level=40)
