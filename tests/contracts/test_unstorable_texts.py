"""Texts with NUL or half a character, where the tables of the contracts' own tests have none."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.satchel import refusal
from tests.support.stdio import NEWEST, OLDEST, Client

SAYS = "contains NUL or half a character"
BAD = pytest.mark.parametrize("bad", ["a\0b", "\ud800", "x\udfff"])


@BAD
def test_methods_name_the_parameter(bad: str, store: str, serve: Callable[..., Client]) -> None:
    client = serve("mcpkg", store, OLDEST)
    for method, params, details in (
        ("prompts/get", {"name": bad}, f"name {SAYS}"),
        ("prompts/get", {"name": "p", "arguments": {"a": bad}}, f"Argument 'a' {SAYS}"),
        ("prompts/get", {"name": "p", "arguments": {bad: "a"}}, f"The name of an argument {SAYS}"),
        ("resources/read", {"uri": bad}, f"uri {SAYS}"),
    ):
        error = client.request(method, params)["error"]
        assert error == {"code": -32602, "message": "Invalid params", "data": {"details": details}}


@BAD
def test_satchel_names_the_argument_and_its_entry(bad: str, store: str, serve: Callable[..., Client]) -> None:
    client = serve("satchel", store, NEWEST)
    new = {"title": "T", "content": "x"}
    cases: tuple[tuple[str, dict[str, Any], str], ...] = (
        ("add_prompt", {**new, "title": bad}, "title"),
        ("add_prompt", {**new, "tags": ["a", bad]}, "tags[1]"),
        ("add_prompt", {**new, "arguments": [{"name": "a", "values": ["x", bad]}]}, "arguments[0].values[1]"),
        ("render_prompt", {"prompt": "p", "arguments": {"who": bad}}, "arguments.who"),
        ("add_task", {"title": "T", "blocked_by": ["1", bad]}, "blocked_by[1]"),
        ("complete_task", {"task": bad}, "task"),
        ("list_resources", {"project": bad}, "project"),
    )
    for tool, arguments, place in cases:
        error = refusal(client, tool, arguments)
        assert (error["code"], error["message"]) == ("invalid_argument", f"{place} {SAYS}."), (tool, place)
        assert error["argument"] == place.split("[")[0].split(".")[0]
