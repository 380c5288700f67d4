"""Limits that keep the server available to all users. Each worker process counts separately.

They limit the size and duration of requests and, per user, threads, queued calls, calls per minute, bytes in flight.

"""

import asyncio
import os
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar
from weakref import WeakValueDictionary

from anyio import CapacityLimiter
from msgspec import Struct

from satchel.transports.http.messages import RETRY_LATER, Refusal
from satchel.work import LOCAL

MAX_FIELDS: Final = 100
MAX_HEAD_BYTES: Final = 64 * 1024
LARGE_HEAD: Final = f"The head of a request has at most {MAX_FIELDS} fields and {MAX_HEAD_BYTES // 1024} KiB."
MAX_PIPELINED: Final = 64  # waiting requests behind another on one connection; each takes some 3 KB

THREADS: Final = 16  # simultaneous calls; a PostgreSQL store has as many connections
# Simultaneous reads of one user, and as many writes: half of the processors, so that others get the rest.
THREADS_PER_USER: Final = max(1, min(4, (os.cpu_count() or 1) // 2))
QUEUE_PER_USER: Final = 100  # calls waiting for a thread

MAX_BYTES: Final = 96 * 1024 * 1024  # in flight in one process: unanswered request bodies and unsent answers
MAX_BYTES_PER_HOLDER: Final = 40 * 1024 * 1024  # in flight for one user or address, before another of their calls runs
LITTLE: Final = 1024 * 1024  # a caller with fewer bytes in flight is never refused
LARGE_MESSAGE: Final = 64 * 1024  # bytes; larger messages are decoded and run one at a time

_BURST_MINUTES = 5  # minutes' worth of calls that a user may make at once
_MOST_USERS = 10_000  # users with a stored rate

Value = TypeVar("Value")


class Timeouts(Struct, frozen=True, kw_only=True):
    """The timeouts of a server for its clients, in seconds."""

    request: float = 30.0  # for a request to arrive; with a body, longer
    body_rate: int = 16 * 1024  # bytes that extend the time for a body by a second
    body: float = 600.0  # the maximum for a request with a body
    write: float = 30.0  # for a client to read some of its response
    keep_alive: int = 75  # between two requests on a connection
    shutdown: int = 10  # for running requests when the server shuts down

    def for_request(self, body_size: int) -> float:
        """Return how many seconds a request may take once a number of bytes of its body have arrived."""
        return min(self.request + body_size / self.body_rate, self.body)


class Threads:
    """Worker threads for calls, shared between users."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(THREADS, thread_name_prefix="satchel-call")
        self._large = CapacityLimiter(1)
        self._of_users: WeakValueDictionary[tuple[str, bool], CapacityLimiter] = WeakValueDictionary()  # those in use

    async def carry_out(
        self, user: str, act: Callable[[], Value], *, writes: bool = False, is_large: bool = False
    ) -> Value:
        """Run a function in one of the user's threads as soon as one is free. Callers without a token are not limited.

        Large messages, which take many times their size in memory, run one at a time.

        Raises:
            Refusal: too many calls of this user are waiting.
        """
        run = self._run_large if is_large else self._run
        if user == LOCAL:
            return await run(act)
        limiter = self._of_users.get((user, writes))
        if limiter is None:
            limiter = self._of_users[user, writes] = CapacityLimiter(THREADS_PER_USER)
        if limiter.statistics().tasks_waiting >= QUEUE_PER_USER:
            message = f"More than {QUEUE_PER_USER} of your calls are waiting. Try again when some of them are answered."
            raise Refusal(429, "rate", message, [RETRY_LATER])
        async with limiter:
            return await run(act)

    async def _run_large(self, act: Callable[[], Value]) -> Value:
        async with self._large:
            return await self._run(act)

    async def _run(self, act: Callable[[], Value]) -> Value:
        running = asyncio.get_running_loop().run_in_executor(self._executor, act)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            await asyncio.wait([running])  # the thread is still running
            if not running.cancelled():
                running.exception()  # otherwise, asyncio logs that it was never retrieved
            raise


class Rate:
    """A token bucket for the calls of each user."""

    def __init__(self, calls_per_minute: int) -> None:
        self._calls_per_minute = calls_per_minute  # 0: no limit
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # by user: calls left, and the time

    def count(self, user: str, calls: int, id: str | int | None = None) -> None:
        """Count calls of a user.

        Raises:
            Refusal: the user has made too many.
        """
        if user == LOCAL or not self._calls_per_minute or not calls:
            return
        now, most = time.monotonic(), self._calls_per_minute * _BURST_MINUTES
        left, since = self._left.get(user, (most, now))
        left = min(most, left + (now - since) * self._calls_per_minute / 60)
        missing = min(calls, self._calls_per_minute) - left
        if missing > 0:
            seconds = int(missing * 60 / self._calls_per_minute) + 1
            message = f"You may make {self._calls_per_minute} calls a minute. Try again in {seconds} s."
            raise Refusal(429, "rate", message, [("retry-after", str(seconds))], id)
        self._left[user] = (left - calls, now)
        self._left.move_to_end(user)
        if len(self._left) > _MOST_USERS:
            self._left.popitem(last=False)


class InFlight:
    """Bytes in flight: by user for callers with a token, else by address, and in the whole process."""

    def __init__(self) -> None:
        self._total = 0
        self._by_holder: Counter[str] = Counter()

    def add(self, holder: str, size: int) -> None:
        """Add bytes; a negative size removes bytes."""
        self._total += size
        self._by_holder[holder] += size
        if not self._by_holder[holder]:
            del self._by_holder[holder]

    def check(self, holder: str, id: str | int | None = None) -> None:
        """Check whether a holder may have more bytes in flight.

        Raises:
            Refusal: 429 if the holder has too many bytes in flight, 503 if the whole process has.
        """
        held = self._by_holder[holder]
        if held > MAX_BYTES_PER_HOLDER:
            message = (
                f"Your requests and their answers have more than {MAX_BYTES_PER_HOLDER} bytes in flight. "
                "Read the answers first."
            )
            raise Refusal(429, "body", message, [RETRY_LATER], id)
        if self._total > MAX_BYTES and held > LITTLE:
            raise Refusal(503, "body", "Too many bytes are in flight. Try again later.", [RETRY_LATER], id)


class Account:
    """The bytes that one request has in flight."""

    def __init__(self, in_flight: InFlight, address: str) -> None:
        self._in_flight = in_flight
        self._holder = f"address {address}"
        self._size = 0

    def belongs_to(self, user: str) -> None:
        """Count the request for a user from now on, no longer for an address."""
        self._in_flight.add(self._holder, -self._size)
        self._holder = f"user {user}"
        self._in_flight.add(self._holder, self._size)

    def add(self, size: int) -> None:
        """Add bytes of the request."""
        self._size += size
        self._in_flight.add(self._holder, size)

    def check(self, id: str | int | None = None) -> None:
        """Check whether the request may continue. Raises what `InFlight.check` raises."""
        self._in_flight.check(self._holder, id)

    def close(self) -> None:
        """Remove all bytes of the request from the count, after the answer was sent."""
        self._in_flight.add(self._holder, -self._size)
        self._size = 0
