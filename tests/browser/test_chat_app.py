"""The app inside the chat, in a host page of our own: a sandboxed frame that talks by postMessage, as hosts have it."""

from typing import Any

import pytest
from playwright.sync_api import FrameLocator, Page, expect

from tests.browser.conftest import OpenPage
from tests.browser.test_accessibility import RULES, axe
from tests.support.http import HttpServer

POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
HOST = """
<!doctype html><html lang="en"><head><title>Host</title>
<style>:root { color-scheme: light dark; }</style></head><body><main><h1>Chat</h1>
<iframe title="app" sandbox="allow-scripts allow-forms" style="width: 700px; height: 600px"></iframe></main>
<script>
const frame = document.querySelector("iframe");
window.heard = [];
addEventListener("message", async (event) => {
  if (event.source !== frame.contentWindow) return;
  const message = event.data;
  window.heard.push(message);
  if (message.id === undefined) return;
  const answer = await window.answerHost(message.method, message.params ?? {});
  frame.contentWindow.postMessage({ jsonrpc: "2.0", id: message.id, ...answer }, "*");
});
window.tell = (method, params) => frame.contentWindow.postMessage({ jsonrpc: "2.0", method, params }, "*");
</script></body></html>
"""


def open_app(
    server: HttpServer, page: Page, capabilities: dict[str, Any], given: dict[str, Any], theme: str = "light"
) -> tuple[FrameLocator, list[tuple[str, Any]]]:
    """Return the app of `show` in a host with some capabilities, after a call; and what the app asked of the host."""
    asked: list[tuple[str, Any]] = []

    def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
        asked.append((method, params))
        if method == "ui/initialize":
            context = {"theme": theme, "styles": {"variables": {"--font-sans": "sans-serif"}}}
            return {
                "result": {"protocolVersion": "2026-01-26", "hostCapabilities": capabilities, "hostContext": context}
            }
        if method == "tools/call":
            return {"result": server.call(params["name"], params["arguments"])}
        if method in ("ui/message", "ui/update-model-context"):
            return {"result": {}}
        return {"error": {"code": -32601, "message": "Method not found"}}

    tool = next(tool for tool in server.ask("tools/list").result["tools"] if tool["name"] == "show")
    uri = tool["_meta"]["ui"]["resourceUri"]
    [content] = server.ask("resources/read", {"uri": uri}).result["contents"]
    assert (content["uri"], content["mimeType"]) == (uri, "text/html;profile=mcp-app")
    html = content["text"].replace("<head>", f'<head><meta http-equiv="Content-Security-Policy" content="{POLICY}">')
    page.expose_function("answerHost", answer)
    page.goto("about:blank")
    page.set_content(HOST)
    page.evaluate("(html) => { document.querySelector('iframe').srcdoc = html; }", html)
    page.wait_for_function("() => window.heard.some((one) => one.method === 'ui/notifications/initialized')")
    page.evaluate("(given) => window.tell('ui/notifications/tool-input', { arguments: given })", given)
    page.evaluate("(result) => window.tell('ui/notifications/tool-result', result)", server.call("show", given))
    return page.frame_locator("iframe"), asked


@pytest.mark.parametrize(
    ("capabilities", "method", "said"),
    [
        ({"message": {}, "updateModelContext": {}}, "ui/message", "Sent to the chat."),
        ({"updateModelContext": {}}, "ui/update-model-context", "The assistant has it: send a message to go on."),
        ({}, None, "into the chat."),
    ],
)
def test_a_prompt_is_picked_filled_in_and_handed_over_by_what_the_host_offers(
    server: HttpServer, open_page: OpenPage, capabilities: dict[str, Any], method: str | None, said: str
) -> None:
    server.call("add_prompts", {"prompts": [{"title": "Greet", "content": "Hello {{ name }}!"}]})
    app, asked = open_app(server, open_page(), capabilities, {"what": "prompts"})

    app.get_by_role("button", name="Greet").click()
    app.get_by_label("name (needed)").fill("Ada")
    app.get_by_role("button", name="Use it").click()

    expect(app.get_by_role("status")).to_contain_text(said)
    expect(app.locator("pre")).to_have_text("Hello Ada!")
    sent = [params for name, params in asked if name == method]
    assert sent == ([] if method is None else [sent[0]])
    if sent:
        assert sent[0]["content"] == [{"type": "text", "text": "Hello Ada!"}]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_app_is_accessible(server: HttpServer, open_page: OpenPage, theme: str) -> None:
    server.call("add_tasks", {"lines": ["One !urgent due:2030-01-01 +docs", "Two after:1"]})
    page = open_page(color_scheme=theme)
    app, _ = open_app(server, page, {}, {}, theme)
    expect(app.get_by_label("Blocked")).to_contain_text("Two")
    frame = page.frames[-1]
    frame.evaluate(axe())
    found = frame.evaluate(f"axe.run(document, {{runOnly: {RULES}}})")["violations"]
    assert [(one["id"], one["nodes"][0]["html"][:120]) for one in found] == []
