"""A server of the official SDK over its life: settings, the open store, changes, progress."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.server import Server
from mcp.server.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from mcp_types import ElicitResult, ErrorData, TextContent

from satchel.protocol import ClientChange
from satchel.sdk import CannotStart, SettingsError, create_server
from satchel.transports.sdk import SdkSession, make_server
from tests.conftest import Serve
from tests.support.process import TIMEOUT, eventually
from tests.support.satchel import make_library
from tests.transports import fixtures

BEN = "22222222-2222-4222-8222-222222222222"


def is_open(store: str) -> bool:
    """Return whether the log file exists, which the last connection to close removes."""
    return Path(f"{store}-wal").exists()


async def add_task(client: Client, title: str = "Tea") -> None:
    assert (await client.call_tool("add_task", {"title": title})).is_error is False


# -- the open store --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_store_is_open_while_a_client_is_connected(store: str, mode: str) -> None:
    async def conversation() -> None:
        server = create_server("tasks", database=store)
        assert not is_open(store)
        for _ in range(2):  # it can be opened again
            async with Client(server, mode=mode) as client:
                await add_task(client)
                assert is_open(store)
            assert not is_open(store)

    asyncio.run(conversation())


def test_connections_share_the_store_and_the_last_closes_it(store: str) -> None:
    async def conversation() -> None:
        server = create_server("tasks", database=store)
        async with Client(server) as second:
            async with Client(server) as first:
                await asyncio.gather(*(add_task(client) for client in [first, second] * 10))
            assert is_open(store)
            listed = await second.call_tool("list_tasks")
            assert listed.structured_content is not None
            assert listed.structured_content["message"] == "Found 20 tasks"
        assert not is_open(store)

    asyncio.run(conversation())


def test_the_store_is_closed_when_the_connection_breaks_off(store: str) -> None:
    async def conversation() -> None:
        server, is_connected = create_server("tasks", database=store), asyncio.Event()

        async def connect() -> None:
            async with Client(server) as client:
                await add_task(client)
                is_connected.set()
                await asyncio.Event().wait()

        connection = asyncio.create_task(connect())
        await is_connected.wait()
        connection.cancel()
        with pytest.raises(asyncio.CancelledError):
            await connection
        assert not is_open(store)

    asyncio.run(conversation())


def test_a_watcher_ends_with_the_server(store: str) -> None:
    before = set(threading.enumerate())

    def watchers() -> set[str]:
        return {thread.name for thread in set(threading.enumerate()) - before if "watch" in thread.name}

    async def conversation() -> None:
        server = create_server("satchel", database=store)
        async with Client(server) as client:
            assert not watchers()  # until a client listens
            async with client.listen(prompts_list_changed=True), client.listen(resources_list_changed=True):
                assert watchers()

    asyncio.run(conversation())
    assert eventually(lambda: not watchers())
    assert not is_open(store)


# -- settings --------------------------------------------------------------------------------------------------------


def test_settings_that_cannot_work_are_refused_at_once(store: str) -> None:
    with pytest.raises(SettingsError, match="Did you mean 'tasks'"):
        create_server("taks", database=store)
    with pytest.raises(SettingsError, match="--user must be a UUID"):
        create_server("todo", database=store, user="ann")


def test_a_store_that_cannot_be_used_is_reported_when_the_server_starts(store: str, tmp_path: Path) -> None:
    async def start(server: Server[Any]) -> None:
        async with Client(server):
            pass

    with pytest.raises(CannotStart, match="project 'missing' does not exist"):
        asyncio.run(start(create_server("mcpkg", database=store, project="missing")))
    assert not is_open(store)
    not_a_store = tmp_path / "text.db"
    not_a_store.write_text("This is not a store. " * 100)
    with pytest.raises(CannotStart, match=r"text\.db"):
        asyncio.run(start(create_server("mcpkg", database=str(not_a_store))))


def test_what_is_left_out_comes_from_the_environment(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def conversation() -> None:
        async with Client(create_server()) as client:
            assert client.server_info is not None and client.server_info.name == "task-manager"
            await add_task(client)
            assert is_open(store)

    monkeypatch.setenv("SATCHEL_DATABASE", store)
    monkeypatch.setenv("SATCHEL_CONTRACT", "tasks")
    monkeypatch.setenv("SATCHEL_TRANSPORT", "http")  # of the command; this server has no transport of ours
    asyncio.run(conversation())


def test_toolsets_and_read_only_narrow_the_server(store: str) -> None:
    async def conversation() -> None:
        server = create_server("satchel", database=store, toolsets=["tasks"], read_only=True)
        async with Client(server) as client:
            listed = (await client.list_tools()).tools
            assert [tool.name for tool in listed] == ["search", "catch_up", "list_tasks", "get_task", "history", "show"]

    asyncio.run(conversation())


# -- changes ---------------------------------------------------------------------------------------------------------


async def next_event(events: AsyncIterator[ServerEvent]) -> ServerEvent:
    async with asyncio.timeout(TIMEOUT):
        return await anext(events)


def test_changes_by_any_process_are_announced(store: str, serve: Serve) -> None:
    async def conversation() -> None:
        async with Client(create_server("satchel", database=store)) as client:
            uri = "satchel://prompt/tea"
            async with (
                client.listen(prompts_list_changed=True) as lists,
                client.listen(resource_subscriptions=[uri]) as updates,
            ):
                other = serve("satchel", store)
                other.call("add_prompt", title="Tea", content="Boil water")
                assert await next_event(aiter(lists)) == PromptsListChanged()
                other.call("update_prompt", prompt="tea", content="Boil milk")
                assert await next_event(aiter(updates)) == ResourceUpdated(uri)

    asyncio.run(conversation())


def test_changes_of_libraries_are_announced(tmp_path: Path) -> None:
    make_library(tmp_path, "desk", {"letter": ("Dear {{ to }}", ["to!"])})

    async def conversation() -> None:
        async with Client(create_server("twig", libraries=[str(tmp_path)])) as client:
            assert [prompt.name for prompt in (await client.list_prompts()).prompts] == ["desk:letter"]
            async with client.listen(prompts_list_changed=True) as events:
                make_library(tmp_path, "desk", {"letter": ("Dear {{ to }}", ["to!"]), "note": ("Hello", [])})
                assert await next_event(aiter(events)) == PromptsListChanged()
            listed = [prompt.name for prompt in (await client.list_prompts()).prompts]
            assert listed == ["desk:letter", "desk:note"]

    asyncio.run(conversation())


@pytest.mark.parametrize("contract", ["mcpkg", "todo"])
def test_a_contract_that_announces_nothing_has_no_streams(store: str, contract: str) -> None:
    async def conversation() -> None:
        server = create_server(contract, database=store)
        assert server.get_request_handler("subscriptions/listen") is None
        async with Client(server) as client:
            declared = client.server_capabilities.model_dump(exclude_none=True, by_alias=True)
        assert not any(flag for capability in declared.values() for flag in capability.values())

    asyncio.run(conversation())


# -- what no contract of ours does yet: the fixtures of the transports' tests ------------------------------------------


def converse(conversation: Callable[[Client, SdkSession], Awaitable[None]], mode: str, **more: Any) -> None:
    async def run() -> None:
        session = SdkSession(fixtures.answer, lambda: None)

        @asynccontextmanager
        async def lifespan(_: Server[SdkSession]) -> AsyncIterator[SdkSession]:
            yield session

        async with Client(make_server(fixtures.OFFER, lifespan), mode=mode, **more) as client:
            await conversation(client, session)

    asyncio.run(run())


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_progress_is_reported(mode: str) -> None:
    async def conversation(client: Client, _: SdkSession) -> None:
        steps: list[tuple[float, float | None, str | None]] = []

        async def report(progress: float, total: float | None, message: str | None) -> None:
            steps.append((progress, total, message))

        await client.call_tool("progress", {}, progress_callback=report)
        assert steps == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]

    converse(conversation, mode)


def test_when_everything_may_have_changed_a_stream_hears_of_all_it_asked_for() -> None:
    async def conversation(client: Client, session: SdkSession) -> None:
        wanted = {"tools_list_changed": True, "prompts_list_changed": True, "resources_list_changed": True}
        async with client.listen(resource_subscriptions=["test://one"], **wanted) as stream:
            await asyncio.to_thread(session.announce, ClientChange("everything"))
            events = aiter(stream)
            heard = [await next_event(events) for _ in range(4)]
        assert heard == [
            ToolsListChanged(),
            PromptsListChanged(),
            ResourcesListChanged(),
            ResourceUpdated("test://one"),
        ]

    converse(conversation, "auto")


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("action", ["accept", "decline", "cancel", "fails"])
def test_the_user_is_asked(mode: str, action: Any) -> None:
    asked: list[str] = []

    async def ask(_: Any, params: Any) -> ElicitResult | ErrorData:
        asked.append(params.message)
        return ErrorData(code=-1, message="no") if action == "fails" else ElicitResult(action=action)

    async def conversation(client: Client, _: SdkSession) -> None:
        if action == "fails" and mode == "auto":
            with pytest.raises(MCPError):  # the client itself does not go on
                await client.call_tool("confirm", {})
            return
        [content] = (await client.call_tool("confirm", {})).content
        assert isinstance(content, TextContent)
        assert content.text == ("cancel" if action == "fails" else action)

    converse(conversation, mode, elicitation_callback=ask)
    assert asked == ["Really?"]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_client_that_cannot_ask_its_user_is_not_asked(mode: str) -> None:
    async def conversation(client: Client, _: SdkSession) -> None:
        [content] = (await client.call_tool("confirm", {})).content
        assert isinstance(content, TextContent) and content.text == "not asked"

    converse(conversation, mode)
