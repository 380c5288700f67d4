"""The official Inspector judges the extensions of the contract satchel, in both generations: MCP Apps and skills."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.oracles import node

pytestmark = pytest.mark.npm


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_finds_the_app_of_show_and_of_no_other_tool(era: str, tmp_path: Path) -> None:
    said = inspect(tmp_path, era, "--method", "tools/list", "--app-info", "--advertise-apps")

    apps = [tool for tool in said if tool["hasApp"]]
    assert [tool["toolName"] for tool in apps] == ["show"]
    assert re.fullmatch(r"ui://satchel/show@[0-9a-f]{8}", apps[0]["resourceUri"])
    assert apps[0]["resourceMimeType"] == "text/html;profile=mcp-app"


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_verifies_every_skill(era: str, tmp_path: Path) -> None:
    folder = tmp_path / "libraries" / "ops" / "skills" / "deploy"
    folder.mkdir(parents=True)
    (tmp_path / "libraries" / "ops" / "twig.toml").write_text('[library]\nname = "ops"\n')
    (folder / "SKILL.md").write_text("---\nname: deploy\ndescription: How we deploy.\n---\nRun it.\n")
    (folder / "notes.txt").write_text("Notes\n")
    libraries = ("--libraries", str(tmp_path / "libraries"))

    said = inspect(tmp_path, era, "--method", "skills/list", "--verify", "--require-digests", serve=libraries)

    assert {skill["name"]: (skill["ok"], skill["outcome"]) for skill in said} == {
        "using-satchel": (True, "verified"),
        "deploy": (True, "verified"),
    }


def inspect(folder: Path, era: str, *options: str, serve: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Return the output of the Inspector about a server, one object a line."""
    command = ["--cli", *node.satchel("satchel", folder / "satchel.db"), *serve, *options]
    command += ["--protocol-era", era, "--format", "json", "--quiet"]
    done = node.run("node_modules/.bin/mcp-inspector", *command, home=folder)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]
