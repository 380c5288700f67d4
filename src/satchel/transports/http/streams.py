"""Open streams of changes, for MCP clients and pages. The watcher threads feed them."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, Generic, TypeVar

from anyio.to_thread import run_sync
from starlette.responses import Response

from satchel.auth.callers import AccessDenied
from satchel.errors import StoreError
from satchel.log import log_surprise
from satchel.model import StoreChange
from satchel.protocol import ClientChange, Connection
from satchel.protocol.codec import Bytes
from satchel.transports.http.messages import RETRY_LATER, Refusal, event_stream
from satchel.transports.http.metrics import Metrics

MAX_STREAMS = 400  # in one process
MAX_STREAMS_PER_USER = 100  # also the limit for all callers without a user

_MAX_WAITING = 1000  # queued changes for a slow reader; beyond that, it is told that anything may have changed

Change = TypeVar("Change")


class Listener(Generic[Change]):
    """The reader of one stream: its owner, and its queued changes."""

    def __init__(
        self, translate: Callable[[list[StoreChange]], Iterable[Change]], everything: Change, owner: str | None
    ) -> None:
        self.owner = owner
        self.is_closing = False
        self.must_check = False  # its owner may have lost access
        self._translate = translate  # translates changes of the store for this reader
        self._everything = everything
        self._waiting: dict[Change, None] = {}
        self._wakeup = asyncio.Event()

    def receive(self, changes: list[StoreChange]) -> None:
        """Queue changes."""
        self.must_check |= any(
            change.what == "everything" or (change.what == "access" and change.owner == self.owner)
            for change in changes
        )
        self._waiting.update(dict.fromkeys(self._translate(changes)))
        if len(self._waiting) > _MAX_WAITING:
            self._waiting = {self._everything: None}
        if self._waiting or self.must_check:
            self._wakeup.set()

    def close(self) -> None:
        """End the stream once all queued changes are sent."""
        self.is_closing = True
        self._wakeup.set()

    async def take(self, timeout: float) -> list[Change]:
        """Wait for changes; return an empty list after the timeout, or at the end."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._wakeup.wait()
        self._wakeup.clear()
        waiting, self._waiting = self._waiting, {}
        return list(waiting)


class Streams:
    """Every open stream of this process."""

    def __init__(self, metrics: Metrics, heartbeat: float) -> None:
        self._metrics = metrics
        self._heartbeat = heartbeat  # seconds between keep-alive messages on a quiet stream
        self._open: set[Listener[Any]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None  # None until the first stream is opened
        self._is_closing = False

    def publish(self, changes: list[StoreChange]) -> None:
        """Send changes to every stream that wants them, from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._publish, changes)

    def close(self) -> None:
        """End every stream, from any thread."""
        self._is_closing = True
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._close_all)

    def check_room(self, owner: str | None) -> None:
        """Check whether a user may open one more stream.

        Raises:
            Refusal: 503 if the process has too many, 429 if the user has.
        """
        if len(self._open) >= MAX_STREAMS:
            message = f"This server keeps at most {MAX_STREAMS} streams open. Try again later."
            raise Refusal(503, "streams", message, [RETRY_LATER])
        if sum(one.owner == owner for one in self._open) >= MAX_STREAMS_PER_USER:
            message = f"A user has at most {MAX_STREAMS_PER_USER} streams open. Close one of yours first."
            raise Refusal(429, "streams", message, [RETRY_LATER])

    async def open(
        self, listener: Listener[Change], is_allowed: Callable[[], Awaitable[bool]], watch: Callable[[], None]
    ) -> AsyncIterator[list[Change]]:
        """Open a stream and return its changes; an empty list keeps it alive. `watch` starts the watchers.

        The stream ends with the listener, or when its owner loses access. The token is checked again with each empty
        list, and at once after a token of the owner was revoked.

        Raises:
            Refusal: for the reasons given at `check_room`; 503 if the store cannot be watched.
        """
        self.check_room(listener.owner)
        try:
            await run_sync(watch)
        except StoreError:
            message = "The store cannot be watched at the moment. Try again later."
            raise Refusal(503, "server", message, [RETRY_LATER]) from None
        changes = self._follow(listener, is_allowed)
        await anext(changes)  # counts the stream before the next one is checked
        return changes

    async def _follow(
        self, listener: Listener[Change], is_allowed: Callable[[], Awaitable[bool]]
    ) -> AsyncIterator[list[Change]]:
        self.check_room(listener.owner)  # others may have been opened since
        self._loop = asyncio.get_running_loop()
        self._open.add(listener)
        self._metrics.stream_opened()
        checked = time.monotonic()
        try:
            yield []
            while not (listener.is_closing or self._is_closing):
                found = await listener.take(self._heartbeat)
                if listener.must_check or time.monotonic() - checked >= self._heartbeat:
                    checked, listener.must_check = time.monotonic(), False
                    if not await is_allowed():
                        return
                yield found
        finally:
            self._open.discard(listener)
            self._metrics.stream_opened(-1)

    async def listen(
        self,
        identify: Callable[[], Awaitable[object]],
        connection: Connection,
        translate: Callable[[list[StoreChange]], list[ClientChange]],
        *,
        owner: str | None,
        opening: Sequence[Bytes],
        watch: Callable[[], None],
    ) -> Response:
        """Return a stream of changes for an MCP client; `watch` starts the watchers, unless they run.

        Raises:
            Refusal: see `open`.
        """
        listener = Listener(
            lambda changes: filter(connection.wants, translate(changes)), ClientChange("everything"), owner
        )

        async def is_allowed() -> bool:
            try:
                await identify()
            except AccessDenied as denied:
                return denied.status >= 500  # it cannot be checked now
            return True

        changes = await self.open(listener, is_allowed, watch)

        async def messages() -> AsyncIterator[Bytes | None]:
            for message in opening:  # once the listener is there, so that no change is missed
                yield message
            async for found in changes:
                for change in found:
                    for message in connection.announce(change):
                        yield message
                if not found and not listener.is_closing:
                    yield None
            for message in connection.close():
                yield message

        return event_stream(messages())

    def _close_all(self) -> None:
        for listener in self._open:
            listener.close()

    def _publish(self, changes: list[StoreChange]) -> None:
        for listener in list(self._open):
            try:
                listener.receive(changes)
            except Exception:
                log_surprise("publishing a change")  # the other streams still get it
