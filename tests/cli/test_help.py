"""Help is there at once: of the top and of each command, in less than 2.5 times what `import click` alone takes."""

import resource
import subprocess
import sys

import click
import pytest

from satchel.cli.main import cli
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
