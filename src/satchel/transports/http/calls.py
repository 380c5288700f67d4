"""Runs the calls of requests in worker threads, and cancels them when their client leaves or says so."""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

from satchel.auth.callers import AccessDenied, Callers
from satchel.model import Scope
from satchel.transports.http.guard import enter
from satchel.transports.http.messages import Request
from satchel.transports.http.shares import Kind, Rates, Shares
from satchel.work import LOCAL, Work

_UNWATCHED = 0.05  # seconds that a call may take before its client is watched, because most take less
_WITH_HEAD = 0.001  # seconds in which a body is read that arrived together with its head
_FRESH = 0.02  # seconds after which a token is looked at again before its call begins

Value = TypeVar("Value")
CallKey = tuple[str, str, str | int]  # user, session, and id of the request


class Calls:
    """The calls that one server process runs."""

    def __init__(self, callers: Callers, calls_per_minute: int = 0) -> None:
        self._callers = callers
        self._shares = Shares()
        self.rates = Rates(calls_per_minute)
        self._running: dict[CallKey, Work] = {}  # of clients with a session: without one, ids of clients are the same

    def begin(self, scope: Scope) -> Work:
        """The work of one request. Where no token is asked for, all callers are one user, who may use everything."""
        work = Work(LOCAL if self._callers.identify is None else scope.user or LOCAL)
        self._shares.saw(work.user)
        return work

    async def run(self, request: Request, work: Work, act: Callable[[], Value], kind: Kind = "reads") -> Value:
        """Run something for a request, when it is its user's turn, and cancel it when the client leaves.

        Raises:
            Refusal: too many calls of this user are waiting.
            Abandoned: it was cancelled.
        """
        watching: list[asyncio.Task[None]] = []
        timer = asyncio.get_running_loop().call_later(
            _UNWATCHED, lambda: watching.append(asyncio.create_task(_cancel_with_client(request, work)))
        )
        try:
            return await self._shares.run(work, act, kind, request.connection.computed)
        except asyncio.CancelledError:  # the server gives the request up
            work.cancel()
            raise
        finally:
            timer.cancel()
            for task in watching:
                task.cancel()

    def register(self, key: CallKey, work: Work) -> None:
        """Let a later request cancel a call."""
        self._running[key] = work

    def forget(self, key: CallKey, work: Work) -> None:
        """A call is over."""
        if self._running.get(key) is work:
            del self._running[key]

    def cancel(self, key: CallKey) -> None:
        """Cancel a call, if it is one of this process, and runs."""
        work = self._running.get(key)
        if work is not None:
            work.cancel()

    async def read_body(self, request: Request) -> bytearray:
        """The body of a request. Where it came after the head, the token is looked at again.

        Raises:
            AccessDenied: the token was revoked meanwhile, or has expired.
            Refusal, Disconnected: as `Request.read_body`.
        """
        started = time.monotonic()
        raw = await request.read_body()
        if time.monotonic() - started > _WITH_HEAD:
            await enter(request, self._callers)
        return raw

    def check_token(self, request: Request, received: float) -> None:
        """Look at the token again, if the call has waited since its request was received. May ask the database.

        Raises:
            AccessDenied: the token was revoked meanwhile, or has expired.
        """
        if self.is_stale(received):
            self._callers.find_scope(request.headers.all, request.query)

    def is_stale(self, received: float) -> bool:
        """Whether a call has waited so long since its request was received that its token is looked at again."""
        return time.monotonic() - received > _FRESH

    def find_denial(self, request: Request) -> AccessDenied | None:
        """Why the token of a request is not valid any more; None where it is. May ask the database."""
        try:
            self._callers.find_scope(request.headers.all, request.query)
        except AccessDenied as denied:
            return denied
        return None

    def close(self) -> None:
        """Start nothing more."""
        self._shares.close()


async def _cancel_with_client(request: Request, work: Work) -> None:
    await request.wait_until_gone()
    work.cancel()
