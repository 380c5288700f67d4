"""A load generator for HTTP: many connections with one request at a time each; the bytes are made beforehand."""

import selectors
import socket
import time
from collections.abc import Iterator

from bench.stdio import read_cpu


class Connection:
    """One connection, and the bytes of an answer that it still waits for."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), 30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.left = 0
        self.began = 0.0

    def ask(self, request: bytes) -> bytes:
        """Send a request; read the whole answer, head and body."""
        self.socket.sendall(request)
        raw = b""
        while b"\r\n\r\n" not in raw:
            raw += self._receive()
        head, _, body = raw.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
        while len(body) < length:
            body += self._receive()
        if not head.startswith(b"HTTP/1.1 200 ") or b'isError":true' in body or b"content" not in body:
            raise RuntimeError(f"{head[:100]!r} {body[:300]!r}")
        return head + b"\r\n\r\n" + body

    def _receive(self) -> bytes:
        more = self.socket.recv(1 << 16)
        if not more:
            raise RuntimeError("the server has closed the connection")
        return more


class Load:
    """Load on a server, and its measurements. All answers have the same length."""

    def __init__(self, port: int, pid: int, requests: Iterator[bytes]) -> None:
        self.port, self.pid, self.requests = port, pid, requests
        self.calls = 0
        self.cpu = 0.0
        self.taken: list[float] = []  # seconds of each call

    def run(self, connections: int, seconds: float) -> float:
        """Send requests for a while over some connections; return the calls a second."""
        poll = selectors.DefaultSelector()
        opened = [Connection(self.port) for _ in range(connections)]
        size = len(opened[0].ask(next(self.requests)))
        for one in opened:
            poll.register(one.socket, selectors.EVENT_READ, one)
        clock, cpu = time.perf_counter, read_cpu(self.pid)
        calls, began = 0, clock()
        for one in opened:
            one.began, one.left = clock(), size
            one.socket.send(next(self.requests))
        while (now := clock()) < began + seconds:
            for key, _ in poll.select(1):
                one = key.data
                one.left -= len(one.socket.recv(1 << 16))
                if one.left == 0:
                    now = clock()
                    self.taken.append(now - one.began)
                    calls += 1
                    one.left, one.began = size, now
                    one.socket.send(next(self.requests))
                elif one.left < 0 or one.left == size:
                    raise RuntimeError("the server answers something else now")
        self.calls += calls
        self.cpu += read_cpu(self.pid) - cpu
        for one in opened:
            one.socket.close()
        poll.close()
        return calls / (now - began)
