"""The recipes of docs/dev/architecture.md work in a copy of the sources."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.stdio import Server

ROOT = Path(__file__).resolve().parents[1]
USER = "550e8400-e29b-41d4-a716-446655440000"
BLOCK = re.compile(
    r"^ *<!-- recipe (?P<recipe>\w+): (?P<file>\S+), (?P<how>new|at the end|before|first in|last in)"
    r'(?: "(?P<anchor>[^"]+)")? -->\n'
    r"(?P<indent> *)```python\n(?P<code>.*?)^ *```$",
    re.M | re.S,
)


def follow(copy: Path, recipe: str) -> None:
    """Insert every block of a recipe where the comment before it says."""
    text = (ROOT / "docs" / "dev" / "architecture.md").read_text()
    blocks = [found for found in BLOCK.finditer(text) if found["recipe"] == recipe]
    assert blocks, recipe
    for found in blocks:
        code = "".join(line.removeprefix(found["indent"]) for line in found["code"].splitlines(keepends=True))
        insert(copy / found["file"], found["how"], found["anchor"], code)
    changed = {str(copy / found["file"]) for found in blocks}
    for command in ("check", "format"):
        rules = ["--config", str(ROOT / "pyproject.toml"), "--quiet"]
        rules += ["--ignore", "S608"] if command == "check" else []  # which pyproject.toml ignores by path
        subprocess.run([sys.executable, "-m", "ruff", command, *rules, *changed], check=True)


def insert(file: Path, how: str, anchor: str | None, code: str) -> None:
    """Put a block into a file, as its comment says."""
    if how == "new":
        assert not file.exists()
        file.write_text(code)
        return
    lines = file.read_text().splitlines(keepends=True)
    if how == "at the end":
        file.write_text("".join(lines) + "\n\n" + code)
        return
    assert anchor is not None
    places = [number for number, line in enumerate(lines) if line.strip().startswith(anchor)]
    assert len(places) == 1, f"{anchor!r} is {len(places)} times in {file.name}"
    [place] = places
    if how == "before":
        lines[place:place] = [code] if code.startswith("from ") else [code, "\n\n"]
    elif how == "first in":
        lines[place + 1 : place + 1] = [f"{code.rstrip()},\n"]
    else:  # last in a tuple
        rest = "".join(lines[place:])
        head, tail = re.split(r"(?<=[\w),\"])\s*\)\n", rest, maxsplit=1)
        lines[place:] = [f"{head.rstrip().rstrip(',')}, {code.strip()})\n", tail]
    file.write_text("".join(lines))


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of the sources to change."""
    folder = tmp_path / "copy"
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def serve(copy: Path, contract: str, store: str) -> Server:
    environment = {"PYTHONPATH": str(copy / "src")}
    return Server("--contract", contract, "--database", store, "--user", USER, environment=environment)


def satchel(copy: Path, *arguments: str) -> str:
    """Return the output of a command of the changed sources."""
    code = f"import sys; sys.path.insert(0, {str(copy / 'src')!r}); from satchel.__main__ import main; sys.exit(main())"
    return subprocess.run([sys.executable, "-c", code, *arguments], check=True, capture_output=True, text=True).stdout


def test_the_recipe_for_a_tool_makes_a_tool_that_answers(copy: Path, store: str) -> None:
    follow(copy, "tool")
    with serve(copy, "tasks", store) as server:
        for title in ("one", "two"):
            server.call("add_task", title=title)
        server.call("complete_task", task_id=1)
        for status in ("pending", "completed"):
            said = {"success": True, "data": 1, "message": f"1 {status}"}
            assert json.loads(server.call("count_tasks", status=status)["content"][0]["text"]) == said
        refused = server.call("count_tasks", status="lost")
        assert refused["isError"] and "VALIDATION_ERROR" in refused["content"][0]["text"]


def test_the_recipe_for_a_contract_makes_a_contract_that_is_served(copy: Path, store: str) -> None:
    follow(copy, "tool")
    follow(copy, "contract")
    with serve(copy, "tasks", store) as server:
        server.call("add_task", title="one")
    with serve(copy, "tally", store) as server:
        assert [tool["name"] for tool in server.request("tools/list")["result"]["tools"]] == ["tally"]
        assert server.call("tally")["structuredContent"] == {"count": 1}
        assert server.call("tally", is_completed="x")["structuredContent"] == {"problem": "is_completed: type"}
    assert json.loads(satchel(copy, "contract", "show", "tally", "tally"))["title"] == "tally"


def test_the_recipe_for_a_migration_makes_a_step_that_an_older_store_takes(copy: Path, store: str) -> None:
    with serve(ROOT, "tasks", store) as server:
        server.call("add_task", title="one")
    before = json.loads(satchel(ROOT, "database", "status", "--json", "--database", store))["schema"]
    follow(copy, "migration")
    satchel(copy, "database", "migrate", "--database", store)
    after = json.loads(satchel(copy, "database", "status", "--json", "--database", store))
    assert (after["schema"], after["newest"]) == (before + 1, before + 1)
    with serve(copy, "tasks", store) as server:
        assert server.call("list_tasks")["structuredContent"]["message"] == "Found 1 task"
