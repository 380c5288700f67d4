"""A day's work on the page: by keyboard, beside an agent, without script."""

from playwright.sync_api import expect

from tests.browser.conftest import OpenPage
from tests.support.http import HttpServer


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
