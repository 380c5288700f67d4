"""Connections whose client has sent nothing yet: each is a file and a few bytes, until its first byte arrives.

uvicorn makes a transport and a protocol of every connection, which takes the event loop 0.2 ms, so that sockets opened
without end would take its time from those who have work, and new clients would wait behind them. Here a connection is
accepted in a tenth of that. The rest is done with its first byte, when it is the turn of who sends it (turns.py).
"""

import asyncio
import select
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from ssl import SSLContext

from satchel.log import log
from satchel.transports.http.connections import Connections
from satchel.transports.http.early_refusals import refuse_admission, refuse_late
from satchel.transports.http.timeouts import Timeouts
from satchel.transports.http.turns import HEAD, Turns

AT_ONCE = 8  # connections that are accepted, and that are looked at, in one round of the event loop

_SHORTEST_PAUSE = 0.001  # seconds in which nothing is accepted during a flood; timers are no finer
_NO_FILES_PAUSE = 0.1  # seconds until the next try, where the process has too many open files


class Arrival:
    """A connection that waits for its first byte, or for its turn after it."""

    def __init__(self, arrivals: "Arrivals", connection: socket.socket, address: str, now: float) -> None:
        self._arrivals = arrivals
        self.connection = connection
        self.address = address
        self.since = now
        self.holder = ""  # who has sent the first bytes

    def give_way(self) -> None:
        """Close, because another connection needs the room."""
        self._arrivals.end(self)


class Arrivals:
    """Accepts the connections of one listening socket, in place of the server of the event loop. Linux only."""

    def __init__(
        self,
        listening: socket.socket,
        make_protocol: Callable[[], asyncio.Protocol],
        *,
        tls: SSLContext | None,
        register: Connections,
        turns: Turns,
        timeouts: Timeouts,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._listening = listening
        self._make_protocol = make_protocol
        self._tls = tls
        self._register = register
        self._turns = turns
        self._timeouts = timeouts
        self._poll = select.epoll()
        self._waiting: dict[int, Arrival] = {}  # by file, the oldest first
        self._ready: dict[str, dict[Arrival, None]] = {}  # by holder: those whose first bytes are there, in order
        self._opening: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        listening.setblocking(False)
        self._loop.add_reader(self._poll.fileno(), self._look)
        self._start()

    def close(self) -> None:
        """Accept nothing more, and close what has not been opened."""
        if self._poll.closed:
            return
        self._loop.remove_reader(self._listening)
        self._loop.remove_reader(self._poll.fileno())
        for arrival in list(self._waiting.values()):
            self.end(arrival)
        if self._timer is not None:
            self._timer.cancel()
        self._poll.close()

    async def wait_closed(self) -> None:
        """Wait until everything is closed: at once, because connections that were opened are the server's."""

    def end(self, arrival: Arrival, answer: bytes = b"") -> None:
        """Close a connection that was not opened, after an answer that fits into the kernel's buffer."""
        self._forget(arrival)
        with suppress(OSError):
            if answer:
                arrival.connection.send(answer)
        arrival.connection.close()

    # -- the event loop calls these ------------------------------------------------------------------------------

    def _start(self) -> None:
        if not self._poll.closed:
            self._loop.add_reader(self._listening, self._accept)

    def _pause(self, seconds: float) -> None:
        self._loop.remove_reader(self._listening)
        self._loop.call_later(seconds, self._start)

    def _accept(self) -> None:
        started = time.perf_counter()
        for _ in range(AT_ONCE):
            try:
                connection, peer = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                break
            except OSError as error:
                log(f"no connection can be accepted: {error.strerror}")
                self._pause(_NO_FILES_PAUSE)
                break
            self._receive(connection, peer[0])
        else:  # more may wait: a flood would take all the time there is
            self._pause(max(_SHORTEST_PAUSE, time.perf_counter() - started))
        self._look()  # most clients send their request at once

    def _receive(self, connection: socket.socket, address: str) -> None:
        """Count a new connection in, and wait for its first byte; or refuse it."""
        connection.setblocking(False)
        arrival = Arrival(self, connection, address, self._loop.time())
        self._waiting[connection.fileno()] = arrival
        refusal = refuse_admission(self._register.admit(arrival))
        if refusal is not None:
            self.end(arrival, refusal)
            return
        self._poll.register(connection.fileno(), select.EPOLLIN)
        if self._timer is None:
            self._timer = self._loop.call_later(self._timeouts.request, self._check_oldest)

    def _look(self) -> None:
        """Find whose the first bytes are, and open the connection when it is their turn."""
        for file, _ in self._poll.poll(0, AT_ONCE):
            arrival = self._waiting[file]
            self._poll.unregister(file)
            try:
                head = arrival.connection.recv(HEAD, socket.MSG_PEEK)
            except OSError:
                head = b""
            if not head:  # the client has left
                self.end(arrival)
                continue
            arrival.holder = holder = self._turns.find_holder(head, arrival.address)
            ready = self._ready.setdefault(holder, {})
            ready[arrival] = None
            self._register.change(arrival, "arriving")
            if len(ready) == 1:
                self._turns.take(holder, partial(self._open_next, holder))

    def _open_next(self, holder: str) -> None:
        arrival = next(iter(self._ready.get(holder, ())), None)
        if arrival is None:
            return  # all have given way
        self._forget(arrival)
        task = self._loop.create_task(self._open(arrival.connection))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)
        if holder in self._ready:
            self._turns.take(holder, partial(self._open_next, holder))

    async def _open(self, connection: socket.socket) -> None:
        try:
            # asyncio, unlike uvloop, leaves it out for sockets that we accept; answers would wait for 40 ms.
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await self._loop.connect_accepted_socket(self._make_protocol, connection, ssl=self._tls)
        except OSError:  # the client has left, or speaks no TLS
            connection.close()

    def _check_oldest(self) -> None:
        """Refuse the connections that have waited too long."""
        self._timer = None
        for arrival in list(self._waiting.values()):
            left = arrival.since + self._timeouts.request - self._loop.time()
            if left > 0:
                self._timer = self._loop.call_later(left, self._check_oldest)
                return
            self.end(arrival, refuse_late(self._timeouts))

    def _forget(self, arrival: Arrival) -> None:
        self._waiting.pop(arrival.connection.fileno(), None)
        self._register.remove(arrival)
        ready = self._ready.get(arrival.holder, {})
        ready.pop(arrival, None)
        if not ready:
            self._ready.pop(arrival.holder, None)
