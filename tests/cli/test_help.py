"""Help is there at once: of the top and of each command, in less than 2.5 times what `import click` alone takes."""

import re
import resource
import shlex
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from satchel.cli.exits import EXITS, STATUSES, code_of
from satchel.cli.explain import VOICE
from satchel.cli.main import cli
from satchel.contracts import load
from satchel.contracts.contract import Reply
from satchel.services.explaining import describe
from tests.contracts.test_tables import SAMPLES
from tests.support.soak import amount

LIMIT = 2.5  # times the processor time of `python -c "import click"`
ROUNDS = amount(12, 30)  # at most; the least of a few is what a command takes on a machine that does nothing else


def processor_time(*arguments: str) -> float:
    """The seconds of processor time that an interpreter takes, which a busy machine lengthens less than the clock."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=120)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def list_commands() -> list[tuple[str, ...]]:
    context = click.Context(cli)
    return [(), *((name,) for name in cli.list_commands(context))]


@pytest.mark.process
def test_help_of_every_command_is_there_at_once() -> None:
    least: dict[tuple[str, ...], float] = {}
    slow = list_commands()
    base = processor_time("-c", "import click")
    for _ in range(ROUNDS):
        base = min(base, *(processor_time("-c", "import click") for _ in range(2)))
        for words in slow:
            least[words] = min(least.get(words, 9e9), processor_time("-m", "satchel", *words, "--help"))
        slow = [words for words in slow if least[words] >= LIMIT * base]
        if not slow:
            return
    assert not slow, {words: round(least[words] / base, 2) for words in slow}


def test_every_command_has_help_with_its_options_and_the_top_lists_all() -> None:
    context = click.Context(cli, info_name="satchel")
    shown = cli.get_help(context)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None and command.get_help(click.Context(command, info_name=name)).startswith("Usage: ")
        assert f"\n  {name} " in shown


def walk(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command with its words, groups included."""
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from walk(inner, (*words, name))


@pytest.mark.parametrize(
    ("words", "command"), list(walk(cli)), ids=lambda one: " ".join(one) if isinstance(one, tuple) else ""
)
def test_the_help_of_every_command_has_examples_that_its_parser_takes(
    words: tuple[str, ...], command: click.Command
) -> None:
    shown = command.get_help(click.Context(command, info_name=" ".join(("satchel", *words)), color=False))
    _, _, examples = shown.partition("\nExamples:\n")
    assert examples, "no examples"
    lines = [line.strip() for line in examples.split("\n\n")[0].splitlines()]
    for line in lines:
        parts = re.findall(r"\$\((satchel [^)]+)\)", line) or line.split(" | ")
        calls = [part for part in parts if part.startswith("satchel ")]
        assert calls, line
        for call in calls:
            given = shlex.split(re.split(r" >> | > |   ", call)[0])[1:]
            assert given[: len(words)] == list(words), line
            parse(cli, given)


def parse(command: click.Command, arguments: list[str]) -> None:
    """Read the words of a command as click does, without running it.

    Raises:
        UsageError: it does not take them.
    """
    context = command.make_context("satchel", list(arguments))
    while isinstance(command, click.Group):
        rest = [*context._protected_args, *context.args]
        if not rest:
            return
        _, found, rest = command.resolve_command(context, rest)
        assert found is not None
        command = found
        context = command.make_context(command.name, rest, parent=context)


def test_the_exit_statuses_are_in_the_help() -> None:
    shown = cli.get_help(click.Context(cli, info_name="satchel"))
    for one in EXITS:
        assert re.search(rf"\n  {one.status} +{re.escape(one.meaning[:30])}", shown), one


def test_a_command_ends_as_the_tools_say_for_every_error() -> None:
    """Commands that call no tool have the codes of the contract too, and a sentence for each error."""
    contract = load("satchel")
    for error in (one for kind, many in SAMPLES.items() if kind.__module__ == "satchel.errors" for one in many):
        body = contract.explain_failure(contract.tools[0], error)
        assert isinstance(body, Reply) and isinstance(body.structured, dict)
        assert STATUSES[code_of(error)] == STATUSES[body.structured["error"]["code"]], error
        said = describe(error, VOICE)
        assert said and not said.endswith(".") and "_task" not in said and "_prompt" not in said, said
