"""Collect every error of a contract from a running server: docs.py prints them on the contract's page.

Calls with wrong arguments are made up from the input schemas, one for each bound of each argument, published or not.
Calls that fail for another reason (nothing there, a name in use) are listed here, because no table holds them.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from satchel.contracts import load
from satchel.contracts.content import MAX_ANSWER_BYTES
from satchel.contracts.contract import Contract, Tool
from satchel.contracts.schema import Field, fields_of
from satchel.errors import (
    AnswerTooLarge,
    Forbidden,
    NotConfirmed,
    NothingReady,
    OutcomeUnknown,
    StoreFailed,
    StoreGone,
    TaskHeld,
)
from satchel.model import Claim, Scope
from satchel.protocol import INTERNAL_ERROR, ProtocolError

USER, OTHER = "550e8400-e29b-41d4-a716-446655440000", "11111111-2222-4333-8444-555555555555"
ABSENT = "00000000-0000-4000-8000-000000000000"
LONGEST_SAMPLE = 160  # characters of an error text that are printed


class Case(NamedTuple):
    """A call that fails, and the reason. Without a reason the call prepares the next ones."""

    reason: str
    method: str  # a tool, or an MCP method
    arguments: dict[str, Any]
    argument: str = ""  # whose name is printed as ARGUMENT, because the text is the same for every argument


class Failure(NamedTuple):
    """An error as clients receive it."""

    reasons: list[str]
    code: str
    text: str


# -- calls that fail for what is in the store, or in a library ----------------------------------------------------

_ADD = {"title": "A", "content": "x"}

CASES: dict[str, list[Case]] = {
    "prompt-store": [
        Case("no prompt has this `id`", "get_prompt", {"id": ABSENT}),
        Case("", "add_prompt", _ADD),
        Case("another prompt of the project has this `title`", "add_prompt", _ADD),
    ],
    "mcpkg": [
        Case("`name` is empty, or longer than 255 characters", "create_prompt", {"name": "", "content": "x"}),
        Case("`name` has a character that is not allowed", "create_prompt", {"name": "a b", "content": "x"}),
        Case("`content` of a prompt is empty", "create_prompt", {"name": "a", "content": ""}),
        Case("`content` is too long", "create_prompt", {"name": "a", "content": "x" * (4 * 1024 * 1024 + 1)}),
        Case("no prompt has this `name`", "delete_prompt", {"name": "NAME"}),
        Case("no resource has this `name`", "delete_resource", {"name": "NAME"}),
        Case("", "create_prompt", {"name": "NAME", "content": "x"}),
        Case("another prompt has this `name`", "create_prompt", {"name": "NAME", "content": "x"}),
        Case("`uri` is not a URI", "create_resource", {"name": "a", "uri": "a b", "content": "x"}),
        Case("", "create_resource", {"name": "NAME", "uri": "a:b", "content": "x"}),
        Case("another resource has this `name`", "create_resource", {"name": "NAME", "uri": "a:c", "content": "x"}),
        Case("another resource has this `uri`", "create_resource", {"name": "OTHER", "uri": "a:b", "content": "x"}),
        Case("`mime_type` is not a MIME type", "update_resource", {"name": "NAME", "mime_type": "text"}),
        Case(
            "`mime_type` changes between text and binary without `content`",
            "update_resource",
            {"name": "NAME", "mime_type": "image/png"},
        ),
        Case(
            "`content` of a binary type is not base64",
            "update_resource",
            {"name": "NAME", "mime_type": "image/png", "content": "!"},
        ),
        Case("no prompt has this name", "prompts/get", {"name": "MISSING"}),
        Case("no resource has this URI", "resources/read", {"uri": "a:missing"}),
        Case("`cursor` is given, but the list has one page", "prompts/list", {"cursor": "x"}),
    ],
    "twig": [
        Case("no library has this prompt", "prompts/get", {"name": "everyday:missing"}),
        Case("a required argument is missing", "prompts/get", {"name": "everyday:greet"}),
        Case("the prompt's file is missing", "prompts/get", {"name": "everyday:gone"}),
        Case("the template cannot be rendered", "prompts/get", {"name": "everyday:broken"}),
        Case("`cursor` is not valid", "prompts/list", {"cursor": "x"}),
    ],
    "todo": [
        Case("no task has this `task_id`", "delete_task", {"user_id": USER, "task_id": ABSENT}),
        Case("`user_id` is not the user of the token or of `--user`", "list_tasks", {"user_id": OTHER}),
    ],
    "tasks": [
        Case("no task of the user has this `task_id`", "delete_task", {"task_id": 7}),
        Case("nothing to update is given", "update_task", {"task_id": 7}),
    ],
    "satchel": [
        Case("the prompt does not exist", "get_prompt", {"prompt": "NAME"}),
        Case("the document does not exist", "read_resource", {"resource": "NAME"}),
        Case("the task does not exist", "complete_task", {"task": 7}),
        Case("the project does not exist", "list_prompts", {"project": "NAME"}),
        Case("", "add_prompt", {**_ADD, "name": "code-review"}),
        Case("the prompt does not exist, and another has a similar name", "get_prompt", {"prompt": "code-reviews"}),
        Case("another prompt has this `title`", "add_prompt", _ADD),
        Case("another prompt has this `name`", "add_prompt", {**_ADD, "title": "B", "name": "code-review"}),
        Case(
            "the prompt was changed since it was read",
            "update_prompt",
            {"prompt": "code-review", "title": "C", "expected_version": 7},
        ),
        Case("nothing to update is given", "update_prompt", {"prompt": "code-review"}),
        Case("`name` has a character that is not allowed", "add_prompt", {**_ADD, "name": "a b"}),
        Case("`name` is longer than 255 characters", "add_prompt", {**_ADD, "name": "x" * 256}),
        Case("`name` is that of a prompt of the server itself", "add_prompt", {**_ADD, "name": "start-task"}),
        Case("a tag has a character that is not allowed, or is too long", "add_prompt", {**_ADD, "tags": ["a b"]}),
        Case("the name of an argument is not allowed", "add_prompt", {**_ADD, "arguments": [{"name": "A b"}]}),
        Case("two arguments have the same name", "add_prompt", {**_ADD, "arguments": [{"name": "a"}, {"name": "a"}]}),
        Case(
            "a value of an argument is longer than 200 characters",
            "add_prompt",
            {**_ADD, "arguments": [{"name": "a", "values": ["x" * 201]}]},
        ),
        Case(
            "a template is longer than 65,536 bytes",
            "add_prompt",
            {**_ADD, "arguments": [{"name": "a"}], "content": "x" * 65537},
        ),
        Case(
            "",
            "add_prompt",
            {"title": "U", "name": "u", "content": "{{ a }}", "arguments": [{"name": "a", "required": True}]},
        ),
        Case("a required argument of the prompt has no value", "get_prompt", {"prompt": "u", "arguments": {}}),
        Case("the prompt has no argument of this name", "get_prompt", {"prompt": "u", "arguments": {"b": "x"}}),
        Case(
            "",
            "add_prompt",
            {"title": "W", "name": "w", "content": "{{ a }}", "arguments": [{"name": "a", "values": ["x", "y"]}]},
        ),
        Case(
            "an argument of the prompt has a value that is not allowed",
            "get_prompt",
            {"prompt": "w", "arguments": {"a": "z"}},
        ),
        Case(
            "the content is not a valid template",
            "add_prompt",
            {"title": "V", "name": "v", "content": "{% if %}", "arguments": [{"name": "a"}]},
        ),
        Case("", "add_prompt", {"title": "V", "name": "v", "content": "{{ a.b() }}", "arguments": [{"name": "a"}]}),
        Case("the template cannot be rendered", "render_prompt", {"prompt": "v"}),
        Case("one of several prompts is refused", "add_prompts", {"prompts": [{"title": "", "content": "x"}]}),
        Case("the list is empty", "add_prompts", {"prompts": []}),
        Case("`old` is not in the text", "edit_text", {"item": "u", "edits": [{"old": "NAME", "new": "x"}]}),
        Case("`old` is in the text more than once", "edit_text", {"item": "u", "edits": [{"old": "{", "new": "x"}]}),
        Case("`old` is empty", "edit_text", {"item": "u", "edits": [{"old": "", "new": "x"}]}),
        Case("an edit changes nothing", "edit_text", {"item": "u", "edits": [{"old": "a", "new": "a"}]}),
        Case("`lines` is not a range", "get_prompt", {"prompt": "u", "lines": "all"}),
        Case("`lines` begins behind the last line", "get_prompt", {"prompt": "u", "lines": "7-9"}),
        Case("no heading has this text", "get_prompt", {"prompt": "u", "heading": "NAME"}),
        Case("both `lines` and `heading` are given", "get_prompt", {"prompt": "u", "lines": "1", "heading": "NAME"}),
        Case("the prompt belongs to a library", "update_prompt", {"prompt": "everyday:greet", "title": "x"}),
        Case("`uri` is not a URI", "add_resource", {"name": "a", "content": "x", "uri": "a b"}),
        Case("`mime_type` is not a MIME type", "add_resource", {"name": "a", "content": "x", "mime_type": "text"}),
        Case(
            "`content` of a binary type is not base64",
            "add_resource",
            {"name": "a", "content": "!", "mime_type": "image/png"},
        ),
        Case("", "add_resource", {"name": "NAME", "content": "x", "uri": "a:b"}),
        Case(
            "`mime_type` changes between text and binary without `content`",
            "update_resource",
            {"resource": "NAME", "mime_type": "image/png"},
        ),
        Case("another document has this `uri`", "add_resource", {"name": "b", "content": "x", "uri": "a:b"}),
        Case("an argument has a similar name", "list_tasks", {"tag": "docs"}),
        Case("the tool does not have this argument", "complete_task", {"task": 1, "mood": "good"}),
        Case("`due` is not a date", "add_task", {"title": "A", "due": "soon"}),
        Case("", "add_task", {"title": "A"}),
        Case("", "add_task", {"title": "A"}),
        Case("several tasks have this title", "complete_task", {"task": "A"}),
        Case("a task would wait for itself", "update_task", {"task": 1, "blocked_by": [1]}),
        Case("some entries of a list have signs and others do not", "update_task", {"task": 1, "tags": ["+a", "b"]}),
        Case("a task is set in progress without a claim", "update_task", {"task": 1, "status": "in_progress"}),
        Case("a line has a value that breaks a rule", "add_tasks", {"lines": ["A", "B due:2026-02-30"]}),
        Case("a line waits for a line that does not exist", "add_tasks", {"lines": ["A after:7"]}),
        Case("lines wait for each other", "add_tasks", {"lines": ["A after:2", "B after:1"]}),
        Case("a line has two values for one field", "add_tasks", {"lines": ["A !low !high"]}),
        Case("a line is in progress", "add_tasks", {"lines": ["[~] A"]}),
        Case("two lines have one label", "add_tasks", {"lines": ["#1 A", "#1 B"]}),
        Case("`lines` has no task", "add_tasks", {"lines": []}),
        Case("`lines` has more than 200 tasks", "add_tasks", {"lines": ["x"] * 201}),
        Case("", "add_tasks", {"lines": ["B"], "key": "KEY"}),
        Case("`key` was used with other input", "add_tasks", {"lines": ["C"], "key": "KEY"}),
        Case("the task was never claimed", "complete_task", {"task": 1, "fence": 1}),
        Case("", "claim_task", {"task": 1}),
        Case("`fence` is not that of the newest claim", "complete_task", {"task": 1, "fence": 7}),
        Case("", "complete_task", {"task": 1}),
        Case("a closed task is claimed", "claim_task", {"task": 1}),
        Case("`cursor` belongs to another list", "list_tasks", {"cursor": "x"}),
        Case("no prompt has this name", "prompts/get", {"name": "MISSING"}),
        Case("a required argument is missing", "prompts/get", {"name": "u"}),
        Case("no resource has this URI", "resources/read", {"uri": "a:missing"}),
        Case("`cursor` is not valid", "prompts/list", {"cursor": "x"}),
    ],
}

LIBRARY = {
    "twig.toml": """
[prompts.greet]
[[prompts.greet.arguments]]
name = "who"
required = true
[prompts.broken]
[prompts.gone]
""",
    "prompts/greet.md": "Hello {{ who }}",
    "prompts/broken.md": "{% if %}",
    "prompts/gone.md": "",
}


# -- calls with wrong arguments, made up from the schemas ---------------------------------------------------------


def wrong_arguments(contract: Contract) -> Iterator[Case]:
    """Yield a call for each way in which an argument of a tool can be wrong."""
    for tool in contract.tools:
        fields = fields_of(tool.input)
        base = {field.name: _valid(field) for field in fields if field.is_required}
        if tool.at_least_one:
            [one] = [field for field in fields if field.name == tool.at_least_one[0]]
            yield Case("nothing to update is given", tool.name, dict(base))
            base[one.name] = _valid(one)
        for field in fields:
            if field.is_required:
                rest = {name: value for name, value in base.items() if name != field.name}
                yield Case("a required argument is missing", tool.name, rest, field.name)
            for what, value in _wrong_types(field):
                yield Case(what, tool.name, {**base, field.name: value}, field.name)
            for what, value in _out_of_bounds(field):
                yield Case(f"`{field.name}` {what}", tool.name, {**base, field.name: value})
        if contract.is_strict:
            yield Case("an argument is unknown", tool.name, {**base, "NAME": 1}, "NAME")


def _kind(field: Field) -> str:
    kind = field.schema["type"]
    return kind[0] if isinstance(kind, list) else str(kind)


def _valid(field: Field) -> Any:
    if field.schema.get("format") == "uuid":
        return USER if field.name == "user_id" else ABSENT
    return _sample({**field.schema, "type": _kind(field)})


def _sample(schema: dict[str, Any]) -> Any:
    """Return a value that satisfies a schema."""
    if "enum" in schema:
        return schema["enum"][0]
    if schema["type"] == "array":
        return [_sample(schema["items"])]
    if schema["type"] == "object":
        return {name: _sample(schema["properties"][name]) for name in schema.get("required", ())}
    return {"string": "x", "integer": 1, "boolean": True}[schema["type"]]


def _wrong_types(field: Field) -> list[tuple[str, Any]]:
    kind = _kind(field)
    names = {"string": "a string", "integer": "an integer", "boolean": "a boolean", "array": "an array"}
    other: Any = {"string": {}, "array": True}.get(kind, "x")
    wrong: list[tuple[str, Any]] = [(f"an argument is not {names.get(kind, 'an object')}", other)]
    if kind == "string" and "format" not in field.schema and "enum" not in field.schema:
        wrong.append(("a text has a NUL or half a surrogate pair", "\0"))
    if kind == "array":
        wrong.append(("an item of an array has the wrong type", [True]))
    return wrong


def _out_of_bounds(field: Field) -> Iterator[tuple[str, Any]]:
    if field.hidden.is_blank_refused:
        yield "is empty or white space", " "
    for keyword, limit in field.bounds.items():
        if keyword == "items":
            for inner, bound in limit.items():
                what, value = _beyond(inner, bound, {"type": "string"})
                yield f"has an item that {what}", [value]
        else:
            yield _beyond(keyword, limit, field.schema)


def _beyond(keyword: str, limit: Any, schema: dict[str, Any]) -> tuple[str, Any]:
    """Return a value beyond a limit, and the reason."""
    most = limit + 1 if keyword == "maxItems" else 0
    item = _sample(schema["items"]) if "items" in schema else "x"
    many: Any = {f"x{number}": "x" for number in range(most)} if schema["type"] == "object" else [item] * most
    beyond: dict[str, tuple[str, Any]] = {
        "minLength": ("is empty", ""),
        "maxLength": (f"is longer than {limit} characters", lambda: "x" * (limit + 1)),
        "maxBytes": (f"is longer than {limit} bytes", lambda: "x" * (limit + 1)),
        "pattern": ("has a character that is not allowed", "a b"),
        "format": (f"is not of the format {limit}", "x"),
        "enum": ("is not an allowed value", "x"),
        "minimum": (f"is below {limit}", lambda: limit - 1),
        "maximum": (f"is above {limit}", lambda: limit + 1),
        "minItems": ("is empty", []),
        "maxItems": (f"has more than {limit} items", many),
    }
    what, value = beyond[keyword]
    return what, value() if callable(value) else value


# -- asking a server ----------------------------------------------------------------------------------------------


@cache
def failures(contract_name: str) -> tuple[list[Failure], list[Failure]]:
    """Return the errors of the tools of a contract, and those of its methods."""
    contract = load(contract_name)
    of_tools: dict[tuple[str, str], Failure] = {}
    of_methods: dict[tuple[str, str], Failure] = {}
    made_up = list(wrong_arguments(contract))
    for case, reply in zip(made_up, ask(contract, made_up), strict=True):
        if "error" in reply or reply["result"]["isError"]:  # else the tool takes more than its schema says
            _note(of_tools, case.reason, *_said(reply, case))
    cases = CASES[contract.name]
    for case, reply in zip(cases, ask(contract, cases), strict=True):
        if not case.reason:
            assert "error" not in reply and not reply["result"].get("isError"), (case, reply)
            continue
        found = of_methods if "/" in case.method else of_tools
        _note(found, case.reason, *_said(reply, case))
    for reason, body in _of_the_server(contract):
        _note(of_tools, reason, *_code_and_text(body))
    for reason, error in _of_methods(contract):
        told = error.with_reason() if contract.explains_mistakes else error
        _note(of_methods, reason, *_said({"error": told.body()}, Case(reason, "", {})))
    return list(of_tools.values()), list(of_methods.values())


def _note(found: dict[tuple[str, str], Failure], reason: str, code: str, text: str) -> None:
    reasons = found.setdefault((code, text), Failure([], code, text)).reasons
    if reason not in reasons:
        reasons.append(reason)


def _said(reply: dict[str, Any], case: Case) -> tuple[str, str]:
    if "error" in reply:
        error = reply["error"]
        data = "" if "data" not in error else f", data {json.dumps(error['data'])}"
        return str(error["code"]), f"{error['message']}{data}"
    result = reply["result"]
    assert result["isError"], (case, reply)
    code, text = _code_and_text(result.get("structuredContent", result["content"][0]["text"]))
    if case.argument:
        text = re.sub(rf"(?<!of a )\b{case.argument}\b", "ARGUMENT", text)
    return code, text


def _code_and_text(body: Any) -> tuple[str, str]:
    """Find code and text of an error: in `error`, beside it, in `message`, or in a text without a code."""
    body = getattr(body, "structured", body)
    if isinstance(body, str):
        return "", _cut(body)
    error = body.get("error")
    if isinstance(error, dict):
        return error["code"], _cut(" ".join(error[key] for key in ("message", "hint") if key in error))
    return body.get("code", ""), _cut(error or body["message"])


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_SAMPLE else f"{text[:60]} … {text[-60:]}"


def _of_the_server(contract: Contract) -> Iterator[tuple[str, Any]]:
    """Return the errors of tools when the database, or the code, fails."""
    tool: Tool | None = contract.tools[0] if contract.tools else None
    large = next((tool for tool in contract.tools if tool.size_argument is not None), tool)
    if tool is not None and large is not None:
        too_large = AnswerTooLarge(large.name, MAX_ANSWER_BYTES, large.size_argument)
        yield "the answer is too large", contract.explain_failure(large, too_large)
        yield "the database fails", contract.explain_failure(tool, StoreFailed("disk full"))
        yield "an unexpected error, which is logged", contract.explain_failure(tool, RuntimeError("a bug"))
        if OutcomeUnknown in contract.failures:
            unknown = contract.explain_failure(tool, OutcomeUnknown("connection lost"))
            yield "the connection to the store is lost while a call is committed", unknown
        if StoreGone in contract.failures:
            yield "the file of the store is gone", contract.explain_failure(tool, StoreGone("gone"))
        if NotConfirmed in contract.failures:
            yield "the user was asked and said no", contract.explain_failure(tool, NotConfirmed("decline"))
            yield "the user was asked and did not answer", contract.explain_failure(tool, NotConfirmed("cancel"))
        if contract.name == "satchel":  # the others have no argument that names a project
            yield (
                "the token is not for this project",
                contract.explain_failure(tool, Forbidden("project", "NAME", Scope())),
            )
            claim = Claim(holder="claude-code 3f2a", holder_key="", until="2026-11-17T14:30:00.000000Z", fence=2)
            yield "another agent has claimed the task", contract.explain_failure(tool, TaskHeld(7, claim))
            nothing = NothingReady("default", blocked=2, held=1)
            yield "there is no task that could be claimed", contract.explain_failure(tool, nothing)


def _of_methods(contract: Contract) -> Iterator[tuple[str, ProtocolError]]:
    """Return the errors of methods when the answer is too large, or when the database or the code fails."""
    if not contract.methods:
        return
    too_large = AnswerTooLarge(next(iter(contract.methods)), MAX_ANSWER_BYTES)
    yield "the answer is too large", contract.method_failures[AnswerTooLarge](too_large)
    if StoreGone in contract.method_failures:
        yield "the file of the store is gone", contract.method_failures[StoreGone](StoreGone("gone"))
    yield "an unexpected error, which is logged", ProtocolError(INTERNAL_ERROR, "Internal error")


def ask(contract: Contract, cases: list[Case]) -> list[dict[str, Any]]:
    """Yield the answers of a server of this contract, call by call."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in LIBRARY.items():
            file = Path(folder, "libraries", "everyday", name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        command = [sys.executable, "-m", "satchel", "serve", "--contract", contract.name]
        command += ["--database", f"{folder}/satchel.db", "--libraries", f"{folder}/libraries", "--user", USER]
        server = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder
        )
        assert server.stdin is not None and server.stdout is not None
        client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "docs", "version": "1"}}
        replies = []
        with server:
            for number, (method, params) in enumerate([("initialize", client), *map(_request, cases)]):
                message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
                server.stdin.write(json.dumps(message).encode() + b"\n")
                server.stdin.flush()
                if number == 1:
                    Path(folder, "libraries", "everyday", "prompts", "gone.md").unlink()
                reply: dict[str, Any] = {}
                while reply.get("id") != number:  # notifications of changed lists may come before it
                    reply = json.loads(server.stdout.readline().decode().replace(folder, ""))
                replies.append(reply)
            server.stdin.close()
        return replies[1:]


def _request(case: Case) -> tuple[str, dict[str, Any]]:
    if "/" in case.method:
        return case.method, case.arguments
    return "tools/call", {"name": case.method, "arguments": case.arguments}
