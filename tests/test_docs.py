"""The documentation, held against the code: modules are listed, paths and links exist, decisions have a status."""

import ast
import importlib
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.command import run
from tests.support.stdio import Server

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "satchel"
PACKAGES = sorted(file.parent for file in SOURCE.rglob("__init__.py") if file.parent != SOURCE)
PAGES = sorted(
    [
        *(ROOT / "docs").rglob("*.md"),
        ROOT / "README.md",
        ROOT / "CHANGELOG.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "SECURITY.md",
    ]
)
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("0*.md"))

# Words of a private dialect, for which the field has its own: see the style table of the house.
RIDDLES = re.compile(r"\b(whoever|whosever|somebody|anybody|everybody|nobody|he|him|his|patience|shelf)\b", re.I)


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def without_code(text: str) -> str:
    """A page without its code blocks and quoted texts, which may say what they like."""
    return re.sub(r"``.*?``|`[^`\n]*`", "", re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S))


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: str(package.relative_to(SOURCE)))
def test_a_package_lists_its_modules(package: Path) -> None:
    said = ast.get_docstring(ast.parse((package / "__init__.py").read_text())) or ""
    inside = {file.stem for file in package.glob("*.py")} - {"__init__"}
    inside |= {file.parent.name for file in package.glob("*/__init__.py")}
    missing = {module for module in inside if not re.search(rf"(?<![\w-]){module}(?![\w-])", said)}
    assert not missing, f"the docstring of {name(package)} does not name {', '.join(sorted(missing))}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_names_only_files_and_modules_that_exist(page: Path) -> None:
    text = re.sub(r"<!-- recipe .*?-->\n *```.*?```", "", page.read_text(), flags=re.S)  # recipes make their own files
    for path in re.findall(r"`([\w./-]+/[\w.-]+\.py|\w+\.py)`", text):
        found = [ROOT / path, SOURCE / path, *SOURCE.rglob(path), *(ROOT / "tests").rglob(path)]
        assert "NAME" in path or any(file.exists() for file in found), f"there is no {path}"
    for module in re.findall(r"`(satchel(?:\.[a-z_]+)+)[`(]", text):
        if module.rpartition(".")[2] not in ("toml", "db", "user", "projects"):  # files, and settings of PostgreSQL
            assert exists(module), f"there is no {module}"


def exists(module: str) -> bool:
    """Whether this is a module, or something in one."""
    try:
        importlib.import_module(module)
    except ModuleNotFoundError:
        parent, _, attribute = module.rpartition(".")
        return bool(parent) and exists(parent) and hasattr(importlib.import_module(parent), attribute)
    return True


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_to_files(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)\)", without_code(page.read_text())):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{name(page)} links to {target}"


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent.name != "contracts"], ids=name)
def test_a_page_is_in_plain_english(page: Path) -> None:
    assert not RIDDLES.findall(without_code(page.read_text()))


@pytest.mark.parametrize("page", DECISIONS, ids=name)
def test_a_decision_has_date_status_and_three_parts(page: Path) -> None:
    text = page.read_text()
    title = re.match(r"# (\d+)\. (.+)\n\n(\d{4}-\d\d-\d\d) · (.+)\n", text)
    assert title, "number, title, date and status"
    number, about, date, status = title.groups()
    assert int(number) == int(page.name[:4])
    assert re.match("accepted|superseded by|amended", status)
    assert re.findall(r"^## (.+)", text, re.M) == ["Context", "Choice", "Consequence"]
    row = f"| [{number}]({page.name}) | {about} | {date} | {status} |"
    assert row in (page.parent / "README.md").read_text(), row


def test_the_pages_of_the_contracts_are_fresh() -> None:
    command = [sys.executable, str(ROOT / "tools" / "docs.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_the_readme_brings_an_elided_edit_back(tmp_path: Path, serve: Callable[..., Server]) -> None:
    """Its commands, run as they stand; then its call of an agent."""
    text = (ROOT / "README.md").read_text()
    block = re.search(r"<!-- history -->\n```sh\n(.*?)```\n<!-- /history -->", text, re.S)
    call = re.search(r"`(\w+) (\{.*?\})`\.", text)
    assert block and call
    outputs: dict[str, str] = {}
    for line in block.group(1).splitlines():
        _, *words = shlex.split(line)
        done = run(*words, environment={"SATCHEL_HOME": str(tmp_path)}, cwd=ROOT)
        assert (done.returncode, done.stderr) == (0, b""), (line, done.stderr)
        outputs[words[0] + " " + words[1]] = done.stdout.decode()
    assert [line.split("\t")[0] for line in outputs["log house-style"].splitlines()] == ["2", "1"]
    assert "+# Satchel ... (rest unchanged)\n" in outputs["diff house-style"]
    assert outputs["restore house-style"] == "Restored prompt 'house-style' to version 1; it is version 3 now.\n"
    assert outputs["trash list"].startswith("prompt\thouse-style\tHouse style\tdefault\t")
    assert outputs["undo --yes"] == "Brought back prompt 'house-style'.\n"
    assert outputs["prompt show"] == text

    agent = serve("satchel", str(tmp_path / "satchel.db"))
    agent.call("update_prompt", {"prompt": "house-style", "content": "# Satchel ... (rest unchanged)"})
    agent.call(call.group(1), json.loads(call.group(2)))
    read = agent.call("get_prompt", {"prompt": "house-style", "whole": True})
    assert read["structuredContent"]["prompt"]["content"] == text


def test_the_page_on_backups_brings_a_prompt_back(tmp_path: Path) -> None:
    """Its commands, run as they stand."""
    text = (ROOT / "docs" / "backup.md").read_text()
    block = re.search(r"<!-- backup -->\n```sh\n(.*?)```\n<!-- /backup -->", text, re.S)
    assert block
    outputs: dict[str, str] = {}
    for line in block.group(1).splitlines():
        _, *words = shlex.split(line)
        done = run(*words, environment={"SATCHEL_HOME": str(tmp_path / "home")}, cwd=tmp_path)
        assert done.returncode == 0, (line, done.stderr)
        outputs[words[0] + " " + words[1]] = done.stdout.decode()
    assert outputs["prompt show"] == "Write short sentences."
    assert outputs["prompt list"].startswith("house-style\tHouse style\t")
    assert "is kept as" in outputs["restore ./monday.db"]


EXCHANGED = {
    "prompts.csv": 'act,prompt\nPoet,"Write about ${topic}"\n',
    ".claude/commands/commit.md": "---\ndescription: Commit\n---\nCommit $ARGUMENTS\n",
    ".cursor/rules/ts.mdc": "---\nglobs: *.ts\n---\nStrict.\n",
    "patterns/sum/system.md": "Summarise {{input}}.\n",
    "todo.txt": "(A) Dig\n",
    "tasks.json": '{"tasks": [{"id": 1, "title": "Plan", "status": "done", "dependencies": []}]}',
    "notes/a.md": "---\ntitle: A\npermalink: a\n---\nText\n",
}


@pytest.mark.parametrize(("page", "block"), [("import", "import"), ("export", "export"), ("export", "sync")])
def test_the_commands_of_import_export_and_sync_run_as_they_stand(tmp_path: Path, page: str, block: str) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text()
    found = re.search(rf"<!-- {block} -->\n```sh\n(.*?)```\n<!-- /{block} -->", text, re.S)
    assert found
    work = tmp_path / "work"
    for path, content in EXCHANGED.items() if block == "import" else ():
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_text(content)
    work.mkdir(exist_ok=True)
    for line in found.group(1).splitlines():
        _, *words = shlex.split(line)
        done = run(*words, environment={"SATCHEL_HOME": str(tmp_path / "home")}, cwd=work)
        assert done.returncode == 0, (line, done.stdout, done.stderr)


def test_every_format_is_in_the_table_of_the_import_page() -> None:
    from satchel.exchange.formats import BY_NAME

    text = (ROOT / "docs" / "import.md").read_text()
    assert [name for name in BY_NAME if f"`{name}`" not in text] == []


def test_every_function_that_the_architecture_names_exists() -> None:
    """A step of a walk is written as `file.py` `function`, or `file.py` `Class.method`."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    steps = re.findall(r"`([a-z_/]+\.py)`\s+`([A-Za-z_.]+)`", text)
    assert len(steps) > 15
    for file, name in steps:
        source = (ROOT / "src" / "satchel" / file).read_text()
        for part in name.split("."):
            assert re.search(rf"(def|class) {part}\b", source), f"{file} has no {name}"
