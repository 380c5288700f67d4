"""Processes that share a socket share those who come in. Here both are in one loop, so that no machine decides it."""

import asyncio
import contextlib
import socket
from collections.abc import Coroutine, Iterator
from typing import Any, cast

import pytest
import uvloop

from satchel.transports.http.entrance import Entrance
from satchel.transports.http.server import listen
from satchel.transports.http.wires import Wires

CLIENTS = 40


class Process:
    """What an entrance knows of the process that it belongs to: the guests that it has."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.open: set[asyncio.Protocol] = set()
        self.is_ending = False
        self._tasks: set[asyncio.Task[Any]] = set()

    def wire(self) -> asyncio.Protocol:
        return Guest(self)

    def start(self, work: Coroutine[Any, Any, Any]) -> None:
        task = self.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class Guest(asyncio.Protocol):
    def __init__(self, process: Process) -> None:
        self._process = process

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._process.open.add(self)


@pytest.fixture(params=[uvloop.new_event_loop, asyncio.new_event_loop], ids=["uvloop", "asyncio"])
def runner(request: pytest.FixtureRequest) -> Iterator[asyncio.Runner]:
    with asyncio.Runner(loop_factory=request.param) as runner:
        yield runner


async def guests(*, together: bool) -> list[int]:
    """How many each of two processes has in the end."""
    loop = asyncio.get_running_loop()
    processes = [Process(loop), Process(loop)]
    with contextlib.ExitStack() as stack:
        listening = stack.enter_context(contextlib.closing(listen("127.0.0.1", 0)))
        for process in processes:
            stack.callback(Entrance(listening.dup(), cast("Wires", process), is_shared=True).close)
        for _ in range(CLIENTS):
            stack.enter_context(contextlib.closing(socket.create_connection(listening.getsockname())))
            if not together:
                await asyncio.sleep(0.002)
        async with asyncio.timeout(10):
            while sum(len(process.open) for process in processes) < CLIENTS:
                await asyncio.sleep(0.001)
    return [len(process.open) for process in processes]


@pytest.mark.parametrize("together", [True, False], ids=["together", "one by one"])
def test_two_processes_share_their_guests(runner: asyncio.Runner, together: bool) -> None:
    counts = runner.run(guests(together=together))
    assert min(counts) >= CLIENTS // 10, counts
