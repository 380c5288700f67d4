"""An open page that waits for changes: which of them it may know, and which were not sent to it yet."""

import asyncio
from collections.abc import Callable

from satchel.model import StoreChange

_MAX_WAITING = 200  # changes that wait for a slow browser; beyond, it hears that anything may have changed
_GATHER = 0.1  # seconds in which changes are collected into one message


class PageListener:
    """One stream of a browser."""

    def __init__(self, is_visible: Callable[[StoreChange], bool], owner: str | None) -> None:
        self.owner = owner
        self._is_visible = is_visible
        self._waiting: dict[StoreChange, None] = {}
        self._wakeup = asyncio.Event()
        self.is_closing = False

    def receive(self, changes: list[StoreChange]) -> None:
        """Keep changes until they can be sent."""
        self._waiting.update(dict.fromkeys(change for change in changes if self._is_visible(change)))
        if len(self._waiting) > _MAX_WAITING:
            self._waiting = {StoreChange("everything"): None}
        if self._waiting:
            self._wakeup.set()

    def close(self) -> None:
        """End the stream."""
        self.is_closing = True
        self._wakeup.set()

    async def next_changes(self, timeout: float) -> list[dict[str, str | None]]:
        """Wait for changes; empty after the timeout, or at the end."""
        try:
            async with asyncio.timeout(timeout):
                await self._wakeup.wait()
        except TimeoutError:
            return []
        await asyncio.sleep(_GATHER)
        self._wakeup.clear()
        waiting, self._waiting = self._waiting, {}
        return [{"what": one.what, "project": one.project, "key": one.key} for one in waiting]
