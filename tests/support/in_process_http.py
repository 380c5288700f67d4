"""`satchel serve` over HTTP in a thread of the test process, which saves the start of an interpreter.

Settings, store, application and connections are the real ones. Features of a process (signals, workers, kills,
memory and exit status) are tested with `http.HttpServer` and `web.WebServer`.
"""

import asyncio
import os
import socket
import threading
from collections.abc import Mapping
from functools import partial
from typing import Any, Self

import uvicorn

from satchel import config
from satchel.app import http
from satchel.cli.serve import parse
from satchel.transports.http.bounds import BoundedProtocol
from satchel.transports.http.limits import Timeouts
from tests.support import short_timeouts
from tests.support.http import HttpClient
from tests.support.in_process import forget_log, keep_log
from tests.support.process import TIMEOUT
from tests.support.web import WebClient


class HttpThread:
    """A server in a thread of this process, on a free port."""

    def __init__(self, *arguments: str, environment: Mapping[str, str] | None = None, is_hurried: bool = False) -> None:
        flags = parse(("--transport", "http", *arguments))
        assert flags is not None, arguments
        settings = config.load(flags, {**os.environ, **(environment or {})})
        assert settings.http is not None
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=2048)
        self.port: int = self._listening.getsockname()[1]
        heartbeat = short_timeouts.HEARTBEAT if is_hurried else http.HEARTBEAT
        self.app = http.make_app(settings, settings.http, settings.http.public_url or self.url, heartbeat)
        timeouts = short_timeouts.TIMEOUTS if is_hurried else Timeouts()
        self._server = _Server(_configure(self.app, settings.http, timeouts))
        self._thread = threading.Thread(target=self._server.run, args=([self._listening],), daemon=True)
        self._lines = keep_log(self._thread)
        self._thread.start()
        assert self._server.is_ready.wait(TIMEOUT), self.stderr

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.close()
        if kind is None:
            assert "surprise in" not in self.stderr and "Traceback" not in self.stderr, self.stderr

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def stderr(self) -> str:
        """The log lines of the server so far."""
        return b"".join(self._lines).decode("utf-8", "replace")

    def close(self) -> None:
        """Stop the server, as a signal does."""
        self._server.end()
        self._thread.join(TIMEOUT)
        assert not self._thread.is_alive(), "the server does not end"
        forget_log(self._thread)


class HttpInProcess(HttpClient, HttpThread):
    """A server in a thread, and its MCP client over HTTP."""


class WebInProcess(WebClient, HttpThread):
    """A server in a thread, and its client for raw bytes."""


class _Server(uvicorn.Server):
    """A uvicorn server that any thread can stop at once."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_ready = threading.Event()

    def end(self) -> None:
        self._loop.call_soon_threadsafe(self._is_over.set)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop, self._is_over = asyncio.get_running_loop(), asyncio.Event()
        await super().startup(sockets)
        self.is_ready.set()

    async def main_loop(self) -> None:
        await self.on_tick(0)
        await self._is_over.wait()


def _configure(app: Any, settings: config.Http, timeouts: Timeouts) -> uvicorn.Config:
    """Return uvicorn's settings as `satchel.transports.http.server.run` makes them."""
    protocol: Any = partial(BoundedProtocol, connections=settings.connections, timeouts=timeouts, waiting={})
    return uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=settings.forwarded_allow_ips is not None,
        forwarded_allow_ips=settings.forwarded_allow_ips,
        server_header=False,
        timeout_keep_alive=timeouts.keep_alive,
        timeout_graceful_shutdown=timeouts.shutdown,
    )
