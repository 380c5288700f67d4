"""The stream of changes of one client: opened by a GET or by a subscription, until the client leaves."""

import time
from collections.abc import AsyncIterator, Callable, Sequence

from anyio.to_thread import run_sync

from satchel.auth.callers import AccessDenied, Callers
from satchel.contracts.contract import Contract
from satchel.model import Scope
from satchel.protocol import Connection
from satchel.protocol.elements import Bytes
from satchel.transports.http.guard import enter
from satchel.transports.http.messages import RETRY_LATER, Refusal, Request
from satchel.transports.http.metrics import Metrics
from satchel.transports.listeners import Listener, Listeners, TooManyStreams


class Streams:
    """The streams of one endpoint."""

    def __init__(
        self,
        contract: Contract,
        *,
        callers: Callers,
        listeners: Listeners,
        metrics: Metrics,
        watch: Callable[[], None],
        heartbeat: float,
    ) -> None:
        self._contract = contract
        self._callers = callers
        self._listeners = listeners
        self._metrics = metrics
        self._watch = watch  # starts watching for changes, unless that has begun
        self._heartbeat = heartbeat  # seconds between signs of life on a quiet stream

    async def listen(
        self, request: Request, connection: Connection, scope: Scope, opening: Callable[[], Sequence[Bytes]]
    ) -> None:
        """Send changes until the client leaves, its token is no longer valid, or the server shuts down."""
        await run_sync(self._watch)
        listener = Listener(connection, lambda changes: self._contract.client_changes(changes, scope), scope.user)
        try:
            self._listeners.add(listener)  # before the acknowledgement, so that nothing after it is missed
        except TooManyStreams as error:
            raise Refusal(429, "streams", str(error), [RETRY_LATER]) from None
        self._metrics.stream_opened()

        async def messages() -> AsyncIterator[Bytes | None]:
            for message in opening():
                yield message
            checked = time.monotonic()
            while not listener.is_closing:
                found = await listener.next_messages(self._heartbeat)
                if time.monotonic() - checked >= self._heartbeat:
                    if not await self._is_still_allowed(request):
                        break
                    checked = time.monotonic()
                for message in found:
                    yield message
                if not found and not listener.is_closing:
                    yield None
            for message in connection.close():
                yield message

        try:
            await request.stream(messages(), listener.close, listener.close)
        finally:
            self._listeners.remove(listener)
            self._metrics.stream_opened(-1)

    async def _is_still_allowed(self, request: Request) -> bool:
        """Whether the token of a stream is still valid: it may have expired, or been revoked."""
        try:
            await enter(request, self._callers)
        except AccessDenied as denied:
            return denied.status >= 500  # it cannot be checked at the moment
        return True
