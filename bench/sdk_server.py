"""The peer: the official Python SDK's low-level server with two tools on a SQLite file."""

import sqlite3
import sys

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

ADD = {
    "type": "object",
    "properties": {"title": {"type": "string"}, "content": {"type": "string"}},
    "required": ["title", "content"],
}
GET = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}


async def list_tools(ctx: object, params: object) -> types.ListToolsResult:  # noqa: ARG001
    """Both tools."""
    add = types.Tool(name="add", description="Add a note", input_schema=ADD)
    get = types.Tool(name="get", description="Get a note", input_schema=GET)
    return types.ListToolsResult(tools=[add, get])


async def main(path: str) -> None:
    """Serve until the input ends."""
    connection = sqlite3.connect(path)
    connection.execute("create table if not exists notes (number integer primary key, title text, content text)")

    async def call_tool(ctx: object, params: types.CallToolRequestParams) -> types.CallToolResult:  # noqa: ARG001
        told = params.arguments or {}
        if params.name == "add":
            with connection:
                sql = "insert into notes (title, content) values (?, ?)"
                text = str(connection.execute(sql, (told["title"], told["content"])).lastrowid)
        else:
            sql = "select content from notes where number = ?"
            text = connection.execute(sql, (told["number"],)).fetchone()[0]
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

    server = Server("peer", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main, sys.argv[1])
