"""The first three minutes of a newcomer: from the address that the server prints, by what the screens say alone."""

import re
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import OpenPage
from tests.support.http import HttpServer


def test_a_newcomer_finds_their_way_without_reading_anything(tmp_path: Path, open_page: OpenPage) -> None:
    with HttpServer(environment={"SATCHEL_HOME": str(tmp_path)}) as server:  # as `make run` starts it
        address = re.search(r"open (http://\S+) in a browser", server.stderr)
        assert address
        page = open_page(permissions=["clipboard-read", "clipboard-write"])
        page.goto(address[1])

        page.get_by_role("link", name="New prompt").click()
        page.get_by_label("Title").fill("Explain")
        page.get_by_label("Text", exact=True).fill("Explain {{ topic }} in five sentences.")
        expect(page.get_by_role("group", name="Arguments")).to_contain_text("topic")
        page.get_by_role("button", name="Save").click()
        page.get_by_role("link", name="Fill in").click()
        page.get_by_label("topic").fill("tides")
        expect(page.locator("#filled")).to_have_text("Explain tides in five sentences.")
        page.get_by_role("button", name="Copy").click()
        expect(page.get_by_text("Copied.")).to_be_visible()
        assert page.evaluate("navigator.clipboard.readText()") == "Explain tides in five sentences."

        page.get_by_role("link", name="Board").click()
        page.get_by_label("New tasks, one a line").fill("First\nSecond\nThird")
        page.get_by_role("button", name="Add").click()
        expect(page.get_by_role("region", name="Ready")).to_contain_text("Third")
        page.get_by_label("Move task 1").click()
        page.get_by_role("button", name="In progress").click()
        expect(page.get_by_role("region", name="In progress")).to_contain_text("First")

        server.call("complete_task", {"task": "#2"})
        expect(page.get_by_role("region", name="Done")).to_contain_text("Second")
        page.get_by_role("link", name="Activity").click()
        change = page.locator(".feed li").first
        expect(change).to_contain_text("completed")
        change.get_by_role("button", name="Undo").click()
        expect(page.get_by_role("status").first).to_contain_text("Took back: Second.")
        page.get_by_role("link", name="Board").click()
        expect(page.get_by_role("region", name="Ready")).to_contain_text("Second")
        page.close()  # before the server, which it would miss
