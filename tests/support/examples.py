"""The examples of docs/teams/embedding.md, which tests run unchanged."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "teams" / "embedding.md"
NAMES = re.findall(r"<!-- example: (\S+) -->", PAGE.read_text())


def read_example(name: str) -> str:
    """Return the code of an example."""
    [code] = re.findall(rf"<!-- example: {name} -->\n```\w+\n(.*?)```", PAGE.read_text(), re.S)
    return str(code)
