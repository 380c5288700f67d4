"""Prompts, resources and completion as the contract satchel serves them, in both generations, on both engines."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from satchel import __version__
from satchel.contracts.satchel.app import ICONS
from satchel.model import Argument, DocumentDraft, PromptDraft, Scope, TaskDraft
from satchel.services import documents, projects, prompts, tasks
from satchel.storage.database import Database, open_database
from tests.support.satchel import answered, make_library
from tests.support.stdio import NEWEST, Client, plain

ANN, BEN = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
START = {
    "name": "start-task",
    "description": "Start a task: its description, its blockers, its documents.",
    "arguments": [{"name": "task", "description": "#4 or its title", "required": True}],
}


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """Return a folder of libraries."""
    root = tmp_path / "libraries"
    make_library(root, "desk", {"letter": ("Dear {{ to }}", ["to!"]), "plain": ("Just so.", [])})
    make_library(root, "büro", {"brief": ("Hallo", [])})
    return root


@pytest.fixture(params=["2025-11-25", NEWEST])
def ask(
    request: pytest.FixtureRequest, store: str, shelf: Path, serve: Callable[..., Client]
) -> Callable[..., dict[str, Any]]:
    """Return a function that sends a request in either generation, and returns the result or the error."""
    client = serve("satchel", store, request.param, "--libraries", str(shelf), "--user", ANN)

    def asked(method: str, **params: Any) -> dict[str, Any]:
        answer = answered(client, method, params)
        return plain(answer["result"]) if "result" in answer else {"error": answer["error"]}

    asked.client = client  # type: ignore[attr-defined]
    return asked


@pytest.fixture
def filled(store: str, database: Database) -> str:
    """Return a store with a prompt of each kind, documents and tasks."""
    ann = Scope(user=ANN)
    with database.write(ann) as tx:
        projects.add(tx, "default")
        projects.add(tx, "garden")
        tone = Argument("tone", "How it sounds", True, ("warm", "dry", "Wry"))
        greeting = "Hello, {{ tone }} {{ project }}"
        prompts.add(
            tx, ann, PromptDraft(title="Greeting", content=greeting, arguments=[tone, Argument("project", None, False)])
        )
        prompts.add(
            tx,
            ann,
            PromptDraft(title="Literal {{ x }}", content="{{ x }}", description="As it is", tags=["red", "read"]),
        )
        prompts.add(tx, ann, PromptDraft(title="Tagger", content="{{ tag }}", arguments=[Argument("tag", None, False)]))
        documents.add(tx, ann, DocumentDraft(name="guide", uri="satchel://resource/guide", content="# Guide"))
        binary = {"mime_type": "image/png", "description": "A picture"}
        documents.add(tx, ann, DocumentDraft(name="logo", uri="file:///logo.png", content=b"\x00\xff", **binary))
        documents.add(
            tx, Scope(project="garden", user=ANN), DocumentDraft(name="beds", uri="doc:beds", content="Three beds")
        )
        tasks.add(tx, ann, TaskDraft(title="Dig", project="garden", tags=["soil"], priority="high", due="2026-12-01"))
        tasks.add(tx, ann, TaskDraft(title="Plant", description="Tulips,\nmostly", project="garden", blocked_by=[1]))
        tasks.add(tx, Scope(user=BEN), TaskDraft(title="Secret"))
    return store


NO_TASK = "The prompt needs a value for task. Give the number of a task."


def wrong(details: str) -> dict[str, Any]:
    return {"error": {"code": -32602, "message": f"Invalid params: {details}", "data": {"details": details}}}


# -- the offer --------------------------------------------------------------------------------------------------

INSTRUCTIONS = (
    "Satchel keeps the user's prompts, documents and tasks by project, across sessions. Begin with catch_up. Name an "
    "item by #4, its name or its URI, like satchel://task/4; such a URI in a text is a link. Search here before you "
    "ask the user. Change texts with edit_text; do not send them whole. Use claim_task before you work beside others. "
    "Pass the expected_version that you read. `near` in an error lists what you probably meant."
)
CAPABILITIES = {
    "tools": {"listChanged": False},
    "prompts": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "completions": {},
    "extensions": {"io.modelcontextprotocol/ui": {}, "io.modelcontextprotocol/skills": {}},
}


def test_it_introduces_itself(store: str, serve: Callable[..., Client]) -> None:
    greeted = serve("satchel", store).initialize("2025-11-25")["result"]
    assert greeted == {
        "protocolVersion": "2025-11-25",
        "capabilities": CAPABILITIES,
        "serverInfo": {"name": "satchel", "version": __version__, "icons": [{"src": ICONS[""]}]},
        "instructions": INSTRUCTIONS,
    }
    found = serve("satchel", store).request("server/discover")["result"]
    assert (found["capabilities"], found["instructions"]) == (CAPABILITIES, INSTRUCTIONS)
    assert len(INSTRUCTIONS) < 500


# -- prompts ----------------------------------------------------------------------------------------------------


def test_prompts_of_the_store_and_of_libraries_are_listed_together(filled: str, ask: Callable[..., Any]) -> None:
    assert ask("prompts/list") == {
        "prompts": [
            START,
            {
                "name": "greeting",
                "description": "Greeting",
                "arguments": [
                    {"name": "tone", "required": True, "description": "How it sounds"},
                    {"name": "project", "required": False},
                ],
            },
            {"name": "literal-x", "description": "As it is"},
            {"name": "tagger", "description": "Tagger", "arguments": [{"name": "tag", "required": False}]},
            {"name": "büro:brief", "description": "About brief"},
            {"name": "desk:letter", "description": "About letter", "arguments": [{"name": "to", "required": True}]},
            {"name": "desk:plain", "description": "About plain"},
        ]
    }


def test_prompts_are_got(filled: str, ask: Callable[..., Any]) -> None:
    def got(name: str, **arguments: str) -> tuple[str, str]:
        result = ask("prompts/get", name=name, arguments=arguments)
        [message] = result["messages"]
        assert (message["role"], message["content"]["type"]) == ("user", "text")
        return result["description"], message["content"]["text"]

    assert got("greeting", tone="dry", project="{{ x }}") == ("Greeting", "Hello, dry {{ x }}")
    assert got("literal-x") == ("As it is", "{{ x }}")
    assert got("Literal {{ x }}") == ("As it is", "{{ x }}")
    assert got("desk:letter", to="Ann") == ("About letter", "Dear Ann")
    assert ask("prompts/get", name="greeting") == wrong(
        "The prompt needs a value for tone (How it sounds; warm, dry or Wry). Give each value by its name in arguments."
    )
    assert ask("prompts/get", name="greeting", arguments={"tone": "cold"}) == wrong(
        "tone must be one of warm, dry, Wry. Choose one of them."
    )
    assert ask("prompts/get", name="greeting", arguments={"tone": "dry", "projet": "x"}) == wrong(
        "Prompt 'greeting' has no argument 'projet'. Did you mean project? It takes tone, project?."
    )
    assert ask("prompts/get", name="literal-x", arguments={"x": "y"}) == wrong(
        "Prompt 'literal-x' has no argument 'x'. It takes none."
    )
    unknown = ask("prompts/get", name="greating")["error"]
    assert unknown == {
        "code": -32602,
        "message": "Prompt 'greating' not found. Did you mean greeting?",
        "data": {"name": "greating", "near": ["greeting"]},
    }
    assert ask("prompts/get", name="zzzz")["error"]["data"] == {"name": "zzzz"}


def test_a_broken_template_is_an_error_of_the_request(filled: str, shelf: Path, ask: Callable[..., Any]) -> None:
    database = open_database(filled)
    with database.write(Scope(user=ANN)) as tx:  # as another contract does, which checks no template
        broken = PromptDraft(title="Broken", content="\n\n{{ x", arguments=[Argument("x", None, False)])
        prompts.add(tx, Scope(user=ANN), broken)
    database.close()
    error = ask("prompts/get", name="broken")["error"]
    assert error["message"].startswith("Invalid params: Prompt 'broken' cannot be filled in at line 3: ")
    (shelf / "desk" / "prompts" / "plain.md").unlink()
    assert ask("prompts/get", name="desk:plain") == wrong("The file of prompt 'desk:plain' is missing.")


TASK_PAGE = """# Task #2: Plant

- Status: blocked
- Priority: normal
- Project: garden

Tulips,
mostly

## To be done first

- #1 Dig !high due:2026-12-01 +soil @garden

## Documents of project garden

- beds: satchel://resource/garden/beds
"""


def test_start_task_renders_a_task_with_what_it_needs(filled: str, ask: Callable[..., Any]) -> None:
    for reference in ("2", "#2", "Plant"):
        result = ask("prompts/get", name="start-task", arguments={"task": reference})
        assert result == {
            "description": "Start task #2",
            "messages": [
                {
                    "role": "user",
                    "content": {
                        "type": "text",
                        "text": f"Work on this task.\n\n{TASK_PAGE}\n"
                        "Open blockers: #1. Finish them first, or tell me why work can begin anyway.\n\n"
                        "Read the documents that matter with read_resource.\n\n"
                        'Its project is not the current one: pass project: "garden" to read_resource, list_resources, '
                        "get_prompt, add_tasks.\n\n"
                        "When it is done, call complete_task with task 2; note what comes up with add_tasks.\n",
                    },
                }
            ],
        }
    for tool in ("get_prompt", "render_prompt"):
        assert ask("tools/call", name=tool, arguments={"prompt": "start-task"})["structuredContent"]["error"] == {
            "code": "not_found",
            "message": "Prompt 'start-task' is offered by prompts/get only.",
            "hint": "Call get_task, which returns a task with what belongs to it.",
        }
    assert ask("prompts/get", name="start-task") == wrong(NO_TASK)
    assert ask("prompts/get", name="start-task", arguments={"task": ""}) == wrong(NO_TASK)
    assert ask("prompts/get", name="start-task", arguments={"task": " "}) == wrong(NO_TASK)
    assert ask("prompts/get", name="start-task", arguments={"task": "plan"})["error"] == {
        "code": -32602,
        "message": "Task 'plan' not found. Did you mean #2?",
        "data": {"name": "plan", "near": ["#2"]},
    }
    for other in ("3", "Secret", "99"):
        assert ask("prompts/get", name="start-task", arguments={"task": other})["error"]["code"] == -32602


def test_start_task_says_which_of_several_tasks(filled: str, ask: Callable[..., Any]) -> None:
    ask("tools/call", name="add_task", arguments={"title": "Dig"})
    assert ask("prompts/get", name="start-task", arguments={"task": "Dig"})["error"] == {
        "code": -32602,
        "message": "Several tasks have the title 'Dig': #1 and #4.",
        "data": {"name": "Dig", "near": ["#1", "#4"]},
    }


def test_no_new_prompt_is_hidden_behind_start_task(store: str, ask: Callable[..., Any]) -> None:
    for title, name in [("Start Task", "start-task-2"), ("start task", "start-task-3")]:
        added = ask("tools/call", name="add_prompt", arguments={"title": title, "content": title})
        assert added["structuredContent"]["prompt"]["name"] == name
        assert ask("prompts/get", name=name)["messages"][0]["content"]["text"] == title
    assert [one["name"] for one in ask("prompts/list")["prompts"]][:3] == ["start-task", "start-task-2", "start-task-3"]


def test_a_stored_prompt_called_start_task_is_reached_by_tools_only(
    database: Database, ask: Callable[..., Any]
) -> None:
    assert ask("prompts/list")["prompts"][0] == START
    with database.write() as tx:
        prompts.add(tx, Scope(), PromptDraft(title="Start task", content="mine"))  # as another contract does it
    assert [one for one in ask("prompts/list")["prompts"] if one["name"] == "start-task"] == [START]
    assert ask("prompts/get", name="start-task") == wrong(NO_TASK)
    read = ask("resources/read", uri="satchel://prompt/start-task")
    assert read["contents"][0]["text"] == "mine"
    rendered = ask("tools/call", name="render_prompt", arguments={"prompt": "start-task"})
    assert rendered["content"][0]["text"] == "mine"


@pytest.mark.parametrize("stored", [500, 501])
def test_pages_lead_through_the_store_and_then_the_libraries(
    store: str, database: Database, tmp_path: Path, serve: Callable[..., Client], stored: int
) -> None:
    with database.write() as tx:
        projects.add(tx, "default")
        for number in range(stored):
            prompts.add(tx, Scope(), PromptDraft(title=f"p{number}", content="x"))
    for library in ("one", "two"):
        make_library(tmp_path / "shelf", library, {f"q{number}": ("x", []) for number in range(300)})
    client = serve("satchel", store, NEWEST, "--libraries", str(tmp_path / "shelf"))
    names, sizes = [], []
    params: dict[str, str] = {}
    while True:
        result = plain(client.request("prompts/list", params)["result"])
        names += [one["name"] for one in result["prompts"]]
        sizes.append(len(result["prompts"]))
        if "nextCursor" not in result:
            break
        params = {"cursor": result["nextCursor"]}
    shelf = [f"{library}:q{number}" for library in ("one", "two") for number in range(300)]
    assert names == ["start-task", *(f"p{number}" for number in range(stored)), *shelf]
    assert len(sizes) <= 4 and max(sizes) <= 1001


# -- resources --------------------------------------------------------------------------------------------------


def test_resources_of_the_project_are_listed_and_read(filled: str, ask: Callable[..., Any]) -> None:
    logo = {"uri": "file:///logo.png", "mimeType": "image/png"}
    assert ask("resources/list") == {
        "resources": [
            {"uri": "satchel://resource/guide", "name": "guide", "mimeType": "text/plain", "size": 7},
            {**logo, "name": "logo", "size": 2, "description": "A picture"},
        ]
    }
    assert ask("resources/read", uri="file:///logo.png") == {"contents": [{**logo, "blob": "AP8="}]}
    assert ask("resources/read", uri="satchel://resource/guide")["contents"][0]["text"] == "# Guide"
    assert ask("resources/read", uri="doc:beds") == {
        "error": {
            "code": -32602,
            "message": "Resource 'doc:beds' not found in project 'default'",
            "data": {"uri": "doc:beds"},
        }
    }


def test_templates_are_listed(ask: Callable[..., Any]) -> None:
    listed = ask("resources/templates/list")["resourceTemplates"]
    assert [(one["uriTemplate"], one["name"], one["mimeType"]) for one in listed] == [
        ("satchel://prompt/{name}", "prompt", "text/markdown"),
        ("satchel://task/{number}", "task", "text/markdown"),
        ("satchel://project/{name}", "project", "application/json"),
    ]


def test_templates_are_read(filled: str, ask: Callable[..., Any]) -> None:
    def read(uri: str) -> tuple[str, str]:
        [contents] = ask("resources/read", uri=uri)["contents"]
        assert contents["uri"] == uri
        return contents["mimeType"], contents["text"]

    hello = ("text/markdown", "Hello, {{ tone }} {{ project }}")
    assert read("satchel://prompt/greeting") == read("satchel://prompt/%67reeting") == hello
    assert read("satchel://prompt/Literal%20%7B%7B%20x%20%7D%7D") == ("text/markdown", "{{ x }}")
    assert read("satchel://prompt/desk:letter") == read("satchel://prompt/desk%3Aletter")
    assert read("satchel://prompt/b%C3%BCro:brief") == read("satchel://prompt/büro:brief") == ("text/markdown", "Hallo")
    assert (
        read("satchel://task/2")
        == read("satchel://task/%232")
        == read("satchel://task/#2")
        == ("text/markdown", TASK_PAGE)
    )
    assert read("satchel://project/garden") == (
        "application/json",
        '{"name":"garden","counts":{"prompts":0,"documents":1},"documents":[{"name":"beds","uri":"satchel://resource/garden/beds"}],'
        '"open_tasks":["#1 Dig !high due:2026-12-01 +soil @garden","#2 Plant @garden after:#1"],'
        '"has_more_tasks":false}',
    )
    for uri in (
        *("satchel://prompt/nope", "satchel://prompt/", "satchel://prompt/%00", "satchel://prompt/%ff"),
        *("satchel://task/3", "satchel://task/99", "satchel://task/", "satchel://task/%00", "satchel://task/-1"),
        *("satchel://project/nope", "satchel://project/", "satchel://project/%00", "satchel://else/x", "satchel://"),
    ):
        assert ask("resources/read", uri=uri) == {
            "error": {
                "code": -32602,
                "message": f"Resource '{uri}' not found in project 'default'",
                "data": {"uri": uri},
            }
        }


# -- completion -------------------------------------------------------------------------------------------------


def complete(ask: Callable[..., Any], reference: str, argument: str, value: str = "") -> Any:
    key = "uri" if reference.startswith("satchel:") else "name"
    kind = "ref/resource" if key == "uri" else "ref/prompt"
    result = ask("completion/complete", ref={"type": kind, key: reference}, argument={"name": argument, "value": value})
    if "error" in result:
        return result["error"]
    assert result.keys() == {"completion"} and result["completion"].keys() == {"values", "hasMore"}
    return result["completion"]["values"] if not result["completion"]["hasMore"] else result["completion"]


def test_arguments_are_completed(filled: str, ask: Callable[..., Any]) -> None:
    assert complete(ask, "greeting", "tone") == ["warm", "dry", "Wry"]
    assert complete(ask, "greeting", "tone", "W") == ["warm", "Wry"]
    assert complete(ask, "greeting", "tone", "RY") == ["dry", "Wry"]
    assert complete(ask, "greeting", "tone", "zzz") == []
    assert complete(ask, "greeting", "project") == ["default", "garden"]
    assert complete(ask, "greeting", "project", "gar") == ["garden"]
    assert complete(ask, "tagger", "tag", "re") == ["read", "red"]
    assert complete(ask, "start-task", "task") == ["2", "1", "Dig", "Plant"]
    assert complete(ask, "start-task", "task", "pla") == ["Plant"]
    assert complete(ask, "start-task", "task", "#1") == ["1"]
    assert complete(ask, "satchel://prompt/{name}", "name", "l") == ["literal-x", "desk:letter", "desk:plain"]
    assert complete(ask, "satchel://task/{number}", "number") == ["2", "1"]
    assert complete(ask, "satchel://project/{name}", "name") == ["default", "garden"]
    everything = complete(ask, "satchel://prompt/{name}", "name")
    assert everything == ["greeting", "literal-x", "tagger", "büro:brief", "desk:letter", "desk:plain"]
    assert complete(ask, "nope", "x")["message"] == "Prompt 'nope' not found"
    link = "satchel://prompt/garden/nope"
    missing = ask("completion/complete", ref={"type": "ref/prompt", "name": link}, argument={"name": "x", "value": ""})
    assert missing["error"]["message"] == f"Prompt '{link}' not found"
    assert ask("prompts/get", name=link)["error"]["message"] == f"Prompt '{link}' not found"
    assert complete(ask, "greeting", "nope")["data"]["details"] == "Prompt 'greeting' has no argument nope"
    assert complete(ask, "start-task", "nope")["data"]["details"] == "Prompt 'start-task' has no argument nope"
    assert complete(ask, "satchel://nope/{x}", "x")["code"] == -32602


def test_values_given_before_are_offered_again_to_the_same_user(filled: str, ask: Callable[..., Any]) -> None:
    for value in ("Ada", "Grace", "Adele"):
        ask("prompts/get", name="desk:letter", arguments={"to": value})
    ask(
        "tools/call",
        name="render_prompt",
        arguments={"prompt": "greeting", "arguments": {"tone": "Wry", "project": "stern"}},
    )
    assert complete(ask, "desk:letter", "to") == ["Adele", "Grace", "Ada"]
    assert complete(ask, "desk:letter", "to", "ad") == ["Adele", "Ada"]
    assert complete(ask, "greeting", "project", "s") == ["stern"]
    assert complete(ask, "greeting", "tone")[:3] == ["warm", "dry", "Wry"]  # declared values come first
    # Neither the values of a failed call nor undeclared ones are remembered.
    ask("prompts/get", name="desk:letter", arguments={"nobody": "asked"})
    assert "asked" not in complete(ask, "desk:letter", "to")
