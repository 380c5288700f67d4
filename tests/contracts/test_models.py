"""Pydantic models generated from every published schema: real calls satisfy them, spoiled ones do not."""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from msgspec import to_builtins
from pydantic import BaseModel, ValidationError

from satchel.contracts import CONTRACTS, load
from satchel.contracts.contract import Reply
from satchel.errors import StoreFailed
from tests.conftest import Serve
from tests.support.stdio import Client

PUBLISHED = Path(__file__).resolve().parents[2] / "docs" / "reference" / "contracts"
GENERATE = (
    *(sys.executable, "-m", "datamodel_code_generator", "--input-file-type", "jsonschema", "--formatters", "builtin"),
    *("--output-model-type", "pydantic_v2.BaseModel", "--target-python-version", "3.11"),
)
WITH_TOOLS = [name for name in CONTRACTS if load(name).tools]
WITHOUT_ARGUMENTS = {("prompt-store", "list_tags"), ("satchel", "list_projects")}  # only a failing store fails them
ANN, NOWHERE = "11111111-1111-4111-8111-111111111111", "00000000-0000-4000-8000-000000000000"
WRONG = {"wrong": True}  # no argument and no member of an answer looks like this

Call = Callable[..., Any]  # call("add_task", title="Tea") → the body of the answer


@pytest.fixture(scope="session")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Gives the folder with the models of a contract, a module for each tool; they are generated once."""
    root = tmp_path_factory.mktemp("models")

    def generate(contract: str) -> Path:
        folder = root / contract
        if not folder.exists():
            command = [*GENERATE, "--input", str(PUBLISHED / contract), "--output", str(folder)]
            subprocess.run(command, check=True)
        return folder

    return generate


def load_model(folder: Path, tool: str) -> type[BaseModel]:
    spec = importlib.util.spec_from_file_location(f"{folder.name}.{tool}", folder / f"{tool}.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)  # where Pydantic looks up annotations
    spec.loader.exec_module(module)
    model: type[BaseModel] = getattr(module, "".join(part.title() for part in tool.split("_")))
    return model


class Judge:
    """Holds values of one tool against its model, and the model against the published schema."""

    def __init__(self, folder: Path, contract: str, tool: str) -> None:
        self._model = load_model(folder, tool)
        schema = json.loads((PUBLISHED / contract / f"{tool}.json").read_text())
        self._schema = jsonschema.Draft7Validator(schema, format_checker=jsonschema.FormatChecker())

    def accepts(self, part: str, value: Any) -> bool:
        """Whether the model takes a value as the `input`, or the `output`, of the tool; the schema must agree."""
        try:
            self._model.model_validate({part: value})
            is_accepted = True
        except ValidationError:
            is_accepted = False
        assert is_accepted is self._schema.is_valid({part: value}), (part, value)
        return is_accepted


def spoil(value: Any) -> Iterator[Any]:
    """Yield the value with one member less, and with one member wrong."""
    yield WRONG
    if isinstance(value, dict):
        for name in value:
            yield {key: item for key, item in value.items() if key != name}
            yield {**value, name: WRONG}


def body_of(result: dict[str, Any]) -> Any:
    """Return the answer of a tool: its structured content, or the text if the contract has only texts."""
    return result.get("structuredContent", result["content"][0]["text"])


# -- a conversation of each contract, in which every tool succeeds and, where its arguments can be wrong, fails --------


def use_satchel(call: Call) -> None:
    call("add_prompt", title="Tea", content="Boil {{ what }}", arguments=[{"name": "what"}], tags=["hot"])
    call("list_prompts", query="boil", tags=["hot"], match="all", limit=1)
    call("search", query="boil")
    call("search", query=" ")
    call("get_prompt", prompt="tea")
    call("render_prompt", prompt="tea", arguments={"what": "water"})
    call("update_prompt", prompt="tea", description="Hot", expected_version=1)
    call("update_prompt", prompt="tea", description="Cold", expected_version=1)
    call("get_prompt", prompt="tea", lines="1")
    call("get_prompt", prompt="tea", heading="None")
    call("edit_text", item="tea", edits=[{"old": "Boil", "new": "Heat"}], append="{{ what }}")
    call("edit_text", item="tea", edits=[{"old": "Boil", "new": "Heat"}])
    call("add_prompts", prompts=[{"title": "Coffee", "content": "Grind"}], key="k")
    call("add_prompts", prompts=[{"title": "Coffee", "content": "Grind"}])
    call("list_tags")
    call("delete_prompt", prompt="tea")
    call("add_resources", resources=[{"name": "cup.md", "content": "# Cup"}])
    call("add_resource", name="kettle", content="T24=", mime_type="image/png")
    call("list_resources", query="kettle")
    call("read_resource", resource="kettle")
    call("update_resource", resource="kettle", description="Steel")
    call("delete_resource", resource="kettle")
    call("add_task", title="Buy tea", due="2026-12-24", priority="high", tags=["shop"])
    call("add_task", title="Drink tea", blocked_by=["1"])
    call("add_tasks", lines=["Wash up +home", "Rest after:1"], key="k")
    call("list_tasks", status="all", limit=1)
    call("get_task", task="1")
    call("claim_task", task="1", minutes=5)
    call("update_task", task="1", status="pending", title="Buy green tea", fence=1)
    call("complete_task", task="1", note="Done")
    call("delete_task", task="2")
    call("add_project", name="kitchen")
    call("add_project", name="kitchen")
    call("update_items", items=["coffee", "#3"], tags=["+x"])
    call("update_items", items=["cup.md", "#3"], to="kitchen")
    call("update_items", items=["nowhere"], status="completed")
    call("delete", items=["coffee", "#3"])
    call("delete", items=["nowhere"])
    call("show")
    call("show", what="prompts")
    call("show", project="nowhere")
    call("catch_up")
    call("catch_up", since="yore")
    call("list_projects")
    call("history")
    call("history", item="#2")
    call("history", item="#1", version=2, against=1)
    call("history", item="#1", version=9)
    call("restore", item="#2")
    call("restore", item="nowhere")
    for tool in ("get_prompt", "render_prompt", "delete_prompt"):
        call(tool, prompt="nowhere")
    for tool in ("read_resource", "delete_resource"):
        call(tool, resource="nowhere")
    for tool in ("get_task", "claim_task", "complete_task", "delete_task"):
        call(tool, task="99")
    call("update_resource", resource="nowhere", description="x")
    call("update_task", task="99", title="x")
    call("list_prompts", limit="many")
    call("list_resources", cursor="nowhere")
    call("list_tasks", status="late")
    call("list_tags", project="nowhere")
    for tool in ("add_prompt", "add_prompts", "add_resource", "add_resources", "add_task", "add_tasks", "edit_text"):
        call(tool)


def use_prompt_store(call: Call) -> None:
    tea = call("add_prompt", title="Tea", content="Boil water", tags=["hot"])["id"]
    call("list_prompts", limit=1, offset=0)
    call("get_prompt", id=tea)
    call("update_prompt", id=tea, title="Green tea", content="Boil water")
    call("search_prompts", query="boil")
    call("filter_by_tags", tags=["hot"])
    call("list_tags")
    call("add_prompt", title="Green tea", content="Again")
    call("add_prompt", title="", content="x")
    call("add_prompt", title="Mint", content="x", tags=["a b"])
    call("list_prompts", limit=0)
    call("get_prompt", id=NOWHERE)
    call("update_prompt", id=NOWHERE, title="x", content="x")
    call("search_prompts")
    call("filter_by_tags", tags=[])
    call("delete_prompt", id=tea)
    call("delete_prompt", id=tea)


def use_mcpkg(call: Call) -> None:
    kettle = {"name": "kettle", "uri": "x:kettle", "content": "On"}
    for _ in range(2):
        call("create_prompt", name="tea", content="Boil water", description="Hot")
        call("create_resource", **kettle)
    call("update_prompt", name="tea", content="Boil milk")
    call("update_prompt", name="tea")
    call("update_resource", name="kettle", mime_type="text/markdown")
    call("update_resource", name="kettle", mime_type="text")
    for _ in range(2):
        call("delete_prompt", name="tea")
        call("delete_resource", name="kettle")


def use_todo(call: Call) -> None:
    task = call("add_task", user_id=ANN, title="Tea")["task"]["id"]
    call("list_tasks", user_id=ANN, include_completed=False)
    call("update_task", user_id=ANN, task_id=task, title="Green tea")
    call("complete_task", user_id=ANN, task_id=task)
    call("delete_task", user_id=NOWHERE, task_id=task)
    call("delete_task", user_id=ANN, task_id=task)
    call("complete_task", user_id=ANN, task_id=task)
    call("update_task", user_id=ANN, task_id=task, title="x" * 501)
    call("add_task", user_id=ANN)
    call("list_tasks", user_id="Ann")


def use_tasks(call: Call) -> None:
    call("add_task", title="Tea", description=None)
    call("list_tasks", status=None)
    call("list_tasks", status="pending")
    call("update_task", task_id=1, description="Green")
    call("complete_task", task_id=1)
    call("list_tasks")
    call("delete_task", task_id=1)
    for tool in ("complete_task", "delete_task"):
        call(tool, task_id=1)
    call("update_task", task_id=1, title="x")
    call("update_task", task_id=0)
    call("add_task", title="x" * 256)
    call("add_task", title="Tea", colour="green")
    call("list_tasks", status="late")


USES = {
    "satchel": use_satchel,
    "prompt-store": use_prompt_store,
    "mcpkg": use_mcpkg,
    "todo": use_todo,
    "tasks": use_tasks,
}


@pytest.mark.parametrize("contract", WITH_TOOLS)
def test_real_calls_satisfy_the_models_and_spoiled_ones_do_not(
    contract: str, store: str, serve: Serve, generated: Callable[[str], Path]
) -> None:
    client: Client = serve(contract, store)
    outcomes: set[tuple[str, bool]] = set()
    judges = {tool.name: Judge(generated(contract), contract, tool.name) for tool in load(contract).tools}

    def call(tool: str, **arguments: Any) -> Any:
        result, judge = client.call(tool, arguments), judges[tool]
        body, is_ok = body_of(result), not result["isError"]
        assert judge.accepts("output", body), body
        assert False in [judge.accepts("output", spoiled) for spoiled in spoil(body)]
        # A wrong argument may break a rule that no schema states, but what succeeds breaks none of the schema.
        assert judge.accepts("input", arguments) or not is_ok, arguments
        if is_ok and arguments:
            assert False in [judge.accepts("input", spoiled) for spoiled in spoil(arguments)]
        outcomes.add((tool, is_ok))
        return body

    USES[contract](call)
    assert {tool for tool, is_ok in outcomes if is_ok} == set(judges)
    failed = {tool for tool, is_ok in outcomes if not is_ok}
    assert failed == {tool for tool in judges if (contract, tool) not in WITHOUT_ARGUMENTS}


@pytest.mark.parametrize("contract", WITH_TOOLS)
def test_what_a_failing_store_answers_satisfies_the_models(contract: str, generated: Callable[[str], Path]) -> None:
    table = load(contract)
    for tool in table.tools:
        judge = Judge(generated(contract), contract, tool.name)
        for error in (StoreFailed("disk full"), RuntimeError("a bug")):
            body = table.explain_failure(tool, error)
            answer = to_builtins(body.structured if isinstance(body, Reply) else body)
            assert judge.accepts("output", answer), answer


def test_models_are_generated_from_every_published_schema(generated: Callable[[str], Path]) -> None:
    made = {(name, file.stem) for name in WITH_TOOLS for file in generated(name).glob("*.py")}
    published = {(file.parent.name, file.stem) for file in PUBLISHED.glob("*/*.json")}
    assert made - {(name, "__init__") for name in WITH_TOOLS} == published
    assert len(published) == sum(len(load(name).tools) for name in CONTRACTS)
