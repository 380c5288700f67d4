"""A server with everything the protocol has, for tests of the transport: run as `python -m tests.transports.fixtures`.

Not a contract of Satchel's. It prints, reports progress, takes its time, and announces changes from another thread.
"""

import os
import subprocess
import sys
import threading
import time
from typing import Any

from satchel.contracts.contract import Report
from satchel.protocol import Call, ClientChange, Offer, invalid_params, make_question
from satchel.protocol.cursors import page
from satchel.transports import stdio
from satchel.transports.stdio import Shutdown
from satchel.work import Work

OFFER = Offer(
    server={"name": "fixtures", "version": "1"},
    capabilities={
        "tools": {"listChanged": True},
        "prompts": {"listChanged": True},
        "resources": {"listChanged": True, "subscribe": True},
        "completions": {},
    },
    methods=frozenset(
        {
            *("tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list", "resources/read"),
            *("resources/templates/list", "completion/complete"),
        }
    ),
)
PROMPTS = [{"name": f"p{number}", "description": "A prompt"} for number in range(25)]
server: stdio.StdioServer  # the one that runs
shutdown: Shutdown
SCHEMA = {"type": "object", "properties": {}}
NAMES = ("print", "progress", "sleep", "until signalled", "stuck", "broken", "announce", "flood", "confirm")
TOOLS = [{"name": name, "inputSchema": SCHEMA} for name in NAMES]


def answer(call: Call, report: Report, _work: Work | None = None) -> dict[str, Any]:
    """Answer one call."""
    if call.method == "tools/list":
        return {"tools": TOOLS}
    if call.method == "tools/call":
        return ask(call) if call.params["name"] == "confirm" else call_tool(call.params["name"], report)
    if call.method == "prompts/list":
        prompts, cursor = page(PROMPTS, call.params.get("cursor"), 10)
        return {"prompts": prompts} | ({} if cursor is None else {"nextCursor": cursor})
    if call.method == "prompts/get":
        content = {"type": "text", "text": str(call.params["arguments"])}
        return {"messages": [{"role": "user", "content": content}]}
    if call.method == "resources/list":
        return {"resources": [{"uri": "test://one", "name": "one"}]}
    if call.method == "resources/templates/list":
        return {"resourceTemplates": [{"uriTemplate": "test://{id}", "name": "any"}]}
    if call.method == "resources/read":
        if call.params["uri"] != "test://one":
            raise invalid_params("no such resource")
        return {"contents": [{"uri": "test://one", "text": "1"}]}
    return {"completion": {"values": ["one", "two"], "total": 2, "hasMore": False}}


def ask(call: Call) -> dict[str, Any]:
    """Answer with what the user said, once they were asked; a client that cannot ask is told so."""
    question = make_question(call.params, "Really?")
    action = call.answers.get(question.key) if call.can_ask else "not asked"
    if action is None:
        return question.result
    return {"content": [{"type": "text", "text": action}], "isError": False}


def call_tool(name: str, report: Report) -> dict[str, Any]:
    """Run a tool."""
    if name == "print":
        print("a stray print")
        sys.stdout.flush()
        os.write(1, b"a stray write\n")
        subprocess.run(["echo", "a stray child"], check=True)
    elif name == "progress":
        for step in (1, 2, 3):
            report(step, 3, f"step {step}")
    elif name == "sleep":
        time.sleep(0.5)
    elif name in ("until signalled", "stuck"):
        print("at work", file=sys.stderr, flush=True)
        while not shutdown.is_stopping:
            time.sleep(0.01)
        if name == "stuck":
            print("told to stop", file=sys.stderr, flush=True)
            threading.Event().wait()
    elif name == "broken":
        raise RuntimeError("a bug of ours")
    elif name == "announce":
        announce(1)
    elif name == "flood":
        for _ in range(4):
            threading.Thread(target=announce, args=(200,), daemon=True).start()
    return {"content": [{"type": "text", "text": name * 50_000 if name == "flood" else name}], "isError": False}


def announce(times: int) -> None:
    """Announce a change of each kind, several times."""
    for _ in range(times):
        for change in (
            ClientChange("tools"),
            ClientChange("prompts"),
            ClientChange("resources"),
            ClientChange("resource", "test://one"),
        ):
            server.announce(change)


if __name__ == "__main__":
    shutdown = Shutdown()
    server = stdio.StdioServer(stdio.StandardStreams(), shutdown, OFFER, answer)
    server.run()
