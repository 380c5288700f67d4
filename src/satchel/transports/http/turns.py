"""Whose bytes the event loop handles next: a user, or an address without a known token, takes only a part of its time.

The loop would handle what arrives in the order of arrival, so that a flood on many connections goes before one request
on another. Here each holder has a queue of its own, and rests after what was done for it, as long as users other than
the holder are about. Nothing is refused, and a holder who is alone has the whole loop.
"""

import asyncio
import re
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Coroutine, Generator
from hashlib import blake2b
from typing import Any, Generic, TypeVar

REST = 3.0  # seconds of rest for each second of work, so that a holder takes a quarter of the time
COMPANY_SECONDS = 10.0  # after a request, in which its user is expected to make another one

_BURST = 0.001  # seconds of rest that a holder may owe; timers are no finer
_LONGEST_REST = 0.1  # seconds; a debt from the time when the holder was alone is forgotten
_MOST_HOLDERS = 1000  # then those who owe nothing are forgotten
_MOST_TOKENS = 10_000  # that are remembered as known
HEAD = 8192  # bytes of a request in which its token is looked for

_TOKEN = re.compile(rb"\r\nauthorization:[ \t]*bearer[ \t]+([!-~]+)[ \t]*\r\n", re.IGNORECASE)
_PROBE = b"GET /health "

Value = TypeVar("Value")

PROBES = "probes"  # the holder of requests of /health: a flood of others must not hold them up


class Company:
    """Tells whether users other than one are about."""

    def __init__(self) -> None:
        self._last: OrderedDict[str, float] = OrderedDict()  # the two users who were seen last, and when

    def saw(self, user: str) -> None:
        """A user has made a request."""
        self._last[user] = time.monotonic()
        self._last.move_to_end(user)
        if len(self._last) > 2:
            self._last.popitem(last=False)

    def of(self, user: str) -> bool:
        """Whether another user was seen lately."""
        recent = time.monotonic() - COMPANY_SECONDS
        return any(at > recent for other, at in self._last.items() if other != user)


class _Holder:
    """What is to be done for one holder."""

    def __init__(self) -> None:
        self.waiting: deque[Callable[[], None]] = deque()
        self.is_going_on = False  # the loop will look at what waits
        self.rests_until = 0.0


class Turns:
    """The time of one event loop."""

    def __init__(self) -> None:
        self._holders: dict[str, _Holder] = {}
        self._users: OrderedDict[bytes, str] = OrderedDict()  # by a hash of their token, the last used at the end
        self._company = Company()

    def find_holder(self, head: bytes, address: str) -> str:
        """Who sends a request: the user of a token that was valid before, else the address. The head may be cut off."""
        if head.startswith(_PROBE):
            return PROBES
        token = _TOKEN.search(head, 0, HEAD)
        user = None if token is None else self._users.get(_hash(token[1]))
        return f"address {address}" if user is None else f"user {user}"

    def identify(self, token: bytes, user: str) -> str:
        """Note that a token is valid, and whose it is; the holder of its connection from now on."""
        hashed, holder = _hash(token), f"user {user}"
        self._users[hashed] = user
        self._users.move_to_end(hashed)
        if len(self._users) > _MOST_TOKENS:
            self._users.popitem(last=False)
        self._company.saw(holder)
        return holder

    def take(self, holder: str, act: Callable[[], None]) -> bool:
        """Do something for a holder: now, or when it is its turn. Whether it was done now."""
        found = self._holders.get(holder)
        if found is not None and (found.is_going_on or self._rest(holder, found)):
            found.waiting.append(act)
            self._start(holder, found)
            return False
        self._do(holder, act)
        return True

    def follow(self, holder: str, act: Callable[[], None]) -> None:
        """Do something for a holder in another round of the loop, before anything else that waits for it."""
        found = self._find(holder)
        found.waiting.appendleft(act)
        self._start(holder, found)

    def used(self, holder: str, seconds: float) -> None:
        """Something took so long for a holder."""
        found = self._find(holder)
        now = time.monotonic()
        found.rests_until = min(max(found.rests_until, now) + REST * seconds, now + _LONGEST_REST)

    def _find(self, holder: str) -> _Holder:
        found = self._holders.get(holder)
        if found is None:
            if len(self._holders) >= _MOST_HOLDERS:
                self._forget()
            found = self._holders[holder] = _Holder()
        return found

    def _start(self, holder: str, found: _Holder) -> None:
        if not found.is_going_on:
            found.is_going_on = True
            asyncio.get_running_loop().call_soon(self._go_on, holder, found)

    def _rest(self, holder: str, found: _Holder) -> float:
        """How many seconds a holder must still rest; 0 where that is too little to matter, or it is alone."""
        left = found.rests_until - time.monotonic()
        return left if left > _BURST and self._company.of(holder) else 0.0

    def _go_on(self, holder: str, found: _Holder) -> None:
        """Do what has waited longest, one thing in each round of the loop, and rest in between."""
        loop = asyncio.get_running_loop()
        if not found.waiting:
            found.is_going_on = False
        elif rest := self._rest(holder, found):
            loop.call_later(rest, self._go_on, holder, found)
        else:
            loop.call_soon(self._go_on, holder, found)  # first, because what is done may fail
            self._do(holder, found.waiting.popleft())

    def _do(self, holder: str, act: Callable[[], None]) -> None:
        started = time.perf_counter()
        try:
            act()
        finally:
            self.used(holder, time.perf_counter() - started)

    def _forget(self) -> None:
        now = time.monotonic()
        self._holders = {
            name: one for name, one in self._holders.items() if one.is_going_on or one.rests_until > now + _BURST
        }


class Metered:
    """A coroutine that reports how long each of its steps took."""

    def __init__(self, coroutine: Coroutine[Any, Any, None], note: Callable[[float], None]) -> None:
        self._coroutine = coroutine
        self._note = note

    def __await__(self) -> Generator[Any, Any, None]:
        step: Callable[[Any], Any] = self._coroutine.send
        given: Any = None
        while True:
            started = time.perf_counter()
            try:
                awaited = step(given)
            except StopIteration:
                return
            finally:
                self._note(time.perf_counter() - started)
            try:
                step, given = self._coroutine.send, (yield awaited)
            except BaseException as error:
                step, given = self._coroutine.throw, error


class Timed(Generic[Value]):
    """A function, and how many seconds a thread computed in it: what it waited for does not count."""

    def __init__(self, act: Callable[[], Value]) -> None:
        self._act = act
        self.seconds = 0.0

    def run(self) -> Value:
        started = time.thread_time()
        try:
            return self._act()
        finally:
            self.seconds = time.thread_time() - started


def _hash(token: bytes) -> bytes:
    return blake2b(token, digest_size=16).digest()


def is_user(holder: str) -> bool:
    """Whether a holder is a user."""
    return holder.startswith("user ")
