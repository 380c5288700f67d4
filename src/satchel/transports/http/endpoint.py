"""The MCP endpoint of one contract: a POST is a call; a GET opens a stream of changes for the handshake generation."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from satchel.auth.callers import AccessDenied, Callers
from satchel.clock import new_id
from satchel.contracts.contract import Contract, Report
from satchel.contracts.runner import Runner
from satchel.errors import Abandoned
from satchel.log import log_call
from satchel.model import Scope as CallScope
from satchel.protocol import INVALID_REQUEST, Call, Connection, ProtocolError
from satchel.protocol.codec import Bytes
from satchel.protocol.connection import PROTOCOL_METHODS
from satchel.protocol.streamable_http import SESSION_HEADER, Post, find_handshake_revision, make_session_id
from satchel.protocol.subscriptions import announces
from satchel.transports.http import messages
from satchel.transports.http.limits import LARGE_MESSAGE, Rate, Threads
from satchel.transports.http.messages import BytesResponse, HeaderLines, Refusal
from satchel.transports.http.metrics import Metrics
from satchel.transports.http.streams import Streams
from satchel.work import LOCAL, Work

_UNWATCHED = 0.05  # seconds before the server watches whether a call's client leaves; most calls are faster

Value = TypeVar("Value")
CallKey = tuple[str, str, str | int]  # user, session, and id of the request


class Calls:
    """The calls that a server process runs in threads; other requests can cancel them."""

    def __init__(self, callers: Callers, calls_per_minute: int = 0) -> None:
        self.callers = callers
        self.rate = Rate(calls_per_minute)
        self._threads = Threads()
        self._running: dict[CallKey, Work] = {}  # only for clients with a session: ids of others are not unique

    def begin(self, scope: CallScope) -> Work:
        """Return a new Work for one request. Without authentication, all callers count as one user without limits."""
        return Work(LOCAL if self.callers.identify is None else scope.user or LOCAL)

    async def run(
        self, request: Request, work: Work, act: Callable[[], Value], *, writes: bool = False, is_large: bool = False
    ) -> Value:
        """Run a function for a request in a thread; cancel it when the client disconnects.

        Raises:
            Refusal: too many calls of this user are waiting.
            ClientDisconnect: the client has left.
            Abandoned: another request cancelled it.
        """
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        watching: list[asyncio.Task[None]] = []
        has_left = False

        async def cancel_with_client() -> None:
            nonlocal has_left
            while (await request.receive())["type"] != "http.disconnect":
                pass
            has_left = True
            work.cancel()  # ends a running call; a call that waits for a thread ends with the task
            if task is not None:
                task.cancel()

        timer = loop.call_later(_UNWATCHED, lambda: watching.append(loop.create_task(cancel_with_client())))
        try:
            return await self._threads.carry_out(work.user, act, writes=writes or is_large, is_large=is_large)
        except asyncio.CancelledError:
            work.cancel()
            if has_left:
                raise ClientDisconnect from None
            raise
        finally:
            timer.cancel()
            for watch in watching:
                watch.cancel()

    @contextmanager
    def registered(self, keys: Sequence[CallKey], work: Work) -> Iterator[None]:
        """Register calls during the block, so that later requests can cancel them."""
        self._running.update(dict.fromkeys(keys, work))
        try:
            yield
        finally:
            for key in keys:
                if self._running.get(key) is work:
                    del self._running[key]

    def cancel(self, key: CallKey) -> None:
        """Cancel a call if it runs in this process."""
        work = self._running.get(key)
        if work is not None:
            work.cancel()


class Endpoint:
    """Serves one contract at one path."""

    def __init__(
        self,
        contract: Contract,
        runner: Runner,
        *,
        calls: Calls,
        streams: Streams,
        metrics: Metrics,
        watch: Callable[[], None],
    ) -> None:
        self._contract = contract
        self._runner = runner
        self._offer = runner.offer
        self._methods = self._offer.methods | PROTOCOL_METHODS
        self._has_stream = any(announces(self._offer.capabilities, what) for what in ("tools", "prompts", "resources"))
        self._header_arguments = runner.header_arguments
        self._callers = calls.callers
        self._calls = calls
        self._streams = streams
        self._metrics = metrics
        self._watch = watch

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in ("GET", "POST"):
            allowed = "GET, POST" if self._has_stream else "POST"
            raise Refusal(405, "method", f"Use {allowed} here.", [("allow", allowed)])
        request = Request(scope, receive, send)
        caller = await messages.identify(request, self._callers)
        if self._contract.acts_as_user:
            caller = self._callers.fill_in(caller, personal=self._contract.reads_personal)
        response = await (self._get if request.method == "GET" else self._post)(request, caller)
        await response(scope, receive, send)

    async def _get(self, request: Request, caller: CallScope) -> Response:
        """Open a stream of list changes for a client of the handshake generation."""
        headers = messages.head_of(request)
        revision = find_handshake_revision(headers)
        if revision is None or not self._has_stream:
            raise Refusal(405, "method", "There is no stream of changes here. Use POST.", [("allow", "POST")])
        accepted = [kind for line in headers.all("accept") for kind in line.split(",")]
        kinds = {kind.partition(";")[0].strip().lower() for kind in accepted}
        if kinds.isdisjoint(("text/event-stream", "text/*", "*/*")):
            raise Refusal(406, "method", "A GET opens a stream of changes: accept text/event-stream.")
        return await self._listen(request, Connection(self._offer.without_subscriptions(), revision), caller, [])

    async def _listen(
        self, request: Request, connection: Connection, caller: CallScope, opening: Sequence[Bytes]
    ) -> Response:
        return await self._streams.listen(
            partial(messages.identify, request, self._callers),
            connection,
            lambda changes: self._contract.client_changes(changes, caller),
            owner=caller.user,
            opening=opening,
            watch=self._watch,
        )

    # -- calls --------------------------------------------------------------------------------------------------

    async def _post(self, request: Request, caller: CallScope) -> Response:
        work = self._calls.begin(caller)
        self._calls.rate.count(work.user, 1)
        headers = messages.head_of(request)
        messages.check_body(headers)
        messages.account_of(request).check()
        raw = await messages.read_body(request)
        try:
            if len(raw) > LARGE_MESSAGE:
                return await self._answer_large(request, caller, work, raw)
            post = self._decode(request, raw, caller)
            del raw
            return await self._answer(request, post, caller, work)
        except Abandoned:  # another request of the client cancelled it
            return BytesResponse(202)

    def _decode(self, request: Request, raw: bytearray, caller: CallScope) -> Post:
        return Post(self._runner.offer_to(caller.user), messages.head_of(request), raw, self._header_arguments)

    async def _answer(self, request: Request, post: Post, caller: CallScope, work: Work) -> Response:
        self._check(request, post, caller, work)
        if post.exchange.is_listening:
            return await self._listen(request, post.connection, caller, post.exchange.output())
        if not post.exchange.is_answered:
            return BytesResponse(202)
        settle = partial(self._settle, request, post, caller, work)
        if not post.calls:
            return self._respond(post, settle())
        run = partial(self._run, request, post, work)
        if any(call.progress_token is not None for call in post.calls):
            return await self._answer_with_progress(post, work, run, settle)
        return self._respond(post, await run(settle))

    async def _answer_large(self, request: Request, caller: CallScope, work: Work, raw: bytearray) -> Response:
        """Decode a large message and run it at once, so that few decoded messages are in memory."""

        def act() -> tuple[Post, Bytes]:
            post = self._decode(request, raw, caller)
            self._check(request, post, caller, work)
            has_answer = post.exchange.is_answered and not post.exchange.is_listening
            return post, self._settle(request, post, caller, work) if has_answer else b""

        post, body = await self._calls.run(request, work, act, is_large=True)
        if post.exchange.is_listening:
            return await self._listen(request, post.connection, caller, post.exchange.output())
        return self._respond(post, body) if post.exchange.is_answered else BytesResponse(202)

    def _check(self, request: Request, post: Post, caller: CallScope, work: Work) -> None:
        """Check a message before any of its calls runs, and carry out its cancellation of an earlier call.

        Raises:
            Refusal: a call writes but its caller may only read, or the caller has made too many calls.
        """
        for name in post.exchange.refused_tools:
            log_call(name, "InvalidParams", time.perf_counter())
        tools = [tool for tool in map(self._runner.tool, post.calls) if tool is not None]
        id = post.calls[0].id if len(post.calls) == 1 else None
        if caller.is_read_only and any(tool.writes for tool in tools):
            raise messages.deny(self._callers.refuse_write(), id, [tool.name for tool in tools])
        if not post.calls and post.method is not None:
            method = post.method if isinstance(post.method, str) and post.method in self._methods else "other"
            self._metrics.called(self._contract.name, method, "", is_error=post.exchange.error_code() is not None)
        for cancelled in post.exchange.cancelled_ids:
            if post.connection.session:
                self._calls.cancel((work.user, post.connection.session, cancelled))
        self._calls.rate.count(work.user, len(post.calls) - 1, id)

    async def _run(self, request: Request, post: Post, work: Work, settle: Callable[[], Bytes]) -> Bytes:
        """Run the calls of a message in a thread; the client's other requests may cancel them."""
        session = post.connection.session
        keys = [(work.user, session, call.id) for call in post.calls] if session else []
        writes = any(tool is not None and tool.writes for tool in map(self._runner.tool, post.calls))
        try:
            with self._calls.registered(keys, work):
                return await self._calls.run(request, work, settle, writes=writes)
        except Refusal as refusal:
            refusal.id = post.calls[0].id if len(post.calls) == 1 else None
            raise

    def _settle(
        self,
        request: Request,
        post: Post,
        caller: CallScope,
        work: Work,
        reporter: Callable[[Call], Report] = lambda _: _ignore,
    ) -> Bytes:
        """Run every call of a message, and encode the answer.

        Raises:
            Refusal: too many bytes are in flight; no call was run.
        """
        messages.account_of(request).check(post.calls[0].id if len(post.calls) == 1 else None)
        for place, call in enumerate(post.calls):
            work.check()
            started = time.perf_counter()
            try:
                messages.check_token(request, self._callers)
                post.exchange.check_room()
                result: dict[str, Any] | ProtocolError = self._runner.answer(call, caller, reporter(call), work)
            except AccessDenied as denied:
                if not place:
                    raise
                result = ProtocolError(INVALID_REQUEST, denied.message)
            except ProtocolError as error:
                result = error.with_traceback(None)  # its frames would hold this one, and so the answer
            post.exchange.settle(call, result)
            tool = self._runner.tool(call)
            is_error = isinstance(result, ProtocolError) or bool(result.get("isError"))
            seconds = time.perf_counter() - started
            name = tool.name if tool is not None else ""
            self._metrics.called(self._contract.name, call.method, name, seconds=seconds, is_error=is_error)
        output = post.exchange.output()
        return output[0] if len(output) == 1 else b"".join(output)

    async def _answer_with_progress(
        self,
        post: Post,
        work: Work,
        run: Callable[[Callable[[], Bytes]], Any],
        settle: Callable[..., Bytes],
    ) -> Response:
        """Answer with a stream if a call reports progress before it ends, otherwise with one response."""
        loop = asyncio.get_running_loop()
        reports: asyncio.Queue[Bytes | None] = asyncio.Queue()

        def reporter(call: Call) -> Report:
            def report(progress: float, total: float | None = None, text: str | None = None) -> None:
                for message in post.connection.report_progress(call, progress, total, text):
                    loop.call_soon_threadsafe(reports.put_nowait, message)

            return report

        async def carry_out() -> Bytes:
            try:
                body: Bytes = await run(partial(settle, reporter=reporter))
                return body
            finally:
                reports.put_nowait(None)

        async def events() -> AsyncIterator[Bytes | None]:
            message = first
            try:
                while message is not None:
                    yield message
                    message = await reports.get()
                yield await working
            except (Abandoned, ClientDisconnect):  # the client does not wait for the last message
                return
            finally:
                work.cancel()

        working = asyncio.create_task(carry_out())
        first = await reports.get()
        return self._respond(post, await working) if first is None else messages.event_stream(events())

    def _respond(self, post: Post, body: Bytes) -> Response:
        return messages.json_response(post.status(), body, self._session_header(post))

    def _session_header(self, post: Post) -> HeaderLines:
        """Return a session id that tells later requests the client's name.

        Some clients open the stream of changes only if they get one.
        """
        is_opening = post.method == "initialize" and not post.is_per_request and post.exchange.error_code() is None
        if not (is_opening and self._has_stream):
            return ()
        return ((SESSION_HEADER, make_session_id(new_id(), post.connection.client)),)


def _ignore(*_: object) -> None:
    """Ignore progress, because the client did not ask for it."""
