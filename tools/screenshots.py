"""Make the pictures in docs/screenshots from example data, in a real Chromium: `make screenshots`."""

import html
import json
import os
import sys
import tempfile
from base64 import b64encode
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

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
    """Add the example data: a day of an agent and a person."""
    CLIENT["name"] = "claude-code"
    server.call("add_prompts", {"prompts": PROMPTS})
    server.call("add_resources", {"resources": [{"name": "api.md", "content": "# API\n\nOne endpoint, `/mcp`.\n"}]})
    server.call("add_tasks", {"lines": TASKS})
    server.call("claim_task", {"task": "#2"})
    server.call("edit_text", {"item": "review-a-change", "append": "\nBe kind."})
    server.call("update_task", {"task": "#1", "note": "The part about tokens is done."})


def take(page: Page, url: str) -> None:
    """Take the pictures of single screens."""
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


SESSION: list[tuple[str, dict[str, Any]]] = [
    ("claim_task", {"task": "#4"}),
    ("search", {"query": "what do imports cost"}),
    ("read_resource", {"resource": "imports.md", "heading": "Price"}),
    ("complete_task", {"task": "#4", "note": "Ben has his answer."}),
    ("claim_task", {}),
]
DOCUMENT = "# Imports\n\n## Formats\n\nCSV and JSON.\n\n## Price\n\nThe first 1,000 rows are free.\n"
MORE_TASKS = ["Sketch the page about prices +web", "Thank the testers !low", "Move the blog due:2026-12-12"]
SIDE_BY_SIDE = """
<style>
  body { margin: 0; display: flex; background: #16201f; font: 13px/1.5 'DejaVu Sans Mono', monospace; color: #d7e0de; }
  section { flex: none; height: 560px; overflow: hidden; box-sizing: border-box; }
  h1 { margin: 0; padding: 9px 20px; background: #263432; color: #b7c6c3; font: 13px 'DejaVu Sans', sans-serif; }
  pre { margin: 0 0 14px 20px; white-space: pre-wrap; font: inherit; }
  .calls { padding: 18px 20px; } .call { color: #7fd1c3; } .call span { color: #8fa6a2; } img { display: block; }
</style>
<section style="width: 480px"><h1>An agent, over MCP</h1><div class="calls">{session}</div></section>
<section style="width: 780px"><h1>The page, at the same time</h1><img src="{picture}" width="780"></section>
"""


def take_side_by_side(browser: Browser, server: HttpServer) -> None:
    """Take an agent's calls with their answers, and the board after them, as one picture."""
    server.call("add_resources", {"resources": [{"name": "imports.md", "content": DOCUMENT}]})
    server.call("add_tasks", {"lines": MORE_TASKS})
    server.call("claim_task", {"task": "#1", "release": True})
    session = "".join(show_call(tool, arguments, server.call(tool, arguments)) for tool, arguments in SESSION)
    board = browser.new_context(viewport={"width": 1000, "height": 674}, device_scale_factor=1.5).new_page()
    board.goto(f"{server.url}/board")
    picture = f"data:image/png;base64,{b64encode(board.screenshot()).decode()}"
    both = browser.new_context(viewport={"width": 1260, "height": 560}, device_scale_factor=2).new_page()
    both.set_content(SIDE_BY_SIDE.replace("{session}", session).replace("{picture}", picture))
    save(both, "agent-and-page")


def show_call(tool: str, arguments: dict[str, Any], answer: dict[str, Any]) -> str:
    """Return a call and its answer as a terminal shows them; of a claim the first two lines."""
    text = answer["content"][0]["text"]
    if tool == "claim_task":
        text = "\n".join(text.splitlines()[:2])
    given = html.escape(json.dumps(arguments, ensure_ascii=False)) if arguments else ""
    return f'<div class="call">● {tool} <span>{given}</span></div><pre>{html.escape(text.strip())}</pre>'


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
            take_side_by_side(browser, server)
            browser.close()


if __name__ == "__main__":
    main()
