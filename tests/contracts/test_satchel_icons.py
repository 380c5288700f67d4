"""Icons of the contract satchel: small, drawn, and only for clients whose revision has them."""

import xml.etree.ElementTree as ElementTree
from base64 import b64decode
from collections.abc import Callable

import pytest

from satchel.contracts import load
from satchel.contracts.satchel.app import ICONS
from tests.support.stdio import META, NEWEST, OLDEST, Client

TOOLS = {tool.name: tool for tool in load("satchel").tools}


@pytest.mark.parametrize("revision", [OLDEST, "2025-11-25", NEWEST])
def test_the_server_and_its_tools_have_icons_where_the_revision_has(
    store: str, serve: Callable[..., Client], revision: str
) -> None:
    client = serve("satchel", store)
    if revision == NEWEST:
        about = client.request("server/discover")["result"]["_meta"][f"{META}serverInfo"]
    else:
        about = client.initialize(revision)["result"]["serverInfo"]
    has_icons = revision >= "2025-11-25"
    assert about.get("icons") == ([{"src": ICONS[""]}] if has_icons else None)
    result = client.request("tools/list")["result"]
    for tool in result["tools"]:
        assert tool.get("icons") == ([{"src": ICONS[TOOLS[tool["name"]].toolset]}] if has_icons else None)
    if revision == NEWEST:  # every result names the server, so icons are left out there
        assert set(result["_meta"][f"{META}serverInfo"]) == {"name", "version"}


@pytest.mark.parametrize("icon", ICONS.values())
def test_an_icon_is_a_small_drawing_without_scripts(icon: str) -> None:
    kind, _, data = icon.partition(",")
    assert kind == "data:image/svg+xml;base64" and len(icon) <= 300
    root = ElementTree.fromstring(b64decode(data, validate=True))
    svg = "{http://www.w3.org/2000/svg}"
    assert [element.tag for element in root.iter()] == [f"{svg}svg", f"{svg}path"]
