"""`satchel completion`, and `satchel` alone: scripts of shells, names from the store, the welcome and the service."""

import json
import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from satchel import __version__
from tests.support.command import run

Complete = Callable[[str], list[str]]
SATCHEL = str(Path(sys.executable).with_name("satchel"))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a little of everything."""
    home = tmp_path_factory.mktemp("home")
    for command in (
        ["project", "create", "garden"],
        ["prompt", "add", "Code review", "x", "--tag", "rust"],
        ["prompt", "add", "Commit message", "x"],
        ["prompt", "add", "Compost", "x", "--project", "garden"],
        ["document", "add", "notes", "x:notes", "text"],
        ["task", "add", "Water"],
        ["task", "add", "Weed"],
        ["library", "new", "mine"],
    ):
        done = run(*command, environment={"SATCHEL_HOME": str(home)})
        assert done.returncode == 0, done.stderr
    return home


@pytest.fixture
def complete(home: Path) -> Complete:
    """Return the completions of bash for the last word of a line."""

    def complete(line: str) -> list[str]:
        words = line.split(" ")
        environment = {
            "SATCHEL_HOME": str(home),
            "_SATCHEL_COMPLETE": "bash_complete",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(words) - 1),
        }
        done = run(environment=environment)
        assert (done.returncode, done.stderr) == (0, b"")
        return [offer.partition(",")[2] for offer in done.stdout.decode().split("\n") if offer]

    return complete


CASES = {
    "satchel ins": ["install"],
    "satchel prompt sh": ["show"],
    "satchel prompt show co": ["code-review", "commit-message"],
    "satchel prompt show --project garden c": ["compost"],
    "satchel prompt show -p garden c": ["compost"],
    "satchel prompt delete code-review com": ["commit-message"],
    "satchel prompt list --project g": ["garden"],
    "satchel prompt list --tag r": ["rust"],
    "satchel prompt add co": [],
    "satchel document show ": ["notes"],
    "satchel task done ": ["2", "1"],
    "satchel task done #": ["#2", "#1"],
    "satchel project delete g": ["garden"],
    "satchel project create g": [],
    "satchel restore n": ["notes"],
    "satchel diff #": ["#2", "#1"],
    "satchel library show ": ["mine"],
    "satchel library render mine": ["mine:review"],
    "satchel contract show to": ["todo"],
    "satchel install cur": ["cursor"],
    "satchel install --contract to": ["todo"],
    "satchel completion f": ["fish"],
    "satchel prompt show --project nowhere c": [],
}


def test_names_are_completed_from_the_store(complete: Complete) -> None:
    assert {line: complete(line) for line in CASES} == CASES


def test_completing_makes_no_store_and_survives_one_that_is_broken(tmp_path: Path) -> None:
    words = {"_SATCHEL_COMPLETE": "bash_complete", "COMP_WORDS": "satchel prompt show c", "COMP_CWORD": "3"}
    for content in (None, "no store"):
        if content is not None:
            (tmp_path / "satchel.db").write_text(content)
        done = run(environment={**words, "SATCHEL_HOME": str(tmp_path)})
        assert (done.returncode, done.stdout.strip(), done.stderr) == (0, b"", b"")
    assert [path.name for path in tmp_path.iterdir()] == ["satchel.db"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_one_that_the_shell_reads(shell: str) -> None:
    done = run("completion", shell, environment={"PATH": "/nowhere"})
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"_SATCHEL_COMPLETE=" + shell.encode() + b"_complete" in done.stdout
    if shutil.which(shell):
        read = subprocess.run([shell, "-n"], input=done.stdout, capture_output=True, check=False, timeout=60)
        assert (read.returncode, read.stderr) == (0, b"")


@pytest.mark.process
@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_a_name_with_the_script(home: Path) -> None:
    script = f"""
eval "$({SATCHEL} completion bash)"
COMP_WORDS=({SATCHEL} prompt show comm) COMP_CWORD=3
_satchel_completion {SATCHEL}
echo "${{COMPREPLY[@]}}"
"""
    environment = {**os.environ, "SATCHEL_HOME": str(home)}
    done = subprocess.run(
        ["bash", "-c", script], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "commit-message\n"


@pytest.mark.process
def test_alone_on_a_pipe_it_serves_the_client_that_started_it(tmp_path: Path) -> None:
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
    environment = {**os.environ, "SATCHEL_HOME": str(tmp_path)}
    done = subprocess.run(
        [SATCHEL], input=hello + "\n", env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, json.loads(done.stdout)["result"]["serverInfo"]["name"]) == (0, "satchel")


@pytest.mark.process
def test_alone_without_any_stdin_it_welcomes_too() -> None:
    done = subprocess.run(["sh", "-c", f"{SATCHEL} <&-"], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr, done.stdout.startswith("Satchel ")) == (0, "", True)


@pytest.mark.process
def test_a_closed_stream_is_an_empty_one(tmp_path: Path) -> None:
    environment = {**os.environ, "SATCHEL_HOME": str(tmp_path)}
    for words, status, said in (
        ("serve <&-", 0, ""),
        ("prompt list >&-", 0, "No prompts in project "),
        ("prompt add Title - <&-", 2, "satchel: the content must not be empty."),
        ("install codex --url http://127.0.0.1:8000 --dry-run <&-", 0, ""),
    ):
        command = ["sh", "-c", f"{SATCHEL} {words}"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stderr.startswith(said), "Traceback" in done.stderr) == (status, True, False), (
            done
        )


@pytest.mark.process
def test_alone_on_a_terminal_it_welcomes_and_names_the_next_two_commands() -> None:
    ours, theirs = pty.openpty()
    done = subprocess.run([SATCHEL], stdin=theirs, capture_output=True, text=True, timeout=60, check=False)
    os.close(ours)
    os.close(theirs)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == f"Satchel {__version__} keeps prompts, documents and tasks for your AI agents."
    assert [line.split()[:2] for line in lines if line.startswith("  ")] == [
        ["satchel", "install"],
        ["satchel", "doctor"],
    ]
