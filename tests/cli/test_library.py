"""The commands about libraries, and the example library."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.contracts.test_twig import write
from tests.support.command import run as run_command

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
    checked = satchel(tmp_path, "validate", str(tmp_path / "libraries" / "My Lib"))
    assert (checked.returncode, checked.stdout) == (0, "ok: 1 library, 1 prompt\n")
    again = satchel(tmp_path, "new", "My Lib")
    assert again.returncode == 5 and "already there" in again.stderr
    for bad in ("a/b", "..", "---", ""):
        assert satchel(tmp_path, "new", bad).returncode == 2
    assert json.loads(satchel(tmp_path, "new", "Other", "--json").stdout)["name"] == "other"


def test_a_key_is_given_as_it_is_written(tmp_path: Path) -> None:
    manifest = '[prompts."Key.One-2"]\n[[prompts."Key.One-2".arguments]]\nname = "toWhom"\n'
    write(tmp_path / "libraries", "lib", manifest, **{"Key.One-2": "Dear {{ toWhom }}"})
    rendered = satchel(tmp_path, "render", "lib:Key.One-2", "toWhom=Ann", "--json")
    assert json.loads(rendered.stdout) == {"name": "lib:Key.One-2", "text": "Dear Ann"}
    assert satchel(tmp_path, "show", "lib").stdout == "lib:Key.One-2\n    toWhom (optional)\n"
    other = satchel(tmp_path, "render", "lib:key.one-2")
    assert (other.returncode, other.stderr) == (
        3,
        "satchel: there is no prompt 'lib:key.one-2'. Did you mean 'lib:Key.One-2'?\n",
    )


def test_a_rendering_that_fails_is_reported(tmp_path: Path) -> None:
    manifest = "[prompts.p]\n[[prompts.p.arguments]]\nname = 'a'\nrequired = true\n[prompts.gone]\n"
    write(tmp_path / "libraries", "lib", manifest, p="one\n{{ a|nope }}\n")
    for words, status, said in (
        (("lib:x",), 3, "Did you mean 'lib:p'?"),
        (("lib:p",), 2, "needs a=…"),
        (("lib:p", "a=1", "b=2"), 2, "has no argument 'b'. It has: a."),
        (("lib:p", "a"), 2, "gives no value: write NAME=VALUE"),
        (("lib:p", "a=1"), 1, "lib/prompts/p.md:2: "),
        (("lib:gone",), 3, "no file lib/prompts/gone.md"),
    ):
        done = satchel(tmp_path, "render", *words)
        assert (done.returncode, done.stdout) == (status, "") and said in done.stderr, done.stderr
    assert satchel(tmp_path, "show", "nope").returncode == 3


@pytest.mark.parametrize("library", sorted(path.name for path in EXAMPLES.iterdir()))
def test_the_examples_have_no_problems(tmp_path: Path, library: str) -> None:
    done = satchel(tmp_path, "validate", str(EXAMPLES / library))
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok: 1 library, 3 prompts\n", "")
