"""The tool `search`: whole replies, kinds, pages, libraries, and references that other tools take."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.satchel import make_library, ok, refusal, text
from tests.support.stdio import NEWEST, Client
from tests.support.variants import both_engines

ANN = "11111111-1111-4111-8111-111111111111"


@pytest.fixture
def client(store: str, serve: Callable[..., Client], tmp_path: Path) -> Client:
    make_library(tmp_path / "libraries", "desk", {"walrus-letter": ("Dear walrus {{ who }},\nthank you", ["who!"])})
    server = serve("satchel", store, NEWEST, "--user", ANN, "--libraries", str(tmp_path / "libraries"))
    ok(server, "add_prompt", title="Feeding plan", content="Monday: fish\nTuesday: a walrus eats mussels")
    ok(server, "add_resource", name="zoo-rules.md", content="# Rules\nDo not tease the walrus", description="For all")
    ok(server, "add_task", title="Weigh the walrus", tags=["weekly"])
    return server


def test_one_call_finds_prompts_documents_tasks_and_libraries(client: Client) -> None:
    assert ok(client, "search", query="walrus") == {
        "project": "default",
        "hits": [
            {"kind": "task", "reference": "#1", "title": "Weigh the walrus"},
            {
                "kind": "prompt",
                "reference": "desk:walrus-letter",
                "title": "desk:walrus-letter",
                "line": 1,
                "text": "Dear walrus {{ who }},",
            },
            {
                "kind": "document",
                "reference": "zoo-rules.md",
                "title": "zoo-rules.md",
                "line": 2,
                "text": "Do not tease the walrus",
            },
            {
                "kind": "prompt",
                "reference": "feeding-plan",
                "title": "Feeding plan",
                "line": 2,
                "text": "Tuesday: a walrus eats mussels",
            },
        ],
    }
    assert text(client, "search", query="walrus") == (
        "- task #1: Weigh the walrus\n"
        "- prompt desk:walrus-letter\n  line 1: Dear walrus {{ who }},\n"
        "- document zoo-rules.md\n  line 2: Do not tease the walrus\n"
        "- prompt feeding-plan: Feeding plan\n  line 2: Tuesday: a walrus eats mussels"
    )


def test_a_kind_narrows(client: Client) -> None:
    for kind, found in (
        ("prompt", ["desk:walrus-letter", "feeding-plan"]),
        ("document", ["zoo-rules.md"]),
        ("task", ["#1"]),
    ):
        assert [hit["reference"] for hit in ok(client, "search", query="walrus", kind=kind)["hits"]] == found


def test_items_of_one_name_and_two_kinds_are_distinguished(client: Client) -> None:
    ok(client, "add_resource", name="feeding-plan", content="the walrus again")
    found = [hit["reference"] for hit in ok(client, "search", query="feeding plan")["hits"]]
    assert sorted(found) == ["satchel://prompt/feeding-plan", "satchel://resource/feeding-plan"]
    assert ok(client, "get_prompt", prompt="satchel://prompt/feeding-plan")["prompt"]["name"] == "feeding-plan"
    assert ok(client, "read_resource", resource="satchel://resource/feeding-plan")["resource"]["text"] == (
        "the walrus again"
    )
    ok(client, "complete_task", task="satchel://task/1")


def test_pages_have_cursors(client: Client) -> None:
    first = ok(client, "search", query="walrus", limit=3)
    rest = ok(client, "search", query="walrus", limit=3, cursor=first["next_cursor"])
    assert first["hits"] + rest["hits"] == ok(client, "search", query="walrus")["hits"]
    assert "next_cursor" not in rest
    assert refusal(client, "search", query="walrus", cursor="nonsense")["argument"] == "cursor"


def test_an_empty_result_explains_itself(client: Client) -> None:
    assert text(client, "search", query="hippopotamus") == "No hits in project 'default' match."
    assert ok(client, "search", query="?!") == {"project": "default", "hits": []}


def test_a_search_without_hits_gives_the_nearest_titles_and_tags(client: Client) -> None:
    ok(client, "add_prompt", title="Release checklist", content="Ship it.", tags=["mobile"])
    assert ok(client, "search", query="Relleaese chhecklisst") == {
        "project": "default",
        "hits": [],
        "near": ["Release checklist"],
    }
    assert text(client, "search", query="weeekyl") == (
        "No hits in project 'default' match. Nearest titles and tags: +weekly."
    )
    assert ok(client, "search", query="weeekyl", kind="document") == {"project": "default", "hits": []}


@both_engines
def test_a_search_says_which_words_no_item_has(client: Client) -> None:
    said = text(client, "search", query="tease a hippopotamus and a walrus", kind="document")
    assert said == (
        "- document zoo-rules.md\n  line 2: Do not tease the walrus\n"
        "No item has all of these words; none has 'hippopotamus'. These come nearest."
    )
    assert ok(client, "search", query="tease mussels")["notes"] == [
        "No item has all of these words. These come nearest."
    ]
    assert "notes" not in ok(client, "search", query="tease walrus")
    assert text(client, "search", query="purple hippopotamus") == (
        "No hits in project 'default' match. No item has any of these words."
    )


@both_engines
def test_a_search_without_hits_counts_those_of_all_projects(client: Client) -> None:
    ok(client, "add_project", name="launch")
    ok(client, "add_prompts", project="launch", prompts=[{"title": f"Sorry {n}", "content": "Dear"} for n in range(12)])
    ok(client, "add_prompt", project="launch", title="Downtime", content="x")
    for query, limit, count in (("downtime", 10, "1"), ("sorry client", 10, "more than 10"), ("sorry", 20, "12")):
        found = ok(client, "search", query=query, limit=limit)
        assert (found["hits"], found["notes"]) == ([], [f'project: "all" finds {count}.']), query
    assert text(client, "search", query="downtime") == (
        "No hits in project 'default' match.\nproject: \"all\" finds 1."
    )
    assert "notes" not in ok(client, "search", query="unicorn")


@pytest.mark.parametrize("query", ["", "  ", '""', '" "'])
def test_an_empty_query_is_refused_with_a_hint(client: Client, query: str) -> None:
    assert refusal(client, "search", query=query) == {
        "code": "invalid_argument",
        "message": "query must not be empty.",
        "hint": "Give words; the list tools show everything.",
        "argument": "query",
    }


def test_kinds_that_are_not_served_are_not_searched(store: str, client: Client, serve: Callable[..., Client]) -> None:
    narrowed = serve("satchel", store, NEWEST, "--user", ANN, "--toolsets", "tasks")
    assert [hit["kind"] for hit in ok(narrowed, "search", query="walrus")["hits"]] == ["task"]
    assert refusal(narrowed, "search", query="walrus", kind="prompt")["message"] == "kind must be one of task."


@pytest.mark.parametrize("query", ["plants", '"plants"'])
def test_hits_of_tasks_carry_their_status_and_open_ones_come_first(client: Client, query: str) -> None:
    ok(client, "add_tasks", lines=["Water plants", "Prune plants", "Move plants", "Sell plants"])
    ok(client, "claim_task", task=2)
    ok(client, "complete_task", task=5)
    ok(client, "update_task", task=4, status="cancelled")
    hits = ok(client, "search", query=query, kind="task")["hits"]
    found = {hit["reference"]: hit.get("status") for hit in hits}
    assert found == {"#2": "in_progress", "#3": None, "#4": "cancelled", "#5": "completed"}
    assert {hit["reference"] for hit in hits[:2]} == {"#2", "#3"}
    said = text(client, "search", query=query, kind="task")
    assert all(line in said for line in ("#2 [~]: Water", "#3: Prune", "#4 [-]: Move", "#5 [x]: Sell"))
