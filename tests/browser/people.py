"""A server that asks for tokens, people who log in, and what a person does with a keyboard alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page

from satchel import clock
from satchel.auth import tokens
from satchel.storage.database import open_database
from tests.support.http import HttpServer

_MOST_TABS = 120


class Guarded:
    """A server with `--auth token`, and tokens of one user."""

    def __init__(self, server: HttpServer, store: str) -> None:
        self.server = server
        self.url = server.url
        self.store = store
        self.user = clock.new_id()

    def make_token(self) -> str:
        """Return the secret of a new token of the user."""
        database = open_database(self.store)
        with database.write() as tx:
            _, secret = tokens.create(tx, user=self.user)
        database.close()
        return secret

    def log_in(self, page: Page, secret: str, path: str = "/") -> None:
        """Log in on the page, by keyboard."""
        page.goto(self.url + path)
        page.locator("input:focus").wait_for()  # by itself, a moment after the page is there
        page.keyboard.type(secret)
        page.keyboard.press("Enter")
        page.wait_for_url(f"{self.url}{path}")


@contextmanager
def serve_guarded(folder: Path) -> Iterator[Guarded]:
    """Yield a server that asks for tokens."""
    store = str(folder / "satchel.db")
    with HttpServer("--database", store, "--auth", "token") as server:
        guarded = Guarded(server, store)
        server.token = guarded.make_token()
        yield guarded


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until an element has the focus."""
    for _ in range(_MOST_TABS):
        if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{selector} cannot be reached by Tab")


def command(page: Page, text: str) -> None:
    """Choose what the command menu finds for a text."""
    page.keyboard.press("Control+k")
    page.locator("dialog[open] input").wait_for()
    page.keyboard.type(text)
    page.locator("dialog[open] .chosen").get_by_text(text, exact=False).wait_for()
    page.keyboard.press("Enter")
