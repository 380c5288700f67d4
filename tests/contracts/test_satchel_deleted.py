"""Deleted items: errors say so, links are marked, and references find them, on both engines."""

from collections.abc import Callable
from typing import Any

import pytest

from satchel.services import projects
from satchel.storage.database import Database
from tests.support.satchel import MINUTE, Like, deleted, ok, read_rows, refusal, text
from tests.support.stdio import NEWEST, Client
from tests.support.variants import both_engines

ANN = "11111111-1111-4111-8111-111111111111"
BOB = "22222222-2222-4222-8222-222222222222"


def fill(own: Client) -> None:
    """Add an item of each kind, and delete them."""
    ok(own, "add_prompts", prompts=[{"title": "Code Review", "content": "x"}])
    ok(own, "add_resources", resources=[{"name": "style-guide", "content": "x"}])
    ok(own, "add_tasks", lines=["Water the plants"])
    ok(own, "delete", items=["code-review", "style-guide", "#1"])


@pytest.mark.parametrize(
    ("tool", "arguments", "what", "item"),
    [
        ("get_prompt", {"prompt": "code-review"}, "Prompt 'code-review'", "code-review"),
        ("get_prompt", {"prompt": "satchel://prompt/code-review"}, "Prompt 'code-review'", "code-review"),
        ("update_prompt", {"prompt": "CODE_REVIEW", "title": "x"}, "Prompt 'code-review'", "code-review"),
        ("read_resource", {"resource": "Style Guide"}, "Document 'style-guide'", "style-guide"),
        ("update_resource", {"resource": "style-guide", "content": "y"}, "Document 'style-guide'", "style-guide"),
        ("edit_text", {"item": "style-guide", "append": "y"}, "Document 'style-guide'", "style-guide"),
        ("get_task", {"task": 1}, "Task #1", "#1"),
        ("get_task", {"task": "water the plants"}, "Task #1", "#1"),
        ("complete_task", {"task": "#1"}, "Task #1", "#1"),
        ("claim_task", {"task": "satchel://task/1"}, "Task #1", "#1"),
    ],
)
def test_an_error_says_that_an_item_was_deleted(
    own: Client, tool: str, arguments: dict[str, Any], what: str, item: str
) -> None:
    fill(own)
    assert refusal(own, tool, **arguments) == deleted(what, item)


@both_engines
def test_an_error_says_that_an_item_was_moved(own: Client) -> None:
    ok(own, "add_prompts", prompts=[{"title": "Code Review", "content": "x"}])
    ok(own, "add_project", name="web")
    ok(own, "update_items", items=["code-review"], to="web")
    assert refusal(own, "get_prompt", prompt="code-review") == {
        "code": "not_found",
        "message": Like(rf"Prompt 'code-review' was moved to project 'web' {MINUTE} by satchel-tests 1\."),
        "hint": 'Pass project: "web", or use satchel://prompt/web/code-review.',
        "near": ["satchel://prompt/web/code-review"],
    }


@both_engines
def test_an_error_names_the_new_name_of_a_moved_item(own: Client) -> None:
    ok(own, "add_project", name="web")
    for project in ("web", "default"):
        ok(own, "add_prompts", prompts=[{"title": "Tone", "content": "x"}], project=project)
        ok(own, "add_resources", resources=[{"name": "tone.md", "content": "x"}], project=project)
    ok(own, "add_prompts", prompts=[{"title": "Letter", "content": "x"}])
    ok(own, "update_items", items=["letter", "tone", "tone.md"], to="web")
    for item, link, what in (
        ("tone", "satchel://prompt/web/tone-2", "Prompt 'tone'"),
        ("tone.md", "satchel://resource/web/tone-2.md", "Document 'tone.md'"),
    ):
        name = link.rpartition("/")[2]
        assert refusal(own, "edit_text", item=item, append="x") == {
            "code": "not_found",
            "message": Like(rf"{what} was moved to project 'web' as {name} {MINUTE} by satchel-tests 1\."),
            "hint": f'Pass project: "web", or use {link}.',
            "near": [link],
        }


@both_engines
def test_an_error_says_that_a_document_was_renamed(own: Client) -> None:
    ok(own, "add_resource", name="agreement.md", content="One")
    ok(own, "update_resource", resource="agreement.md", name="supplier.md")
    ok(own, "edit_text", item="supplier.md", append="Two")
    for tool, arguments in (
        ("read_resource", {"resource": "agreement.md"}),
        ("edit_text", {"item": "satchel://resource/agreement.md", "append": "y"}),
        ("history", {"item": "agreement.md"}),
    ):
        assert refusal(own, tool, arguments) == {
            "code": "not_found",
            "message": Like(rf"Document 'agreement.md' was renamed to supplier.md {MINUTE} by satchel-tests 1\."),
            "hint": "Use supplier.md.",
            "near": ["supplier.md"],
        }


@pytest.mark.parametrize(
    ("tool", "arguments", "place"),
    [
        ("delete", {"items": ["#1"]}, "items[0]"),
        ("update_items", {"items": ["#1"], "status": "completed"}, "items[0]"),
        ("add_tasks", {"lines": ["New after:#1"]}, "lines[0]"),
    ],
)
def test_the_error_of_an_entry_says_it_too(own: Client, tool: str, arguments: dict[str, Any], place: str) -> None:
    fill(own)
    refused = refusal(own, tool, **arguments)
    assert refused["message"] == Like(
        rf"{place.replace('[', '.').replace(']', '.')}: Task #1 was deleted {MINUTE} by .*"
    )
    assert refused["deleted"] == "#1"


def test_a_caller_who_may_not_see_an_item_does_not_learn_that_it_was_deleted(
    own: Client, store: str, database: Database, serve: Callable[..., Client]
) -> None:
    fill(own)
    other = serve("satchel", store, NEWEST, "--user", BOB)
    assert "deleted" not in refusal(other, "get_task", task=1)
    assert refusal(other, "get_prompt", prompt="code-review")["deleted"] == "code-review"
    reader = serve("satchel", store, NEWEST, "--user", ANN, "--read-only")
    assert refusal(reader, "get_task", task=1)["hint"] == "It is in the trash; history shows what it was."
    ok(own, "add_project", name="garden")
    with database.write() as tx:
        projects.delete(tx, "garden")
    how = "A person can use satchel restore satchel://project/garden to bring it back."
    assert refusal(reader, "list_prompts", project="garden")["hint"] == how


@pytest.mark.parametrize("item", ["Code Review", "CODE_review", "style guide", "Style_Guide", "WATER the-plants", "#1"])
def test_a_deleted_item_comes_back_by_another_spelling(own: Client, item: str) -> None:
    fill(own)
    assert read_rows(ok(own, "history", item=item), "version", "did")[0] == (2, "deleted")
    assert ok(own, "restore", item=item)["restored"]["changed"] is True


def test_a_mistyped_name_suggests_deleted_items(own: Client) -> None:
    fill(own)
    for tool in ("restore", "history"):
        assert refusal(own, tool, item="code-reveiw")["near"] == ["code-review"]
        assert refusal(own, tool, item="stile-guide")["near"] == ["style-guide"]
        assert refusal(own, tool, item="watr the plants")["near"] == ["#1"]


def test_links_to_what_does_not_exist_are_marked(own: Client) -> None:
    fill(own)
    ok(own, "add_prompts", prompts=[{"title": "Here", "content": "x"}])
    uris = "satchel://prompt/HERE satchel://prompt/code-review satchel://resource/style-guide satchel://task/1"
    links = [
        "satchel://prompt/HERE",
        "satchel://prompt/code-review (not found)",
        "satchel://resource/style-guide (not found)",
        "#1 (not found)",
    ]
    ok(own, "add_tasks", lines=[f"Look\n  {uris}"])
    ok(own, "add_prompts", prompts=[{"title": "Linking", "content": uris}])
    ok(own, "add_resources", resources=[{"name": "linking.md", "content": uris}])
    for tool, kind, arguments in (
        ("get_task", "task", {"task": 2}),
        ("get_prompt", "prompt", {"prompt": "linking"}),
        ("read_resource", "resource", {"resource": "linking.md"}),
    ):
        assert ok(own, tool, **arguments)[kind]["links"] == links
        assert "satchel://prompt/code-review (not found)" in text(own, tool, **arguments)


def test_a_restore_reports_what_it_changed(own: Client) -> None:
    ok(own, "add_tasks", lines=["One !high"])
    ok(own, "update_task", task=1, title="Two", priority="low", description="x" * 200)
    lines = ok(own, "restore", item="#1")["restored"]["lines"]
    assert lines == ["-title: Two", "-priority: low", "+title: One", "+priority: high", f"-{'x' * 100}…"]
    ok(own, "update_task", task=1, title="Two")
    assert text(own, "restore", item="#1") == (
        "Restored task #1 from version 3, now version 5.\n-title: Two\n+title: One"
    )


def test_hints_about_projects_name_tools_that_the_caller_may_use(
    own: Client, store: str, serve: Callable[..., Client]
) -> None:
    assert (
        refusal(own, "list_tasks", project="zzz")["hint"] == "Existing projects: default; add_project makes a new one."
    )
    reader = serve("satchel", store, NEWEST, "--user", ANN, "--read-only")
    assert refusal(reader, "list_tasks", project="zzz")["hint"] == "Existing projects: default."
