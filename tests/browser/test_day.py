"""A day's work on the page: by keyboard, beside an agent, without script."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from satchel import clock
from satchel.auth import tokens
from satchel.storage.database import open_database
from tests.browser.conftest import OpenPage
from tests.support.http import HttpServer


def add_prompt(page: Page) -> None:
    """Add a prompt with an argument, by keyboard alone."""
    page.keyboard.press("c")
    page.wait_for_url("**/prompts/new")
    expect(page.locator("#title")).to_be_focused()
    page.keyboard.type("Review a change")
    page.keyboard.press("Tab")
    page.keyboard.type("Review {{ file }} for {{ focus }}.")
    expect(page.locator("#check")).to_contain_text("focus")
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/prompts/review-a-change")


def test_a_newcomer_adds_fills_in_copies_moves_and_undoes_by_keyboard_alone(
    server: HttpServer, open_page: OpenPage
) -> None:
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    page.goto(server.url)
    page.keyboard.press("g")
    page.keyboard.press("p")
    page.wait_for_url("**/p/default/prompts")
    add_prompt(page)

    page.keyboard.press("r")
    page.wait_for_url("**/fill")
    expect(page.locator("#arg-file")).to_be_focused()
    page.keyboard.type("main.py")
    page.keyboard.press("Tab")
    page.keyboard.type("bugs")
    expect(page.locator("#filled")).to_have_text("Review main.py for bugs.")
    page.keyboard.press("Escape")
    page.keyboard.press("y")
    expect(page.locator("#live")).to_contain_text("Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == "Review main.py for bugs."

    page.keyboard.press("g")
    page.keyboard.press("b")
    page.wait_for_url("**/board")
    for title in ("First", "Second", "Third"):
        page.keyboard.press("q")
        page.keyboard.type(title)
        page.keyboard.press("Control+Enter")
        expect(page.locator("[data-column=ready]")).to_contain_text(title)
    page.keyboard.press("j")
    page.keyboard.press("]")
    expect(page.locator("[data-column=progress]")).to_contain_text("First")
    page.locator("#card-1 a").focus()
    page.keyboard.press("]")
    expect(page.locator("[data-column=done]")).to_contain_text("First")
    page.keyboard.press("z")
    expect(page.locator("[data-column=done]")).not_to_contain_text("First")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("card to the column before, after")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.keyboard.type("activ")
    page.keyboard.press("Enter")
    page.wait_for_url("**/activity")


def test_what_an_agent_changes_appears_in_every_tab_and_can_be_undone(server: HttpServer, open_page: OpenPage) -> None:
    first = open_page()
    second = open_page(first.context)
    first.goto(f"{server.url}/tasks")
    second.goto(f"{server.url}/board")
    expect(second.locator("body")).to_be_visible()

    server.call("add_tasks", {"lines": ["From the agent"]})

    expect(first.locator("#main")).to_contain_text("From the agent")
    expect(second.locator("#main")).to_contain_text("From the agent")
    first.goto(f"{server.url}/activity")
    first.get_by_role("button", name="Undo").first.click()
    expect(first.get_by_role("status").first).to_contain_text("Took back: From the agent.")
    expect(second.locator("#main")).not_to_contain_text("From the agent")


def test_a_form_that_is_edited_is_never_replaced(server: HttpServer, open_page: OpenPage) -> None:
    server.call("add_prompts", {"prompts": [{"title": "Plan", "content": "one\ntwo"}]})
    page = open_page()
    page.goto(f"{server.url}/p/default/prompts/plan/edit")
    page.fill("#content", "one\nmine")

    server.call("update_prompt", {"prompt": "plan", "content": "theirs\ntwo"})

    expect(page.locator("#changed")).to_contain_text("changed this while you edit.")
    expect(page.locator("#content")).to_have_value("one\nmine")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("It was changed while you edited")
    expect(page.locator("#content")).to_have_value("one\nmine")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("pre#content")).to_have_text("one\nmine")


def test_cards_are_dragged(server: HttpServer, open_page: OpenPage) -> None:
    server.call("add_tasks", {"lines": ["Drag me", "Leave me"]})
    page = open_page()
    page.goto(f"{server.url}/board")
    page.drag_and_drop("#card-1", "[data-column=done]")
    expect(page.locator("[data-column=done]")).to_contain_text("Drag me")
    expect(page.locator("[data-column=ready]")).to_contain_text("Leave me")


def test_the_same_works_without_script(server: HttpServer, open_page: OpenPage) -> None:
    page = open_page(java_script_enabled=False)
    page.goto(server.url)
    page.get_by_role("link", name="New prompt").click()
    page.fill("#title", "Plain")
    page.fill("#content", "Say {{ what }}.")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("link", name="Fill in").click()
    page.fill("#arg-what", "hello")
    page.get_by_role("button", name="Fill in").click()
    expect(page.locator("#filled")).to_have_text("Say hello.")
    page.get_by_role("link", name="Tasks").click()
    page.fill("#lines", "A task")
    page.get_by_role("button", name="Add").click()
    page.get_by_role("link", name="Board").first.click()
    page.get_by_label("Move task 1").click()
    page.get_by_role("button", name="Done").click()
    expect(page.locator("[data-column=done]")).to_contain_text("A task")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("[data-column=ready]")).to_contain_text("A task")


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[tuple[HttpServer, str, str]]:
    """Yield a server that asks for tokens, and one of its tokens: its id and its secret."""
    store = str(tmp_path / "satchel.db")
    database = open_database(store)
    with database.write() as tx:
        token, secret = tokens.create(tx, user=clock.new_id())
    database.close()
    with HttpServer("--database", store, "--auth", "token") as server:
        yield server, token.id, secret


def test_login_and_logout(guarded: tuple[HttpServer, str, str], open_page: OpenPage) -> None:
    server, _, secret = guarded
    page = open_page()
    page.goto(f"{server.url}/tasks")
    page.get_by_label("Token").fill(secret)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/tasks")
    page.get_by_role("button", name="Log out").click()
    page.wait_for_url("**/login")
    page.goto(f"{server.url}/tasks")
    page.wait_for_url("**/login**")
