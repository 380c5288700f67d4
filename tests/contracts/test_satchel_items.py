"""Many items of any kind at once: tagged, closed, reopened, moved, copied and deleted, all or none."""

from collections.abc import Callable
from typing import Any

import pytest

from satchel.services import projects
from satchel.storage.database import Database
from tests.support.satchel import missing, ok, refusal, text, wrong
from tests.support.stdio import META, NEWEST, Client
from tests.support.variants import both_engines

ANN = "11111111-1111-4111-8111-111111111111"
LOOK = "Look for it with search or a list tool; restore brings back deleted items."
BY_A_PERSON = "Only a person can do this: with satchel project rename or satchel project delete NAME, or on the page."


@pytest.fixture
def own(store: str, database: Database, serve: Callable[..., Client]) -> Client:
    with database.write() as tx:
        projects.add(tx, "other")
    client = serve("satchel", store, NEWEST, "--user", ANN)
    ok(client, "add_tasks", lines=["Write docs +docs", "Fix login", "Deploy after:1,2", "Announce after:3"])
    review = {"title": "Review", "content": "See satchel://resource/guide.md and satchel://task/2", "tags": ["docs"]}
    ok(client, "add_prompts", prompts=[review])
    ok(client, "add_resources", resources=[{"name": "guide.md", "content": "Use satchel://prompt/review"}])
    return client


def numbers(client: Client, status: str = "all", **more: Any) -> list[int]:
    return sorted(task["number"] for task in ok(client, "list_tasks", status=status, **more)["tasks"])


# -- delete -----------------------------------------------------------------------------------------------------


def test_deleting_items_of_every_kind_reports_the_references_to_them(own: Client) -> None:
    assert ok(own, "delete", items=["review", "#3", "#2"]) == {
        "project": "default",
        "deleted": [
            {"kind": "prompt", "item": "review"},
            {"kind": "task", "item": "#3", "title": "Deploy"},
            {"kind": "task", "item": "#2", "title": "Fix login"},
        ],
        "referred": [{"item": "review", "by": ["satchel://resource/guide.md"]}, {"item": "#3", "by": ["#4"]}],
        "ready": [{"number": 4, "title": "Announce"}],
    }
    assert numbers(own) == [1, 4]
    for item in ("review", "#2", "#3"):
        ok(own, "restore", item=item)
    assert text(own, "delete", items=[2, "satchel://resource/guide.md"]) == (
        "1 task and 1 document deleted:\n#2 Fix login\ndocument guide.md\n"
        "#3 waited for #2.\n#2 was referred to by satchel://prompt/review.\nguide.md was referred to by satchel://prompt/review."
    )


def test_if_one_item_cannot_be_deleted_none_is(own: Client) -> None:
    for items, error in (
        (["#1", "#99"], missing("items[1]: Item '#99' does not exist.", LOOK)),
        (["#1", "revew"], missing("items[1]: Item 'revew' does not exist.", "Did you mean review?", "review")),
        (["satchel://project/other"], wrong("items[0]: 'other' is a project.", hint=BY_A_PERSON)),
    ):
        assert refusal(own, "delete", items=items) == {**error, "argument": "items"}
        assert numbers(own) == [1, 2, 3, 4]


def test_a_name_like_a_number_is_not_taken_for_a_task_and_has_a_uri(own: Client) -> None:
    ok(own, "add_prompts", prompts=[{"title": "2026", "content": "x"}])
    assert refusal(own, "delete", items=["2026"])["near"] == ["satchel://prompt/2026"]
    ok(own, "delete", items=["satchel://prompt/2026"])


def test_the_number_of_items_is_limited(own: Client) -> None:
    for tool, more in (("delete", {}), ("update_items", {"status": "completed"})):
        assert refusal(own, tool, items=[], **more)["argument"] == "items"
        assert refusal(own, tool, items=["#1"] * 201, **more)["message"] == "items can have at most 200 entries."
        assert refusal(own, tool, items=[" "], **more)["code"] == "not_found"
        assert refusal(own, tool, **more)["message"] == "items is missing."


def test_a_prompt_and_a_document_of_one_name_are_distinguished(own: Client) -> None:
    ok(own, "add_prompts", prompts=[{"title": "Guide", "content": "x", "name": "guide.md"}])
    error = refusal(own, "delete", items=["guide.md"])
    assert (error["code"], error["near"]) == (
        "invalid_argument",
        ["satchel://prompt/guide.md", "satchel://resource/guide.md"],
    )
    ok(own, "delete", items=["satchel://prompt/guide.md"])
    assert ok(own, "read_resource", resource="guide.md")["resource"]["name"] == "guide.md"


@pytest.mark.parametrize("spelling", ["Review", "review", "REVIEW"])
def test_a_prompt_is_not_taken_for_one_of_several_tasks_of_its_name(own: Client, spelling: str) -> None:
    ok(own, "add_tasks", lines=["Review", "Review"] if spelling == "Review" else ["review", "review"])
    for tool, more in (("delete", {}), ("update_items", {"tags": ["+x"]})):
        assert refusal(own, tool, items=[spelling], **more) == {
            "code": "invalid_argument",
            "message": f"items[0]: Several items are called '{spelling}'.",
            "hint": "Use one of these: satchel://prompt/review or satchel://task/5 or satchel://task/6.",
            "near": ["satchel://prompt/review", "satchel://task/5", "satchel://task/6"],
            "argument": "items",
        }
    ok(own, "delete", items=["satchel://prompt/review"])
    assert refusal(own, "edit_text", item=spelling, append="x")["near"] == ["satchel://task/5", "satchel://task/6"]


def test_deleting_a_blocker_lists_what_became_ready_and_changes_no_other_task(own: Client) -> None:
    ok(own, "complete_task", task=2)
    assert text(own, "delete", items=["#1"]) == ("Deleted #1 Write docs\n#3 waited for #1.\nReady now:\n#3 Deploy")
    assert ok(own, "get_task", task=3)["task"]["version"] == 1
    assert "ready" not in ok(own, "delete", items=["#2"])  # it was completed, so it blocked nothing


# -- where and dry_run ------------------------------------------------------------------------------------------


def test_where_selects_what_the_lists_would_show(own: Client) -> None:
    ok(own, "add_tasks", lines=["Elsewhere +docs"], project="other")
    ok(own, "add_prompts", prompts=[{"title": f"Note {number}", "content": "login"} for number in (1, 2)])
    selected: list[tuple[dict[str, Any], list[str]]] = [
        ({"tags": ["docs"]}, ["review", "#1"]),
        ({"tags": ["+Docs"], "kind": "task"}, ["#1"]),
        ({"query": "LOGIN"}, ["note-2", "note-1", "#2"]),
        ({"query": "guide"}, ["review", "guide.md"]),
        ({"status": "ready"}, ["#1", "#2"]),
        ({"status": "ready", "query": "fix", "tags": None}, ["#2"]),
        ({"kind": "document"}, ["guide.md"]),
        ({"kind": "prompt", "tags": [], "query": ""}, ["note-2", "note-1", "review"]),
    ]
    for where, items in selected:
        found = ok(own, "delete", where=where, dry_run=True)
        assert [one["item"] for one in found["deleted"]] == items, where
    assert ok(own, "update_items", where={"status": "ready"}, priority="high", due="2026-12-24")["items"] == [
        {"number": 1, "title": "Write docs", "priority": "high", "due": "2026-12-24", "tags": ["docs"], "version": 2},
        {"number": 2, "title": "Fix login", "priority": "high", "due": "2026-12-24", "version": 2},
    ]
    assert "due" not in ok(own, "update_items", where={"query": "fix"}, due="")["items"][0]
    assert ok(own, "delete", where={"tags": ["docs"]}, project="other")["deleted"] == [
        {"kind": "task", "item": "#5", "title": "Elsewhere"}
    ]


def test_a_query_without_matches_changes_nothing_and_says_so(own: Client) -> None:
    for tool, member, more in (("delete", "deleted", {}), ("update_items", "items", {"tags": ["+a"]})):
        given = {"where": {"tags": ["docs"], "query": "nothing"}, **more}
        assert ok(own, tool, given) == {"project": "default", member: []}
        assert text(own, tool, **given) == "No prompts or tasks in project 'default' match."
    assert ok(own, "delete", where={"query": "x"}, project="personal") == {
        "project": "personal",
        "deleted": [],
    }
    assert "personal" not in [one["name"] for one in ok(own, "list_projects")["projects"]]


def test_a_query_must_fit_the_kinds_and_select_something(own: Client) -> None:
    example = 'as in where: {"tags": ["old"], "status": "pending"}.'
    say_which = f"Say which items: kind, tags, status, priority, due or query, {example}"
    cases: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({}, wrong("items is missing.", "items", f"Name the items, or describe them, {example}")),
        (
            {"items": ["#1"], "where": {"kind": "task"}},
            wrong("Give items or where, not both.", "where", "Leave one of them out."),
        ),
        ({"where": {}}, wrong("where is empty.", "where", say_which)),
        ({"where": {"tags": [], "query": "", "match": "any"}}, wrong("where is empty.", "where", say_which)),
        (
            {"where": {"kind": "prompt", "status": "pending"}},
            wrong("A prompt has no status.", "where", "Leave out where.kind or where.status."),
        ),
        (
            {"where": {"kind": "document", "tags": ["a"]}},
            wrong("A document has no tags.", "where", "Leave out where.kind or where.tags."),
        ),
        (
            {"where": {"kind": "prompt", "due": "today"}},
            wrong("A prompt has no due.", "where", "Leave out where.kind or where.due."),
        ),
        (
            {"where": {"due": "soon"}},
            wrong(
                "where.due: due must be overdue, today, week, or a day like <2026-12-01.",
                "where",
                "A week is today and the 7 days after it; <2026-12-01 is every day before that one.",
            ),
        ),
        (
            {"where": {"kind": "note"}},
            wrong(
                "where.kind must be one of document, prompt, task.",
                "where",
                "Choose one of them, or leave where.kind out.",
            ),
        ),
    ]
    for given, error in cases:
        for tool, more in (("delete", {}), ("update_items", {"due": ""})):
            assert refusal(own, tool, {**given, **more}) == error
    assert refusal(own, "delete", where={"tag": "a"})["near"] == ["tags"]


def test_tags_of_a_query_must_all_fit_and_all_be_in_use(own: Client) -> None:
    ok(own, "add_tasks", lines=["Migrate +db +docs", "Index +db", "Far +wave1 @other"])
    given: dict[str, Any] = {"priority": "low", "dry_run": True}

    def find(**where: Any) -> list[int]:
        return [one["number"] for one in ok(own, "update_items", where={"kind": "task", **where}, **given)["items"]]

    assert find(tags=["db", "docs"]) == [5] and find(tags=["db", "docs"], match="any") == [1, 5, 6]
    assert refusal(own, "delete", where={"tags": ["db", "wave1", "doc"], "match": "any"}) == {
        "code": "invalid_argument",
        "message": "No prompt or task of project 'default' has the tag 'wave1' or 'doc'.",
        "hint": "Did you mean docs?",
        "argument": "where",
        "near": ["docs"],
    }
    error = refusal(own, "update_items", where={"kind": "task", "tags": ["x"]}, **given)
    assert error["message"] == "No task of project 'default' has the tag 'x'."
    assert error["hint"] == "Tags in use: db, docs."


def test_a_query_selects_tasks_by_priority_and_due_day(own: Client) -> None:
    ok(own, "add_tasks", lines=["Pay !high due:2020-01-31", "Call !high", "[x] Done due:2020-01-01"])

    def find(**where: Any) -> list[str]:
        return [one["item"] for one in ok(own, "delete", where=where, dry_run=True)["deleted"]]

    assert find(priority="high") == ["#5", "#6"] and find(due="overdue") == ["#5"]
    assert find(due="<2020-02-01", status="all") == ["#5", "#7"] and find(due="today") == []


def test_a_long_text_lists_the_first_items_and_counts_them_all(own: Client) -> None:
    ok(own, "add_tasks", lines=[f"Chore {number} +chore" for number in range(51)])
    chores = {"where": {"tags": ["chore"]}}
    for tool, more, first in (
        ("update_items", {"priority": "low"}, ["51 tasks updated:", "#5 Chore 0 !low +chore, version 2"]),
        ("delete", {}, ["51 tasks deleted:", "#5 Chore 0"]),
    ):
        dry, *lines = text(own, tool, **chores, **more, dry_run=True).split("\n")
        assert dry == "Dry run, nothing was changed. The call would answer:"
        assert lines[:2] == first and lines[-1] == "and 31 more" and len(lines) == 22
        answer = ok(own, tool, **chores, **more)
        assert len(answer["items" if tool == "update_items" else "deleted"]) == 51


def test_only_a_call_that_sends_a_task_to_review_says_so(own: Client, database: Database) -> None:
    with database.write() as tx:
        projects.set_review(tx, "default", "people")
    assert ok(own, "update_items", items=["#2"], status="completed")["notes"] == ["#2 waits for review by a person."]
    assert "notes" not in ok(own, "update_items", items=["#2"], tags=["+a"])


def test_more_than_two_hundred_matches_are_refused_with_their_number(own: Client) -> None:
    for start in (0, 150):
        ok(own, "add_tasks", lines=[f"Chore {number} +chore" for number in range(start, start + 150)])
    assert refusal(own, "update_items", where={"tags": ["chore"]}, priority="low", dry_run=True) == {
        "code": "invalid_argument",
        "message": "300 items match, and one call changes at most 200.",
        "hint": "Narrow the query with kind, tags, status, priority, due or query, and make several calls.",
        "argument": "where",
        "count": 300,
    }


@both_engines
def test_a_dry_run_answers_like_the_call_and_changes_nothing(own: Client, database: Database) -> None:
    def read_all() -> list[Any]:
        with database.read() as tx:
            tables = ("revisions", "changes", "tasks", "prompts", "documents", "authors")
            return [tx.all(f"select count(*), max(number) from {table}") for table in tables]

    before = read_all()
    for tool, given in (
        ("delete", {"items": ["review", "#1", "#2"]}),
        ("update_items", {"items": ["#1", "#2"], "status": "completed", "tags": ["x"], "to": "other"}),
        ("update_items", {"items": ["guide.md"], "to": "other", "copy": True}),
    ):
        planned, said = ok(own, tool, given, dry_run=True), text(own, tool, **given, dry_run=True)
        assert read_all() == before
        assert planned.pop("dry_run") is True
        assert said.startswith("Dry run, nothing was changed. The call would answer:\n")
    assert refusal(own, "delete", items=["#9"], dry_run=True)["code"] == "not_found"
    meta = {f"{META}clientCapabilities": {"elicitation": {}}}
    ok(own, "add_tasks", lines=[f"Task {number}" for number in range(11)])
    params = {"name": "delete", "arguments": {"where": {"kind": "task"}, "dry_run": True}, "_meta": meta}
    planned = own.request("tools/call", params)["result"]["structuredContent"]  # without a question
    done = ok(own, "delete", where={"kind": "task"})
    assert planned == {**done, "dry_run": True}


def test_tasks_that_other_agents_hold_are_named_together(own: Client, store: str, serve: Callable[..., Client]) -> None:
    other = serve("satchel", store, NEWEST, "--user", ANN)
    for task in (1, 2):
        claim = ok(other, "claim_task", task=task)
    for tool, more in (("delete", {}), ("update_items", {"priority": "low"})):
        for which in ({"where": {"kind": "task"}}, {"items": ["#4", "#1", "#2"]}):
            error = refusal(own, tool, {**which, **more})
            assert error["code"] == "claimed" and error["holder"] == claim["holder"]
            assert error["message"].startswith(f"Task #1 is held by {claim['holder']} until ")
            assert error["message"].endswith("; other agents hold #2 too.")
    assert numbers(own) == [1, 2, 3, 4]


# -- update_items -----------------------------------------------------------------------------------------------


def test_plain_tags_say_what_they_replaced(own: Client) -> None:
    ok(own, "add_tasks", lines=["Tidy +docs", "Sweep +home +docs"])
    answer = ok(own, "update_items", items=["review", "#1", "#2", "#5", "#6"], tags=["b", "docs"])
    assert answer["notes"] == [
        "review, #1, #5: tags docs replaced by b, docs.",
        "#6: tags docs, home replaced by b, docs.",
    ]
    assert ok(own, "update_items", items=["#1"], tags=[])["notes"] == ["#1: tags b, docs removed."]
    assert ok(own, "update_items", items=["#3", "#4"], status="pending")["notes"] == ["#3, #4 were pending already."]
    assert "notes" not in ok(own, "update_items", items=["#5"], tags=["-b"])
    assert "notes" not in ok(own, "update_items", items=["#5"], tags=["docs"], dry_run=False)


def test_completing_tasks_together_lists_those_that_became_ready(own: Client) -> None:
    assert ok(own, "update_items", items=["#1", "#2"], status="completed", tags=["+done"]) == {
        "project": "default",
        "items": [
            {"number": 1, "title": "Write docs", "status": "completed", "tags": ["docs", "done"], "version": 2},
            {"number": 2, "title": "Fix login", "status": "completed", "tags": ["done"], "version": 2},
        ],
        "ready": [{"number": 3, "title": "Deploy"}],
    }
    again = ok(own, "update_items", items=["#1", "#4"], status="completed")
    assert [row["version"] for row in again["items"]] == [2, 2]
    assert again["notes"] == ["#1 was completed already.", "#4 was still blocked by #3."]
    assert text(own, "update_items", items=["#1"], status="pending", tags=["-done"]) == (
        "1 task updated:\n#1 Write docs +docs, version 3"
    )
    assert ok(own, "update_items", items=["#1"], status="cancelled")["items"][0]["status"] == "cancelled"


def test_tags_of_prompts_and_tasks_change_together(own: Client) -> None:
    answer = ok(own, "update_items", items=["review", "#1"], tags=["+web", "-docs"])
    assert answer["items"] == [
        {"kind": "prompt", "name": "review", "title": "Review", "version": 2, "tags": ["web"]},
        {"number": 1, "title": "Write docs", "tags": ["web"], "version": 2},
    ]
    assert refusal(own, "update_prompt", prompt="review", tags=["+a", "b"]) == wrong(
        "tags[1]: begin every entry with + or -, or none of them.",
        "tags",
        "Write +x to add, -x to remove; entries without signs replace all.",
    )
    assert ok(own, "update_items", items=["review"], tags=[])["items"][0] == {
        "kind": "prompt",
        "name": "review",
        "title": "Review",
        "version": 3,
    }


@both_engines
def test_items_move_to_another_project(own: Client) -> None:
    answer = ok(own, "update_items", items=["review", "guide.md", "#2"], to="other")
    assert answer == {
        "project": "default",
        "items": [
            {"kind": "prompt", "name": "review", "title": "Review", "version": 2, "tags": ["docs"], "project": "other"},
            {"kind": "document", "name": "guide.md", "size": 27, "version": 2, "project": "other"},
            {"number": 2, "title": "Fix login", "project": "other", "version": 2},
        ],
        "notes": ["review, guide.md, #2 moved from default to other."],
    }
    assert numbers(own, project="other") == [2]
    assert ok(own, "get_prompt", prompt="review", project="other")["prompt"]["linked_from"] == [
        "satchel://resource/other/guide.md"
    ]
    assert refusal(own, "get_prompt", prompt="review")["code"] == "not_found"
    assert refusal(own, "restore", item="review")["near"] == ["satchel://prompt/other/review"]
    seen = text(own, "catch_up"), text(own, "catch_up", project="other")
    assert "moved prompt review to other" in seen[0] and "moved prompt review here" in seen[1]
    feed = ok(own, "history", project="other")["changes"]
    assert [(one["item"], one["action"]) for one in feed[:3]] == [
        ("#2", "move"),
        ("guide.md", "move"),
        ("review", "move"),
    ]


@both_engines
def test_a_moved_prompt_keeps_its_past_and_moves_back(own: Client) -> None:
    ok(own, "add_prompts", prompts=[{"title": "Review", "content": "z"}], project="other")
    ok(own, "update_prompt", prompt="review", content="Second", label="live")
    answer = ok(own, "update_items", items=["review", "guide.md"], to="other")
    assert answer["notes"][:2] == [
        "review: The name review is taken there, so review-2 is used.",
        "review: The title Review is taken there, so Review (2) is used.",
    ]
    link = "satchel://prompt/other/review-2"
    assert [one["version"] for one in ok(own, "history", item=link)["versions"]] == [3, 2, 1]
    assert ok(own, "get_prompt", prompt=link)["prompt"]["labels"] == [{"label": "live", "version": 2}]
    assert "review-2" in text(own, "search", query="Second", project="other")
    assert ok(own, "search", query="Second")["hits"] == []
    assert ok(own, "restore", item=link, version=1)["restored"]["item"] == "review-2"
    ok(own, "restore", item="satchel://resource/other/guide.md")
    assert [one["version"] for one in ok(own, "history", item="guide.md")["versions"]] == [3, 2, 1]


def test_the_originals_are_where_they_were_and_nothing_moves_twice(own: Client) -> None:
    ok(own, "add_project", name="third")
    ok(own, "add_resource", name="plan.md", content="x", project="other")
    answer = ok(own, "update_items", items=["satchel://resource/other/plan.md", "review", "#1"], to="third")
    assert answer["notes"] == [
        "plan.md moved from other to third.",
        "review, #1 moved from default to third.",
    ]
    assert text(own, "update_items", items=["#1"], to="third") == (
        "1 task unchanged:\n#1 Write docs +docs @third, version 2\n#1 was in project third already."
    )


def test_tasks_leave_their_project_together(own: Client) -> None:
    answer = ok(own, "update_items", items=["#1", "#4"], to="")
    assert [row["project"] for row in answer["items"]] == [None, None]
    assert answer["notes"] == ["#1, #4 moved from default to no project."]
    error = refusal(own, "update_items", items=["review"], to="")
    assert error["message"] == "items[0]: prompt review must be in a project."


def test_a_copy_keeps_everything_but_a_name_that_is_taken(own: Client) -> None:
    arguments = [{"name": "tone", "description": "How", "required": True, "values": ["warm"]}]
    letter = {"title": "Letter", "content": "Be {{ tone }}", "description": "To write", "tags": ["a"]}
    ok(own, "add_prompts", prompts=[{**letter, "arguments": arguments}])
    picture = {"name": "dot.png", "content": "AAEC", "description": "A dot", "uri": "x:dot"}
    ok(own, "add_resources", resources=[picture])
    ok(own, "add_resources", resources=[{"name": "dot.png", "content": "AAED"}], project="other")
    answer = ok(own, "update_items", items=["letter", "dot.png"], to="other", copy=True)
    assert answer["items"] == [
        {"kind": "prompt", "name": "letter", "title": "Letter", "version": 1, "tags": ["a"], "arguments": ["tone"],
         "project": "other"},
        {"kind": "document", "name": "dot-2.png", "size": 3, "version": 1, "uri": "x:dot",
         "project": "other"},
    ]  # fmt: skip
    assert answer["notes"] == ["dot.png: The name dot.png is taken there, so dot-2.png is used."]
    pair = [ok(own, "get_prompt", prompt="letter", project=one)["prompt"] for one in ("default", "other")]
    assert pair[0] == pair[1]
    here, there = (
        own.call("read_resource", {"resource": name, "project": project})
        for name, project in (("dot.png", "default"), ("dot-2.png", "other"))
    )
    assert here["content"][1] == there["content"][1]
    again = ok(own, "update_items", items=["letter"], to="other", copy=True)
    assert again["items"][0]["name"] == "letter-2" and len(again["notes"]) == 2


Refused = list[tuple[dict[str, Any], str]]
WRONG: Refused = [
    ({"items": ["#1", "review"], "status": "completed"}, "items[1]: prompt review has no status."),
    ({"items": ["#1", "review"], "priority": "high"}, "items[1]: prompt review has no priority."),
    ({"where": "docs", "due": ""}, "where must be an object."),
    ({"where": {"kind": "document"}, "due": ""}, "where[guide.md]: document guide.md has no due."),
    ({"items": ["#1"], "due": "soon"}, "due must be a day like 2026-11-30."),
    ({"items": ["#1"], "priority": "top"}, "priority must be one of high, low, normal, urgent."),
    ({"items": ["guide.md"], "tags": ["a"]}, "items[0]: document guide.md cannot have tags."),
    ({"items": ["#1"], "to": "other", "copy": True}, "items[0]: #1 Write docs cannot be copied."),
    ({"items": ["review"], "to": "default"}, "items[0]: prompt review is in project 'default' already."),
    ({"items": ["review"], "to": "other", "copy": True, "tags": ["a"]}, "items[0]: A copy keeps its tags."),
    ({"items": ["review"], "copy": True, "tags": ["a"]}, "to is missing."),
    ({"items": ["#1"], "tags": ["no tag"]}, "tags[0]: a tag has 1 to 50 letters, digits, - and _."),
    ({"items": ["#1"]}, "There is nothing to update."),
]
MISSING: Refused = [
    ({"items": ["review"], "to": "othr"}, "Project 'othr' does not exist."),
    ({"items": ["#1", "#9"], "tags": ["+a"]}, "items[1]: Item '#9' does not exist."),
]


def test_impossible_changes_are_refused_and_nothing_is_done(own: Client) -> None:
    for code, cases in (("invalid_argument", WRONG), ("not_found", MISSING)):
        for arguments, message in cases:
            error = refusal(own, "update_items", arguments)
            assert (error["code"], error["message"]) == (code, message)
    assert ok(own, "get_task", task=1)["task"]["version"] == 1


# -- the user is asked ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("action", ["accept", "decline"])
@pytest.mark.parametrize(
    ("tool", "arguments", "question"),
    [
        ("delete", {}, "Delete 11 items? "),
        ("update_items", {"status": "cancelled"}, "Cancel 11 items? "),
        ("update_items", {"to": "other"}, "Move 11 items to project 'other'? "),
    ],
)
def test_more_than_ten_are_deleted_cancelled_or_moved_only_after_a_question(
    own: Client, tool: str, arguments: dict[str, Any], question: str, action: str
) -> None:
    ok(own, "add_tasks", lines=[f"Task {number}" for number in range(5, 16)])
    meta = {f"{META}clientCapabilities": {"elicitation": {}}}
    items = list(range(5, 16))
    params = {"name": tool, "arguments": {"items": items, **arguments}, "_meta": meta}
    asked = own.request("tools/call", params)["result"]
    assert asked["resultType"] == "input_required"
    [(key, request)] = asked["inputRequests"].items()
    named = ", ".join(f"#{number} Task {number}" for number in range(5, 15))
    assert request["params"]["message"] == f"{question}{named}, and 1 more."
    answer = own.request("tools/call", {**params, "inputResponses": {key: {"action": action}}})["result"]
    assert answer["isError"] is (action == "decline")
    untouched = [task for task in ok(own, "list_tasks", project="default")["tasks"] if task["number"] in items]
    assert len(untouched) == (11 if action == "decline" else 0)
    few = {"name": tool, "arguments": {"items": [1], **arguments}, "_meta": meta}
    assert own.request("tools/call", few)["result"]["isError"] is False


# -- projects ---------------------------------------------------------------------------------------------------


def test_a_project_is_added(own: Client) -> None:
    assert ok(own, "add_project", name="web") == {"project": "web", "added": True}
    assert ok(own, "add_prompts", project="web", prompts=[{"title": "A", "content": "x"}])["project"] == "web"
    assert refusal(own, "add_project", name="web") == {
        "code": "already_exists",
        "message": "A project with the name 'web' already exists.",
        "hint": "To work there, pass its name as project; or choose another name.",
    }
    assert refusal(own, "add_project", name="no name")["code"] == "invalid_argument"


@pytest.mark.parametrize("toolset", ["prompts", "documents", "tasks"])
def test_kinds_that_are_not_served_are_not_found(
    own: Client, store: str, serve: Callable[..., Client], toolset: str
) -> None:
    client = serve("satchel", store, NEWEST, "--user", ANN, "--toolsets", toolset)
    for kind, item in (("prompts", "review"), ("documents", "guide.md"), ("tasks", "#1")):
        if kind == toolset:
            ok(client, "delete", items=[item])
        else:
            assert refusal(client, "delete", items=[item])["code"] == "not_found"


def test_an_update_that_changes_nothing_says_so_and_makes_no_version(own: Client) -> None:
    ok(own, "add_prompt", title="Tea", content="Brew it.", tags=["docs"])
    ok(own, "add_resource", name="tea.md", content="Leaves")

    prompt, document = "- tea [docs] version 1", "- tea.md (6 bytes, version 1)"
    assert text(own, "update_prompt", prompt="tea", content="Brew it.") == f"Unchanged in project 'default':\n{prompt}"
    assert text(own, "update_resource", resource="tea.md", content="Leaves").endswith(document)
    assert text(own, "update_resource", resource="tea.md", content="Leaves").startswith("Unchanged in project")
    assert text(own, "update_items", items=["tea", "#1"], tags=["+docs"]) == (
        f"1 prompt and 1 task unchanged:\n{prompt}\n#1 Write docs +docs, version 1"
    )
    assert text(own, "update_items", items=["tea", "#1"], tags=["+docs", "+b"]).startswith(
        "1 prompt and 1 task updated:\n"
    )
