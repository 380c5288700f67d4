"""Servers over HTTP: how each is started, and a client that times single calls."""

import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from bench import drivers
from bench.drivers import Vocabulary
from bench.load import Connection
from bench.surroundings import HERE, PYTHON, SCRATCH, Run, environment

REVISION = "2025-11-25"
PATIENCE = 120.0  # seconds until a server must answer


class HttpServer:
    """A server process on a free port."""

    def __init__(self, command: Sequence[str], vocabulary: Vocabulary, env: dict[str, str]) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        filled = [word.replace("PORT", str(self.port)) for word in command]
        self.vocabulary = vocabulary
        self.process = subprocess.Popen(filled, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 5).close()
                return
            except OSError:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    self.close()
                    raise RuntimeError(f"{' '.join(filled[:4])} does not listen") from None
                time.sleep(0.05)

    def close(self) -> None:
        """End the server."""
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class HttpClient:
    """A client that keeps one connection open and times its calls."""

    def __init__(self, port: int, token: str | None = None) -> None:
        self._connection = Connection(port)
        self._token = token

    def call(self, tool: str, arguments: dict[str, Any]) -> tuple[float, Any]:
        """Call a tool; return the milliseconds and the result."""
        request = make_request(tool, arguments, self._token)
        started = time.perf_counter()
        raw = self._connection.ask(request)
        taken = (time.perf_counter() - started) * 1000
        return taken, msgspec.json.decode(raw.partition(b"\r\n\r\n")[2])["result"]

    def close(self) -> None:
        """Close the connection."""
        self._connection.socket.close()


def make_request(tool: str, arguments: dict[str, Any], token: str | None = None) -> bytes:
    """Make the bytes of a call."""
    params = {"name": tool, "arguments": arguments}
    body = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    lines = ["POST /mcp HTTP/1.1", "Host: 127.0.0.1:80", "Content-Type: application/json"]
    lines += ["Accept: application/json, text/event-stream", f"MCP-Protocol-Version: {REVISION}"]
    lines += [f"Authorization: Bearer {token}"] if token else []
    return "\r\n".join([*lines, f"Content-Length: {len(body)}"]).encode() + b"\r\n\r\n" + body


def satchel_command(store: str, *more: str, contract: str = "prompt-store") -> list[str]:
    """Return the command that starts Satchel over HTTP."""
    words = ["-m", "satchel", "serve", "--transport", "http", "--port", "PORT", "--contract", contract]
    return [PYTHON, *words, "--database", store, *more]


def script_command(script: str, file: Path, *more: str) -> list[str]:
    """Return the command that starts one of `bench/servers/`."""
    return [PYTHON, str(HERE / "servers" / script), str(file), "PORT", *more]


def http_environment() -> dict[str, str]:
    """Return the environment of a server over HTTP."""
    return environment(SCRATCH / "bytecode" / "http")


def gather_http(run: Run, name: str) -> dict[str, HttpServer]:
    """Start Satchel and the libraries over HTTP, each with a new store."""
    place = run.make_folder(name)
    wanted = {
        "bare ASGI": (script_command("asgi.py", place / "bare.db"), drivers.SAME_TOOLS),
        "satchel": (satchel_command(str(place / "satchel.db"), contract="satchel"), drivers.SATCHEL),
        "satchel, prompt-store": (satchel_command(str(place / "prompts.db")), drivers.PROMPT_STORE),
        "official SDK": (script_command("official.py", place / "sdk.db"), drivers.SAME_TOOLS),
        "fastmcp": (script_command("fast.py", place / "fast.db"), drivers.SAME_TOOLS),
    }
    servers = {}
    for title, (command, vocabulary) in wanted.items():
        servers[title] = HttpServer(command, vocabulary, http_environment())
        run.stack.callback(servers[title].close)
    return servers
