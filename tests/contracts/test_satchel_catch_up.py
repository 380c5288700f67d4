"""`catch_up`: one call gives a new session what it needs, as text and as a value, in few tokens."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from rs_bpe.bpe import openai

from satchel.services import projects
from satchel.storage.database import Database
from tests.support.satchel import Like, ok, refusal, text
from tests.support.stdio import NEWEST, Client

ANN = "11111111-1111-4111-8111-111111111111"
BOB = "22222222-2222-4222-8222-222222222222"
MINUTE = Like(r"\d{4}-\d\d-\d\dT\d\d:\d\dZ")
CLOCK = r"\d\d:\d\d"


def count(value: Any) -> int:
    written = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return len(openai.o200k_base().encode(written))


def test_a_new_store_is_described_in_a_few_words(own: Client) -> None:
    assert ok(own, "catch_up") == {
        "project": "default",
        "why": "the default",
        "since": MINUTE,
        "done": [],
        "ready": [],
    }
    told = Like(
        r"Project 'default' \(the default\): empty\nNothing was done since [^ ]+Z\.\nNo task is ready in this project\."
    )
    assert text(own, "catch_up") == told


def test_it_reports_changes_claims_and_ready_tasks(
    own: Client, store: str, database: Database, serve: Callable[..., Client]
) -> None:
    with database.write() as tx:
        projects.add(tx, "other")
    ok(own, "add_tasks", lines=["Write docs +docs", "Fix login !high", "Deploy after:2", "Far @other", "Old"])
    ok(own, "add_prompts", prompts=[{"title": "Review", "content": "x", "tags": ["docs", "a"]}])
    ok(own, "update_prompt", prompt="review", content="y")
    ok(own, "complete_task", task=1)
    ok(own, "update_task", task=5, status="cancelled")
    claimed = ok(own, "claim_task", task=2)
    other = serve("mcpkg", store, NEWEST, "--user", BOB)
    other.call("create_resource", {"name": "guide", "uri": "x:guide", "content": "x"})
    other.call("delete_resource", {"name": "guide"})
    answer = ok(own, "catch_up")
    assert answer == {
        "project": "default",
        "why": "the default",
        "prompts": 1,
        "open_tasks": 2,
        "tags": ["a", "docs"],
        "others": [{"name": "other", "open_tasks": 1}],
        "since": MINUTE,
        "done": [
            Like(rf"{CLOCK} document guide added and deleted by user 22222222, satchel-tests 1"),
            Like(rf"{CLOCK} #5 Old added and cancelled by satchel-tests 1"),
            Like(rf"{CLOCK} #1 Write docs added and completed by satchel-tests 1"),
            Like(rf"{CLOCK} prompt review added and changed by satchel-tests 1"),
            Like(rf"{CLOCK} 2 tasks added by satchel-tests 1: #2 Fix login, #3 Deploy"),
        ],
        "in_progress": [
            {
                "number": 2,
                "title": "Fix login",
                "status": "in_progress",
                "priority": "high",
                "holder": claimed["holder"],
                "until": claimed["until"],
            }
        ],
        "ready": [],
        "ready_elsewhere": 1,
    }
    assert text(own, "catch_up").splitlines() == [
        "Project 'default' (the default): 1 prompt, 2 open tasks; tags a, docs",
        "Other projects: other (1 open task)",
        Like(r"Done since [^ ]+Z:"),
        *(f"- {one}" for one in answer["done"]),
        "In progress:",
        f"#2 [~] Fix login !high ({claimed['holder']} until {claimed['until'][11:16]})",
        "No task is ready in this project.",
        "Ready outside this project: 1",
    ]
    assert ok(own, "catch_up", project="other")["ready"] == [{"number": 4, "title": "Far"}]


def test_the_caller_chooses_since_when(own: Client) -> None:
    ok(own, "add_tasks", lines=["One"])
    marker = ok(own, "history")["since"]
    ok(own, "add_tasks", lines=["Two"])
    assert ok(own, "catch_up", since=marker)["done"] == [Like(rf"{CLOCK} #2 Two added by satchel-tests 1")]
    assert len(ok(own, "catch_up", since="1h")["done"]) == 2
    assert ok(own, "catch_up", since="2999-01-01")["done"] == []
    assert refusal(own, "catch_up", since="yore")["argument"] == "since"


def test_it_stays_small_in_a_large_store(own: Client) -> None:
    lines = [f"Task number {number} of a plan that is long +tag{number % 12}" for number in range(60)]
    ok(own, "add_tasks", lines=lines)
    for number in range(14):
        ok(own, "add_project", name=f"project-{number}")
        ok(own, "add_tasks", project=f"project-{number}", lines=["One"])
    for number in range(3):
        ok(own, "claim_task", task=number + 1)
    for number in range(4, 24):
        ok(own, "update_task", task=number, priority="low", note=f"Half of it is done, the rest is in {number}. " * 9)
    answer = ok(own, "catch_up")
    assert (len(answer["done"]), answer["more_done"]) == (5, True)
    assert (len(answer["ready"]), answer["more_ready"]) == (5, 52)
    assert (len(answer["others"]), answer["more_others"]) == (10, 4)
    assert len(answer["task_notes"]) == 5
    assert len(answer["tags"]) == 10
    assert count(answer) <= 800 and count(text(own, "catch_up")) <= 800


def test_each_item_is_reported_with_its_last_change_and_its_author(
    own: Client, store: str, serve: Callable[..., Client]
) -> None:
    other = serve("satchel", store, NEWEST, "--user", BOB)
    ok(own, "add_prompts", prompts=[{"title": "Review", "content": "x"}])
    ok(other, "update_prompt", prompt="review", content="y")
    ok(own, "add_resources", resources=[{"name": "guide", "content": "x"}])
    marker = ok(own, "history")["since"]
    ok(own, "edit_text", item="guide", append="y")
    assert ok(own, "catch_up")["done"] == [
        Like(rf"{CLOCK} document guide added and changed by satchel-tests 1"),
        Like(rf"{CLOCK} prompt review changed by user 22222222, satchel-tests 1, added by satchel-tests 1"),
    ]
    assert ok(own, "catch_up", since=marker)["done"] == [Like(rf"{CLOCK} document guide changed by satchel-tests 1")]


def test_a_task_is_reported_as_completed_cancelled_reopened_or_changed(own: Client) -> None:
    ok(own, "add_tasks", lines=["One", "Two", "Three", "Four"])
    for number in (1, 4):
        ok(own, "complete_task", task=number)
    marker = ok(own, "history")["since"]
    ok(own, "update_task", task=1, title="First")
    ok(own, "update_task", task=2, status="cancelled")
    ok(own, "update_task", task=4, status="pending")
    ok(own, "complete_task", task=3)
    ok(own, "delete", items=["#3"])
    assert ok(own, "catch_up", since=marker)["done"] == [
        Like(rf"{CLOCK} #3 Three deleted by satchel-tests 1"),
        Like(rf"{CLOCK} #4 Four reopened by satchel-tests 1"),
        Like(rf"{CLOCK} #2 Two cancelled by satchel-tests 1"),
        Like(rf"{CLOCK} #1 First changed by satchel-tests 1"),
    ]


def test_changes_of_one_call_to_many_items_are_one_row(own: Client) -> None:
    ok(own, "add_tasks", lines=[f"Task {number}" for number in range(12)])
    ok(own, "update_items", items=["#2", "#3", "#4", "#7", "#11"], status="completed")
    ok(own, "add_prompts", prompts=[{"title": f"P{number}", "content": "x"} for number in range(7)])
    assert ok(own, "catch_up")["done"] == [
        Like(rf"{CLOCK} 7 prompts added by satchel-tests 1: p0, p1, p2, p3, p4, \.\.\."),
        Like(rf"{CLOCK} 5 tasks added and completed by satchel-tests 1: #2 … #4, #7, #11"),
        Like(rf"{CLOCK} 7 tasks added by satchel-tests 1: #1, #5, #6, #8 … #10, #12"),
    ]


def test_the_last_notes_on_open_tasks_are_handed_over(own: Client, store: str, serve: Callable[..., Client]) -> None:
    ok(own, "add_project", name="other")
    ok(own, "add_tasks", lines=["One", "Two", "Far @other", "Four"])
    ok(own, "update_task", task=4, note="before")
    ok(own, "update_task", task=4, title="Fourth")
    marker = ok(own, "history")["since"]
    ok(own, "update_task", task=1, note="Half done:\nthe parser is left. " + "x" * 200)
    ok(own, "complete_task", task=2, note="finished")
    ok(own, "update_task", task=3, note="elsewhere")
    ok(serve("satchel", store, NEWEST, "--user", BOB), "add_tasks", lines=["Bob's"])
    answer = ok(own, "catch_up", since=marker)
    note = Like(rf"{CLOCK} #1 satchel-tests 1: Half done: the parser is left\. x+\.\.\.")
    assert answer["task_notes"] == [note]
    assert text(own, "catch_up", since=marker).count("Notes on open tasks:\n- ") == 1
    assert ok(own, "catch_up")["task_notes"] == [note, Like(rf"{CLOCK} #4 satchel-tests 1: before")]
    for number in range(6):
        ok(own, "update_task", task=1, note=f"note {number}")
    assert [one.rpartition(" ")[2] for one in ok(own, "catch_up")["task_notes"]] == ["5", "4", "3", "2", "1"]


@pytest.mark.parametrize("toolset", ["prompts", "documents", "tasks"])
def test_it_reports_only_served_kinds(own: Client, store: str, serve: Callable[..., Client], toolset: str) -> None:
    ok(own, "add_tasks", lines=["Secret task"])
    ok(own, "add_prompts", prompts=[{"title": "Secret prompt", "content": "x"}])
    ok(own, "add_resources", resources=[{"name": "secret-document", "content": "x"}])
    answer = ok(serve("satchel", store, NEWEST, "--user", ANN, "--toolsets", toolset), "catch_up")
    assert ("ready" in answer, "prompts" in answer, "documents" in answer) == (
        toolset == "tasks",
        toolset == "prompts",
        toolset == "documents",
    )
    assert len(answer["done"]) == 1
