"""What the hostile tests share: libraries on disk, a live server watched from outside, and words that must not leak."""

import json
import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.process import count_watches, eventually
from tests.support.stdio import Server, plain

# The promise is a second on a quiet machine; this bound is for a busy one, and no benchmark checks the promise itself.
# It still shows a missing deadline: a dotted key of 100,000 parts takes tomllib more than a minute (10,000: 3 s).
PROMPT = 20.0
# A deadline of the server may pass because the machine is busy: what it took away is asked for again for so long.
BUSY = 120.0
SECRET = "canary-of-the-secret-file"
ENVIRONMENT = "canary-of-the-environment"
# Text of Python, of the system or of the environment that no template may bring to light.
FORBIDDEN = (
    *(SECRET, ENVIRONMENT, "root:x:", "<class ", "<module", "<function", "<built-in", "<bound", " object at 0x"),
    *("Traceback", "site-packages", "LANG", "C.UTF-8", "worker.py", sys.prefix),
    *("<jinja2", "<satchel", "<Macro", "<Template", "<generator"),
)
Pages = tuple[list[Any], int]
GOOD_TEXT = "Good day, {{ who }}.\n"


def write_library(folder: Path, manifest: str | bytes, **prompts: str | bytes) -> Path:
    """Return a folder with a manifest and the content of its prompts."""
    (folder / "prompts").mkdir(parents=True, exist_ok=True)
    (folder / "twig.toml").write_bytes(manifest.encode() if isinstance(manifest, str) else manifest)
    for key, content in prompts.items():
        file = folder / "prompts" / f"{key}.md"
        file.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def write_good(root: Path, name: str = "good") -> None:
    manifest = '[prompts.greet]\ndescription = "Greets"\n[[prompts.greet.arguments]]\nname = "who"\nrequired = true\n'
    write_library(root / name, manifest, greet=GOOD_TEXT)


class Live:
    """A server on a folder of libraries, with what must stay as it was."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.server = Server("--contract", "twig", "--libraries", str(root), environment={"CANARY": ENVIRONMENT})
        self.pid = self.server.process.pid
        self.memory = 0
        self.good: list[Any] = []

    def warm_up(self, *more: str) -> None:
        """Render, so that workers are there, and remember what is now."""
        self.good = [entry for entry in self.list() if entry["name"].startswith("good:")]
        assert [entry["name"] for entry in self.good] == ["good:greet"]
        for _ in range(3):
            self.render_good()
            for name in more:
                self.get(name)
        self.memory = self.kilobytes()

    def __enter__(self) -> "Live":
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.server.__exit__(kind)
        assert kind is not None or "surprise in" not in self.server.stderr, self.server.stderr

    # -- asking --

    def request(self, method: str, params: dict[str, Any]) -> Any:
        """Ask; the answer comes in time and says nothing of secrets."""
        started = time.monotonic()
        answer = self.server.request(method, params)
        took = time.monotonic() - started
        assert_no_leak(answer)
        assert took < PROMPT, f"{method} took {took:.2f} s: {str(answer)[:300]}"
        return answer

    def list(self) -> list[Any]:
        """Return all pages of one moment. Each page may be of another moment, so several are read until they agree."""
        found, page_count = self._pages()
        while page_count > 1:
            again, page_count = self._pages()
            if again == found:
                break
            found = again
        return found

    def _pages(self) -> Pages:
        """All entries, and the number of pages; from the beginning again when the list has become shorter meanwhile."""
        found: list[Any] = []
        params: dict[str, Any] = {}
        page_count = 0
        while True:
            page_count += 1
            answer = self.request("prompts/list", params)
            if params and "error" in answer:
                assert answer["error"]["code"] == -32602, answer
                found, params, page_count = [], {}, 0
                continue
            result = answer["result"]
            found += result["prompts"]
            if "nextCursor" not in result:
                return found, page_count
            params = {"cursor": result["nextCursor"]}

    def get(self, name: str, arguments: dict[str, Any] | None = None, *, is_quick: bool = False) -> Any:
        """Ask for a prompt; for one that takes next to no time, again where a busy machine had none for it."""
        deadline = time.monotonic() + BUSY
        while True:
            answer = self.request("prompts/get", {"name": name, "arguments": arguments or {}})
            is_late = "it took longer than" in str(answer.get("error"))
            if not (is_quick and is_late) or time.monotonic() > deadline:
                return answer

    def text(self, name: str, arguments: dict[str, Any] | None = None) -> str:
        answer = self.get(name, arguments, is_quick=True)
        assert "result" in answer, answer
        (message,) = plain(answer["result"])["messages"]
        assert message["role"] == "user" and message["content"]["type"] == "text"
        text: str = message["content"]["text"]
        return text

    def render_good(self) -> None:
        assert self.text("good:greet", {"who": "Ann"}) == "Good day, Ann.\n"

    # -- looking from outside --

    def assert_unharmed(self, growth: int) -> None:
        """The process is the same, no larger than it may be, and has no more children than its workers and a spare."""
        assert self.server.process.poll() is None and self.server.process.pid == self.pid
        assert eventually(lambda: "Z" not in self.children()), "zombies"  # one that was just killed is waited for
        most = max(2, min(4, os.cpu_count() or 1)) + 1
        assert eventually(lambda: len(list(self.children())) <= most), f"workers: {list(self.children())}"
        grown = self.kilobytes() - self.memory
        assert grown < growth, f"grown by {grown} kB"
        assert SECRET not in self.server.stderr and "surprise in" not in self.server.stderr, self.server.stderr

    def kilobytes(self) -> int:
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.findall(r"^VmRSS:\s+(\d+)", status, re.MULTILINE)[0])

    def threads(self) -> int:
        return len(os.listdir(f"/proc/{self.pid}/task"))

    def processor_time(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def watches(self) -> int:
        return count_watches(self.pid)

    def children(self) -> Iterator[str]:
        """Yield the state of each child process."""
        for task in Path(f"/proc/{self.pid}/task").iterdir():
            with suppress(FileNotFoundError, ProcessLookupError):  # a thread or a child that has just ended
                for child in (task / "children").read_text().split():
                    yield Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0]


def in_soak(cases: Sequence[Any], quick: Sequence[Any]) -> list[Any]:
    """Return the parameters of a test: all cases, of which `make test` takes the quick ones only."""
    return [pytest.param(one, id=one.name, marks=[] if one in quick else [pytest.mark.soak]) for one in cases]


def assert_no_leak(answer: Any) -> None:
    told = json.dumps(answer, ensure_ascii=False)
    leaks = [word for word in FORBIDDEN if word in told]
    assert not leaks, f"{leaks} in {told[:500]}"
