"""The tools for tasks of the contract satchel: text and value of every answer, whole, on both engines."""

from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import pytest

from satchel.clock import now
from satchel.errors import WrongArgument
from satchel.model import Scope, TaskPatch
from satchel.services import projects, tasks
from satchel.storage.database import Database
from tests.support.satchel import HINT, Like, ok, refusal, result_of, text, wrong
from tests.support.stdio import NEWEST, Client
from tests.support.variants import both_engines

ADA = "550e8400-e29b-41d4-a716-446655440000"
MINUTE = Like(r"20\d\d-\d\d-\d\dT\d\d:\d\dZ")
HOLDER = Like(r"satchel-tests [0-9a-f]{4}")


@pytest.fixture
def own(store: str, database: Database, serve: Callable[..., Client]) -> Client:
    with database.write() as tx:
        projects.add(tx, "web")
    return serve("satchel", store, NEWEST, "--user", ADA)


@pytest.fixture
def other(store: str, serve: Callable[..., Client], own: Client) -> Client:
    """Return the client of another agent of the same user."""
    return serve("satchel", store, NEWEST, "--user", ADA)


def faces(client: Client, tool: str, **arguments: Any) -> tuple[str, Any]:
    """Return the text and the value of an answer that must succeed."""
    result = result_of(client, tool, arguments)
    assert result["isError"] is False, result
    [content] = result["content"]
    return content["text"], result["structuredContent"]


# -- adding -----------------------------------------------------------------------------------------------------


def test_tasks_are_added_from_lines_and_printed_in_the_same_grammar(own: Client) -> None:
    lines = [
        "- [ ] Write docs !high due:2026-12-01 +docs",
        "#7 Test @web after:1\n  With care\n\n  * and twice",
        "Learn \\+1 after:#7",
        "- [x] Done",
    ]
    said, value = faces(own, "add_tasks", lines=lines)
    assert said == (
        "Added:\n#1 Write docs !high due:2026-12-01 +docs\n#2 Test @web after:#1\n#3 Learn \\+1 after:#2\n#4 [x] Done"
    )
    assert value == {
        "project": "default",
        "tasks": [
            {"number": 1, "title": "Write docs", "priority": "high", "due": "2026-12-01", "tags": ["docs"]},
            {"number": 2, "title": "Test", "project": "web", "blocked_by": [1]},
            {"number": 3, "title": "Learn +1", "blocked_by": [2]},
            {"number": 4, "title": "Done", "status": "completed"},
        ],
    }
    assert ok(own, "get_task", task=2)["task"]["description"] == "With care\n\n* and twice"
    # The printed lines are valid input, also as one text.
    again = ok(own, "add_tasks", lines=said.partition("\n")[2])["tasks"]
    assert [{**row, "blocked_by": 0} for row in again[:3]] == [
        {**row, "number": row["number"] + 4, "blocked_by": 0} for row in value["tasks"][:3]
    ]
    assert [row.get("blocked_by") for row in again] == [None, [5], [6], None]


def test_all_lines_are_added_or_none_and_the_wrong_one_is_named(own: Client) -> None:
    for lines, message, hint in [
        (["A", "  about", "B due:2026-02-30"], "lines[2]: due must be a day like 2026-11-30.", HINT),
        (["A", "B", "C @wep"], "lines[2]: Project 'wep' does not exist.", "Did you mean web?"),
        (["A after:#9"], "lines[0]: Task 9 does not exist.", HINT),
        (["A after:2"], "lines[0]: after:2 names no task of this call: the highest position is 1.", HINT),
        (["A", "after:1"], "lines[1]: title must not be empty.", HINT),
        (["A +a!b", "[~] B"], "lines[1]: A new task cannot be in progress.", HINT),
    ]:
        error = refusal(own, "add_tasks", lines=lines)
        assert (error["message"], error["hint"], error["argument"]) == (message, hint, "lines")
    assert refusal(own, "add_tasks", lines=["x"] * 201)["message"] == "lines can have at most 200 entries."
    assert refusal(own, "add_tasks", lines="\n \n")["message"] == "There is no task in lines."
    assert refusal(own, "add_tasks", lines=["A"], project="wep")["message"] == "Project 'wep' does not exist."
    assert ok(own, "list_tasks", status="all")["tasks"] == []


def test_words_that_look_like_mistyped_facts_are_reported(own: Client) -> None:
    said, value = faces(own, "add_tasks", lines=["A every:week +x !P1 due:tomorrow", "B", "C #tagme"])
    notes = [
        "#1: 'every:week !P1 due:tomorrow' stays in the title; every: is not known, because tasks do not repeat; "
        "write a priority as !low, !high or !urgent; write a day as due:2026-12-01.",
        "#3: '#tagme' stays in the title; write a tag as +docs: letters, digits, - or _.",
    ]
    assert value == {
        "project": "default",
        "tasks": [
            {"number": 1, "title": "A every:week !P1 due:tomorrow", "tags": ["x"]},
            {"number": 2, "title": "B"},
            {"number": 3, "title": "C #tagme"},
        ],
        "notes": notes,
    }
    assert said.splitlines()[-2:] == notes


def test_a_key_makes_a_repeated_call_the_same_call(own: Client, other: Client) -> None:
    first = faces(own, "add_tasks", lines=["A", "B"], key="k1")
    note = "The call with the key 'k1' was made before; nothing was added now."
    for client in (own, other):
        again = faces(client, "add_tasks", lines=["A", "B"], key="k1")
        assert again == (f"{first[0]}\n{note}", {**first[1], "notes": [note]})
    for arguments in ({"lines": ["A"]}, {"lines": ["A", "B"], "project": "web"}):
        assert refusal(own, "add_tasks", **arguments, key="k1") == {
            "code": "conflict",
            "message": "The key 'k1' was already used with different arguments.",
            "hint": "Choose another key, or repeat the call unchanged.",
            "argument": "key",
        }
    # The key of a failed call is not stored.
    assert refusal(own, "add_tasks", lines=["C after:9"], key="k2")["code"] == "invalid_argument"
    assert [row["number"] for row in ok(own, "add_tasks", lines=["C"], key="k2")["tasks"]] == [3]
    assert len(ok(own, "list_tasks")["tasks"]) == 3


# -- reading ----------------------------------------------------------------------------------------------------


def test_the_whole_task(own: Client) -> None:
    ok(own, "add_tasks", lines=["First", "Second !low after:1\n  Why\n  not", "Third after:2"])
    ok(own, "update_task", task=2, note="Half done")
    ok(own, "claim_task", task=2)
    ok(own, "complete_task", task=1)
    said, value = faces(own, "get_task", task="#2")
    at = r"20\d\d-\d\d-\d\dT\d\d:\d\dZ"
    assert said == Like(
        rf"(?s)#2 \[~\] Second !low @default \(satchel-tests [0-9a-f]{{4}} until \d\d:\d\d\)\n"
        rf"version 1, created {at}, updated {at}, fence 1\n\n"
        r"Why\nnot\n\n"
        r"Waits for:\n- #1 \[x\] First\n\n"
        r"Blocks:\n- #3 Third\n\n"
        rf"Notes:\n- {at} satchel-tests 1: Half done\n\n"
        rf"Later changes: since {value['since']}"
    )
    assert value == {
        "project": "default",
        "task": {
            "number": 2,
            "title": "Second",
            "status": "in_progress",
            "version": 1,
            "created": MINUTE,
            "updated": MINUTE,
            "description": "Why\nnot",
            "priority": "low",
            "blocked_by": [{"number": 1, "title": "First", "status": "completed"}],
            "blocks": [{"number": 3, "title": "Third"}],
            "holder": HOLDER,
            "until": MINUTE,
            "fence": 1,
            "notes": [{"at": MINUTE, "by": "satchel-tests 1", "text": "Half done"}],
        },
        "since": value["since"],
    }


def test_only_the_last_of_many_notes_are_shown(own: Client) -> None:
    ok(own, "add_tasks", lines=["A"])
    for number in range(52):
        ok(own, "update_task", task=1, note=f"note {number}")
    task = ok(own, "get_task", task=1)["task"]
    assert (task["version"], len(task["notes"]), task["notes"][0]["text"], task["older_notes"]) == (1, 50, "note 2", 2)
    assert "(2 older notes left out)" in text(own, "get_task", task=1)


def test_lists_say_what_differs_from_the_usual(own: Client) -> None:
    ok(own, "add_tasks", lines=["A", "B @web +x", "[-] C", "D after:1", "[x] E"])
    ok(own, "update_task", task=1, to="")
    said, value = faces(own, "list_tasks", status="all")
    assert said == "#5 [x] E\n#4 D after:#1\n#3 [-] C\n#2 B +x @web\n#1 A (in no project)"
    assert value == {
        "project": "default",
        "tasks": [
            {"number": 5, "title": "E", "status": "completed"},
            {"number": 4, "title": "D", "blocked_by": [1]},
            {"number": 3, "title": "C", "status": "cancelled"},
            {"number": 2, "title": "B", "tags": ["x"], "project": "web"},
            {"number": 1, "title": "A", "project": None},
        ],
    }
    for status, numbers in {
        "ready": [1, 2],
        "pending": [1, 2, 4],
        "in_progress": [],
        "completed": [5],
        "cancelled": [3],
    }.items():
        assert sorted(row["number"] for row in ok(own, "list_tasks", status=status)["tasks"]) == numbers, status
    assert text(own, "list_tasks", status="in_progress") == "No in progress tasks."
    assert faces(own, "list_tasks", project="web") == (
        "#2 B +x",
        {"project": "web", "tasks": [{"number": 2, "title": "B", "tags": ["x"]}]},
    )


@both_engines
def test_lists_are_narrowed_by_due_day_and_priority(own: Client) -> None:
    today = date.fromisoformat(now()[:10])
    late, soon, later = (today + timedelta(days=days) for days in (-1, 7, 8))
    lines = [f"Late due:{late}", f"Today !high due:{today}", f"Soon due:{soon} after:1", f"Later due:{later}", "Never"]
    ok(own, "add_tasks", lines=[*lines, f"[x] Done due:{late}"])
    for due, numbers in {"overdue": [1], "today": [2], "week": [2, 3], f"<{later}": [2, 1, 3]}.items():
        assert [row["number"] for row in ok(own, "list_tasks", due=due)["tasks"]] == numbers, due
    assert [row["number"] for row in ok(own, "list_tasks", due="week", status="ready")["tasks"]] == [2]
    assert [row["number"] for row in ok(own, "list_tasks", due="overdue", status="all")["tasks"]] == [6, 1]
    assert [row["number"] for row in ok(own, "list_tasks", priority="high")["tasks"]] == [2]
    page = ok(own, "list_tasks", due=f"<{later}", limit=1)
    assert ok(own, "list_tasks", due=f"<{later}", limit=2, cursor=page["next_cursor"])["tasks"][1]["number"] == 3
    assert text(own, "list_tasks", due="overdue", priority="urgent") == (
        "No pending tasks of urgent priority that are overdue."
    )
    assert text(own, "list_tasks", due="<2020-01-01", project="web") == (
        "No pending tasks due before 2020-01-01 in project 'web'."
    )
    assert refusal(own, "list_tasks", due="soon") == {
        "code": "invalid_argument",
        "message": "due must be overdue, today, week, or a day like <2026-12-01.",
        "hint": "A week is today and the 7 days after it; <2026-12-01 is every day before that one.",
        "argument": "due",
    }


# -- changing ---------------------------------------------------------------------------------------------------


def test_a_project_says_where_titles_are_looked_up_and_to_moves(own: Client) -> None:
    ok(own, "add_tasks", lines=["Paint", "Paint @web", "Sand @web", "Only here"])
    assert ok(own, "get_task", task="Paint", project="web")["task"]["number"] == 2
    assert ok(own, "get_task", task="#1", project="web")["task"]["number"] == 1  # a number is found everywhere
    assert refusal(own, "get_task", task="Paint")["near"] == ["#1", "#2"]
    for tool, more in (("get_task", {}), ("update_task", {"title": "x"}), ("complete_task", {}), ("claim_task", {})):
        assert refusal(own, tool, task="Only here", project="web", **more) == {
            "code": "not_found",
            "message": "Task Only here does not exist in project 'web', but project 'default' has one.",
            "hint": 'Pass project: "default", or use #4.',
            "near": ["#4"],
        }
        assert refusal(own, tool, task="#1", project="wep", **more)["message"] == "Project 'wep' does not exist."
    said, value = faces(own, "update_task", task="sand", blocked_by=["paint"], project="web")
    assert said == "Updated #3 Sand after:#2, version 2"
    assert value["project"] == "web"
    assert faces(own, "update_task", task="Paint", project="web", to="default") == (
        "Updated #2 Paint, version 2\n#2 moved from web to default.",
        {
            "project": "default",
            "task": {"number": 2, "title": "Paint", "version": 2},
            "notes": ["#2 moved from web to default."],
        },
    )
    assert ok(own, "update_task", task=2, to="")["notes"] == ["#2 moved from default to no project."]
    assert refusal(own, "update_task", task=2, to="wep")["near"] == ["web"]
    done = [(one["version"], one["action"]) for one in ok(own, "history", item="#2")["versions"]]
    assert done == [(3, "move"), (2, "move"), (1, "add")]
    ok(own, "update_task", task=2, to="web", priority="high")
    assert ok(own, "history", item="#2")["versions"][0]["action"] == "update"


def test_a_note_alone_is_an_update_and_no_version(own: Client) -> None:
    ok(own, "add_tasks", lines=["A"])
    assert ok(own, "update_task", task=1, note="x", expected_version=1)["task"]["version"] == 1
    error = refusal(own, "update_task", task=1, note="y", expected_version=2)
    assert (error["code"], error["version"]) == ("conflict", 1)
    assert refusal(own, "update_task", task=1, note=" ")["message"] == "note must not be empty."
    assert [note["text"] for note in ok(own, "get_task", task=1)["task"]["notes"]] == ["x"]


def test_an_update_that_changes_nothing_says_so(own: Client) -> None:
    ok(own, "add_tasks", lines=["Paint"])
    assert text(own, "update_task", task="#1", title="Paint", priority="normal") == "Unchanged #1 Paint, version 1"
    assert text(own, "update_task", task="#1", title="Paint", note="x") == "Noted on #1 Paint, version 1"


def test_completing_reports_its_effect_on_other_tasks(own: Client) -> None:
    ok(own, "add_tasks", lines=["A", "B after:1", "C after:1,2", "D"])
    assert faces(own, "complete_task", task=1) == (
        "Completed #1 [x] A, version 2\nReady now:\n#2 B",
        {
            "project": "default",
            "task": {"number": 1, "title": "A", "status": "completed", "version": 2},
            "ready": [{"number": 2, "title": "B"}],
        },
    )
    said, value = faces(own, "complete_task", task=3, note="early")
    assert said == "Completed #3 [x] C after:#2, version 2\nIt was still blocked by #2."
    assert value["notes"] == ["It was still blocked by #2."] and "ready" not in value
    assert ok(own, "update_task", task=4, status="cancelled")["task"]["status"] == "cancelled"
    assert ok(own, "complete_task", task=4)["notes"] == ["It was cancelled."]
    said, value = faces(own, "complete_task", task=4)
    assert said == "Already completed #4 [x] D, version 3" and value["already_completed"] is True


def test_cancelling_lists_the_tasks_that_became_ready(own: Client) -> None:
    ok(own, "add_tasks", lines=["A", "B after:1"])
    value = ok(own, "update_task", task=1, status="cancelled")
    assert value["ready"] == [{"number": 2, "title": "B"}]
    assert "ready" not in ok(own, "update_task", task=1, title="A again")


# -- claims -----------------------------------------------------------------------------------------------------

TAKE_OVER = "Work on another task, or wait until then. If that agent has stopped, use claim_task with take_over: true."
CHANGES: list[tuple[str, dict[str, Any]]] = [  # of the task #1
    ("claim_task", {"task": 1}),
    ("claim_task", {"task": 1, "release": True}),
    ("update_task", {"task": 1, "title": "x"}),
    ("update_task", {"task": 1, "note": "x"}),
    ("complete_task", {"task": 1}),
    ("edit_text", {"item": "#1", "append": "x"}),
    ("update_items", {"items": ["#1"], "tags": ["+x"]}),
    ("update_items", {"items": ["#1"], "status": "cancelled"}),
    ("delete", {"items": ["#1"]}),
    ("restore", {"item": "#1"}),
    ("restore", {"items": ["#1"]}),
]


def test_a_claim_gives_the_whole_task_a_holder_and_a_fence(own: Client) -> None:
    ok(own, "add_tasks", lines=["A", "B !urgent\n  Now"])
    said, value = faces(own, "claim_task", minutes=5)
    assert said == Like(
        r"(?s)Claimed until 20\S+Z as satchel-tests [0-9a-f]{4}, fence 1:\n"
        r"#2 \[~\] B !urgent @default \(satchel-tests .*\n\nNow"
    )
    assert value == {
        "project": "default",
        "task": {
            "number": 2,
            "title": "B",
            "status": "in_progress",
            "version": 1,
            "created": MINUTE,
            "updated": MINUTE,
            "description": "Now",
            "priority": "urgent",
            "holder": HOLDER,
            "until": MINUTE,
            "fence": 1,
        },
        "holder": HOLDER,
        "until": MINUTE,
        "fence": 1,
    }
    assert ok(own, "claim_task", task=2)["fence"] == 1
    assert ok(own, "claim_task")["task"]["number"] == 1
    assert ok(own, "list_tasks", status="in_progress")["tasks"] == [
        {"number": 2, "title": "B", "status": "in_progress", "priority": "urgent", "holder": HOLDER, "until": MINUTE},
        {"number": 1, "title": "A", "status": "in_progress", "holder": HOLDER, "until": MINUTE},
    ]


def test_others_see_who_holds_a_task_and_cannot_take_it(own: Client, other: Client) -> None:
    ok(own, "add_tasks", lines=["A", "B after:1", "C"])
    claimed = ok(own, "claim_task")
    for tool, more in CHANGES:
        error = refusal(other, tool, **more)
        assert {**error, "argument": ""} == {
            "code": "claimed",
            "message": Like(rf"(items\[0\]: )?Task #1 is held by {claimed['holder']} until {claimed['until']}\."),
            "hint": TAKE_OVER,
            "holder": claimed["holder"],
            "until": claimed["until"],
            "argument": "",
        }, tool
    assert faces(other, "list_tasks") == (
        "#3 C\n1 more is held by others.",
        {"project": "default", "tasks": [{"number": 3, "title": "C"}], "held": 1},
    )
    assert [row["number"] for row in ok(own, "list_tasks")["tasks"]] == [1, 3]
    assert ok(other, "claim_task")["task"]["number"] == 3
    assert refusal(other, "claim_task") == {
        "code": "not_found",
        "message": "No task is ready in project 'default': 1 blocked, 2 held by others.",
        "hint": "See list_tasks with status pending, or try again later.",
        "blocked": 1,
        "held": 2,
    }
    assert text(own, "claim_task", task=1, release=True) == "Released #1, version 1"
    assert ok(own, "claim_task", task=1, release=True)["released"] is False
    assert refusal(own, "claim_task", release=True)["argument"] == "task"
    assert ok(other, "claim_task", task=1)["fence"] == 2


def test_the_holder_and_a_call_with_the_fence_change_a_held_task(own: Client, other: Client) -> None:
    ok(own, "add_tasks", lines=["A"])
    claimed = ok(own, "claim_task")
    fence = claimed["task"]["fence"]
    assert fence == claimed["fence"] == ok(other, "get_task", task=1)["task"]["fence"]
    assert ok(own, "update_task", task=1, title="B")["task"]["version"] == 2
    assert ok(own, "edit_text", item="#1", append="more")["version"] == 3
    changed = ok(other, "update_task", task=1, title="C", fence=fence)
    assert changed["task"]["version"] == 4 and "notes" not in changed
    assert refusal(other, "update_task", task=1, title="D", fence=fence + 1)["code"] == "claimed"
    assert refusal(other, "update_task", task=1, title="D", fence=None)["code"] == "claimed"
    assert ok(own, "update_task", task=1, title="D", fence=None)["task"]["version"] == 5
    done = ok(other, "complete_task", task=1, fence=fence)
    assert done["task"]["status"] == "completed" and "notes" not in done


@both_engines
def test_who_loses_a_task_to_another_is_told_with_the_next_call(own: Client, other: Client) -> None:
    ok(own, "add_tasks", lines=["A", "B", "C"])
    first = ok(own, "claim_task", task=1)
    said, value = faces(other, "claim_task", task=1, take_over=True)
    assert (value["fence"], value["notes"]) == (2, [Like(rf"It was held by {first['holder']} until \d\d:\d\d\.")])
    holder = value["holder"]
    told = Like(rf"#1 was taken over from you at {MINUTE}; {holder} holds it until \d\d:\d\d\.")
    for tool, more in (("get_task", {"task": 1}), ("list_tasks", {}), ("catch_up", {}), ("get_task", {"task": 2})):
        said, value = faces(own, tool, **more)
        assert value["notes"] == [told] and said.endswith(value["notes"][0]), tool
    error = refusal(own, "complete_task", task=1, fence=first["fence"])
    lost = Like(rf"Task #1 is held by {holder} until {MINUTE}, who took it over from you at {MINUTE}\.")
    assert (error["code"], error["message"], error["holder"]) == ("claimed", lost, holder)
    assert "notes" not in ok(other, "get_task", task=1)
    assert ok(own, "update_task", task=2, title="b")["notes"] == [told]  # a write tells for the last time
    assert "notes" not in ok(own, "get_task", task=1)
    ok(other, "claim_task", task=1)  # a renewal keeps the fence
    assert ok(own, "claim_task", task=1, take_over=True)["fence"] == 3
    # The new holder gives it back; the former one is still told.
    assert ok(own, "claim_task", task=1, release=True)["released"] is True
    nobody = Like(rf"#1 was taken over from you at {MINUTE}; nobody holds it now\.")
    assert ok(other, "add_tasks", lines=["D"])["notes"] == [nobody]
    # Nothing is told of a task that is done, or that the former holder has again.
    ok(own, "claim_task", task=3)
    ok(other, "claim_task", task=3, take_over=True)
    ok(other, "complete_task", task=3)
    ok(own, "claim_task", task=2)
    ok(other, "claim_task", task=2, take_over=True, release=True)
    assert "notes" not in ok(own, "claim_task", task=2)


def test_without_a_task_the_claim_is_in_the_project(own: Client) -> None:
    ok(own, "add_tasks", lines=["A @web !urgent"])
    assert (
        refusal(own, "claim_task")["message"] == "No task is ready in project 'default': 0 blocked, 0 held by others."
    )
    assert ok(own, "claim_task", project="web")["project"] == "web"
    assert refusal(own, "claim_task", project="wep")["near"] == ["web"]
    for minutes in (0, 1441):
        assert refusal(own, "claim_task", minutes=minutes)["argument"] == "minutes"


@both_engines
def test_the_error_for_a_circle_names_the_tasks_in_it(own: Client, database: Database) -> None:
    with database.write() as tx:
        projects.add(tx, "hidden")
    ok(own, "add_tasks", lines=["A", "B after:1", "C after:2", "D after:1,3", "Secret after:#4 @hidden"])
    hint = "Remove a task from blocked_by."

    def say(circle: str) -> dict[str, Any]:
        return wrong(f"A task cannot wait for itself: {circle}.", "blocked_by", hint)

    assert refusal(own, "update_task", task=1, blocked_by=["#1"]) == say("#1 → #1")
    assert refusal(own, "update_task", task=1, blocked_by=["+#4"]) == say("#1 → #4 → #1")
    assert refusal(own, "update_task", task=1, blocked_by=["#3"]) == say("#1 → #3 → #2 → #1")
    ok(own, "add_task", title="E", blocked_by=["#5"])
    for lines, circle in (
        (["A after:2", "B after:1"], "task 1 'A' → task 2 'B' → task 1 'A'"),
        (["#7 A after:#8", "#8 B after:#7"], "#7 'A' → #8 'B' → #7 'A'"),
        (["E: about it", "A after:3", "Write docs after:3"], "task 3 'Write docs' → task 3 'Write docs'"),
    ):
        place = 2 if "docs" in circle else 0
        message = f"lines[{place}]: A task cannot wait for itself: {circle}."
        assert refusal(own, "add_tasks", lines=lines) == wrong(message, "lines", "Remove one of the after: parts.")
    with database.write(Scope(user=ADA, projects=("default",))) as tx, pytest.raises(WrongArgument) as refused:
        tasks.update(tx, tx.scope, 1, TaskPatch(blocked_by=[6]))
    assert refused.value.value == "#1 → #6 → a task elsewhere → #4 → #1"


def test_the_tasks_around_a_task_have_their_state_day_and_project(own: Client) -> None:
    ok(own, "add_tasks", lines=["Deploy after:#2,#3", "#2 Write spec due:2026-12-01 @web", "#3 [x] Test"])
    assert ok(own, "get_task", task=1)["task"]["blocked_by"] == [
        {"number": 2, "title": "Write spec", "due": "2026-12-01", "project": "web"},
        {"number": 3, "title": "Test", "status": "completed"},
    ]
    assert "Waits for:\n- #2 Write spec due:2026-12-01 @web\n- #3 [x] Test\n" in text(own, "get_task", task=1)


def test_a_note_on_a_completed_task_is_said_and_cannot_be_edited(own: Client) -> None:
    ok(own, "add_tasks", lines=["Paint\n  In blue"])
    ok(own, "complete_task", task=1)
    again = text(own, "complete_task", task=1, note="Two coats")
    assert again == "Already completed #1 [x] Paint, version 2\nThe note was added."
    assert text(own, "update_task", task=1, note="Three") == "Noted on #1 [x] Paint, version 2"
    assert refusal(own, "edit_text", item="#1", edits=[{"old": "coats", "new": "layers"}]) == {
        "code": "invalid_argument",
        "message": "edits[0].old occurs only in a note. Nothing was changed.",
        "hint": "Notes cannot be edited; add a new one with note.",
        "argument": "edits",
    }
    assert refusal(own, "edit_text", item="#1", edits=[{"old": "green", "new": "red"}])["message"] == (
        "edits[0].old does not occur in the text. Nothing was changed."
    )
