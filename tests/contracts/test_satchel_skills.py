"""Skills over MCP: Satchel's own, those of libraries, and prompts that are tagged `skill`."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Serve
from tests.support.stdio import NEWEST, Client

HEAD = """---
name: deploy
description: >-
  How we
  deploy.
allowed-tools: [Bash, Read]
metadata:
  team: web
---
"""


@pytest.fixture
def libraries(tmp_path: Path) -> Path:
    library = tmp_path / "libraries" / "ops"
    (library / "skills" / "deploy" / "scripts").mkdir(parents=True)
    (library / "twig.toml").write_text('[library]\nname = "ops"\n')
    (library / "skills" / "deploy" / "SKILL.md").write_text(HEAD + "\nRun it.\n")
    (library / "skills" / "deploy" / "scripts" / "run.sh").write_text("echo hi\n")
    for name, head in {
        "other-name": HEAD,
        "no-head": "text",
        "Bad": HEAD,
        "list": HEAD.replace(">-\n  How we\n  deploy.", "[a]"),
    }.items():
        (library / "skills" / name).mkdir()
        (library / "skills" / name / "SKILL.md").write_text(
            head.replace("name: deploy", "name: list") if name == "list" else head
        )
    (library / "skills" / "deploy" / "secret").symlink_to("/etc/passwd")
    return tmp_path / "libraries"


@pytest.fixture(params=["2025-11-25", NEWEST])
def client(request: pytest.FixtureRequest, serve: Serve, libraries: Path, tmp_path: Path) -> Client:
    writer = serve("satchel", str(tmp_path / "satchel.db"))
    prompt = {"title": "Write notes", "content": "Write.", "tags": ["skill"], "description": 'Says "how".'}
    writer.call("add_prompts", {"prompts": [prompt, {"title": "No skill", "content": "x"}]})
    return serve("satchel", str(tmp_path / "satchel.db"), request.param, "--libraries", str(libraries))


def read(client: Client, method: str, **params: Any) -> Any:
    return client.request(method, params)["result"]


def test_every_skill_is_listed_with_the_digests_of_the_bytes_that_are_read(client: Client) -> None:
    skills = {skill["uri"]: skill for skill in read(client, "skills/list")["skills"]}
    assert list(skills) == [
        "skill://satchel/using-satchel/SKILL.md",
        "skill://library/ops/deploy/SKILL.md",
        "skill://project/default/write-notes/SKILL.md",
    ]
    deploy = skills["skill://library/ops/deploy/SKILL.md"]
    assert deploy["frontmatter"] == {
        "name": "deploy",
        "description": "How we deploy.",
        "allowed-tools": ["Bash", "Read"],
        "metadata": {"team": "web"},
    }
    notes = skills["skill://project/default/write-notes/SKILL.md"]
    assert notes["frontmatter"] == {"name": "write-notes", "description": 'Says "how".'}
    assert [one["uri"] for one in deploy["resources"]] == [
        "skill://library/ops/deploy/SKILL.md",
        "skill://library/ops/deploy/scripts/run.sh",
    ]
    for uri, skill in skills.items():
        assert read(client, "skills/get", uri=uri)["skill"] == skill
        for file in skill["resources"]:
            [content] = read(client, "resources/read", uri=file["uri"])["contents"]
            raw = content["text"].encode()
            assert (file["size"], file["digest"]) == (len(raw), f"sha256:{sha256(raw).hexdigest()}")


def test_an_invalid_skill_is_not_listed(client: Client) -> None:
    for uri in [
        "skill://satchel/nothing/SKILL.md",
        "skill://library/ops/other-name/SKILL.md",
        "skill://library/ops/list/SKILL.md",
        "skill://library/ops/deploy/secret",
        "skill://library/ops/../deploy/SKILL.md",
        "skill://library/none/deploy/SKILL.md",
        "skill://project/default/no-skill/SKILL.md",
        "skill://project/other/write-notes/SKILL.md",
        "skill://",
    ]:
        assert client.request("skills/get", {"uri": uri})["error"]["code"] == -32602
        assert client.request("resources/read", {"uri": uri})["error"]["code"] == -32602
