"""A day's work on the page, without script: prompts, documents, tasks, board, history, trash."""

import re
from html import unescape

from satchel.model import Holder, Scope, TaskPatch
from satchel.services import tasks
from satchel.storage.database import Database
from tests.page.visitor import Visitor, field_of, text_of

REVIEW = {
    "title": "Review a change",
    "content": "Review {{ file }} for {{ focus }}.\r\nList bugs first.",
    "tags": "review code",
    "description": "Finds bugs",
}


def test_a_prompt_with_arguments_is_added_filled_in_edited_compared_and_restored(ada: Visitor) -> None:
    shown = ada.post("/p/default/prompts/new", **REVIEW)
    assert (shown.status, ada.address) == (200, "/p/default/prompts/review-a-change")
    assert "Added “Review a change”." in text_of(shown)
    assert "Review {{ file }} for {{ focus }}.\nList bugs first." in shown.text

    filled = ada.post("/p/default/prompts/review-a-change/fill", file="<main>", focus="")
    assert "Review &lt;main&gt; for .\nList bugs first." in filled.text
    assert "Still needed: focus" in text_of(filled)

    done = {"file": "main.py", "focus": "bugs", ":fill": "1"}
    ada.post("/p/default/prompts/review-a-change/fill", **done)
    assert 'data-value="main.py"' in ada.get("/p/default/prompts/review-a-change/fill").text  # suggested from now on

    form = ada.get("/p/default/prompts/review-a-change/edit")
    changed = REVIEW | {"content": "Review {{ file }} twice.", "version": field_of(form, "version")}
    compared = ada.post("/p/default/prompts/review-a-change/edit", **changed, do="compare")
    assert "What saving would change" in text_of(compared)
    saved = ada.post("/p/default/prompts/review-a-change/edit", **changed, do="save")
    assert "Saved “Review a change”." in text_of(saved)

    versions = ada.get("/p/default/prompts/review-a-change/versions?old=1&new=2")
    assert "From version 1 to 2" in text_of(versions)
    back = ada.post("/p/default/prompts/review-a-change/restore", version="1")
    assert "Version 1 is the newest again." in text_of(back)
    assert "for {{ focus }}" in back.text


def test_saving_on_an_old_version_shows_what_they_and_you_changed_and_loses_nothing(ada: Visitor) -> None:
    ada.post("/p/default/prompts/new", **REVIEW)
    form = ada.get("/p/default/prompts/review-a-change/edit")
    theirs = REVIEW | {"content": "Theirs {{ file }}", "version": field_of(form, "version")}
    ada.post("/p/default/prompts/review-a-change/edit", **theirs)

    yours = theirs | {"content": "Yours {{ file }}"}
    conflict = ada.post("/p/default/prompts/review-a-change/edit", **yours)

    assert "It was changed while you edited, by you on this page." in text_of(conflict)
    assert "What they changed" in text_of(conflict) and "What you changed" in text_of(conflict)
    assert field_of(conflict, "version") == "2"
    assert "Theirs" in ada.get("/p/default/prompts/review-a-change").text
    again = ada.post("/p/default/prompts/review-a-change/edit", **yours | {"version": "2"})
    assert "Yours {{ file }}" in again.text


def test_a_form_with_a_mistake_is_shown_again_with_what_was_typed(ada: Visitor) -> None:
    wrong = ada.post("/p/default/prompts/new", **REVIEW | {"content": "Review {{ file", "title": "Mine"})
    assert "The text is not a valid template" in text_of(wrong) and 'value="Mine"' in wrong.text

    taken = ada.post("/p/default/prompts/new", **REVIEW)
    taken = ada.post("/p/default/prompts/new", **REVIEW)
    assert (
        "A prompt with the title “Review a change” already exists in project “default”. Choose another title."
        in text_of(taken)
    )


def test_uses_expiry_and_replacement_are_shown_and_set(ada: Visitor) -> None:
    ada.post("/p/default/prompts/new", **REVIEW)
    ada.post("/p/default/prompts/new", title="New review", content="Better")
    done = {"file": "main.py", "focus": "bugs", ":fill": "1"}
    ada.post("/p/default/prompts/review-a-change/fill", **done)
    assert "used 1 time, last just now" in text_of(ada.get("/p/default/prompts/review-a-change"))

    form = ada.get("/p/default/prompts/review-a-change/edit")
    age = {"version": field_of(form, "version"), "expires": "2026-01-31", "replaced_by": "New review"}
    saved = ada.post("/p/default/prompts/review-a-change/edit", **REVIEW | age, do="save")
    assert "Expired on 2026-01-31. Replaced by new-review ." in text_of(saved)
    assert 'href="/p/default/prompts/new-review"' in saved.text
    wrong = ada.post("/p/default/prompts/review-a-change/edit", **REVIEW | age | {"version": "2", "replaced_by": "x"})
    assert "x" in text_of(wrong) and 'value="2026-01-31"' in wrong.text

    ada.post("/projects", name="web")
    ada.post("/p/web/prompts/new", title="Other", content="x")
    elsewhere = REVIEW | age | {"version": "2", "replaced_by": "satchel://prompt/web/other"}
    assert 'href="/p/web/prompts/other"' in ada.post("/p/default/prompts/review-a-change/edit", **elsewhere).text

    ada.post("/p/default/documents/new", name="a.md", content="a")
    later = {"content": "a", "mime_type": "text/markdown", "version": "1", "expires": "2999-01-31"}
    saved = ada.post("/p/default/documents/a.md/edit", **later, do="save")
    assert "Expires on 2999-01-31." in text_of(saved)


def test_documents_are_added_shown_as_markdown_and_downloaded_in_a_sandbox(ada: Visitor) -> None:
    shown = ada.post(
        "/p/default/documents/new", name="notes.md", content="# Plan\n\n- one <b>x</b>\n", mime_type="", uri=""
    )
    assert ada.address == "/p/default/documents/notes.md"
    assert "<h1>Plan</h1>" in shown.text and "&lt;b&gt;x&lt;/b&gt;" in shown.text
    assert "satchel://resource/notes.md" in text_of(shown)

    raw = ada.get("/p/default/documents/notes.md/raw")
    assert raw.body == b"# Plan\n\n- one <b>x</b>\n"
    assert raw.header("content-type") == "application/octet-stream"
    assert raw.header("content-disposition") == "attachment; filename*=UTF-8''notes.md"
    assert raw.header("content-security-policy") == "sandbox; default-src 'none'"
    ada.post(
        "/p/default/documents/notes.md/edit", name="plan.md", content="# Plan", mime_type="text/markdown", version="1"
    )
    assert ada.address == "/p/default/documents/plan.md"


def test_tasks_are_added_by_lines_moved_on_the_board_noted_and_undone(ada: Visitor) -> None:
    added = ada.post("/tasks", lines="Write docs !high +docs\nFix build\nAsk Ada after:1", project="default")
    assert "Added #1 “Write docs”, #2 “Fix build”, #3 “Ask Ada”." in text_of(added)

    board = ada.get("/p/default/board")
    assert "Ready 2" in text_of(board) and "Blocked 1" in text_of(board)
    ada.post("/tasks", lines="In no project")
    assert "Ready 3" in text_of(ada.get("/p/default/board")) and "Ready 3" in text_of(ada.get("/board"))
    ada.post("/tasks/4/delete")
    moved = ada.post("/board/move", task="1", to="done", back="/board")
    assert "#1 “Write docs”: completed." in text_of(moved) and "Blocked 0" in text_of(moved)
    undone = ada.post("/undo", back="/board")
    assert "Took back: Write docs." in text_of(undone) and "Blocked 1" in text_of(undone)

    ada.post("/tasks", lines="\n".join(f"Many {number}" for number in range(22)))
    assert "Many 2 and 2 more." in text_of(ada.post("/undo", back="/board"))

    noted = ada.post("/tasks/1/notes", note="Half of it *is* there")
    assert "Half of it <em>is</em> there" in noted.text
    saved = ada.post("/tasks/1", title="Write all docs", priority="urgent", due="2030-01-31", tags="docs", version="3")
    assert "#1 Write all docs" in text_of(saved) and "due 2030-01-31" in text_of(saved)
    gone = ada.post("/tasks/2/delete")
    assert "#2 “Fix build” is in the trash." in text_of(gone)
    back = ada.post("/trash/restore", item="satchel://task/2")
    assert "“Fix build” is back." in text_of(back)


def test_a_person_is_asked_before_they_change_what_an_agent_holds(ada: Visitor, database: Database) -> None:
    ada.post("/tasks", lines="Paint\nSand")
    with database.read() as tx:
        scope = Scope(user=tx.value("select owner from tasks where number = 1"))
    form = ada.get("/tasks/1")
    edit = {
        "title": "Paint & <more>",
        "description": "a\nb",
        "priority": "high",
        "version": field_of(form, "version"),
    }
    for path, fields, done in (
        ("/tasks/1", edit, "Saved #1."),
        ("/board/move", {"task": ["1", "2"], "to": "urgent", "back": "/board"}, "2 tasks: urgent."),
        ("/tasks/1/status", {"to": "progress"}, "in progress."),
        ("/tasks/1/status", {"to": "done"}, "completed."),
        ("/tasks/1/delete", {}, "is in the trash."),
    ):
        with database.write(scope) as tx:
            tasks.update(tx, scope, 1, TaskPatch(status="pending"))
            tasks.claim(tx, scope, 1, Holder("cursor 3f2a", "k"), 30, takes_over=True)
        asked = ada.post(path, **fields)
        assert asked.status == 409 and f'action="{path}"' in asked.text
        assert "Task #1 is held by cursor 3f2a until " in text_of(asked)
        with database.read() as tx:
            held = tasks.find(tx, scope, 1)
        assert held.claim is not None and held.claim.holder == "cursor 3f2a"
        found = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', asked.text)
        again: dict[str, list[str]] = {}
        for name, value in found:
            again.setdefault(name, []).append(unescape(value))
        assert done in text_of(ada.post(path, **again)), path
    noted = ada.post("/tasks/2/notes", note="A note needs no question")
    assert noted.status == 200


def test_search_activity_and_projects(ada: Visitor) -> None:
    ada.post("/projects", name="web")
    ada.post("/p/web/prompts/new", **REVIEW)
    ada.post("/tasks", lines="Review the build", project="web")

    found = ada.get("/?q=review")
    assert "Review a change" in text_of(found) and "Review the build" in text_of(found)
    activity = ada.get("/activity?kind=prompt")
    assert "prompt Review a change added in web you on this page" in text_of(activity)
    renamed = ada.post("/projects/web/rename", name="site")
    assert "Project web is called site now." in text_of(renamed)
    assert "1 prompt · 0 documents · 1 open task " in text_of(ada.get("/projects"))
    question = "Delete site with its 1 prompt and 0 documents Its tasks stay, in no project: 1 open."
    assert question in text_of(ada.get("/projects"))
    deleted = ada.post("/projects/site/delete")
    assert "Project site is in the trash. Its tasks are in no project now." in text_of(deleted)
    assert ada.get("/p/site/prompts").status == 404
    assert "is back" in text_of(ada.post("/trash/restore", item="satchel://project/site"))


def test_a_token_has_a_name_and_a_mistyped_expiry_makes_none(ada: Visitor) -> None:
    made = ada.post("/settings/tokens", name="laptop", expires="90d")
    assert "It is shown only now: satchel_" in text_of(made)
    assert " laptop read and write all " in text_of(ada.get("/settings"))
    refused = ada.post("/settings/tokens", name="phone", expires="90 dayz")
    assert "“90 dayz”" in text_of(refused) and "shown only now" not in text_of(refused)
    assert "phone" not in text_of(ada.get("/settings"))


def test_what_does_not_exist_is_a_page_with_a_hint(ada: Visitor) -> None:
    for path in (
        "/nothing",
        "/p/none/prompts",
        "/p/default/prompts/none",
        "/tasks/99",
        "/tasks/x",
        "/p/default/x/y/versions",
    ):
        answer = ada.get(path)
        assert (answer.status, answer.header("content-type")) == (404, "text/html; charset=utf-8"), path
        assert "That did not work" in text_of(answer) or "no such page" in text_of(answer)


def test_subtasks_and_reviews_are_shown_and_a_person_returns_and_accepts(ada: Visitor) -> None:
    assert "People review the tasks that agents complete in project default." in text_of(
        ada.post("/projects/default/review", review="people")
    )
    assert "people review what agents complete" in text_of(ada.get("/projects"))
    ada.post("/tasks", lines="Launch\n  - [?] Build\nTest", project="default")
    shown = ada.get("/tasks/1")
    assert "subtasks 0/1" in text_of(shown) and "Subtasks #2 Build in #1 in review" in text_of(shown)
    assert "#1 Launch subtasks 0/1" in text_of(ada.get("/tasks?status=open"))
    assert "#2 Build in #1 in review" in text_of(ada.get("/board"))
    assert "Test" not in text_of(ada.get("/tasks?status=review"))

    returned = ada.post("/tasks/2/status", to="ready", note="Test it first.")
    assert "Accept" not in text_of(returned) and "Test it first." in text_of(returned)
    form = ada.get("/tasks/3")
    task = {"title": "Test", "project": "default", "priority": "normal", "version": field_of(form, "version")}
    assert 'value="#1"' in ada.post("/tasks/3", **task, parent="#1").text
    assert "a subtask of itself: #1 → #3 → #1" in text_of(ada.post("/tasks/1", **task, parent="3"))
    assert "#2 “Build”: completed." in text_of(ada.post("/tasks/2/status", to="done"))
    assert "subtasks 1/2" in text_of(ada.get("/tasks/1"))
