"""Every screen, light and dark, wide and narrow: axe finds nothing, and nothing is wider than the screen."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.browser.conftest import OpenPage
from tests.support.http import HttpServer

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
SCREENS = (
    *("/", "/?q=review", "/p/default/prompts", "/p/default/prompts/new", "/p/default/prompts/review"),
    *(f"/p/default/prompts/review/{part}" for part in ("edit", "fill", "versions")),
    *("/p/default/documents", "/p/default/documents/new", "/p/default/documents/notes.md"),
    *("/p/default/documents/notes.md/edit", "/tasks", "/tasks/1", "/tasks/1/versions", "/board", "/p/default/board"),
    *("/libraries", "/activity", "/trash", "/projects", "/connect", "/settings"),
)


def axe() -> str:
    """Return the source of axe-core."""
    package = find_spec("axe_playwright_python")
    assert package and package.submodule_search_locations
    return next(Path(package.submodule_search_locations[0]).rglob("axe.min.js")).read_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 320])
def test_every_screen_is_accessible(server: HttpServer, open_page: OpenPage, scheme: str, width: int) -> None:
    review = {
        "title": "Review",
        "content": "Review {{ file }}\n" + "long " * 60,
        "tags": ["code"],
        "description": "Finds bugs",
    }
    server.call("add_prompts", {"prompts": [review]})
    server.call("update_prompt", {"prompt": "review", "content": "Review {{ file }} well"})
    server.call(
        "add_resources", {"resources": [{"name": "notes.md", "content": "# Plan\n\n| a | b |\n|-|-|\n| 1 | 2 |\n"}]}
    )
    server.call("add_tasks", {"lines": ["One !urgent due:2030-01-01 +docs", "Two after:1", "  " + "word " * 40]})
    server.call("update_task", {"task": "#1", "note": "A note"})
    server.call("delete", {"items": ["#2"]})
    page = open_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    found = []
    for screen in SCREENS:
        page.goto(server.url + screen)
        page.evaluate(axe())
        result = page.evaluate(f"axe.run(document, {{runOnly: {RULES}}})")
        found += [(screen, one["id"], one["nodes"][0]["html"][:120]) for one in result["violations"]]
        if page.evaluate("document.documentElement.scrollWidth") > width:
            found.append((screen, "wider than the screen", ""))
    assert found == []
