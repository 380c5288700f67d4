"""Files of clients are changed safely: read within bounds, kept as backups, replaced atomically; the rest stays."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from satchel.clients.changes import (
    RULE_LINES,
    add_rule,
    plan_install,
    plan_rule,
    plan_uninstall,
    remove_rule,
)
from satchel.clients.entries import CannotInstall, Local, Remote, carry_variables, server_url
from satchel.clients.files import MAX_BACKUPS, MAX_SIZE, UnusableFile
from satchel.clients.jsonc import load
from satchel.clients.merging import remove_entry, set_entry
from satchel.clients.places import Machine
from satchel.clients.table import BY_NAME
from tests.clients.documents import VALUES, json_texts

CURSOR, CODEX, CLAUDE = BY_NAME["cursor"], BY_NAME["codex"], BY_NAME["claude-code"]
LOCAL = Local("/opt/satchel", ("serve",))


def install(path: Path, target: Local | Remote = LOCAL, client: Any = CURSOR) -> str | None:
    return plan_install(client, str(path), "satchel", target, "user").make()


@given(VALUES.filter(lambda value: isinstance(value, dict)).flatmap(json_texts))
def test_installing_and_uninstalling_leaves_everything_else_as_it_was(text: str) -> None:
    wanted = {"command": "/opt/satchel"}
    try:
        after = set_entry(CURSOR, "f", text, "new", wanted)
    except UnusableFile as refused:
        assert '"mcpServers" should be an object' in str(refused)
        return
    assert set_entry(CURSOR, "f", after, "new", wanted) == after
    left = remove_entry(CURSOR, "f", after, "new")
    assert {**load(text), "mcpServers": load(text).get("mcpServers", {})} == load(left)


def test_the_old_file_is_kept_as_a_backup_and_the_mode_stays(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{"mcpServers": {"other": {"command": "x"}}}')
    path.chmod(0o640)
    backup = install(path)
    assert backup is not None
    assert Path(backup).read_text() == '{"mcpServers": {"other": {"command": "x"}}}'
    assert [stat.S_IMODE(one.stat().st_mode) for one in (path, Path(backup))] == [0o640, 0o640]
    servers = json.loads(path.read_text())["mcpServers"]
    assert servers == {"other": {"command": "x"}, "satchel": {"command": "/opt/satchel", "args": ["serve"]}}
    assert sorted(one.name for one in tmp_path.iterdir()) == ["mcp.json", Path(backup).name]


def test_only_the_newest_backups_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text("{}")
    kept = [install(path, Local(f"/opt/{number}")) for number in range(MAX_BACKUPS + 3)]
    assert sorted(map(str, tmp_path.glob("*.bak"))) == sorted(filter(None, kept[3:]))


def test_a_link_stays_a_link_and_its_target_is_changed(tmp_path: Path) -> None:
    target, link = tmp_path / "dotfiles" / "mcp.json", tmp_path / "mcp.json"
    target.parent.mkdir()
    target.write_text("{}")
    link.symlink_to(target)
    install(link)
    assert link.is_symlink()
    assert "satchel" in json.loads(target.read_text())["mcpServers"]
    dangling = tmp_path / "new.json"
    dangling.symlink_to(tmp_path / "dotfiles" / "new.json")
    install(dangling)
    assert dangling.is_symlink() and (tmp_path / "dotfiles" / "new.json").is_file()


def test_a_file_without_other_tables_stays_as_an_empty_one(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    install(path, client=CODEX)
    change = plan_uninstall(CODEX, str(path), "satchel", "user")
    assert change is not None
    change.make()
    assert path.read_text() == ""


def test_a_rule_behind_a_link_leaves_the_link(tmp_path: Path) -> None:
    target, link = tmp_path / "shared.md", tmp_path / "AGENTS.md"
    link.symlink_to(target)
    for is_wanted in (True, False):
        change = plan_rule(str(link), is_wanted=is_wanted)
        assert change is not None
        change.make()
        assert link.is_symlink()
    assert target.read_text() == ""


def test_a_file_that_was_changed_in_between_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text("{}")
    change = plan_install(CURSOR, str(path), "satchel", LOCAL, "user")
    path.write_text('{"new": 1}')
    with pytest.raises(UnusableFile, match="changed by another program"):
        change.make()
    assert path.read_text() == '{"new": 1}'
    created = tmp_path / "created.json"
    change = plan_install(CURSOR, str(created), "satchel", LOCAL, "user")
    created.write_text('{"mine": 1}')
    with pytest.raises(UnusableFile, match="changed by another program"):
        change.make()
    assert created.read_text() == '{"mine": 1}'


def test_a_failed_write_leaves_the_file_and_no_rubbish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mcp.json"
    path.write_text("{}")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(UnusableFile, match=r"cannot write .*: No space left on device\."):
        install(path)
    assert path.read_text() == "{}"
    assert not list(tmp_path.glob("*.tmp"))


def test_a_folder_a_large_file_and_a_file_that_is_not_utf8_are_refused_at_once(tmp_path: Path) -> None:
    pipe, folder = tmp_path / "pipe", tmp_path / "folder"
    os.mkfifo(pipe)
    folder.mkdir()
    huge, latin = tmp_path / "huge.json", tmp_path / "latin.json"
    with huge.open("wb") as file:
        file.truncate(MAX_SIZE + 1)
    latin.write_bytes(b'{\n"a": "\xe9"}')
    for path, message in (
        (pipe, "is not a file"),
        (folder, "is not a file|Is a directory"),
        (huge, "more than 16 MiB"),
        (latin, "line 2 is not UTF-8"),
    ):
        with pytest.raises(UnusableFile, match=message):
            install(path)


def test_the_members_of_an_entry_that_belong_to_the_user_stay(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(
        """{
  "mcpServers": {
    "satchel": {
      "command": "/old/satchel", // moved
      "args": ["serve"],
      "env": {"SATCHEL_HOME": "/old", "SATCHEL_PROJECT": "web"},
      "timeout": 5 // seconds
    }
  }
}
"""
    )
    install(path, Local("/opt/satchel", ("serve",), {"SATCHEL_HOME": "/new"}))
    assert (
        path.read_text()
        == """{
  "mcpServers": {
    "satchel": {
      "command": "/opt/satchel", // moved
      "args": ["serve"],
      "env": {
        "SATCHEL_PROJECT": "web",
        "SATCHEL_HOME": "/new"
      },
      "timeout": 5 // seconds
    }
  }
}
"""
    )
    install(path, Remote("https://satchel.example/mcp"))
    assert '"timeout": 5, // seconds' in path.read_text()
    assert '"command"' not in path.read_text() and '"env"' not in path.read_text()


def test_a_broken_file_is_refused_with_its_place_and_stays_as_it_is(tmp_path: Path) -> None:
    path, toml = tmp_path / "mcp.json", tmp_path / "config.toml"
    path.write_text('{\n  "mcpServers": {\n    "a": }\n}')
    toml.write_text("[model\n")
    for file, client, place in ((path, CURSOR, "line 3, column 10"), (toml, CODEX, "at line 1, column 7")):
        before = file.read_text()
        with pytest.raises(UnusableFile, match=rf"{file.name}: .*{place}.*\. Nothing was changed"):
            install(file, client=client)
        assert file.read_text() == before
    assert len(list(tmp_path.iterdir())) == 2


def test_a_diff_shows_the_entry_and_no_secret_of_another(tmp_path: Path) -> None:
    path, toml = tmp_path / "mcp.json", tmp_path / "config.toml"
    path.write_text('{"mcpServers": {"other": {"env": {"KEY": "sk-secret"}, "args": ["--key", "sk-secret"]}}}')
    toml.write_text('[mcp_servers.other]\nurl = \'https://u:sk-secret@x\'\nbearer_token = """sk-secret"""\n')
    for file, client in ((path, CURSOR), (toml, CODEX)):
        diff = plan_install(client, str(file), "satchel", LOCAL, "user").diff
        assert "sk-secret" not in diff
        assert "/opt/satchel" in diff and "…" in diff


def test_removing_an_entry_is_distinguished_from_its_absence(tmp_path: Path, machine: Machine) -> None:
    path = tmp_path / "mcp.json"
    assert plan_uninstall(CURSOR, str(path), "satchel", "user") is None
    path.write_text('{"mcpServers": {"other": {}}}')
    assert plan_uninstall(CURSOR, str(path), "satchel", "user") is None
    before = path.read_text()
    install(path)
    change = plan_uninstall(CURSOR, str(path), "satchel", "user")
    assert change is not None and change.after == before


def test_the_rule_is_written_once_and_goes_without_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "AGENTS.md"
    for text in (None, "# House rules\n\nBe brief.\n", "no end of line", "with\r\nline ends\r\n"):
        if text is not None:
            path.write_bytes(text.encode())
        added = plan_rule(str(path), is_wanted=True)
        assert added is not None
        added.make()
        written = path.read_bytes().decode()
        assert [line for line in written.splitlines() if line in RULE_LINES] == list(RULE_LINES)
        assert plan_rule(str(path), is_wanted=True) is None
        stale = written.replace("catch_up", "an_older_tool")
        assert add_rule(stale) == written
        removed = plan_rule(str(path), is_wanted=False)
        assert removed is not None
        removed.make()
        left = path.read_bytes().decode() if path.exists() else ""
        assert left.rstrip("\r\n") == (text or "").rstrip("\r\n")
        assert path.exists() == (text is not None)
        assert plan_rule(str(path), is_wanted=False) is None


def test_text_around_the_rule_stays() -> None:
    text = "before\n\n<!-- satchel -->\nold\n<!-- /satchel -->\nafter\n"
    assert add_rule(text).startswith("before\n\n<!-- satchel -->\n" + RULE_LINES[0])
    assert remove_rule(text) == "before\nafter\n"
    unclosed = "<!-- satchel -->\nmine\n"
    assert remove_rule(unclosed) == unclosed


CONTRACTS = ["satchel", "todo"]


@pytest.mark.parametrize(
    ("url", "contract", "project", "expected"),
    [
        ("https://x.example", None, None, "https://x.example/mcp"),
        ("https://x.example/", None, "web", "https://x.example/mcp?project=web"),
        ("http://127.0.0.1:8000/mcp", "todo", None, "http://127.0.0.1:8000/mcp/todo"),
        ("https://x.example/team/mcp/satchel?project=a", "todo", "b c", "https://x.example/team/mcp/todo?project=b+c"),
        ("https://x.example/mcp#part", None, None, "https://x.example/mcp"),
    ],
)
def test_an_address_names_contract_and_project(url: str, contract: str, project: str, expected: str) -> None:
    assert server_url(url, contract, project, CONTRACTS) == expected


@pytest.mark.parametrize(
    "url",
    ["", "x.example", "ftp://x/mcp", "http://", "http://[::1", "http://x:99999/", "https://u:p@x/mcp", "http://x/\n"],
)
def test_an_invalid_server_address_is_refused(url: str) -> None:
    with pytest.raises(CannotInstall):
        server_url(url, None, None, CONTRACTS)


def test_variables_that_say_where_data_is_are_carried_and_passwords_are_not() -> None:
    assert carry_variables({"PATH": "/bin"}, "/home/data") == {}
    assert carry_variables({"SATCHEL_HOME": "/d", "SATCHEL_PORT": "1"}, "/d") == {"SATCHEL_HOME": "/d"}
    address = "postgresql://satchel@db.example/satchel"
    assert carry_variables({"SATCHEL_DATABASE": address}, "/d") == {"SATCHEL_DATABASE": address}
    for secret in ("postgresql://u:pw@db/x", "postgresql://db/x?password=pw"):
        with pytest.raises(CannotInstall, match="has a password in it"):
            carry_variables({"SATCHEL_DATABASE": secret}, "/d")
