"""Clients of the contract satchel are notified within a second of every change they may see, and of no other."""

import queue
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from satchel.services import projects
from satchel.storage.database import open_database
from tests.support.command import run
from tests.support.http import Stream
from tests.support.in_process_http import HttpInProcess
from tests.support.satchel import answered, make_library, ok
from tests.support.stdio import NEWEST, PATIENCE, Client

ANN, BEN = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
# The promise is one second. This bound only distinguishes watching from the fallback, which polls after 30 seconds.
BOUND = 10.0
PROMPTS, RESOURCES = "prompts/list_changed", "resources/list_changed"
WATCHED = (
    "satchel://prompt/tea",
    "doc:tea",
    "satchel://task/1",
    "satchel://project/default",
    "satchel://prompt/desk:x",
)


class Listener:
    """A client that is notified of changes."""

    def __init__(self, source: Client | Stream) -> None:
        self._source = source
        self.delays: list[float] = []  # how long each wait took

    def hears(self, *wanted: str) -> list[str]:
        """Wait until all wanted changes have arrived; return all that have arrived by then."""
        missing = set(wanted)
        heard: list[str] = []
        started = time.monotonic()
        while missing:
            try:
                heard.append(name_of(self._source.read()))
            except queue.Empty:
                raise AssertionError(f"heard {heard} in {PATIENCE} seconds, and not {missing}") from None
            missing.discard(heard[-1])
        self.delays.append(time.monotonic() - started)
        return heard

    def drained(self, quiet: float = 0.4) -> list[str]:
        """Return all messages that arrive until it is quiet."""
        heard: list[str] = []
        while not self._source.is_silent(quiet):
            heard.append(name_of(self._source.read()))
        return heard


def name_of(message: dict[str, Any]) -> str:
    method: str = message["method"].removeprefix("notifications/")
    return message["params"]["uri"] if method == "resources/updated" else method


@pytest.fixture
def other(store: str) -> str:
    """Return a store with two projects."""
    database = open_database(store)
    with database.write() as tx:
        projects.add(tx, "default")
        projects.add(tx, "garden")
    database.close()
    return store


WISH = {"promptsListChanged": True, "resourcesListChanged": True, "resourceSubscriptions": list(WATCHED)}


@pytest.fixture(params=["stdio", "http"])
def listener(
    request: pytest.FixtureRequest, other: str, serve: Callable[..., Client], tmp_path: Path
) -> Iterator[Listener]:
    """Yield a client that listens to all changes: of the handshake generation, or of the newest revision over HTTP."""
    more = ("--user", ANN, "--libraries", str(tmp_path / "shelf"))
    (tmp_path / "shelf").mkdir()
    if request.param == "stdio":
        client = serve("satchel", other, "2025-11-25", *more)
        answered(client, "prompts/list")  # a client that has not listed prompts is not notified when libraries change
        for uri in WATCHED:
            assert answered(client, "resources/subscribe", {"uri": uri})["result"] == {}
        yield Listener(client)
    else:
        with HttpInProcess("--database", other, *more) as server, server.listen(WISH) as stream:
            assert stream.read()["params"]["notifications"] == WISH
            yield Listener(stream)


over_stdio = pytest.mark.parametrize("listener", ["stdio"], indirect=True)


def command_line(store: str, *arguments: str) -> None:
    assert run(*arguments, "--database", store).returncode == 0


def test_listeners_are_notified_of_every_change(listener: Listener, other: str, serve: Callable[..., Client]) -> None:
    glance = "satchel://project/default"
    mcpkg = serve("mcpkg", other)
    assert mcpkg.call("create_prompt", name="tea", content="Boil water")["isError"] is False
    listener.hears(PROMPTS, "satchel://prompt/tea", glance)
    mcpkg.call("update_prompt", name="tea", content="Boil fresh water")
    listener.hears("satchel://prompt/tea")
    mcpkg.call("create_resource", name="tea", uri="doc:tea", content="Leaves")
    listener.hears(RESOURCES, "doc:tea", glance)
    mcpkg.call("update_resource", name="tea", content="Leaves, more of them")
    listener.hears("doc:tea")
    listener.drained()

    store_client = serve("prompt-store", other)
    id = store_client.call("add_prompt", title="Coffee", content="Grind")["structuredContent"]["id"]
    listener.hears(PROMPTS)
    store_client.call("delete_prompt", id=id)
    listener.hears(PROMPTS)
    listener.drained()

    command_line(other, "prompt", "edit", "tea", "--title", "Green tea")
    listener.hears(PROMPTS, "satchel://prompt/tea")
    command_line(other, "document", "delete", "tea")
    listener.hears(RESOURCES, "doc:tea")
    listener.drained()

    todo = serve("todo", other)
    todo.call("add_task", user_id=ANN, title="Buy tea")  # in no project, so that no project's page shows it
    listener.hears("satchel://task/1")
    command_line(other, "task", "done", "1", "--user", ANN)
    listener.hears("satchel://task/1")
    listener.drained()

    another = serve("satchel", other, NEWEST, "--user", ANN)
    ok(another, "add_prompt", title="Juice", content="Press")
    listener.hears(PROMPTS)
    ok(another, "update_task", task=1, status="pending", project="default")
    listener.hears("satchel://task/1", glance)
    ok(another, "add_resource", name="tea", content="x", uri="doc:tea")
    listener.hears(RESOURCES, "doc:tea")
    command_line(other, "project", "delete", "default", "--yes")
    listener.hears(PROMPTS, RESOURCES, glance)
    assert statistics.median(listener.delays) < BOUND, listener.delays


def test_changes_of_other_projects_and_users_are_not_announced(
    listener: Listener, other: str, serve: Callable[..., Client]
) -> None:
    ben = serve("satchel", other, NEWEST, "--user", BEN)
    ok(ben, "add_prompt", title="tea", content="x", project="garden")
    ok(ben, "update_prompt", prompt="tea", content="y", project="garden")
    ok(ben, "add_resource", name="tea", content="x", uri="doc:tea", project="garden")
    number = ok(ben, "add_task", title="Secret")["task"]["number"]
    assert number == 1
    ok(ben, "complete_task", task=1)
    ok(ben, "delete", items=["#1", "satchel://prompt/tea"], project="garden")
    assert listener.drained(0.6) == []


@over_stdio
def test_a_burst_is_few_notifications(listener: Listener, other: str, serve: Callable[..., Client]) -> None:
    writer = serve("prompt-store", other)
    started = time.monotonic()
    ids = [
        writer.ask("tools/call", {"name": "add_prompt", "arguments": {"title": f"P{n}", "content": "x"}})
        for n in range(200)
    ]
    assert [writer.read()["id"] for _ in ids] == ids
    took = time.monotonic() - started
    heard = listener.hears(PROMPTS) + listener.drained(0.6)
    assert set(heard) <= {PROMPTS, "satchel://project/default"}
    assert 1 <= heard.count(PROMPTS) <= 3 + took / 0.1, (took, len(heard))


def test_changes_of_a_library_are_announced(listener: Listener, tmp_path: Path) -> None:
    make_library(tmp_path / "shelf", "desk", {"x": ("Hello", [])})
    listener.hears(PROMPTS)


def test_over_http_no_capability_is_offered_that_does_not_work(other: str) -> None:
    """The server keeps nothing between two POSTs, so the handshake generation cannot subscribe to resources."""
    with HttpInProcess("--database", other) as server:
        told = server.ask("initialize", revision="2025-11-25").result["capabilities"]["resources"]
        assert told == {"listChanged": True}
        refused = server.ask("resources/subscribe", {"uri": "doc:tea"}, revision="2025-11-25")
        assert refused.error["code"] == -32601
        assert server.ask("server/discover").result["capabilities"]["resources"] == {
            "listChanged": True,
            "subscribe": True,
        }
