"""Subtasks, reviews and unticked boxes in the contract satchel: text and value of every answer."""

from collections.abc import Callable

import pytest

from satchel.services import projects
from satchel.storage.database import Database
from tests.support.satchel import HINT, MINUTE, Like, ok, refusal, result_of, text
from tests.support.stdio import NEWEST, Client
from tests.support.variants import both_engines

ADA = "550e8400-e29b-41d4-a716-446655440000"


@pytest.fixture
def agent(store: str, database: Database, serve: Callable[..., Client]) -> Client:
    """Return the client of an agent; people review the tasks of the project web."""
    with database.write() as tx:
        projects.add(tx, "web")
        projects.set_review(tx, "web", "people")
    return serve("satchel", store, NEWEST, "--user", ADA)


@both_engines
def test_a_plan_with_subtasks_is_added_completed_and_taken_apart(agent: Client) -> None:
    lines = ["Launch !high\n  Before autumn\n  - Build +code after:3\n    - Compile", "Talk in:1"]
    result = result_of(agent, "add_tasks", {"lines": lines})
    assert result["content"][0]["text"] == (
        "Added:\n#1 Launch 0/2 !high\n#2 Build 0/1 +code after:#3 in:#1\n#3 Compile in:#2\n#4 Talk in:#1"
    )
    rows = result["structuredContent"]["tasks"]
    assert rows == [
        {"number": 1, "title": "Launch", "priority": "high", "subtasks": "0/2"},
        {"number": 2, "title": "Build", "tags": ["code"], "blocked_by": [3], "parent": 1, "subtasks": "0/1"},
        {"number": 3, "title": "Compile", "parent": 2},
        {"number": 4, "title": "Talk", "parent": 1},
    ]
    assert refusal(agent, "update_task", task=1, parent="Compile") == {
        "code": "invalid_argument",
        "message": "A task cannot be a subtask of itself: #1 → #3 → #2 → #1.",
        "hint": HINT,
        "argument": "parent",
    }
    assert refusal(agent, "add_tasks", lines=["A in:2"])["message"] == (
        "lines[0]: in:2 names no task of this call: the highest position is 1."
    )
    # The tasks of a refused call have no numbers.
    assert refusal(agent, "add_tasks", lines=["A in:2", "B in:1"]) == {
        "code": "invalid_argument",
        "message": "lines[0]: A task cannot be a subtask of itself: task 1 'A' → task 2 'B' → task 1 'A'.",
        "hint": HINT,
        "argument": "lines",
    }
    done = ok(agent, "complete_task", task=3)
    assert done["notes"] == ["All subtasks of #2 Build are closed: it can be completed."]
    assert done["ready"] == [{"number": 2, "title": "Build", "tags": ["code"], "parent": 1, "subtasks": "1/1"}]
    assert text(agent, "complete_task", task=1) == (
        "Completed #1 [x] Launch 0/2 !high, version 2\n2 subtasks of #1 are open."
    )
    assert text(agent, "update_task", task=4, parent="") == "Updated #4 Talk, version 2"
    ok(agent, "update_task", task="Talk", parent="launch")
    whole = ok(agent, "get_task", task=2)["task"]
    assert whole == {
        "number": 2,
        "title": "Build",
        "status": "pending",
        "version": 1,
        "created": MINUTE,
        "updated": MINUTE,
        "tags": ["code"],
        "blocked_by": [{"number": 3, "title": "Compile", "status": "completed"}],
        "parent": {"number": 1, "title": "Launch", "status": "completed"},
        "subtasks": "1/1",
        "children": [{"number": 3, "title": "Compile", "status": "completed"}],
    }
    assert text(agent, "get_task", task=2) == Like(
        r"#2 Build 1/1 \+code @default in:#1\nversion 1, .*\n\nWaits for:\n- #3 \[x\] Compile\n\n"
        r"Subtask of:\n- #1 \[x\] Launch\n\nSubtasks:\n- #3 \[x\] Compile\n\nLater changes: since .*"
    )
    deleted = ok(agent, "delete", items=["#1", "#4"])
    assert deleted["notes"] == ["#1 had 1 subtask, now without a parent: #2."]
    assert "parent" not in ok(agent, "get_task", task=2)["task"]
    ok(agent, "restore", item="#1")
    assert ok(agent, "get_task", task=2)["task"]["parent"]["number"] == 1


def test_what_an_agent_completes_in_a_reviewed_project_waits_for_a_person(agent: Client) -> None:
    ok(agent, "add_tasks", project="web", lines=["Ship", "Announce after:1", "Rest"])
    ok(agent, "update_task", task=1, description="- [ ] test\n- [x] build\n```\n- [ ] code\n```\n- [ ] pack")
    assert text(agent, "list_tasks", project="web") == "#1 Ship (2 boxes open)\n#3 Rest"
    ok(agent, "claim_task", task=1)
    done = result_of(agent, "complete_task", {"task": 1, "note": "Look at the package"})
    assert done["content"][0]["text"] == (
        "Sent to review #1 [?] Ship (2 boxes open), version 3\n"
        "#1 waits for review by a person.\n2 boxes of #1 are not ticked: test, pack."
    )
    notes = ["#1 waits for review by a person.", "2 boxes of #1 are not ticked: test, pack."]
    row = {"number": 1, "title": "Ship", "status": "review", "unticked": 2, "version": 3}
    assert done["structuredContent"] == {"project": "web", "task": row, "notes": notes}
    again = ok(agent, "complete_task", task=1)
    assert again == {"project": "web", "task": row, "notes": notes}
    assert ok(agent, "update_task", task=1, status="completed") == again
    assert refusal(agent, "claim_task", task=1) == {
        "code": "conflict",
        "message": "Task #1 is in review.",
        "hint": HINT,
    }
    changed = ok(agent, "update_items", items=["#1", "#3"], status="completed")
    assert [one["status"] for one in changed["items"]] == ["review", "review"]
    assert changed["notes"] == ["#1 was in review already.", "#3 waits for review by a person."]
    assert text(agent, "list_tasks", status="review") == "#1 [?] Ship @web (2 boxes open)\n#3 [?] Rest @web"
    assert text(agent, "list_tasks", status="ready", project="web") == "No ready tasks in project 'web'."
    assert len(ok(agent, "list_tasks", status="pending")["tasks"]) == 3
    assert ok(agent, "catch_up", project="web")["in_review"] == ["#1 Ship", "#3 Rest"]
    assert "In review: #1 Ship, #3 Rest" in text(agent, "catch_up", project="web")
    assert {"name": "web", "review": "people"}.items() <= ok(agent, "list_projects")["projects"][-1].items()
    assert ok(agent, "update_task", task=1, status="pending")["task"]["version"] == 4
    versions = [one for one in ok(agent, "history", item="#1")["versions"] if one["action"] != "note"]
    assert versions[1]["action"] == "review"


def test_an_agent_does_not_get_around_a_review(agent: Client) -> None:
    ok(agent, "add_tasks", project="web", lines=["Ship", "Pack", "Send"])
    ok(agent, "update_task", task=1, to="default")
    ok(agent, "complete_task", task=1)
    assert ok(agent, "update_task", task=1, to="web") == {
        "project": "web",
        "task": {"number": 1, "title": "Ship", "status": "review", "version": 4},
        "notes": ["#1 moved from default to web.", "#1 waits for review by a person."],
    }
    ok(agent, "update_items", items=["#2", "#3"], to="default")
    ok(agent, "complete_task", task=2)
    moved = ok(agent, "update_items", items=["#2", "#3"], to="web", status="completed")
    assert [one["status"] for one in moved["items"]] == ["review", "review"]
    assert ok(agent, "restore", item="satchel://project/web", version=1)["restored"]["changed"] is False
    assert {"name": "web", "review": "people"}.items() <= ok(agent, "list_projects")["projects"][-1].items()


def test_the_contracts_todo_and_tasks_see_a_task_in_review_as_pending_and_complete_it(
    agent: Client, store: str, serve: Callable[..., Client]
) -> None:
    ok(agent, "add_tasks", project="web", lines=["Ship\n  - Pack"])
    ok(agent, "complete_task", task=1)
    tasks = serve("tasks", store, NEWEST, "--user", ADA)
    assert [one["status"] for one in tasks.call("list_tasks", {})["structuredContent"]["data"]] == ["pending"] * 2
    assert tasks.call("complete_task", {"task_id": 1})["structuredContent"]["data"]["status"] == "completed"
    assert tasks.call("complete_task", {"task_id": 2})["structuredContent"]["data"]["status"] == "completed"
    assert ok(agent, "list_tasks", status="review")["tasks"] == []


def test_the_next_task_is_a_subtask_before_its_parent(agent: Client) -> None:
    ok(agent, "add_tasks", lines=["Launch !urgent", "  - Build"])
    assert ok(agent, "claim_task")["task"]["number"] == 2
    ok(agent, "complete_task", task=2)
    assert ok(agent, "claim_task")["task"]["number"] == 1


def test_a_move_names_the_subtasks_that_stay_and_pages_name_all(agent: Client) -> None:
    ok(agent, "add_tasks", lines=["Launch\n  - Build\n  - Test\n  - Talk"])
    assert ok(agent, "update_items", items=["#1", "#3"], to="web")["notes"] == [
        "#1, #3 moved from default to web.",
        "2 subtasks of #1 stay in default: #2, #4.",
    ]
    ok(agent, "update_items", items=["#2"], to="web")
    assert ok(agent, "update_task", task=1, to="default")["notes"] == [
        "#1 moved from web to default.",
        "2 subtasks of #1 stay in web: #2, #3.",
    ]
    page = agent.request("resources/read", {"uri": "satchel://task/1"})["result"]["contents"][0]["text"]
    listed = "## Subtasks\n\n- #2 Build @web in:#1\n- #3 Test @web in:#1\n- #4 Talk @default in:#1\n"
    assert listed in page
    given = {"name": "start-task", "arguments": {"task": "1"}}
    assert listed.rstrip() in agent.request("prompts/get", given)["result"]["messages"][0]["content"]["text"]
