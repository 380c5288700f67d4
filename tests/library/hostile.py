"""What the hostile tests share: libraries on disk, a live server watched from outside, and words that must not leak."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.support.stdio import Server, plain

# The promise is a second; what is above it is the noise of a busy machine. One that pauses does so now and then, and
# what is slow is slow each time: whatever is late is tried so often.
PROMPT = 1.5
TRIES = 3
SECRET = "canary-of-the-secret-file"
ENVIRONMENT = "canary-of-the-environment"
# Text of Python, of the system or of the environment that no template may bring to light.
FORBIDDEN = (
    *(SECRET, ENVIRONMENT, "root:x:", "<class ", "<module", "<function", "<built-in", "<bound", " object at 0x"),
    *("Traceback", "site-packages", "minijinja.Environment", "LANG", "C.UTF-8", "worker.py", sys.prefix),
)
GOOD_TEXT = "Good day, {{ who }}.\n"


def write_library(folder: Path, manifest: str | bytes, **prompts: str | bytes) -> Path:
    """A folder with a manifest and the content of its prompts."""
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
        """Ask, and hold the answer to its second and to silence about secrets."""
        for _ in range(TRIES):
            answer, took = self.asked(method, params)
            if is_prompt(took):
                return answer
        raise AssertionError(f"{method} took {took:.2f} s: {str(answer)[:300]}")

    def asked(self, method: str, params: dict[str, Any]) -> tuple[Any, float]:
        """Ask once; the answer, and the seconds that it took."""
        started = time.monotonic()
        answer = self.server.request(method, params)
        took = time.monotonic() - started
        assert_no_leak(answer)
        return answer, took

    def list(self) -> list[Any]:
        """All pages of what is listed; from the beginning again when the list has become shorter meanwhile."""
        found: list[Any] = []
        params: dict[str, Any] = {}
        while True:
            answer = self.request("prompts/list", params)
            if params and "error" in answer:
                assert answer["error"]["code"] == -32602, answer
                found, params = [], {}
                continue
            result = answer["result"]
            found += result["prompts"]
            if "nextCursor" not in result:
                return found
            params = {"cursor": result["nextCursor"]}

    def get(self, name: str, arguments: dict[str, Any] | None = None, *, is_quick: bool = False) -> Any:
        """Ask for a prompt; for one that takes next to no time, again when it is said to have taken too much."""
        for _ in range(TRIES):
            answer = self.request("prompts/get", {"name": name, "arguments": arguments or {}})
            if not is_quick or "it took longer than" not in str(answer.get("error")):
                break
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
        """The process is the same, no larger than it may be, and has no more children than its two workers."""
        assert self.server.process.poll() is None and self.server.process.pid == self.pid
        children = list(self.children())
        assert not [state for state in children if state == "Z"], f"zombies: {children}"
        assert len(children) <= 2, f"workers: {children}"
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
        """How many inotify watches it holds."""
        count = 0
        for file in Path(f"/proc/{self.pid}/fdinfo").iterdir():
            count += file.read_text().count("inotify wd:")
        return count

    def children(self) -> Iterator[str]:
        """The state of each child process."""
        for task in Path(f"/proc/{self.pid}/task").iterdir():
            with suppress(FileNotFoundError, ProcessLookupError):  # a thread or a child that has just ended
                for child in (task / "children").read_text().split():
                    yield Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0]


def is_prompt(took: float) -> bool:
    """Whether something took no longer than it may; on a busy machine that is more, by what its start-ups take now."""
    if took < PROMPT:
        return True
    started = time.monotonic()
    subprocess.run([sys.executable, "-I", "-c", "import json, tomllib"], check=True)
    return took < PROMPT + 10 * (time.monotonic() - started)


def assert_no_leak(answer: Any) -> None:
    text = json.dumps(answer, ensure_ascii=False)
    leaks = [word for word in FORBIDDEN if word in text]
    assert not leaks, f"{leaks} in {text[:500]}"


def eventually(condition: Callable[[], bool], seconds: float) -> bool:
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.03)
    return True
