"""One Chromium for all tests, one context for each, and a server whose console stays empty."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from tests.support.http import HttpServer
from tests.support.process import TIMEOUT

QUIET = [
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic"),
    *("--no-first-run", "--disable-gpu"),
]
OpenPage = Callable[..., Page]
expect.set_options(timeout=TIMEOUT * 1000)  # only decides how long a failure takes


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test here, so that `make test` leaves it to `make browser`."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("browser")


def find_chromium() -> str:
    """Return the path of the browser."""
    path = os.environ.get("SATCHEL_CHROMIUM") or shutil.which("chromium")
    assert path, "no Chromium: run `make browser`"
    return path


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=QUIET)
        yield browser
        browser.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[HttpServer]:
    """Yield a server without authentication, with an empty store."""
    with HttpServer("--database", str(tmp_path / "satchel.db")) as server:
        yield server


@pytest.fixture
def open_page(browser: Browser) -> Iterator[OpenPage]:
    """Open pages, each in the context of a person of its own unless one is given; the console must stay empty."""
    contexts: list[BrowserContext] = []
    said: list[str] = []

    def note(message: ConsoleMessage) -> None:
        said.append(f"{message.type}: {message.text}")

    def start(context: BrowserContext | None = None, **options: object) -> Page:
        if context is None:
            context = browser.new_context(**options)
            contexts.append(context)
        page = context.new_page()
        page.on("console", note)
        page.on("pageerror", lambda error: said.append(f"error: {error}"))
        return page

    yield start
    for context in contexts:
        context.close()
    assert said == []
