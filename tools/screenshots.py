"""Makes the pictures in docs/screenshots from example data, in a real Chromium: `make screenshots`."""

import os
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.support.http import HttpServer  # noqa: E402 - after the path is set
from tests.support.stdio import CLIENT  # noqa: E402
from tools.small_png import shrink  # noqa: E402

FOLDER = ROOT / "docs" / "screenshots"
SIZE = {"width": 1200, "height": 640}
NARROW = {"width": 390, "height": 640}
PROMPTS = [
    {
        "title": "Review a change",
        "content": "Review {{ file }} for {{ focus }}.\n{% if tone %}Be {{ tone }}.{% endif %}\n\nList bugs first, "
        "each with its line and a failing example. Then say what is good.",
        "description": "Finds bugs before style",
        "tags": ["review", "code", "pinned"],
        "arguments": [
            {"name": "file", "description": "The file, or a diff", "required": True},
            {"name": "focus", "required": True, "values": ["bugs", "security", "speed"], "open": True},
            {"name": "tone"},
        ],
    },
    {
        "title": "Release notes",
        "content": "Write notes for {{ version }} from this log:\n{{ log }}",
        "tags": ["writing"],
    },
    {"title": "Explain to a newcomer", "content": "Explain {{ topic }} in five short sentences.", "tags": ["writing"]},
]
TASKS = [
    "Write the guide for teams !high due:2026-12-01 +docs",
    "Ask Ada about the logo",
    "Publish 1.0 !urgent after:1",
    "Answer the mail about imports +support",
    "[x] Fix the flaky test +ci",
]


def fill(server: HttpServer) -> None:
    """The example data: what an agent and a person did on one day."""
    CLIENT["name"] = "claude-code"
    server.call("add_prompts", {"prompts": PROMPTS})
    server.call("add_resources", {"resources": [{"name": "api.md", "content": "# API\n\nOne endpoint, `/mcp`.\n"}]})
    server.call("add_tasks", {"lines": TASKS})
    server.call("claim_task", {"task": "#2"})
    server.call("edit_text", {"item": "review-a-change", "append": "\nBe kind."})
    server.call("update_task", {"task": "#1", "note": "The part about tokens is done."})


def take(page: Page, url: str) -> None:
    """Every picture."""
    for name, path in {
        "home": "/",
        "board": "/board",
        "activity": "/activity",
        "prompts": "/p/default/prompts",
    }.items():
        page.goto(url + path)
        save(page, name)
    page.goto(f"{url}/p/default/prompts/review-a-change/fill")
    page.fill("#arg-file", "billing/invoice.py")
    page.fill("#arg-focus", "bugs")
    page.locator("#filled").get_by_text("billing/invoice.py for bugs").wait_for()
    save(page, "fill")
    page.goto(f"{url}/p/default/prompts/review-a-change/versions")
    save(page, "versions")


def save(page: Page, name: str) -> None:
    """Take one picture."""
    (FOLDER / f"{name}.png").write_bytes(shrink(page.screenshot()))


def main() -> None:
    """Start a server on an empty store, fill it, and take the pictures."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        store = str(Path(folder) / "satchel.db")
        environment = {"SATCHEL_HOME": folder}
        with HttpServer("--database", store, environment=environment) as server:
            fill(server)
            browser = playwright.chromium.launch(
                executable_path=os.environ["SATCHEL_CHROMIUM"], args=["--disable-gpu", "--disable-lcd-text"]
            )
            page = browser.new_context(viewport=SIZE, color_scheme="light").new_page()
            take(page, server.url)
            dark = browser.new_context(viewport=SIZE, color_scheme="dark").new_page()
            dark.goto(f"{server.url}/board")
            save(dark, "board-dark")
            narrow = browser.new_context(viewport=NARROW, color_scheme="light").new_page()
            narrow.goto(f"{server.url}/")
            save(narrow, "home-narrow")
            browser.close()


if __name__ == "__main__":
    main()
