"""The tool `show` and its app, for hosts with and without MCP Apps, in both generations."""

import pytest

from tests.conftest import Serve
from tests.support.stdio import NEWEST, Client


@pytest.fixture(params=["2025-06-18", "2025-11-25", NEWEST])
def client(request: pytest.FixtureRequest, serve: Serve, tmp_path_factory: pytest.TempPathFactory) -> Client:
    return serve("satchel", str(tmp_path_factory.mktemp("store") / "satchel.db"), request.param)


def test_the_tool_names_an_app_that_can_be_read_under_any_hash(client: Client) -> None:
    tool = next(tool for tool in client.request("tools/list")["result"]["tools"] if tool["name"] == "show")
    uri = tool["_meta"]["ui"]["resourceUri"]
    assert tool["_meta"] == {"ui": {"resourceUri": uri}, "ui/resourceUri": uri}

    about = {"ui": {"prefersBorder": True, "permissions": {"clipboardWrite": {}}}}
    assert client.request("resources/list")["result"]["resources"] == []  # the app is not a document of the user
    [content] = client.request("resources/read", {"uri": uri})["result"]["contents"]
    [stale] = client.request("resources/read", {"uri": "ui://satchel/show@00000000"})["result"]["contents"]
    assert content | {"uri": ""} == stale | {"uri": ""}
    assert content["_meta"] == about
    assert len(content["text"].encode()) <= 40 * 1024 and "--paper" in content["text"]


def test_a_host_without_apps_gets_the_same_in_words(client: Client) -> None:
    client.call("add_tasks", {"lines": ["Write docs", "Publish after:1"]})

    tasks = client.call("show", {})
    assert tasks == client.call("list_tasks", {"status": "pending"})
    prompts = client.call("show", {"what": "prompts", "query": "hello"})
    assert prompts == client.call("list_prompts", {"query": "hello"})
