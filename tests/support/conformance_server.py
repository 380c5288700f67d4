"""A contract with the tools, prompts and resources that the official conformance suite calls.

Run as `python -m tests.support.conformance_server --transport http --port 0 …`, with the options of `satchel serve`.
Only the table is made for the suite; guard, endpoint, protocol, runner and store are the real ones.
"""

import base64
import json
import re
import struct
import sys
import time
import zlib
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from satchel.contracts import CONTRACTS
from satchel.contracts.contract import Context, Contract, Method, Reply, Result, Tool
from satchel.errors import Refused
from satchel.model import PromptDraft, Scope, StoreChange
from satchel.protocol import INVALID_PARAMS, ClientChange, ProtocolError
from satchel.services import prompts as stored

NAME = "conformance"

# -- inputs -----------------------------------------------------------------------------------------------------


class Nothing(Struct):
    pass


class Regional(Struct):
    region: Annotated[str, Meta(extra_json_schema={"x-mcp-header": "Region"})]
    amount: Annotated[int, Meta(extra_json_schema={"x-mcp-header": "Amount"})] = 0
    is_dry: Annotated[bool, Meta(extra_json_schema={"x-mcp-header": "Dry-Run"})] = False


class Contact(Struct):
    name: str | UnsetType = UNSET
    address: Annotated[dict[str, str], Meta(extra_json_schema={"$ref": "#/$defs/address"})] | UnsetType = UNSET
    contactMethod: Literal["phone", "email"] | UnsetType = UNSET  # noqa: N815
    phone: str | UnsetType = UNSET
    email: str | UnsetType = UNSET


_WORDS = {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}
CONTACT_KEYWORDS = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$defs": {"address": {"$anchor": "addressDef", **_WORDS}},
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


# -- tools ------------------------------------------------------------------------------------------------------


def simple_text(_context: Context, _: Nothing) -> str:
    return "This is a simple text response for testing."


def image_content(_context: Context, _: Nothing) -> Reply:
    return Reply([IMAGE])


def audio_content(_context: Context, _: Nothing) -> Reply:
    return Reply([{"type": "audio", "data": encoded(SOUND), "mimeType": "audio/wav"}])


def embedded_resource(_context: Context, _: Nothing) -> Reply:
    return Reply([embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")])


def multiple_content_types(_context: Context, _: Nothing) -> Reply:
    data = json.dumps({"test": "data", "value": 123})
    resource = embedded("test://mixed-content-resource", "application/json", data)
    return Reply([text("Multiple content types test:"), IMAGE, resource])


def error_handling(_context: Context, _: Nothing) -> str:
    raise Refused("on purpose")


def with_progress(context: Context, _: Nothing) -> str:
    for progress in (0, 50, 100):
        context.report(progress, 100, None)
        time.sleep(0.05)
    return "Done."


def silent(_context: Context, _: Nothing) -> str:
    """Answer a call without a log message and without a request from the server; the suite checks both."""
    return "Nothing was asked of the client, and nothing logged."


def trigger_prompt_change(context: Context, _: Nothing) -> str:
    draft = PromptDraft(title=f"Change {context.tx.new_id()}", content="Something else is stored now.")
    stored.add(context.tx, context.scope, draft)
    return "Changed."


def echo_headers(_context: Context, args: Regional) -> str:
    return args.region


# -- methods ----------------------------------------------------------------------------------------------------


def list_tools(_context: Context, _params: dict[str, Any]) -> Result:
    """Answer tools/list as the runner would, with keywords of JSON Schema 2020-12 that our own contracts never use."""
    entries = [CONTRACT.describe_tool(tool) for tool in CONTRACT.tools]
    for entry in entries:
        if entry["name"] == "json_schema_2020_12_tool":
            entry["inputSchema"] |= CONTACT_KEYWORDS
    return {"tools": entries}


def list_prompts(_context: Context, _params: dict[str, Any]) -> Result:
    return {"prompts": PROMPTS}


def get_prompt(_context: Context, params: dict[str, Any]) -> Result:
    name, given = params["name"], params["arguments"]
    if name == "test_simple_prompt":
        contents = [text("This is a simple prompt for testing.")]
    elif name == "test_prompt_with_arguments":
        contents = [text(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")]
    elif name == "test_prompt_with_embedded_resource":
        resource = embedded(given["resourceUri"], "text/plain", "Embedded resource content for testing.")
        contents = [resource, text("Please process the embedded resource above.")]
    elif name == "test_prompt_with_image":
        contents = [IMAGE, text("Please analyze the image above.")]
    else:
        raise ProtocolError(INVALID_PARAMS, f"Unknown prompt: {name}")
    return {"messages": [{"role": "user", "content": content} for content in contents]}


def list_resources(_context: Context, _params: dict[str, Any]) -> Result:
    return {"resources": RESOURCES}


def list_templates(_context: Context, _params: dict[str, Any]) -> Result:
    return {"resourceTemplates": TEMPLATES}


def read_resource(_context: Context, params: dict[str, Any]) -> Result:
    uri = params["uri"]
    filled = re.fullmatch(r"test://template/([^/]+)/data", uri)
    if uri in ("test://static-text", "test://watched-resource"):
        body = {"mimeType": "text/plain", "text": "This is the content of the static text resource."}
    elif uri == "test://static-binary":
        body = {"mimeType": "image/png", "blob": encoded(PIXEL)}
    elif filled:
        data = {"id": filled[1], "templateTest": True, "data": f"Data for ID: {filled[1]}"}
        body = {"mimeType": "application/json", "text": json.dumps(data)}
    else:
        raise ProtocolError(INVALID_PARAMS, "Resource not found", {"uri": uri})
    return {"contents": [{"uri": uri, **body}]}


def complete(_context: Context, params: dict[str, Any]) -> Result:
    known = ("paris", "park", "party", "test")
    values = [value for value in known if value.startswith(params["argument"]["value"])]
    return {"completion": {"values": values, "total": len(values), "hasMore": False}}


# -- shapes -----------------------------------------------------------------------------------------------------


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def embedded(uri: str, mime_type: str, words: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": words}}


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


PIXEL = (  # a single red pixel
    b"\x89PNG\r\n\x1a\n"
    + _chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    + _chunk(b"IDAT", zlib.compress(b"\x00\xff\x00\x00"))
    + _chunk(b"IEND", b"")
)
SOUND = (
    b"RIFF"
    + struct.pack("<I", 36)
    + b"WAVEfmt "
    + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 8000, 1, 8)
    + b"data\0\0\0\0"
)
IMAGE = {"type": "image", "data": encoded(PIXEL), "mimeType": "image/png"}

PROMPTS = [
    {"name": "test_simple_prompt", "description": "A prompt without arguments"},
    {
        "name": "test_prompt_with_arguments",
        "description": "A prompt with two arguments",
        "arguments": [
            {"name": "arg1", "description": "First test argument", "required": True},
            {"name": "arg2", "description": "Second test argument", "required": True},
        ],
    },
    {
        "name": "test_prompt_with_embedded_resource",
        "description": "A prompt that carries a resource",
        "arguments": [{"name": "resourceUri", "description": "URI of the resource to embed", "required": True}],
    },
    {"name": "test_prompt_with_image", "description": "A prompt that carries an image"},
]
RESOURCES = [
    {"uri": f"test://{name}", "name": name, "description": description, "mimeType": mime_type}
    for name, description, mime_type in (
        ("static-text", "A text", "text/plain"),
        ("static-binary", "An image", "image/png"),
        ("watched-resource", "A text to subscribe to", "text/plain"),
    )
]
TEMPLATES = [
    {
        "uriTemplate": "test://template/{id}/data",
        "name": "template",
        "description": "Data of an id",
        "mimeType": "application/json",
    }
]


def translate_change(change: StoreChange, _scope: Scope) -> list[ClientChange]:
    return [ClientChange("prompts")] if change.what == "prompts" else []


def _tool(name: str, run: Any, *, writes: bool = False, input: type[Struct] = Nothing) -> Tool:
    return Tool(
        name, f"For the scenarios of the suite that call {name}", input, run, transaction="write" if writes else "read"
    )


CONTRACT = Contract(
    name=NAME,
    server_name=NAME,
    capabilities={
        "tools": {"listChanged": False},
        "prompts": {"listChanged": True},
        "resources": {"subscribe": True, "listChanged": True},
        "completions": {},
    },
    tools=(
        _tool("test_simple_text", simple_text),
        _tool("test_image_content", image_content),
        _tool("test_audio_content", audio_content),
        _tool("test_embedded_resource", embedded_resource),
        _tool("test_multiple_content_types", multiple_content_types),
        _tool("test_error_handling", error_handling),
        _tool("test_tool_with_progress", with_progress),
        _tool("test_streaming_elicitation", silent),
        _tool("test_logging_tool", silent),
        _tool("test_trigger_prompt_change", trigger_prompt_change, writes=True),
        _tool("test_custom_headers", echo_headers, input=Regional),
        _tool("json_schema_2020_12_tool", silent, input=Contact),
    ),
    methods={
        "tools/list": Method(list_tools),
        "prompts/list": Method(list_prompts),
        "prompts/get": Method(get_prompt),
        "resources/list": Method(list_resources),
        "resources/templates/list": Method(list_templates),
        "resources/read": Method(read_resource),
        "completion/complete": Method(complete),
    },
    failures={Exception: lambda _: "This tool intentionally returns an error for testing"},
    translate_change=translate_change,
)


if __name__ == "__main__":
    from satchel.cli import serve

    CONTRACTS[NAME] = "tests.support.conformance_server"
    sys.exit(serve.run(["--contract", NAME, *sys.argv[1:]]))
