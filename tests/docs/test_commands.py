"""Every command of README.md and docs/ runs."""

import json
import re
import shlex
import shutil
import subprocess
from base64 import b64decode
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import click
import pytest

from satchel.cli.app import cli
from tests.cli.test_help import parse
from tests.docs.blocks import ROOT, Block, read_blocks, read_inline, read_sql, read_unfenced
from tests.docs.places import Place
from tests.docs.shell import run_lines
from tests.support.postgres import PostgresServer

pytestmark = pytest.mark.process

BLOCKS = read_blocks()

_PLACEHOLDER = re.compile(r"[A-Z]{2,}|…|\.\.\.|\||[\[\]]|<")


def has_docker() -> bool:
    """Return whether containers can be run here."""
    program = shutil.which("docker")
    return program is not None and all(
        subprocess.run([program, *words], capture_output=True, check=False).returncode == 0
        for words in (("info",), ("compose", "version"))
    )


def label(block: Block) -> str:
    return f"{block.page.stem}-{block.name}"


HERE = [
    pytest.param(block, id=label(block), marks=[pytest.mark.npm] if block.place == "registry" else [])
    for block in BLOCKS
    if block.place not in ("make", "docker", "postgres")
]


@pytest.mark.parametrize("block", HERE)
def test_a_block_runs_as_it_stands(block: Block, tmp_path: Path) -> None:
    place = Place(tmp_path, block.place)
    before = ["make run"] if block.place == "served" else []
    printed = run_lines([*before, *block.lines], place.folder, place.environment)[len(before) :]
    if check := LEADS_TO.get(label(block)):
        check(printed)


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.place == "make"], ids=label)
def test_a_target_of_make_exists(block: Block) -> None:
    """CI runs them: here each is only looked up."""
    for line in block.lines:
        command = [*shlex.split(line, comments=True), "--dry-run"]
        assert command[0] == "make"
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (line, done.stderr)


@pytest.mark.skipif(not has_docker(), reason="there is no Docker here")
@pytest.mark.parametrize("block", [block for block in BLOCKS if block.place == "docker"], ids=label)
def test_the_container_does_what_the_page_says(block: Block, tmp_path: Path) -> None:
    place = Place(tmp_path, "checkout")
    try:
        run_lines(block.lines, place.folder, place.environment)
    finally:
        subprocess.run(["docker", "compose", "down", "--volumes"], cwd=place.folder, check=False)


def test_the_commands_on_postgresql_run_in_their_order(tmp_path: Path, postgres: PostgresServer) -> None:
    """As the operator of a new server would: the roles and the database, then each block of the pages."""
    order = ("postgresql-migrate", "backup-move", "deploy-machine")
    blocks = {label(block): block for block in BLOCKS if block.place == "postgres"}
    assert sorted(blocks) == sorted(order)
    [roles] = read_sql()
    for statement in roles.split(";\n"):
        postgres.execute(statement)
    place = Place(tmp_path, "empty")
    for name in order:
        run_lines(blocks[name].lines, place.folder, {**place.environment, "PGHOST": str(postgres.folder)})


def test_no_command_hides_where_no_test_runs_it() -> None:
    assert read_unfenced() == []


def test_names_of_blocks_are_unique() -> None:
    names = [label(block) for block in BLOCKS]
    assert sorted(set(names)) == sorted(names)
    assert set(LEADS_TO) <= set(names)


def test_a_command_in_a_sentence_exists_with_its_options() -> None:
    wrong = []
    for command in sorted({span for _, span in read_inline() if span.startswith("satchel ")}):
        for words in alternatives(command.replace("…", "").split()[1:]):
            found: click.Command | None = cli
            context = click.Context(cli)
            while words and isinstance(found, click.Group) and not words[0].startswith("-"):
                found = found.get_command(context, words.pop(0))
            known = (
                {name for parameter in found.params for name in (*parameter.opts, *parameter.secondary_opts)}
                if found
                else set()
            )
            options = {word.strip("[]").partition("=")[0] for word in words if word.strip("[").startswith("-")}
            if found is None or not options <= known | {"--help", "-h", "--version"}:
                wrong.append(command)
    assert wrong == []


def alternatives(words: list[str]) -> list[list[str]]:
    """Return the commands that `project|prompt list` stands for."""
    if not words:
        return [[]]
    firsts = words[0].split("|") if re.fullmatch(r"[a-z]+(\|[a-z]+)+", words[0]) else [words[0]]
    return [[first, *rest] for first in firsts for rest in alternatives(words[1:])]


def test_a_whole_command_in_a_sentence_is_one_that_its_parser_takes() -> None:
    """Those without a placeholder. Some are only names of commands, which lack an argument."""
    for page, command in read_inline():
        is_ours = command.startswith("satchel ") and page.name != "architecture.md"  # see test_recipes.py
        if is_ours and not _PLACEHOLDER.search(command):
            with suppress(click.MissingParameter, click.exceptions.Exit, click.exceptions.NoArgsIsHelpError):
                parse(cli, shlex.split(command)[1:])


# -- what some of the blocks lead to ----------------------------------------------------------------------------------


def check_walk(printed: list[str]) -> None:
    assert printed[0] == "Created project 'demo'.\n"
    assert printed[3].startswith("code-review\tCode review\treview\t")
    assert json.loads(printed[4])["prompts"] == [{"name": "code-review", "description": "Review a change"}]
    [contents] = json.loads(printed[5])["contents"]
    assert b64decode(contents["blob"]) == (ROOT / "docs" / "logo.png").read_bytes()
    assert (contents["uri"], contents["mimeType"]) == ("file:///logo.png", "image/png")


def check_history(printed: list[str]) -> None:
    versions, difference, restored = printed[2:5]
    assert [line.split("\t")[0] for line in versions.splitlines()] == ["2", "1"]
    assert "+# Satchel ... (rest unchanged)\n" in difference
    assert restored == "Restored prompt 'house-style' to version 1; it is version 3 now.\n"
    assert printed[6].startswith("prompt\thouse-style\tHouse style\t")
    assert printed[7] == "Brought back prompt 'house-style'.\n"
    assert printed[8] == (ROOT / "README.md").read_text()


def check_backup(printed: list[str]) -> None:
    assert "is kept as" in printed[3]
    assert printed[4] == "Write short sentences."
    assert printed[7].startswith("house-style\tHouse style\t")


def check_first_call(printed: list[str]) -> None:
    assert json.loads(printed[0])["success"] is True


LEADS_TO: dict[str, Callable[[list[str]], None]] = {
    "start-walk": check_walk,
    "start-curl": check_first_call,
    "history-history": check_history,
    "backup-backup": check_backup,
}
