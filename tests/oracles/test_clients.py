"""The agents judge `satchel install`: in an empty home they start what it wrote, and report the connection."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.oracles import node
from tests.support.command import run
from tests.support.process import HttpProcess

pytestmark = pytest.mark.npm

AGENTS = Path(__file__).parent / "clients"
TIMEOUT = 120.0  # seconds; it only decides how long a failure takes
SCRIPT = Path(sys.executable).with_name("satchel")
USER = "550e8400-e29b-41d4-a716-446655440000"

Agent = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home" / "work").mkdir(parents=True)
    return tmp_path / "home"


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    """An empty home. The agents have no account, and are told to call nobody."""
    return {
        "HOME": str(home),
        "PATH": os.pathsep.join([str(node.binaries()), "/usr/bin", "/bin"]),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",  # in folders that nobody has called trusted, it starts no servers
        "GEMINI_TELEMETRY_ENABLED": "false",
        "NO_COLOR": "1",
        "TERM": "dumb",
    }


@pytest.fixture
def satchel(home: Path, environment: dict[str, str]) -> Callable[..., None]:
    """Runs `satchel` in the empty home, as a person would."""

    def satchel(*arguments: str) -> None:
        command = [str(SCRIPT), *arguments]
        done = subprocess.run(
            command, env=environment, cwd=home / "work", capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stdout

    return satchel


@pytest.fixture
def agent(home: Path, environment: dict[str, str]) -> Agent:
    """Runs the command line of an agent in the empty home."""

    def agent(name: str, *arguments: str, input: str = "", **more: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*find_agent(name), *arguments],
            env={**environment, **more},
            cwd=home / "work",
            input=input,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )

    return agent


def find_agent(name: str) -> list[str]:
    """Return the command of an agent. Claude Code is a program of its own for each platform; the others run in node."""
    unavailable = AGENTS / ".unavailable"
    if unavailable.exists():
        pytest.skip(unavailable.read_text())
    if not (AGENTS / "node_modules" / ".installed").exists():
        pytest.fail("the agents are not installed: run `make judges`", pytrace=False)
    if name == "claude":
        found = list((AGENTS / "node_modules" / "@anthropic-ai").glob("claude-code-*/claude*"))
        if not found:
            pytest.skip("npm has no Claude Code for this platform")
        return [str(found[0])]
    return [str(node.binaries() / "node"), str((AGENTS / "node_modules" / ".bin" / name).resolve())]


def ask_codex(environment: dict[str, str]) -> dict[str, Any]:
    """Return what Codex reports about its servers after starting them, by name."""
    hello = {"clientInfo": {"name": "judge", "title": "judge", "version": "1"}}
    messages = [
        {"id": 0, "method": "initialize", "params": hello},
        {"method": "initialized"},
        {"id": 1, "method": "mcpServerStatus/list", "params": {}},
    ]
    command = [*find_agent("codex"), "app-server"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, env=environment, cwd=environment["HOME"]
    ) as process:
        watchdog = threading.Timer(TIMEOUT, process.kill)
        watchdog.start()
        try:
            assert process.stdin is not None and process.stdout is not None
            process.stdin.writelines(json.dumps(message) + "\n" for message in messages)
            process.stdin.flush()  # and left open: it ends with its input
            answers = (json.loads(line) for line in process.stdout)
            answer = next(one for one in answers if one.get("id") == 1)
            process.stdin.close()
        finally:
            watchdog.cancel()
            process.kill()
    return {server["name"]: server for server in answer["result"]["data"]}


def test_claude_code_reports_the_connection(satchel: Callable[..., None], agent: Agent) -> None:
    satchel("install", "claude-code")
    listed = agent("claude", "mcp", "list")
    assert f"satchel: {SCRIPT} serve - ✔ Connected" in listed.stdout, listed
    satchel("uninstall", "claude-code")
    assert "satchel" not in agent("claude", "mcp", "list").stdout


def test_gemini_cli_reports_the_connection(satchel: Callable[..., None], agent: Agent) -> None:
    satchel("install", "gemini-cli")
    listed = agent("gemini", "mcp", "list")
    assert f"✓ satchel: {SCRIPT} serve (stdio) - Connected" in listed.stdout + listed.stderr, listed
    satchel("uninstall", "gemini-cli")
    listed = agent("gemini", "mcp", "list")
    assert "satchel" not in listed.stdout + listed.stderr


def test_codex_reports_the_server_and_its_tools(satchel: Callable[..., None], environment: dict[str, str]) -> None:
    satchel("install", "codex")
    server = ask_codex(environment)["satchel"]
    assert server["serverInfo"]["name"] == "satchel"
    assert {"search", "add_tasks", "catch_up"} <= set(server["tools"])
    satchel("uninstall", "codex")
    assert "satchel" not in ask_codex(environment)


def test_a_file_that_the_agent_itself_wrote_is_extended_and_the_agent_reads_both(
    satchel: Callable[..., None], agent: Agent, environment: dict[str, str]
) -> None:
    agent("codex", "mcp", "add", "mine", "--", "/bin/true")
    agent("claude", "mcp", "add", "-s", "user", "mine", "--", "/bin/true")
    satchel("install", "codex", "claude-code", "--rule")
    assert set(ask_codex(environment)) == {"mine", "satchel"}
    listed = agent("claude", "mcp", "list").stdout
    assert re.search(r"mine: /bin/true .*✘", listed) and f"satchel: {SCRIPT} serve - ✔ Connected" in listed, listed


def test_the_server_of_a_team_is_reached_with_the_token_of_the_environment(
    satchel: Callable[..., None], agent: Agent, environment: dict[str, str], tmp_path: Path
) -> None:
    store = str(tmp_path / "team.db")
    made = run("token", "create", "--user", USER, "--database", store, "--json")
    token = json.loads(made.stdout)["token"]
    with HttpProcess("--database", store, "--auth", "token") as server:
        address = f"{server.url}/mcp"
        options = ("--url", address, "--token-env", "SATCHEL_TOKEN")
        satchel("install", "claude-code", "codex", "gemini-cli", *options)
        listed = agent("claude", "mcp", "list", SATCHEL_TOKEN=token)
        assert f"satchel: {address} (HTTP) - ✔ Connected" in listed.stdout, listed
        listed = agent("gemini", "mcp", "list", SATCHEL_TOKEN=token)
        assert f"✓ satchel: {address} (http) - Connected" in listed.stdout + listed.stderr, listed
        assert "search" in ask_codex({**environment, "SATCHEL_TOKEN": token})["satchel"]["tools"]
        assert "✔ Connected" not in agent("claude", "mcp", "list", SATCHEL_TOKEN="wrong").stdout


def test_a_project_has_its_own_file_and_claude_code_asks_before_it_trusts_it(
    satchel: Callable[..., None], agent: Agent
) -> None:
    satchel("install", "claude-code", "--scope", "project")
    listed = agent("claude", "mcp", "list").stdout
    assert "satchel" in listed, listed
