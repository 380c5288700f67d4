"""Every job of a day by keyboard alone: no pointer touches the page."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenPage
from tests.browser.people import Guarded, command, serve_guarded, tab_to

NO_POINTER = "addEventListener('pointerdown', () => sessionStorage.setItem('pointer', 'used'), true)"


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Guarded]:
    with serve_guarded(tmp_path) as guarded:
        yield guarded


@pytest.fixture
def page(guarded: Guarded, open_page: OpenPage) -> Iterator[Page]:
    """Yield a person who has logged in."""
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    page.add_init_script(NO_POINTER)
    guarded.log_in(page, guarded.make_token())
    yield page
    assert page.evaluate("sessionStorage.getItem('pointer')") is None


def go(page: Page, key: str, path: str) -> None:
    """Press g and a key."""
    page.keyboard.press("g")
    page.keyboard.press(key)
    page.wait_for_url(f"**{path}")


def add_prompt(page: Page) -> None:
    go(page, "p", "/p/default/prompts")
    page.keyboard.press("c")
    expect(page.locator("#title")).to_be_focused()
    page.keyboard.type("Review a change")
    page.keyboard.press("Tab")
    page.keyboard.type("Review {{ file }}.")
    expect(page.locator("#check")).to_contain_text("file")
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/prompts/review-a-change")


def test_prompts_are_added_found_filled_in_copied_edited_compared_and_restored(page: Page) -> None:
    add_prompt(page)
    page.keyboard.press("r")
    expect(page.locator("#arg-file")).to_be_focused()
    page.keyboard.type("main.py")
    expect(page.locator("#filled")).to_have_text("Review main.py.")
    page.keyboard.press("Escape")
    page.keyboard.press("y")
    expect(page.locator("#live")).to_contain_text("Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == "Review main.py."

    page.keyboard.press("/")
    page.keyboard.type("review")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text("Found for “review”")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/prompts/review-a-change")

    page.keyboard.press("e")
    expect(page.locator("#content")).to_be_focused()
    page.keyboard.press("Control+End")
    page.keyboard.type(" Twice.")
    tab_to(page, "button[value=compare]")
    page.keyboard.press("Enter")
    expect(page.get_by_role("table", name="What saving would change")).to_contain_text("Twice.")
    tab_to(page, "#content")
    page.keyboard.press("Control+Enter")
    expect(page.locator("pre#content")).to_have_text("Review {{ file }}. Twice.")

    command(page, "Versions")
    page.wait_for_url("**/versions")
    tab_to(page, "form[action$=restore] button")
    page.keyboard.press("Enter")
    expect(page.locator("pre#content")).to_have_text("Review {{ file }}.")
    command(page, "Pin")
    expect(page.get_by_role("status").first).to_contain_text("is on the first page.")
    go(page, "h", "/")
    expect(page.locator("#main")).to_contain_text("Pinned")


def test_tasks_are_added_moved_completed_noted_and_blocked(page: Page) -> None:
    go(page, "b", "/board")
    for title in ("First", "Second", "Third"):
        page.keyboard.press("q")
        page.keyboard.type(title)
        page.keyboard.press("Control+Enter")
        expect(page.locator("[data-column=ready]")).to_contain_text(title)
    page.keyboard.press("j")
    page.keyboard.press("]")
    expect(page.locator("[data-column=progress]")).to_contain_text("First")
    page.keyboard.press("j")
    page.keyboard.press("4")
    expect(page.locator("#card-2")).to_contain_text("urgent")
    for _ in range(2):  # both that are ready
        page.keyboard.press("j")
        page.keyboard.press("x")
    expect(page.locator("#live")).to_contain_text("2 selected.")
    page.keyboard.press("d")
    expect(page.locator("[data-column=done]")).to_contain_text("Third")
    expect(page.locator("[data-column=done]")).to_contain_text("Second")
    page.keyboard.press("z")
    expect(page.locator("[data-column=ready]")).to_contain_text("Third")
    expect(page.locator("[data-column=ready]")).to_contain_text("Second")

    go(page, "t", "/tasks")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/tasks/2")
    tab_to(page, "#note")
    page.keyboard.type("Nearly there.")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".note")).to_contain_text("Nearly there.")
    page.keyboard.press("e")
    expect(page.locator("#title")).to_be_focused()
    tab_to(page, "#blocked_by")
    page.keyboard.type("#3")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#main")).to_contain_text("Blocked by")
    expect(page.locator("#main")).to_contain_text("#3 Third")


def test_changes_are_undone_and_deleted_things_restored(page: Page) -> None:
    add_prompt(page)
    command(page, "Delete")
    expect(page.get_by_role("status").first).to_contain_text("is in the trash.")
    command(page, "Trash")
    page.wait_for_url("**/trash")
    tab_to(page, "form[action='/trash/restore'] button")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").first).to_contain_text("“Review a change” is back.")
    go(page, "a", "/activity")
    tab_to(page, ".feed form button")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").first).to_contain_text("Took back: Review a change.")


def test_projects_tokens_keys_and_the_way_out(page: Page) -> None:
    command(page, "Projects")
    page.wait_for_url("**/projects")
    page.keyboard.press("c")
    page.keyboard.type("web")
    page.keyboard.press("Enter")
    page.wait_for_url("**/p/web/prompts")
    command(page, "Project default")
    page.wait_for_url("**/p/default/prompts")

    command(page, "Settings")
    page.wait_for_url("**/settings")
    tab_to(page, "fieldset button.main")
    page.keyboard.press("Enter")
    expect(page.locator("#secret")).to_contain_text("satchel_")
    tab_to(page, "button.danger")
    page.keyboard.press("Enter")  # the newest, which was just made
    expect(page.get_by_role("status").first).to_contain_text("The token is revoked")

    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("card to the column before, after")
    page.keyboard.press("Escape")
    tab_to(page, "#keys-off")
    page.keyboard.press("Space")
    expect(page.locator("#keys-off")).to_be_checked()
    page.keyboard.press("Tab")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_have_count(0)
    command(page, "Log out")  # keys with Control still work
    page.wait_for_url(re.compile(r"/login(\?|$)"))  # the end of its stream may reload the page first
