"""Satchel inside another application: mounted in Starlette and FastAPI, and behind TLS of its own."""

import http.client
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from satchel import config
from satchel.asgi import create_app
from satchel.errors import NotFound
from tests.support.examples import read_example
from tests.support.nginx import make_certificate
from tests.support.process import SERVE
from tests.support.web import JSON, WebClient, WebServer, call, eventually, request, rpc

PATIENCE = 20.0


@contextmanager
def served(app: Any) -> Iterator[WebClient]:
    """Serve an application by a plain uvicorn; yield a client."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run)
    thread.start()
    assert eventually(lambda: server.started)
    try:
        client = WebClient()
        client.port = server.servers[0].sockets[0].getsockname()[1]
        yield client
    finally:
        server.should_exit = True
        thread.join(PATIENCE)


def in_starlette(mounted: Any) -> Any:
    return Starlette(routes=[Route("/", lambda _: PlainTextResponse("ours")), Mount("/satchel", mounted)])


def test_a_mounted_satchel_serves_every_contract(tmp_path: Path) -> None:
    satchel = create_app(database=str(tmp_path / "s.db"), public_url="http://127.0.0.1/satchel")
    with served(in_starlette(satchel)) as client:
        added = client.ask("POST", "/satchel/mcp", *call("add_task", {"title": "Try it"}))
        assert (added.status, added.json["result"]["isError"]) == (200, False)
        listed = client.ask("POST", "/satchel/mcp/tasks", *rpc("tools/list"))
        assert (listed.status, len(listed.json["result"]["tools"])) == (200, 5)
        listed = client.ask("POST", "/satchel/mcp/tool/list_tasks", [JSON], b"{}")
        assert (listed.status, [task["title"] for task in listed.json["data"]]) == (200, ["Try it"])
        assert client.ask("GET", "/satchel/health").status == 200
        missing = client.ask("GET", "/satchel/nothing")
        nothing = {"error": "There is nothing at this path. MCP is served at /mcp."}
        assert (missing.status, missing.json) == (404, nothing)
        assert client.ask("GET", "/satchel/health", [("Host", "evil.example.com")]).status == 421
    satchel.close()


@pytest.mark.parametrize("name", ["starlette", "fastapi"])
def test_the_examples_of_the_docs_are_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(read_example(name), names)
    with served(names["app"]) as client:
        answer = client.ask("POST", "/satchel/mcp", *rpc("tools/list"))
        assert answer.status == 200 and answer.json["result"]["tools"]


def test_a_stream_of_a_mounted_satchel_tells_of_changes(tmp_path: Path) -> None:
    satchel = create_app(database=str(tmp_path / "s.db"), public_url="http://127.0.0.1/satchel")
    wish = rpc("subscriptions/listen", {"notifications": {"promptsListChanged": True}})
    with served(in_starlette(satchel)) as client, client.connect() as stream:
        stream.send(request("POST", "/satchel/mcp", *wish))
        assert stream.read_head()[0] == 200
        assert b"acknowledged" in stream.read_chunk()
        client.ask("POST", "/satchel/mcp", *call("add_prompt", {"title": "New", "content": "x"}))
        assert b"notifications/prompts/list_changed" in stream.read_chunk()
    satchel.close()


def test_what_is_left_out_comes_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SATCHEL_AUTH", "token")
    satchel = create_app(database=str(tmp_path / "s.db"), public_url="http://127.0.0.1/satchel")
    with served(in_starlette(satchel)) as client:
        assert client.ask("POST", "/satchel/mcp", *rpc("tools/list")).status == 401
    satchel.close()


def test_settings_that_cannot_work_are_refused(tmp_path: Path) -> None:
    with pytest.raises(config.SettingsError, match="nonsense"):
        create_app(database=str(tmp_path / "s.db"), auth="nonsense", public_url="http://127.0.0.1")
    with pytest.raises(config.SettingsError, match="Did you mean 'tasks'"):
        create_app(database=str(tmp_path / "s.db"), contract="taks", public_url="http://127.0.0.1")
    with pytest.raises(NotFound):
        create_app(database=str(tmp_path / "s.db"), project="missing", public_url="http://127.0.0.1")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    return make_certificate(tmp_path_factory.mktemp("tls"), "localhost")


@pytest.mark.parametrize("workers", ["1", "2"])
def test_tls_is_served_with_a_certificate(tmp_path: Path, certificate: tuple[str, str], workers: str) -> None:
    cert, key = certificate
    store = ("-d", str(tmp_path / "s.db"), "--workers", workers)
    with WebServer(*store, "--tls-cert", cert, "--tls-key", key) as server:
        context = ssl.create_default_context(cafile=cert)
        connection = http.client.HTTPSConnection("localhost", server.port, context=context, timeout=PATIENCE)
        connection.request("GET", "/health")
        assert connection.getresponse().status == 200
        connection.close()
        assert f"at https://127.0.0.1:{server.port}/mcp" in server.stderr


def test_a_certificate_that_cannot_be_used_is_reported(tmp_path: Path, certificate: tuple[str, str]) -> None:
    cert, _ = certificate
    command = [*SERVE, "--transport", "http", "--port", "0", "-d", str(tmp_path / "s.db"), "--tls-cert", cert]
    for key in (str(tmp_path / "none"), cert):
        done = subprocess.run([*command, "--tls-key", key], capture_output=True, text=True, check=False)
        assert done.returncode == 1 and "--tls-cert and --tls-key" in done.stderr, done.stderr
