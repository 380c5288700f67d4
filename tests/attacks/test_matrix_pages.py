"""The pages in the cross-user matrix: every address and form, asked for something foreign and for something absent."""

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from urllib.parse import quote, urlencode

import pytest

from satchel.model import PromptDraft, Scope, TaskPatch, uri_of
from satchel.page.views import VIEWS, View
from satchel.services import prompts, tasks
from tests.attacks.matrix import Matrix
from tests.attacks.worlds import ANN, BOB, CANARY, OTHER_CANARY, Cast, Thing
from tests.page.visitor import SAME_ORIGIN, Visitor
from tests.support.in_process_http import WebInProcess
from tests.support.web import request

# What a part of a path, a field of a form or of a query may name; the rest of the fields are in PLAIN.
PARTS = {"project": "project", "name": "text", "number": "task", "id": "id", "kind": "", "library": ""}
FIELDS: dict[tuple[str, str], dict[str, str]] = {
    ("GET", "/"): {"project": "project"},
    ("GET", "/tasks"): {"project": "project"},
    ("POST", "/tasks"): {"project": "project"},
    ("POST", "/tasks/{number}"): {"project": "project", "blocked_by": "task", "parent": "task"},
    ("POST", "/board/move"): {"task": "task"},
    ("POST", "/p/{project}/prompts/{name}/edit"): {"replaced_by": "prompt"},
    ("POST", "/p/{project}/documents/{name}/edit"): {"replaced_by": "document"},
    ("POST", "/trash/restore"): {"project": "project", "item": "item"},
    ("POST", "/undo"): {"revision": "revision"},
    ("POST", "/projects"): {"name": "project"},
}
PLAIN = {
    "q": "mine",
    "title": "New",
    "content": "text",
    "lines": "New",
    "note": "A note",
    "to": "completed",
    "name": "new",
    "version": "1",
    "item": "mine",
}


@pytest.fixture
def visit(cast: Cast) -> Iterator[Callable[[str], Visitor]]:
    """Opens a browser and logs in with a token."""
    with WebInProcess("--database", cast.address, "--auth", "token", "--project", "pub") as server:

        def open_browser(token: str) -> Visitor:
            visitor = Visitor(server)
            assert visitor.ask("POST", "/login", urlencode({"token": token})).status == 303
            return visitor

        yield open_browser


def send(visitor: Visitor, verb: str, path: str, fields: dict[str, str]) -> tuple[int, str]:
    """Return the status of a page, its redirect with the message, and its text."""
    given = urlencode(fields)
    path = f"{path}?{given}" if given and verb == "GET" else path
    answer = visitor.ask(verb, path, given if verb == "POST" else None)
    more = [value for name in ("location", "set-cookie") for value in answer.all(name)]
    return answer.status, " ".join([*more, answer.body.decode("utf-8", "replace")])


def list_questions(view: View, thing: Thing) -> Iterator[tuple[str, Callable[[Thing], tuple[str, dict[str, str]]]]]:
    """Yield for every part and field of a view that may name an item: its name, and path and fields that name it."""
    own = {"project": "pub", "name": "mine", "number": "1", "id": "0" * 8, "kind": "prompts", "library": "none"}
    if thing.kind == "document":
        own["kind"] = "documents"
    for part in re.findall(r"\{(\w+)\}", view.path):
        is_meant = PARTS[part] in (thing.kind, "text" if thing.kind in ("prompt", "document") else "")
        if PARTS[part] and (is_meant or (PARTS[part] == "id" and thing.id)):
            yield part, lambda one, part=part: (_fill(view, {**own, part: _name(one, PARTS[part])}), PLAIN)  # type: ignore[misc]
    for field, kind in FIELDS.get((view.method, view.path), {}).items():
        if kind in (thing.kind, "item") or (kind == "revision" and thing.kind == "revision"):
            yield field, lambda one, field=field, kind=kind: (_fill(view, own), {**PLAIN, field: _name(one, kind)})  # type: ignore[misc]


def _name(thing: Thing, kind: str) -> str:
    if kind == "id":
        return thing.id
    if kind == "item":
        key = thing.number or thing.name
        return uri_of(thing.kind, key)
    return str(thing.number or thing.name)


def _fill(view: View, parts: dict[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda found: quote(parts[found[1]], safe=""), view.path)


def test_every_part_of_every_address_has_a_place_in_the_matrix() -> None:
    assert {part for view in VIEWS for part in re.findall(r"\{(\w+)\}", view.path)} == PARTS.keys()
    assert {(view.method, view.path) for view in VIEWS} >= FIELDS.keys()


def test_every_field_that_a_view_reads_has_a_place_in_the_matrix() -> None:
    import inspect
    import sys

    plain = {
        *("q", "title", "content", "lines", "note", "to", "name", "version", "item", "kind", "by", "before", "after"),
        *("mime_type", "uri", "description", "do", "tag", "tags", "status", "priority", "due", "new", "old", "expires"),
        *("read_only", "projects", "revision", "label", "review", "anyway"),
    }
    known = {*plain, *(field for fields in FIELDS.values() for field in fields)}
    for module in {sys.modules[view.answer.__module__] for view in VIEWS}:
        source = inspect.getsource(module)
        read = re.findall(r'visit\.(?:field|number|query\.get)\("(\w+)"', source) + re.findall(
            r'visit\.query\["(\w+)"', source
        )
        assert {*read} <= known, (module.__name__, {*read} - known)


def test_foreign_items_are_shown_like_missing_ones(cast: Cast, visit: Callable[[str], Visitor]) -> None:
    before, matrix = cast.dump(), Matrix()
    callers = {
        "free": (cast.make_token(ANN), cast.of_bob),
        "limited": (cast.make_token(ANN, ["pub"]), cast.hidden),
        "limited reader": (cast.make_token(ANN, ["pub"], is_read_only=True), cast.hidden),
    }
    visit(cast.make_token(BOB))
    others = [*_read_ids(cast, BOB)]
    visit(cast.make_token(ANN))
    of_ann = [*_read_ids(cast, ANN)]
    for caller, (token, things) in callers.items():
        visitor = visit(token)
        revisions = [Thing("revision", number=number) for number in _foreign_revisions(cast, caller)]
        for view in VIEWS:
            for thing in (*things, *others, *(of_ann if "limited" in caller else ()), *revisions):
                for field, ask in list_questions(view, thing):

                    def fetch(one: Thing, view: View = view, ask: object = ask) -> tuple[int, str]:
                        path, fields = ask(one)  # type: ignore[operator]
                        return send(visitor, view.method, path, fields)  # noqa: B023 - called at once

                    matrix.compare((caller, view.method, view.path, field, thing.kind, thing.title[-4:]), thing, fetch)
    assert cast.dump() == before
    assert [one.id for one in others] == [one.id for one in _read_ids(cast, BOB)]
    assert {one.id for one in of_ann} <= {one.id for one in _read_ids(cast, ANN)}
    print(f"{matrix.cells} cells")
    assert matrix.cells >= 300, matrix.cells


def _read_ids(cast: Cast, user: str) -> Iterator[Thing]:
    """Yield the tokens and sessions of a user."""
    with cast.open_as_owner() as owner, owner.read() as tx:
        for kind, sql in (
            ("token", "select id from tokens where owner = :user"),
            ("session", "select id from sessions where owner = :user"),
        ):
            yield from (Thing(kind, id=id) for (id,) in tx.all(sql, user=user))


def _foreign_revisions(cast: Cast, caller: str) -> list[int]:
    """Changes of tasks of Bob; for a limited caller also of tasks in other projects."""
    where = "owner = :bob" if caller == "free" else "owner is not null and (owner = :bob or project is null)"
    with cast.open_as_owner() as owner, owner.read() as tx:
        return [number for (number,) in tx.all(f"select number from revisions where {where} order by 1", bob=BOB)]


def test_no_page_shows_foreign_items(cast: Cast, visit: Callable[[str], Visitor]) -> None:
    limited = visit(cast.make_token(ANN, ["pub"]))
    words = {CANARY, OTHER_CANARY}
    for view in (one for one in VIEWS if one.method == "GET" and "{" not in one.path):
        for query in ({}, {"q": CANARY[:4]}, {"q": OTHER_CANARY[:4]}, {"status": "all"}, {"kind": "task"}):
            status, text = send(limited, "GET", view.path, query)
            assert status == 200, (view.path, query)
            assert not words & {*re.findall("[a-z]+", text)}, (view.path, query)


def test_the_stream_of_a_page_reveals_no_foreign_items(cast: Cast, visit: Callable[[str], Visitor]) -> None:
    visitor = visit(cast.make_token(ANN, ["pub"]))
    [cookie] = [f"{name}={value}" for name, value in visitor.cookies.items()]
    stream = visitor.server.connect()
    stream.send(request("GET", "/events", [("cookie", cookie), *SAME_ORIGIN]))
    assert stream.read_head()[0] == 200
    lines = (
        line for chunk in iter(stream.read_chunk, b"") for line in chunk.splitlines() if line.startswith(b"data: ")
    )
    assert b"hello" in next(lines)
    bob, ann = Scope(user=BOB), Scope(user=ANN, project=cast.hidden[-1].name)
    for thing in (one for one in cast.hidden if one.kind == "task" and not one.title.endswith("three")):
        scope = bob if thing in cast.of_bob else ann
        patch = TaskPatch(title=f"{CANARY} changed")
        cast.write(scope, partial(tasks.update, scope=scope, task=thing.number, patch=patch))
    cast.write(ann, lambda tx: prompts.add(tx, ann, PromptDraft(title=f"{CANARY} new", content="x")))
    own = Scope(user=ANN, project="pub")
    cast.write(own, lambda tx: tasks.update(tx, own, cast.own_task.number, TaskPatch(title="Changed")))
    told = json.loads(next(lines).removeprefix(b"data: "))
    assert {(one["what"], one["project"], one["key"]) for one in told["changes"]} == {
        ("task", "pub", str(cast.own_task.number))
    }
    stream.close()


def test_a_session_ends_with_its_token_on_every_page(cast: Cast, visit: Callable[[str], Visitor]) -> None:
    before = cast.dump()
    for column in ("revoked_at", "expires_at"):
        visitor = visit(cast.make_token(ANN))
        assert send(visitor, "GET", "/tasks", {})[0] == 200
        with cast.open_as_owner() as owner, owner.write() as tx:
            tx.run(f"update tokens set {column} = created_at where {column} is null")
        for view in VIEWS:
            path = _fill(
                view, {"project": "pub", "name": "mine", "number": "1", "id": "x", "kind": "prompts", "library": "l"}
            )
            status, text = send(visitor, view.method, path, PLAIN if view.method == "POST" else {})
            assert status == (401 if view.method == "POST" else 303), (view.method, path)
            assert "Mine" not in text
    assert cast.dump() == before
