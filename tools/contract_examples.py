"""Run the calls of a guide in tools/guides/, and write the answers beside them.

A guide is a page in which a block marked `call` holds the name of a tool and its arguments. The calls of a guide run in
order on one new store, with a clock of its own, so that the answers are the same in every run.
"""

import json
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

from satchel.contracts import load
from satchel.contracts.runner import Runner
from satchel.library.catalog import Libraries
from satchel.model import Scope
from satchel.protocol import REVISIONS, Call, Client
from satchel.services import projects
from satchel.storage.database import open_database

GUIDES = Path(__file__).resolve().parent / "guides"

_CALL = re.compile(r"```call\n(?P<tool>\w+) (?P<arguments>\{.*?\})\n```", re.S)
_USER = "0a1b2c3d-0000-4000-8000-000000000000"


def write_guide(contract: str) -> str:
    """Return the guide of a contract with the answers to its calls, or nothing."""
    file = GUIDES / f"{contract}.md"
    if not file.exists():
        return ""
    with _serve(contract) as runner:
        return _CALL.sub(lambda found: _show(runner, found["tool"], found["arguments"]), file.read_text())


@contextmanager
def _serve(contract: str) -> Iterator[Runner]:
    seconds = count(9 * 3600)

    def tick() -> str:
        hours, rest = divmod(next(seconds), 3600)
        return f"2026-11-17T{hours:02}:{rest // 60:02}:{rest % 60:02}.000000Z"

    libraries = Libraries(())
    with (
        tempfile.TemporaryDirectory() as folder,
        patch("satchel.clock.now", tick),
        patch("satchel.log._write", _ignore),
    ):
        database = open_database(str(Path(folder) / "store.db"))
        try:
            projects.require(database, Scope())
            yield Runner(load(contract), database, lambda: libraries)
        finally:
            database.close()
            libraries.renderer.close()


def _show(runner: Runner, tool: str, written: str) -> str:
    arguments = json.loads(written)
    call = Call(
        id=1,
        method="tools/call",
        params={"name": tool, "arguments": arguments},
        revision=REVISIONS["2026-07-28"],
        client=Client("ann", "1"),
        session="3f2a",
    )
    result = runner.answer(call, Scope(user=_USER), _ignore)
    content = json.loads(bytes(result["content"]))
    texts = "\n".join(one["text"] for one in content if one["type"] == "text")
    structured = json.dumps(json.loads(bytes(result["structuredContent"])), ensure_ascii=False)
    return f"```json\n{tool} {written}\n```\n\n```text\n{texts}\n```\n\n```json\n{structured}\n```"


def _ignore(*_: Any) -> None:
    """Do nothing."""
