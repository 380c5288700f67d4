"""How the contract satchel chooses the project: argument, flag or query, environment, folder, default."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from satchel.services import projects
from satchel.storage.database import open_database
from tests.support.in_process import InProcess
from tests.support.in_process_http import HttpInProcess
from tests.support.satchel import ok, refusal
from tests.support.stdio import Client, Server

ANN = "11111111-1111-4111-8111-111111111111"
PROJECTS = ("default", "flagged", "told", "marked", "repo", "outer")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a data folder whose store has some projects, and folders with the names of these projects."""
    home = tmp_path / "home"
    home.mkdir()
    database = open_database(str(home / "satchel.db"))
    with database.write() as tx:
        for name in PROJECTS:
            projects.add(tx, name)
    database.close()
    return home


@pytest.fixture
def start(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Client]]:
    """Yield a function that starts a server in a folder, and makes it the working directory of the tests."""
    servers: list[Client] = []

    def started(folder: Path, *arguments: str, **environment: str) -> Client:
        monkeypatch.chdir(folder)
        servers.append(InProcess(*arguments, environment={"SATCHEL_HOME": str(home), **environment}))
        return servers[-1]

    yield started
    for server in servers:
        assert server.close() == 0, server.stderr
        assert "surprise in" not in server.stderr


def place(client: Client | HttpInProcess) -> tuple[str, str]:
    told = ok(client, "list_projects")
    return told["project"], told["why"]


def test_the_order_of_who_decides(start: Callable[..., Client], tmp_path: Path) -> None:
    folder = tmp_path / "repo" / "deep" / "down"
    folder.mkdir(parents=True)
    (tmp_path / "repo" / ".git").mkdir()
    mark = tmp_path / "repo" / "deep" / ".satchel"
    assert place(start(tmp_path)) == ("default", "the default")
    assert place(start(folder)) == ("repo", f"the repository {tmp_path / 'repo'}")
    mark.write_text("marked\nand a note\n")
    assert place(start(folder)) == ("marked", f"the file {mark}")
    assert place(start(folder, SATCHEL_PROJECT="told")) == ("told", "the environment variable SATCHEL_PROJECT")
    client = start(folder, "--project", "flagged", SATCHEL_PROJECT="told")
    assert place(client) == ("flagged", "the flag --project")
    assert ok(client, "list_prompts", project="outer")["project"] == "outer"
    assert ok(client, "list_prompts")["project"] == "flagged"
    assert ok(client, "list_prompts", project="")["project"] == "flagged"


def test_a_file_takes_precedence_over_a_repository_and_the_nearest_one_counts(
    start: Callable[..., Client], tmp_path: Path
) -> None:
    outer = tmp_path / "outer"
    inner = outer / "unknown"
    inner.mkdir(parents=True)
    (outer / ".git").write_text("gitdir: elsewhere")
    assert place(start(inner)) == ("outer", f"the repository {outer}")
    (inner / ".satchel").write_text("marked")
    assert place(start(inner))[0] == "marked"
    (outer / ".satchel").write_text("flagged")
    assert place(start(inner))[0] == "marked"
    (inner / ".satchel").unlink()
    assert place(start(inner)) == ("flagged", f"the file {outer / '.satchel'}")  # also beside the repository
    (outer / ".satchel").write_text("")  # an empty one means its folder
    assert place(start(inner)) == ("outer", f"the file {outer / '.satchel'}")


def test_a_file_that_names_no_project_is_an_error_of_every_call_that_needs_one(
    start: Callable[..., Client], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    mark = tmp_path / "repo" / ".satchel"
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    mark.write_text("markt\n")
    client = start(tmp_path / "repo")
    message = f"Project 'markt' does not exist, but the file {mark} names it: correct that file, or make the project."
    calls: list[tuple[str, dict[str, Any]]] = [
        ("catch_up", {}),
        ("list_prompts", {}),
        ("get_prompt", {"prompt": "x"}),
        ("add_prompt", {"title": "p", "content": "x"}),
        ("add_task", {"title": "t"}),
        ("read_resource", {"resource": "r"}),
        ("search", {"query": "x"}),
    ]
    for tool, arguments in calls:
        error = refusal(client, tool, arguments)
        assert (error["code"], error["message"], error["near"]) == ("not_found", message, ["marked"]), tool
    assert client.request("prompts/list")["error"] == {
        "code": -32602,
        "message": f"Project 'markt' not found, but the file {mark} names it: correct that file, or make the project. "
        "Did you mean marked?",
        "data": {"name": "markt", "near": ["marked"]},
    }
    assert client.request("tools/list")["result"]["tools"]
    assert place(client) == ("markt", f"the file {mark}, which names no project")
    assert ok(client, "list_prompts", project="marked")["prompts"] == []
    ok(client, "add_project", name="markt")
    assert ok(client, "list_prompts") == {"project": "markt", "prompts": []}
    assert (
        f"project 'markt' does not exist, but the file {mark} names it. Did you mean 'marked'?"
        in capfd.readouterr().err
    )


HOSTILE = [
    b"\xff\xfe\x00",
    b"\0",
    b"marked\0",
    b"\n\n\nmarked",
    b"x" * 1_000_000,
    b"../../etc/passwd\n",
    b"'; drop table projects; --\n",
]


def test_a_hostile_file_is_reported_and_never_read_as_another_name(
    start: Callable[..., Client], tmp_path: Path
) -> None:
    folder = tmp_path / "somewhere"
    folder.mkdir()
    for content in HOSTILE:
        (folder / ".satchel").write_bytes(content)
        client = start(folder)
        assert refusal(client, "list_prompts")["code"] in ("not_found", "invalid_argument")
        assert ok(client, "list_projects")["why"] == f"the file {folder / '.satchel'}, which names no project"


def test_a_file_as_editors_write_it(start: Callable[..., Client], tmp_path: Path) -> None:
    for content in (b"marked\r\n", b"  marked \n", b"\xef\xbb\xbfmarked\n", b"marked" + b" " * 400 + b"x\n"):
        (tmp_path / ".satchel").write_bytes(content)
        assert place(start(tmp_path))[0] == "marked"


def test_a_file_that_cannot_be_read_is_skipped(start: Callable[..., Client], tmp_path: Path) -> None:
    folder = tmp_path / "somewhere"
    folder.mkdir()
    (folder / ".satchel").mkdir()
    assert place(start(folder))[0] == "default"
    (folder / ".satchel").rmdir()
    os.mkfifo(folder / ".satchel")  # reading it would wait for ever
    assert place(start(folder))[0] == "default"
    (folder / ".satchel").unlink()
    (folder / ".satchel").symlink_to(folder / ".satchel")
    assert place(start(folder))[0] == "default"
    (folder / ".satchel").unlink()
    (folder / ".satchel").write_text("marked")
    (folder / ".satchel").chmod(0)
    assert place(start(folder))[0] in ("default", "marked")  # root reads everything


@pytest.mark.process
def test_a_working_directory_that_is_gone(home: Path, tmp_path: Path) -> None:
    gone = tmp_path / "repo"
    gone.mkdir()
    script = f'cd {gone} && rmdir {gone} && exec {sys.executable} -c "from satchel.__main__ import main; main()" serve'
    with Server(command=["sh", "-c", script], environment={"SATCHEL_HOME": str(home)}) as client:
        assert place(client) == ("default", "the default")


@pytest.mark.process
def test_a_flag_that_names_no_project_is_refused(home: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "satchel", "serve", "--project", "flaged"]
    environment = {**os.environ, "SATCHEL_HOME": str(home)}
    done = subprocess.run(command, env=environment, input="", capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    assert "Did you mean 'flagged'?" in done.stderr


# -- over HTTP --------------------------------------------------------------------------------------------------


@pytest.fixture
def http(home: Path) -> Iterator[Callable[..., HttpInProcess]]:
    servers: list[HttpInProcess] = []

    def started(*arguments: str, **environment: str) -> HttpInProcess:
        servers.append(HttpInProcess(*arguments, environment={"SATCHEL_HOME": str(home), **environment}))
        return servers[-1]

    yield started
    for server in servers:
        server.__exit__(None)


def http_place(server: HttpInProcess, path: str = "/mcp", **headers: str) -> tuple[str, str]:
    told = server.call(
        "list_projects", path=path, headers={name.replace("_", "-"): one for name, one in headers.items()}
    )
    return told["structuredContent"]["project"], told["structuredContent"]["why"]


def test_over_http_the_query_or_a_header_says_it(http: Callable[..., HttpInProcess], home: Path) -> None:
    # The working directory of the server is a repository (ours), which does not matter to callers.
    database = open_database(str(home / "satchel.db"))
    with database.write() as tx:
        projects.add(tx, Path(__file__).resolve().parents[2].name)
    database.close()
    server = http()
    assert http_place(server) == ("default", "the default")
    assert http_place(server, "/mcp?project=marked") == ("marked", "the query ?project=")
    assert http_place(server, Satchel_Project="told") == ("told", "the header Satchel-Project")
    assert http_place(server, "/mcp?project=marked", Satchel_Project="told") == ("marked", "the query ?project=")
    assert http_place(server, "/mcp/satchel?project=a&project=outer")[0] == "outer"
    listed = server.call("list_prompts", {"project": "repo"}, path="/mcp?project=marked")
    assert listed["structuredContent"]["project"] == "repo"
    # An empty value counts as absent.
    assert http_place(server, "/mcp?project=") == http_place(server, Satchel_Project="") == ("default", "the default")
    assert http_place(server, "/mcp?project=", Satchel_Project="told") == ("told", "the header Satchel-Project")
    assert http_place(server, "/mcp?project=marked&project=")[0] == "marked"
    flagged = http("--project", "flagged")
    assert http_place(flagged) == ("flagged", "the flag --project")
    assert http_place(flagged, "/mcp?project=marked")[0] == "marked"


QUERIES = ["nope", "%00", "%ff%fe", "a" * 5000, "%F0%9F%92%A3", "'--"]


def test_over_http_a_missing_project_is_reported(http: Callable[..., HttpInProcess]) -> None:
    server = http("--user", ANN)
    for query in QUERIES:
        path = f"/mcp?project={query}"
        for tool in ("list_prompts", "list_resources", "list_tags"):
            result = server.call(tool, path=path)
            assert result["structuredContent"]["error"]["code"] == "not_found", query
        assert server.call("add_task", {"title": "x"}, path=path)["isError"] is True
        assert server.ask("prompts/list", path=path).error["code"] == -32602
        assert server.ask("resources/read", {"uri": "x:y"}, path=path).error["code"] == -32602
        listed = server.call("list_projects", path=path)
        assert listed["isError"] is False
        assert listed["structuredContent"]["why"] == "the query ?project=, which names no project"
        assert listed["content"][0]["text"].startswith("There is no project '")
        with server.listen({"promptsListChanged": True}, path=path) as stream:
            assert stream.read()["method"] == "notifications/subscriptions/acknowledged"
