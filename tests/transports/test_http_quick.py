"""Reads are answered in the event loop while they are quick, and by a thread when not: with the same words."""

import sys
from collections.abc import Iterator

import pytest

from satchel.model import PromptDraft, Scope, TaskDraft
from satchel.services import projects, prompts, tasks, users
from satchel.storage.database import open_database
from tests.support.web import WebServer, call, rpc

# One of them gives up every read at once, and hands it on. The other has all the time.
MAIN = "from satchel.__main__ import main; sys.exit(main())"
PATIENT = f"import sys; from satchel.transports.http import endpoint; endpoint._PATIENCE = 60.0; {MAIN}"
IMPATIENT = f"import sys; from satchel.transports.http import endpoint; endpoint._PATIENCE = 0.0; {MAIN}"

READS = [
    ("/mcp/prompt-store", "list_prompts", {"limit": 100}),
    ("/mcp/prompt-store", "search_prompts", {"query": "common", "limit": 100}),
    ("/mcp/prompt-store", "list_tags", {}),
    ("/mcp/satchel", "list_prompts", {"query": "common", "limit": 50}),
    ("/mcp/satchel", "get_prompt", {"prompt": "t77"}),
    ("/mcp/satchel", "get_prompt", {"prompt": "t777x"}),
    ("/mcp/satchel", "list_tasks", {"limit": 50}),
    ("/mcp/satchel", "list_projects", {}),
    ("/mcp/todo", "list_tasks", {}),
    ("/mcp/tasks", "list_tasks", {}),
    ("/mcp/tasks", "list_tasks", {"status": 7}),
]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[WebServer, WebServer]]:
    folder = tmp_path_factory.mktemp("quick")
    store = str(folder / "s.db")
    environment = {"SATCHEL_HOME": str(folder)}
    started = ("-d", store, "-l", str(folder / "none"))
    with (
        WebServer(*started, command=[sys.executable, "-c", PATIENT], environment=environment) as patient,
        WebServer(*started, command=[sys.executable, "-c", IMPATIENT], environment=environment) as impatient,
    ):
        database = open_database(store)
        projects.require(database, Scope())
        user = users.local(database, str(folder))
        with database.write() as tx:
            for number in range(800):
                prompts.add(
                    tx, Scope(), PromptDraft(title=f"T{number}", content="a common word", tags=[f"tag{number}"])
                )
                tasks.add(tx, Scope(user=user), TaskDraft(title=f"Task {number}"))
        database.close()
        yield patient, impatient


@pytest.mark.parametrize(("path", "tool", "arguments"), READS)
def test_a_read_says_the_same_wherever_it_is_answered(
    servers: tuple[WebServer, WebServer], path: str, tool: str, arguments: dict[str, object]
) -> None:
    patient, impatient = [
        [server.ask("POST", path, *call(tool, arguments)).json for _ in range(2)] for server in servers
    ]
    assert patient[0] == patient[1] == impatient[0] == impatient[1]


@pytest.mark.parametrize("method", ["prompts/list", "resources/list", "tools/list"])
def test_so_does_a_method(servers: tuple[WebServer, WebServer], method: str) -> None:
    patient, impatient = [server.ask("POST", "/mcp/satchel", *rpc(method)).json for server in servers]
    assert patient == impatient
    assert "result" in patient


def test_every_call_is_counted_once(servers: tuple[WebServer, WebServer]) -> None:
    for server in servers:
        before = server.count()
        for _ in range(3):
            assert server.ask("POST", "/mcp/tasks", *call("list_tasks")).status == 200
        assert server.count() == before + 3
