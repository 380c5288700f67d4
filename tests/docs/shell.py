"""Run the lines of a block with bash, in one folder and with one home."""

import os
import re
import shlex
import signal
import subprocess
from contextlib import ExitStack
from pathlib import Path

from tests.support.command import run

# How long a line may take. Those that ask a registry for packages take longest.
LINE_TIMEOUT = 300  # seconds

# A command without anything of the shell, which runs in this process.
_PLAIN = re.compile(r"satchel (?!serve|board)[^|<>$;&`*~]*")
_SERVING = re.compile(r"make run\b|satchel serve .*--transport http")
_ADDRESS = re.compile(r"serving \w+ at https?://[\w.]+(?::(\d+))?/")


def run_lines(lines: list[str], folder: Path, environment: dict[str, str]) -> list[str]:
    """Run lines and return the output of each. A line that serves over HTTP keeps running during the lines after it."""
    printed = []
    with ExitStack() as servers:
        for line in lines:
            if _SERVING.match(line):
                server = subprocess.Popen(
                    ["bash", "-c", line],
                    cwd=folder,
                    env=environment,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    start_new_session=True,
                )
                servers.callback(_stop, server, line)
                printed.append(_wait_until_it_listens(server, line, Path(environment["HOME"])))
                continue
            if _PLAIN.fullmatch(line):
                done = run(*shlex.split(line, comments=True)[1:], environment=environment, cwd=folder, is_alone=True)
            else:
                done = subprocess.run(
                    ["bash", "-c", line],
                    cwd=folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=LINE_TIMEOUT,
                    check=False,
                )
            assert done.returncode == 0, (line, done.returncode, done.stdout[-2000:], done.stderr[-2000:])
            printed.append(done.stdout.decode())
    return printed


def _wait_until_it_listens(server: "subprocess.Popen[str]", line: str, home: Path) -> str:
    """Return the output of a server up to its address, and send curl there instead of to port 8000."""
    printed = ""
    assert server.stdout is not None
    for said in server.stdout:
        printed += said
        if address := _ADDRESS.search(said):
            (home / ".curlrc").write_text(f'connect-to = ":8000:127.0.0.1:{address[1] or 0}"\n')
            return printed
    raise AssertionError((line, printed))


def _stop(server: "subprocess.Popen[str]", line: str) -> None:
    """Stop a server as Ctrl-C does: signal the whole process group."""
    os.killpg(server.pid, signal.SIGINT)
    rest, _ = server.communicate(timeout=60)
    assert server.returncode in (0, -signal.SIGINT, 130) and "Traceback" not in rest, (line, server.returncode, rest)
