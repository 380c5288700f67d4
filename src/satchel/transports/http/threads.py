"""The threads in which requests are answered, because the database is asked synchronously.

A request would spend more time in the standard library's executor than in the database: it makes two futures of each
piece of work, with a lock each, and wakes the event loop for each of them. Here the loop is woken once for all the
work that is done by then.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar

COUNT = 32  # most of them wait: for the disk, the write lock, or the database server
QUICK = 2  # none of them waits, and more would only take the interpreter from each other: 16 cost half as much again

P = ParamSpec("P")
T = TypeVar("T")

_Work = tuple[asyncio.Future[Any], Callable[..., Any], tuple[Any, ...]]


class Threads:
    """A pool of threads, a few for quick work, and one kept apart for the question whether we are well."""

    def __init__(self) -> None:
        self._many = _Pool(COUNT, "satchel-call")
        self._quick = _Pool(QUICK, "satchel-read")
        self._apart = _Pool(1, "satchel-health")

    async def run(self, act: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run something in one of the threads."""
        assert not kwargs, "positional arguments only"
        result: T = await self._many.begin(act, args)
        return result

    async def run_quick(self, act: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run something that waits for nothing but the processor."""
        assert not kwargs, "positional arguments only"
        result: T = await self._quick.begin(act, args)
        return result

    async def run_apart(self, act: Callable[[], T]) -> T:
        """Run something that must not wait behind requests."""
        result: T = await self._apart.begin(act, ())
        return result

    def close(self) -> None:
        """Take no more work; what is at hand has been waited for."""
        self._many.close()
        self._quick.close()
        self._apart.close()


class _Pool:
    """Some threads, started when there is work for one more, and what they have done."""

    def __init__(self, size: int, name: str) -> None:
        self._size = size
        self._name = name
        self._started = 0
        self._at_hand = 0  # pieces of work that are begun or wait; only the loop counts
        self._work: SimpleQueue[_Work | None] = SimpleQueue()
        self._done: deque[tuple[asyncio.Future[Any], Any, BaseException | None]] = deque()
        self._is_woken = False

    def begin(self, act: Callable[..., Any], args: tuple[Any, ...]) -> asyncio.Future[Any]:
        """Have something done, from the event loop; gives what can be awaited."""
        future = asyncio.get_running_loop().create_future()
        self._at_hand += 1
        if self._started < min(self._at_hand, self._size):
            self._started += 1
            name = f"{self._name}-{self._started}"
            threading.Thread(target=self._run, args=(future.get_loop(),), name=name, daemon=True).start()
        self._work.put((future, act, args))
        return future

    def close(self) -> None:
        """Let the threads end that have nothing to do."""
        for _ in range(self._started):
            self._work.put(None)

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        while (work := self._work.get()) is not None:
            future, act, args = work
            try:
                self._done.append((future, act(*args), None))
            except BaseException as error:
                self._done.append((future, None, error))
            del work, future, act, args  # or an idle thread would keep a request of many megabytes
            if not self._is_woken:
                self._is_woken = True
                with suppress(RuntimeError):  # the loop is gone, and so is whoever asked
                    loop.call_soon_threadsafe(self._settle)

    def _settle(self) -> None:
        """In the event loop: hand out what is done."""
        self._is_woken = False  # first, so that what is done from now on wakes us again
        while self._done:
            future, result, error = self._done.popleft()
            self._at_hand -= 1
            if future.done():  # given up
                continue
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)
