"""The MCP endpoint of one contract: a POST is a call, a GET opens a stream of changes for the handshake generation."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import nullcontext, suppress
from typing import Any

from msgspec import structs

from satchel.auth.callers import AccessDenied, Callers
from satchel.clock import new_id
from satchel.contracts.contract import Contract, Report
from satchel.contracts.runner import Runner
from satchel.errors import Abandoned, Unanswered
from satchel.log import log_call
from satchel.model import Scope
from satchel.protocol import INVALID_REQUEST, Call, Connection, ProtocolError
from satchel.protocol.connection import PROTOCOL_METHODS
from satchel.protocol.elements import Bytes
from satchel.protocol.streamable_http import SESSION_HEADER, Post, find_handshake_revision, make_session_id
from satchel.protocol.subscriptions import announces
from satchel.transports.http.calls import CallKey, Calls
from satchel.transports.http.guard import check_body, enter
from satchel.transports.http.messages import (
    Disconnected,
    HeaderLines,
    Refusal,
    Request,
    Response,
    json_response,
)
from satchel.transports.http.metrics import Metrics
from satchel.transports.http.shares import Kind
from satchel.transports.http.streams import Streams
from satchel.transports.listeners import Listeners
from satchel.work import Work

_MAX_INLINE_BYTES = 64 * 1024  # a larger message is decoded in a worker thread


class Endpoint:
    """Serves one contract at one path."""

    def __init__(
        self,
        contract: Contract,
        runner: Runner,
        *,
        callers: Callers,
        calls: Calls,
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
        self._calls = calls
        self._metrics = metrics
        self._is_embedded = is_embedded  # the store, so that a look-up waits for nothing but the processor
        self._streams = Streams(
            contract, callers=callers, listeners=listeners, metrics=metrics, watch=watch, heartbeat=heartbeat
        )

    async def handle(self, request: Request) -> Response | None:
        """Answer one request; None where the response was a stream."""
        scope = await enter(request, self._callers)
        if self._contract.acts_as_user:
            scope = self._callers.as_user(scope)
        if self._contract.reads_personal:
            scope = self._callers.with_personal(scope)
        if request.method == "GET":
            connection = self._open_connection(request)
            await self._streams.listen(request, connection, scope, list)
            return None
        work = self._calls.begin(scope)
        self._calls.rates.count(work.user, 1)
        check_body(request.headers)
        try:
            post, received = await self._read_post(request, scope, work)
            return await self._answer(request, post, scope, work, received)
        except Abandoned:
            if request.connection.is_gone() is False:  # another request of the client cancelled it
                return Response(202)
            raise Disconnected from None

    async def _read_post(self, request: Request, scope: Scope, work: Work) -> tuple[Post, float]:
        """The message of a request, whose bytes are freed before its calls are run, and when it was received."""
        raw, received = await self._calls.read_body(request), time.monotonic()
        if len(raw) <= _MAX_INLINE_BYTES:
            return self._decode(request, raw, scope), received
        async with request.account.decoder(len(raw)) or nullcontext():
            return await self._calls.run(request, work, lambda: self._decode(request, raw, scope)), received

    def _decode(self, request: Request, raw: bytearray, scope: Scope) -> Post:
        return Post(self._runner.offer_to(scope.user), request.headers, raw, self._header_arguments)

    # -- calls --------------------------------------------------------------------------------------------------

    async def _answer(self, request: Request, post: Post, scope: Scope, work: Work, received: float) -> Response | None:
        for name in post.exchange.refused_tools:
            log_call(name, "InvalidParams", time.perf_counter())
        tools = [tool for tool in map(self._runner.tool, post.calls) if tool is not None]
        id = post.calls[0].id if len(post.calls) == 1 else None
        if scope.is_read_only and any(tool.writes for tool in tools):
            raise self._callers.refuse_write([tool.name for tool in tools], id)
        if not post.calls and post.method is not None:
            method = post.method if isinstance(post.method, str) and post.method in self._methods else "other"
            self._metrics.called(self._contract.name, method, "", is_error=post.exchange.error_code() is not None)
        if post.exchange.is_listening:
            await self._streams.listen(request, post.connection, scope, post.exchange.output)
            return None
        for cancelled in post.exchange.cancelled_ids:
            if post.connection.session:
                self._calls.cancel((work.user, post.connection.session, cancelled))
        if not post.exchange.is_answered:
            return Response(202)
        self._calls.rates.count(work.user, len(post.calls) - 1, id)
        if len(post.calls) > 1 or any(tool.writes for tool in tools):
            request.account.check_unread(id)
        if any(call.progress_token is not None for call in post.calls):
            return await self._answer_with_progress(request, post, scope, work, received)
        may_be_large = request.account.expects_large_answer
        if self._is_quick(post) and not may_be_large and self._calls.rates.may_use_loop(work.user):
            started = time.monotonic()
            body = self._settle(request, post, scope, work, received)
            self._calls.rates.loop_used(work.user, time.monotonic() - started)
        else:
            try:
                body = await self._look_ahead(request, post, scope, work, received)
            except Unanswered:
                body = await self._run(request, post, work, lambda: self._settle(request, post, scope, work, received))
        response = json_response(post.status(), body, self._session_header(post))
        return structs.replace(response, is_refusable=not any(tool.writes for tool in tools))

    async def _look_ahead(self, request: Request, post: Post, scope: Scope, work: Work, received: float) -> Bytes:
        """Answer a look-up in the event loop.

        Raises:
            Unanswered: it is to be run in a worker thread.
        """
        is_lookup = len(post.calls) == 1 and self._is_lookup(post.calls[0])
        is_small = not request.account.expects_large_answer
        if not (is_lookup and is_small and self._calls.rates.may_use_loop(work.user)):
            raise Unanswered

        def settle(runner: Runner) -> Bytes:
            if self._calls.is_stale(received):  # its token has to be looked up again
                raise Unanswered
            started = time.thread_time()
            try:
                return self._settle(request, post, scope, work, time.monotonic(), runner=runner)
            finally:
                self._calls.rates.loop_used(work.user, time.thread_time() - started)

        return await self._runner.look_ahead(settle)

    async def _run(self, request: Request, post: Post, work: Work, settle: Callable[[], Bytes]) -> Bytes:
        """Run calls in a worker thread; other requests of the same client may cancel them meanwhile."""
        keys: list[CallKey] = []
        if post.connection.session:
            keys = [(work.user, post.connection.session, call.id) for call in post.calls]
        for key in keys:
            self._calls.register(key, work)
        try:
            return await self._calls.run(request, work, settle, self._find_kind(request, post))
        except Refusal as refusal:
            refusal.id = post.calls[0].id if len(post.calls) == 1 else None
            raise
        finally:
            for key in keys:
                self._calls.forget(key, work)

    def _find_kind(self, request: Request, post: Post) -> Kind:
        if any(tool is not None and tool.writes for tool in map(self._runner.tool, post.calls)):
            return "writes"
        return "large" if len(post.calls) > 1 or request.account.expects_large_answer else "reads"

    def _is_quick(self, post: Post) -> bool:
        """Whether the answer takes less time than handing the call to a worker thread."""
        if len(post.calls) != 1:
            return not post.calls
        [call] = post.calls
        return call.method == "tools/list" or (self._is_embedded and self._is_lookup(call))

    def _is_lookup(self, call: Call) -> bool:
        tool = self._runner.tool(call)
        return tool is not None and tool.is_lookup

    def _settle(
        self,
        request: Request,
        post: Post,
        scope: Scope,
        work: Work,
        received: float,
        reporter: Callable[[Call], Report] = lambda _: _ignore,
        runner: Runner | None = None,
    ) -> Bytes:
        """Run every call of a message, and encode the answer. The token is looked at again between calls."""
        denial: AccessDenied | None = None
        runner = runner or self._runner
        self._calls.check_token(request, received)
        for place, call in enumerate(post.calls):
            work.check()
            if place and denial is None:
                denial = self._calls.find_denial(request)
            started = time.perf_counter()
            try:
                if denial is not None:
                    raise ProtocolError(INVALID_REQUEST, denial.message)
                if len(post.calls) > 1 and (why := request.account.make_answer(post.exchange.batch_bytes)):
                    post.exchange.end_batch(why)
                post.exchange.check_room()
                result: dict[str, Any] | ProtocolError = runner.answer(call, scope, reporter(call), work)
            except ProtocolError as error:
                result = error.with_traceback(None)  # it would hold this frame, and so the answer
            post.exchange.settle(call, result)
            tool = self._runner.tool(call)
            is_error = isinstance(result, ProtocolError) or bool(result.get("isError"))
            seconds = time.perf_counter() - started
            name = tool.name if tool is not None else ""
            self._metrics.called(self._contract.name, call.method, name, seconds=seconds, is_error=is_error)
        output = post.exchange.output()
        return output[0] if len(output) == 1 else b"".join(output)

    async def _answer_with_progress(
        self, request: Request, post: Post, scope: Scope, work: Work, received: float
    ) -> Response | None:
        """Answer with a stream if a call reports progress before it is done, else with one response."""
        loop = asyncio.get_running_loop()
        reports: asyncio.Queue[Bytes | None] = asyncio.Queue()

        def reporter(call: Call) -> Report:
            def report(progress: float, total: float | None = None, text: str | None = None) -> None:
                for message in post.connection.report_progress(call, progress, total, text):
                    loop.call_soon_threadsafe(reports.put_nowait, message)

            return report

        def settle() -> Bytes:
            return self._settle(request, post, scope, work, received, reporter)

        async def work_on() -> Bytes:
            try:
                return await self._run(request, post, work, settle)
            finally:
                reports.put_nowait(None)

        async def messages() -> AsyncIterator[Bytes | None]:
            message = first
            while message is not None:
                yield message
                message = await reports.get()
            with suppress(Abandoned):  # then the client does not wait for the last message
                yield await working

        def cancel() -> None:
            for call in post.exchange.calls:
                call.is_cancelled = True
            work.cancel()

        working = asyncio.create_task(work_on())
        first = await reports.get()
        if first is None:
            return json_response(post.status(), await working, self._session_header(post))
        await request.stream(messages(), cancel)
        return None

    def _session_header(self, post: Post) -> HeaderLines:
        """A session id, which tells later requests the client's name.

        Some clients open the stream of changes only where they were given one.
        """
        is_opening = post.method == "initialize" and not post.is_per_request and post.exchange.error_code() is None
        if not (is_opening and self.has_stream):
            return ()
        return ((SESSION_HEADER, make_session_id(new_id(), post.connection.client)),)

    # -- streams ------------------------------------------------------------------------------------------------

    def _open_connection(self, request: Request) -> Connection:
        """The connection of a GET, on which clients of the handshake generation hear of changed lists."""
        revision = find_handshake_revision(request.headers)
        if revision is None or not self.has_stream:
            raise Refusal(405, "method", "There is no stream of changes here. Use POST.", [("allow", "POST")])
        accepted = [kind for line in request.headers.all("accept") for kind in line.split(",")]
        kinds = {kind.partition(";")[0].strip().lower() for kind in accepted}
        if kinds.isdisjoint(("text/event-stream", "text/*", "*/*")):
            raise Refusal(406, "method", "A GET opens a stream of changes: accept text/event-stream.")
        return Connection(self._offer.without_subscriptions(), revision)


def _ignore(*_: object) -> None:
    """The report of a call whose client did not ask for progress."""
