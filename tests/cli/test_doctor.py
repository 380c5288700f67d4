"""`satchel doctor`: what it looks at, what it says of what is wrong, and what it repairs."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from satchel.model import PromptDraft, Scope, TaskDraft
from satchel.services import projects, prompts, tasks
from satchel.storage import schema
from satchel.storage.database import Database, open_database
from tests.support import newer
from tests.support.command import run
from tests.support.postgres import PostgresServer
from tests.support.process import HttpProcess
from tests.support.roles import two_roles
from tests.support.schemas import schema_of, set_schema

Doctor = Callable[..., tuple[int, dict[str, list[dict[str, Any]]]]]
SCRIPT = str(Path(sys.executable).with_name("satchel"))
ADA = Scope(user="550e8400-e29b-41d4-a716-446655440000")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name in ("home", "work", "data"):
        (tmp_path / name).mkdir(mode=0o700)
    return tmp_path / "home"


@pytest.fixture
def variables(home: Path) -> dict[str, str]:
    """An empty home and an empty data folder; no client is on the PATH, and the port is any free one."""
    moved = dict.fromkeys(("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "GEMINI_CLI_HOME"), "")
    own = {"HOME": str(home), "PATH": str(home / "bin"), "SATCHEL_HOME": str(home.parent / "data"), "SATCHEL_PORT": "0"}
    return {**moved, **own}


@pytest.fixture
def satchel(home: Path, variables: dict[str, str]) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    def satchel(*arguments: str, **more: str) -> subprocess.CompletedProcess[bytes]:
        return run(*arguments, environment={**variables, **more}, cwd=home.parent / "work")

    return satchel


@pytest.fixture
def doctor(satchel: Callable[..., subprocess.CompletedProcess[bytes]]) -> Doctor:
    """Runs `satchel doctor --json`: its status, and its findings by the check they are of."""

    def doctor(*arguments: str, **more: str) -> tuple[int, dict[str, list[dict[str, Any]]]]:
        result = satchel("doctor", "--json", *arguments, **more)
        assert b"Traceback" not in result.stderr
        shown = json.loads(result.stdout)
        assert shown["ok"] == (result.returncode == 0)
        found: dict[str, list[dict[str, Any]]] = {}
        for finding in shown["findings"]:
            found.setdefault(finding["check"], []).append(finding)
        return result.returncode, found

    return doctor


def fill(database: Database) -> None:
    projects.require(database, ADA)
    with database.write(ADA) as tx:
        prompts.add(tx, ADA, PromptDraft(title="Walrus", content="tusks and whiskers", tags=["arctic"]))
        prompts.add(tx, ADA, PromptDraft(title="Seal", content="whiskers only"))
        tasks.add(tx, ADA, TaskDraft(title="Feed walrus", description="with mussels"))


def test_after_an_install_every_check_is_ok(
    satchel: Callable[..., subprocess.CompletedProcess[bytes]], home: Path, variables: dict[str, str]
) -> None:
    satchel("prompt", "add", "Walrus", "tusks")
    satchel("library", "new", "mine")
    satchel("install", "claude-code", "codex", "cursor")
    result = satchel("doctor")
    assert (result.returncode, result.stderr) == (0, b"")
    lines = result.stdout.decode().splitlines()
    assert lines[-1] == "No problems."
    checks = [(line[:8].strip(), line[8:22].strip()) for line in lines[:-1]]
    clients = ["client claude-code", "client cursor", "client codex"]
    assert checks == [
        *(
            ("ok", name)
            for name in ("interpreter", "settings", "data folder", "store", "integrity", "privacy", "schema", "search")
        ),
        *(("ok", name) for name in ("libraries", "watcher", "port")),
        *(("ok", name[:14].strip()) for name in clients),
    ]


def test_an_empty_machine_is_ok_and_nothing_is_created(doctor: Doctor, home: Path) -> None:
    status, found = doctor()
    assert status == 0
    assert found["clients"] == [
        {"check": "clients", "status": "note", "message": "no client is connected yet", "remedy": "satchel install"}
    ]
    assert list((home.parent / "data").iterdir()) == list(home.iterdir()) == []


def test_a_file_that_is_not_a_store_is_a_failure_with_its_remedy(doctor: Doctor, home: Path) -> None:
    store = home.parent / "data" / "satchel.db"
    store.write_text("this is no store, and longer than a header of a database" * 20)
    status, found = doctor()
    [finding] = found["store"]
    assert (status, finding["status"]) == (1, "failure")
    assert finding["message"].startswith(f"cannot read the store {store}")
    assert finding["remedy"].startswith("Restore a backup of it")
    assert "search" not in found and "watcher" in found


def test_a_damaged_file_is_found(doctor: Doctor, home: Path) -> None:
    store = home.parent / "data" / "satchel.db"
    database = open_database(str(store))
    fill(database)
    database.close()
    connection = apsw.Connection(str(store))
    [[page]] = connection.execute("select rootpage from sqlite_schema where name = 'prompts_recent'")
    size = connection.pragma("page_size")
    connection.close()
    with store.open("r+b") as file:
        file.seek((page - 1) * size + 8)
        file.write(b"\xff" * 40)
    status, found = doctor()
    assert (status, found["integrity"][0]["status"]) == (1, "failure")
    assert "restore a backup" in found["integrity"][0]["remedy"]


def test_an_index_that_is_out_of_step_is_found_and_made_again(doctor: Doctor, store: str) -> None:
    database = open_database(store)
    fill(database)
    arguments = ("--database", store)
    assert doctor(*arguments)[1]["search"][0] == {
        "check": "search",
        "status": "ok",
        "message": "the search index is up to date (3 items compared)",
    }
    with database.write() as tx:
        tx.run("delete from search_items where task is not null")
        tx.run("update search_items set words = ' a.other ' where number = (select min(number) from search_items)")
    status, found = doctor(*arguments)
    assert status == 1
    assert found["search"][0] == {
        "check": "search",
        "status": "failure",
        "message": "the search index is out of date: 1 items are missing, 1 wrong.",
        "remedy": "satchel doctor --fix",
    }
    status, found = doctor("--fix", *arguments)
    assert (status, found["search"][0]["status"]) == (0, "fixed")
    assert doctor(*arguments)[0] == 0
    database.close()


def test_words_that_only_the_full_text_index_lost_are_missed(doctor: Doctor, home: Path) -> None:
    store = str(home.parent / "data" / "satchel.db")
    database = open_database(store)
    fill(database)
    with database.write() as tx:
        tx.run("insert into search_index (search_index) values ('delete-all')")
    database.close()
    status, found = doctor()
    assert (status, found["search"][0]["message"]) == (
        1,
        "the search index is out of date: 0 items are missing, 3 wrong.",
    )
    assert doctor("--fix")[0] == 0
    assert doctor()[0] == 0


def test_an_older_store_is_not_migrated_until_it_is_asked_for(
    doctor: Doctor, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "MIGRATIONS", (newer.MIGRATION,))
    arguments = ("--database", store)
    for _ in range(2):
        status, found = doctor(*arguments)
        assert (status, found["schema"][0]["status"]) == (1, "failure")
        assert found["schema"][0]["remedy"] == "satchel database migrate"
    status, found = doctor("--fix", *arguments)
    assert (status, found["schema"][0]["status"], found["search"][0]["status"]) == (0, "fixed", "ok")


def test_a_store_of_another_satchel_is_a_failure_that_fix_leaves_alone(doctor: Doctor, store: str) -> None:
    set_schema(store, 14)
    for flags in ((), ("--fix",)):
        status, found = doctor(*flags, "--database", store)
        assert (status, found["schema"][0]["status"]) == (1, "failure")
        assert found["schema"][0]["remedy"].startswith("Dump the store with the Satchel that wrote it")
    assert schema_of(store) == 14


def test_a_postgresql_that_cannot_be_reached_is_a_failure_that_shows_no_password(doctor: Doctor) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    status, found = doctor("--database", f"postgresql://ada:secret@127.0.0.1:{port}/satchel")
    assert (status, found["store"][0]["status"]) == (1, "failure")
    assert "secret" not in json.dumps(found)
    assert "that the server runs" in found["store"][0]["remedy"]


def test_an_application_role_is_told_that_the_owner_sees_more(doctor: Doctor, postgres: PostgresServer) -> None:
    _, application = two_roles(postgres)
    status, found = doctor("--database", application)
    assert (status, found["search"][0]["status"]) == (0, "note")


def test_files_that_others_can_read_are_made_private(doctor: Doctor, home: Path) -> None:
    data = home.parent / "data"
    open_database(str(data / "satchel.db")).close()
    data.chmod(0o755)
    (data / "satchel.db").chmod(0o644)
    status, found = doctor()
    assert (status, found["data folder"][0]["status"], found["privacy"][0]["status"]) == (0, "warning", "warning")
    assert found["privacy"][0]["remedy"] == f"chmod 600 {data / 'satchel.db'}"
    _, found = doctor("--fix")
    assert found["data folder"][0]["status"] == "fixed"
    assert found["privacy"][0]["status"] in ("fixed", "ok")  # opening the store may have put it right before
    modes = [path.stat().st_mode & 0o777 for path in (data, data / "satchel.db")]
    assert modes == [0o700, 0o600]


def test_wrong_settings_and_libraries_are_reported_with_their_location(doctor: Doctor, home: Path) -> None:
    library = home.parent / "data" / "libraries" / "mine"
    (library / "prompts").mkdir(parents=True)
    (library / "twig.toml").write_text("[prompts.a]\n")
    (library / "prompts" / "a.md").write_text("fine\n{{ unclosed\n")
    status, found = doctor()
    [finding] = found["libraries"]
    assert (status, finding["status"], finding["file"], finding["line"]) == (
        1,
        "failure",
        f"{library}/prompts/a.md",
        2,
    )
    (home.parent / "data" / "satchel.toml").write_text("port = 'x'\n")
    status, found = doctor(SATCHEL_PORT="")
    assert (status, found["settings"][0]["status"]) == (1, "failure")
    assert "satchel.toml: port must be a whole number" in found["settings"][0]["message"]


def test_a_port_in_use_is_reported_unless_satchel_uses_it(doctor: Doctor, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        taken.settimeout(0)
        port = str(taken.getsockname()[1])
        status, found = doctor(SATCHEL_PORT=port)
        assert (status, found["port"][0]["status"]) == (0, "warning")
        assert doctor(SATCHEL_PORT=port, SATCHEL_TRANSPORT="http")[0] == 1
    with HttpProcess("--database", str(tmp_path / "other.db")) as server:
        _, found = doctor(SATCHEL_PORT=str(server.port))
        assert found["port"][0]["message"] == f"Satchel serves at 127.0.0.1:{server.port} already"


def write(path: Path, servers: dict[str, Any]) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"mcpServers": servers}))
    return path


def test_an_entry_whose_command_is_gone_is_found_and_renewed(doctor: Doctor, home: Path) -> None:
    gone = {"command": "/gone/bin/satchel", "args": ["serve", "--contract", "todo"], "autoApprove": ["x"]}
    path = write(home / ".cursor" / "mcp.json", {"satchel": gone, "other": {"command": "/gone/too"}})
    status, found = doctor()
    [finding] = found["client cursor"]
    assert (status, finding["status"], finding["remedy"]) == (1, "failure", "satchel install cursor")
    assert finding["message"] == (f"satchel in {path}: /gone/bin/satchel cannot be started: No such file or directory.")
    status, found = doctor("--fix")
    assert (status, found["client cursor"][0]["status"]) == (0, "fixed")
    assert json.loads(path.read_text())["mcpServers"] == {
        "satchel": {**gone, "command": SCRIPT},
        "other": {"command": "/gone/too"},
    }


def test_a_failing_server_is_reported_with_its_last_output(doctor: Doctor, home: Path) -> None:
    script = home / "bad.py"
    script.write_text("import sys; print('hello'); sys.stderr.write('no store here')")
    write(home / ".cursor" / "mcp.json", {"satchel": {"command": sys.executable, "args": [str(script)]}})
    project = {"command": SCRIPT, "args": ["serve", "--project", "nowhere", "--contract", "mcpkg"]}
    write(home / ".claude.json", {"satchel": project})
    (home / ".gemini").mkdir()
    (home / ".gemini" / "settings.json").write_text('{"mcpServers": }')
    status, found = doctor()
    assert status == 1
    assert "not JSON to stdout: b'hello\\n'; it said: no store here" in found["client cursor"][0]["message"]
    assert "project 'nowhere' does not exist" in found["client claude-code"][0]["message"]
    assert found["client claude-code"][0]["remedy"].startswith("Correct the reported cause, or rewrite the entry: ")
    assert "line 1, column 16" in found["client gemini-cli"][0]["message"]


def test_a_server_at_an_address_is_called_with_its_token(doctor: Doctor, home: Path, tmp_path: Path) -> None:
    store = str(tmp_path / "team.db")
    made = run("token", "create", "--user", str(ADA.user), "--database", store, "--json")
    token = json.loads(made.stdout)["token"]
    with HttpProcess("--database", store, "--auth", "token") as server:
        header = {"Authorization": "Bearer ${env:SATCHEL_TOKEN}"}
        write(home / ".cursor" / "mcp.json", {"satchel": {"url": f"{server.url}/mcp", "headers": header}})
        status, found = doctor(SATCHEL_TOKEN=token)
        assert (status, found["client cursor"][0]["status"]) == (0, "ok")
        status, found = doctor(SATCHEL_TOKEN="wrong")
        assert (status, "refused the token (status 401)" in found["client cursor"][0]["message"]) == (1, True)
        status, found = doctor()
        assert found["client cursor"][0]["remedy"].startswith("Set SATCHEL_TOKEN to a token")
    status, found = doctor(SATCHEL_TOKEN=token)
    assert (status, "cannot be reached" in found["client cursor"][0]["message"]) == (1, True)


def test_commands_and_addresses_in_a_project_file_are_not_run_or_called(doctor: Doctor, home: Path) -> None:
    mark = home / "was-run"
    work = home.parent / "work"
    write(work / ".mcp.json", {"satchel": {"command": "/usr/bin/touch", "args": [str(mark)]}})
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        header = {"Authorization": "Bearer ${env:HOME}"}
        write(work / ".cursor" / "mcp.json", {"satchel": {"url": address, "headers": header}})
        loaded = {"command": SCRIPT, "args": ["serve"], "env": {"PYTHONPATH": str(work)}}
        write(work / ".gemini" / "settings.json", {"satchel": loaded})
        deleting = {"command": SCRIPT, "args": ["prompt", "delete", "walrus"]}
        elsewhere = {"command": SCRIPT, "args": ["serve", "--database", str(mark)]}
        moved = {"command": SCRIPT, "args": ["serve"], "env": {"SATCHEL_HOME": str(mark)}}
        write(work / ".github" / "mcp.json", {"satchel": deleting, "b": elsewhere, "c": moved})
        status, found = doctor()
        listening.settimeout(0)
        with pytest.raises(BlockingIOError):
            listening.accept()
    assert status == 0 and not mark.exists()
    for client, count in (("claude-code", 1), ("cursor", 1), ("gemini-cli", 1), ("copilot-cli", 3)):
        findings = found[f"client {client}"]
        assert [finding["status"] for finding in findings] == ["note"] * count
        assert all("was not tried" in finding["message"] for finding in findings)


def test_the_entry_that_install_wrote_into_a_project_is_tried(
    doctor: Doctor, satchel: Callable[..., subprocess.CompletedProcess[bytes]]
) -> None:
    assert satchel("install", "cursor", "--scope", "project").returncode == 0
    status, found = doctor()
    assert (status, [one["status"] for one in found["client cursor"]]) == (0, ["ok"])


def test_a_check_that_breaks_does_not_stop_the_others(doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    def burst(*_: object, **__: object) -> None:
        raise RuntimeError("surprise")

    monkeypatch.setattr("satchel.cli.doctor.check_watcher", burst)
    status, found = doctor()
    assert (status, found["watcher"][0]["message"]) == (1, "it could not be checked: RuntimeError: surprise")
    assert "port" in found and os.getcwd()


def test_every_entry_that_starts_satchel_is_checked_whatever_its_name(doctor: Doctor, home: Path) -> None:
    (home / ".cursor").mkdir()
    shell = {"command": "/bin/sh", "args": ["-c", f"exec {SCRIPT} serve"]}
    servers = {"memory": shell, "gone": {"command": "/gone/uvx", "args": ["--from", "satchel[postgres]", "satchel"]}}
    servers["files"] = {"command": "/gone/server", "args": ["/home/ada/satchel"]}
    (home / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    status, found = doctor()
    messages = sorted(one["message"] for one in found["client cursor"])
    assert status == 1 and len(messages) == 2
    assert messages[0].startswith("Cursor: memory answers (satchel ") and messages[1].startswith("gone in ")
