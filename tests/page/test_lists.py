"""Lists that are bounded whatever the store holds: counts, tags, pins, the feed, the search, the clients."""

from pathlib import Path

from satchel.clients.table import CLIENTS
from satchel.model import PromptDraft, Scope
from satchel.page.connect import describe
from satchel.page.markup import describe_count
from satchel.services import projects, prompts
from satchel.storage.database import open_database
from tests.page.visitor import Visitor, text_of
from tests.support.command import run

ADA = Scope(user="550e8400-e29b-41d4-a716-446655440000")


def test_the_most_frequent_of_many_tags_are_listed_and_counts_stop_at_a_limit(store: str) -> None:
    database = open_database(store)
    projects.require(database, ADA)
    with database.write(ADA) as tx:
        for number in range(12):
            tags = ["all", f"t{number:02}"]
            prompts.add(tx, ADA, PromptDraft(title=f"P{number}", content="x", tags=tags))
    with database.read(ADA) as tx:
        few = prompts.list_tags(tx, ADA, 20)
        many = prompts.list_tags(tx, ADA, 3)
        counts = [counts for _, counts in projects.list_all(tx, ADA, 5)]
    assert [(one.name, one.prompts) for one in few] == [("all", 12), *((f"t{number:02}", 1) for number in range(12))]
    assert [(one.name, one.prompts) for one in many] == [("all", 12), ("t00", 1), ("t01", 1)]
    assert [one.prompts for one in counts] == [5]
    assert (describe_count(1000), describe_count(1001)) == ("1,000", "1,000+")
    database.close()


def test_a_search_finds_tasks_of_no_project_once_and_narrows_to_a_project(ada: Visitor) -> None:
    ada.post("/projects", name="web")
    ada.post("/p/web/prompts/new", title="Harbour guide", content="x")
    ada.post("/tasks", lines="Harbour dues", project="")
    everywhere = text_of(ada.get("/?q=harbour"))
    assert everywhere.count("Harbour guide") == everywhere.count("Harbour dues") == 1
    inside = text_of(ada.get("/?q=harbour&project=default"))
    assert "Harbour guide" not in inside and "Harbour dues" not in inside


def test_tasks_are_narrowed_by_due_day_and_priority(ada: Visitor) -> None:
    ada.post("/tasks", lines="Late !high due:2020-01-01\nFar !high due:2999-01-01\nLow !low due:2020-01-01")
    assert "due=overdue" in ada.get("/tasks").text
    for query, found in (
        ("due=overdue", {"Late", "Low"}),
        ("due=overdue&priority=high", {"Late"}),
        ("due=week", set()),
    ):
        shown = text_of(ada.get(f"/tasks?{query}"))
        assert {title for title in ("Late", "Far", "Low") if f" {title} " in shown} == found, query


def test_a_prompt_is_pinned_and_unpinned(ada: Visitor) -> None:
    ada.post("/p/default/prompts/new", title="At hand", content="x", tags="code")
    assert "“At hand” is on the first page." in text_of(ada.post("/p/default/prompts/at-hand/pin"))
    assert "Pinned At hand" in text_of(ada.get("/"))
    assert "no longer on the first page" in text_of(ada.post("/p/default/prompts/at-hand/pin"))
    assert "Pinned" not in text_of(ada.get("/"))


def test_a_version_of_a_prompt_gets_a_label_and_loses_it(ada: Visitor) -> None:
    ada.post("/p/default/prompts/new", title="Tone", content="Be brief.")
    path = "/p/default/prompts/tone"
    ada.post(f"{path}/edit", title="Tone", content="Be kind.", version="1")
    labelled = text_of(ada.post(f"{path}/label", label="production", version="1"))
    assert "Label production is on version 1 now." in labelled
    assert "production: version 1 Remove" in text_of(ada.get(path))
    assert "1 production" in text_of(ada.get(f"{path}/versions"))
    assert "can have up to 64 letters" in text_of(ada.post(f"{path}/label", label="a b"))
    removed = text_of(ada.post(f"{path}/label", label="production", do="remove"))
    assert "Removed label production." in removed and "production: version" not in removed


def test_a_prompt_that_includes_a_document_is_filled_in(ada: Visitor) -> None:
    gone = text_of(ada.post("/p/default/prompts/new", title="Letter", content='{% include "tone.md" %}'))
    assert "there is no document or prompt 'tone.md' to include" in gone
    ada.post("/p/default/documents/new", name="tone.md", content="Be {{ tone }}.")
    ada.post("/p/default/prompts/new", title="Letter", content='Dear Ann. {% include "tone.md" %}')
    path = "/p/default/prompts/letter"
    assert "Dear Ann. Be kind." in text_of(ada.post(f"{path}/fill", tone="kind"))
    assert "Letter" in text_of(ada.get("/p/default/documents/tone.md"))  # as what refers to it
    said = text_of(ada.post("/p/default/documents/tone.md/delete"))
    assert "These prompts include it and cannot be filled in without it: “Letter”." in said
    assert "Line 1: there is no document or prompt 'tone.md'" in text_of(ada.get(f"{path}/fill"))


def test_what_the_page_shows_is_what_the_command_prints(tmp_path: Path) -> None:
    url = "https://satchel.example/mcp"
    for client in (one for one in CLIENTS if one.remote is not None):
        found = describe(client, url, "SATCHEL_TOKEN")
        printed = run(*found.command.split()[1:], "--print", cwd=tmp_path)
        assert printed.returncode == 0 and found.lines in printed.stdout.decode(), client.name
