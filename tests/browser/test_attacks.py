"""Attacks in a real browser: other ports of the same host, other sites, rebound names, frames, hostile content."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Error, Request, expect

from tests.browser.conftest import QUIET, OpenPage, find_chromium
from tests.browser.people import Guarded, serve_guarded
from tests.support.http import HttpServer
from tests.support.stdio import CLIENT

ATTACK = """<!doctype html><html lang="en"><head><title>Elsewhere</title></head><body>
<form id="plain" method="post" action="TARGET/tasks"><input name="lines" value="Injected"></form>
<form id="files" method="post" enctype="multipart/form-data" action="TARGET/p/default/documents/new">
  <input name="name" value="injected.md"><input name="content" value="x"></form>
<form id="text" method="post" enctype="text/plain" action="TARGET/tasks"><input name="lines" value="Injected"></form>
<form id="undo" method="post" action="TARGET/undo"></form>
<form id="logout" method="post" action="TARGET/logout"></form>
</body></html>"""
FORMS = ("plain", "files", "text", "undo", "logout")
SCRIPT = """async (target) => {
  const tries = [
    ["/tasks", { method: "POST", body: new URLSearchParams({ lines: "Injected" }) }],
    ["/p/default/documents/new", { method: "POST", body: new FormData(document.getElementById("files")) }],
    ["/tasks", { method: "POST", body: "lines=Injected", headers: { "content-type": "text/plain" } }],
    ["/tasks", {}], ["/events", {}],
  ];
  const act = ([path, more]) => fetch(target + path, { mode: "no-cors", credentials: "include", ...more });
  return Promise.all(tries.map((one) => act(one).then((answer) => answer.type, () => "failed")));
}"""


class Elsewhere(ThreadingHTTPServer):
    """Another program on this machine, which serves one page."""

    def __init__(self, target: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.page = ATTACK.replace("TARGET", target).encode()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.server_address[1])


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Elsewhere)
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(self.server.page)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Guarded]:
    with serve_guarded(tmp_path) as guarded:
        yield guarded


@pytest.fixture
def elsewhere(guarded: Guarded) -> Iterator[Elsewhere]:
    server = Elsewhere(guarded.url)
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def victim(browser: Browser, guarded: Guarded) -> Iterator[BrowserContext]:
    """Yield the browser of a person who has logged in and then looks at other sites; its console may say things."""
    context = browser.new_context()
    page = context.new_page()
    guarded.log_in(page, guarded.make_token())
    yield context
    page.goto(f"{guarded.url}/tasks")  # still logged in: no attack logged them out
    expect(page.locator("h1")).to_have_text("Tasks")
    context.close()
    assert guarded.server.call("list_tasks", {})["structuredContent"]["tasks"] == []
    assert "injected" not in str(guarded.server.call("list_resources", {}))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_page_of_another_port_or_name_sends_no_form(
    victim: BrowserContext, guarded: Guarded, elsewhere: Elsewhere, host: str
) -> None:
    page = victim.new_page()
    posts: list[Request] = []
    page.on("request", lambda request: posts.append(request) if request.method == "POST" else None)
    for form in FORMS:
        page.goto(f"http://{host}:{elsewhere.port}/")
        with page.expect_navigation() as waiting:
            page.evaluate("(id) => document.getElementById(id).submit()", form)
        assert waiting.value is not None and waiting.value.status == 403, form
    assert len(posts) == len(FORMS)
    name = f"satchel-{guarded.server.port}="
    is_attack_real = [name in request.all_headers().get("cookie", "") for request in posts]
    assert is_attack_real == [host == "127.0.0.1"] * len(FORMS)  # the strict cookie goes along from another port


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_script_of_another_port_or_name_changes_and_reads_nothing(
    victim: BrowserContext, guarded: Guarded, elsewhere: Elsewhere, host: str
) -> None:
    page = victim.new_page()
    page.goto(f"http://{host}:{elsewhere.port}/")
    assert set(page.evaluate(SCRIPT, guarded.url)) <= {"opaque", "failed"}
    reading = "(url) => fetch(url, { credentials: 'include' }).then((answer) => answer.text(), () => 'refused')"
    assert page.evaluate(reading, f"{guarded.url}/settings") == "refused"


def test_no_other_page_can_frame_or_open_a_handle_on_ours(
    victim: BrowserContext, guarded: Guarded, elsewhere: Elsewhere
) -> None:
    page = victim.new_page()
    page.goto(f"http://127.0.0.1:{elsewhere.port}/")
    add = "(url) => document.body.append(Object.assign(document.createElement('iframe'), { src: url }))"
    page.evaluate(add, guarded.url)
    with page.expect_popup() as waiting:
        page.evaluate("(url) => { window.opened = open(url + '/tasks'); }", guarded.url)
    waiting.value.wait_for_load_state()
    assert page.evaluate("window.opened === null || window.opened.closed")  # severed by its opener policy
    assert all("Ready to do" not in frame.content() for frame in page.frames[1:])


def test_a_rebound_name_reaches_nothing(guarded: Guarded, browser: Browser) -> None:
    rules = "--host-resolver-rules=MAP evil.example 127.0.0.1"
    # Newer browsers ask before a page may reach this machine. That must not be what stops it.
    older = "--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests"
    other = browser.browser_type.launch(executable_path=find_chromium(), args=[*QUIET, rules, older])
    page = other.new_page()
    address = f"http://evil.example:{guarded.server.port}"
    # The attacker answers the first request; then the name leads to our server, and the page counts as its own.
    page.route(f"{address}/attack", lambda route: route.fulfill(body="<title>x</title>", content_type="text/html"))
    page.goto(f"{address}/attack")
    ask = "(more) => fetch('/tasks', more).then((one) => one.status)"
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert page.evaluate(ask, {"method": "POST", "body": "lines=Injected", "headers": form}) == 421
    assert page.evaluate(ask, {}) == 421
    answer = page.goto(f"{address}/")
    assert answer is not None and answer.status == 421
    other.close()
    assert guarded.server.call("list_tasks", {})["structuredContent"]["tasks"] == []


HOSTILE = "<script>top.hacked=1</script><img src=x onerror=top.hacked=2>\"'><svg onload=top.hacked=3>"
MARKDOWN = f"""{HOSTILE}

[click](javascript:top.hacked=4) [data](data:text/html,<script>top.hacked=5</script>) ![picture](http://evil.example/x.png)
<div hx-get="/logout" hx-trigger="load" hx-on:load="top.hacked=6">x</div> <a href="vbscript:top.hacked=7">y</a>
<style>* {{ display: none }}</style> <base href="http://evil.example/"> <form action="/undo" method="post"></form>

| <b onmouseover=top.hacked=8>a</b> | [b][c] |
|-|-|
| `<i>` | <!-- --> |

[c]: javascript:top.hacked=9 "<script>top.hacked=10</script>"
"""
SVG = '<svg xmlns="http://www.w3.org/2000/svg"><script>top.hacked=11</script></svg>'


def fill(server: HttpServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put hostile texts into every field that a client can write."""
    monkeypatch.setitem(CLIENT, "name", HOSTILE)
    argument = {"name": "file", "description": HOSTILE, "values": [HOSTILE], "open": True}
    prompt = {"title": f"Bad {HOSTILE}", "name": "bad", "content": "{{ file }} " + MARKDOWN, "description": HOSTILE}
    documents = [
        {"name": "bad.md", "content": MARKDOWN, "description": HOSTILE},
        {"name": "bad.html", "content": f"<html>{HOSTILE}</html>", "mime_type": "text/html"},
        {"name": "bad.svg", "content": SVG, "mime_type": "image/svg+xml"},
    ]
    for tool, given in (
        ("add_prompts", {"prompts": [prompt | {"arguments": [argument], "tags": ["pinned"]}]}),
        ("edit_text", {"item": "satchel://prompt/bad", "append": f"\n{HOSTILE}"}),
        ("add_resources", {"resources": documents}),
        ("add_task", {"title": f"Task {HOSTILE}", "description": MARKDOWN, "tags": ["x"]}),
        ("add_task", {"title": f"Gone {HOSTILE}"}),
        ("update_task", {"task": "#1", "note": MARKDOWN}),
        ("claim_task", {"task": "#1"}),
        ("delete", {"items": ["#2"]}),
    ):
        answer = server.call(tool, given)
        assert not answer.get("isError"), answer


SCREENS = (
    *("/", "/?q=hacked", "/?q=<script>top.hacked=12</script>", "/p/default/prompts", "/p/default/prompts?tag=<b>"),
    *(f"/p/default/prompts/bad{part}" for part in ("", "/edit", "/fill", "/versions")),
    *("/p/default/documents", "/p/default/documents/bad.md", "/p/default/documents/bad.md/edit"),
    *("/p/default/documents/bad.html", "/p/default/documents/bad.svg", "/p/default/documents/bad.md/versions"),
    *("/tasks", "/tasks?q=<script>top.hacked=13</script>", "/tasks/1", "/tasks/1/versions", "/board", "/libraries"),
    *("/libraries/bad/one", "/activity", "/activity?by=<b>", "/trash", "/projects", "/connect", "/settings"),
)


def test_hostile_texts_run_nothing_on_any_screen(
    tmp_path: Path, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "libraries" / "bad"
    (library / "prompts").mkdir(parents=True)
    (library / "twig.toml").write_text(f"[prompts.one]\ndescription = {json.dumps(HOSTILE)}\n[prompts.'<b>']\n")
    (library / "prompts" / "one.md").write_text(HOSTILE)
    store = ("--database", str(tmp_path / "satchel.db"), "--libraries", str(tmp_path / "libraries"))
    with HttpServer(*store) as server:
        fill(server, monkeypatch)
        page = open_page()
        dialogs: list[str] = []

        def note(dialog: Dialog) -> None:
            dialogs.append(dialog.message)
            dialog.dismiss()

        page.on("dialog", note)
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        for screen in SCREENS:
            answer = page.goto(server.url + screen)
            assert answer is not None and answer.status == 200, screen
            page.locator("footer").wait_for()
            assert page.evaluate(
                "[top.hacked, document.querySelectorAll('#main [hx-on\\\\:load], #main base').length]"
            ) == [None, 0]

        page.goto(f"{server.url}/p/default/prompts/bad/fill")
        page.locator("#arg-file").fill(HOSTILE)
        expect(page.locator("#filled")).to_contain_text("top.hacked=1")
        page.locator(".chip").first.click()
        expect(page.locator("#filled")).to_contain_text("top.hacked=3")
        page.keyboard.press("Control+k")
        expect(page.get_by_role("dialog")).to_be_visible()
        assert page.evaluate("top.hacked") is None
        assert dialogs == [] and all(url.startswith(server.url) for url in requests)
        for name in ("bad.html", "bad.svg", "bad.md"):  # raw documents are downloads, and never pages
            with page.expect_download() as waiting, pytest.raises(Error, match="Download is starting"):
                page.goto(f"{server.url}/p/default/documents/{name}/raw")
            assert waiting.value.suggested_filename == name
        page.close()  # before the server, which it would miss
