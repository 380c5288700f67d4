"""What attackers do to a server, each until a moment: a table of attacks, for test_floods.py and the bench."""

import secrets
import socket
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from tests.attacks.floods import BATCHES, Bearer, SmallWire
from tests.support.stdio import NEWEST
from tests.support.threads import in_threads
from tests.support.web import HANDSHAKE, JSON, PATIENCE, Closed, Wire, call, request, rpc

MIB = 1 << 20


class Attack:
    """Attackers of one server, who have a token and a prompt of 4 MB, and stop at a moment."""

    def __init__(self, port: int, token: Bearer, prompt: str, seconds: float) -> None:
        self.port = port
        self.token = token
        self.prompt = prompt
        self._ends = time.monotonic() + seconds

    @property
    def is_over(self) -> bool:
        return time.monotonic() > self._ends

    def wait(self) -> None:
        """Do nothing more until the end."""
        time.sleep(max(0.0, self._ends - time.monotonic()))

    def connect(self, patience: float = PATIENCE) -> Wire:
        """Open a connection."""
        return Wire(self.port, patience)

    def repeat(self, clients: int, act: Callable[[], object]) -> None:
        """Repeat an action with a number of clients; ignore what the server answers."""

        def run(_: int) -> None:
            while not self.is_over:
                with suppress(OSError, Closed):
                    act()

        in_threads(run, range(clients))

    def hold(self, raws: list[bytes], receive_buffer: int | None = None, *, awaits: bool = False) -> None:
        """Send each request on a connection of its own, read nothing, and keep all of them until the end.

        With `awaits` at least until each answer has begun to arrive.
        """
        wires: list[Wire] = []
        for raw in raws:
            with suppress(OSError):
                wires.append(self.connect() if receive_buffer is None else SmallWire(self.port, receive_buffer))
                wires[-1].socket.settimeout(1.0)  # a server that reads no more blocks who sends
                wires[-1].send(raw)
        if awaits:
            for wire in wires:
                with suppress(OSError):
                    wire.socket.settimeout(PATIENCE)
                    wire.socket.recv(1, socket.MSG_PEEK)
        self.wait()
        for wire in wires:
            wire.close()

    def ask(self, raw: bytes, answers: int = 1) -> None:
        """Send requests on a new connection, and read so many answers."""
        with self.connect() as wire:
            wire.send(raw)
            for _ in range(answers):
                wire.read()

    def post(self, method: str, params: dict[str, Any], path: str = "/mcp", revision: str = HANDSHAKE) -> bytes:
        """Return the bytes of a request."""
        headers, body = rpc(method, params, revision=revision)
        return request("POST", path, [self.token, *headers], body)

    def call(self, tool: str, arguments: dict[str, Any] | None = None, path: str = "/mcp") -> bytes:
        """Return the bytes of a call."""
        return self.post("tools/call", {"name": tool, "arguments": arguments or {}}, path)


def send_heads(attack: Attack) -> None:
    fields = b"".join(b"%x:\r\n" % number for number in range(10_000))
    raw = b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + fields + b"\r\n"
    attack.repeat(4, lambda: attack.ask(raw))


def send_bombs(attack: Attack) -> None:
    bombs = [b"[" + piece * (4 * MIB // len(piece)) + b"1]" for piece in (b"1,", b"[],", b'"",', b'{"a":1},')]
    raws = [request("POST", "/mcp", [attack.token, JSON, ("MCP-Protocol-Version", BATCHES)], bomb) for bomb in bombs]
    attack.repeat(4, lambda: attack.ask(secrets.choice(raws)))


def send_batches(attack: Attack) -> None:
    """Send batches of large answers, and read these as fast as they come."""
    messages = (call("get_prompt", {"id": attack.prompt}, id=id, revision=HANDSHAKE)[1] for id in range(100))
    body = b"[" + b",".join(messages) + b"]"
    raw = request("POST", "/mcp", [attack.token, JSON, ("MCP-Protocol-Version", BATCHES)], body)

    def fetch() -> None:  # Wire.read copies what it has for each piece
        with attack.connect() as wire:
            wire.send(raw)
            left = int(dict(wire.read_head()[1])["content-length"]) - len(wire._buffer)
            while left > 0 and (piece := wire.socket.recv(MIB)):
                left -= len(piece)

    attack.repeat(2, fetch)


def send_batches_that_write(attack: Attack) -> None:
    """Send more and more batches of large answers and a write, and do not read the answers."""
    calls = [call("get_prompt", {"id": attack.prompt}, id=id, revision=BATCHES) for id in range(7)]
    calls.append(call("add_prompt", {"title": "", "content": ""}, id=7, revision=BATCHES))
    body = b"[" + b",".join(one[1] for one in calls) + b"]"
    attack.hold([request("POST", "/mcp", [attack.token, *calls[0][0]], body)] * 24, 4096, awaits=True)


def begin_bodies(attack: Attack) -> None:
    headers, _ = call("add_prompt", revision=HANDSHAKE)
    head = request("POST", "/mcp", [attack.token, *headers, ("Content-Length", str(32 * MIB))])

    attack.hold([head + b" " * (31 * MIB)] * 20)


def read_nothing(attack: Attack) -> None:
    attack.hold([attack.call("get_prompt", {"id": attack.prompt})] * 40, 4096, awaits=True)


def read_nothing_without_a_token(attack: Attack) -> None:
    """Request refusals, pages and style sheets repeatedly, and do not read them."""
    raws = [request("GET", path, [("Accept", "text/html")]) * 64 for path in ("/login", "/prompts", "/metrics", "/mcp")]
    attack.hold(raws * 50, 4096, awaits=True)


def send_ahead(attack: Attack) -> None:
    """Send hundreds of requests behind an answer that is not read."""
    raw = attack.call("get_prompt", {"id": attack.prompt}) + attack.call("list_prompts") * 600
    attack.hold([raw] * 300, 4096, awaits=True)


def read_large(attack: Attack) -> None:
    raw = attack.call("get_prompt", {"id": attack.prompt})

    def fetch() -> None:
        with SmallWire(attack.port, 65536) as wire:
            wire.send(raw)
            wire.read_head()
            time.sleep(0.02)

    attack.repeat(8, fetch)


def open_sockets(attack: Attack) -> None:
    """Open sockets without end, as fast as possible; the last 2,200 stay open."""
    opening = attack.call("list_prompts")
    wires: deque[Wire] = deque()
    while not attack.is_over or len(wires) < 2200:
        with suppress(OSError):
            wires.append(attack.connect(1.0))
            wires[-1].send((b"", opening[:30], opening[:-5])[len(wires) % 3])
        if len(wires) > 2200:
            wires.popleft().close()
    for wire in wires:
        wire.close()


def open_silent_sockets(attack: Attack) -> None:
    """Open 2,200 sockets that send nothing and stay open."""
    attack.hold([b""] * 2200)


def open_and_close(attack: Attack) -> None:
    attack.repeat(8, lambda: attack.connect().close())


def guess_tokens(attack: Attack) -> None:
    name, secret = attack.token
    headers, body = call("list_tags", revision=HANDSHAKE)

    def make(guess: Sequence[Bearer]) -> bytes:
        return request("POST", "/mcp", [*guess, *headers], body)

    def guess() -> None:
        guesses = [make([(name, secret[:-8] + secrets.token_hex(4))]) for _ in range(20)]
        attack.ask(b"".join([*guesses, make([])]), 21)

    attack.repeat(16, guess)


def flood_calls(attack: Attack) -> None:
    raw = attack.call("list_tags") * 20
    attack.repeat(16, lambda: attack.ask(raw, 20))


def render(attack: Attack) -> None:
    attack.hold([attack.post("prompts/get", {"name": "a:slow"}, "/mcp/twig")] * 64)


def search(attack: Attack) -> None:
    raws = [
        attack.call("search", {"query": " ".join(f"word{number}" for number in range(60))}, "/mcp/satchel"),
        attack.call("search_prompts", {"query": "x" * 900}),
    ]
    attack.repeat(12, lambda: attack.ask(secrets.choice(raws)))


def leave(attack: Attack) -> None:
    raw = attack.call("search", {"query": "word x"}, "/mcp/satchel")

    def ask() -> None:
        with attack.connect() as wire:
            wire.send(raw * 20)
            time.sleep(0.01)  # by then the first may have begun

    attack.repeat(12, ask)


def trickle(attack: Attack) -> None:
    """Send heads and bodies byte by byte, and bodies in chunks of one byte."""
    raw = attack.call("list_tags")
    head = request("POST", "/mcp", [attack.token, JSON, ("Transfer-Encoding", "chunked")])
    chunk = b"1\r\n \r\n"

    def send(first: bytes, piece: bytes) -> None:
        with attack.connect() as wire:
            wire.send(first)
            while not attack.is_over:
                wire.send(piece)

    def send_bytes() -> None:
        with attack.connect() as wire:
            for byte in raw:
                wire.send(bytes([byte]))
            wire.read()

    acts = [send_bytes, lambda: send(head, chunk), lambda: send(head, chunk * 8000)]
    in_threads(lambda act: attack.repeat(3, act), acts)


def drip_heads(attack: Attack) -> None:
    """Send many heads that never end, a field now and then."""
    wires = [attack.connect() for _ in range(300)]
    for wire in wires:
        wire.send(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n")
    while not attack.is_over:
        for wire in wires:
            with suppress(OSError):
                wire.send(b"X: a\r\n")
    for wire in wires:
        wire.close()


def ask_for_lists(attack: Attack) -> None:
    """Send requests that run no tool: each only needs a lookup of the token."""
    raws = [attack.post("tools/list", {}), attack.post("ping", {}), request("GET", "/metrics", [attack.token])]
    attack.repeat(12, lambda: attack.ask(b"".join(raws) * 7, 21))


def ask_for_pages(attack: Attack) -> None:
    """Request pages without a session, and with a wrong one."""
    html = ("Accept", "text/html")
    wrong = ("Cookie", f"satchel-{attack.port}=satchel_{'A' * 43}")
    raws = [request("GET", "/login", [html]), request("GET", "/prompts", [html, wrong])]
    attack.repeat(12, lambda: attack.ask(b"".join(raws) * 10, 20))


def send_forms(attack: Attack) -> None:
    """Send forms that consist of escapes, without a session and with one: urllib makes objects for each escape."""
    own = [("Sec-Fetch-Site", "same-origin"), ("Content-Type", "application/x-www-form-urlencoded")]
    with attack.connect() as wire:
        logged_in = wire.ask("POST", "/login", own, b"token=" + attack.token[1].split()[1].encode())
    assert logged_in.status == 303, logged_in
    cookie = ("Cookie", (logged_in.header("set-cookie") or "").partition(";")[0])
    escapes = b"%41" * (5 * MIB)
    login = request("POST", "/login", own, b"token=" + escapes)
    change = request("POST", "/p/default/documents/new", [cookie, *own], b"content=" + escapes)
    attack.repeat(4, lambda: attack.ask(secrets.choice([login, change])))


def subscribe(attack: Attack) -> None:
    uris = [f"satchel://resource/some-name-{number}" for number in range(40_000)]
    few = {"notifications": {"resourceSubscriptions": uris[:1000], "promptsListChanged": True}}
    many = {"notifications": {"resourceSubscriptions": uris}}
    listening, refused = (attack.post("subscriptions/listen", asked, "/mcp/satchel", NEWEST) for asked in (few, many))
    wires = [attack.connect() for _ in range(20)]
    for wire in wires:
        wire.send(listening)
    change = attack.call("add_prompt", {"title": "changed", "content": "x"})
    attack.repeat(4, lambda: attack.ask(secrets.choice([refused, change])))
    for wire in wires:
        wire.close()


def write_long_texts(attack: Attack) -> None:
    """Write long texts; most are refused, because the title is taken or the text too long."""
    contents = ("word and " * 300_000, "x" * (8 * MIB))
    raws = [attack.call("add_prompt", {"title": "long", "content": content}) for content in contents]
    attack.repeat(4, lambda: attack.ask(secrets.choice(raws)))


ATTACKS: dict[str, Callable[[Attack], None]] = {
    "heads of 10,000 fields": send_heads,
    "bombs of elements": send_bombs,
    "batches of large answers": send_batches,
    "batches that write and are not read": send_batches_that_write,
    "unfinished bodies": begin_bodies,
    "40 clients that do not read": read_nothing,
    "200 clients without a token that do not read": read_nothing_without_a_token,
    "requests sent ahead": send_ahead,
    "large answers": read_large,
    "sockets without end": open_sockets,
    "sockets that say nothing": open_silent_sockets,
    "sockets that are closed at once": open_and_close,
    "bytes and chunks one by one": trickle,
    "heads that never end": drip_heads,
    "lists and pings": ask_for_lists,
    "pages without a session": ask_for_pages,
    "forms of escapes": send_forms,
    "wrong tokens": guess_tokens,
    "a flood of calls": flood_calls,
    "64 renders": render,
    "12 searches": search,
    "clients that leave": leave,
    "streams of 40,000 URIs": subscribe,
    "long texts": write_long_texts,
}
