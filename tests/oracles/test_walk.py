"""The walk of the README, from an empty home: its own lines, run as they stand."""

import json
import os
import re
import shlex
import subprocess
from base64 import b64decode
from pathlib import Path

import pytest

from tests.oracles.node import SCRIPTS, binaries

pytestmark = pytest.mark.npm

ROOT = Path(__file__).resolve().parents[2]


def test_the_walk_of_the_readme_leads_where_it_says(tmp_path: Path) -> None:
    match = re.search(r"<!-- walk -->\n```sh\n(.*?)```\n<!-- /walk -->", (ROOT / "README.md").read_text(), re.S)
    assert match
    paths = (ROOT / ".venv" / "bin", SCRIPTS / "node_modules" / ".bin", binaries())
    environment = {
        "HOME": str(tmp_path),  # and no SATCHEL_HOME: clients start servers with next to no environment
        "PATH": os.pathsep.join([*map(str, paths), os.environ["PATH"]]),
    }
    outputs = []
    for line in match.group(1).splitlines():
        command = [word for word in shlex.split(line) if word != "npx"]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        outputs.append(done.stdout)
    assert outputs[0] == "Created project 'demo'.\n"
    assert outputs[3].startswith("code-review\tCode review\treview\t")
    assert json.loads(outputs[4])["prompts"] == [{"name": "code-review", "description": "Review a change"}]
    [contents] = json.loads(outputs[5])["contents"]
    assert b64decode(contents["blob"]) == (ROOT / "docs" / "logo.png").read_bytes()
    assert (contents["uri"], contents["mimeType"]) == ("file:///logo.png", "image/png")
