"""Who runs next: worker threads, of which one user holds only a part, and how many calls a user may make.

All of it runs in the event loop, but for the work itself. With several worker processes each counts for itself.
"""

import asyncio
import os
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Final, Literal, TypeVar

from satchel.errors import Abandoned
from satchel.transports.http.messages import CLOSE, Refusal
from satchel.transports.http.turns import REST, Company, Timed
from satchel.work import LOCAL, Work

THREADS: Final = 40  # calls that run at once
# Of them, those of one user that read, and as many that write: half of the processors, so that the other half is there
# for all others. Writes have a share of their own, because one that waits for a lock must not hold up reads.
SHARE: Final = max(1, min(4, (os.cpu_count() or 1) // 2))
LARGE_SHARE: Final = 1  # calls of one user whose answers may be large: until they are sent, they take memory
QUEUE: Final = 100  # calls of one user that wait for their turn
LONGEST_REST: Final = 1.0  # seconds in which a user's thread rests after a call, while others are about

_BURST_MINUTES = 5  # of calls at the rate, which a user may make in one go
_MOST_USERS = 10_000  # whose rates are remembered

_LITTLE = 0.001  # seconds that a call may compute without a rest after it

_QUICK = 0.001  # seconds that every look-up may take in the event loop
_LOOP_PART = 0.05  # of the time of the event loop that the longer look-ups of one user may take
_LOOP_BURST = 0.05  # seconds of them, in one go

Value = TypeVar("Value")
Kind = Literal["reads", "writes", "large"]
Key = tuple[str, Kind]  # a user, and what their calls do


def _ignore(_seconds: float) -> None:
    """For calls whose computing counts for no holder of the event loop."""


class Shares:
    """Worker threads. A user who holds their part of them waits; those who wait take turns, user by user.

    Calls of one user that read, that write, and whose answers may be large have a part each.
    """

    def __init__(self, threads: int = THREADS, share: int = SHARE, queue: int = QUEUE) -> None:
        self._threads = threads
        self._share = share
        self._queue = queue
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="satchel-call")
        self._running: Counter[Key] = Counter()
        self._waiting: dict[Key, deque[asyncio.Future[None]]] = {}  # the user whose turn comes next is the first
        self._company = Company()
        self._rests_until: dict[str, float] = {}  # by user

    def saw(self, user: str) -> None:
        """A user has made a request."""
        self._company.saw(user)

    async def run(
        self, work: Work, act: Callable[[], Value], kind: Kind = "reads", note: Callable[[float], None] = _ignore
    ) -> Value:
        """Run something in a worker thread once it is the user's turn; what is cancelled before that is never run.

        `note` is told how many seconds it has computed.

        Raises:
            Refusal: too many calls of this user are waiting, or the server ends.
            Abandoned: the work was cancelled before its turn.
        """
        key = (work.user, kind)
        if key in self._waiting or not self._has_room(key):
            await self._wait(work, key)
        else:
            self._running[key] += 1
        timed = Timed(act)
        # Not by the future, which refers to itself: it would keep a large answer until the next collection of garbage.
        found: list[Value] = []
        try:
            running: Future[None] = self._executor.submit(lambda: found.append(timed.run()))
        except RuntimeError:  # it was closed
            self._release(key)
            raise Refusal(503, "server", "The server ends. Try again.", [CLOSE]) from None
        try:
            await asyncio.wrap_future(running)
            return found.pop()
        finally:
            if running.done():
                note(timed.seconds)
                self._rest(work.user, timed.seconds)
                self._release(key)
            else:  # the request is over, but the thread is still at work
                running.add_done_callback(partial(self._release_later, asyncio.get_running_loop(), key))

    def close(self) -> None:
        """Start nothing more."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _has_room(self, key: Key) -> bool:
        user, kind = key
        if user in self._rests_until:
            return False
        share = LARGE_SHARE if kind == "large" else self._threads if user == LOCAL else self._share
        return self._running[key] < share and self._running.total() < self._threads

    async def _wait(self, work: Work, key: Key) -> None:
        loop = asyncio.get_running_loop()
        queue = self._waiting.setdefault(key, deque())
        if work.user != LOCAL and len(queue) >= self._queue:
            raise Refusal(429, "rate", _BUSY, [("retry-after", "1")])
        turn: asyncio.Future[None] = loop.create_future()

        def stop() -> None:
            loop.call_soon_threadsafe(_give_up, turn)

        queue.append(turn)
        work.add_stop(stop)
        try:
            await turn
        except BaseException:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self._release(key)  # it was its turn just now
            else:
                self._leave(key, turn)
            raise
        finally:
            work.remove_stop(stop)

    def _leave(self, key: Key, turn: asyncio.Future[None]) -> None:
        queue = self._waiting.get(key, deque())
        if turn in queue:  # else it was passed over just now
            queue.remove(turn)
            if not queue:
                del self._waiting[key]

    def _rest(self, user: str, seconds: float) -> None:
        """Have a user whose call has computed for so long begin no other for a while, where that held up other users.

        Threads share one interpreter, and what they compute there is not divided by users. With rests in between, the
        calls of one user, of all kinds together, compute for a part of the time only, as in the event loop (turns.py).
        """
        if seconds <= _LITTLE or user == LOCAL or not self._company.of(user):
            return
        now = time.monotonic()
        until = min(max(self._rests_until.get(user, now), now) + REST * seconds, now + LONGEST_REST)
        self._rests_until[user] = until
        asyncio.get_running_loop().call_later(until - now, self._end_rest, user, until)

    def _end_rest(self, user: str, until: float) -> None:
        if self._rests_until.get(user) == until:  # else another call has made it longer
            del self._rests_until[user]
            self._start_waiting()

    def _release(self, key: Key) -> None:
        """Give a thread back, and start what it is the turn of."""
        self._running[key] -= 1
        if not self._running[key]:
            del self._running[key]
        self._start_waiting()

    def _start_waiting(self) -> None:
        while (following := next(filter(self._has_room, self._waiting), None)) is not None:
            queue = self._waiting.pop(following)
            turn = queue.popleft()
            if queue:
                self._waiting[following] = queue  # behind the other users
            if not turn.done():
                self._running[following] += 1
                turn.set_result(None)

    def _release_later(self, loop: asyncio.AbstractEventLoop, key: Key, _running: object) -> None:
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(self._release, key)


def _give_up(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_exception(Abandoned())


_BUSY = f"More than {QUEUE} of your calls are waiting. Try again when some of them are answered."


class Allowance:
    """For each user an amount that is used up, and grows again with time."""

    def __init__(self, per_second: float, most: float) -> None:
        self._per_second = per_second
        self._most = most
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # by user: how much, and when

    def left(self, user: str) -> float:
        """What a user has left now; negative where they used more than there was."""
        amount, at = self._left.get(user, (self._most, 0.0))
        return min(self._most, amount + (time.monotonic() - at) * self._per_second)

    def use(self, user: str, amount: float) -> None:
        """Take something away."""
        self._left[user] = (self.left(user) - amount, time.monotonic())
        self._left.move_to_end(user)
        if len(self._left) > _MOST_USERS:
            self._left.popitem(last=False)


class Rates:
    """How many calls a user may make in a minute, and how much of the event loop their look-ups may take."""

    def __init__(self, calls_per_minute: int) -> None:
        self._calls_per_minute = calls_per_minute
        self._calls = Allowance(calls_per_minute / 60, calls_per_minute * _BURST_MINUTES)
        self._loop_time = Allowance(_LOOP_PART, _LOOP_BURST)

    def count(self, user: str, calls: int, id: str | int | None = None) -> None:
        """Count some calls of a user.

        Raises:
            Refusal: they have made too many.
        """
        if user == LOCAL or not self._calls_per_minute or not calls:
            return
        missing = min(calls, self._calls_per_minute) - self._calls.left(user)
        if missing > 0:
            seconds = int(missing * 60 / self._calls_per_minute) + 1
            message = f"You may make {self._calls_per_minute} calls a minute. Try again in {seconds} s."
            raise Refusal(429, "rate", message, [("retry-after", str(seconds))], id)
        self._calls.use(user, calls)

    def may_use_loop(self, user: str) -> bool:
        """Whether a look-up of a user may run in the event loop now."""
        return self._loop_time.left(user) > 0

    def loop_used(self, user: str, seconds: float) -> None:
        """A look-up took so long in the event loop."""
        if seconds > _QUICK:
            self._loop_time.use(user, seconds)
