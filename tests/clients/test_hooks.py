"""Hooks of clients: ours are added and taken out; everything else in the file stays byte for byte."""

import json
from pathlib import Path

import pytest

from satchel.clients import hooks
from satchel.clients.entries import CannotInstall
from satchel.clients.files import UnusableFile
from satchel.clients.places import Machine
from satchel.clients.table import BY_NAME, CLIENTS, Client

HOOKED = [client for client in CLIENTS if client.hook is not None]
CLAUDE, CURSOR, COPILOT, GEMINI = (BY_NAME[name] for name in ("claude-code", "cursor", "copilot-cli", "gemini-cli"))
LINE = "/opt/my\\ tools/satchel catch-up --brief --hook claude-code"

THEIRS = """{
    // mine
    "model": "opus",
    "hooks": {
        "SessionStart": [ {"hooks": [{"type": "command", "command": "date"}]} ],
        "PreToolUse": [
            {
                "matcher": "Bash",
                "hooks": [{ "type": "command", "command": "./check.sh" }],
            },
        ]
    }
}
"""


def command(client: str = "claude-code") -> str:
    return hooks.write_command(BY_NAME[client], ["/opt/my tools/satchel"], {}, None)


@pytest.mark.parametrize("client", HOOKED, ids=lambda client: client.name)
def test_a_hook_comes_and_goes_and_leaves_no_trace(tmp_path: Path, client: Client) -> None:
    for text in (
        None,
        "{}",
        '{"a": 1}',
        '{\n\t"a": 1\n}\n',
        "{\r\n  // x\r\n}\r\n",
        THEIRS,
        THEIRS.replace("SessionStart", "sessionStart"),
        '{"hooks": {"Stop": [{"command": "x"}]}}',
        '{"version": 1, "hooks": {"sessionStart": [{"command": "satchel catch-up --brief"}]}}',
    ):
        path = tmp_path / "hooks.json"
        path.unlink(missing_ok=True)
        if text is not None:
            path.write_bytes(text.encode())
        change = hooks.plan_install(client, str(path), command(client.name), "user")
        assert change is not None
        change.make()
        assert hooks.plan_install(client, str(path), command(client.name), "user") is None
        back = hooks.plan_uninstall(client, str(path), "user")
        assert back is not None
        back.make()
        frame = '"version": 1' if client.hook and client.hook.frame and text and "version" not in text else ""
        if text is None:
            assert not path.exists()
        elif not frame:
            assert path.read_bytes() == text.encode()
        assert hooks.plan_uninstall(client, str(path), "user") is None


def test_only_our_hook_is_taken_out_of_a_group_and_a_new_command_replaces_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    group = {"matcher": "startup", "hooks": [{"type": "command", "command": "date"}, {"command": LINE}]}
    path.write_text(json.dumps({"hooks": {"SessionStart": [group]}}, indent=2))
    change = hooks.plan_install(CLAUDE, str(path), command().replace("/opt", "/usr"), "user")
    assert change is not None
    change.make()
    first, second = json.loads(path.read_text())["hooks"]["SessionStart"]
    assert first == {"matcher": "startup", "hooks": [{"type": "command", "command": "date"}]}
    assert second == {
        "matcher": "startup|resume|clear|compact",
        "hooks": [
            {"type": "command", "command": "'/usr/my tools/satchel' catch-up --brief --hook claude-code", "timeout": 30}
        ],
    }


def test_each_client_gets_the_form_that_its_documentation_has() -> None:
    line = "satchel catch-up --brief --hook"
    assert json.loads(hooks.write_snippet(CURSOR, f"{line} cursor")) == {
        "version": 1,
        "hooks": {"sessionStart": [{"command": f"{line} cursor"}]},
    }
    assert json.loads(hooks.write_snippet(COPILOT, f"{line} copilot-cli")) == {
        "version": 1,
        "hooks": {"sessionStart": [{"type": "command", "bash": f"{line} copilot-cli", "timeoutSec": 30}]},
    }
    gemini = {"name": "satchel", "type": "command", "command": f"{line} gemini-cli", "timeout": 30000}
    assert json.loads(hooks.write_snippet(GEMINI, f"{line} gemini-cli")) == {
        "hooks": {"SessionStart": [{"hooks": [gemini]}]},
    }
    set_home = hooks.write_command(CURSOR, ["satchel"], {"SATCHEL_HOME": "/a b"}, "web")
    line = "env 'SATCHEL_HOME=/a b' satchel catch-up --brief --hook cursor --project web"
    assert set_home == f'cd "$CURSOR_PROJECT_DIR" && {line}'
    assert [hooks.find_program(one) for one in (set_home, command())] == ["satchel", "/opt/my tools/satchel"]


def test_each_client_reads_the_answer_in_its_own_form() -> None:
    nested = {"hookSpecificOutput": {"additionalContext": "Hi ☃", "hookEventName": "SessionStart"}}
    for client, value in (
        (GEMINI, nested),
        (CURSOR, {"additional_context": "Hi ☃"}),
        (COPILOT, {"additionalContext": "Hi ☃"}),
    ):
        assert json.loads(hooks.write_answer(client, "Hi ☃")) == value
        assert hooks.write_answer(client, "") == "{}\n"
    assert hooks.write_answer(CLAUDE, "Hi\n") == "Hi\n"


def test_what_cannot_have_a_hook_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CannotInstall, match=r"^Zed documents no hook that could begin a session with catch_up\."):
        hooks.find_hook(BY_NAME["zed"])
    path = tmp_path / "settings.json"
    for text, why in (
        ("[]", "the document should be an object"),
        ('{"hooks": []}', "should be an object"),
        ('{"hooks": {"SessionStart": {}}}', '"SessionStart" should be a list'),
        ("{", "there should be a name"),
    ):
        path.write_text(text)
        with pytest.raises(UnusableFile, match=why):
            hooks.plan_install(CLAUDE, str(path), command(), "user")
        assert path.read_text() == text


def test_files_of_user_and_project(tmp_path: Path) -> None:
    machine = Machine(platform="linux", environment={"HOME": "/h", "CODEX_HOME": "/c"}, folder="/p")
    found = {client.name: [machine.find_hooks(client, scope) for scope in ("user", "project")] for client in HOOKED}
    assert found == {
        "claude-code": ["/h/.claude/settings.json", "/p/.claude/settings.json"],
        "cursor": ["/h/.cursor/hooks.json", "/p/.cursor/hooks.json"],
        "codex": ["/c/hooks.json", "/p/.codex/hooks.json"],
        "gemini-cli": ["/h/.gemini/settings.json", "/p/.gemini/settings.json"],
        "copilot-cli": ["/h/.copilot/hooks/satchel.json", "/p/.github/hooks/satchel.json"],
    }
    assert machine.find_hooks(BY_NAME["zed"], "user") is None
