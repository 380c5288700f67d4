"""Limits per user: bytes in flight, calls a minute, calls that wait, and that a call which ran is always answered."""

import asyncio
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from starlette.types import Message
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from satchel.asgi import create_app
from satchel.model import StoreChange
from satchel.transports.http import limits
from satchel.transports.http.limits import InFlight, Rate, Threads
from satchel.transports.http.messages import Refusal
from satchel.transports.http.streams import Listener

HEADERS = [(b"host", b"localhost"), (b"content-type", b"application/json"), (b"mcp-protocol-version", b"2025-11-25")]


def refusal_of(act: Callable[[], object]) -> tuple[int, str]:
    with pytest.raises(Refusal) as refused:
        act()
    return refused.value.status, refused.value.field


def test_a_user_with_too_much_in_flight_is_refused_and_others_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_BYTES_PER_HOLDER", 2_000_000)
    monkeypatch.setattr(limits, "MAX_BYTES", 3_000_000)
    in_flight = InFlight()
    in_flight.add("user ada", 2_000_001)
    assert refusal_of(lambda: in_flight.check("user ada")) == (429, "body")
    in_flight.add("user bob", 1_100_000)
    assert refusal_of(lambda: in_flight.check("user bob")) == (503, "body")
    in_flight.add("user eve", limits.LITTLE)
    in_flight.check("user eve")
    in_flight.add("user ada", -2_000_001)
    in_flight.check("user ada")
    in_flight.check("user bob")


def test_a_user_may_make_some_minutes_of_calls_at_once_and_then_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    rate = Rate(calls_per_minute=60)
    rate.count("ada", 60)
    for _ in range(240):
        rate.count("ada", 1)
    assert refusal_of(lambda: rate.count("ada", 1)) == (429, "rate")
    rate.count("bob", 1)
    now += 2.0
    rate.count("ada", 2)
    assert refusal_of(lambda: rate.count("ada", 1)) == (429, "rate")


def test_one_user_waits_in_a_bounded_queue_and_others_do_not_wait_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "QUEUE_PER_USER", 3)

    async def main() -> None:
        threads, gate = Threads(), threading.Event()
        busy = [asyncio.create_task(threads.carry_out("ada", gate.wait)) for _ in range(limits.THREADS_PER_USER + 3)]
        await asyncio.sleep(0)
        while threads._of_users["ada", False].statistics().tasks_waiting < 3:
            await asyncio.sleep(0.01)
        with pytest.raises(Refusal) as refused:
            await threads.carry_out("ada", gate.wait)
        assert (refused.value.status, refused.value.field) == (429, "rate")
        assert await threads.carry_out("ada", lambda: "a write", writes=True) == "a write"
        assert await threads.carry_out("bob", lambda: "a read") == "a read"
        gate.set()
        assert await asyncio.gather(*busy) == [True] * len(busy)

    asyncio.run(main())


def ask(app: Any, tool: str, arguments: dict[str, Any], **meta: Any) -> tuple[int, list[Any], list[bytes]]:
    """Call a tool: the status, the headers, and what was sent of the body."""
    params = {"name": tool, "arguments": arguments, **({"_meta": meta} if meta else {})}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    sent: list[Message] = []

    async def receive() -> Message:
        if sent:
            await asyncio.sleep(60)
        return {"type": "http.request", "body": body}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/mcp", "raw_path": b"/mcp", "query_string": b""}
    asyncio.run(app({**scope, "headers": HEADERS, "client": ("127.0.0.1", 1), "asgi": {}}, receive, send))
    return sent[0]["status"], sent[0]["headers"], [message.get("body", b"") for message in sent[1:]]


def test_a_call_that_ran_is_answered_with_its_result_however_much_is_in_flight(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = create_app(public_url="http://localhost", database=str(tmp_path / "s.db"), contract="prompt-store")
    for meta in ({}, {"progressToken": "p"}):
        content = "x" * 200_000
        # Less than the answer, and more than the request has.
        monkeypatch.setattr(limits, "MAX_BYTES_PER_HOLDER", len(content) + 50_000)
        status, _, body = ask(app, "add_prompt", {"title": f"Long {len(meta)}", "content": content}, **meta)
        assert status == 200
        assert json.loads(b"".join(body).rpartition(b"data: ")[2])["result"]["isError"] is False
    app.close()


def test_the_address_that_a_trusted_proxy_names_is_the_one_that_bytes_are_counted_for(tmp_path: Path) -> None:
    app = create_app(public_url="http://localhost", database=str(tmp_path / "s.db"), contract="prompt-store")
    counted: list[str] = []
    app._in_flight.add = lambda holder, size: counted.append(holder)  # type: ignore[method-assign]
    proxied: Any = ProxyHeadersMiddleware(cast("Any", app), "127.0.0.1")  # as uvicorn does with --forwarded-allow-ips
    HEADERS.append((b"x-forwarded-for", b"203.0.113.7"))
    try:
        ask(proxied, "list_prompts", {})
        assert set(counted) == {"address 203.0.113.7"}
    finally:
        HEADERS.pop()
        app.close()


def test_a_stream_checks_access_again_when_anything_may_have_changed() -> None:
    ada = Listener[StoreChange](lambda changes: changes, StoreChange("everything"), "ada")
    ada.receive([StoreChange("prompts", "p"), StoreChange("access", owner="bob")])
    assert not ada.must_check
    for change in (StoreChange("access", owner="ada"), StoreChange("everything")):
        ada.must_check = False
        ada.receive([change])
        assert ada.must_check
