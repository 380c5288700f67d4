"""The listening process: a socket, an event loop, and an orderly end. Several of them share the socket."""

import asyncio
import os
import signal
import socket
from collections.abc import Callable
from contextlib import suppress

import uvloop

from satchel.transports.http.app import App
from satchel.transports.http.entrance import Entrance
from satchel.transports.http.wires import Wires

DRAIN = 10.0  # seconds that answers in progress have when we are told to end
_TICK = 0.1  # seconds
_BACKLOG = 2048


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
        listening.listen(_BACKLOG)
    except OSError:
        listening.close()
        raise
    listening.set_inheritable(True)
    return listening


def run(
    app: App,
    listening: socket.socket,
    *,
    connections: int,
    parent: int | None = None,
    ready: Callable[[], None] = lambda: None,
) -> None:
    """Serve until a signal comes, and finish what is at hand.

    `parent` is a pipe that closes when the supervisor is gone; `ready` is called once signals are heard.
    """
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(app, listening, connections, parent, ready))


async def _serve(
    app: App, listening: socket.socket, connections: int, parent: int | None, ready: Callable[[], None]
) -> None:
    loop = asyncio.get_running_loop()
    wires = Wires(app, connections)
    ending = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ending.set)
    if parent is not None:
        loop.add_reader(parent, ending.set)

    def tick() -> None:
        loop.call_later(_TICK, tick)  # first, whatever happens in this one
        wires.tick()

    entrance = Entrance(listening, wires, is_shared=parent is not None)
    tick()
    ready()
    await ending.wait()
    if parent is not None:
        loop.remove_reader(parent)
    entrance.close()
    app.listeners.close()
    wires.end()
    with suppress(TimeoutError):
        async with asyncio.timeout(DRAIN):
            while wires.open or wires.tasks:
                await asyncio.sleep(0.02)
    wires.abort()


def leave() -> None:
    """End the process at once: a thread that still waits for the database must not hold it up."""
    with suppress(OSError):
        os.close(1)
    os._exit(0)
