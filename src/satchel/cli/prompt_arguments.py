"""The arguments of prompts on the command line: how they are declared, and how values are given for them."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import click

from satchel.cli import content as contents

_NAME = r"([^=:?]+)(\?)?(?:=([^:]*))?(?::(.*))?"


def argument_options(run: Callable[..., None]) -> Callable[..., None]:
    """Add the options that declare the arguments of a prompt."""
    declare = click.option(
        "--arg",
        "arguments",
        multiple=True,
        metavar="NAME[?][=A|B|...][:TEXT]",
        help="An argument, in place of those there are; ? makes it optional, = lists its values (... allows others), "
        "and the TEXT after : describes it. May be repeated.",
    )
    plain = click.option("--plain", is_flag=True, help="Plain text without arguments, even with {{ }} in it.")
    return declare(plain(run))


def read(arguments: Sequence[str], *, plain: bool) -> list[dict[str, Any]] | None:
    """The arguments that are declared, as the tools take them; None where nothing is said about them."""
    if plain and arguments:
        raise click.UsageError("--plain is for a prompt without arguments: leave it out, or --arg.")
    if plain:
        return []
    return [_read_argument(given) for given in arguments] or None


def _read_argument(given: str) -> dict[str, Any]:
    found = re.fullmatch(_NAME, given, re.S)
    if found is None:
        raise click.UsageError(f"'{given}' declares no argument: write NAME, NAME?, NAME=a|b or NAME:DESCRIPTION.")
    name, optional, listed, description = found.groups()
    values = [value.strip() for value in (listed or "").split("|") if value.strip()]
    argument: dict[str, Any] = {"name": name.strip(), "required": not optional}
    if description and description.strip():
        argument["description"] = description.strip()
    if values:
        argument["values"] = [value for value in values if value != "..."]
        argument["open"] = "..." in values
    return argument


def read_values(given: Sequence[str]) -> dict[str, str]:
    """Values by name, from NAME=VALUE; a value may be @FILE or - for stdin."""
    values: dict[str, str] = {}
    for word in given:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise click.UsageError(f"'{word}' is no value of an argument: write NAME=VALUE or NAME=@FILE.")
        if name in values:
            raise click.UsageError(f"'{name}' is given twice.")
        values[name] = contents.decode(contents.read(value))
    return values
