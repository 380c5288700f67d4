"""The official TypeScript clients on a live library: they list, get with arguments, and hear when a file is saved."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.oracles import node

pytestmark = pytest.mark.npm

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "libraries"


@pytest.mark.parametrize("client", ["1", "2", "auto"])
def test_a_library_is_listed_filled_in_and_alive(client: str, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "libraries")
    satchel = node.satchel("twig", tmp_path / "unused.db")
    command = [*satchel[: satchel.index("--database")], "--libraries", str(tmp_path / "libraries")]
    manifest = tmp_path / "libraries" / "everyday" / "twig.toml"
    done = node.run("twig.mjs", client, str(manifest), *command, home=tmp_path)
    assert done.returncode == 0, done.stderr
    seen: dict[str, Any] = json.loads(done.stdout)
    entry = seen["listed"]["result"]["prompts"][1]
    assert (entry["name"], entry["description"]) == ("everyday:commit_message", "Write a commit message for a change")
    assert entry["arguments"] == [
        {"name": "diff", "description": "The change, as git diff prints it", "required": True},
        {"name": "ticket", "description": "The ticket it belongs to", "required": False},
    ]
    [message] = seen["got"]["result"]["messages"]
    assert message["content"]["text"].endswith('End with a line "Ticket: T-1".\n\n{{ 7 * 7 }}\n')
    missing, unknown = seen["missing"]["error"], seen["unknown"]["error"]
    assert (missing["code"], missing["data"]) == (-32602, {"details": "Missing required argument: diff"})
    assert (unknown["code"], unknown["data"]) == (-32601, {"details": "Prompt not found: everyday:nope"})
    assert seen["heard"] == "told"
