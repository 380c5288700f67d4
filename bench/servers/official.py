"""The two tools on the low-level server of the official Python SDK.

python bench/servers/official.py FILE                    over stdio
python bench/servers/official.py FILE PORT [fast]        over HTTP, without sessions and with JSON answers
"""

import sys
from typing import Any

import mcp_types as types
import msgspec
from mcp.server.lowlevel import Server
from notes import DESCRIPTIONS, Notes  # type: ignore[import-not-found]

TOOLS = [types.Tool(name=name, description=text, input_schema=form) for name, (text, form) in DESCRIPTIONS.items()]


def make_server(notes: Notes) -> Server[Any]:
    """Make a server with both tools."""

    async def list_tools(ctx: object, params: object) -> types.ListToolsResult:  # noqa: ARG001
        return types.ListToolsResult(tools=TOOLS)

    async def call_tool(ctx: object, params: types.CallToolRequestParams) -> types.CallToolResult:  # noqa: ARG001
        body = notes.call(params.name, params.arguments or {})
        text = types.TextContent(type="text", text=msgspec.json.encode(body).decode())
        return types.CallToolResult(content=[text], structured_content=body)

    return Server("official", on_list_tools=list_tools, on_call_tool=call_tool)


async def serve_stdio(path: str) -> None:
    """Serve until the input ends."""
    from mcp.server.stdio import stdio_server

    server = make_server(Notes(path))
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


def serve_http(path: str, port: str, *more: str) -> None:
    """Serve until a signal. `pip install mcp` brings uvicorn without its extras; `fast` has them."""
    import uvicorn

    app = make_server(Notes(path)).streamable_http_app(json_response=True, stateless_http=True)
    loop, http = ("uvloop", "httptools") if more else ("asyncio", "h11")
    uvicorn.run(app, port=int(port), loop=loop, http=http, lifespan="on", access_log=False, log_level=40)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        serve_http(*sys.argv[1:])
    else:
        import anyio

        anyio.run(serve_stdio, sys.argv[1])
