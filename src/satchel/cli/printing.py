"""Prints for people and for programs. What a store has may hold control characters, which a terminal must not get."""

import re
import sys
from collections.abc import Sequence

import click
import msgspec

from satchel.log import escape, escape_line

# What JSON does not escape by itself, and a terminal may act on.
_HARMFUL_IN_JSON = (
    "[\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)


def say(text: str, *, err: bool = False) -> None:
    """Print a text for people."""
    click.echo(escape(text), err=err)


def show_content(content: str) -> None:
    """Print a content: escaped and with a newline after it on a terminal, byte for byte for other programs."""
    if sys.stdout.isatty():
        click.echo(escape(content), nl=not content.endswith("\n"))
    else:
        click.echo(content.encode(), nl=False)  # as bytes: from a text, click would remove colours


def to_json(value: object, *, is_one_line: bool = False) -> str:
    """A value as JSON, indented or in one line. What is not seen on a terminal is escaped, as JSON allows."""
    encoded = msgspec.json.encode(value)
    text = (encoded if is_one_line else msgspec.json.format(encoded, indent=2)).decode()
    return text if text.isascii() and "\x7f" not in text else re.sub(_HARMFUL_IN_JSON, _escape_in_json, text)


def _escape_in_json(found: re.Match[str]) -> str:
    units = found.group().encode("utf-16-be")
    return "".join(f"\\u{units[place : place + 2].hex()}" for place in range(0, len(units), 2))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table on a terminal, lines with tabs for other programs; nothing where there are no rows."""
    if rows and sys.stdout.isatty():
        from satchel.cli.tables import draw  # only where a table is drawn

        draw(columns, [[_clean(cell) for cell in row] for row in rows])
        return
    for row in rows:
        click.echo("\t".join(_clean(cell) for cell in row))


def _clean(cell: str) -> str:
    """A cell on one line."""
    return escape_line(" ".join(cell.splitlines()).replace("\t", " "))


def restore_command(kind: str, key: str, project: str) -> str:
    """The command that brings a deleted item back."""
    if kind == "task":
        return f"satchel restore '#{key.removeprefix('#')}'"
    return f"satchel restore satchel://project/{key}" if kind == "project" else f"satchel restore {key} -p {project}"
