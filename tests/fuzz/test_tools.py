"""Every tool with arguments made from its own schema, through every door: a success or a documented failure.

The doors are stdio, HTTP and, for `tasks`, `POST /mcp/tool/NAME`; each has a copy of one store, and they agree.
"""

import json
import random
import re
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from satchel.contracts import load
from satchel.contracts.schema import json_schema
from tests.faults.judging import comparable
from tests.fuzz.values import make_near, make_valid
from tests.support.every_call import fill_store
from tests.support.in_process import InProcess
from tests.support.in_process_http import HttpInProcess
from tests.support.runners import ADA, STORED
from tests.support.soak import amount

CASES = amount(5, 500)  # of each tool
ORDER = ("tasks", *(one for one in STORED if one != "tasks"))  # the plain door sees only the first

Ask = Callable[[str, str, dict[str, Any]], Any]  # contract, tool and arguments; the whole result


@pytest.fixture
def filled(sqlite_template: Path, tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A filled store, and its ids."""
    path = Path(shutil.copy(sqlite_template, tmp_path / "filled.db"))
    return path, fill_store(path)


@pytest.fixture
def doors(filled: tuple[Path, dict[str, str]], tmp_path: Path) -> Iterator[dict[str, Ask]]:
    """Each door on a copy of the store."""
    stores = [str(shutil.copy(filled[0], tmp_path / f"{name}.db")) for name in ("stdio", "http", "plain")]
    clients = {one: InProcess("--contract", one, "--database", stores[0], "--user", ADA) for one in STORED}
    with (
        HttpInProcess("--database", stores[1], "--user", ADA) as server,
        HttpInProcess("--database", stores[2], "--user", ADA) as plain,
    ):

        def ask_plainly(_: str, tool: str, arguments: dict[str, Any]) -> Any:
            body, headers = json.dumps(arguments).encode(), {"Content-Type": "application/json"}
            answer = plain.fetch("POST", f"/mcp/tool/{tool}", body, headers)
            code = answer.json.get("code")
            statuses = {None: 200, "VALIDATION_ERROR": 400, "NOT_FOUND": 404}
            assert answer.status == statuses[code], (tool, arguments, answer)
            return {"structuredContent": answer.json, "isError": code is not None}

        yield {
            "stdio": lambda contract, tool, arguments: clients[contract].call(tool, arguments),
            "http": lambda contract, tool, arguments: server.call(tool, arguments, path=f"/mcp/{contract}"),
            "plain": ask_plainly,
        }
    for client in clients.values():
        assert client.close() == 0
        assert "surprise in" not in client.stderr, client.stderr


@pytest.mark.timeout(3600)
def test_every_tool_answers_valid_arguments_and_nearly_valid_ones(
    doors: dict[str, Ask], filled: tuple[Path, dict[str, str]]
) -> None:
    dice = random.Random(15)
    for contract in ORDER:
        # A claim names its holder, whom stdio tells from other sessions, so that it comes last.
        for tool in sorted(load(contract).tools, key=lambda one: one.name == "claim_task"):
            schema = json_schema(tool.input, is_strict=load(contract).is_strict)
            for case in range(CASES):
                given = make_valid(schema, dice) if case % 2 else make_near(schema, dice)
                if contract == "todo" and case % 2:
                    given["user_id"] = ADA
                given = with_ids(given, filled[1])
                answers = [
                    check(contract, tool.name, given, ask(contract, tool.name, given))
                    for door, ask in doors.items()
                    if door != "plain" or contract == "tasks"
                ]
                if tool.name != "claim_task":
                    assert all(one == answers[0] for one in answers), (contract, tool.name, given, answers)


def check(contract: str, tool: str, given: dict[str, Any], result: dict[str, Any]) -> str:
    """Return the answer, after making sure that it is one that the contract documents."""
    text = json.dumps(result)
    for never in ("Unable to complete request", "INTERNAL_ERROR", '"internal"', "Traceback", "-32603"):
        assert never not in text, (contract, tool, given, result)
    if "structuredContent" in result:
        errors = list(validator(contract, tool).iter_errors(result["structuredContent"]))
        assert errors == [], (contract, tool, given, errors)
    said = result["structuredContent"] if "structuredContent" in result else result["content"]
    text = json.dumps([said, result["isError"]], ensure_ascii=True)
    text = re.sub(r" \([0-9a-f]{4}\)", "", text)  # the session of an author, whom only some doors tell from others
    text = re.sub(r"prompt-[0-9a-f]{8}", "prompt-ID", text)  # the name of a title without letters
    return comparable(re.sub(r"cursor\W+[\w=]{20,}", "CURSOR", text))  # there is a time in it


@cache
def validator(contract: str, tool: str) -> jsonschema.Draft202012Validator:
    [row] = [one for one in load(contract).tools if one.name == tool]
    return jsonschema.Draft202012Validator(load(contract).output_schema(row))


def with_ids(value: Any, ids: dict[str, str]) -> Any:
    """Return a value with the ids of the store in the places that are meant for them."""
    if isinstance(value, str):
        return ids.get(value, value)
    if isinstance(value, list):
        return [with_ids(one, ids) for one in value]
    return {key: with_ids(one, ids) for key, one in value.items()} if isinstance(value, dict) else value
