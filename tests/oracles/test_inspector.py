"""The official Inspector's command line lists, lints and calls the tools of a real server, in both generations."""

import json
from pathlib import Path
from typing import Any

import pytest

from satchel import __version__
from tests.oracles import node

pytestmark = pytest.mark.npm

PRINTED = json.loads((Path(__file__).parents[1] / "contracts" / "prompt_store.json").read_text())["tools"]

# What the Inspector leaves of the newest revision's additions in a result: proof of the generation that was spoken.
ADDED = {
    "legacy": {},
    "modern": {"_meta": {"io.modelcontextprotocol/serverInfo": {"name": "prompt-store", "version": __version__}}},
}


class Inspector:
    """Runs the Inspector's command line on one store; each run starts a server of its own."""

    def __init__(self, era: str, folder: Path) -> None:
        self.added = ADDED[era]
        self._folder = folder
        self._options = ["--protocol-era", era, "--format", "json", "--quiet"]

    def run(self, *options: str) -> tuple[int, Any, Any]:
        """Exit status, what was printed on stdout, what was printed on stderr."""
        command = ["--cli", *node.satchel("prompt-store", self._folder / "satchel.db"), *options, *self._options]
        done = node.run("node_modules/.bin/mcp-inspector", *command, home=self._folder)
        return done.returncode, _json(done.stdout), _json(done.stderr)

    def call(self, tool: str, **arguments: object) -> tuple[int, Any, Any]:
        return self.run("--method", "tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments))

    def result(self, body: dict[str, Any], text: str, *, is_error: bool = False) -> dict[str, Any]:
        content = [{"type": "text", "text": text}]
        return {"result": {**self.added, "content": content, "structuredContent": body, "isError": is_error}}


@pytest.fixture(params=ADDED)
def inspector(request: pytest.FixtureRequest, tmp_path: Path) -> Inspector:
    return Inspector(request.param, tmp_path)


def _json(text: str) -> Any:
    try:
        return json.loads(text) if text else None
    except ValueError:
        return text  # not what any test expects, so shown by the one that fails


def test_strict_listing_shows_the_tools_as_printed_and_finds_nothing_to_complain_of(inspector: Inspector) -> None:
    status, said, complaints = inspector.run("--method", "tools/list", "--strict")

    tools = [{"name": name, **{key: PRINTED[name][key] for key in ("description", "inputSchema")}} for name in PRINTED]
    assert said == {"result": {"tools": tools}}
    assert (status, complaints) == (0, None)


def test_a_tool_is_called_and_what_it_did_is_there_for_the_next_server(inspector: Inspector) -> None:
    status, added, complaints = inspector.call("add_prompt", title="Reviewer", content="Look for bugs.", tags=["code"])
    id, created_at = (added["result"]["structuredContent"][key] for key in ("id", "created_at"))
    prompt = {"id": id, "title": "Reviewer", "created_at": created_at}

    assert (status, complaints) == (0, None)
    assert added == inspector.result(prompt, json.dumps(prompt, separators=(",", ":")))

    status, got, complaints = inspector.call("get_prompt", id=id)
    whole = {**prompt, "content": "Look for bugs.", "tags": ["code"], "updated_at": created_at}
    assert (status, complaints) == (0, None)
    assert json.loads(got["result"]["content"][0]["text"]) == whole
    assert got == inspector.result(whole, got["result"]["content"][0]["text"])


def test_a_failure_of_a_tool_is_shown_whole_and_known_as_a_failure(inspector: Inspector) -> None:
    id = "550e8400-e29b-41d4-a716-446655440000"
    status, said, complaint = inspector.call("get_prompt", id=id)

    [not_found] = PRINTED["get_prompt"]["errors"]
    assert said == inspector.result(not_found, json.dumps(not_found, separators=(",", ":")), is_error=True)
    message = "Tool 'get_prompt' returned isError:true."
    assert (status, complaint) == (5, {"error": {"code": "tool_is_error", "message": message}})
