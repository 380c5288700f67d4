"""The table of clients: where their files are on each platform, and what an entry looks like in each."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from satchel.clients import jsonc
from satchel.clients.changes import find_entries, plan_install, write_snippet
from satchel.clients.entries import CannotInstall, Local, Remote, make_entry, read_entry
from satchel.clients.places import Machine
from satchel.clients.table import BY_NAME, CLIENTS, GENERIC, Client

LOCAL = Local("/opt/satchel", ("serve", "--project", "web"), {"SATCHEL_HOME": "/data"})
REMOTE = Remote("https://satchel.example/mcp", "SATCHEL_TOKEN")

each_client = pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)

# As the clients' own commands write them, or their documentation has them.
STDIO = {"command": "/opt/satchel", "args": ["serve", "--project", "web"], "env": {"SATCHEL_HOME": "/data"}}
DOLLAR = {"headers": {"Authorization": "Bearer ${SATCHEL_TOKEN}"}}
BY_ENV = {"headers": {"Authorization": "Bearer ${env:SATCHEL_TOKEN}"}}
ENTRIES: dict[str, tuple[Any, Any]] = {
    "claude-code": ({"mcpServers": {"satchel": {"type": "stdio", **STDIO}}}, {"type": "http", **DOLLAR}),
    "claude-desktop": ({"mcpServers": {"satchel": STDIO}}, None),
    "cursor": ({"mcpServers": {"satchel": STDIO}}, BY_ENV),
    "vscode": ({"servers": {"satchel": {"type": "stdio", **STDIO}}}, {"type": "http", **BY_ENV}),
    "codex": ({"mcp_servers": {"satchel": STDIO}}, {"bearer_token_env_var": "SATCHEL_TOKEN"}),
    "gemini-cli": ({"mcpServers": {"satchel": STDIO}}, DOLLAR),
    "copilot-cli": (
        {"mcpServers": {"satchel": {"type": "local", **STDIO, "tools": ["*"]}}},
        {"type": "http", **DOLLAR, "tools": ["*"]},
    ),
    "opencode": (
        {
            "mcp": {
                "satchel": {
                    "type": "local",
                    "command": ["/opt/satchel", "serve", "--project", "web"],
                    "environment": {"SATCHEL_HOME": "/data"},
                    "enabled": True,
                }
            }
        },
        {"type": "remote", "headers": {"Authorization": "Bearer {env:SATCHEL_TOKEN}"}, "enabled": True},
    ),
    "windsurf": ({"mcpServers": {"satchel": STDIO}}, BY_ENV),
    "zed": ({"context_servers": {"satchel": {"source": "custom", **STDIO}}}, None),
    "cline": (
        {"mcpServers": {"satchel": {**STDIO, "disabled": False, "autoApprove": []}}},
        {
            "type": "streamableHttp",
            **BY_ENV,
            "disabled": False,
            "autoApprove": [],
        },
    ),
    "qwen-code": ({"mcpServers": {"satchel": STDIO}}, DOLLAR),
    "kiro": (
        {"mcpServers": {"satchel": {**STDIO, "disabled": False, "autoApprove": []}}},
        {**DOLLAR, "disabled": False, "autoApprove": []},
    ),
    "amp": ({"amp.mcpServers": {"satchel": STDIO}}, DOLLAR),
    "goose": (
        {
            "extensions": {
                "satchel": {
                    "name": "satchel",
                    "type": "stdio",
                    "cmd": "/opt/satchel",
                    "args": ["serve", "--project", "web"],
                    "envs": {"SATCHEL_HOME": "/data"},
                    "enabled": True,
                    "timeout": 300,
                }
            }
        },
        None,
    ),
}
URL_KEYS = {"gemini-cli": "httpUrl", "qwen-code": "httpUrl", "windsurf": "serverUrl"}  # all others: url


def load(client: Client, text: str) -> Any:
    readers: dict[str, Any] = {"toml": tomllib.loads, "yaml": yaml.safe_load}
    return readers.get(client.format, json.loads)(text)


@each_client
def test_a_new_file_has_the_entry_in_the_shape_of_the_client(client: Client, machine: Machine) -> None:
    path = machine.find_file(client, "user")
    assert path is not None
    change = plan_install(client, path, "satchel", LOCAL, "user")
    assert change.make() is None
    text = Path(path).read_text()
    assert load(client, text) == ENTRIES[client.name][0] == load(client, write_snippet(client, "satchel", LOCAL))
    assert Path(path).stat().st_mode & 0o777 == 0o600
    assert read_entry(client, find_entries(client, machine, "user")[1]["satchel"]) == LOCAL
    assert not plan_install(client, path, "satchel", LOCAL, "user").is_needed


@each_client
def test_an_address_with_a_token_is_written_by_the_name_of_its_variable(client: Client, machine: Machine) -> None:
    expected = ENTRIES[client.name][1]
    if expected is None:
        with pytest.raises(CannotInstall, match="Connectors" if client.name == "claude-desktop" else "--token-env"):
            make_entry(client, REMOTE)
        return
    entry = {**make_entry(client, REMOTE), **client.defaults}
    assert entry == {URL_KEYS.get(client.name, "url"): REMOTE.url, **expected}
    assert read_entry(client, entry) == REMOTE
    without_token = Remote(REMOTE.url)
    assert read_entry(client, make_entry(client, without_token)) == without_token


PLACES = {
    "claude-desktop": (
        "~/.config/Claude/claude_desktop_config.json",
        "~/Library/Application Support/Claude/claude_desktop_config.json",
    ),
    "vscode": ("~/.config/Code/User/mcp.json", "~/Library/Application Support/Code/User/mcp.json"),
    "zed": ("~/.config/zed/settings.json",) * 2,
}


def test_the_file_of_a_client_is_where_its_platform_has_it() -> None:
    machines = [Machine(platform=one, environment={"HOME": "/h"}, folder="/p") for one in ("linux", "darwin")]
    for name, paths in PLACES.items():
        found = tuple(machine.find_file(BY_NAME[name], "user") for machine in machines)
        assert found == tuple(path.replace("~", "/h") for path in paths), name
    for client in CLIENTS:
        assert all(machine.find_file(client, "user") for machine in machines), client.name


PROJECT_FILES = {
    "qwen-code": ".qwen/settings.json",
    "kiro": ".kiro/settings/mcp.json",
    "amp": ".amp/settings.json",
}


def test_a_client_with_files_for_projects_has_them_in_the_folder_of_the_project(machine: Machine) -> None:
    for name, path in PROJECT_FILES.items():
        assert machine.find_file(BY_NAME[name], "project") == f"{machine.folder}/{path}"


def test_a_client_that_is_not_in_the_table_gets_the_shape_that_most_clients_read() -> None:
    assert json.loads(write_snippet(GENERIC, "satchel", LOCAL)) == {"mcpServers": {"satchel": STDIO}}
    headers = {"Authorization": "Bearer ${SATCHEL_TOKEN}"}
    entry = {"type": "http", "url": REMOTE.url, "headers": headers}
    assert json.loads(write_snippet(GENERIC, "satchel", REMOTE)) == {"mcpServers": {"satchel": entry}}
    assert GENERIC.name not in BY_NAME


@pytest.mark.parametrize(
    ("name", "variable", "path"),
    [
        ("claude-code", "CLAUDE_CONFIG_DIR", ".claude.json"),
        ("codex", "CODEX_HOME", "config.toml"),
        ("gemini-cli", "GEMINI_CLI_HOME", ".gemini/settings.json"),
        ("copilot-cli", "COPILOT_HOME", "mcp-config.json"),
        ("opencode", "XDG_CONFIG_HOME", "opencode/opencode.json"),
        ("claude-desktop", "XDG_CONFIG_HOME", "Claude/claude_desktop_config.json"),
        ("zed", "XDG_CONFIG_HOME", "zed/settings.json"),
    ],
)
def test_a_variable_moves_the_files_of_a_client(name: str, variable: str, path: str, machine: Machine) -> None:
    moved = replace(machine, environment={**machine.environment, variable: "/else/where"})
    assert moved.find_file(BY_NAME[name], "user") == f"/else/where/{path}"
    empty = replace(machine, environment={**machine.environment, variable: ""})
    assert empty.find_file(BY_NAME[name], "user") == machine.find_file(BY_NAME[name], "user")


def test_of_several_files_the_one_that_exists_is_taken(machine: Machine) -> None:
    folder = Path(machine.home, ".config", "opencode")
    folder.mkdir(parents=True)
    (folder / "opencode.jsonc").write_text("{}")
    assert machine.find_file(BY_NAME["opencode"], "user") == str(folder / "opencode.jsonc")
    Path(machine.folder, "opencode.jsonc").write_text("{}")
    assert machine.find_file(BY_NAME["opencode"], "project") == str(Path(machine.folder, "opencode.jsonc"))


def test_clients_are_found_by_their_command_their_folder_or_their_file(machine: Machine) -> None:
    assert machine.find_clients() == []
    folder = Path(machine.environment["PATH"])
    folder.mkdir()
    (folder / "codex").write_text("#!/bin/sh\n")
    (folder / "codex").chmod(0o755)
    Path(machine.home, ".gemini").mkdir()
    Path(machine.home, ".claude.json").write_text("{}")
    assert [client.name for client in machine.find_clients()] == ["claude-code", "codex", "gemini-cli"]


def test_every_client_has_a_section_in_the_documentation() -> None:
    root = Path(__file__).parents[2]
    sections = re.findall(r"^## (.+)$", (root / "docs" / "guides" / "clients.md").read_text(), re.M)
    assert sections[: len(CLIENTS)] == [client.title for client in CLIENTS]
    for client in CLIENTS:
        assert f"satchel install {client.name}" in (root / "docs" / "guides" / "clients.md").read_text()


def test_names_are_unique_and_every_client_has_a_file_for_each_platform() -> None:
    names = [name for client in CLIENTS for name in (client.name, *client.other_names)]
    assert len(names) == len(set(names)) == len(BY_NAME)
    assert {client.name for client in CLIENTS} == ENTRIES.keys()
    assert jsonc.load(write_snippet(BY_NAME["zed"], "satchel", Local("satchel")))
