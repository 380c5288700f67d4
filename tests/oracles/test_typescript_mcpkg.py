"""The official TypeScript clients, 1.x and 2.x, on a project served by `mcpkg`; what they hand their callers is whole.

The project is filled with our own command line; then each client has one conversation (ts/mcpkg.mjs) on it.
"""

import base64
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from satchel import __version__
from tests.oracles import node
from tests.oracles.test_typescript import NEWEST, NOT_CACHED, Conversation

pytestmark = pytest.mark.npm

[TOOLS] = [
    one["message"]["result"]["tools"]
    for one in json.loads((Path(__file__).parents[1] / "contracts" / "mcpkg.json").read_text())
    if one["section"].startswith("`tools/list`") and one["label"] == "Response"
]
PROJECT = "auth-module"
SERVER = {"name": "mcpkg", "version": __version__}
CAPABILITIES = {kind: {"listChanged": False} for kind in ("prompts", "resources", "tools")}
IN_EVERY_RESULT = {"_meta": {"io.modelcontextprotocol/serverInfo": SERVER}}

# The same clients as for `prompt-store`; their scripts for this contract are called mcpkg1.mjs and mcpkg2.mjs.
CLIENTS = [("sdk1.mjs",), ("sdk2.mjs", "default"), NEWEST]

# What a template engine would fill in, and all that JSON allows inside one line but careless splitting would tear.
PROMPT = "Dear {{ braces }},\r\n{% if x %}{# note #}{% endif %} {{{{ ${y} %s \u2028\u2029\u0085\t\"'\\n 👋 e\u0301\n"
TEXT = '# {{ Notes }}\r\n\r\n\ufeffÉcole \u2028 👩‍👩‍👧 \\ "x"\r\n'
BINARY = bytes(range(256)) * 16 + b"\xff\xfe\r\n\x00"

FOUND = {
    "prompts": [{"name": "ecole-braces", "description": "With {{ braces }}"}],
    "resources": [
        {"uri": "file:///docs/notes.md", "name": "notes", "description": "Some notes", "mimeType": "text/markdown"},
        {"uri": "file:///blob.bin", "name": "blob", "mimeType": "application/octet-stream"},
    ],
}
TEXT_COPY = "copies://desk/text?of=notes.md#1"
BINARY_COPY = "file:///copy.png"


class Talk(Conversation):
    """What one client told of its conversation with a server of this contract."""

    def result(self, value: dict[str, Any], *, cacheable: bool = False) -> dict[str, Any]:
        """A result that has this in it, and besides only what the revision demands."""
        demanded = {**IN_EVERY_RESULT, **(NOT_CACHED if cacheable else {})} if self.is_newest else {}
        return {"result": {**value, **demanded}}

    def lists(self, *, prompts: list[dict[str, Any]], resources: list[dict[str, Any]]) -> dict[str, Any]:
        """Both lists, with these after what was there."""
        return {
            "prompts": self.result({"prompts": FOUND["prompts"] + prompts}, cacheable=True),
            "resources": self.result({"resources": FOUND["resources"] + resources}, cacheable=True),
        }

    def prompt(self, content: str, **description: str) -> dict[str, Any]:
        messages = [{"role": "user", "content": {"type": "text", "text": content}}]
        return self.result({"messages": messages, **description})

    def contents(self, uri: str, mime_type: str, content: str | bytes) -> dict[str, Any]:
        entry = {"text": content} if isinstance(content, str) else {"blob": base64.b64encode(content).decode()}
        return self.result({"contents": [{"uri": uri, "mimeType": mime_type, **entry}]}, cacheable=True)

    def reply(self, text: str) -> dict[str, Any]:
        """What a tool says; there is no JSON in it, so no structured content either."""
        is_error = text.startswith("Error: ")
        return self.result({"content": [{"type": "text", "text": text}], "isError": is_error})

    def not_found(self, kind: str, key: str) -> dict[str, Any]:
        return self.refusal(-32602, f"{kind} '{key}' not found in project '{PROJECT}'")


@pytest.fixture(scope="module", params=CLIENTS, ids=" ".join)
def heard(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Talk:
    """The conversation of each client in turn."""
    folder = tmp_path_factory.mktemp("judge")
    serve = [*node.satchel("mcpkg", folder / "satchel.db"), "--project", PROJECT]
    fill(serve[0], folder)
    script, *mode = request.param
    done = node.run(script.replace("sdk", "mcpkg"), *mode, *serve, home=folder)
    assert done.returncode == 0, done.stderr
    return Talk(request.param, json.loads(done.stdout), done.stderr)


def fill(satchel: str, folder: Path) -> None:
    """Make the project and what the conversation finds in it."""
    for name, content in (("prompt", PROMPT.encode()), ("notes.md", TEXT.encode()), ("blob.bin", BINARY)):
        (folder / name).write_bytes(content)
    notes, blob = (entry["uri"] for entry in FOUND["resources"])
    for command in (
        ["project", "create", PROJECT],
        [
            "prompt",
            "add",
            "École {{ braces }}",
            "@prompt",
            "--plain",
            "--description",
            "With {{ braces }}",
            "-p",
            PROJECT,
        ],
        ["resource", "add", "notes", notes, "@notes.md", "--description", "Some notes", "-p", PROJECT],
        ["resource", "add", "blob", blob, "@blob.bin", "-p", PROJECT],
    ):
        done = subprocess.run(
            [satchel, *command, "-d", "satchel.db"], check=False, capture_output=True, text=True, cwd=folder
        )
        assert (done.returncode, done.stderr) == (0, "")


def test_the_client_agrees_with_the_server_on_a_revision_and_learns_what_it_is(heard: Talk) -> None:
    assert heard["version"] == heard.revision
    assert heard["server"] == SERVER
    assert heard["capabilities"] == CAPABILITIES


def test_the_six_tools_arrive_in_order_and_as_printed(heard: Talk) -> None:
    assert len(TOOLS) == 6
    assert heard["tools"] == heard.result({"tools": TOOLS}, cacheable=True)


def test_what_is_in_the_project_is_listed(heard: Talk) -> None:
    assert heard["before"] == heard.lists(prompts=[], resources=[])
    assert heard["templates"] == heard.result({"resourceTemplates": []}, cacheable=True)


def test_a_prompt_comes_out_as_it_went_in_whatever_arguments_are_given(heard: Talk) -> None:
    prompt = heard.prompt(PROMPT, description="With {{ braces }}")

    assert heard["prompt"] == prompt
    assert heard["promptWithArguments"] == prompt


def test_a_text_and_a_binary_resource_come_out_as_they_went_in(heard: Talk) -> None:
    assert heard["text"] == heard.contents("file:///docs/notes.md", "text/markdown", TEXT)
    assert heard["binary"] == heard.contents("file:///blob.bin", "application/octet-stream", BINARY)
    [entry] = heard["binary"]["result"]["contents"]
    assert base64.b64decode(entry["blob"], validate=True) == BINARY


def test_prompts_and_resources_are_created(heard: Talk) -> None:
    assert heard["created"] == [
        heard.reply(f"Created prompt 'copy' in project '{PROJECT}'"),
        heard.reply(f"Created resource 'copy-text' in project '{PROJECT}'"),
        heard.reply(f"Created resource 'copy-binary' in project '{PROJECT}'"),
    ]
    assert heard["copies"] == {
        "prompt": heard.prompt(PROMPT, description="A {{ copy }}"),
        "text": heard.contents(TEXT_COPY, "text/plain", TEXT),
        "binary": heard.contents(BINARY_COPY, "image/png", BINARY),
    }


def test_a_failure_of_a_tool_is_a_result_with_the_contracts_own_text(heard: Talk) -> None:
    invalid = "contains invalid characters. Allowed: a-z, A-Z, 0-9, -, _, ."
    texts = [
        f"Prompt 'copy' already exists in project '{PROJECT}'",
        f"Prompt 'ecole-braces' already exists in project '{PROJECT}'",
        f"Prompt name 'test prompt' {invalid}",
        "Prompt name must be 1-255 characters",
        "Prompt content must not be empty",
        "Missing required argument: content",
        "Invalid argument 'name': must be a string",
        "Missing required argument: name",
        f"Prompt 'nope' does not exist in project '{PROJECT}'",
        "Nothing to update: give content or description",
        f"Prompt 'nope' does not exist in project '{PROJECT}'",
        f"Resource 'copy-text' already exists in project '{PROJECT}'",
        f"URI '{TEXT_COPY}' already belongs to resource 'copy-text' in project '{PROJECT}'",
        "Invalid URI 'no scheme'",
        "Invalid MIME type 'png'",
        "Content is not valid base64, which MIME type 'image/png' needs",
        f"Resource name 'new one' {invalid}",
        "Missing required argument: uri",
        f"Resource 'nope' does not exist in project '{PROJECT}'",
        "Nothing to update: give content, mime_type or description",
        "Changing the MIME type from text to binary needs new content",
        "Changing the MIME type from binary to text needs new content",
        f"Resource 'nope' does not exist in project '{PROJECT}'",
    ]

    assert heard["refused"] == [heard.reply(f"Error: {text}") for text in texts]


def test_what_was_created_is_listed_last_and_what_was_refused_is_not(heard: Talk) -> None:
    assert heard["between"] == heard.lists(
        prompts=[{"name": "copy", "description": "A {{ copy }}"}],
        resources=[
            {"uri": TEXT_COPY, "name": "copy-text", "mimeType": "text/plain"},
            {"uri": BINARY_COPY, "name": "copy-binary", "description": "A copy", "mimeType": "image/png"},
        ],
    )


def test_prompts_and_resources_are_updated_and_stay_in_their_places(heard: Talk) -> None:
    assert heard["updated"] == [
        heard.reply(f"Updated prompt 'copy' in project '{PROJECT}'"),
        heard.reply(f"Updated resource 'copy-text' in project '{PROJECT}'"),
        heard.reply(f"Updated resource 'copy-binary' in project '{PROJECT}'"),
    ]
    assert heard["changed"] == {
        "prompt": heard.prompt("Shorter."),
        "text": heard.contents(TEXT_COPY, "application/json", '{"a": 1}'),
        "binary": heard.contents(BINARY_COPY, "image/png", b"\x00\x01\x02\xff"),
    }
    assert heard["after"] == heard.lists(
        prompts=[{"name": "copy"}],
        resources=[
            {"uri": TEXT_COPY, "name": "copy-text", "mimeType": "application/json"},
            {"uri": BINARY_COPY, "name": "copy-binary", "description": "Four bytes", "mimeType": "image/png"},
        ],
    )


def test_what_is_deleted_is_not_found_and_the_rest_is_as_it_was(heard: Talk) -> None:
    assert heard["deleted"] == [
        heard.reply(f"Deleted prompt 'copy' from project '{PROJECT}'"),
        heard.reply(f"Deleted resource 'copy-text' from project '{PROJECT}'"),
        heard.reply(f"Deleted resource 'copy-binary' from project '{PROJECT}'"),
    ]
    # The 2.x line has an error of its own for a resource that is not found, made only from data, which we do not send.
    assert heard["gone"] == {
        "prompt": heard.not_found("Prompt", "copy"),
        "text": heard.not_found("Resource", TEXT_COPY),
        "binary": heard.not_found("Resource", BINARY_COPY),
    }
    assert heard["atLast"] == heard["before"]


def test_an_unknown_tool_and_unknown_methods_reach_the_caller_with_code_and_message(heard: Talk) -> None:
    unknown = heard.refusal(-32601, "Method not found")

    assert heard["unknownTool"] == heard.refusal(-32602, "Unknown tool: add_prompt")
    assert heard["unknownMethods"] == {
        "client.complete": unknown,
        "completion/complete": unknown,
        "satchel/nope": unknown,
    }


def test_bad_parameters_reach_the_caller_with_code_message_and_data(heard: Talk) -> None:
    def invalid(details: str) -> dict[str, Any]:
        return heard.refusal(-32602, "Invalid params", {"details": details})

    assert heard["unknownCursors"] == [invalid("Unknown cursor")] * 4
    assert heard["nameless"] == invalid("Missing required parameter: name")
    assert heard["uriless"] == invalid("Missing required parameter: uri")


def test_the_client_has_nothing_to_complain_of_and_the_server_leaves_by_itself(heard: Talk) -> None:
    assert heard["problems"] == []
    assert heard["exit"] == [0, None]
    assert "surprise in" not in heard.log


@pytest.mark.parametrize("heard", [NEWEST], indirect=True, ids=" ".join)
def test_the_newest_revision_is_discovered_and_promises_no_news(heard: Talk) -> None:
    discovered = {"supportedVersions": ["2026-07-28"], "capabilities": CAPABILITIES, **NOT_CACHED, **IN_EVERY_RESULT}

    assert heard["discovered"] == {**discovered, "resultType": "complete"}
    assert heard["listened"] == {"result": {}}
