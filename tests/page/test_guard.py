"""Access: sessions, foreign origins, read-only and limited tokens, hostile content."""

import re
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest

from satchel import clock
from satchel.auth import tokens
from satchel.storage.database import open_database
from satchel.transports.http.streams import MAX_STREAMS_PER_USER
from tests.page.visitor import SAME_ORIGIN, Visitor, text_of
from tests.support.in_process_http import WebInProcess
from tests.support.web import HANDSHAKE, WebClient, Wire, eventually, request

FORM = urlencode({"title": "T", "content": "C"})


@pytest.fixture
def guarded(store: str) -> Iterator[WebInProcess]:
    """A server that asks for tokens."""
    with WebInProcess("--database", store, "--auth", "token") as server:
        yield server


def make_token(store: str, user: str, **limits: object) -> tuple[str, str]:
    """Return a token of a user: its id and its secret."""
    database = open_database(store)
    with database.write() as tx:
        token, secret = tokens.create(tx, user=user, **limits)  # type: ignore[arg-type]
    database.close()
    return token.id, secret


def log_in(server: WebClient, secret: str) -> Visitor:
    visitor = Visitor(server)
    assert visitor.post("/login", token=secret, next="/tasks").status == 200
    assert visitor.address == "/tasks"
    return visitor


def test_a_page_without_a_session_leads_to_the_login_and_back(store: str, guarded: WebInProcess) -> None:
    _, secret = make_token(store, clock.new_id())
    visitor = Visitor(guarded)

    asked = visitor.get("/p/default/prompts?tag=x")
    assert visitor.address == "/login?next=/p/default/prompts%3Ftag%3Dx" and "Token" in text_of(asked)
    assert visitor.post("/login", token="satchel_" + "x" * 43).status == 401
    for address in ("//evil.example", "/a\r\nX-Evil: 1", "/\0", "/\\evil.example"):
        assert visitor.post("/login", token=secret, next=address).status == 200
        assert visitor.address == "/"
    assert visitor.ask("POST", "/logout", "").status == 303
    assert visitor.ask("GET", "/tasks").status == 303


def test_the_cookie_is_no_token_and_a_token_no_cookie(store: str, guarded: WebInProcess) -> None:
    _, secret = make_token(store, clock.new_id())
    visitor = log_in(guarded, secret)
    [(name, session)] = [(name, value) for name, value in visitor.cookies.items() if name.startswith("satchel-")]

    assert guarded.ask("GET", "/metrics", [("authorization", f"Bearer {session}")]).status == 401
    assert guarded.ask("GET", "/tasks", [("cookie", f"{name}={secret}"), *SAME_ORIGIN]).status == 303


def test_wrong_tokens_of_one_do_not_lock_out_others_behind_the_same_proxy(store: str, guarded: WebInProcess) -> None:
    visitor = Visitor(guarded)
    assert [visitor.post("/login", token=f"wrong {count}").status for count in range(20)] == [401] * 20
    assert log_in(guarded, make_token(store, clock.new_id())[1]).get("/tasks").status == 200


def test_the_page_has_the_same_bounds_of_streams_and_the_same_count(store: str, guarded: WebInProcess) -> None:
    visitor = log_in(guarded, make_token(store, user := clock.new_id())[1])
    token = [("authorization", f"Bearer {make_token(store, user)[1]}")]
    streams = [open_stream(visitor) for _ in range(MAX_STREAMS_PER_USER)]
    assert {wire.read_head()[0] for wire in streams} == {200}
    assert eventually(
        lambda: f"satchel_streams {MAX_STREAMS_PER_USER}.0\n" in guarded.ask("GET", "/metrics", token).text
    )
    for wire in (open_stream(visitor), subscribe(guarded, token)):
        assert wire.read_head()[0] == 429
        wire.close()
    for wire in streams:
        wire.close()
    assert eventually(lambda: "satchel_streams 0.0\n" in guarded.ask("GET", "/metrics", token).text)


def open_stream(visitor: Visitor) -> Wire:
    """Ask for the live changes of a page."""
    wire = visitor.server.connect()
    cookie = "; ".join(f"{name}={value}" for name, value in visitor.cookies.items())
    wire.send(request("GET", "/events", [("cookie", cookie), *SAME_ORIGIN]))
    return wire


def subscribe(server: WebClient, token: list[tuple[str, str]]) -> Wire:
    """Ask for the stream of changes of an MCP client of the handshake generation."""
    wire = server.connect()
    headers = [*token, ("accept", "text/event-stream"), ("mcp-protocol-version", HANDSHAKE)]
    wire.send(request("GET", "/mcp", headers))
    return wire


def test_streams_end_soon_after_the_token_of_their_owner_was_revoked(store: str, guarded: WebInProcess) -> None:
    id, secret = make_token(store, user := clock.new_id())
    other = [("authorization", f"Bearer {make_token(store, user)[1]}")]
    page, client, kept = (
        open_stream(log_in(guarded, secret)),
        subscribe(guarded, [("authorization", f"Bearer {secret}")]),
        subscribe(guarded, other),
    )
    assert [wire.read_head()[0] for wire in (page, client, kept)] == [200] * 3
    assert b'"hello"' in page.read_chunk()

    database = open_database(store)
    with database.write() as tx:
        tokens.revoke(tx, id)
    database.close()

    for wire in (page, client):  # a heartbeat comes after 15 seconds, and would end them later
        wire.socket.settimeout(10)
        while wire.read_chunk():
            pass
        wire.close()
    assert not kept.is_closed(patience=0.2)
    kept.close()


def test_a_read_only_token_is_offered_no_change_and_can_force_none(store: str, guarded: WebInProcess) -> None:
    user = clock.new_id()
    owner = log_in(guarded, make_token(store, user)[1])
    owner.post("/projects", name="open")
    owner.post("/p/open/prompts/new", title="Prompt of open", content="text")

    owner.post("/tasks", lines="A task", project="open")
    reader = log_in(guarded, make_token(store, user, is_read_only=True)[1])
    assert "Prompt of open" in text_of(reader.get("/p/open/prompts"))
    views = ("/", "/p/open/prompts/prompt-of-open", "/tasks", "/tasks/1", "/board", "/activity", "/trash", "/projects")
    for path in views:
        forms = re.findall(r'<form method="post"[^>]* action="([^"]+)"', reader.get(path).text)
        assert set(forms) <= {"/logout"}, path
    for path in ("/board/move", "/tasks/1/status", "/tasks/1/delete", "/p/open/prompts/prompt-of-open/pin", "/undo"):
        assert reader.post(path, task="1", to="done").status == 403, path
    assert reader.ask("POST", "/p/open/prompts/new", FORM).status == 200
    assert "read-only" in text_of(reader.post("/p/open/prompts/new", title="T", content="C"))
    assert reader.post("/projects/open/delete").status == 403


def test_a_form_from_elsewhere_changes_nothing(ada: Visitor) -> None:
    elsewhere: list[list[tuple[str, str]]] = [
        [("sec-fetch-site", "cross-site"), ("origin", "https://evil.example")],
        [("sec-fetch-site", "same-site"), ("origin", "http://127.0.0.1:1")],
        [("sec-fetch-site", "none")],
        [("origin", "http://127.0.0.1:1")],
        [("origin", "null")],
        [],
    ]
    for headers in elsewhere:
        assert ada.ask("POST", "/p/default/prompts/new", FORM, headers).status == 403, headers
    assert "No prompts yet" in text_of(ada.get("/p/default/prompts"))


def test_a_form_of_an_old_browser_is_taken_from_the_own_origin_only(ada: Visitor) -> None:
    own = [("host", "127.0.0.1:7"), ("origin", "http://127.0.0.1:7")]
    assert ada.ask("POST", "/p/default/prompts/new", FORM, own).status == 303


def test_other_sites_cannot_embed_or_fetch_pages(ada: Visitor) -> None:
    fetched = ada.ask("GET", "/tasks", headers=[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")])
    linked = ada.ask("GET", "/tasks", headers=[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")])
    assert (fetched.status, linked.status) == (403, 200)
    assert "frame-ancestors 'none'" in (linked.header("content-security-policy") or "")


def test_a_title_with_characters_that_do_not_show_is_refused(ada: Visitor) -> None:
    form = ada.post("/p/default/prompts/new", title="Pay\u202ement", content="text")
    lines = ada.post("/tasks", lines="Pay\u200bment", project="")
    for answer, named in ((form, "U+202E"), (lines, "U+200B")):
        assert f"has an invisible character: {named}. Remove it." in text_of(answer)
    assert "Pay" not in text_of(ada.get("/p/default/prompts")) + text_of(ada.get("/tasks?status=all"))


def test_stored_texts_never_become_markup(ada: Visitor) -> None:
    hostile = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'><svg onload=alert(3)>"
    ada.post("/p/default/prompts/new", title=f"A {hostile}", content=hostile, description=hostile)
    ada.post("/tasks", lines=f"Task {hostile}", project="")
    ada.post("/tasks/1/notes", note=f"{hostile} [x](javascript:alert(4)) ![y](http://evil.example/z)")
    ada.post(
        "/p/default/documents/new",
        name="bad.md",
        content=f"{hostile}\n\n[a](javascript:alert(5))",
        uri="",
        mime_type="",
    )
    ada.post("/p/default/documents/new", name="bad.html", content=hostile, uri="", mime_type="text/html")

    name = re.search(r"/p/default/prompts/(a-[^\"/]+)", ada.get("/p/default/prompts").text)
    assert name
    paths = (
        "/",
        "/tasks",
        "/tasks/1",
        "/board",
        "/activity",
        "/p/default/documents/bad.md",
        "/p/default/documents/bad.html",
    )
    for path in (*paths, f"/p/default/prompts/{name[1]}", f"/p/default/prompts/{name[1]}/edit", "/?q=script"):
        page = ada.get(path)
        assert page.status == 200
        for mark in ("<script>alert", "<img src=x", "<svg onload", 'href="javascript:', 'src="http://evil'):
            assert mark not in page.text, (path, mark)


def test_a_server_without_a_page_has_none(store: str) -> None:
    with WebInProcess("--database", store, "--no-page") as server:
        assert server.ask("GET", "/").status == 404
