"""Whether commands print colours: as --color says, else on a terminal that has them and where NO_COLOR is not set."""

import os
import sys

import click

_CHOICES = {"always": True, "never": False, "auto": None}


def _choose(context: click.Context, _parameter: click.Parameter, when: str | None) -> None:
    if when is not None:
        context.color = _CHOICES[when]
    elif context.color is None and context.parent is None and (os.environ.get("NO_COLOR") or _is_dumb()):
        context.color = False


def _is_dumb() -> bool:
    return os.environ.get("TERM") == "dumb"


color_option = click.option(
    "--color",
    type=click.Choice(list(_CHOICES)),
    callback=_choose,
    expose_value=False,
    is_eager=True,
    help="Whether to print colours.  [default: on a terminal, unless NO_COLOR is set]",
)


def has_colors() -> bool:
    """Whether a command prints colours on stdout."""
    context = click.get_current_context(silent=True)
    chosen = context.color if context is not None else None
    return sys.stdout.isatty() if chosen is None else chosen
