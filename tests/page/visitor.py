"""A browser without script: it keeps cookies, follows redirects, and sends forms as a browser does."""

import re
from dataclasses import dataclass, field
from html import unescape
from urllib.parse import urlencode

from tests.support.web import Answer, WebClient

SAME_ORIGIN = [("accept", "text/html,*/*"), ("sec-fetch-site", "same-origin"), ("sec-fetch-mode", "navigate")]


@dataclass
class Visitor:
    """One person at one server."""

    server: WebClient
    cookies: dict[str, str] = field(default_factory=dict)
    address: str = "/"  # where the last answer came from

    def get(self, path: str) -> Answer:
        """Request a page and follow redirects."""
        return self._follow(self.ask("GET", path), path)

    def post(self, path: str, **fields: str | list[str]) -> Answer:
        """Send a form as from a page of the server."""
        return self._follow(self.ask("POST", path, urlencode(fields, doseq=True)), path)

    def ask(
        self, method: str, path: str, body: str | None = None, headers: list[tuple[str, str]] | None = None
    ) -> Answer:
        """Send one request and return its own answer."""
        sent = (
            [("cookie", "; ".join(f"{name}={value}" for name, value in self.cookies.items()))] if self.cookies else []
        )
        sent += SAME_ORIGIN if headers is None else headers
        if body is not None:
            sent.append(("content-type", "application/x-www-form-urlencoded"))
        answer = self.server.ask(method, path, sent, None if body is None else body.encode())
        for line in answer.all("set-cookie"):
            name, _, value = line.partition(";")[0].partition("=")
            self.cookies[name] = value
            if "Max-Age=0" in line:
                del self.cookies[name]
        return answer

    def _follow(self, answer: Answer, path: str) -> Answer:
        self.address = path
        for _ in range(5):
            if answer.status != 303:
                return answer
            self.address = answer.header("location") or ""
            answer = self.ask("GET", self.address)
        raise AssertionError("too many redirects")


def text_of(answer: Answer) -> str:
    """Return the words of a page, as a person reads them."""
    body = re.sub(r"(?s)<(script|style|head).*?</\1>", " ", answer.text)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", body)).split())


def field_of(answer: Answer, name: str) -> str:
    """Return the value of a hidden field."""
    found = re.search(rf'name="{re.escape(name)}" value="([^"]*)"', answer.text)
    assert found, name
    return unescape(found[1])
