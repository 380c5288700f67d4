"""The open connections of one process."""

import asyncio
from collections.abc import Coroutine
from email.utils import formatdate
from typing import Any

from satchel.log import log, log_surprise
from satchel.transports.http.app import App
from satchel.transports.http.wire import Wire


class Wires:
    """The open connections of one process, and what they share."""

    def __init__(self, app: App, limit: int) -> None:
        self.app = app
        self.limit = limit
        self.loop = asyncio.get_running_loop()
        self.open: set[Wire] = set()
        self.tasks: set[asyncio.Task[Any]] = set()
        self.is_ending = False
        self.date = b""
        self._date_until = 0.0
        self._outbox: list[Wire] = []
        self.tick()

    def wire(self) -> Wire:
        """A new connection."""
        return Wire(self)

    def start(self, work: Coroutine[Any, Any, Any]) -> None:
        """Begin something that takes its time, and that is waited for before we end."""
        task = self.loop.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self._ended)

    def send_soon(self, wire: Wire) -> None:
        """Let a connection send its answer together with those of others."""
        if not self._outbox:
            self.loop.call_soon(self._send)
        self._outbox.append(wire)

    def tick(self) -> None:
        """Look after what depends on the time; called ten times a second."""
        now = self.loop.time()
        if now >= self._date_until:
            self.date = b"date: %s\r\n" % formatdate(usegmt=True).encode()
            self._date_until = now + 1
        for wire in [wire for wire in self.open if wire.due <= now or wire.reader_due <= now]:
            wire.look_at_the_clock(now)

    def end(self) -> None:
        """Answer what has been asked, and close."""
        self.is_ending = True
        for wire in list(self.open):
            wire.end()

    def abort(self) -> None:
        """End whatever is still going on."""
        for task in self.tasks:
            task.cancel()
        for wire in list(self.open):
            wire.transport.abort()

    def _send(self) -> None:
        outbox, self._outbox = self._outbox, []
        for wire in outbox:
            try:
                wire.send()
            except Exception:
                log_surprise("sending an answer")  # and the others are answered all the same
                wire.transport.abort()

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self.tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log(f"a connection was lost: {task.exception()}")
