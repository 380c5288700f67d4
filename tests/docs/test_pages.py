"""The pages name files, modules, links and answers that exist."""

import importlib
import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path

from satchel import config
from tests.support.stdio import Server

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "satchel"
TOP = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "bench/README.md")]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), *TOP]
DECISIONS = sorted((ROOT / "docs" / "dev" / "decisions").glob("0*.md"))
REPOSITORY = re.compile(r"https://(?:github|raw\.githubusercontent)\.com/satchel-mcp/satchel/(?:(?:blob|tree)/)?main/")


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def without_code(text: str) -> str:
    """Return a page without its code."""
    return re.sub(r"``.*?``|`[^`\n]*`", "", re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S))


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^ *```.*?^ *```", "", page.read_text(), flags=re.M | re.S)
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def test_pages_name_only_files_and_modules_that_exist() -> None:
    missing = []
    for page in PAGES:
        text = re.sub(r"<!-- recipe .*?-->\n *```.*?```", "", page.read_text(), flags=re.S)  # they make their own files
        for path in re.findall(r"`([\w./-]+/[\w.-]+\.py|\w+\.py)`", text):
            found = [ROOT / path, SOURCE / path, *SOURCE.rglob(path), *(ROOT / "tests").rglob(path)]
            if "NAME" not in path and not any(file.exists() for file in found):
                missing.append(f"{name(page)}: {path}")
        for module in re.findall(r"`(satchel(?:\.[a-z_]+)+)[`(]", text):
            is_file_or_setting = module.rpartition(".")[2] in ("toml", "db", "user", "projects")
            if not is_file_or_setting and not exists(module):
                missing.append(f"{name(page)}: {module}")
    assert missing == []


def exists(module: str) -> bool:
    """Return whether this is a module, or a name in one."""
    try:
        importlib.import_module(module)
    except ModuleNotFoundError:
        parent, _, attribute = module.rpartition(".")
        return bool(parent) and exists(parent) and hasattr(importlib.import_module(parent), attribute)
    return True


def test_links_lead_to_files_and_headings() -> None:
    dead = []
    for page in PAGES:
        text = without_code(page.read_text())
        for target in [*re.findall(r"\]\(\s*([^)\s]+)\)", text), *re.findall(r"^\[[^\]]+\]: (\S+)$", text, re.M)]:
            path, _, anchor = target.partition("#")
            inside = REPOSITORY.match(path)
            file = ROOT / path[inside.end() :] if inside else page.parent / path if path else page
            if "://" in path and not inside:
                continue
            if not file.exists() or (anchor and anchor not in anchors(file)):
                dead.append(f"{name(page)}: {target}")
    assert dead == []


def test_decisions_are_short_and_listed() -> None:
    listed = (ROOT / "docs" / "dev" / "decisions" / "README.md").read_text()
    for page in DECISIONS:
        text = page.read_text()
        assert len(re.findall(r"\S*\w\S*", text)) <= 250, page.name
        assert text.startswith(f"# {int(page.name[:4])}. ") and f"]({page.name})" in listed, page.name


def test_an_agent_gets_the_answers_that_the_readme_shows(tmp_path: Path, serve: Callable[..., Server]) -> None:
    text = (ROOT / "README.md").read_text()
    [block] = re.findall(r"<!-- exchange -->\n```\n(.*?)```", text, re.S)
    shown = [call.partition("\n") for call in block.removeprefix("> ").split("\n> ")]
    restore = re.search(r"`(restore) (\{.*?\})` brings it back", text)
    assert restore and len(shown) == 3

    agent = serve("satchel", str(tmp_path / "satchel.db"))
    release = "# Release\n\n## Steps\n\n1. Run the tests.\n2. Tag the commit.\n\n## Roll back\n\nDelete the tag.\n"
    agent.call("add_resources", {"resources": [{"name": "release.md", "content": release}]})
    agent.call("add_tasks", {"lines": ["Fix the login !high +bug", "Write release notes after:1"]})
    for call, _, expected in shown:
        tool, _, arguments = call.partition(" ")
        answered = agent.call(tool, json.loads(arguments))["content"][0]["text"]
        assert answered.splitlines()[: len(expected.splitlines())] == expected.splitlines()

    agent.call("add_prompts", {"prompts": [{"title": "Code review", "content": "List bugs first."}]})
    agent.call("update_prompt", {"prompt": "code-review", "content": "# Review ... (rest unchanged)"})
    agent.call(restore[1], json.loads(restore[2]))
    read = agent.call("get_prompt", {"prompt": "code-review", "whole": True})
    assert read["structuredContent"]["prompt"]["content"] == "List bugs first."


def test_the_entry_of_the_readme_is_what_clients_read() -> None:
    [entry] = re.findall(r"```json\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    example = json.loads((ROOT / "examples" / ".mcp.json").read_text())
    del example["mcpServers"]["satchel"]["type"]
    assert json.loads(entry) == example


def test_the_settings_page_has_every_setting_once_in_a_line_that_is_accepted(tmp_path: Path) -> None:
    [file] = re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / "reference" / "settings.md").read_text(), re.S)
    lines = re.findall(r"^# (\w+ = .*)$", file, re.M)
    assert list(tomllib.loads("\n".join(lines))) == [setting.name for setting in config.SETTINGS]
    for line in lines:
        (tmp_path / "satchel.toml").write_text(f"{line}\n")
        config.load({}, {"SATCHEL_HOME": str(tmp_path)})


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
