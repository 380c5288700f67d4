"""The mcpkg contract to the letter: each printed request is sent over real stdio, each reply compared whole.

mcpkg.json beside this file has the messages of the document, and changes only with it.
"""

import base64
import json
import random
from collections import OrderedDict
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from satchel import __version__
from satchel.model import PromptDraft, Scope
from satchel.services import projects, prompts
from satchel.storage.database import Database
from tests.support.stdio import NEWEST, OLDEST, Server, plain

IN_ORDER = partial(json.loads, object_pairs_hook=OrderedDict)  # objects whose order of keys counts in comparisons
PRINTED = IN_ORDER((Path(__file__).parent / "mcpkg.json").read_text())
PROJECT = "auth-module"
UNSTORABLE = "contains NUL or half a character"
NOT_BASE64 = "Error: Content is not valid base64, which MIME type 'image/png' needs"


def printed(section: str, label: str) -> Any:
    """Return a message of the document, by its heading and its label."""
    [message] = [one["message"] for one in PRINTED if section in one["section"] and one["label"] == label]
    return deepcopy(message)


@pytest.fixture
def project(store: str, database: Database) -> str:
    """Return a store with the project of the document."""
    with database.write() as tx:
        projects.add(tx, PROJECT)
    return store


@pytest.fixture
def client(project: str, serve: Callable[..., Server]) -> Server:
    return serve("mcpkg", project, OLDEST, "--project", PROJECT)


@pytest.fixture
def newest(project: str, serve: Callable[..., Server]) -> Server:
    return serve("mcpkg", project, NEWEST, "--project", PROJECT)


def send(client: Server, message: dict[str, Any]) -> Any:
    """Send a printed request unchanged, and return the whole reply."""
    client.methods[message["id"]] = (message["method"], OLDEST)
    client.send(message)
    return IN_ORDER(json.dumps(client.read()))


def text(client: Server, tool: str, **arguments: Any) -> str:
    """Return the text of a tool's answer, after checking everything around it."""
    result = client.call(tool, arguments)
    [content] = result["content"]
    said: str = content["text"]
    assert result == {"content": [{"type": "text", "text": said}], "isError": said.startswith("Error: ")}
    return said


# -- the document ------------------------------------------------------------------------------------------------


def test_the_printed_handshake(project: str, serve: Callable[..., Server]) -> None:
    server = serve("mcpkg", project, NEWEST, "--project", PROJECT)
    server.revision = OLDEST
    reply = printed("initialize", "Response")
    reply["result"]["serverInfo"]["version"] = __version__
    assert send(server, printed("initialize", "Request")) == reply


def test_the_printed_prompts(client: Server) -> None:
    first = printed("prompts/get", "Response")["result"]
    content = first["messages"][0]["content"]["text"]
    assert send(client, printed("prompts/get", "Request")) == printed(
        "prompts/get", "Error Response (prompt not found)"
    )
    text(client, "create_prompt", name="code-review", content=content, description=first["description"])
    second = printed("prompts/list", "Response")["result"]["prompts"][1]
    text(client, "create_prompt", name=second["name"], content="Guide", description=second["description"])
    assert send(client, printed("prompts/list", "Request")) == printed("prompts/list", "Response")
    assert send(client, printed("prompts/get", "Request")) == printed("prompts/get", "Response")


def test_the_printed_resources(client: Server) -> None:
    request = printed("resources/read", "Request")
    assert send(client, request) == printed("resources/read", "Error Response (resource not found)")
    # Instead of the example's display names, a resource's listed name is its identifier.
    listed = printed("resources/list", "Response")
    reply = printed("resources/read", "Response (text content)")
    contents = ("# API Documentation\n\n## Authentication\n\n...", "create table t (x)")
    assert reply["result"]["contents"][0]["text"] == contents[0]
    for entry, name, content in zip(listed["result"]["resources"], ("api-docs", "schema"), contents, strict=True):
        entry["name"] = name
        text(
            client,
            "create_resource",
            name=name,
            uri=entry["uri"],
            content=content,
            mime_type=entry["mimeType"],
            description=entry["description"],
        )
    assert send(client, printed("resources/list", "Request")) == listed
    assert send(client, request) == reply


def test_the_printed_binary_resource(client: Server) -> None:
    reply = printed("resources/read", "Response (binary content)")
    [entry] = reply["result"]["contents"]
    blob = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256))).decode()
    assert entry["blob"].startswith(blob[:11])
    text(client, "create_resource", name="image", uri=entry["uri"], content=blob, mime_type=entry["mimeType"])
    request = printed("resources/read", "Request")
    request["params"]["uri"] = entry["uri"]
    entry["blob"] = blob
    assert send(client, request) == reply


def test_the_printed_tools(client: Server) -> None:
    assert send(client, printed("tools/list", "Request")) == printed("tools/list", "Response")


def test_the_printed_tool_calls_on_prompts(client: Server) -> None:
    create, update, delete = (printed(f"{verb} Prompt", "Request") for verb in ("Create", "Update", "Delete"))
    assert send(client, update) == printed("Update Prompt", "Error Response (prompt not found)")
    assert send(client, create) == printed("Create Prompt", "Success Response")
    assert send(client, create) == printed("Create Prompt", "Error Response (duplicate prompt)")
    assert send(client, update) == printed("Update Prompt", "Success Response")
    assert send(client, delete) == printed("Delete Prompt", "Success Response")
    create["params"]["arguments"]["name"] = "test prompt"
    assert send(client, create) == printed("Create Prompt", "Error Response (invalid name)")


def test_the_printed_tool_calls_on_resources(client: Server) -> None:
    for verb in ("Create", "Update", "Delete"):
        assert send(client, printed(f"{verb} Resource", "Request")) == printed(f"{verb} Resource", "Success Response")


def test_every_printed_message_is_used_by_a_test_here() -> None:
    source = Path(__file__).read_text()
    for one in PRINTED:
        assert one["label"] in source


def test_the_error_table(client: Server) -> None:
    client.send_line(b"{nope")
    assert client.read() == {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}}
    client.send({"jsonrpc": "2.0", "id": 1, "method": "prompts/list", "params": []})
    assert client.read()["error"]["code"] == -32600
    for method in ("nope", "completion/complete", "resources/subscribe", "logging/setLevel"):
        assert client.request(method, {})["error"] == {"code": -32601, "message": "Method not found"}
    assert client.request("prompts/get", {})["error"]["code"] == -32602


# -- beyond the document ----------------------------------------------------------------------------------------


def test_lists_are_whole_and_in_order_of_creation(newest: Server) -> None:
    names = [f"n{number}" for number in range(120)]
    random.Random(5).shuffle(names)
    for name in names:
        text(newest, "create_prompt", name=name, content="x")
        text(newest, "create_resource", name=name, uri=f"x:{name}", content="x")
    text(newest, "update_prompt", name=names[50], content="y")
    assert [prompt["name"] for prompt in newest.request("prompts/list")["result"]["prompts"]] == names
    assert newest.request("prompts/list")["result"]["prompts"][0] == {"name": names[0]}
    listed = newest.request("resources/list")["result"]["resources"]
    assert listed == [{"uri": f"x:{name}", "name": name, "mimeType": "text/plain"} for name in names]
    for method in ("prompts/list", "resources/list", "tools/list"):
        assert newest.request(method, {"cursor": "x"})["error"]["code"] == -32602
        assert "result" in newest.request(method, {"cursor": None})


def test_prompts_are_literal(newest: Server) -> None:
    content = "{{ braces }} {% tags %} {# notes #} {{{{ %s $x ${y} \\n\n"
    text(newest, "create_prompt", name="literal", content=content)
    result = plain(newest.request("prompts/get", {"name": "literal", "arguments": {"braces": "filled"}})["result"])
    assert result == {"messages": [{"role": "user", "content": {"type": "text", "text": content}}]}


def nothing_is_there(client: Server) -> bool:
    return (
        client.request("prompts/list")["result"]["prompts"] == []
        and client.request("resources/list")["result"]["resources"] == []
    )


def test_wrong_arguments_are_said_in_the_contracts_words_and_leave_nothing(newest: Server) -> None:
    long = "n" * 256
    limit = 4 * 1024 * 1024
    for tool, arguments, said in (
        ("create_prompt", {}, "Missing required argument: name"),
        ("create_prompt", {"name": 5}, "Missing required argument: content"),
        ("create_prompt", {"name": 5, "content": "x"}, "Invalid argument 'name': must be a string"),
        ("create_prompt", {"name": None, "content": "x"}, "Invalid argument 'name': must be a string"),
        ("create_prompt", {"name": "a\0", "content": "x"}, f"Invalid argument 'name': {UNSTORABLE}"),
        ("create_prompt", {"name": "a", "content": "\ud800"}, f"Invalid argument 'content': {UNSTORABLE}"),
        ("create_prompt", {"name": "", "content": 5}, "Invalid argument 'content': must be a string"),
        (
            "create_prompt",
            {"name": "a", "content": "x", "description": 5},
            "Invalid argument 'description': must be a string",
        ),
        ("create_prompt", {"name": "", "content": ""}, "Prompt name must be 1-255 characters"),
        ("create_prompt", {"name": long, "content": "x"}, "Prompt name must be 1-255 characters"),
        ("create_prompt", {"name": "a", "content": ""}, "Prompt content must not be empty"),
        ("create_prompt", {"name": "a", "content": "é" * (limit // 2) + "x"}, f"Content must be at most {limit} bytes"),
        (
            "create_prompt",
            {"name": "a", "content": "x", "description": "d" * 10_001},
            "Description must be at most 10000 characters",
        ),
        ("create_resource", {"name": "a", "content": "x"}, "Missing required argument: uri"),
        (
            "create_resource",
            {"name": "a", "uri": "x:y", "content": "x", "description": "d" * 10_001},
            "Description must be at most 10000 characters",
        ),
        ("create_resource", {"name": long, "uri": "x:y", "content": "x"}, "Resource name must be 1-255 characters"),
        ("create_resource", {"name": "", "uri": "x:y", "content": "x"}, "Resource name must be 1-255 characters"),
        ("create_resource", {"name": "a", "uri": "docs/api.md", "content": "x"}, "Invalid URI 'docs/api.md'"),
        ("create_resource", {"name": "a", "uri": "x:a b", "content": "x"}, "Invalid URI 'x:a b'"),
        ("create_resource", {"name": "a", "uri": "x:y", "content": "x", "mime_type": "png"}, "Invalid MIME type 'png'"),
        ("create_resource", {"name": "a", "uri": "x:y", "content": "x", "mime_type": ""}, "Invalid MIME type ''"),
    ):
        assert text(newest, tool, **arguments) == f"Error: {said}", arguments
    for bad in ("QUJD=", "QUJD====", "QR==", "aGk", "aGk=$$$", "aGk_", "====", "é"):
        said = text(newest, "create_resource", name="a", uri="x:y", content=bad, mime_type="image/png")
        assert said == NOT_BASE64, bad
    big = base64.b64encode(b"x" * (limit + 1)).decode()
    said = text(newest, "create_resource", name="a", uri="x:y", content=big, mime_type="image/png")
    assert said == f"Error: Content must be at most {limit} bytes"
    for name in ("a b", "name\n", "\n", "ä", "a/b", "a:b", "a\u2029"):
        for kind, more in (("prompt", {}), ("resource", {"uri": "x:y"})):
            said = newest.call(f"create_{kind}", name=name, content="x", **more)["content"][0]["text"]
            kind = kind.capitalize()
            allowed = "contains invalid characters. Allowed: a-z, A-Z, 0-9, -, _, ."
            assert said == f"Error: {kind} name '{name}' {allowed}"
    assert nothing_is_there(newest)


def test_updates_change_what_is_given(newest: Server) -> None:
    text(newest, "create_prompt", name="p", content="one", description="first")

    def prompt() -> Any:
        return plain(newest.request("prompts/get", {"name": "p"})["result"])

    text(newest, "update_prompt", name="p", content="two")
    assert (prompt()["messages"][0]["content"]["text"], prompt()["description"]) == ("two", "first")
    text(newest, "update_prompt", name="p", description="second", content=None)
    assert (prompt()["messages"][0]["content"]["text"], prompt()["description"]) == ("two", "second")
    text(newest, "update_prompt", name="p", description="")
    assert "description" not in prompt()
    nothing = "Error: Nothing to update: give content or description"
    assert text(newest, "update_prompt", name="p") == nothing
    assert text(newest, "update_prompt", name="no-such") == nothing
    assert text(newest, "update_prompt", name="p", content="") == "Error: Prompt content must not be empty"
    missing = f"Error: Prompt 'no-such' does not exist in project '{PROJECT}'"
    assert text(newest, "update_prompt", name="no-such", content="x") == missing
    assert text(newest, "delete_prompt", name="no-such") == missing


def test_updates_of_resources_keep_text_and_bytes_apart(newest: Server) -> None:
    text(newest, "create_resource", name="r", uri="x:r", content="one", description="first")

    def read() -> Any:
        [entry] = newest.request("resources/read", {"uri": "x:r"})["result"]["contents"]
        return {key: value for key, value in entry.items() if key != "uri"}

    nothing = "Error: Nothing to update: give content, mime_type or description"
    assert text(newest, "update_resource", name="r") == nothing
    text(newest, "update_resource", name="r", mime_type="text/markdown; charset=utf-8")
    assert read() == {"mimeType": "text/markdown; charset=utf-8", "text": "one"}
    border = "Error: Changing the MIME type from text to binary needs new content"
    assert text(newest, "update_resource", name="r", mime_type="image/png") == border
    assert text(newest, "update_resource", name="r", mime_type="image/png", content="?") == NOT_BASE64
    assert read() == {"mimeType": "text/markdown; charset=utf-8", "text": "one"}
    text(newest, "update_resource", name="r", mime_type="image/png", content="aGk=")
    assert read() == {"mimeType": "image/png", "blob": "aGk="}
    assert text(newest, "update_resource", name="r", content="plain text") == NOT_BASE64
    text(newest, "update_resource", name="r", content="")
    assert read() == {"mimeType": "image/png", "blob": ""}
    border = "Error: Changing the MIME type from binary to text needs new content"
    assert text(newest, "update_resource", name="r", mime_type="application/json") == border
    text(newest, "update_resource", name="r", mime_type="image/svg+xml", content="<svg/>")
    assert read() == {"mimeType": "image/svg+xml", "text": "<svg/>"}
    text(newest, "update_resource", name="r", description="")
    assert "description" not in newest.request("resources/list")["result"]["resources"][0]
    missing = f"Error: Resource 'no-such' does not exist in project '{PROJECT}'"
    assert text(newest, "update_resource", name="no-such", content="x") == missing
    said = text(newest, "update_resource", name="no-such", content="!", mime_type="image/png")
    assert said == NOT_BASE64
    assert text(newest, "delete_resource", name="no-such") == missing


def test_text_types_are_text_and_all_others_base64(newest: Server) -> None:
    texts = (
        *("text/plain", "text/x-anything", "application/json", "application/xml", "application/sql", "TEXT/HTML"),
        *("application/javascript", "application/typescript", "application/yaml", "application/toml"),
        *("application/graphql", "application/ld+json", "image/svg+xml", "application/x+yaml", "application/json; a=b"),
        *("message/rfc822", "application/json5", "application/jsonl", "application/ndjson", "application/x-ndjson"),
        *("application/json-seq", "application/ecmascript", "application/rtf", "application/x-sh", "application/sh"),
        *("application/x-shellscript", "application/x-python", "application/x-ruby", "application/x-perl"),
        *("application/x-php", "application/x-httpd-php", "application/x-lua", "application/x-tex"),
        *("application/x-latex", "application/x-subrip", "application/x-www-form-urlencoded", "application/x-yaml"),
        *("application/xhtml", "application/xhtml+xml", "application/x-javascript", "Application/X-Python ;q=1"),
        *("application/vnd.api+json", "application/atom+xml; charset=utf-8", "model/x3d+xml"),
    )
    for number, mime_type in enumerate(texts):
        text(
            newest, "create_resource", name=f"t{number}", uri=f"t:{number}", content="not base64!", mime_type=mime_type
        )
        [entry] = newest.request("resources/read", {"uri": f"t:{number}"})["result"]["contents"]
        assert entry == {"uri": f"t:{number}", "mimeType": mime_type, "text": "not base64!"}
    for mime_type in ("image/png", "application/octet-stream", "application/pdf", "audio/wav", "application/zip"):
        said = text(newest, "create_resource", name="b", uri="b:b", content="not base64!", mime_type=mime_type)
        assert said == f"Error: Content is not valid base64, which MIME type '{mime_type}' needs"


def test_bounds_are_complained_of_in_the_order_of_the_schema_and_before_the_look_up(newest: Server) -> None:
    long = "d" * 10_001
    binary = {"content": "?", "mime_type": "image/png", "description": long}
    too_long = "Error: Description must be at most 10000 characters"
    assert text(newest, "create_resource", name="", uri="", **binary) == "Error: Resource name must be 1-255 characters"
    assert text(newest, "create_resource", name="r", uri="", **binary) == "Error: Invalid URI ''"
    assert text(newest, "create_resource", name="r", uri="x:r", **binary) == NOT_BASE64
    assert text(newest, "create_resource", name="r", uri="x:r", content="", description=long) == too_long
    assert (
        text(newest, "create_prompt", name="p", content="", description=long)
        == "Error: Prompt content must not be empty"
    )
    for kind in ("prompt", "resource"):
        assert text(newest, f"update_{kind}", name="no-such", description=long) == too_long
    assert text(newest, "update_resource", name="no-such", **binary) == NOT_BASE64
    assert nothing_is_there(newest)


def test_bytes_of_a_type_that_has_become_text_stay_bytes_until_they_are_replaced(
    database: Database, newest: Server
) -> None:
    """An older Satchel stored the document, when application/x-python counted as binary."""
    text(newest, "create_resource", name="r", uri="x:r", content="aGk=", mime_type="image/png")
    with database.write() as tx:
        tx.run("update documents set mime_type = 'application/x-python'")
    [entry] = newest.request("resources/read", {"uri": "x:r"})["result"]["contents"]
    assert entry == {"uri": "x:r", "mimeType": "application/x-python", "blob": "aGk="}
    border = "Error: Changing the MIME type from binary to text needs new content"
    assert text(newest, "update_resource", name="r", mime_type="text/plain") == border
    text(newest, "update_resource", name="r", content="print()")
    [entry] = newest.request("resources/read", {"uri": "x:r"})["result"]["contents"]
    assert entry == {"uri": "x:r", "mimeType": "application/x-python", "text": "print()"}


def test_names_and_uris_are_unique_in_a_project(newest: Server) -> None:
    text(newest, "create_resource", name="r", uri="x:r", content="kept")
    taken = f"Error: Resource 'r' already exists in project '{PROJECT}'"
    assert text(newest, "create_resource", name="r", uri="x:other", content="lost") == taken
    assert text(newest, "create_resource", name="r", uri="x:r", content="lost") == taken
    belongs = f"Error: URI 'x:r' already belongs to resource 'r' in project '{PROJECT}'"
    assert text(newest, "create_resource", name="other", uri="x:r", content="lost") == belongs
    [entry] = newest.request("resources/list")["result"]["resources"]
    assert entry == {"uri": "x:r", "name": "r", "mimeType": "text/plain"}
    text(newest, "create_prompt", name="r", content="prompts have names of their own")


def test_prompts_of_other_contracts_are_listed_under_their_slug(database: Database, newest: Server) -> None:
    with database.write() as tx:
        prompts.add(tx, Scope(project=PROJECT), PromptDraft(title="Code Review", content="x"))
        prompts.add(tx, Scope(project=PROJECT), PromptDraft(title="plain", content="y"))
    listed = [prompt["name"] for prompt in newest.request("prompts/list")["result"]["prompts"]]
    assert listed == ["code-review", "plain"]
    exists = "Error: Prompt '{}' already exists in project '" + PROJECT + "'"
    assert text(newest, "create_prompt", name="code-review", content="x") == exists.format("code-review")
    with_title = newest.call("update_prompt", name="plain", content="z")
    assert with_title["isError"] is False


def test_a_project_deleted_while_serving_is_reported_as_missing(database: Database, newest: Server) -> None:
    text(newest, "create_prompt", name="p", content="x")
    with database.write() as tx:
        projects.delete(tx, PROJECT)
    gone = f"Error: Project '{PROJECT}' does not exist"
    for tool, arguments in (
        ("create_prompt", {"name": "p", "content": "x"}),
        ("update_prompt", {"name": "p", "content": "x"}),
        ("delete_prompt", {"name": "p"}),
        ("create_resource", {"name": "p", "uri": "x:y", "content": "x"}),
        ("update_resource", {"name": "p", "content": "x"}),
        ("delete_resource", {"name": "p"}),
    ):
        assert text(newest, tool, **arguments) == gone
    for method, params in (
        ("prompts/list", {}),
        ("prompts/get", {"name": "p"}),
        ("resources/list", {}),
        ("resources/read", {"uri": "x:y"}),
    ):
        assert newest.request(method, params)["error"] == {"code": -32603, "message": gone}
