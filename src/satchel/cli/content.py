"""Where a content comes from: an argument, @file, - for stdin, or the editor."""

import sys

import click

from satchel.errors import WrongArgument
from satchel.services import rules

HELP = (
    "CONTENT is the text itself, @FILE, or - for stdin; left out, your $EDITOR opens. Begin with @@ to mean a plain @."
)


def read(given: str | None, *, editing: str | None = None, suffix: str = ".md") -> bytes:
    """The content that a person gave; `editing` is what the editor starts with."""
    if given is None:
        return _edited(editing or "", suffix)
    if given == "-":
        return sys.stdin.buffer.read()
    if given.startswith("@@"):
        given = given[1:]
    elif given.startswith("@"):
        try:
            with open(given[1:], "rb") as file:
                return file.read()
        except OSError as error:
            raise click.ClickException(f"cannot read {given[1:]}: {error.strerror}.") from error
    rules.check_text("content", given)
    return given.encode()


def text(content: bytes) -> str:
    """A content as text.

    Raises:
        WrongArgument: it is none.
    """
    try:
        decoded = content.decode()
    except UnicodeDecodeError:
        raise WrongArgument("content", "contentEncoding", limit="utf-8") from None
    rules.check_text("content", decoded)
    return decoded


def show(content: str) -> None:
    """Print a content as it is; on a terminal, with a newline after it."""
    if sys.stdout.isatty():
        click.echo(content, nl=not content.endswith("\n"))
    else:
        click.echo(content.encode(), nl=False)  # as bytes: of a text, click would take away colours


def _edited(start: str, suffix: str) -> bytes:
    if not sys.stdin.isatty():
        raise click.UsageError(
            "There is no terminal for an editor. Give CONTENT as an argument, @FILE, or - for stdin."
        )
    # As bytes: in a text, click would change line ends and more.
    written = click.edit(start.encode(), extension=suffix, require_save=True)
    if written is None:
        raise click.ClickException("the editor was left without saving; nothing was changed.")
    return bytes(written)
