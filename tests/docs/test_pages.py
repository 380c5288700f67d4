"""The documentation, held against the code: modules are listed, paths and links exist, decisions have a status."""

import ast
import importlib
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.stdio import Server

ROOT = Path(__file__).resolve().parents[2]
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
DECISIONS = sorted((ROOT / "docs" / "dev" / "decisions").glob("0*.md"))

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


def test_the_call_of_the_readme_brings_an_elided_edit_back(tmp_path: Path, serve: Callable[..., Server]) -> None:
    call = re.search(r"`(\w+) (\{.*?\})`\.", (ROOT / "README.md").read_text())
    assert call
    agent = serve("satchel", str(tmp_path / "satchel.db"))
    agent.call("add_prompts", {"prompts": [{"title": "House style", "content": "Write short sentences."}]})
    agent.call("update_prompt", {"prompt": "house-style", "content": "# Style ... (rest unchanged)"})
    agent.call(call.group(1), json.loads(call.group(2)))
    read = agent.call("get_prompt", {"prompt": "house-style", "whole": True})
    assert read["structuredContent"]["prompt"]["content"] == "Write short sentences."


def test_every_format_is_in_the_table_of_the_import_page() -> None:
    from satchel.exchange.formats import BY_NAME

    text = (ROOT / "docs" / "guides" / "import.md").read_text()
    assert [name for name in BY_NAME if f"`{name}`" not in text] == []


def test_every_function_that_the_architecture_names_exists() -> None:
    """A step of a walk is written as `file.py` `function`, or `file.py` `Class.method`."""
    text = (ROOT / "docs" / "dev" / "architecture.md").read_text()
    steps = re.findall(r"`([a-z_/]+\.py)`\s+`([A-Za-z_.]+)`", text)
    assert len(steps) > 15
    for file, name in steps:
        source = (ROOT / "src" / "satchel" / file).read_text()
        for part in name.split("."):
            assert re.search(rf"(def|class) {part}\b", source), f"{file} has no {name}"
