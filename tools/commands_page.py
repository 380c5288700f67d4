"""Render docs/reference/commands.md: every command with its arguments, options and examples, from `--help`."""

import re
from collections.abc import Iterator

import click

from satchel.cli.app import cli
from satchel.cli.errors import EXITS
from satchel.cli.examples import EXAMPLES

HEAD = """\
# Commands

<!-- Made from the code by `make docs`. Do not edit. -->

The output of `satchel COMMAND --help`, on one page. `satchel` alone prints an overview on a terminal and serves over
stdio when a client starts it.

Many commands have these options, which are left out below:

| option | effect |
|---|---|
| `--json` | prints the result, or the error, as JSON |
| `-d`, `--database PATH\\|URL` | the store, instead of that of the [settings](settings.md) |
| `-p`, `--project NAME` | the project, instead of the current one |
| `-u`, `--user UUID` | the user, instead of the local one |
| `-h`, `--help` | shows the help of the command, as `satchel help COMMAND` does |
| `--color always\\|never\\|auto` | colours; by default on a terminal, unless `NO_COLOR` is set |

With `--json`, commands on prompts, documents, tasks and projects print the answer of the matching tool of the
[contract satchel](contracts/satchel.md). An error is one JSON object on stderr:
`{"error": {"code": …, "message": …, "hint": …}}`.
"""

SETTINGS = "Its options are the [settings](settings.md).\n"
COMMON = {"--json", "--database", "--project", "--user", "--color", "--help"}
ALIASES = {"resource": "document"}
OWN = "wanted"  # the parameter of a command whose --project means something else


def commands_page() -> str:
    """Return the text of the page."""
    root = click.Context(cli, info_name="satchel")
    parts = [HEAD, _exits(), _contents(root)]
    for command, context in _walk(cli, root):
        if command is not cli:
            parts.append(_section(command, context))
    return "\n".join(parts)


def _exits() -> str:
    rows = [f"| {one.status} | {', '.join(f'`{code}`' for code in one.codes)} | {one.meaning} |" for one in EXITS]
    return "\n".join(["## Exit statuses", "", "| status | codes in JSON | meaning |", "|---|---|---|", *rows, ""])


def _walk(command: click.Command, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    """Yield a command, and all below it."""
    yield command, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            if name not in ALIASES:
                yield from _walk(below, click.Context(below, info_name=name, parent=context))


def _contents(root: click.Context) -> str:
    rows = ["| command | what it does |", "|---|---|"]
    for name in cli.list_commands(root):
        command = cli.get_command(root, name)
        assert command is not None
        same = ALIASES.get(name, name)
        text = f"The same as `{same}`." if name in ALIASES else command.get_short_help_str(200)
        rows.append(f"| [`{name}`](#satchel-{same}) | {text} |")
    return "\n".join(rows) + "\n"


def _section(command: click.Command, context: click.Context) -> str:
    path = context.command_path
    level = "##" if path.count(" ") == 1 else "###"
    lines = [f"{level} {path}", ""]
    if isinstance(command, click.Group):
        lines += [_plain(command.help), ""]
        return "\n".join(lines)
    usage = " ".join(command.collect_usage_pieces(context))
    lines += ["```", f"{path} {usage}".strip(), "```", "", _plain(command.help), ""]
    if path == "satchel serve":
        return "\n".join([*lines, SETTINGS])
    options = [
        record
        for parameter in command.params
        if isinstance(parameter, click.Option) and (parameter.name == OWN or not COMMON & set(parameter.opts))
        if (record := parameter.get_help_record(context))
    ]
    if options:
        lines += ["| option | effect |", "|---|---|"]
        lines += [f"| `{_cell(name)}` | {_cell(text)} |" for name, text in options]
        lines.append("")
    if command.epilog:
        lines += [_plain(command.epilog), ""]
    if examples := EXAMPLES.get(path.partition(" ")[2]):
        lines += ["```", *examples, "```", ""]
    return "\n".join(lines)


def _plain(text: str | None) -> str:
    """Return a help text as Markdown; paragraphs that click must not wrap become blocks."""
    paragraphs = []
    for paragraph in re.split(r"\n\s*\n", click.unstyle(text or "").strip()):
        if paragraph.lstrip().startswith("\b"):
            kept = [line.strip() for line in paragraph.replace("\b", "").strip("\n").splitlines()]
            paragraphs.append("```\n" + "\n".join(line for line in kept if line) + "\n```")
        else:
            paragraphs.append(" ".join(paragraph.split()).replace("<", "&lt;"))
    return "\n\n".join(paragraphs)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
