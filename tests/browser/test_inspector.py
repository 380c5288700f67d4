"""The app in the official Inspector's own web host: its sandbox of two frames and its content policy, not ours."""

import base64
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from playwright.sync_api import Browser, Frame, Route, expect

from tests.oracles import node
from tests.support.http import HttpServer
from tests.support.process import TIMEOUT, ServerProcess, eventually

TOKEN = "inspector-of-the-tests"


def find_ports(count: int) -> list[int]:
    """Return unused ports."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


@pytest.fixture
def inspector(tmp_path: Path) -> Iterator[str]:
    """Yield the address of the Inspector's web host."""
    port, sandbox = find_ports(2)
    environment = {
        **node.environment(tmp_path),
        "HOST": "127.0.0.1",
        "CLIENT_PORT": str(port),
        "MCP_SANDBOX_PORT": str(sandbox),
        "MCP_AUTO_OPEN_ENABLED": "false",
        "MCP_INSPECTOR_API_TOKEN": TOKEN,
        "MCP_INSPECTOR_SECRET_STORE": "memory",
    }
    process = ServerProcess(node.command("node_modules/.bin/mcp-inspector", "--web"), environment, cwd=tmp_path)

    def is_up() -> bool:
        assert process.process.poll() is None, process.stderr
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    try:
        assert eventually(is_up), process.stderr
        yield f"http://127.0.0.1:{port}"
    finally:
        process.stop()


def stay_here(route: Route) -> None:
    """Block requests of the Inspector to other machines, such as the one for a font."""
    if urlsplit(route.request.url).hostname in ("127.0.0.1", "localhost", None):
        route.continue_()
    else:
        route.abort()


def open_app(browser: Browser, inspector: str, server: HttpServer, given: dict[str, Any]) -> Frame:
    """Return the innermost frame, with the app, after a call of `show` that the Inspector made."""
    encoded = base64.urlsafe_b64encode(json.dumps(given).encode()).decode().rstrip("=")
    query = {"serverUrl": f"{server.url}/mcp", "transport": "http", "autoConnect": TOKEN}
    query |= {"openApp": "show", "appArgs": encoded, "autoOpen": TOKEN}
    page = browser.new_page()
    page.set_default_timeout(TIMEOUT * 1000)
    page.route("**/*", stay_here)
    page.goto(f"{inspector}/?{urlencode(query)}")
    page.locator('[data-testid="connection-status"][data-status="connected"]').wait_for()
    page.locator('[data-app-status="ready"]').wait_for()
    outer, inner = page.frames[1:]
    assert outer.url.endswith("/sandbox") and inner.url == "about:srcdoc"
    return inner


def test_the_board_works_in_the_inspector(browser: Browser, inspector: str, server: HttpServer) -> None:
    server.call("add_tasks", {"lines": ["Write docs !high", "Publish after:1"]})
    app = open_app(browser, inspector, server, {"what": "tasks"})
    expect(app.get_by_label("Ready", exact=True)).to_contain_text("#1 Write docs")
    expect(app.get_by_label("Blocked", exact=True)).to_contain_text("#2 Publish")

    app.get_by_role("button", name="Done task 1").click()
    expect(app.get_by_label("Ready", exact=True)).to_contain_text("#2 Publish")
    app.get_by_label("New task").fill("Third +x")
    app.get_by_role("button", name="Add").click()
    expect(app.get_by_label("Ready", exact=True)).to_contain_text("#3 Third")

    assert [task["number"] for task in server.call("list_tasks", {})["structuredContent"]["tasks"]] == [2, 3]
    app.page.close()
