"""The output of commands: sentences, contents, tables, JSON and progress.

Stored texts may contain control characters, which must not reach a terminal: texts are escaped, or passed to rich as
`Text`.
"""

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import click
import msgspec

from satchel.log import escape, escape_line

# Characters that JSON does not escape and a terminal may act on.
_HARMFUL_IN_JSON = (
    "[\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)
_PROSE = {"TITLE", "DESCRIPTION", "TEXT", "WHAT", "WHO", "WITH", "ABOUT"}  # columns with prose, which may wrap
_LEAST = 12  # the minimum width of a column with prose
_COLORS = {"always": True, "never": False, "auto": None}


def say(text: str, *, err: bool = False) -> None:
    """Print a sentence for people."""
    click.echo(escape(text), err=err)


def print_result(text: str, value: object, *, as_json: bool) -> None:
    """Print a result: a sentence for people, or the value as JSON."""
    if as_json:
        click.echo(to_json(value))
    else:
        say(text)


def show_notes(notes: Sequence[str]) -> None:
    """Print notes on stderr, after the result."""
    if notes:
        sys.stdout.flush()
    for note in notes:
        say(note, err=True)


def show_content(content: str) -> None:
    """Print a text: on a terminal escaped and with a line break at its end, elsewhere byte for byte."""
    if sys.stdout.isatty():
        click.echo(escape(content), nl=not content.endswith("\n"))
    else:
        click.echo(content.encode(), nl=False)  # bytes, because click would remove colours from a text


def to_json(value: object, *, is_one_line: bool = False) -> str:
    """Return a value as JSON, indented or in one line, with invisible characters escaped."""
    encoded = msgspec.json.encode(value)
    text = (encoded if is_one_line else msgspec.json.format(encoded, indent=2)).decode()
    return text if text.isascii() and "\x7f" not in text else re.sub(_HARMFUL_IN_JSON, _escape_in_json, text)


def _escape_in_json(found: re.Match[str]) -> str:
    units = found.group().encode("utf-16-be")
    return "".join(f"\\u{units[place : place + 2].hex()}" for place in range(0, len(units), 2))


# -- tables -----------------------------------------------------------------------------------------------------


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table on a terminal, or lines with tabs elsewhere; print nothing if there are no rows."""
    cells = [[escape_line(" ".join(cell.splitlines()).replace("\t", " ")) for cell in row] for row in rows]
    if cells and sys.stdout.isatty():
        _draw_table(columns, cells)
    else:
        for row in cells:
            click.echo("\t".join(row))


def _draw_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Draw a table as wide as the terminal; the first column is never wrapped, the others are if needed."""
    from rich.cells import cell_len  # takes 60 ms with tables; output to other programs does not need it
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(color_system="standard" if has_colors() else None)
    used = [place for place in range(len(columns)) if place == 0 or any(row[place] for row in rows)]
    cells = {place: [columns[place], *(row[place] for row in rows)] for place in used}
    widths = {place: max(map(cell_len, cells[place])) for place in used}
    needed = [min(widths[place], _LEAST) if columns[place] in _PROSE else widths[place] for place in used]
    is_narrow = sum(needed) + 2 * len(used) > console.width
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1))
    for place in used:
        is_whole = place == 0 or (columns[place] not in _PROSE and not is_narrow)
        least = min(widths[place], _LEAST)
        table.add_column(Text(columns[place]), min_width=least, no_wrap=is_whole, overflow="fold")
    for row in rows:
        table.add_row(*(Text(row[place]) for place in used))
    console.print(table, crop=False)


# -- colours and progress ---------------------------------------------------------------------------------------


def _choose_color(context: click.Context, _parameter: click.Parameter, when: str | None) -> None:
    if when is not None:
        context.color = _COLORS[when]
    elif context.color is None and context.parent is None:
        has_none = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        context.color = False if has_none else None


color_option = click.option(
    "--color",
    type=click.Choice(list(_COLORS)),
    callback=_choose_color,
    expose_value=False,
    is_eager=True,
    help="Whether to print colours.  [default: on a terminal, unless NO_COLOR is set]",
)


def color_diff(diff: str) -> str:
    """Return a unified diff with colours, which click strips if they are off."""
    colors = {"@": "cyan", "-": "red", "+": "green"}
    return "\n".join(
        click.style(line, bold=True) if number < 2 else click.style(line, fg=colors.get(line[:1]))
        for number, line in enumerate(diff.split("\n"))
    )


def has_colors() -> bool:
    """Return whether a command prints colours on stdout."""
    context = click.get_current_context(silent=True)
    chosen = context.color if context is not None else None
    return sys.stdout.isatty() if chosen is None else chosen


@contextmanager
def show_progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar if stderr is a terminal; yield a function to call with done and total (0: unknown)."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.console import Console  # needed only to draw a bar
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total or None)


# -- words ------------------------------------------------------------------------------------------------------


def name_item(kind: str, key: str, title: str = "") -> str:
    """Return the name of an item for messages."""
    if kind != "task":
        return f"{kind} '{key}'"
    return f"task {key} '{title}'" if title else f"task {key}"


def count(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def restore_command(kind: str, key: str, project: str) -> str:
    """Return the command that restores a deleted item."""
    if kind == "task":
        return f"satchel restore '#{key.removeprefix('#')}'"
    return f"satchel restore satchel://project/{key}" if kind == "project" else f"satchel restore {key} -p {project}"
