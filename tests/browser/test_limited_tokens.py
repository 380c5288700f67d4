"""Read-only tokens and tokens of some projects, in the browser: what they may not do is not offered, and refused."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenPage
from tests.browser.people import Guarded, serve_guarded

SCREENS = (
    *("/", "/?q=plan", "/p/open/prompts", "/p/open/prompts/plan", "/p/open/prompts/plan/versions", "/p/open/documents"),
    *("/p/open/documents/notes.md", "/tasks", "/tasks/1", "/tasks/1/versions", "/board", "/p/open/board", "/activity"),
    *("/trash", "/projects", "/settings", "/connect", "/libraries"),
)
OFFERED = "[...document.querySelectorAll('form[method=post]')].map((form) => new URL(form.action).pathname)"
FORCE = """(path) => fetch(path, { method: "POST", redirect: "manual", body: new URLSearchParams({
  title: "Forced", content: "x", name: "forced", lines: "Forced", note: "Forced", to: "done", task: "1", version: "1",
  item: "satchel://task/2" }) }).then((answer) => answer.status)"""
FORCED = (
    *("/p/open/prompts/plan/delete", "/p/open/prompts/plan/pin", "/p/open/prompts/plan/restore", "/board/move"),
    *("/p/open/documents/notes.md/delete", "/tasks/1", "/tasks/1/status", "/tasks/1/notes", "/tasks/1/delete", "/undo"),
    *("/trash/restore", "/projects/open/delete", "/projects/open/rename", "/settings/tokens"),
)


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Guarded]:
    """Two projects with things in them, and something in the trash."""
    with serve_guarded(tmp_path) as guarded:
        server = guarded.server
        for name in ("open", "closed"):
            server.call("add_project", {"name": name})
            server.call("add_prompts", {"project": name, "prompts": [{"title": "Plan", "content": f"Plan of {name}"}]})
        document = {"name": "notes.md", "content": "# Notes"}
        server.call("add_resources", {"project": "open", "resources": [document]})
        server.call("add_tasks", {"project": "open", "lines": ["Plan it", "Gone"]})
        server.call("add_tasks", {"project": "closed", "lines": ["Secret task"]})
        server.call("delete", {"items": ["#2"]})
        yield guarded


def test_a_read_only_token_is_offered_no_change_and_can_force_none(guarded: Guarded, open_page: OpenPage) -> None:
    page = open_page()
    guarded.log_in(page, guarded.make_token(is_read_only=True))
    before = str(guarded.server.call("history", {}))
    for screen in SCREENS:
        page.goto(guarded.url + screen)
        expect(page.get_by_text("Read-only: you see everything here")).to_be_visible()
        offered = {path for path in page.evaluate(OFFERED) if not path.endswith("/end")}
        assert offered == {"/logout"}, screen
        page.keyboard.press("z")
        page.keyboard.press("d")
    assert page.locator("[draggable=true]").count() == 0
    page = page.context.new_page()  # whose console may tell of refusals
    page.goto(guarded.url)
    statuses = {path: page.evaluate(FORCE, path) for path in FORCED}
    assert statuses == {path: 404 if path == "/settings/tokens" else 403 for path in FORCED}
    assert str(guarded.server.call("history", {})) == before


def test_a_token_of_one_project_sees_and_reaches_no_other(guarded: Guarded, open_page: OpenPage) -> None:
    page = open_page()
    guarded.log_in(page, guarded.make_token(projects=["open"]))
    for screen in SCREENS:
        page.goto(guarded.url + screen)
        shown = page.content()
        assert "closed" not in shown.replace('class="closed', "") and "Secret" not in shown, screen
    page.goto(f"{guarded.url}/p/open/prompts")
    page.keyboard.press("c")
    page.get_by_label("Title").fill("Mine")
    page.get_by_label("Text", exact=True).fill("x")
    page.get_by_role("button", name="Save").click()
    page.wait_for_url("**/p/open/prompts/mine")
    page.goto(f"{guarded.url}/tasks")
    page.get_by_label("New tasks, one a line").fill("Also mine")
    page.get_by_role("button", name="Add").click()
    expect(page.locator(".tasks")).to_contain_text("Also mine")
    assert page.locator("form[action='/projects']").count() == 0
