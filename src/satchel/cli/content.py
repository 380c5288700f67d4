"""The CONTENT argument of commands: the text itself, @file, - for stdin, or the editor."""

import sys

import click

HELP = (
    "CONTENT is the text itself, @FILE, or - for stdin; left out, your $EDITOR opens. "
    "Begin with @@ for a text that starts with @."
)


def read(given: str | None, *, editing: str | None = None, suffix: str = ".md") -> bytes:
    """The content in bytes; `editing` is what the editor starts with."""
    if given is None:
        return _open_editor(editing or "", suffix)
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
    return given.encode(errors="surrogateescape")


def decode(content: bytes) -> str:
    """A content as text. Bytes that are not UTF-8 become lone surrogates, which the services refuse."""
    return content.decode(errors="surrogateescape")


def _open_editor(start: str, suffix: str) -> bytes:
    if not sys.stdin.isatty():
        raise click.UsageError(
            "There is no terminal for an editor. Give CONTENT as an argument, @FILE, or - for stdin."
        )
    # As bytes: in a text, click would change line ends.
    written = click.edit(start.encode(), extension=suffix, require_save=True)
    if written is None:
        raise click.ClickException("the editor was left without saving; nothing was changed.")
    return bytes(written)
