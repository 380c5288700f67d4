"""The help of every command, its examples, and the exit statuses."""

import re
import shlex
from collections.abc import Iterator

import click

from satchel.cli.app import cli
from satchel.cli.errors import EXITS, STATUSES, code_of, make_voice
from satchel.contracts import load
from satchel.contracts.contract import Reply
from satchel.services.wording import describe
from tests.contracts.test_tables import SAMPLES


def walk(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield every command with its words, groups included."""
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from walk(inner, (*words, name))


def test_the_help_of_every_command_has_examples_that_its_parser_takes() -> None:
    for words, command in walk(cli):
        shown = command.get_help(click.Context(command, info_name=" ".join(("satchel", *words)), color=False))
        _, _, examples = shown.partition("\nExamples:\n")
        assert examples, words
        lines = [line.strip() for line in examples.split("\n\n")[0].splitlines()]
        assert [f"{shown}\n".count(f"  {line}\n") for line in lines] == [1] * len(lines), "an example is shown twice"
        for line in lines:
            parts = re.findall(r"\$\((satchel [^)]+)\)", line) or line.split(" | ")
            calls = [part for part in parts if part.startswith("satchel ")]
            assert calls, line
            for call in calls:
                given = shlex.split(re.split(r" >> | > |   ", call)[0])[1:]
                assert given[: len(words)] == ["document" if word == "resource" else word for word in words], line
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
        said = describe(error, make_voice())
        assert said and not said.endswith("."), said
        assert not re.search(rf"\b({'|'.join(tool.name for tool in contract.tools if '_' in tool.name)})\b", said), said
