"""A quiet user as a process of its own, so that no attacker slows down the one who measures.

Run as `python -m tests.attacks.quiet_user`. The first line of stdin is JSON: the ports of the servers to ask in turn,
and a request. Each answer is a line on stdout: the place of its server, when it was asked for, how long it took, the
status. The end of stdin ends the process.
"""

import json
import select
import socket
import sys
import time

PAUSE = 0.01  # seconds between two requests
PATIENCE = 60.0
HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


class Client:
    """A connection to one server, opened again where it had to give way to another."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket = self._connect()

    def ask(self, raw: bytes) -> int:
        """The status of the answer."""
        try:
            return self._ask(raw)
        except OSError:
            self._socket.close()
            self._socket = self._connect()
            return self._ask(raw)

    def _connect(self) -> socket.socket:
        made = socket.create_connection(("127.0.0.1", self._port), PATIENCE)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made

    def _ask(self, raw: bytes) -> int:
        self._socket.sendall(raw)
        received = b""
        while b"\r\n\r\n" not in received:
            received += self._receive()
        head, _, body = received.partition(b"\r\n\r\n")
        size = int(head.lower().partition(b"\r\ncontent-length: ")[2].partition(b"\r\n")[0])
        while len(body) < size:
            body += self._receive()
        return int(head.split()[1])

    def _receive(self) -> bytes:
        data = self._socket.recv(1 << 16)
        if not data:
            raise ConnectionResetError
        return data


def main() -> None:
    given = json.loads(sys.stdin.readline())
    raw = given["request"].encode("latin-1")
    clients = [Client(port) for port in given["ports"]]
    count = 0
    while not select.select([sys.stdin], [], [], PAUSE)[0]:
        place = count % len(clients)
        asked = time.monotonic()
        status = clients[place].ask(raw)
        print(place, asked, time.monotonic() - asked, status, flush=True)
        count += 1
        if count % 20 == 0 and (status := Client(given["ports"][0]).ask(HEALTH)) != 200:
            print(0, asked, 0.0, status, flush=True)


if __name__ == "__main__":
    main()
