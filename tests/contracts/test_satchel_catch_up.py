"""`catch_up`: one call gives a new session what it needs, as text and as a value, in few tokens."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from rs_bpe.bpe import openai

from satchel import clock
from satchel.services import projects
from satchel.storage.database import Database
from tests.support import stdio
from tests.support.satchel import Like, ok, refusal, text
from tests.support.stdio import NEWEST, Client
from tests.support.variants import both_engines

ANN = "11111111-1111-4111-8111-111111111111"
BOB = "22222222-2222-4222-8222-222222222222"
MINUTE = Like(r"\d{4}-\d\d-\d\dT\d\d:\d\dZ")
CLOCK = r"\d\d:\d\d"


def count(value: Any) -> int:
    written = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return len(openai.o200k_base().encode(written))


def test_a_new_store_is_described_in_a_few_words(own: Client) -> None:
    since = Like(r"since \d{4}-\d\d-\d\dT\d\d:\d\dZ, the last 7 days, because you are new here")
    assert ok(own, "catch_up") == {
        "project": "default",
        "why": "the default",
        "since": MINUTE,
        "period": since,
        "done": [],
        "ready": [],
        "marker": Like("[A-Za-z0-9_=-]+"),
    }
    told = Like(
        r"Project 'default' \(the default\): empty\n"
        r"Nothing was done since [^ ]+Z, the last 7 days, because you are new here\.\n"
        r"No task is ready in this project\.\n"
        r"Later: catch_up with since [^ ]+"
    )
    assert text(own, "catch_up") == told


@both_engines
def test_it_reports_changes_claims_and_ready_tasks(
    own: Client, store: str, database: Database, serve: Callable[..., Client]
) -> None:
    with database.write() as tx:
        projects.add(tx, "other")
    ok(own, "add_tasks", lines=["Write docs +docs", "Fix login !high", "Deploy after:2", "Far @other", "Old"])
    ok(own, "add_prompts", prompts=[{"title": "Review", "content": "x", "tags": ["docs", "a"]}])
    ok(own, "update_prompt", prompt="review", content="y")
    ok(own, "update_task", task=1, note="The guide is whole.")
    ok(own, "complete_task", task=1, note="All pages are done:\nsee docs/guide.md")
    dropped = ok(own, "update_task", task=5, status="cancelled", note="Dropped: no budget")
    assert dropped["notes"] == ["The note was added."]
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
        "others": [{"name": "other", "open_tasks": 1, "changes": 1}],
        "since": MINUTE,
        "period": Like(r"since [^ ]+Z, the last 24 hours, because your last change is in them"),
        "marker": Like("[A-Za-z0-9_=-]+"),
        "completed": [Like(rf"{CLOCK} #1 Write docs by satchel-tests: All pages are done: see docs/guide\.md")],
        "cancelled": [Like(rf"{CLOCK} #5 Old by satchel-tests: Dropped: no budget")],
        "done": [
            Like(rf"{CLOCK} user 22222222, satchel-tests deleted document guide"),
            Like(rf"{CLOCK} satchel-tests added prompt review"),
            Like(rf"{CLOCK} satchel-tests added 2 tasks: #2 Fix login, #3 Deploy"),
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
        "Other projects: other (1 open task, 1 change)",
        Like(r"Since [^ ]+Z, the last 24 hours, because your last change is in them:"),
        "Completed:",
        *(f"- {one}" for one in answer["completed"]),
        "Cancelled:",
        *(f"- {one}" for one in answer["cancelled"]),
        "Changes:",
        f"- {answer['done'][0]}",
        "Yours:",
        *(f"- {one}" for one in answer["done"][1:]),
        "In progress:",
        f"#2 [~] Fix login !high ({claimed['holder']} until {claimed['until'][11:16]})",
        "No task is ready in this project.",
        "Ready outside this project: 1",
        f"Later: catch_up with since {answer['marker']}",
    ]
    assert ok(own, "catch_up", project="other")["ready"] == [{"number": 4, "title": "Far"}]


def test_the_note_on_a_completed_task_names_its_author_if_that_is_another(
    own: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    ok(own, "add_tasks", lines=["Freeze features", "Tag"])
    monkeypatch.setitem(stdio.CLIENT, "name", "codex")
    for task in (1, 2):
        ok(own, "complete_task", task=task, note="done")
    monkeypatch.setitem(stdio.CLIENT, "name", "cursor")
    ok(own, "update_task", task=1, note="frozen")
    assert ok(own, "catch_up")["completed"] == [
        Like(rf"{CLOCK} #2 Tag by codex: done"),
        Like(rf"{CLOCK} #1 Freeze features by codex; last note by cursor: frozen"),
    ]


@both_engines
def test_the_caller_chooses_since_when(own: Client) -> None:
    ok(own, "add_tasks", lines=["One", "Zero"])
    ok(own, "complete_task", task=2)
    marker = ok(own, "history")["since"]
    assert ok(own, "catch_up")["marker"] == marker
    ok(own, "add_tasks", lines=["Two"])
    later = ok(own, "catch_up", since=marker)
    assert (later["done"], later["period"]) == ([Like(rf"{CLOCK} satchel-tests added #3 Two")], Like(r"since [^ ]+Z"))
    assert "completed" not in later
    earlier = ok(own, "catch_up", since="1h")
    assert earlier["done"] == [Like(rf"{CLOCK} satchel-tests added 2 tasks: #1 One, #3 Two")]
    assert earlier["completed"] == [Like(rf"{CLOCK} #2 Zero by satchel-tests")]
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
    for number in range(24, 44):
        ok(own, "complete_task", task=number, note=f"All of it is done, and {number} tests pass. " * 9)
    answer = ok(own, "catch_up")
    assert answer["done"] == [Like(rf"{CLOCK} satchel-tests added 40 tasks: #1 … #23, #44 … #60")]
    assert (len(answer["completed"]), answer["more_completed"]) == (3, True)
    assert (len(answer["ready"]), answer["more_ready"]) == (5, 32)
    assert (len(answer["others"]), answer["more_others"]) == (10, 4)
    assert len(answer["task_notes"]) == 5
    assert len(answer["tags"]) == 10
    assert count(answer) <= 1000 and count(text(own, "catch_up")) <= 1000


def test_the_other_claimed_tasks_can_be_listed(own: Client) -> None:
    ok(own, "add_tasks", lines=["One"] * 11)
    for number in range(1, 12):
        ok(own, "claim_task", task=number)
    answer = ok(own, "catch_up")
    assert (len(answer["in_progress"]), answer["more_in_progress"]) == (10, True)
    assert "\nand more: list_tasks with status in_progress\n" in text(own, "catch_up")
    assert len(ok(own, "list_tasks", status="in_progress")["tasks"]) == 11


def test_each_author_is_reported_with_what_they_did(
    own: Client, serve: Callable[..., Client], store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ok(own, "add_resources", resources=[{"name": name, "content": "x"} for name in ("a", "b", "c")])
    ok(own, "add_prompts", prompts=[{"title": "Review", "content": "x"}])
    ok(own, "edit_text", item="review", append="y")
    monkeypatch.setitem(stdio.CLIENT, "name", "cursor")
    for name in ("a", "b", "c", "a"):
        ok(own, "edit_text", item=name, append="y")
    monkeypatch.setitem(stdio.CLIENT, "name", "codex")
    for start in range(0, 1500, 100):
        prompts = [{"title": f"P{number}", "content": "x"} for number in range(start, start + 100)]
        ok(own, "add_prompts", prompts=prompts)
    ok(own, "add_resources", resources=[{"name": "d", "content": "x"}])
    monkeypatch.setitem(stdio.CLIENT, "name", "satchel-tests")
    told = [
        Like(rf"{CLOCK} codex added document d"),
        Like(rf"{CLOCK} codex added 1,500 prompts: p0, p1, p2, p3, p4, \.\.\."),
        Like(rf"{CLOCK} cursor updated 3 documents: b, c, a"),
        Like(rf"{CLOCK} satchel-tests added prompt review"),
        Like(rf"{CLOCK} satchel-tests added 3 documents: a, b, c"),
    ]
    assert ok(own, "catch_up")["done"] == told


@both_engines
def test_a_new_client_gets_the_last_days_with_changes(
    own: Client, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    for day in range(1, 10):
        ok(own, "add_prompts", prompts=[{"title": f"On day {day}", "content": "x"}])
        with database.write() as tx:
            tx.run("update revisions set at = :at where at > '2026-06'", at=f"2026-05-{2 * day:02}T10:00:00.000000Z")
    monkeypatch.setitem(stdio.CLIENT, "name", "codex")
    told = ok(own, "catch_up")
    assert told["period"] == "since 2026-05-06T00:00Z, the last 7 days with changes, because you are new here"
    assert [one[:10] for one in told["done"]] == [f"2026-05-{2 * day:02}" for day in range(9, 2, -1)]


@both_engines
def test_what_was_completed_long_before_an_import_is_no_news(own: Client, database: Database) -> None:
    ok(own, "add_tasks", lines=["Old", "New"])
    ok(own, "update_items", items=["#1", "#2"], status="completed")
    with database.write() as tx:
        tx.run("update tasks set completed_at = '2020-01-01T00:00:00.000000Z' where number = 1")
    answer = ok(own, "catch_up")
    assert answer["completed"] == [Like(rf"{CLOCK} #2 New by satchel-tests")]
    assert answer["done"] == []


@both_engines
def test_moves_are_told_in_both_projects(own: Client) -> None:
    ok(own, "add_project", name="web")
    ok(own, "add_tasks", lines=["Far"], project="default")
    ok(own, "add_prompts", prompts=[{"title": title, "content": "x"} for title in ("A", "B", "C")])
    ok(own, "update_items", items=["a", "b", "#1"], to="web")
    ok(own, "delete", items=["c"])
    assert ok(own, "catch_up")["done"] == [
        Like(rf"{CLOCK} satchel-tests deleted prompt c"),
        Like(rf"{CLOCK} satchel-tests moved #1 Far to web"),
        Like(rf"{CLOCK} satchel-tests moved 2 prompts to web: a, b"),
    ]
    there = ok(own, "catch_up", project="web")
    assert there["done"] == [
        Like(rf"{CLOCK} satchel-tests moved #1 Far here"),
        Like(rf"{CLOCK} satchel-tests moved 2 prompts here: a, b"),
    ]


@both_engines
def test_claims_that_ran_out_are_listed(own: Client, database: Database) -> None:
    ok(own, "add_project", name="other")
    ok(own, "add_tasks", lines=["Ran out", "Is held", "Was released", "Was done", "Long ago", "Far @other"])
    for number in range(1, 7):
        held = ok(own, "claim_task", task=number)
    ok(own, "claim_task", task=3, release=True)
    with database.write() as tx:
        tx.run("update task_claims set until = :at where task in (1, 4, 6)", at=clock.minutes_after(tx.now, -30))
        tx.run("update task_claims set until = :at where task = 5", at=clock.days_before(tx.now, 3))
    ok(own, "complete_task", task=4)
    answer = ok(own, "catch_up")
    assert answer["expired_claims"] == [{"number": 1, "title": "Ran out", "holder": held["holder"], "until": MINUTE}]
    assert "Claims that ran out:\n#1 Ran out (by satchel-tests " in text(own, "catch_up")


@both_engines
def test_overdue_tasks_and_tasks_due_today_are_listed(own: Client, database: Database) -> None:
    with database.read() as tx:
        today, yesterday, long_ago = tx.now[:10], clock.days_before(tx.now)[:10], "2020-01-01"
        tomorrow = clock.days_before(tx.now, -1)[:10]
    ok(own, "add_project", name="other")
    days = [today, yesterday, long_ago, tomorrow, long_ago]
    ok(own, "add_tasks", lines=[f"Task due:{day}" for day in days])
    ok(own, "add_tasks", lines=["Far @other due:2020-01-01", *["Old due:2020-01-02"] * 6])
    ok(own, "complete_task", task=5)
    answer = ok(own, "catch_up")
    assert [one["number"] for one in answer["overdue"]] == [3, 7, 8, 9, 10]
    assert answer["more_overdue"] is True
    assert answer["due_today"] == [{"number": 1, "title": "Task", "due": today}]
    ok(own, "update_items", items=[f"#{number}" for number in range(7, 13)], status="completed")
    assert f"Overdue:\n#3 Task due:2020-01-01\n#2 Task due:{yesterday}\nDue today:\n#1 Task due:{today}\n" in text(
        own, "catch_up"
    )


def test_a_task_is_reported_as_cancelled_reopened_or_updated(own: Client) -> None:
    ok(own, "add_tasks", lines=["One", "Two", "Three", "Four"])
    for number in (1, 4):
        ok(own, "complete_task", task=number)
    marker = ok(own, "history")["since"]
    ok(own, "update_task", task=1, title="First")
    ok(own, "update_task", task=2, status="cancelled")
    ok(own, "update_task", task=4, status="pending")
    ok(own, "complete_task", task=3)
    ok(own, "delete", items=["#3"])
    answer = ok(own, "catch_up", since=marker)
    assert answer["cancelled"] == [Like(rf"{CLOCK} #2 Two by satchel-tests")]
    assert answer["done"] == [
        Like(rf"{CLOCK} satchel-tests deleted #3 Three"),
        Like(rf"{CLOCK} satchel-tests reopened #4 Four"),
        Like(rf"{CLOCK} satchel-tests updated #1 First"),
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
    note = Like(rf"{CLOCK} #1 satchel-tests: Half done: the parser is left\. x+\.\.\.")
    assert answer["task_notes"] == [note]
    assert text(own, "catch_up", since=marker).count("Notes on open tasks:\n- ") == 1
    assert ok(own, "catch_up")["task_notes"] == [note, Like(rf"{CLOCK} #4 satchel-tests: before")]
    for number in range(6):
        ok(own, "update_task", task=1, note=f"note {number}")
    assert [one.rpartition(" ")[2] for one in ok(own, "catch_up")["task_notes"]] == ["5", "4", "3", "2", "1"]
    assert ok(own, "catch_up")["more_task_notes"] is True


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


@both_engines
def test_an_addition_is_told_with_its_own_time(own: Client, database: Database) -> None:
    ok(own, "add_resources", resources=[{"name": "spec.md", "content": "x"}])
    with database.write() as tx:
        tx.run("update revisions set at = '2026-05-02T10:00:00.000000Z'")
    ok(own, "add_tasks", lines=["Later"])
    ok(own, "update_resource", resource="spec.md", expires="2999-01-01")
    assert ok(own, "catch_up", since="2026-05-01")["done"] == [
        Like(rf"{CLOCK} satchel-tests added #1 Later"),
        "2026-05-02 satchel-tests added document spec.md",
    ]
