"""Find the commands of README.md and docs/: blocks of shell, and commands inside sentences.

The comment above a block names it and its place, one of `places`: `<!-- run NAME in PLACE -->`.
"""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [
        *(
            page
            for page in (ROOT / "docs").rglob("*.md")
            if page.parent.name not in ("contracts", "decisions") and page.name != "commands.md"
        ),
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "bench/README.md")),
    ]
)
PROGRAMS = ("satchel", "make", "npx", "uv", "uvx", "pipx", "pip", "curl", "docker", "claude", "codex", "gemini")

_FENCE = re.compile(r"(?:^<!-- (?P<comment>[^\n]*?) -->\n)?^ *```(?P<language>\w*)\n(?P<text>.*?)^ *```$", re.M | re.S)
_RUN = re.compile(r"run (?P<name>[\w-]+) in (?P<place>[\w-]+)")


class Block(NamedTuple):
    """The lines of a block of shell, and the place where they run."""

    page: Path
    name: str
    place: str
    lines: list[str]


def read_blocks() -> list[Block]:
    """Return every block of shell in the pages, except the examples of docs/teams/embedding.md (see tests/sdk)."""
    return _read("sh")


def read_sql() -> list[str]:
    """Return the blocks of SQL that an operator runs before the commands on PostgreSQL."""
    return ["\n".join(block.lines) for block in _read("sql")]


def _read(language: str) -> list[Block]:
    blocks = []
    for page in PAGES:
        for found in _FENCE.finditer(page.read_text()):
            if found["language"] != language or (found["comment"] or "").startswith("example: "):
                continue
            run = _RUN.fullmatch(found["comment"] or "")
            assert run, f"{page.name} does not say where this is run: {found['text']}"
            lines = found["text"].replace("\\\n", " ").splitlines()
            blocks.append(Block(page, run["name"], run["place"], lines))
    return blocks


def read_unfenced() -> list[tuple[Path, str]]:
    """Return commands that the tests would miss: in indented lines, and in blocks of another language."""
    missed = []
    for page in PAGES:
        text = page.read_text()
        outside = _FENCE.sub("", text)
        missed += [(page, line) for line in re.findall(r"^(?: {4}|\t)(\S.*)", outside, re.M) if _is_command(line)]
        others = (found["text"] for found in _FENCE.finditer(text) if found["language"] in ("", "bash", "console"))
        missed += [(page, line) for other in others for line in other.splitlines() if _is_command(line)]
    return missed


def read_inline() -> list[tuple[Path, str]]:
    """Return the commands inside sentences and tables, in backticks."""
    spans = []
    for page in PAGES:
        text = _FENCE.sub("", page.read_text())
        spans += [(page, span) for span in re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text) if _is_command(span)]
    return sorted(set(spans))


def _is_command(line: str) -> bool:
    return line.lstrip("$ ").split(" ")[0] in PROGRAMS and " " in line
