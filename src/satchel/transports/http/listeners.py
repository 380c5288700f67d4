"""Who is to be told of which changes. Lives in the event loop; changes come in from the threads that watch."""

import asyncio
from collections.abc import Callable

from satchel.log import log_surprise
from satchel.model import StoreChange
from satchel.protocol import ClientChange, Connection

_MANY = 1000  # changes that wait for a slow reader; beyond, it is told that anything may have changed


class Listener:
    """One open stream: its conversation, and the changes that it has not been told yet."""

    def __init__(self, connection: Connection, sees: Callable[[list[StoreChange]], list[ClientChange]]) -> None:
        self.connection = connection
        self._sees = sees
        self._waiting: dict[ClientChange, None] = {}
        self._woken = asyncio.Event()
        self.is_closing = False

    def hear(self, changes: list[StoreChange]) -> None:
        """Take in what happened; the stream is told when it can be."""
        for change in self._sees(changes):
            self._waiting[change] = None
        if len(self._waiting) > _MANY:
            self._waiting = {ClientChange("everything"): None}
        if self._waiting:
            self._woken.set()

    def close(self) -> None:
        """End the stream once it has been told what waits."""
        self.is_closing = True
        self._woken.set()

    async def messages(self, patience: float) -> list[bytes]:
        """Wait for something that this client asked to hear of; nothing after `patience` seconds, or at the end."""
        try:
            async with asyncio.timeout(patience):
                while True:
                    await self._woken.wait()
                    self._woken.clear()
                    waiting, self._waiting = self._waiting, {}
                    messages = [message for change in waiting for message in self.connection.announce(change)]
                    if messages or self.is_closing:
                        return messages
        except TimeoutError:
            return []


class Listeners:
    """Every open stream of this process."""

    def __init__(self) -> None:
        self._open: set[Listener] = set()
        self._loop: asyncio.AbstractEventLoop | None = None  # until somebody listens
        self._is_closing = False

    def add(self, listener: Listener) -> None:
        """From now on, tell this one."""
        self._loop = asyncio.get_running_loop()
        self._open.add(listener)
        if self._is_closing:
            listener.close()

    def remove(self, listener: Listener) -> None:
        """Forget one."""
        self._open.discard(listener)

    def tell(self, changes: list[StoreChange]) -> None:
        """Something happened; from any thread."""
        if self._loop is None:
            return
        try:
            self._loop.call_soon_threadsafe(self._tell, changes)
        except RuntimeError:  # the loop is gone, and so are we
            return

    def close(self) -> None:
        """End every stream."""
        self._is_closing = True
        for listener in list(self._open):
            listener.close()

    def _tell(self, changes: list[StoreChange]) -> None:
        for listener in list(self._open):
            try:
                listener.hear(changes)
            except Exception:
                log_surprise("telling of a change")  # and the others are told all the same
