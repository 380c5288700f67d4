"""How the cross-user matrix asks: callers on a connection, cells, and the calls that name something."""

import http.client
import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from satchel.contracts.contract import Contract, Tool
from satchel.contracts.schema import fields_of
from tests.attacks.worlds import ANN, CANARY, SPELLINGS, Cast, Spelling, Thing
from tests.support.process import PATIENCE

TASK, PROMPT, DOCUMENT, PROJECT, USER = ("task",), ("prompt",), ("document",), ("project",), ("user",)
ITEM = ("task", "prompt", "document", "project")
REFERENCES: dict[str, tuple[str, ...]] = {
    "task": TASK,
    "task_id": TASK,
    "blocked_by": TASK,
    "parent": TASK,
    "lines": TASK,
    "user_id": USER,
    "prompt": PROMPT,
    "id": PROMPT,
    "resource": DOCUMENT,
    "item": ITEM,
    "items": ITEM,
    "project": PROJECT,
    "to": PROJECT,
    "replaced_by": (*PROMPT, *DOCUMENT),
}
# Names that only those tools take which find something by them; elsewhere a name is that of something new.
NAMES = {
    ("mcpkg", "update_prompt"): PROMPT,
    ("mcpkg", "delete_prompt"): PROMPT,
    ("mcpkg", "update_resource"): DOCUMENT,
    ("mcpkg", "delete_resource"): DOCUMENT,
    ("satchel", "add_project"): PROJECT,
}
PLAIN = {  # arguments that name nothing
    *("name", "title", "content", "description", "tags", "query", "kind", "since", "limit", "offset", "cursor"),
    *("match", "arguments", "whole", "prompts", "resources", "key", "expected_version", "uri", "mime_type", "status"),
    *("priority", "due", "note", "fence", "minutes", "release", "copy", "version", "against", "by", "until", "edits"),
    *("append", "prepend", "heading", "include_completed", "what"),
    *("where", "dry_run", "text", "sort", "expires", "label", "take_over"),
}
PLAIN_LINES = ("get_prompt", "read_resource")  # whose `lines` is a range


def find_kinds(contract: str, tool: str, argument: str) -> tuple[str, ...]:
    """Return the kinds of things that an argument may name."""
    if argument == "lines" and tool in PLAIN_LINES:
        return ()
    if argument == "name":
        return NAMES.get((contract, tool), ())
    return REFERENCES.get(argument, ())


METHODS: dict[str, tuple[str, tuple[str, ...]]] = {
    "prompts/list": ("", ()),
    "resources/list": ("", ()),
    "resources/templates/list": ("", ()),
    "prompts/get": ("name", ("prompt", "task")),
    "resources/read": ("uri", ITEM),
    "completion/complete": ("ref", ("prompt",)),
    "skills/list": ("", ()),
    "skills/get": ("uri", ITEM),
}


class Asker:
    """A caller with a token, or without one, on one connection that stays open."""

    def __init__(self, port: int, token: str | None) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        self._headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        self._headers["MCP-Protocol-Version"] = "2025-06-18"
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"

    def send(self, verb: str, path: str, body: object = None, **headers: str) -> tuple[int, str]:
        """Return the status and the text of an answer."""
        raw = None if body is None else json.dumps(body).encode()
        self._connection.request(verb, path, raw, {**self._headers, **headers})
        response = self._connection.getresponse()
        return response.status, response.read().decode()

    def close(self) -> None:
        self._connection.close()

    def ask(self, path: str, method: str, params: dict[str, Any]) -> tuple[int, str]:
        """Return the answer to a request of MCP."""
        return self.send("POST", path, {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


Connect = Callable[[str | None], Asker]


class Matrix:
    """Cells that were asked, and what came of them."""

    step = 1  # one spelling of so many is asked

    def __init__(self) -> None:
        self.cells = self.asked = 0
        self._turn = 0
        self._absent: dict[tuple[Any, ...], str] = {}

    def choose(self, spellings: Sequence[str] | dict[str, Spelling]) -> list[str]:
        """Return the spellings whose turn it is."""
        chosen = [one for place, one in enumerate(spellings, self._turn) if place % self.step == 0]
        self._turn += len(spellings)
        return chosen

    def compare(self, key: tuple[Any, ...], thing: Thing, ask: Callable[[Thing], tuple[int, str]]) -> None:
        """Ask for something foreign, and once for its twin; the answers are the same but for what was asked."""
        self.cells += 1
        self.asked += 1
        told = blank(ask(thing), thing)
        assert CANARY not in told.lower(), (key, told)
        if key not in self._absent:
            self.asked += 1
            twin = thing.twin()
            self._absent[key] = blank(ask(twin), twin)
        assert told == self._absent[key], (key, thing.keys)


def blank(answer: tuple[int, str], thing: Thing) -> str:
    """Return an answer without the text of the question."""
    text = f"{answer[0]} {answer[1]}"
    for spelling in ("quoted uri",):
        if thing.kind == "prompt":
            text = text.replace(str(SPELLINGS["prompt"][spelling](thing)), "satchel://prompt/X")
    for key in sorted({*thing.keys, thing.id.replace("-", "")} - {""}, key=len, reverse=True):
        text = text.replace(key, "X")
    return text


def make_arguments(cast: Cast, tool: Tool) -> dict[str, Any]:
    """Arguments with which a tool would do something of Ann's own."""
    samples: dict[str, Any] = {
        "title": "New",
        "text": "new",
        "content": "text",
        "query": "mine",
        "tags": ["tag"],
        "description": "text",
        "name": "new",
        "prompt": "mine",
        "resource": "mine.md",
        "task": f"#{cast.own_task.number}",
        "item": "mine",
        "items": ["mine"],
        "id": cast.own.id,
        "task_id": cast.own_task.id,
        "user_id": ANN,
        "uri": "doc:new",
        "prompts": [{"title": "New", "content": "x"}],
        "resources": [{"name": "new", "content": "x"}],
        "lines": ["New"],
        "edits": [{"old": "plain", "new": "text"}],
    }
    needed = [field.name for field in fields_of(tool.input) if field.is_required]
    if "where" in tool.input.__struct_fields__:
        needed.append("items")
    return {name: samples[name] for name in [*needed, *tool.at_least_one[:1]]}


def make_calls(cast: Cast, contract: Contract) -> Iterator[tuple[str, str, str, Callable[[object], dict[str, Any]]]]:
    """Yield for every argument that may name an item: tool, argument, kind of the item, and arguments that name it."""
    for tool in contract.tools:
        base = make_arguments(cast, tool)
        if contract.name == "tasks" and "task_id" in base:
            base["task_id"] = cast.own_task.number
        for field in fields_of(tool.input):
            for kind in find_kinds(contract.name, tool.name, field.name):
                yield tool.name, field.name, kind, partial(_name, base, field.name, field.schema.get("type"))


def _name(base: dict[str, Any], argument: str, type: object, reference: object) -> dict[str, Any]:
    if argument == "lines":
        return {**base, "lines": [f"New after:{reference}"]}
    return {**base, argument: [reference] if type == "array" else reference}
