"""Count the source files that four requests walk through: those in which a function is called.

A second count says how many of them are on the call stack while data moves: bytes from the client or the disk, JSON
into a value and back, a statement to the database, bytes to the client. The others only compute something (a rule, a
check of arguments, a timestamp). docs/dev/architecture.md tells the walks step by step and quotes these counts.

Each walk is made by a real process that records its calls. What counts is between the question and its answer, from the
loop of the server inwards. With --check the status is 1 where a walk is longer than its goal.
"""

import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import satchel

SOURCE = Path(satchel.__file__).parent
GOALS = {
    "stdio add_prompt": 27,
    "HTTP list_tasks with a token": 27,
    "a saved template to a listener": 15,
    "satchel prompt add": 38,
}
# Runs `satchel` and writes a line for every call of a function of ours, and one for every file on a stack that ends
# where data moves. Importing a module, with the classes and tables in it, and resuming a coroutine are no calls.
RECORDER = """
import os, sys, threading, time
log, source = os.open(sys.argv.pop(1), os.O_WRONLY | os.O_CREAT | os.O_APPEND), sys.argv.pop(1)
MOVES = {"execute", "read", "write", "scandir"}
LOOPS = ("asyncio", "uvicorn/server.py")
def note(kind, code):
    if code.co_filename.startswith(source) and code.co_name != "<module>":
        os.write(log, f"{time.monotonic()} {kind} {code.co_filename[len(source) + 1:]}\\n".encode())
def imports(frame):
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(source):
            return True
        frame = frame.f_back
    return False
def profile(frame, event, called):
    code = frame.f_code
    if event == "call":
        is_server = code.co_name in ("send", "receive", "data_received") and "uvicorn" in code.co_filename
        if frame.f_lasti < 8 and code.co_filename.startswith(source) and not imports(frame):
            note("called", code)
        if not is_server:
            return
    elif event != "c_call" or code.co_filename.endswith("/log.py") or code.co_filename == "<string>":
        return
    elif called.__name__ not in MOVES and called.__qualname__ not in ("Decoder.decode", "Encoder.encode"):
        return
    while frame is not None and not any(loop in frame.f_code.co_filename for loop in LOOPS):
        note("walked", frame.f_code)
        if frame.f_code.co_qualname == "StdioServer.run":
            return
        frame = frame.f_back
threading.setprofile(profile)
sys.setprofile(profile)
from satchel.__main__ import main
sys.exit(main())
"""


class Walk(NamedTuple):
    """The files of one walk, and those with every helper."""

    files: set[str]
    all_files: set[str]


class Recording:
    """A `satchel` process whose calls are recorded."""

    def __init__(self, folder: Path, *arguments: str, **options: Any) -> None:
        self._log = folder / f"calls-{time.monotonic_ns()}"
        self._began = time.monotonic()
        command = [sys.executable, "-c", RECORDER, str(self._log), str(SOURCE), *arguments]
        environment = {**os.environ, "SATCHEL_HOME": str(folder)}
        self.process = subprocess.Popen(command, env=environment, cwd=folder, **options)

    def begin(self) -> None:
        """Start counting."""
        time.sleep(0.5)  # for what goes on after the answer before
        self._began = time.monotonic()

    def walk(self) -> Walk:
        """Return the files on the way so far, and those with a function that was called."""
        until = time.monotonic()
        lines = [line.split(maxsplit=2) for line in self._log.read_text().splitlines()]
        found = [(kind, file) for moment, kind, file in lines if self._began <= float(moment) <= until]
        return Walk({file for kind, file in found if kind == "walked"}, {file for _, file in found})


def over_stdio(folder: Path) -> Walk:
    """Walk add_prompt of prompt-store, called on stdin."""
    pipe = subprocess.PIPE
    server = Recording(folder, "serve", "-c", "prompt-store", stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
    process = server.process
    assert process.stdin is not None and process.stdout is not None
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "walk", "version": "1"}}
    calls = [{"name": "add_prompt", "arguments": {"title": title, "content": "b", "tags": ["c"]}} for title in "AB"]
    asked = [("initialize", client), *(("tools/call", call) for call in calls)]  # the first call finds the local user
    for id, (method, params) in enumerate(asked):
        server.begin()
        message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        process.stdout.readline()
    walk = server.walk()
    process.communicate()
    return walk


def over_http(folder: Path) -> tuple[Walk, Walk]:
    """Walk list_tasks with a token, then a saved template while another client listens."""
    library = folder / "libraries" / "one"
    (library / "prompts").mkdir(parents=True)
    (library / "twig.toml").write_text("[prompts.hello]\n")
    (library / "prompts" / "hello.md").write_text("Hello")
    make = [sys.executable, "-m", "satchel", "token", "create", "--database", str(folder / "s.db")]
    made = subprocess.run(make, env={**os.environ, "SATCHEL_HOME": str(folder)}, capture_output=True, check=True)
    options = ("--transport", "http", "--port", "0", "--auth", "token", "--database", str(folder / "s.db"))
    server = Recording(folder, "serve", *options, stderr=subprocess.PIPE)
    assert server.process.stderr is not None
    for line in server.process.stderr:
        if b"serving " in line:
            port = int(line.partition(b"://127.0.0.1:")[2].partition(b"/")[0])
            break
    version = "2025-11-25"
    headers = {"Authorization": f"Bearer {made.stdout.decode().strip()}", "MCP-Protocol-Version": version}
    client = http.client.HTTPConnection("127.0.0.1", port)
    call = {"name": "list_tasks", "arguments": {}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
    for _ in range(2):
        server.begin()
        client.request("POST", "/mcp/tasks", body, {**headers, "Content-Type": "application/json"})
        client.getresponse().read()
    called = server.walk()
    stream = http.client.HTTPConnection("127.0.0.1", port)
    stream.request("GET", "/mcp/twig", headers={**headers, "Accept": "text/event-stream"})
    response = stream.getresponse()
    server.begin()
    (library / "twig.toml").write_text('[prompts.hello]\ndescription = "Says hello"\n')
    while b"data: " not in response.readline():
        pass
    heard = server.walk()
    server.process.terminate()
    server.process.communicate()
    return called, heard


def by_command(folder: Path) -> Walk:
    """Walk `satchel prompt add`."""
    command = Recording(folder, "prompt", "add", "B", "c", stdout=subprocess.DEVNULL)
    command.process.wait()
    return command.walk()


def main() -> int:
    """Print the counts, with --list the files too."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        stdio = over_stdio(folder)
        called, heard = over_http(folder)
        walks = dict(zip(GOALS, (stdio, called, heard, by_command(folder)), strict=True))
    for name, walk in walks.items():
        print(f"{name}: {len(walk.all_files)} files (goal {GOALS[name]}), {len(walk.files)} while data moves")
        if "--list" in sys.argv:
            print(
                "".join(f"  {file}{'' if file in walk.files else ' (computes)'}\n" for file in sorted(walk.all_files))
            )
    is_missed = any(len(walk.all_files) > GOALS[name] for name, walk in walks.items())
    return int(is_missed and "--check" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
