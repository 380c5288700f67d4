"""Calls of the contract satchel; every answer is checked: its envelope, its output schema, its error codes."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

from satchel.contracts import load
from satchel.model import ACTION_WORDS
from satchel.storage.database import open_database
from tests.support.http import HttpClient
from tests.support.stdio import Client

CODES = {"invalid_argument", "not_found", "already_exists", "conflict", "claimed", "forbidden", "unavailable"}


class Like(str):
    """Equal to every text that matches a regular expression; for ids and times that the server generates."""

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, str) and re.fullmatch(str(self), other) is not None
        )  # `self` as the key of a cache would call this method

    def __hash__(self) -> int:
        return 0


ID = Like("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
HINT = Like(r"(?s)[A-Z].{5,}[.?]")
MINUTE = Like(r"20\d\d-\d\d-\d\dT\d\d:\d\dZ")
TIME = Like(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


def result_of(client: Client | HttpClient, tool: str, arguments: dict[str, Any], **more: Any) -> Any:
    """Return the whole result of a call, after checking it; the error code `internal` always fails."""
    result = client.call(tool, arguments, **more) if isinstance(client, HttpClient) else client.call(tool, arguments)
    check(tool, result)
    return result


def check(tool: str, result: dict[str, Any]) -> None:
    """Check that a result fits the schemas and rules of the tool."""
    assert result.keys() == {"content", "structuredContent", "isError"}, result
    structured = result["structuredContent"]
    _validator(tool).validate(structured)
    assert result["isError"] is ("error" in structured)
    assert result["content"] and result["content"][0]["type"] == "text"
    if result["isError"]:
        error = structured["error"]
        assert structured.keys() == {"error"} and error["code"] in CODES, structured
        assert error["hint"] == HINT, error
        said = f"{error['code']}: {error['message']} {error['hint']}"
        assert result["content"] == [{"type": "text", "text": said}]
    else:
        assert isinstance(structured["project"], str)


def ok(client: Client | HttpClient, tool: str, given: dict[str, Any] | None = None, /, **more: Any) -> Any:
    """Return the structured answer of a call that must succeed."""
    result = result_of(client, tool, {**(given or {}), **more})
    assert result["isError"] is False, result
    return result["structuredContent"]


def text(client: Client | HttpClient, tool: str, /, **arguments: Any) -> str:
    """Return the texts of the answer of a call that must succeed, a line each."""
    result = result_of(client, tool, arguments)
    assert result["isError"] is False, result
    return "\n".join(content["text"] for content in result["content"])


def refusal(client: Client | HttpClient, tool: str, given: dict[str, Any] | None = None, /, **more: Any) -> Any:
    """Return the error of a call that must fail."""
    result = result_of(client, tool, {**(given or {}), **more})
    assert result["isError"] is True, result
    return result["structuredContent"]["error"]


def task_id(store: str, number: int) -> str:
    """Return the UUID of a task, which some contracts require and ours never shows."""
    database = open_database(store)
    with database.read() as tx:
        [[id]] = tx.all("select id from tasks where number = :number", number=number)
    database.close()
    return str(id)


def wrong(message: str, argument: str | None = None, hint: str = HINT) -> dict[str, Any]:
    """Return the expected error for a wrong argument."""
    error = {"code": "invalid_argument", "message": message, "hint": hint}
    return error if argument is None else {**error, "argument": argument}


def missing(message: str, hint: str, *near: str) -> dict[str, Any]:
    """Return the expected error for an item that does not exist, with similar names."""
    error: dict[str, Any] = {"code": "not_found", "message": message, "hint": hint}
    return {**error, "near": list(near)} if near else error


def deleted(what: str, item: str, by: str = "satchel-tests 1") -> dict[str, Any]:
    """Return the expected error for a deleted item that the caller may restore."""
    message = Like(rf"{what} was deleted {MINUTE} by {by}\.")
    return {"code": "not_found", "message": message, "hint": "Use restore to bring it back.", "deleted": item}


def read_rows(answer: dict[str, Any], *names: str) -> list[tuple[Any, ...]]:
    """Return some members of each row of `history`; `did` names the change in one word."""
    [entries] = [answer[member] for member in ("changes", "versions") if member in answer]
    return [tuple({"did": ACTION_WORDS[entry["action"]], **entry}[name] for name in names) for entry in entries]


def pages(client: Client, tool: str, key: str, **arguments: Any) -> list[list[Any]]:
    """Return every page of a list, after checking the text of each."""
    found: list[list[Any]] = []
    cursor: dict[str, str] = {}
    while True:
        result = result_of(client, tool, {**arguments, **cursor})
        structured = result["structuredContent"]
        found.append(structured[key])
        if "next_cursor" not in structured:
            assert "More with cursor" not in result["content"][0]["text"]
            return found
        cursor = {"cursor": structured["next_cursor"]}
        assert result["content"][0]["text"].endswith(f"More with cursor {structured['next_cursor']}")


def answered(client: Client, method: str, params: dict[str, Any] | None = None) -> Any:
    """Return the response to a request of the handshake generation; notifications of changes may arrive before it."""
    identity = client.ask(method, params)
    while (message := client.read()).get("id") != identity:
        assert message["method"].startswith("notifications/"), message
    return message


def make_library(root: Path, name: str, prompts: dict[str, tuple[str, list[str]]]) -> None:
    """Write a library to disk: each prompt has a template and arguments; ! at the end marks a required one."""
    folder = root / name / "prompts"
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for key, (template, arguments) in prompts.items():
        (folder / f"{key}.md").write_text(template)
        lines.append(f'[prompts.{key}]\ndescription = "About {key}"\n')
        for argument in arguments:
            lines.append(f"[[prompts.{key}.arguments]]\n")
            lines.append(f'name = "{argument.rstrip("!")}"\nrequired = {str(argument.endswith("!")).lower()}\n')
    manifest = root / name / "twig.toml"
    manifest.write_text("".join(lines))


@cache
def _validator(tool: str) -> jsonschema.Draft202012Validator:
    """Return a validator that refuses members of an answer that the tool's schema does not name."""
    [schema] = [row.output_schema for row in load("satchel").tools if row.name == tool]
    return jsonschema.Draft202012Validator(_without_others(schema))


def _without_others(schema: Any) -> Any:
    """Return a schema whose objects refuse all members that it does not name."""
    if isinstance(schema, list):
        return [_without_others(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: one if key == "default" else _without_others(one) for key, one in schema.items()}
    return {**closed, "additionalProperties": False} if schema.get("type") == "object" else closed
