"""A token limited to some projects is shown nothing of the others, by any tool, method or completion."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from satchel.auth import tokens
from satchel.model import Argument, DocumentDraft, PromptDraft, Scope, TaskDraft
from satchel.services import documents, projects, prompts, tasks
from satchel.storage.database import Database
from tests.support.in_process_http import HttpInProcess
from tests.support.satchel import make_library, ok, refusal, text
from tests.support.variants import both_engines

ANN = "11111111-1111-4111-8111-111111111111"
HIDDEN, FIRST, WAITING, FREE = 1, 2, 3, 4
ELSEWHERE = "a task of a project that is not open here"


@pytest.fixture
def server(store: str, database: Database, tmp_path: Path) -> Iterator[HttpInProcess]:
    """Yield a server and a client whose token opens the project `open`, but not `secret` of the same user."""
    make_library(tmp_path / "shelf", "desk", {"x": ("About {{ topic }}", ["topic"])})
    everywhere = Scope(user=ANN)
    with database.write() as tx:
        for name in ("default", "open", "secret"):
            projects.add(tx, name)
        hidden = tasks.add(tx, everywhere, TaskDraft(title="Hidden", project="secret", tags=["hush"])).number
        first = tasks.add(tx, everywhere, TaskDraft(title="First", project="open")).number
        waiting = tasks.add(
            tx, everywhere, TaskDraft(title="Waiting", project="open", blocked_by=[hidden, first])
        ).number
        free = tasks.add(tx, everywhere, TaskDraft(title="Free", project="open")).number
        assert (hidden, first, waiting, free) == (HIDDEN, FIRST, WAITING, FREE)
        for name in ("open", "secret"):
            scope = Scope(user=ANN, project=name)
            arguments = [Argument(argument, None, False) for argument in ("project", "tag")]
            prompts.add(
                tx, scope, PromptDraft(title=f"Prompt {name}", content="x", tags=[f"tag-{name}"], arguments=arguments)
            )
            documents.add(tx, scope, DocumentDraft(name=f"doc-{name}", uri=f"doc:{name}", content="x"))
        _, confined = tokens.create(tx, user=ANN, projects=["open"])
        _, free_token = tokens.create(tx, user=ANN)
    with HttpInProcess("--database", store, "--auth", "token", "--libraries", str(tmp_path / "shelf")) as server:
        # Values that the same user gave with a token for all projects.
        server.token = free_token
        for project in ("open", "secret"):
            given = {"project": "secret", "tag": "tag-open"}
            ok(server, "render_prompt", prompt=f"prompt-{project}", arguments=given, project=project)
            ok(server, "render_prompt", prompt="desk:x", arguments={"topic": f"of {project}"}, project=project)
        assert completed(server, "satchel://task/{number}", "number") == ["4", "3", "2", "1"]
        assert "of secret" in completed(server, "desk:x", "topic")
        server.token = confined
        yield server


def completed(server: HttpInProcess, of: str, argument: str, value: str = "") -> list[str]:
    ref = {"type": "ref/resource", "uri": of} if "://" in of else {"type": "ref/prompt", "name": of}
    answer = server.ask("completion/complete", {"ref": ref, "argument": {"name": argument, "value": value}})
    values: list[str] = answer.result["completion"]["values"]
    return values


def page(server: HttpInProcess, number: int) -> str:
    told: str = server.ask("resources/read", {"uri": f"satchel://task/{number}"}).result["contents"][0]["text"]
    return told


@both_engines
def test_all_projects_are_those_that_the_token_opens(server: HttpInProcess) -> None:
    [row] = ok(server, "list_prompts", project="all", query="prompt")["prompts"]
    assert (row["name"], row["project"]) == ("prompt-open", "open")
    assert [row["name"] for row in ok(server, "list_resources", project="all")["resources"]] == ["doc-open"]
    for query in ("prompt", '"prompt"'):
        hits = ok(server, "search", query=query, project="all", kind="prompt")["hits"]
        assert [(hit["reference"], hit["project"]) for hit in hits] == [("prompt-open", "open")]
    for reference in ("prompt-secret", "satchel://prompt/secret/prompt-secret"):
        error = refusal(server, "get_prompt", prompt=reference, project="open")
        assert "near" not in error or error["near"] == ["prompt-open"]
        assert "tag-secret" not in str(error)
    ok(
        server,
        "add_prompts",
        prompts=[{"title": "L", "content": "satchel://prompt/secret/prompt-secret"}],
        project="open",
    )
    links = ok(server, "get_prompt", prompt="l", project="open")["prompt"]["links"]
    assert links == ["satchel://prompt/secret/prompt-secret (not found)"]


def test_a_task_blocked_elsewhere_reveals_only_that(server: HttpInProcess) -> None:
    assert page(server, WAITING).split("\n\n")[:4] == [
        "# Task #3: Waiting",
        "- Status: blocked\n- Priority: normal\n- Project: open",
        "## To be done first",
        f"- #2 First @open\n- {ELSEWHERE}",
    ]
    ok(server, "complete_task", task=FIRST)
    waiting = one_of(ok(server, "list_tasks", status="pending"), WAITING)
    assert waiting == {"number": WAITING, "title": "Waiting", "blocked_elsewhere": True}
    assert f"#3 Waiting (waits for {ELSEWHERE})" in text(server, "list_tasks", status="pending")
    assert [task["number"] for task in ok(server, "list_tasks")["tasks"]] == [FREE]
    answer = server.ask("prompts/get", {"name": "start-task", "arguments": {"task": "3"}}).result
    assert f"Open blockers: {ELSEWHERE}. Finish them first" in answer["messages"][0]["content"]["text"]


def test_a_token_neither_adds_nor_removes_blockers_that_it_cannot_see(
    server: HttpInProcess, database: Database
) -> None:
    assert ok(server, "update_task", task=WAITING, blocked_by=[])["task"]["blocked_elsewhere"] is True
    assert page(server, WAITING).split("\n\n")[2:4] == ["## To be done first", f"- {ELSEWHERE}"]
    assert refusal(server, "update_task", task=FREE, blocked_by=[str(HIDDEN)])["code"] == "not_found"
    everywhere = Scope(user=ANN)
    with database.write() as tx:
        assert tasks.find(tx, everywhere, WAITING).blocked_by == (HIDDEN,)
        tasks.complete(tx, everywhere, HIDDEN)
    assert "To be done first" not in page(server, WAITING)  # and no heading without anything below
    assert "blocked_elsewhere" not in one_of(ok(server, "list_tasks"), WAITING)


def one_of(listed: Any, number: int) -> Any:
    [task] = [task for task in listed["tasks"] if task["number"] == number]
    return task
