"""The MCP endpoint of one contract: a POST is a call, a GET a stream of changes for the handshake generation."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

from satchel.clock import new_id
from satchel.contracts.contract import Contract
from satchel.contracts.news import news
from satchel.contracts.runner import Runner
from satchel.contracts.schema import mirrored
from satchel.model import Scope, StoreChange
from satchel.protocol import REVISIONS, Call, ClientChange, Connection, ProtocolError
from satchel.protocol.connection import PROTOCOL_METHODS
from satchel.protocol.streamable_http import UNNAMED, VERSION_HEADER, Post
from satchel.protocol.subscriptions import announces
from satchel.transports.http.auth import Auth, for_user
from satchel.transports.http.guard import Refusal
from satchel.transports.http.heads import Head
from satchel.transports.http.listeners import Listener, Listeners
from satchel.transports.http.metrics import Metrics
from satchel.transports.http.replies import JSON, Answer, Lines
from satchel.transports.http.request import Request
from satchel.transports.http.threads import Threads

KEEP_ALIVE = 15.0  # seconds between signs of life on a quiet stream

# To hand a question to a thread costs as much as most answers from an embedded store. So it is asked in the event loop
# first; what takes longer than anybody would notice is given up, and handed on.
_PATIENCE = 0.002  # seconds of the processor
_MEMORY = 1.0  # seconds for which something that took longer is handed on at once

_SMALL = 64 * 1024  # bytes of a message that is read in the event loop; larger ones would hold up the others


class Endpoint:
    """Serves one contract at one path."""

    def __init__(
        self,
        contract: Contract,
        runner: Runner,
        *,
        threads: Threads,
        listeners: Listeners,
        metrics: Metrics,
        auth: Auth,
        watch: Callable[[], None],
        user: str | None,
        is_embedded: bool,
        is_ready: Callable[[], bool],
    ) -> None:
        self._contract = contract
        self._runner = runner
        self._offer = runner.offer
        self._methods = self._offer.methods | PROTOCOL_METHODS
        lists = ("tools", "prompts", "resources")
        self.has_news = any(announces(self._offer.capabilities, what) for what in lists)
        self._mirrored = {tool.name: mirrored(tool.input) for tool in contract.tools}
        self._threads = threads
        self._listeners = listeners
        self._metrics = metrics
        self._auth = auth
        self._user = user  # whose the calls are of nobody in particular
        self._is_embedded = is_embedded  # the store, so that reading waits for nothing but the processor
        self._is_quick = is_embedded and not contract.reads_libraries  # which may render for half a second
        self._is_ready = is_ready  # what is read besides the store
        self._long: dict[str, float] = {}  # tools and methods that took long lately, and until when that counts
        self._watch = watch  # sees to it that changes are watched for

    def take_in(self, headers: Head, raw: bytes) -> Post:
        """Read one POST."""
        return Post(self._offer, headers.last, raw, repeated=headers.repeated, mirrored=self._mirrored)

    def answer_now(self, post: Post, scope: Scope) -> Answer | None:
        """The answer where that takes less time than to hand the question on; else None."""
        if post.exchange.is_listening or not self._is_at_hand(post):
            return None
        body = self._take(post, for_user(scope, self._user), _PATIENCE)
        if not post.exchange.is_answered:
            return Answer(202)
        return None if body is None else Answer(post.status(), body, JSON + self._session(post))

    async def post(self, request: Request, scope: Scope) -> Answer | None:
        """Answer one POST; None where the answer was a stream."""
        post = request.post or await self._read(request)
        answer = self.answer_now(post, scope)
        if answer is not None:
            return answer
        scope, exchange = for_user(scope, self._user), post.exchange
        is_quick = self._is_quick and not self._writes(post)
        body = await (self._threads.run_quick if is_quick else self._threads.run)(self._take, post, scope)
        if exchange.is_listening:
            await self._stream(request, post.connection, scope, exchange.output)
            return None
        if body is None:
            await self._settle_in_stream(request, post, scope)
            return None
        return Answer(post.status(), body, JSON + self._session(post))

    async def _read(self, request: Request) -> Post:
        raw = await request.body()
        if len(raw) <= _SMALL:
            return self.take_in(request.headers, raw)
        return await self._threads.run(self.take_in, request.headers, raw)

    def _session(self, post: Post) -> Lines:
        """A session id that means nothing and that nobody remembers.

        Some clients of the handshake generation open the stream of changes only where they were given one.
        """
        is_opening = post.method == "initialize" and not post.is_per_request and post.exchange.error_code() is None
        return (("mcp-session-id", new_id()),) if is_opening and self.has_news else ()

    async def get(self, request: Request, scope: Scope) -> None:
        """Open the stream on which clients of the handshake generation hear of changed lists."""
        date = request.headers.last.get(VERSION_HEADER)
        revision = UNNAMED if date is None else REVISIONS.get(date)
        if revision is None or not revision.is_handshake or not self.has_news:
            raise Refusal(405, "method", "There is no stream of changes here. Use POST.", [("allow", "POST")])
        if not _takes_events(request.headers.all("accept")):
            raise Refusal(406, "method", "A GET opens a stream of changes: accept text/event-stream.")
        connection = Connection(self._offer.without_subscriptions(), revision)
        await self._stream(request, connection, for_user(scope, self._user), list)

    # -- calls --------------------------------------------------------------------------------------------------

    def _is_at_hand(self, post: Post) -> bool:
        """Whether the answer takes less time than to hand the question to a thread, as far as we know."""
        calls = post.calls
        if not calls:
            return True
        call = calls[0]
        if call.method == "tools/list":
            return len(calls) == 1
        if not self._is_embedded or len(calls) > 1 or not self._is_ready():
            return False
        tool = self._runner.tool(call)
        return tool is not None and tool.is_lookup

    def _hand_on(self, call: Call) -> None:
        """Something took its time: for a while it is handed to a thread at once."""
        tool = self._runner.tool(call)
        self._long[call.method if tool is None else tool.name] = time.monotonic() + _MEMORY

    def _writes(self, post: Post) -> bool:
        return any(tool.writes for tool in map(self._runner.tool, post.calls) if tool is not None)

    def _take(self, post: Post, scope: Scope, patience: float | None = None) -> bytes | None:
        """Answer a message, unless its answer is a stream; in a thread, where that may take time."""
        calls = post.calls
        if scope.is_read_only and self._writes(post):
            raise self._auth.forbidden("Read-only: nothing may be changed.", calls[0].id if len(calls) == 1 else None)
        if not calls and post.method is not None:
            method = post.method if isinstance(post.method, str) and post.method in self._methods else "other"
            self._metrics.called(self._contract.name, method, "", is_error=post.exchange.error_code() is not None)
        if post.exchange.is_listening or any(map(self._reports, calls)):
            return None
        for call in calls:
            self._settle(post, call, scope, _tell_nobody, patience)
        return b"".join(post.exchange.output())

    def _reports(self, call: Call) -> bool:
        """Whether a call tells how far it has come, and its client wants to know."""
        tool = self._runner.tool(call) if call.progress_token is not None else None
        return tool is not None and tool.reports

    def _settle(
        self, post: Post, call: Call, scope: Scope, report: Callable[..., None], patience: float | None = None
    ) -> None:
        started = time.perf_counter()
        is_error = False
        try:
            result: dict[str, Any] | ProtocolError = self._runner.answer(call, scope, report)
            is_error = isinstance(result, dict) and bool(result.get("isError"))
        except ProtocolError as error:
            result, is_error = error, True
        post.exchange.settle(call, result)
        tool = self._runner.tool(call)
        seconds = time.perf_counter() - started
        if patience is not None and seconds > 10 * patience:
            self._hand_on(call)
        name = tool.name if tool is not None else ""
        self._metrics.called(self._contract.name, call.method, name, seconds=seconds, is_error=is_error)

    async def _settle_in_stream(self, request: Request, post: Post, scope: Scope) -> None:
        """Answer with a stream: how far each call has come, then the answers."""
        loop = asyncio.get_running_loop()
        messages: asyncio.Queue[bytes | None] = asyncio.Queue()

        def settle() -> None:
            for call in post.exchange.calls:

                def report(progress: float, total: float | None = None, text: str | None = None) -> None:
                    for message in post.connection.report_progress(call, progress, total, text):  # noqa: B023
                        loop.call_soon_threadsafe(messages.put_nowait, message)

                self._settle(post, call, scope, report)

        async def work() -> None:
            try:
                await self._threads.run(settle)
            finally:
                messages.put_nowait(None)

        working = asyncio.ensure_future(work())
        request.when_gone(lambda: _cancel(post))
        request.begin_stream()
        while (message := await messages.get()) is not None:
            await request.send_event(message)
        await working
        for message in post.exchange.output():
            await request.send_event(message)
        request.end_stream()

    # -- streams ------------------------------------------------------------------------------------------------

    async def _stream(
        self, request: Request, connection: Connection, scope: Scope, opening: Callable[[], list[bytes]]
    ) -> None:
        """Tell of changes until the client leaves or we do."""
        await self._threads.run(self._watch)

        def seen(changes: list[StoreChange]) -> list[ClientChange]:
            return news(self._contract, changes, scope)

        listener = Listener(connection, seen)
        request.when_gone(listener.close)
        self._listeners.add(listener)  # before the acknowledgement, so that nothing after it is missed
        self._metrics.stream_opened()
        try:
            request.begin_stream()
            for message in opening():
                await request.send_event(message)
            asked = time.monotonic()
            while not request.is_gone:
                messages = await listener.messages(KEEP_ALIVE)
                if time.monotonic() - asked >= KEEP_ALIVE:
                    if not await self._may_stay(request):
                        break
                    asked = time.monotonic()
                for message in messages:
                    await request.send_event(message)
                if listener.is_closing:
                    break
                if not messages:
                    await request.send_comment()
            for message in connection.close():
                await request.send_event(message)
            request.end_stream()
        finally:
            self._listeners.remove(listener)
            self._metrics.stream_opened(-1)

    async def _may_stay(self, request: Request) -> bool:
        """Whether a client still is who it was: its token may have expired, or been revoked."""
        if self._auth.identify is None:
            return True
        try:
            await self._threads.run(self._auth.enter, request.headers, request.query)
            return True
        except Refusal as refused:
            return refused.status >= 500  # nobody can tell at the moment


def _takes_events(accepted: list[str]) -> bool:
    """Whether a client takes a stream, by what it says that it accepts, which it must say."""
    kinds = [kind.partition(";")[0].strip().lower() for line in accepted for kind in line.split(",")]
    return not {"text/event-stream", "text/*", "*/*"}.isdisjoint(kinds)


def _tell_nobody(*_: object) -> None:
    """Where nobody asked how far a call has come."""


def _cancel(post: Post) -> None:
    for call in post.exchange.calls:
        call.is_cancelled = True
