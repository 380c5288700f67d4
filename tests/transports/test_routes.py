"""Paths find their application, whole ones first, below a mount too; and the lifespan is answered."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from satchel.transports.http import metrics
from satchel.transports.http.messages import App
from satchel.transports.http.routes import Router
from tests.support.web import WebServer


def named(name: str, heard: list[str]) -> App:
    async def app(*_: object) -> None:
        heard.append(name)

    return app


def ask(path: str, root: str = "") -> str:
    """The name of the application that answers a path."""
    heard: list[str] = []

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        yield

    paths = {"/mcp": named("mcp", heard), "/mcp/tool/x": named("whole", heard)}
    prefixes = {"/mcp/tool/": named("prefix", heard)}
    router = Router(paths, prefixes, default=named("default", heard), lifespan=lifespan)
    asyncio.run(router({"type": "http", "path": path, "root_path": root}, None, None))  # type: ignore[arg-type]
    [found] = heard
    return found


@pytest.mark.parametrize(
    ("path", "root", "found"),
    [
        ("/mcp", "", "mcp"),
        ("/mcp/", "", "default"),
        ("/mcp\n", "", "default"),
        ("/MCP", "", "default"),
        ("/mcp/tool/x", "", "whole"),
        ("/mcp/tool/", "", "prefix"),
        ("/mcp/tool/a/b", "", "prefix"),
        ("/satchel/mcp", "/satchel", "mcp"),
        ("/satchel/mcp", "", "default"),
        ("/satchelmcp", "/satchel", "default"),
        ("/satchel", "/satchel", "default"),
        ("/mcp", "/satchel", "mcp"),
        ("", "", "default"),
    ],
)
def test_a_path_finds_its_application(path: str, root: str, found: str) -> None:
    assert ask(path, root) == found


@pytest.mark.parametrize(
    ("fails", "said"),
    [
        ("", ["lifespan.startup.complete", "lifespan.shutdown.complete"]),
        ("start", ["lifespan.startup.failed"]),
        ("end", ["lifespan.startup.complete", "lifespan.shutdown.failed"]),
    ],
)
def test_the_server_is_told_how_start_and_end_went(fails: str, said: list[str]) -> None:
    sent: list[dict[str, Any]] = []

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        if fails == "start":
            raise OSError("no disk")
        yield
        if fails == "end":
            raise OSError("no disk")

    async def receive() -> dict[str, Any]:
        return {}

    async def send(message: Any) -> None:
        sent.append(message)

    router = Router({}, {}, default=named("default", []), lifespan=lifespan)
    live = router({"type": "lifespan"}, receive, send)
    if fails:
        with pytest.raises(OSError, match="no disk"):
            asyncio.run(live)
        assert sent[-1]["message"] == "OSError: no disk"
    else:
        asyncio.run(live)
    assert [message["type"] for message in sent] == said


def test_without_its_extra_nothing_is_counted_and_the_page_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(metrics, "IS_COUNTING", False)
    counters = metrics.Metrics()
    counters.called("satchel", "tools/call", "search", is_error=True)
    counters.refused(401)
    counters.stream_opened()
    assert counters.show() is None


def test_a_server_without_its_extras_serves_and_answers_metrics_with_advice(tmp_path: Path) -> None:
    """As a plain installation has it: without prometheus_client, uvloop and starlette."""
    missing = "sys.modules.update(dict.fromkeys(['prometheus_client', 'uvloop', 'starlette']))"
    code = f"import sys; {missing}\nfrom satchel.__main__ import main\nsys.exit(main())"
    with WebServer("--database", str(tmp_path / "s.db"), command=(sys.executable, "-c", code)) as server:
        answer = server.ask("GET", "/metrics")
        advice = "Metrics need an extra: pip install 'satchel[metrics]', then start again."
        assert (answer.status, answer.json) == (501, {"error": advice})
        assert server.ask("GET", "/health").status == 200
