"""Satchel inside another application: mounted in Starlette and FastAPI, and behind TLS of its own."""

import http.client
import json
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from satchel import config
from satchel.asgi import create_app
from satchel.errors import NotFound
from tests.support.examples import read_example
from tests.support.web import WebServer, call, rpc

PATIENCE = 20.0


@contextmanager
def served(app: Any) -> Iterator[int]:
    """Yield an application under a plain uvicorn; gives the port."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run)
    thread.start()
    deadline = time.monotonic() + PATIENCE
    while not server.started:
        assert time.monotonic() < deadline and thread.is_alive()
        time.sleep(0.02)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(PATIENCE)


def ask(port: int, method: str, path: str, headers: Any = (), body: bytes | None = None) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    with closing(connection):
        connection.request(method, path, body, dict(headers))
        response = connection.getresponse()
        return response.status, json.loads(response.read())


def in_starlette(mounted: Any) -> Any:
    return Starlette(routes=[Route("/", lambda _: PlainTextResponse("ours")), Mount("/satchel", mounted)])


def in_fastapi(mounted: Any) -> Any:
    app = FastAPI()
    app.mount("/satchel", mounted)
    return app


@pytest.mark.parametrize("mount", [in_starlette, in_fastapi])
def test_a_mounted_satchel_serves_every_contract(tmp_path: Path, mount: Any) -> None:
    satchel = create_app(database=str(tmp_path / "s.db"), public_url="http://127.0.0.1/satchel")
    with served(mount(satchel)) as port:
        headers, body = call("add_task", {"title": "Try it"})
        status, answer = ask(port, "POST", "/satchel/mcp", headers, body)
        assert (status, answer["result"]["isError"]) == (200, False)
        status, answer = ask(port, "POST", "/satchel/mcp/tasks", *rpc("tools/list"))
        assert (status, len(answer["result"]["tools"])) == (200, 5)
        json_only = {"Content-Type": "application/json"}
        status, answer = ask(port, "POST", "/satchel/mcp/tool/list_tasks", json_only, b"{}")
        assert (status, [task["title"] for task in answer["data"]]) == (200, ["Try it"])
        assert ask(port, "GET", "/satchel/health")[0] == 200
        nothing = {"error": "There is nothing at this path. MCP is served at /mcp."}
        assert ask(port, "GET", "/satchel/nothing") == (404, nothing)
        assert ask(port, "GET", "/satchel/health", {"Host": "evil.example.com"})[0] == 421
    satchel.close()


@pytest.mark.parametrize("name", ["starlette", "fastapi"])
def test_the_examples_of_the_docs_are_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(read_example(name), names)
    with served(names["app"]) as port:
        status, answer = ask(port, "POST", "/satchel/mcp", *rpc("tools/list"))
        assert status == 200 and answer["result"]["tools"]


def test_a_stream_of_a_mounted_satchel_tells_of_changes(tmp_path: Path) -> None:
    satchel = create_app(database=str(tmp_path / "s.db"), public_url="http://127.0.0.1/satchel")
    with served(in_starlette(satchel)) as port:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        headers, body = rpc("subscriptions/listen", {"notifications": {"promptsListChanged": True}})
        connection.request("POST", "/satchel/mcp", body, dict(headers))
        stream = connection.getresponse()
        assert b"acknowledged" in read_event(stream)
        ask(port, "POST", "/satchel/mcp", *call("add_prompt", {"title": "New", "content": "x"}))
        assert b"notifications/prompts/list_changed" in read_event(stream)
        stream.close()
        connection.close()
    satchel.close()


def read_event(stream: http.client.HTTPResponse) -> bytes:
    while True:
        line = stream.readline()
        if line.startswith(b"data: "):
            return line


def test_what_is_left_out_comes_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SATCHEL_AUTH", "token")
    satchel = create_app(database=str(tmp_path / "s.db"), public_url="http://127.0.0.1/satchel")
    with served(in_starlette(satchel)) as port:
        assert ask(port, "POST", "/satchel/mcp", *rpc("tools/list"))[0] == 401
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
    folder = tmp_path_factory.mktemp("tls")
    cert, key = str(folder / "cert.pem"), str(folder / "key.pem")
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    subprocess.run([*words, *names, "-keyout", key, "-out", cert], check=True, capture_output=True)
    return cert, key


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
    for files, status in (((cert, str(tmp_path / "none")), 1), ((cert, cert), 1)):
        command = ["satchel", "serve", "--transport", "http", "--port", "0", "-d", str(tmp_path / "s.db")]
        done = run_satchel([*command[1:], "--tls-cert", files[0], "--tls-key", files[1]])
        assert done.returncode == status and "--tls-cert and --tls-key" in done.stderr, done.stderr


def run_satchel(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "satchel", *arguments], capture_output=True, text=True, check=False)
