"""The listening process: a socket, an event loop, and an orderly end. Several of them share the socket."""

import logging
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

import uvicorn

from satchel.log import flush, gather
from satchel.transports.http.app import App
from satchel.transports.http.wire import BoundedProtocol

DRAIN = 10  # seconds that answers in progress have when we are told to end
KEEP_ALIVE = 75  # seconds that a quiet connection is kept


class Server(uvicorn.Server):
    """uvicorn's server, ending as a service should: streams are closed, answers finished, exit status 0."""

    def __init__(self, config: uvicorn.Config, app: App, parent: int | None) -> None:
        super().__init__(config)
        self._app = app
        self._parent = parent  # a pipe that closes when the supervisor is gone

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._parent is not None:
            import asyncio

            asyncio.get_running_loop().add_reader(self._parent, self._orphaned)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.listeners.close()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.handle_exit)
        yield  # and no signal is raised again afterwards, as uvicorn would

    async def on_tick(self, counter: int) -> bool:
        flush()
        return await super().on_tick(counter)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.should_exit = True

    def _orphaned(self) -> None:
        self.should_exit = True


def listen(host: str, port: int) -> socket.socket:
    """A socket that clients can connect to.

    Raises:
        OSError: it cannot be had.
    """
    host = host.strip("[]")  # as IPv6 addresses are written in URLs
    family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(2048)
    except OSError:
        listening.close()
        raise
    listening.set_inheritable(True)
    return listening


def run(app: App, listening: socket.socket, *, connections: int, parent: int | None = None) -> None:
    """Serve until a signal comes, and finish what is at hand."""
    gather()
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # what clients do wrong is no news
    protocol = type("Protocol", (BoundedProtocol,), {"max_connections": connections})
    config = uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=DRAIN,
        backlog=2048,
    )
    Server(config, app, parent).run([listening])


def leave() -> None:
    """End the process at once: a thread that still waits for the database must not hold it up."""
    flush()
    with suppress(OSError):
        os.close(1)
    os._exit(0)
