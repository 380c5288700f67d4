"""In a repository, the current project has its name; the first write creates the project and says so."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from satchel.app import project_discovery
from satchel.app.project_discovery import NamedProject, find_main_repository, find_names_above, make_name
from satchel.services import projects
from satchel.storage.database import Database
from tests.support.satchel import ok, refusal
from tests.support.stdio import NEWEST, Client

ANN = "11111111-1111-4111-8111-111111111111"
Start = Callable[..., Client]


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Path]:
    """Yield a repository, in which servers are started."""
    folder = tmp_path / "web"
    (folder / ".git").mkdir(parents=True)
    before = os.getcwd()
    os.chdir(folder)
    yield folder
    os.chdir(before)


@pytest.fixture
def start(repository: Path, store: str, serve: Start) -> Start:
    return lambda *more: serve("satchel", store, NEWEST, "--user", ANN, *more)


def names(database: Database) -> list[str]:
    with database.read() as tx:
        return [project.name for project, _ in projects.list_all(tx)]


def texts(client: Client, tool: str, **arguments: object) -> str:
    return "\n".join(one["text"] for one in client.call(tool, arguments)["content"])


def test_it_is_empty_until_the_first_write_makes_it(start: Start, database: Database, repository: Path) -> None:
    client = start()
    ok(client, "add_prompt", title="Everywhere", content="x", project="default")
    empty = f"Project 'web' is empty; the first write makes it for the repository {repository}."
    held = "Project 'default' holds 1 prompt: name that project to read it."
    for tool, member in (("list_prompts", "prompts"), ("list_resources", "resources"), ("list_tags", "tags")):
        answer = ok(client, tool)
        assert (answer["project"], answer[member], answer["notes"]) == ("web", [], [empty, held])
        assert texts(client, tool).endswith(f"\n{empty}\n{held}")
    assert client.request("resources/list")["result"]["resources"] == []
    assert ok(client, "history")["changes"] == []
    assert names(database) == ["default"]
    made = f"Project 'web' was made for the repository {repository}."
    answer = ok(client, "add_resource", name="guide", content="x")
    assert (answer["project"], answer["notes"]) == ("web", [made])
    assert "notes" not in ok(client, "add_resource", name="more", content="x")
    assert "notes" not in ok(client, "list_resources")
    assert names(database) == ["default", "web"]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("add_prompt", {"title": "A", "content": "x"}),
        ("add_resource", {"name": "a", "content": "x"}),
        ("add_task", {"title": "A"}),
        ("add_task", {"title": "A", "project": "web"}),
    ],
)
def test_every_tool_that_adds_makes_it(
    start: Start, database: Database, repository: Path, tool: str, arguments: dict[str, str]
) -> None:
    answer = ok(start(), tool, arguments)
    assert answer["project"] == "web"
    assert answer["notes"] == [f"Project 'web' was made for the repository {repository}."]
    assert names(database) == ["default", "web"]


def test_a_call_that_fails_makes_nothing(start: Start, database: Database) -> None:
    client = start()
    calls: list[tuple[str, dict[str, Any]]] = [
        ("add_prompt", {"title": "A", "content": "x", "tags": ["no tag"]}),
        ("update_prompt", {"prompt": "a", "title": "B"}),
        ("delete", {"items": ["a"]}),
        ("get_prompt", {"prompt": "a"}),
        ("restore", {"item": "satchel://project/web"}),
    ]
    for tool, arguments in calls:
        assert refusal(client, tool, arguments)["code"] in ("invalid_argument", "not_found"), tool
    assert refusal(client, "list_prompts", project="wbe")["code"] == "not_found"
    assert names(database) == ["default"]


def test_while_it_is_in_the_trash_reads_say_so_and_writes_do_not_make_it(start: Start, database: Database) -> None:
    client = start()
    ok(client, "add_prompt", title="A", content="x")
    with database.write() as tx:
        projects.delete(tx, "web")
    note = "Project 'web' is in the trash: restore satchel://project/web brings it back."
    for tool in ("list_prompts", "list_resources", "list_tags"):
        assert ok(client, tool)["notes"] == [note], tool
    assert refusal(client, "add_prompt", title="B", content="x")["message"] == "Project 'web' is in the trash."
    ok(client, "restore", item="web")
    assert [one["name"] for one in ok(client, "list_prompts")["prompts"]] == ["a"]


def test_a_server_that_only_reads_shows_it_as_empty(start: Start, database: Database, repository: Path) -> None:
    answer = ok(start("--read-only"), "list_prompts")
    assert answer["prompts"] == []
    assert answer["notes"][0] == f"Project 'web' is empty; no write has made it yet for the repository {repository}."
    assert names(database) == ["default"]


# -- how it is named --------------------------------------------------------------------------------------------


def link(folder: Path, target: str) -> Path:
    folder.mkdir(parents=True)
    (folder / ".git").write_text(f"gitdir: {target}\n")
    return folder


def test_worktrees_and_submodules_are_of_their_main_repository(tmp_path: Path) -> None:
    main = tmp_path / "web"
    (main / ".git").mkdir(parents=True)
    for folder, target in [
        (tmp_path / "hotfix", f"{main}/.git/worktrees/hotfix"),
        (tmp_path / "relative", "../web/.git/worktrees/relative"),
        (main / "libs" / "sub", "../../.git/modules/libs/sub"),
        (main / "libs" / "deep", "../../.git/modules/libs/deep/modules/deeper"),
        (tmp_path / "of-bare", f"{tmp_path}/web.git/worktrees/of-bare"),
        (tmp_path / "of-hidden", f"{main}/.bare/worktrees/of-hidden"),
    ]:
        assert find_main_repository(str(link(folder, target))) == str(main), target
        assert find_names_above(str(folder))[0] == NamedProject("web", f"the repository {main}", str(folder), True)


@pytest.mark.parametrize("content", [b"", b"gitdir:", b"gitdir: /elsewhere", b"\xff\xfe\0", b"x" * 10_000])
def test_a_file_that_leads_nowhere_counts_as_a_repository(tmp_path: Path, content: bytes) -> None:
    folder = tmp_path / "web"
    folder.mkdir()
    (folder / ".git").write_bytes(content)
    assert find_names_above(str(folder))[0].name == "web"


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("web", "web"),
        ("My Web!", "My-Web"),
        ("café", "caf"),
        ("日本", ""),
        ("a" * 300, "a" * 255),
        ("-x-", "x"),
        ("All", ""),
    ],
)
def test_a_name_is_made_valid(folder: str, name: str) -> None:
    assert make_name(folder) == name


def test_no_project_is_made_for_a_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert [one.is_repository for one in project_discovery.find_names() if one.why.endswith(str(tmp_path))] == [False]
