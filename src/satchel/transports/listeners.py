"""Open streams of changes. They live in the event loop; changes come in from the threads that watch."""

import asyncio
from collections.abc import Callable
from typing import Protocol

from satchel.log import log_surprise
from satchel.model import StoreChange
from satchel.protocol import ClientChange, Connection

MAX_STREAMS = 400  # of one process
MAX_USER_STREAMS = 100  # of one user, and of all callers without a user together

_MAX_WAITING = 1000  # changes that wait for a slow reader; beyond, it hears that anything may have changed


class TooManyStreams(Exception):
    """No further stream can be opened at the moment; the message says whose limit is reached."""


class Listener:
    """One open stream: its connection, whose it is, and the changes that were not sent to it yet."""

    def __init__(
        self,
        connection: Connection,
        translate: Callable[[list[StoreChange]], list[ClientChange]],
        owner: str | None = None,
    ) -> None:
        self.connection = connection
        self.owner = owner
        self._translate = translate  # changes of the store as this client sees them
        self._waiting: dict[ClientChange, None] = {}
        self._wakeup = asyncio.Event()
        self.is_closing = False

    def receive(self, changes: list[StoreChange]) -> None:
        """Keep changes that this client wants until they can be sent."""
        wanted = (change for change in self._translate(changes) if self.connection.wants(change))
        self._waiting.update(dict.fromkeys(wanted))
        if len(self._waiting) > _MAX_WAITING:
            self._waiting = {ClientChange("everything"): None}
        if self._waiting:
            self._wakeup.set()

    def close(self) -> None:
        """End the stream once everything that waits was sent."""
        self.is_closing = True
        self._wakeup.set()

    async def next_messages(self, timeout: float) -> list[bytes]:
        """Wait for messages to this client; empty after the timeout, or at the end."""
        try:
            async with asyncio.timeout(timeout):
                while True:
                    await self._wakeup.wait()
                    self._wakeup.clear()
                    waiting, self._waiting = self._waiting, {}
                    messages = [message for change in waiting for message in self.connection.announce(change)]
                    if messages or self.is_closing:
                        return messages
        except TimeoutError:
            return []


class Receiver(Protocol):
    """An open stream, of a client or of a page."""

    owner: str | None

    def receive(self, changes: list[StoreChange]) -> None:
        """Keep changes until they can be sent."""

    def close(self) -> None:
        """End the stream."""


class Listeners:
    """Every open stream of this process."""

    def __init__(self) -> None:
        self._open: set[Receiver] = set()
        self._loop: asyncio.AbstractEventLoop | None = None  # None until the first stream is opened
        self._is_closing = False

    def add(self, listener: Receiver) -> None:
        """Send changes to a stream from now on.

        Raises:
            TooManyStreams: as many are open as there may be.
        """
        if len(self._open) >= MAX_STREAMS:
            raise TooManyStreams(f"This server keeps at most {MAX_STREAMS} streams open. Try again later.")
        if sum(one.owner == listener.owner for one in self._open) >= MAX_USER_STREAMS:
            raise TooManyStreams(f"A user has at most {MAX_USER_STREAMS} streams open. Close one of yours first.")
        self._loop = asyncio.get_running_loop()
        self._open.add(listener)
        if self._is_closing:
            listener.close()

    def remove(self, listener: Receiver) -> None:
        """Send nothing more to a stream."""
        self._open.discard(listener)

    def publish(self, changes: list[StoreChange]) -> None:
        """Send changes to every stream that wants them; from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._publish, changes)

    def close(self) -> None:
        """End every stream; from any thread."""
        self._is_closing = True
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._close_all)

    def _close_all(self) -> None:
        for listener in self._open:
            listener.close()

    def _publish(self, changes: list[StoreChange]) -> None:
        for listener in list(self._open):
            try:
                listener.receive(changes)
            except Exception:
                log_surprise("publishing a change")  # the other streams still get it
