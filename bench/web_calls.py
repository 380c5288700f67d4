"""What a `tools/call` that reads costs over HTTP, beside the official SDK's server and a bare ASGI app.

(Not http.py: scripts here find their neighbours by name, and everything that imports the standard library's `http`
would find it.)
"""

import argparse
import json
import os
import selectors
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import postgres
from client import HERE, PYTHON, environment, median, quantile, table
from satchel.model import PromptDraft, Scope
from satchel.services import projects, prompts
from satchel.storage.database import open_database

NEW, OLD = "2026-07-28", "2025-11-25"
META = "io.modelcontextprotocol/"
OTHERS = {  # reads of other kinds
    "prompt-store list_prompts": ("/mcp/prompt-store", "list_prompts", {}),
    "satchel get_prompt": ("/mcp/satchel", "get_prompt", {"prompt": "review-a-change"}),
    "satchel list_prompts": ("/mcp/satchel", "list_prompts", {}),
    "satchel list_tasks": ("/mcp/satchel", "list_tasks", {}),
    "tasks list_tasks": ("/mcp/tasks", "list_tasks", {}),
}
GOAL = 5.0  # times the throughput of the SDK's server
TICK = os.sysconf("SC_CLK_TCK")


class Rival:
    """One server process, and the request that it is asked again and again."""

    def __init__(self, name: str, command: list[str], revision: str, prompt: str, env: dict[str, str]) -> None:
        self.name = name
        self.revision = revision
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        filled = [word.replace("PORT", str(self.port)) for word in command]
        self.process = subprocess.Popen(filled, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
        self.request = request(revision, "/mcp", "get_prompt", {"id": prompt})
        self.forget()
        self._wait()

    def forget(self) -> None:
        """Begin to count anew."""
        self.calls = 0
        self.rates: list[float] = []
        self.server_cpu = self.client_cpu = 0.0
        self.taken: list[float] = []

    def measure(self, connections: int, seconds: float) -> None:
        """Ask for a while over many connections, one request at a time on each."""
        poll = selectors.EpollSelector()
        wires = [Wire(self.port) for _ in range(connections)]
        size = wires[0].first(self.request)
        for wire in wires:
            poll.register(wire.socket, selectors.EVENT_READ, wire)
        clock = time.perf_counter
        cpu, own = self.cpu(), time.process_time()
        calls, taken, asked = 0, self.taken, self.request
        began = clock()
        until = began + seconds
        for wire in wires:
            wire.began, wire.left = clock(), size
            wire.socket.send(asked)
        while (now := clock()) < until:
            for key, _ in poll.select(1):
                wire = key.data
                wire.left -= len(wire.socket.recv(65536))
                if wire.left == 0:
                    now = clock()
                    taken.append(now - wire.began)
                    calls += 1
                    wire.left = size
                    wire.began = now
                    wire.socket.send(asked)
                elif wire.left < 0 or wire.left == size:
                    raise RuntimeError(f"{self.name} answers something else now")
        self.rates.append(calls / (now - began))
        self.calls += calls
        self.server_cpu += self.cpu() - cpu
        self.client_cpu += time.process_time() - own
        for wire in wires:
            wire.socket.close()

    def cpu(self) -> float:
        """The seconds of processor time so far, with those of its workers."""
        return sum(cpu_of(pid) for pid in [self.process.pid, *children(self.process.pid)])

    def close(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait(20)

    def _wait(self) -> None:
        deadline = time.monotonic() + 30
        while True:
            try:
                Wire(self.port).first(self.request)
                return
            except (OSError, RuntimeError):
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise
                time.sleep(0.1)


class Wire:
    """One connection, with the bytes that are still to come of an answer."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), 30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.left = 0
        self.began = 0.0

    def first(self, asked: bytes) -> int:
        """Ask once and look at the answer; gives its size, which all others have too."""
        self.socket.sendall(asked)
        raw = b""
        while b"\r\n\r\n" not in raw:
            raw += self.socket.recv(65536) or fail("no answer")
        head, _, body = raw.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
        while len(body) < length:
            body += self.socket.recv(65536) or fail("half an answer")
        if not head.startswith(b"HTTP/1.1 200 ") or b'isError":true' in body or b"content" not in body:
            raise RuntimeError(f"{head!r} {body[:500]!r}")
        self.left = len(head) + 4 + length
        return self.left


def fail(why: str) -> bytes:
    """Raise an error where an expression is needed."""
    raise RuntimeError(why)


def request(revision: str, path: str, tool: str, arguments: dict[str, Any]) -> bytes:
    """The bytes of a call."""
    params: dict[str, Any] = {"name": tool, "arguments": arguments}
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1:80", "Content-Type: application/json"]
    lines += ["Accept: application/json, text/event-stream", f"MCP-Protocol-Version: {revision}"]
    if revision == NEW:
        lines += ["Mcp-Method: tools/call", f"Mcp-Name: {tool}"]
        info = {"name": "bench", "version": "1"}
        params["_meta"] = {
            f"{META}protocolVersion": NEW,
            f"{META}clientInfo": info,
            f"{META}clientCapabilities": {},
        }
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    return "\r\n".join([*lines, f"Content-Length: {len(body)}"]).encode() + b"\r\n\r\n" + body


def children(pid: int) -> list[int]:
    """The children of a process."""
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def cpu_of(pid: int) -> float:
    """The processor time of a process, user and system."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def fill(where: str) -> str:
    """A store with one prompt of common size; its id."""
    database = open_database(where)
    projects.require(database, Scope())
    with database.write() as tx:
        text = "You are a careful reviewer. Read the change, and say what could go wrong. " * 16
        prompt = prompts.add(
            tx, Scope(), PromptDraft(title="Review a change", content=text[:1200], tags=["code", "review"])
        )
    database.close()
    return prompt.id


def satchel(where: str, workers: int) -> list[str]:
    """How Satchel is started."""
    words = ["-m", "satchel", "serve", "--transport", "http", "--port", "PORT", "--contract", "prompt-store"]
    return [PYTHON, *words, "--database", where, "--workers", str(workers)]


def main() -> int:
    """Measure, print the table, and with --check tell by the exit status whether the goal was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each rival in each round")
    parser.add_argument("--postgres", action="store_true", help="Satchel on a PostgreSQL server started for the run")
    parser.add_argument("--check", action="store_true", help=f"end with 1 below {GOAL:.0f} × the SDK's throughput")
    options = parser.parse_args()
    rivals: list[Rival] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        env = environment(folder / "cache", PYTHONPATH=os.environ.get("PYTHONPATH", ""))
        file = str(folder / "s.db")
        where = stack.enter_context(postgres.temporary_server()) if options.postgres else file
        prompt = fill(where)

        def start(name: str, command: list[str], revision: str) -> None:
            rival = Rival(name, command, revision, prompt, env)
            stack.callback(rival.close)
            rivals.append(rival)

        for revision in (OLD, NEW):
            if not options.postgres:
                script = [PYTHON, str(HERE / "web_rivals.py")]
                start("official SDK", [*script, "sdk", file, "PORT"], revision)
                start("official SDK, uvloop and httptools", [*script, "sdk-fast", file, "PORT"], revision)
            start("satchel", satchel(where, 1), revision)
            start("satchel, 2 workers", satchel(where, 2), revision)
        if not options.postgres:
            start("bare ASGI", [*script, "bare", file, "PORT"], OLD)
        for rival in rivals:
            rival.measure(options.connections, 0.5)  # to warm up
            rival.forget()
        load = os.getloadavg()[0]
        for _ in range(options.rounds):
            for rival in rivals:
                rival.measure(options.connections, options.seconds)
        peers = {rival.revision: median(rival.rates) for rival in rivals if rival.name == "official SDK"}
        rows = [row(rival, peers.get(rival.revision)) for rival in rivals]
        ours = [rival for rival in rivals if rival.name == "satchel"]
        worst = [median(rival.rates) / peers[rival.revision] for rival in ours if peers]
        others = [other(ours[0], name, options) for name in OTHERS]
    head = ("tools/call get_prompt", "calls/s", "× SDK", "p50 ms", "p99 ms", "server µs", "client µs")
    print(f"{options.connections} connections, {options.rounds} × {options.seconds:.0f} s each, load before {load:.1f}")
    print(table(head, rows))
    print(table(("other reads of one process", *head[1:]), others))
    if worst:
        print(
            f"{'every goal is met' if min(worst) >= GOAL else 'missed'}: {min(worst):.1f} × the SDK, goal {GOAL:.0f} ×"
        )
    return 1 if options.check and worst and min(worst) < GOAL else 0


def other(rival: Rival, name: str, options: argparse.Namespace) -> tuple[str, ...]:
    """The figures of another read."""
    rival.request = request(rival.revision, *OTHERS[name])
    rival.forget()
    for _ in range(options.rounds):
        rival.measure(options.connections, options.seconds / 2)
    return row(rival, None, name)


def row(rival: Rival, peer: float | None, name: str | None = None) -> tuple[str, ...]:
    """The figures of one rival."""
    rate = median(rival.rates)
    return (
        name or (f"{rival.name}, {rival.revision}" if rival.name != "bare ASGI" else rival.name),
        f"{rate:.0f}",
        f"{rate / peer:.1f}" if peer else "",
        f"{quantile(rival.taken, 0.5) * 1000:.2f}",
        f"{quantile(rival.taken, 0.99) * 1000:.2f}",
        f"{rival.server_cpu / rival.calls * 1e6:.0f}",
        f"{rival.client_cpu / rival.calls * 1e6:.0f}",
    )


if __name__ == "__main__":
    sys.exit(main())
