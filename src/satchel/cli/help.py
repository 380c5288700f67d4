"""What the help of a command says beside its options: examples, and at the top the exit statuses."""

from functools import partial

import click


def add_examples(command: click.Command, path: str) -> None:
    """Have the help of a command, and of those within it, end with its examples."""
    write = partial(_write_epilog, command, path)
    setattr(command, "format_epilog", write)  # noqa: B010 (mypy takes it for the replacement of a method)
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            add_examples(inner, f"{path} {name}".strip())


def write_top_epilog(formatter: click.HelpFormatter) -> None:
    """The end of the help of `satchel` itself."""
    from satchel.cli.exits import EXITS

    _write_examples("", formatter)
    with formatter.section("Exit status"):
        formatter.write_dl([(str(one.status), one.meaning) for one in EXITS])


def _write_epilog(command: click.Command, path: str, _context: click.Context, formatter: click.HelpFormatter) -> None:
    if command.epilog:
        formatter.write_paragraph()
        formatter.write_text(command.epilog)
    _write_examples(path, formatter)


def _write_examples(path: str, formatter: click.HelpFormatter) -> None:
    from satchel.cli.examples import EXAMPLES  # only where help is shown

    with formatter.section("Examples"):
        for line in EXAMPLES.get(path, ()):
            formatter.write(f"{'':>{formatter.current_indent}}{line}\n")
