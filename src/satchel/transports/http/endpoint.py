"""The MCP endpoint of one contract: a POST is a call, a GET opens a stream of changes for the handshake generation."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

from anyio.to_thread import run_sync

from satchel.clock import new_id
from satchel.contracts.contract import Contract
from satchel.contracts.runner import Runner
from satchel.model import Scope, StoreChange
from satchel.protocol import Call, ClientChange, Connection, ProtocolError
from satchel.protocol.connection import PROTOCOL_METHODS
from satchel.protocol.streamable_http import Post, find_handshake_revision
from satchel.protocol.subscriptions import announces
from satchel.transports.http.callers import Callers
from satchel.transports.http.guard import check_body
from satchel.transports.http.listeners import Listener, Listeners
from satchel.transports.http.messages import HeaderLines, Refusal, Request, Response, encoded_json
from satchel.transports.http.metrics import Metrics

_MAX_INLINE_BYTES = 64 * 1024  # a larger message is decoded in a worker thread


class Endpoint:
    """Serves one contract at one path."""

    def __init__(
        self,
        contract: Contract,
        runner: Runner,
        *,
        callers: Callers,
        listeners: Listeners,
        metrics: Metrics,
        watch: Callable[[], None],
        is_embedded: bool,
        heartbeat: float,
    ) -> None:
        self._contract = contract
        self._runner = runner
        self._offer = runner.offer
        self._methods = self._offer.methods | PROTOCOL_METHODS
        self.has_stream = any(announces(self._offer.capabilities, what) for what in ("tools", "prompts", "resources"))
        self._header_arguments = runner.header_arguments
        self._callers = callers
        self._listeners = listeners
        self._metrics = metrics
        self._watch = watch  # starts watching for changes, unless that has begun
        self._heartbeat = heartbeat  # seconds between signs of life on a quiet stream
        self._is_embedded = is_embedded  # the store, so that a look-up waits for nothing but the processor

    async def handle(self, request: Request) -> Response | None:
        """Answer one request; None where the response was a stream."""
        scope = await self._callers.enter(request)
        if self._contract.acts_as_user:
            scope = self._callers.as_user(scope)
        if request.method == "GET":
            await self._open_stream(request, scope)
            return None
        check_body(request.headers)
        raw = await request.body()
        if len(raw) <= _MAX_INLINE_BYTES:
            post = self._read(request, raw)
        else:
            post = await run_sync(self._read, request, raw, abandon_on_cancel=True)
        return await self._answer(request, post, scope)

    def _read(self, request: Request, raw: bytes) -> Post:
        return Post(self._offer, request.headers, raw, self._header_arguments)

    # -- calls --------------------------------------------------------------------------------------------------

    async def _answer(self, request: Request, post: Post, scope: Scope) -> Response | None:
        if scope.is_read_only and any(tool.writes for tool in map(self._runner.tool, post.calls) if tool is not None):
            raise self._callers.refuse_write(post.calls[0].id if len(post.calls) == 1 else None)
        if not post.calls and post.method is not None:
            method = post.method if isinstance(post.method, str) and post.method in self._methods else "other"
            self._metrics.called(self._contract.name, method, "", is_error=post.exchange.error_code() is not None)
        if post.exchange.is_listening:
            await self._stream(request, post.connection, scope, post.exchange.output)
            return None
        if not post.exchange.is_answered:
            return Response(202)
        if any(call.progress_token is not None for call in post.calls):
            return await self._answer_with_progress(request, post, scope)
        if self._is_quick(post):
            body = self._settle_all(post, scope, _ignore_progress)
        else:
            body = await run_sync(self._settle_all, post, scope, _ignore_progress, abandon_on_cancel=True)
        return encoded_json(post.status(), body, self._session_header(post))

    def _is_quick(self, post: Post) -> bool:
        """Whether the answer takes less time than handing the call to a worker thread."""
        if len(post.calls) != 1:
            return not post.calls
        [call] = post.calls
        tool = self._runner.tool(call)
        return call.method == "tools/list" or (self._is_embedded and tool is not None and tool.is_lookup)

    def _settle_all(self, post: Post, scope: Scope, report: Callable[..., None]) -> bytes:
        """Run every call of a message, and encode the answer."""
        for call in post.calls:
            self._settle(post, call, scope, report)
        return b"".join(post.exchange.output())

    def _settle(self, post: Post, call: Call, scope: Scope, report: Callable[..., None]) -> None:
        started = time.perf_counter()
        try:
            result: dict[str, Any] | ProtocolError = self._runner.answer(
                call, scope, lambda *progress: report(call, *progress)
            )
        except ProtocolError as error:
            result = error
        post.exchange.settle(call, result)
        tool = self._runner.tool(call)
        self._metrics.called(
            self._contract.name,
            call.method,
            tool.name if tool is not None else "",
            seconds=time.perf_counter() - started,
            is_error=isinstance(result, ProtocolError) or bool(result.get("isError")),
        )

    async def _answer_with_progress(self, request: Request, post: Post, scope: Scope) -> Response | None:
        """Answer with a stream if a call reports progress before it is done, else with one response."""
        loop = asyncio.get_running_loop()
        reports: asyncio.Queue[bytes | None] = asyncio.Queue()

        def report(call: Call, *progress: Any) -> None:
            for message in post.connection.report_progress(call, *progress):
                loop.call_soon_threadsafe(reports.put_nowait, message)

        async def work() -> bytes:
            try:
                return await run_sync(self._settle_all, post, scope, report, abandon_on_cancel=True)
            finally:
                reports.put_nowait(None)

        working = asyncio.create_task(work())
        message = await reports.get()
        if message is None:
            return encoded_json(post.status(), await working, self._session_header(post))
        leaving = asyncio.create_task(request.disconnected())
        leaving.add_done_callback(lambda _: _cancel_calls(post))
        try:
            await request.begin_events(lambda: None)
            while message is not None:
                await request.send_event(message)
                message = await reports.get()
            await request.send_event(await working)
            await request.end_events()
        finally:
            leaving.cancel()
        return None

    def _session_header(self, post: Post) -> HeaderLines:
        """A session id that means nothing and is not remembered.

        Some clients of the handshake generation open the stream of changes only where they were given one.
        """
        is_opening = post.method == "initialize" and not post.is_per_request and post.exchange.error_code() is None
        return (("mcp-session-id", new_id()),) if is_opening and self.has_stream else ()

    # -- streams ------------------------------------------------------------------------------------------------

    async def _open_stream(self, request: Request, scope: Scope) -> None:
        """Open the stream on which clients of the handshake generation hear of changed lists."""
        revision = find_handshake_revision(request.headers)
        if revision is None or not self.has_stream:
            raise Refusal(405, "method", "There is no stream of changes here. Use POST.", [("allow", "POST")])
        if not _accepts_events(request.headers.all("accept")):
            raise Refusal(406, "method", "A GET opens a stream of changes: accept text/event-stream.")
        await request.body(limit=0)
        await self._stream(request, Connection(self._offer.without_subscriptions(), revision), scope, list)

    async def _stream(
        self, request: Request, connection: Connection, scope: Scope, opening: Callable[[], list[bytes]]
    ) -> None:
        """Send changes until the client leaves or the server shuts down."""
        await run_sync(self._watch)

        def see(changes: list[StoreChange]) -> list[ClientChange]:
            return self._contract.client_changes(changes, scope)

        listener = Listener(connection, see)
        self._listeners.add(listener)  # before the acknowledgement, so that nothing after it is missed
        leaving = asyncio.create_task(request.disconnected())
        leaving.add_done_callback(lambda _: listener.close())
        self._metrics.stream_opened()
        try:
            await request.begin_events(listener.close)
            for message in opening():
                await request.send_event(message)
            checked = time.monotonic()
            while not leaving.done():
                messages = await listener.messages(self._heartbeat)
                if time.monotonic() - checked >= self._heartbeat:
                    if not await self._is_still_allowed(request):
                        break
                    checked = time.monotonic()
                for message in messages:
                    await request.send_event(message)
                if listener.is_closing:
                    break
                if not messages:
                    await request.send_comment()
            for message in connection.close():
                await request.send_event(message)
            await request.end_events()
        finally:
            leaving.cancel()
            self._listeners.remove(listener)
            self._metrics.stream_opened(-1)

    async def _is_still_allowed(self, request: Request) -> bool:
        """Whether the token of a stream is still valid: it may have expired, or been revoked."""
        if self._callers.identify is None:
            return True
        try:
            await self._callers.enter(request)
            return True
        except Refusal as refusal:
            return refusal.status >= 500  # it cannot be checked at the moment


def _accepts_events(accepted: list[str]) -> bool:
    """Whether a client accepts a stream of events, which it has to say."""
    kinds = [kind.partition(";")[0].strip().lower() for line in accepted for kind in line.split(",")]
    return not {"text/event-stream", "text/*", "*/*"}.isdisjoint(kinds)


def _ignore_progress(*_: object) -> None:
    """For calls whose client did not ask for progress."""


def _cancel_calls(post: Post) -> None:
    for call in post.exchange.calls:
        call.is_cancelled = True
