"""Handles one request for a page: finds the view, calls it, and turns its result or error into a response."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote

from msgspec import Struct

from satchel.errors import SatchelError, TaskHeld
from satchel.log import log, log_surprise
from satchel.model import Author
from satchel.page import markup, words
from satchel.page.views import VIEWS, View
from satchel.page.visit import Answer, File, Redirect, Server, Shown, Visit

SAID = "satchel-said"  # the cookie that carries a message across a redirect

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = (
    ("content-security-policy", _POLICY),
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("x-frame-options", "DENY"),
)
_LONGEST_SAID = 300  # characters


class PageResponse(Struct, frozen=True):
    """A response to the browser."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes = b""


class Match(Struct, frozen=True):
    """The views at a path, by method, and the values of the path's named parts."""

    views: Mapping[str, View]
    parts: Mapping[str, str]


class Site:
    """The pages of one server."""

    def __init__(self, server: Server) -> None:
        self.server = server

    def match(self, path: str) -> Match | None:
        """Return the views at a path; None if there is no page."""
        for pattern, views in _ROUTES:
            found = pattern.fullmatch(path)
            if found is not None:
                return Match(views, found.groupdict())
        return None

    def answer(self, view: View, visit: Visit, said: str = "") -> PageResponse:
        """Return the response that a view makes; `said` is the message from the previous page."""
        if "project" in visit.path:
            visit = visit.within(visit.path["project"])
        try:
            answer: Answer = view.answer(visit)
        except TaskHeld as held:
            answer = Shown("held.html", {"message": words.explain(held), "form": visit.form}, words.find_status(held))
        except SatchelError as error:
            log(f"{view.method} {view.path}: {type(error).__name__}")
            answer = Shown("error.html", {"message": words.explain(error)}, words.find_status(error))
        except Exception:
            log_surprise(f"{view.method} {view.path}")
            answer = Shown("error.html", {"message": "Something went wrong here. Nothing was changed. Try again."}, 500)
        if isinstance(answer, Redirect):
            return _redirect(answer)
        return _send_file(answer) if isinstance(answer, File) else self._show(answer, visit, said)

    def show_error(self, visit: Visit, status: int, message: str) -> PageResponse:
        """Return a page that explains an error."""
        return self._show(Shown("error.html", {"message": message}, status), visit, "")

    def show_login(
        self, *, message: str = "", next: str = "/", code: str = "", obstacle: str = "", status: int = 200
    ) -> PageResponse:
        """Return the page that asks for a token, or the redirect to the issuer unless there is an obstacle."""
        values = {"message": message, "next": next, "code": code, "auth": self.server.auth, "obstacle": obstacle}
        return _respond(status, markup.render("login.html", values))

    def show_entrance(self, next: str) -> PageResponse:
        """Return a page that forwards to another page of this server."""
        return _respond(200, markup.render("entrance.html", {"next": next}))

    def _show(self, shown: Shown, visit: Visit, said: str) -> PageResponse:
        def name_author(author: Author) -> str:
            return markup.describe_author(author, visit.scope.user)

        can_undo = said.startswith("+")
        common: dict[str, Any] = {
            "visit": visit,
            "here": visit.scope.project,
            "project": visit.scope.project,
            "said": said.removeprefix("+"),
            "can_undo": can_undo,
            "who": name_author,
            "address": visit.address,
        }
        body = markup.render(shown.template, common | dict(shown.values))
        clear = (("set-cookie", f"{SAID}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict"),) if said else ()
        return _respond(shown.status, body, clear)


def find_static(path: str, *, takes_gzip: bool) -> PageResponse | None:
    """Return the static file at an address; None if there is none."""
    found = markup.static_files().get(path.removeprefix("/static/"))
    if found is None:
        return None
    headers = [
        ("content-type", f"{found.mime_type}; charset=utf-8"),
        ("cache-control", "public, max-age=31536000, immutable"),
        ("vary", "accept-encoding"),
    ]
    if takes_gzip:
        headers.append(("content-encoding", "gzip"))
    return PageResponse(200, (*headers, *_HEADERS), found.compressed if takes_gzip else found.content)


def read_said(cookie: str) -> str:
    """Return the message that a cookie carries."""
    return unquote(cookie)[:_LONGEST_SAID]


def _respond(status: int, body: bytes, more: tuple[tuple[str, str], ...] = ()) -> PageResponse:
    headers = (("content-type", "text/html; charset=utf-8"), ("cache-control", "no-store"), *_HEADERS, *more)
    return PageResponse(status, headers, body)


def _redirect(answer: Redirect) -> PageResponse:
    said = quote(("+" if answer.can_undo else "") + answer.said[: _LONGEST_SAID - 1])
    cookie = (("set-cookie", f"{SAID}={said}; Path=/; Max-Age=15; HttpOnly; SameSite=Strict"),) if answer.said else ()
    return PageResponse(303, (("location", answer.to), ("cache-control", "no-store"), *_HEADERS, *cookie))


def _send_file(file: File) -> PageResponse:
    """Send a stored document as a sandboxed download, because it may be hostile; show only pictures."""
    kind = file.mime_type if file.is_inline else "application/octet-stream"
    how = "inline" if file.is_inline else "attachment"
    headers = (
        ("content-type", kind),
        ("content-disposition", f"{how}; filename*=UTF-8''{quote(file.name, safe='')}"),
        ("cache-control", "no-store"),
        *((name, value) for name, value in _HEADERS if name != "content-security-policy"),
        ("content-security-policy", "sandbox; default-src 'none'"),
    )
    return PageResponse(200, headers, file.content)


def _compile() -> list[tuple[re.Pattern[str], dict[str, View]]]:
    paths: dict[str, dict[str, View]] = {}
    for view in VIEWS:
        paths.setdefault(view.path, {})[view.method] = view
    return [(re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path)), views) for path, views in paths.items()]


_ROUTES = _compile()
