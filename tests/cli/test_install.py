"""`satchel install` and `satchel uninstall`, as a person uses them: what they print, write, keep and refuse."""

import json
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from satchel.clients.changes import RULE_LINES
from tests.support.command import run
from tests.support.terminal import on_terminal

Satchel = Callable[..., subprocess.CompletedProcess[bytes]]
SCRIPT = Path(sys.executable).with_name("satchel")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    (tmp_path / "work").mkdir()
    return tmp_path / "home"


@pytest.fixture
def satchel(home: Path) -> Satchel:
    """Runs commands in an empty home and an empty folder; no client is on the PATH."""
    variables = dict.fromkeys(
        ("SATCHEL_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME"), ""
    )
    environment = {**variables, "HOME": str(home), "PATH": str(home / "bin"), "GEMINI_CLI_HOME": ""}

    def satchel(*arguments: str, **more: str) -> subprocess.CompletedProcess[bytes]:
        return run(*arguments, environment={**environment, **more}, cwd=home.parent / "work")

    return satchel


def done(result: subprocess.CompletedProcess[bytes]) -> str:
    assert (result.returncode, result.stderr.decode()) == (0, "")
    return result.stdout.decode()


def failed(result: subprocess.CompletedProcess[bytes]) -> tuple[int, str]:
    assert result.stdout == b""
    return result.returncode, result.stderr.decode()


def test_one_command_connects_a_client_shows_the_change_and_tries_it(satchel: Satchel, home: Path) -> None:
    file = home / ".claude.json"
    file.write_text('{\n  "theme": "dark"\n}\n')
    said = done(satchel("install", "claude-code"))
    [backup] = home.glob(".claude.json.satchel-*.bak")
    assert said == (
        f"""--- {file}
+++ {file}
@@ -1,3 +1,12 @@
 {{
-  "theme": "…"
+  "theme": "…",
+  "mcpServers": {{
+    "satchel": {{
+      "type": "stdio",
+      "command": "{SCRIPT}",
+      "args": [
+        "serve"
+      ]
+    }}
+  }}
 }}
Claude Code: installed satchel into {file}. The old file is {backup}. Start a new session; /mcp shows the connection.
"""
        + said.splitlines()[-1]
        + "\n"
    )
    assert said.splitlines()[-1].startswith("The server starts and answers: satchel ")
    assert backup.read_text() == '{\n  "theme": "dark"\n}\n'
    entry = {"type": "stdio", "command": str(SCRIPT), "args": ["serve"]}
    assert json.loads(file.read_text()) == {"theme": "dark", "mcpServers": {"satchel": entry}}


def test_a_client_that_is_not_installed_is_connected_with_a_note(satchel: Satchel, home: Path) -> None:
    said = done(satchel("install", "windsurf"))
    file = home / ".codeium" / "windsurf" / "mcp_config.json"
    message = f"Windsurf: installed satchel into {file}. Windsurf itself was not found on this machine.\n"
    assert message in said and file.exists()


def test_installing_again_changes_nothing_and_uninstalling_takes_it_back(satchel: Satchel, home: Path) -> None:
    file = home / ".codex" / "config.toml"
    file.parent.mkdir()
    file.write_text('# mine\nmodel = "x"\n')
    done(satchel("install", "codex"))
    before = file.stat()
    assert f"Codex: satchel is in {file} already.\n" in done(satchel("install", "codex"))
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    said = done(satchel("uninstall", "codex"))
    assert f"Codex: removed satchel from {file}. The old file is " in said
    assert file.read_text() == '# mine\nmodel = "x"\n'
    assert done(satchel("uninstall", "codex")) == f"Codex: there is no satchel in {file}.\n"


def test_contract_project_and_name_are_what_the_client_starts(satchel: Satchel, home: Path) -> None:
    done(satchel("project", "create", "web"))
    options = ("--contract", "mcpkg", "--project", "web", "--name", "web-prompts")
    done(satchel("install", "cursor", *options))
    servers = json.loads((home / ".cursor" / "mcp.json").read_text())["mcpServers"]
    arguments = ["serve", "--contract", "mcpkg", "--project", "web"]
    assert servers == {"web-prompts": {"command": str(SCRIPT), "args": arguments}}


def test_a_missing_project_is_reported(satchel: Satchel) -> None:
    done(satchel("project", "create", "web"))
    result = satchel("install", "cursor", "--project", "wep", "--dry-run")
    assert result.stderr.decode() == (
        "Note: project 'wep' does not exist yet. Make it with: satchel project create wep\n"
    )


def test_a_project_has_files_of_its_own(satchel: Satchel, home: Path) -> None:
    work = home.parent / "work"
    done(satchel("install", "claude-code", "vscode", "copilot-cli", "codex", "zed", "--scope", "project"))
    found = sorted(str(path.relative_to(work)) for path in work.rglob("*") if path.is_file())
    assert found == [".codex/config.toml", ".github/mcp.json", ".mcp.json", ".vscode/mcp.json", ".zed/settings.json"]
    assert not list(home.glob(".*json"))
    status = (work / ".mcp.json").stat()
    assert status.st_mode & 0o777 == 0o644
    status_, said = failed(satchel("install", "windsurf", "--scope", "project"))
    assert (status_, said) == (
        1,
        "satchel: Windsurf has no settings file for a project. Leave out --scope project.\n",
    )


def test_in_a_shared_file_the_command_is_found_on_the_path(satchel: Satchel, home: Path) -> None:
    (home / "bin").mkdir()
    (home / "bin" / "satchel").symlink_to(SCRIPT)
    done(satchel("install", "cursor", "--scope", "project"))
    entry = json.loads((home.parent / "work" / ".cursor" / "mcp.json").read_text())["mcpServers"]["satchel"]
    assert entry["command"] == "satchel"
    done(satchel("install", "cursor"))
    entry = json.loads((home / ".cursor" / "mcp.json").read_text())["mcpServers"]["satchel"]
    assert entry["command"] == str(home / "bin" / "satchel")


def test_the_server_of_a_team_is_connected_by_its_address(satchel: Satchel, home: Path) -> None:
    team = ("--url", "https://satchel.example", "--token-env", "SATCHEL_TOKEN", "--project", "web")
    done(satchel("install", "codex", "gemini", *team))
    assert tomllib.loads((home / ".codex" / "config.toml").read_text())["mcp_servers"]["satchel"] == {
        "url": "https://satchel.example/mcp?project=web",
        "bearer_token_env_var": "SATCHEL_TOKEN",
    }
    entry = json.loads((home / ".gemini" / "settings.json").read_text())["mcpServers"]["satchel"]
    assert entry == {
        "httpUrl": "https://satchel.example/mcp?project=web",
        "headers": {"Authorization": "Bearer ${SATCHEL_TOKEN}"},
    }


def test_a_token_over_http_gets_a_warning(satchel: Satchel) -> None:
    for url, is_told in (("http://satchel.example/mcp", True), ("http://127.0.0.1:8000", False)):
        result = satchel("install", "codex", "--url", url, "--token-env", "SATCHEL_TOKEN", "--dry-run")
        assert (result.returncode, b"others on the network can read the token" in result.stderr) == (0, is_told)


def test_print_shows_the_lines_and_writes_nothing(satchel: Satchel, home: Path) -> None:
    assert tomllib.loads(done(satchel("install", "codex", "--print"))) == {
        "mcp_servers": {"satchel": {"command": str(SCRIPT), "args": ["serve"]}}
    }
    shown = json.loads(done(satchel("install", "zed", "--print")))
    assert shown == {"context_servers": {"satchel": {"source": "custom", "command": str(SCRIPT), "args": ["serve"]}}}
    shown = json.loads(done(satchel("install", "json", "--print")))
    assert shown == {"mcpServers": {"satchel": {"command": str(SCRIPT), "args": ["serve"]}}}
    planned = done(satchel("install", "gemini-cli", "--rule", "--dry-run"))
    assert '+    "satchel": {' in planned and "+" + RULE_LINES[0] in planned
    assert list(home.iterdir()) == list((home.parent / "work").iterdir()) == []


def test_the_rule_goes_to_the_file_that_the_client_reads(satchel: Satchel, home: Path) -> None:
    said = done(satchel("install", "claude-code", "codex", "cursor", "--rule"))
    assert (
        "Cursor reads no instructions from a file of the user, so no rule was written. "
        "In the folder of a project, --scope project writes the rule to AGENTS.md.\n"
    ) in said
    work = home.parent / "work"
    files = [home / ".claude" / "CLAUDE.md", home / ".codex" / "AGENTS.md"]
    for file in files:
        assert file.read_text().splitlines()[1:3] == list(RULE_LINES)
    assert list(work.iterdir()) == []
    done(satchel("install", "claude-code", "cursor", "--scope", "project", "--rule"))
    for name in ("CLAUDE.md", "AGENTS.md"):
        assert (work / name).read_text() == files[0].read_text()
    done(satchel("uninstall", "claude-code", "codex", "cursor"))
    assert [file.exists() for file in files] == [False, False]
    assert (work / "CLAUDE.md").exists() and (work / "AGENTS.md").exists()
    done(satchel("uninstall", "claude-code", "cursor", "--scope", "project"))
    assert [file for file in work.iterdir() if file.is_file() and ".satchel" not in file.name] == [work / ".mcp.json"]


def test_hooks_begin_sessions_and_uninstall_takes_them_back(satchel: Satchel, home: Path) -> None:
    settings = home / ".claude" / "settings.json"
    settings.parent.mkdir()
    theirs = '{"model": "opus", "hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "date"}]}]}}'
    settings.write_text(theirs)
    said = done(satchel("install", "claude-code", "codex", "--hooks"))
    assert f"Claude Code: added the hook to {settings}. The old file is " in said
    [before] = json.loads(settings.read_text())["hooks"]["PreCompact"]
    assert before["hooks"][0]["command"] == f"{SCRIPT} catch-up --brief --hook claude-code"
    trusted = home / ".codex" / "hooks.json"
    assert f"Codex: added the hook to {trusted}. Open /hooks in Codex, and trust it.\n" in said
    group = json.loads(trusted.read_text())["hooks"]["SessionStart"]
    line = f"{SCRIPT} catch-up --brief --hook codex"
    assert group == [
        {"matcher": "startup|resume|clear|compact", "hooks": [{"type": "command", "command": line, "timeout": 30}]}
    ]
    assert f"the hook is in {settings} already" in done(satchel("install", "claude-code", "--hooks"))
    assert "Codex: sessions begin with catch-up" in satchel("doctor").stdout.decode()
    trusted.write_text(trusted.read_text().replace(str(SCRIPT), "/gone/satchel"))
    assert f"the hook in {trusted} starts /gone/satchel, which does not exist." in satchel("doctor").stdout.decode()
    done(satchel("uninstall", "--all"))
    assert settings.read_text() == theirs and not trusted.exists()

    done(satchel("project", "create", "web"))
    done(satchel("install", "gemini-cli", "--hooks", "--project", "web", "--scope", "project"))
    file = home.parent / "work" / ".gemini" / "settings.json"
    hook = json.loads(file.read_text())["hooks"]["SessionStart"][0]["hooks"][0]
    assert hook["command"].endswith("catch-up --brief --hook gemini-cli --project web")
    done(satchel("uninstall", "gemini-cli", "--scope", "project"))
    assert "hooks" not in json.loads(file.read_text())

    assert json.loads(done(satchel("catch-up", "--hook", "cursor"))) == {}
    done(satchel("prompt", "add", "Review", "Look for bugs."))
    said = json.loads(done(satchel("catch-up", "--brief", "--hook", "cursor")))["additional_context"]
    assert said.startswith("Satchel: project 'default'") and said == done(satchel("catch-up", "--hook", "codex"))

    code, said = failed(satchel("install", "zed", "--hooks"))
    assert (code, "Zed documents no hook" in said, (home / ".config" / "zed").exists()) == (1, True, False)
    (home / ".config" / "zed").mkdir(parents=True)
    said = done(satchel("install", "--all", "--hooks", "--dry-run"))
    assert "Zed documents no such hooks, so none was written." in said
    code, said = failed(satchel("install", "cursor", "--hooks", "--url", "https://x.example/mcp"))
    assert code == 2 and "--hooks needs a store on this machine" in said
    assert '"additional' not in done(satchel("install", "cursor", "--hooks", "--print"))


def test_one_broken_file_does_not_stop_the_others(satchel: Satchel, home: Path) -> None:
    broken = home / ".cursor" / "mcp.json"
    broken.parent.mkdir()
    broken.write_text('{\n  "mcpServers": {\n}')
    result = satchel("install", "cursor", "gemini-cli")
    assert result.returncode == 1
    message = f"{broken}: line 3, column 2: there should be a comma or }}."
    assert result.stderr.decode() == f"satchel: {message} Nothing was changed; correct the file, and try again.\n"
    assert broken.read_text() == '{\n  "mcpServers": {\n}'
    assert (home / ".gemini" / "settings.json").exists()
    assert [path.name for path in broken.parent.iterdir()] == ["mcp.json"]


def test_without_a_name_the_clients_on_the_machine_are_meant(satchel: Satchel, home: Path) -> None:
    status, said = failed(satchel("install"))
    assert status == 3 and said.startswith("satchel: No client was found on this machine. Name one: ")
    (home / ".codex").mkdir()
    (home / ".gemini").mkdir()
    assert failed(satchel("install")) == (2, "satchel: name a client: satchel install codex gemini-cli, or --all.\n")
    done(satchel("install", "--all"))
    assert failed(satchel("uninstall")) == (
        2,
        "satchel: name a client: satchel uninstall codex gemini-cli, or --all.\n",
    )
    done(satchel("uninstall", "--all"))
    assert failed(satchel("uninstall", "--all"))[0] == 3


def of_terminal(home: Path) -> dict[str, str]:
    """Return the environment of a person who has no other settings."""
    return {"HOME": str(home), "PATH": "/nowhere", "TERM": "dumb", "SATCHEL_HOME": "", "XDG_DATA_HOME": ""}


def test_on_a_terminal_it_asks_for_each_client(home: Path) -> None:
    (home / ".codex").mkdir()
    (home / ".gemini").mkdir()
    _, text = on_terminal("install", answer="n\ny\n", cwd=home, environment=of_terminal(home))
    assert "Found: Codex, Gemini CLI." in text
    assert "Connect Codex? [Y/n]: " in text and "Connect Gemini CLI? [Y/n]: " in text
    assert not (home / ".codex" / "config.toml").exists()
    assert (home / ".gemini" / "settings.json").exists()


def test_on_a_terminal_it_asks_for_the_project_of_a_server(home: Path) -> None:
    for answer, address in (("web\n", "/mcp?project=web"), ("\n", "/mcp")):
        words = ("install", "gemini", "--url", "https://satchel.example")
        _, text = on_terminal(*words, answer=answer, cwd=home, environment=of_terminal(home))
        assert "Project on the server [default]: " in text
        settings = json.loads((home / ".gemini" / "settings.json").read_text())
        assert settings["mcpServers"]["satchel"]["httpUrl"] == f"https://satchel.example{address}"


WRONG: list[tuple[tuple[str, ...], str]] = [
    (("gemni",), "there is no client 'gemni'. Did you mean 'gemini'? There are: claude-code, "),
    (("codex", "--token-env", "X"), "--token-env belongs to --url: "),
    (
        ("codex", "--url", "http://x/mcp", "--token-env", "sk-123"),
        "'sk-123' is not the name of an environment variable",
    ),
    (("codex", "--name", "a.b"), "--name takes letters, digits, - and _."),
]


def test_contradictory_arguments_are_refused(satchel: Satchel, home: Path) -> None:
    for arguments, message in WRONG:
        status, said = failed(satchel("install", *arguments))
        assert status == 2 and said.startswith(f"satchel: {message}")
    assert list(home.iterdir()) == []


def test_a_server_that_does_not_start_is_reported_at_once(satchel: Satchel, home: Path) -> None:
    data = home / "data"
    data.mkdir()
    (data / "satchel.db").write_text("this is no store")
    result = satchel("install", "codex", SATCHEL_HOME=str(data))
    assert result.returncode == 1
    assert b"satchel: the server does not answer: " in result.stderr


def test_json_contains_everything(satchel: Satchel, home: Path) -> None:
    shown = json.loads(done(satchel("install", "codex", "--json")))
    [change] = shown["changes"]
    file = str(home / ".codex" / "config.toml")
    diff = change.pop("diff")
    assert diff.startswith(f"--- /dev/null\n+++ {file}\n")
    assert change == {"client": "codex", "status": "installed", "file": file, "backup": None}
    assert shown["server"]["name"] == "satchel" and shown["server"]["tools"] > 10
    again = json.loads(done(satchel("install", "codex", "--json")))["changes"]
    assert again == [{"client": "codex", "status": "unchanged", "file": file}]
    status, said = failed(satchel("install", "nope", "--json"))
    assert status == 2 and json.loads(said)["error"]["message"].startswith("there is no client 'nope'.")
