"""The commands about libraries, and the example library."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.contracts.test_twig import write
from tests.support.command import run as run_command
from tests.support.stdio import Server

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "libraries"


def satchel(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    ended = run_command("library", *words, environment={"SATCHEL_HOME": str(home)})
    return subprocess.CompletedProcess(ended.args, ended.returncode, ended.stdout.decode(), ended.stderr.decode())


def test_a_new_library_works_at_once(tmp_path: Path) -> None:
    made = satchel(tmp_path, "new", "My Lib")
    assert made.returncode == 0 and "satchel library render my_lib:review" in made.stdout
    rendered = satchel(tmp_path, "render", "my_lib:review", "code=print(1)", "language=Python")
    assert rendered.stdout == "Please review the following Python:\n\nprint(1)\n\nMind the customs of Python.\n"
    assert satchel(tmp_path, "list").stdout == "my_lib\tMy Lib\t1\t0\n"
    shown = satchel(tmp_path, "show", "my_lib").stdout
    assert "my_lib:review" in shown and "language (optional)" in shown
    assert satchel(tmp_path, "validate", str(tmp_path / "libraries" / "My Lib")).returncode == 0
    again = satchel(tmp_path, "new", "My Lib")
    assert again.returncode == 5 and "already there" in again.stderr
    for bad in ("a/b", "..", "---", ""):
        assert satchel(tmp_path, "new", bad).returncode == 2
    assert json.loads(satchel(tmp_path, "new", "Other", "--json").stdout)["name"] == "other"


def test_a_rendering_that_fails_is_reported(tmp_path: Path) -> None:
    manifest = "[prompts.p]\n[[prompts.p.arguments]]\nname = 'a'\nrequired = true\n[prompts.gone]\n"
    write(tmp_path / "libraries", "lib", manifest, p="one\n{{ a|nope }}\n")
    for words, status, said in (
        (("lib:x",), 3, "Did you mean 'lib:p'?"),
        (("lib:p",), 2, "needs a=…"),
        (("lib:p", "a=1", "b=2"), 2, "has no argument 'b'. It has: a."),
        (("lib:p", "a"), 2, "is not KEY=VALUE"),
        (("lib:p", "a=1"), 1, "lib/prompts/p.md:2: "),
        (("lib:gone",), 3, "no file lib/prompts/gone.md"),
    ):
        done = satchel(tmp_path, "render", *words)
        assert (done.returncode, done.stdout) == (status, "") and said in done.stderr, done.stderr
    assert satchel(tmp_path, "show", "nope").returncode == 3


def test_validate_prints_every_problem_with_file_and_line(tmp_path: Path) -> None:
    manifest = """\
[prompts.fine]
[prompts.'Bad Key']
[prompts.types]
description = 5
[[prompts.types.arguments]]
name = "a"
required = "yes"
[[prompts.types.arguments]]
name = "a"
[[prompts.types.arguments]]
description = "nameless"
[prompts.lost]
[prompts.broken]
"""
    library = write(tmp_path, "lib", manifest, fine="x", types="x", broken="one\n\n{% if %}\n")
    done = satchel(tmp_path, "validate", str(library))
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "twig.toml:2: prompt 'Bad Key': a name has only a-z, 0-9 and _",
        "twig.toml:3: prompt types: description must be text",
        "twig.toml:5: prompt types: argument a: required must be true or false",
        "twig.toml:8: prompt types: there are two arguments 'a'",
        "twig.toml:10: prompt types: argument 3 needs a name of a-z, 0-9 and _",
        "twig.toml:12: prompt lost: there is no file prompts/lost.md",
        "prompts/broken.md:3: Expected an expression, got 'end of statement block'",
    ]
    problems = json.loads(satchel(tmp_path, "validate", str(library), "--json").stdout)["problems"]
    assert problems[0] == {"file": "twig.toml", "line": 2, "what": "prompt 'Bad Key': a name has only a-z, 0-9 and _"}
    (library / "twig.toml").write_text("[prompts.fine]\nx = = 1\n")
    assert satchel(tmp_path, "validate", str(library)).stdout == "twig.toml:2: Invalid value\n"
    (library / "twig.toml").unlink()
    assert satchel(tmp_path, "validate", str(library)).stdout.startswith("twig.toml:1: there is no such file")
    assert satchel(tmp_path, "validate", str(tmp_path / "nowhere")).returncode == 2


@pytest.mark.parametrize("library", sorted(path.name for path in EXAMPLES.iterdir()))
def test_the_examples_have_no_problems(tmp_path: Path, library: str) -> None:
    done = satchel(tmp_path, "validate", str(EXAMPLES / library))
    assert (done.returncode, done.stdout) == (0, "")


def test_the_examples_are_served(tmp_path: Path) -> None:
    with Server("--contract", "twig", "--libraries", str(EXAMPLES)) as server:
        listed = server.request("prompts/list")["result"]["prompts"]
        assert [one["name"] for one in listed][:2] == ["everyday:code_review", "everyday:commit_message"]
        answer = server.request("prompts/get", {"name": "everyday:commit_message", "arguments": {"diff": "+1"}})
        assert answer["result"]["messages"][0]["content"]["text"].endswith("why it was made.\n\n+1\n")
