"""The lines that problems of a manifest are reported with, in every way in which TOML lets a key be written."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from satchel.library.catalog import Libraries
from satchel.library.manifest import parse
from satchel.library.render import Renderer

NOBODY = 65534

# Each has a prompt K.1 with a wrong second argument; the lines of the prompt and of that argument.
SPELLINGS = {
    "tables": ('[prompts."K.1"]\n[[prompts."K.1".arguments]]\nname="a"\n[[prompts."K.1".arguments]]\nname="if"', 1, 4),
    "literal quotes": ("\n[prompts.'K.1']\n[[prompts.'K.1'.arguments]]\nname='a'\n[[prompts.'K.1'.arguments]]", 2, 5),
    "escapes": ('[prompts."K\\u002e1"]\narguments = [{name="a"},\n{name="if"}]', 1, 3),
    "spaces": (
        '  [ prompts . "K.1" ]  # text\n[[ prompts."K.1" . arguments ]]\nname="a"\n[[prompts."K.1".arguments]]',
        1,
        4,
    ),
    "tables without their prompt": ('x=1\n[[prompts."K.1".arguments]]\nname="a"\n[[prompts."K.1".arguments]]', 2, 4),
    "inline, one line": ('[prompts."K.1"]\narguments = [{name="a"}, {name="if"}]', 1, 2),
    "inline, a line each": ('[prompts."K.1"]\narguments = [\n  # first\n  {name="a"},\n\n  {name="if"},\n]', 1, 6),
    "below [prompts]": ('[prompts]\nother = {}\n"K.1" = {arguments = [{name="a"}, {name="if"}]}', 3, 3),
    "dotted": (
        'prompts.other = {}\nprompts."K.1".description = "x"\nprompts."K.1".arguments = [\n{name="a"},\n{}]',
        2,
        5,
    ),
    "dotted below [prompts]": ('[prompts]\n"K.1".arguments = [{name="a"},\n{name="if"}]', 2, 3),
    "behind a long line": (f'# {"x" * 3000}\n[prompts."K.1"]\narguments = [{{name="a"}},\n{{name="if"}}]', 2, 4),
    "a long line": (f'[prompts]\n"K.1" = {{description="{"x" * 3000}", arguments=[{{name="a"}}, {{}}]}}', 2, 2),
    "behind a text of lines": ('a = """\n[prompts."K.1"]\n"""\n[prompts."K.1"]\narguments = [{name="a"},\n{}]', 4, 6),
    "behind an array": (
        'a = [\n["prompts", "K.1"],\n["prompts"],\n]\n[prompts."K.1"]\narguments = [{name="a"},\n{}]',
        5,
        7,
    ),
    "keys like prompts elsewhere": ('"K.1" = 1\n[other."K.1"]\n[prompts."K.1"]\narguments = [{name="a"},\n{}]', 3, 5),
    "behind long keys": (
        '[prompts.x.y.z.a.b]\n"K.1"=1\n[prompts]\n"K.1".a.b.c.d.e=1\n"K.1".arguments=[{name="a"},\n{}]',
        4,
        6,
    ),
    "windows lines": ('[prompts.x]\r\n[prompts."K.1"]\r\narguments = [\r\n{name="a"},\r\n{}]', 2, 5),
    "a byte order mark": ('\ufeff[prompts."K.1"]\narguments = [{name="a"},\n{}]', 1, 3),
}


@pytest.fixture(scope="module")
def renderer() -> Iterator[Renderer]:
    renderer = Renderer()
    yield renderer
    renderer.close()


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_problem_has_the_line_of_its_prompt_or_argument(name: str, renderer: Renderer) -> None:
    text, prompt_line, argument_line = SPELLINGS[name]
    manifest = parse(text.encode(), renderer)
    assert [problem.line for problem in manifest.problems] == [argument_line]
    assert manifest.problems[0].what.startswith("prompt K.1 is skipped: ")
    assert manifest.skipped == {"K.1"}
    mended = text.replace('"if"', '"b"').replace("{}]", '{name="b"}]')
    if mended != text:
        [prompt] = [one for one in parse(mended.encode(), renderer).prompts if one.key == "K.1"]
        assert (prompt.line, prompt.argument_lines[-1]) == (prompt_line, argument_line)


# -- what the system does not let us read -------------------------------------------------------------------------


@contextmanager
def without_rights() -> Iterator[None]:
    """Be a user whom file permissions bind."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


@pytest.fixture
def root() -> Iterator[Path]:
    """A folder that every user can reach, which the temporary folders of pytest are not."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def test_what_may_not_be_read_is_reported_and_skipped(root: Path) -> None:
    for name in ("folder", "manifest", "prompts"):
        (root / name / "prompts").mkdir(parents=True)
        (root / name / "twig.toml").write_text("[prompts.p]\n")
        (root / name / "prompts" / "p.md").write_text("x")
    libraries = Libraries([str(root)], is_quiet=True)
    for place in ("folder", "manifest/twig.toml", "prompts/prompts"):
        (root / place).chmod(0)
    with without_rights():
        libraries.rescan()
    catalog = libraries.catalog
    denied = "Permission denied"
    assert [str(problem) for problem in catalog.problems] == [
        f"folder: skipped, because it cannot be read: {denied}",
        f"manifest/twig.toml:1: cannot be read: {denied}",
    ]
    assert [str(problem) for library in catalog.libraries for problem in library.problems] == [
        f"twig.toml:1: prompt p is skipped: prompts/p.md is not read, because prompts cannot be opened: {denied}"
    ]
    for place in ("folder", "manifest/twig.toml", "prompts/prompts"):
        (root / place).chmod(0o755)
    libraries.rescan()
    assert [name for name, _ in libraries.catalog.view] == ["folder:p", "manifest:p", "prompts:p"]
