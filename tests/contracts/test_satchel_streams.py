"""A stream of changes announces each change that its client may see, and no other.

Nothing here waits for silence: a change that must not be announced is followed by one that must, which comes next.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from satchel.auth import tokens
from satchel.contracts import load
from satchel.model import DocumentDraft, PromptDraft, PromptPatch, Scope, StoreChange, TaskDraft, TaskPatch
from satchel.services import documents, projects, prompts, tasks
from satchel.storage.database import Database, open_database
from tests.support.command import run
from tests.support.http import Stream
from tests.support.in_process_http import HttpInProcess
from tests.support.postgres import PostgresServer
from tests.support.process import TIMEOUT
from tests.support.roles import two_roles
from tests.support.satchel import answered, make_library
from tests.support.stdio import NEWEST, Client

ANN, BEN = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"

PROMPTS, RESOURCES = "prompts/list_changed", "resources/list_changed"

both_ways = pytest.mark.parametrize("way", ["stdio", "http"])  # the handshake generation, and the newest revision


def name_of(message: dict[str, Any]) -> str:
    """Return the URI of an updated resource, or what has changed."""
    method: str = message["method"].removeprefix("notifications/")
    return message["params"]["uri"] if method == "resources/updated" else method


def command_line(store: str, *arguments: str) -> None:
    assert run(*arguments, "--database", store).returncode == 0


class Ear:
    """A client that listens to changes."""

    def __init__(self, source: Client | Stream) -> None:
        self._source = source

    def next(self, count: int = 1) -> list[str]:
        """Return the next changes, sorted, because the order of simultaneous changes does not matter."""
        return sorted(name_of(self._source.read(TIMEOUT)) for _ in range(count))


@pytest.fixture
def database(store: str) -> Iterator[Database]:
    """Yield an open store with some projects; the tests change it as another process than the server."""
    database = open_database(store)
    with database.write() as tx:
        for name in ("default", "work", "garden"):
            projects.add(tx, name)
    yield database
    database.close()


@pytest.fixture
def listen(store: str, database: Database, serve: Callable[..., Client]) -> Iterator[Callable[..., Ear]]:
    """Yield a function that opens a stream in a project, in one of the two ways."""
    with ExitStack() as leaving:

        def opened(way: str, *more: str, project: str = "default", uris: tuple[str, ...] = ()) -> Ear:
            if way == "stdio":
                client = serve("satchel", store, "2025-11-25", "--user", ANN, "--project", project, *more)
                answered(client, "prompts/list")  # otherwise, changes of libraries are not announced
                for uri in uris:
                    assert answered(client, "resources/subscribe", {"uri": uri})["result"] == {}
                return Ear(client)
            wish = {"promptsListChanged": True, "resourcesListChanged": True, "resourceSubscriptions": list(uris)}
            server = leaving.enter_context(HttpInProcess("--database", store, "--user", ANN, *more))
            stream = leaving.enter_context(server.listen(wish, path=f"/mcp?project={project}"))
            assert stream.read()["params"]["notifications"] == wish
            return Ear(stream)

        yield opened


def add_prompt(database: Database, project: str, title: str = "Tea", **more: Any) -> str:
    with database.write() as tx:
        return prompts.add(tx, Scope(project=project), PromptDraft(title=title, content="x", **more)).id


def add_document(database: Database, project: str, name: str) -> None:
    with database.write() as tx:
        documents.add(tx, Scope(project=project), DocumentDraft(name=name, uri=f"doc:{name}", content="x"))


def add_task(database: Database, project: str | None, *, user: str = ANN, **more: Any) -> int:
    with database.write() as tx:
        return tasks.add(tx, Scope(user=user), TaskDraft(title="T", project=project, **more)).number


@both_ways
def test_a_listener_to_an_item_is_notified_when_it_changes(
    way: str, database: Database, listen: Callable[..., Ear]
) -> None:
    uris = ("satchel://prompt/tea", "doc:tea", "satchel://task/1")
    ear = listen(way, uris=uris)
    id, scope = add_prompt(database, "default"), Scope(user=ANN)
    assert ear.next(2) == [PROMPTS, uris[0]]
    add_document(database, "default", "tea")
    assert ear.next(2) == [uris[1], RESOURCES]
    add_task(database, None)
    assert ear.next() == [uris[2]]
    changes: list[tuple[Callable[..., object], tuple[object, ...], list[str]]] = [
        (prompts.update, (id, PromptPatch(content="y")), [uris[0]]),
        (prompts.update, (id, PromptPatch(title="Green tea")), [PROMPTS, uris[0]]),
        (tasks.complete, (1,), [uris[2]]),
        (documents.delete, ("tea",), [uris[1], RESOURCES]),
        (prompts.delete, (id,), [PROMPTS, uris[0]]),
    ]
    for change, given, expected in changes:
        with database.write() as tx:
            change(tx, scope, *given)
        assert ear.next(len(expected)) == sorted(expected)


def test_a_burst_is_few_notifications(store: str, listen: Callable[..., Ear], serve: Callable[..., Client]) -> None:
    ear, writer, other = listen("stdio", uris=("doc:last",)), serve("prompt-store", store), serve("mcpkg", store)
    started = time.monotonic()
    for number in range(200):
        writer.call("add_prompt", title=f"P{number}", content="x")
    took = time.monotonic() - started
    other.call("create_resource", name="last", uri="doc:last", content="x")
    heard = ear.next()
    while heard[-1] != "doc:last":
        heard += ear.next()
    assert set(heard) <= {PROMPTS, RESOURCES, "doc:last"}
    assert 1 <= heard.count(PROMPTS) <= 3 + took / 0.1, (took, len(heard))


def test_over_http_no_capability_is_offered_that_does_not_work(store: str) -> None:
    """The server keeps nothing between two POSTs, so the handshake generation cannot subscribe to resources."""
    with HttpInProcess("--database", store) as server:
        told = server.ask("initialize", revision="2025-11-25").result["capabilities"]["resources"]
        assert told == {"listChanged": True}
        refused = server.ask("resources/subscribe", {"uri": "doc:tea"}, revision="2025-11-25")
        assert refused.error["code"] == -32601
        told = server.ask("server/discover").result["capabilities"]["resources"]
        assert told == {"listChanged": True, "subscribe": True}


# -- a project that goes and comes ------------------------------------------------------------------------------


@both_ways
def test_a_stream_goes_on_when_its_project_is_deleted_and_made_anew(
    way: str, database: Database, listen: Callable[..., Ear]
) -> None:
    ear = listen(way, project="work")
    for act in (projects.delete, projects.add):
        with database.write() as tx:
            act(tx, "work")
        assert ear.next(2) == [PROMPTS, RESOURCES]
    add_prompt(database, "work")
    assert ear.next() == [PROMPTS]
    add_document(database, "work", "tea")
    assert ear.next() == [RESOURCES]


# -- projects at a glance ---------------------------------------------------------------------------------------

WORK, GARDEN, DEFAULT = "satchel://project/work", "satchel://project/garden", "satchel://project/default"


@both_ways
def test_a_listener_to_a_project_is_notified_when_its_page_changes(
    way: str, store: str, database: Database, listen: Callable[..., Ear], serve: Callable[..., Client]
) -> None:
    ear = listen(way, uris=(WORK, GARDEN, DEFAULT))
    serve("mcpkg", store, NEWEST, "--project", "work").call("create_prompt", name="tea", content="x")
    assert ear.next() == [WORK]
    add_document(database, "work", "tea")
    assert ear.next() == [WORK]
    number = add_task(database, "work")
    assert ear.next() == [WORK]
    with database.write() as tx:
        tasks.complete(tx, Scope(user=ANN), number)
    assert ear.next() == [WORK]
    with database.write() as tx:
        tasks.update(tx, Scope(user=ANN), number, TaskPatch(project="garden"))
    assert ear.next(2) == [GARDEN, WORK]
    with database.write() as tx:
        tasks.delete(tx, Scope(user=ANN), number)
    assert ear.next() == [GARDEN]
    command_line(store, "project", "rename", "work", "play")
    assert ear.next() == [WORK]
    command_line(store, "project", "delete", "garden", "--yes")
    assert ear.next() == [GARDEN]


@both_ways
def test_listeners_are_not_notified_of_unchanged_projects(
    way: str, database: Database, listen: Callable[..., Ear]
) -> None:
    ear = listen(way, uris=(WORK, DEFAULT, "satchel://prompt/tea", "doc:tea", "satchel://task/1"))
    id = add_prompt(database, "work")
    assert ear.next() == [WORK]
    with database.write() as tx:
        prompts.update(tx, Scope(project="work"), id, PromptPatch(title="Coffee"))  # a project's page only counts
    add_task(database, "work", user=BEN)
    add_task(database, None)
    add_prompt(database, "garden")
    add_document(database, "garden", "tea")
    add_prompt(database, "default", "Juice")
    assert ear.next(2) == [PROMPTS, DEFAULT]


@both_ways
def test_tasks_blocked_from_another_project_are_announced_with_that_project(
    way: str, database: Database, listen: Callable[..., Ear]
) -> None:
    first = add_task(database, "garden")
    second = add_task(database, "work", blocked_by=[first])
    uris = (WORK, GARDEN, DEFAULT, f"satchel://task/{first}", f"satchel://task/{second}")
    ear = listen(way, uris=uris)
    with database.write() as tx:
        tasks.complete(tx, Scope(user=ANN), first)
    assert ear.next(4) == sorted({*uris} - {DEFAULT})


# -- tokens of some projects ------------------------------------------------------------------------------------


def test_a_token_hears_of_its_own_projects_only(store: str, database: Database) -> None:
    with database.write() as tx:
        _, secret = tokens.create(tx, user=ANN, projects=["work", "default"])
    hidden, open_one = add_task(database, "garden"), add_task(database, "work")
    uris = [f"satchel://task/{hidden}", f"satchel://task/{open_one}", GARDEN, WORK]
    with HttpInProcess("--database", store, "--auth", "token") as server:
        server.token = secret
        with server.listen({"resourceSubscriptions": uris}, path="/mcp?project=default") as stream:
            assert stream.read()["params"]["notifications"] == {"resourceSubscriptions": uris}
            ear = Ear(stream)
            add_prompt(database, "garden")
            with database.write() as tx:
                tasks.update(tx, Scope(user=ANN), hidden, TaskPatch(title="U"))
            with database.write() as tx:
                tasks.update(tx, Scope(user=ANN), open_one, TaskPatch(title="U"))
            assert ear.next(2) == [WORK, f"satchel://task/{open_one}"]
            with database.write() as tx:
                tasks.update(tx, Scope(user=ANN), open_one, TaskPatch(project="garden"))  # so it leaves this project
            assert ear.next(2) == [WORK, f"satchel://task/{open_one}"]
            with database.write() as tx:
                tasks.complete(tx, Scope(user=ANN), open_one)
            add_document(database, "work", "tea")
            assert ear.next() == [WORK]


def test_behind_row_level_security_a_task_in_a_hidden_project_is_told_to_those_who_see_it(
    postgres: PostgresServer,
) -> None:
    owner, application = two_roles(postgres)
    database = open_database(owner)
    with database.write() as tx:
        for name in ("work", "garden"):
            projects.add(tx, name)
    first = add_task(database, "work")
    second = add_task(database, "garden", blocked_by=[first])
    database.close()
    database = open_database(application)
    confined = Scope(user=ANN, project="work", projects=("work",))
    with database.write(confined) as tx:
        tasks.complete(tx, confined, first)
        told = list(tx.changes)
    database.close()
    assert told == [
        StoreChange("task", project, ANN, str(one)) for project, one in (("work", first), ("garden", second))
    ]
    contract = load("satchel")
    of_both, of_first = ({f"satchel://task/{one}" for one in some} for some in ((first, second), (first,)))
    for scope, expected in ((Scope(user=ANN), of_both), (confined, of_first)):
        uris = {change.uri or "" for change in contract.client_changes(told, scope)}
        assert {uri for uri in uris if uri.startswith("satchel://task/")} == expected
    assert contract.client_changes(told, Scope(user=BEN)) == []


# -- libraries --------------------------------------------------------------------------------------------------


@both_ways
def test_an_edited_template_is_announced_to_its_watchers(way: str, listen: Callable[..., Ear], tmp_path: Path) -> None:
    shelf = tmp_path / "shelf"
    make_library(shelf, "desk", {"x": ("Hello", []), "y": ("Bye", [])})
    uri = "satchel://prompt/desk:x"
    ear = listen(way, "--libraries", str(shelf), uris=(uri, "satchel://prompt/desk:z"))

    def put(name: str, content: str) -> None:
        (tmp_path / "new").write_text(content)
        os.replace(tmp_path / "new", shelf / "desk" / name)  # in one step, so there is one notification

    put("prompts/y.md", "Good night")
    put("prompts/x.md", "Good morning")
    assert ear.next() == [uri]
    put("twig.toml", '[prompts.x]\ndescription = "In the morning"\n[prompts.y]\n')
    assert ear.next(2) == [PROMPTS, uri]
    put("prompts/z.md", "Good day")
    put("twig.toml", '[prompts.x]\ndescription = "In the morning"\n[prompts.z]\n')
    assert ear.next(2) == [PROMPTS, "satchel://prompt/desk:z"]
    (shelf / "desk" / "prompts" / "x.md").unlink()
    assert ear.next(2) == [PROMPTS, uri]
