"""The cross-user matrix: who asks, by which tool, method or route, for what of others, in which spelling.

The rows are made from the tables of contracts, methods and routes: a new tool, argument, method or route fails here
until it has a place. A cell asks for something foreign and for something that does not exist, and both answers must be
the same byte for byte but for what was asked. At the end nothing foreign has changed, and no answer told any of it.
"""

import http.client
import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from satchel.contracts import CONTRACTS, load
from satchel.contracts.contract import Contract, Tool
from satchel.contracts.schema import fields_of
from satchel.model import PromptDraft, ResourceDraft, Scope, TaskDraft, TaskPatch
from satchel.services import projects, prompts, resources, task_notes, tasks
from satchel.storage.database import Tx
from tests.attacks.worlds import World, find_addresses
from tests.support.http import HttpServer
from tests.support.process import PATIENCE
from tests.support.soak import amount

pytestmark = pytest.mark.process

ANN, BOB = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
CANARY = "xyzzy"  # in every title, name and text that is foreign
OTHER_CANARY = "plugh"  # in titles that are foreign to a limited token only: they are like no title of Bob
FIRST_FOREIGN = 700_000  # numbers of foreign tasks come after this, so that they are no part of other numbers
ABSENT_TASK, ABSENT_ID = 800_001, "9f9a9b9c-9d9e-4f9a-8b9c-9d9e9f9a9b9c"

# -- what can be asked for --------------------------------------------------------------------------------------


class Thing:
    """Something foreign, or its absent twin, which looks like it."""

    def __init__(self, kind: str, *, number: int = 0, id: str = "", name: str = "", title: str = "") -> None:
        self.kind, self.number, self.id, self.name, self.title = kind, number, id, name, title

    @property
    def keys(self) -> list[str]:
        """What an answer may repeat of the question, the longest first."""
        keys = [self.title, self.name, self.id, str(self.number) if self.number else ""]
        return [text for key in keys if key for text in (key, key.upper())]

    def twin(self) -> "Thing":
        """The same with nothing of it that exists: words get other letters, so that they are like no others."""
        number = ABSENT_TASK if self.number else 0
        id = ABSENT_ID if self.id else ""
        return Thing(self.kind, number=number, id=id, name=_shift(self.name), title=_shift(self.title))


def _shift(text: str) -> str:
    return "".join(chr((ord(one) - 96) % 26 + 97) if one.isascii() and one.islower() else one for one in text)


Spelling = Callable[[Thing], object]

_OF_IDS: dict[str, Spelling] = {
    "id": lambda one: one.id,
    "upper id": lambda one: one.id.upper(),
    "braced id": lambda one: f"{{{one.id}}}",
    "padded id": lambda one: f" {one.id} ",
    "id without hyphens": lambda one: one.id.replace("-", ""),
    "urn": lambda one: f"urn:uuid:{one.id}",
}
_OF_WORDS: dict[str, Spelling] = {
    "name": lambda one: one.name,
    "padded name": lambda one: f" {one.name} ",
    "upper name": lambda one: one.name.upper(),
    "name with a slash": lambda one: f"{one.name}/",
}
SPELLINGS: dict[str, dict[str, Spelling]] = {
    "task": {
        "number": lambda one: one.number,
        "text": lambda one: str(one.number),
        "hash": lambda one: f"#{one.number}",
        "float": lambda one: float(one.number),
        "padded": lambda one: f" {one.number} ",
        "zero": lambda one: f"0{one.number}",
        "uri": lambda one: f"satchel://task/{one.number}",
        "upper uri": lambda one: f"SATCHEL://TASK/{one.number}",
        "uri of id": lambda one: f"satchel://task/{one.id}",
        "title": lambda one: one.title,
        **_OF_IDS,
    },
    "prompt": {
        **_OF_WORDS,
        "title": lambda one: one.title,
        "uri": lambda one: f"satchel://prompt/{one.name}",
        "quoted uri": lambda one: f"satchel://prompt/{'%'.join(['', *(f'{ord(x):02x}' for x in one.name)])}",
        "uri of id": lambda one: f"satchel://prompt/{one.id}",
        **_OF_IDS,
    },
    "resource": {
        **_OF_WORDS,
        "own uri": lambda one: f"satchel://resource/{one.name}",
        "uri": lambda one: f"doc:{one.name}",
        **_OF_IDS,
    },
    "project": {**_OF_WORDS, "uri": lambda one: f"satchel://project/{one.name}", "id": lambda one: one.id},
    "user": {**_OF_IDS},
}

# -- what asks: arguments of tools ------------------------------------------------------------------------------

TASK, PROMPT, RESOURCE, PROJECT, USER = ("task",), ("prompt",), ("resource",), ("project",), ("user",)
ITEM = ("task", "prompt", "resource", "project")
REFERENCES: dict[str, tuple[str, ...]] = {
    "task": TASK,
    "task_id": TASK,
    "blocked_by": TASK,
    "lines": TASK,
    "user_id": USER,
    "prompt": PROMPT,
    "id": PROMPT,
    "resource": RESOURCE,
    "item": ITEM,
    "items": ITEM,
    "project": PROJECT,
    "to": PROJECT,
}
# Names that only those tools take which find something by them; elsewhere a name is that of something new.
NAMES = {
    ("mcpkg", "update_prompt"): PROMPT,
    ("mcpkg", "delete_prompt"): PROMPT,
    ("mcpkg", "update_resource"): RESOURCE,
    ("mcpkg", "delete_resource"): RESOURCE,
    ("satchel", "add_project"): PROJECT,
}
PLAIN = {
    *(
        "name",
        "title",
        "content",
        "description",
        "tags",
        "query",
        "kind",
        "since",
        "limit",
        "offset",
        "cursor",
        "match",
    ),
    *(
        "arguments",
        "whole",
        "prompts",
        "resources",
        "key",
        "expected_version",
        "uri",
        "mime_type",
        "status",
        "priority",
    ),
    *("due", "note", "fence", "minutes", "release", "copy", "version", "against", "by", "edits", "append", "prepend"),
    *("heading", "include_completed", "what"),
}
PLAIN_LINES = ("get_prompt", "read_resource")  # whose `lines` is a range


def find_kinds(contract: str, tool: str, argument: str) -> tuple[str, ...]:
    """The kinds of things that an argument may name."""
    if argument == "lines" and tool in PLAIN_LINES:
        return ()
    if argument == "name":
        return NAMES.get((contract, tool), ())
    return REFERENCES.get(argument, ())


@pytest.mark.parametrize("contract", CONTRACTS)
def test_every_argument_of_every_tool_has_a_place_in_the_matrix(contract: str) -> None:
    for tool in load(contract).tools:
        for field in fields_of(tool.input):
            assert field.name in REFERENCES or field.name in PLAIN, (contract, tool.name, field.name)


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


def test_every_method_of_every_contract_has_a_place_in_the_matrix() -> None:
    assert {method for name in CONTRACTS for method in load(name).methods} == METHODS.keys()


# -- the store --------------------------------------------------------------------------------------------------


class Cast(World):
    """Ann, who asks, and what is foreign to her: all tasks of Bob, and for a limited token another project."""

    def __init__(self, owner: str, server: str) -> None:
        super().__init__(owner, server)
        ann, bob = Scope(user=ANN, project="pub"), Scope(user=BOB, project="pub")
        in_priv = Scope(user=ANN, project="priv")
        for name in ("default", "pub", f"priv-{CANARY}"):
            self.write(ann, partial(projects.add, name=name))
        in_priv = Scope(user=ANN, project=f"priv-{CANARY}")
        self.own_task = self._add_task(ann, "Seen", "pub")
        self.own = self.write(ann, lambda tx: prompts.add(tx, ann, PromptDraft(title="Mine", content="plain")))
        self.write(ann, lambda tx: resources.add(tx, ann, ResourceDraft(name="mine.md", uri="doc:mine", content="x")))
        self.write(ann, self._skip_numbers)
        secret = f"{CANARY} secret"
        self.of_bob = [self._add_task(bob, f"{secret} one", "pub"), self._add_task(bob, f"{secret} two", None)]
        gone = self._add_task(bob, f"{secret} three", None)
        self.write(bob, lambda tx: tasks.delete(tx, bob, gone.number))
        self.of_bob.append(gone)
        self.hidden = [
            *self.of_bob,
            self._add_task(ann, f"{OTHER_CANARY} four", in_priv.project),
            self._add_task(ann, f"{OTHER_CANARY} five", None),
            *self._add_texts(in_priv),
            Thing("project", name=in_priv.project, id=self._project_id(in_priv)),
        ]
        self.bob = Thing("user", id=BOB)

    def _add_task(self, scope: Scope, title: str, project: str | None) -> Thing:
        task = self.write(scope, lambda tx: tasks.add(tx, scope, TaskDraft(title=title, project=project)))
        self.write(scope, lambda tx: task_notes.add(tx, scope, task.number, f"about {title}"))
        return Thing("task", number=task.number, id=task.id, title=title)

    def _add_texts(self, scope: Scope) -> Iterator[Thing]:
        for number in ("one", "two"):
            draft = PromptDraft(title=f"{CANARY} prompt {number}", content=f"{CANARY} text", tags=[CANARY])
            prompt = self.write(scope, lambda tx, draft=draft: prompts.add(tx, scope, draft))  # type: ignore[misc]
            yield Thing("prompt", id=prompt.id, name=prompt.name, title=prompt.title)
            name = f"{CANARY}-doc-{number}"
            given = ResourceDraft(name=name, uri=f"doc:{name}", content=CANARY)
            found = self.write(scope, lambda tx, given=given: resources.add(tx, scope, given))  # type: ignore[misc]
            yield Thing("resource", id=found.id, name=found.name)
        self.write(scope, lambda tx: prompts.delete(tx, scope, prompt.id))  # the last of each is in the trash
        self.write(scope, lambda tx: resources.delete(tx, scope, name))

    def _project_id(self, scope: Scope) -> str:
        return self.read(scope, lambda tx: projects.current(tx, scope).id)

    def _skip_numbers(self, tx: Tx) -> None:
        if self.database.is_shared:
            tx.run(f"select setval(pg_get_serial_sequence('tasks', 'number'), {FIRST_FOREIGN})")
        else:
            tx.run(f"update sqlite_sequence set seq = {FIRST_FOREIGN} where name = 'tasks'")

    def dump(self) -> list[Any]:
        """Everything foreign, and how much has ever been changed of it."""
        looks = (
            "select number, owner, title, version, completed_at from tasks order by number",
            "select number, name, title, content, version from prompts order by number",
            "select number, name, uri, version from resources order by number",
            "select number, name, version from projects order by number",
            "select count(*) from revisions",
            "select count(*) from trash",
            "select count(*) from task_notes",
            "select count(*) from task_claims",
        )
        return [row for scope in (Scope(user=ANN), Scope(user=BOB)) for row in self.read(scope, partial(_ask, looks))]


def _ask(looks: Sequence[str], tx: Tx) -> list[Any]:
    return [tx.all(sql) for sql in looks]


# -- asking -----------------------------------------------------------------------------------------------------


class Asker:
    """Somebody with a token, or without one, on one connection that stays open."""

    def __init__(self, port: int, token: str | None) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        self._headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        self._headers["MCP-Protocol-Version"] = "2025-06-18"
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"

    def send(self, verb: str, path: str, body: object = None, **headers: str) -> tuple[int, str]:
        """The status and the text of an answer."""
        raw = None if body is None else json.dumps(body).encode()
        self._connection.request(verb, path, raw, {**self._headers, **headers})
        response = self._connection.getresponse()
        return response.status, response.read().decode()

    def close(self) -> None:
        self._connection.close()

    def ask(self, path: str, method: str, params: dict[str, Any]) -> tuple[int, str]:
        """The answer to a request of MCP."""
        return self.send("POST", path, {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


class Matrix:
    """Cells that were asked, and what came of them."""

    def __init__(self, step: int) -> None:
        self.cells = 0
        self.step = step  # one spelling of so many is asked
        self._turn = 0
        self._absent: dict[tuple[Any, ...], str] = {}

    def choose(self, spellings: Sequence[str] | dict[str, Spelling]) -> list[str]:
        """Those of some spellings whose turn it is."""
        chosen = [one for place, one in enumerate(spellings, self._turn) if place % self.step == 0]
        self._turn += len(spellings)
        return chosen

    def compare(self, key: tuple[Any, ...], thing: Thing, ask: Callable[[Thing], tuple[int, str]]) -> None:
        """Ask for something foreign, and once for its twin; the answers are the same but for what was asked."""
        self.cells += 1
        told = _blank(ask(thing), thing)
        assert CANARY not in told.lower(), (key, told)
        if key not in self._absent:
            twin = thing.twin()
            self._absent[key] = _blank(ask(twin), twin)
        assert told == self._absent[key], (key, thing.keys)


def _blank(answer: tuple[int, str], thing: Thing) -> str:
    """An answer without what was asked for."""
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
    return {name: samples[name] for name in [*needed, *tool.at_least_one[:1]]}


def make_calls(cast: Cast, contract: Contract) -> Iterator[tuple[str, str, str, Callable[[object], dict[str, Any]]]]:
    """For every argument that may name something: tool, argument, kind of the thing, and arguments that name it."""
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


@pytest.fixture(params=["sqlite", "postgres"])
def cast(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cast]:
    cast = Cast(*find_addresses(request, tmp_path))
    yield cast
    cast.close()


@pytest.fixture
def server(cast: Cast) -> Iterator[HttpServer]:
    with HttpServer("--database", cast.address, "--auth", "token", "--project", "pub") as server:
        yield server


Connect = Callable[[str | None], Asker]


@pytest.fixture
def connect(server: HttpServer) -> Iterator[Connect]:
    """Opens a connection with a token, and closes all of them at the end."""
    opened: list[Asker] = []

    def open_connection(token: str | None) -> Asker:
        opened.append(Asker(server.port, token))
        return opened[-1]

    yield open_connection
    for asker in opened:
        asker.close()


def test_what_is_foreign_is_answered_like_what_does_not_exist(cast: Cast, connect: Connect) -> None:
    # A wrong name costs more on PostgreSQL: the quick form asks for some of the spellings there, each time for others.
    before, matrix = cast.dump(), Matrix(step=amount(8 if cast.database.is_shared else 1, 1))
    callers = {
        "free": (connect(cast.make_token(ANN)), cast.of_bob),
        "limited": (connect(cast.make_token(ANN, ["pub"])), cast.hidden),
    }
    for caller, (asker, things) in callers.items():
        for contract in map(load, CONTRACTS):
            path = f"/mcp/{contract.name}"
            for tool, argument, kind, make in make_calls(cast, contract):
                for thing in (one for one in things if one.kind == kind):
                    for spelling in matrix.choose(SPELLINGS[kind]):
                        is_plain = argument == "lines" and spelling != "hash"  # a part of the title of a new task
                        if is_plain or _tells_by_contract(contract.name, argument, thing, spelling):
                            continue

                        def ask(one: Thing, kind: str = kind, spelling: str = spelling) -> tuple[int, str]:
                            arguments = make(SPELLINGS[kind][spelling](one))  # noqa: B023 - called at once
                            return asker.ask(path, "tools/call", {"name": tool, "arguments": arguments})  # noqa: B023

                        matrix.compare((caller, contract.name, tool, argument, kind, spelling), thing, ask)
            for method in contract.methods:
                _ask_method(matrix, (caller, contract.name, method), asker, path, things)
        _ask_door(matrix, caller, asker, things)
    assert cast.dump() == before
    assert matrix.cells >= 4300 // matrix.step, matrix.cells


def _tells_by_contract(contract: str, argument: str, thing: Thing, spelling: str) -> bool:
    """Whether the document of a contract wants another answer: `todo` tells a foreign task from none, by its id."""
    is_told = contract == "todo" and argument == "task_id" and spelling in ("id", "upper id")
    return is_told and not thing.title.endswith("three")  # a deleted one is not there


def _ask_method(matrix: Matrix, key: tuple[str, ...], asker: Asker, path: str, things: Sequence[Thing]) -> None:
    argument, kinds = METHODS[key[-1]]
    for thing in (one for one in things if one.kind in kinds):
        for spelling in matrix.choose(SPELLINGS[thing.kind]):
            spell = SPELLINGS[thing.kind][spelling]

            def ask(one: Thing, spell: Spelling = spell) -> tuple[int, str]:
                reference = str(spell(one))
                params: dict[str, Any] = {argument: reference}
                if argument == "ref":
                    params = {"ref": {"type": "ref/prompt", "name": reference}, "argument": {"name": "a", "value": ""}}
                elif argument == "name" and one.kind == "task":
                    params = {"name": "start-task", "arguments": {"task": reference}}
                return asker.ask(path, key[-1], params)

            matrix.compare((*key, thing.kind, spelling), thing, ask)


def _ask_door(matrix: Matrix, caller: str, asker: Asker, things: Sequence[Thing]) -> None:
    """The tools of `tasks` without MCP."""
    for tool in load("tasks").tools:
        if "task_id" not in tool.input.__struct_fields__:
            continue
        for thing in (one for one in things if one.kind == "task"):
            for spelling in matrix.choose(SPELLINGS["task"]):
                spell = SPELLINGS["task"][spelling]

                def ask(one: Thing, spell: Spelling = spell, name: str = tool.name) -> tuple[int, str]:
                    title = {"title": "x"} if name == "update_task" else {}
                    return asker.send("POST", f"/mcp/tool/{name}", {"task_id": spell(one), **title})

                matrix.compare((caller, "door", tool.name, spelling), thing, ask)


def test_no_list_page_or_cursor_tells_of_anything_foreign(cast: Cast, connect: Connect) -> None:
    free, limited = (connect(cast.make_token(ANN, some)) for some in (None, ["pub"]))
    hidden = cast.hidden[-1].name
    cursors: set[str] = set()
    for name in ("list_prompts", "list_resources", "list_tasks", "search", "history"):
        for more in ({"limit": 1, "project": hidden}, {"limit": 1}):
            given: dict[str, Any] = {**more, **({"query": CANARY} if name == "search" else {})}
            given = {key: one for key, one in given.items() if key != "limit" or name != "history"}
            said = json.loads(free.ask("/mcp/satchel", "tools/call", {"name": name, "arguments": given})[1])
            structured = said["result"]["structuredContent"]
            cursors |= {structured[member] for member in ("next_cursor", "since") if member in structured}
    assert len(cursors) > 3
    for contract in map(load, CONTRACTS):
        path = f"/mcp/{contract.name}"
        for tool in (one for one in contract.tools if not one.writes):
            names = {field.name for field in fields_of(tool.input)}
            base = make_arguments(cast, tool)
            calls = [base, *({**base, "cursor": one} for one in cursors if "cursor" in names)]
            calls += [{**base, "since": one} for one in cursors if "since" in names]
            calls += [{**base, "query": one} for one in (_QUERY, OTHER_CANARY[:4])] if "query" in names else []
            calls += [{**base, "status": status} for status in ("all", "completed")] if "status" in names else []
            for arguments in calls:
                _, said_of = limited.ask(path, "tools/call", {"name": tool.name, "arguments": arguments})
                assert not {CANARY, OTHER_CANARY} & {*re.findall("[a-z]+", said_of.replace(_QUERY, ""))}, said_of
        for method in contract.methods:
            if not METHODS[method][0]:
                assert CANARY not in limited.ask(path, method, {})[1]


_QUERY = f"{CANARY} secret"  # which some answers repeat

ROUTES = {"/mcp", "/mcp/tool/{name:path}", "/health", "/metrics", *(f"/mcp/{name}" for name in CONTRACTS)}


def test_no_route_opens_without_a_token_that_opens_it(cast: Cast, connect: Connect) -> None:
    good = cast.make_token(BOB)
    nobody = [None, "x", good[:-1], f"{good}x", good.swapcase(), "satchel_" + "a" * 43]
    before = cast.dump()
    for route in ROUTES - {"/health"}:
        path = route.replace("{name:path}", "list_tasks")
        for token in nobody:
            asker = connect(token)
            for verb in ("GET", "POST"):
                status, text = asker.send(verb, path, {} if verb == "POST" else None)
                assert status in (401, 405) and CANARY not in text, (route, verb, status, text)
    limited = connect(cast.make_token(ANN, ["pub"]))
    hidden, absent = cast.hidden[-1], cast.hidden[-1].twin()
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    for route in sorted(ROUTES - {"/health", "/metrics"}):
        path, body = (route.replace("{name:path}", "list_tasks"), {}) if "tool" in route else (route, call)
        by_query = [_blank(limited.send("POST", f"{path}?project={one.name}", body), one) for one in (hidden, absent)]
        by_header = [
            _blank(limited.send("POST", path, body, **{"Satchel-Project": one.name}), one) for one in (hidden, absent)
        ]
        assert len({*by_query, *by_header}) == 1 and by_query[0].startswith("403 ")
    assert cast.dump() == before


def test_every_route_has_a_place_in_the_matrix(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from satchel import config
    from satchel.app import http as app
    from satchel.transports.http import routes

    seen: set[str] = set()

    class Noted(routes.Router):
        def __init__(self, paths: Any, prefixes: Any, **more: Any) -> None:
            super().__init__(paths, prefixes, **more)
            seen.update(paths, (f"{prefix}{{name:path}}" for prefix in prefixes))

    monkeypatch.setattr(routes, "Router", Noted)
    settings = config.load({"database": str(tmp_path / "s.db"), "transport": "http"}, {})
    assert settings.http is not None
    app.make_app(settings, settings.http, "http://127.0.0.1").close()
    assert seen == ROUTES  # the page is in tests/page/test_guard.py


def test_who_may_only_read_changes_nothing_by_any_tool(cast: Cast, connect: Connect) -> None:
    before = cast.dump()
    readers = [connect(cast.make_token(ANN, some, is_read_only=True)) for some in (None, ["pub"])]
    for contract in map(load, CONTRACTS):
        for tool in (one for one in contract.tools if one.writes):
            arguments = make_arguments(cast, tool)
            for reader in readers:
                call = {"name": tool.name, "arguments": arguments}
                assert reader.ask(f"/mcp/{contract.name}", "tools/call", call)[0] == 403, (contract.name, tool.name)
                if contract.name == "tasks":
                    assert reader.send("POST", f"/mcp/tool/{tool.name}", arguments)[0] == 403
    assert cast.dump() == before


def test_no_stream_tells_of_a_change_to_anything_foreign(cast: Cast, server: HttpServer) -> None:
    server.token = cast.make_token(ANN, ["pub"])
    uris = [str(spell(one)) for one in cast.hidden for name, spell in SPELLINGS[one.kind].items() if "uri" in name]
    own = f"satchel://task/{cast.own_task.number}"
    wish = {"resourceSubscriptions": [*uris, own], "promptsListChanged": True, "resourcesListChanged": True}
    bob, ann = Scope(user=BOB), Scope(user=ANN, project=cast.hidden[-1].name)
    with server.listen(wish) as stream:
        assert stream.read()["method"] == "notifications/subscriptions/acknowledged"
        for thing in (one for one in cast.hidden if one.kind == "task" and not one.title.endswith("three")):
            scope = bob if thing in cast.of_bob else ann
            patch = TaskPatch(title=f"{CANARY} changed")
            cast.write(scope, partial(tasks.update, scope=scope, reference=thing.number, patch=patch))
        draft = PromptDraft(title=f"{CANARY} new", content="x")
        cast.write(ann, lambda tx: prompts.add(tx, ann, draft))
        everywhere = Scope(user=ANN)
        cast.write(everywhere, lambda tx: tasks.complete(tx, everywhere, cast.own_task.number))
        assert stream.read()["params"]["uri"] == own  # and nothing before it
