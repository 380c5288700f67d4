"""Counts the files of ours that four requests walk through: those with a function that is called on the way.

docs/architecture.md tells the walks step by step and quotes these counts. Each walk is made by a real process whose
calls are recorded with their time; what counts is between the question and its answer.
"""

import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import satchel

SOURCE = Path(satchel.__file__).parent
LIMITS = {
    "stdio add_prompt": 14,
    "HTTP list_tasks with a token": 18,
    "a saved template to a listener": 10,
    "satchel prompt add": 10,
}
# Runs `satchel` and writes a line for every call of a function of ours; importing a module is not counted.
RECORDER = """
import os, sys, threading, time
log, source = os.open(sys.argv.pop(1), os.O_WRONLY | os.O_CREAT | os.O_APPEND), sys.argv.pop(1)
def note(frame, event, _):
    code = frame.f_code
    if event == "call" and code.co_filename.startswith(source) and code.co_name != "<module>":
        os.write(log, f"{time.monotonic()} {code.co_filename[len(source) + 1:]}\\n".encode())
threading.setprofile(note)
sys.setprofile(note)
from satchel.__main__ import main
sys.exit(main())
"""


class Recording:
    """A `satchel` process whose calls are recorded."""

    def __init__(self, folder: Path, *arguments: str, **options: Any) -> None:
        self._log = folder / f"calls-{time.monotonic_ns()}"
        self._began = time.monotonic()
        command = [sys.executable, "-c", RECORDER, str(self._log), str(SOURCE), *arguments]
        environment = {**os.environ, "SATCHEL_HOME": str(folder)}
        self.process = subprocess.Popen(command, env=environment, **options)

    def begin(self) -> None:
        """Count from now on."""
        time.sleep(0.5)  # for what goes on after the answer before
        self._began = time.monotonic()

    def files(self) -> set[str]:
        """The files that were walked through until now."""
        until = time.monotonic()
        lines = [line.split(maxsplit=1) for line in self._log.read_text().splitlines()]
        return {file for moment, file in lines if self._began <= float(moment) <= until}


def over_stdio(folder: Path) -> set[str]:
    """A client calls add_prompt of prompt-store on stdin."""
    pipe = subprocess.PIPE
    server = Recording(folder, "serve", "-c", "prompt-store", stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
    process = server.process
    assert process.stdin is not None and process.stdout is not None
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "walk", "version": "1"}}
    call = {"name": "add_prompt", "arguments": {"title": "A", "content": "b", "tags": ["c"]}}
    for id, (method, params) in enumerate((("initialize", client), ("tools/call", call))):
        server.begin()
        message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        process.stdout.readline()
    files = server.files()
    process.communicate()
    return files


def over_http(folder: Path) -> tuple[set[str], set[str]]:
    """A client with a token lists tasks; then a template is saved while another client listens."""
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
    called = server.files()
    stream = http.client.HTTPConnection("127.0.0.1", port)
    stream.request("GET", "/mcp/twig", headers={**headers, "Accept": "text/event-stream"})
    response = stream.getresponse()
    server.begin()
    (library / "twig.toml").write_text('[prompts.hello]\ndescription = "Says hello"\n')
    while b"data: " not in response.readline():
        pass
    heard = server.files()
    server.process.terminate()
    server.process.communicate()
    return called, heard


def by_command(folder: Path) -> set[str]:
    """A person adds a prompt on the command line."""
    command = Recording(folder, "prompt", "add", "B", "c", stdout=subprocess.DEVNULL)
    command.process.wait()
    return command.files()


def main() -> int:
    """Print the counts, with --list the files too; the status is 1 where a walk is too long."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        stdio = over_stdio(folder)
        called, heard = over_http(folder)
        walks = dict(zip(LIMITS, (stdio, called, heard, by_command(folder)), strict=True))
    for walk, files in walks.items():
        print(f"{walk}: {len(files)} files (at most {LIMITS[walk]})")
        if "--list" in sys.argv:
            print("".join(f"  {file}\n" for file in sorted(files)), end="")
    return int(any(len(files) > LIMITS[walk] for walk, files in walks.items()))


if __name__ == "__main__":
    sys.exit(main())
