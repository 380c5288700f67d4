"""The rivals over HTTP, on Satchel's own SQLite file: the official SDK's stateless JSON server, and a bare ASGI app.

python bench/web_rivals.py sdk|bare FILE PORT
"""

import sys
from typing import Any

import apsw
import msgspec
import uvicorn

SQL = "select id, title, content, created_at, updated_at, number from prompts where id = ?"
TAGS = "select tag from prompt_tags where prompt = ? order by tag"


class Store:
    """Asks for one prompt, in the words of `get_prompt`."""

    def __init__(self, path: str) -> None:
        self._connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)

    def prompt(self, id: str) -> dict[str, Any]:
        """One prompt with its tags."""
        [[id, title, content, created_at, updated_at, number]] = self._connection.execute(SQL, (id,)).fetchall()
        tags = [tag for (tag,) in self._connection.execute(TAGS, (number,))]
        times = {"created_at": created_at, "updated_at": updated_at}
        return {"id": id, "title": title, "content": content, "tags": tags, **times}


def sdk(store: Store) -> Any:
    """The official SDK, as its documentation has it for many clients: no sessions, JSON answers."""
    import mcp_types as types
    from mcp.server.lowlevel import Server

    tool = types.Tool(
        name="get_prompt",
        description="Get a prompt",
        input_schema={"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
    )

    async def list_tools(ctx: object, params: object) -> types.ListToolsResult:  # noqa: ARG001
        return types.ListToolsResult(tools=[tool])

    async def call_tool(ctx: object, params: types.CallToolRequestParams) -> types.CallToolResult:  # noqa: ARG001
        body = store.prompt((params.arguments or {})["id"])
        text = types.TextContent(type="text", text=msgspec.json.encode(body).decode())
        return types.CallToolResult(content=[text], structured_content=body)

    server = Server("peer", on_list_tools=list_tools, on_call_tool=call_tool)
    return server.streamable_http_app(json_response=True, stateless_http=True)


def bare(store: Store) -> Any:
    """What cannot be left out: reading the body, one look into the file, and the same answer."""

    async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:  # noqa: ARG001
        message = await receive()
        asked = msgspec.json.decode(message["body"])
        body = store.prompt(asked["params"]["arguments"]["id"])
        content = [{"type": "text", "text": msgspec.json.encode(body).decode()}]
        result = {"content": content, "structuredContent": body, "isError": False}
        raw = msgspec.json.encode({"jsonrpc": "2.0", "id": asked["id"], "result": result})
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(raw)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": raw})

    return app


if __name__ == "__main__":
    rival, path, port = sys.argv[1:]
    app = {"sdk": sdk, "sdk-fast": sdk, "bare": bare}[rival](Store(path))
    lifespan = "off" if rival == "bare" else "on"
    # What `pip install mcp` brings is uvicorn without its extras; `-fast` has them.
    loop, http = ("asyncio", "h11") if rival == "sdk" else ("uvloop", "httptools")
    uvicorn.run(app, port=int(port), loop=loop, http=http, lifespan=lifespan, access_log=False, log_level=40)
