"""How a command ends when it cannot do its work: a message for people or JSON on stderr, and its exit status."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import click

from satchel.cli import printing
from satchel.cli.exits import EXITS, STATUSES
from satchel.log import escape


def end(
    message: str, how: str | int = "failed", *, as_json: bool = False, value: dict[str, Any] | None = None
) -> NoReturn:
    """End the command with an error: by its code, or by an exit status, which stands for the first of its codes.

    `value` is what JSON says of it, where that is more than code and message.
    """
    code = how if isinstance(how, str) else next(one.codes[0] for one in EXITS if one.status == how)
    message = message.encode("utf-8", "replace").decode()  # an argument may not be UTF-8
    if as_json:
        error = value or {"error": {"code": code, "message": message}}
        click.echo(printing.to_json(error, is_one_line=True), err=True)
    else:
        printing.say(f"satchel: {message}", err=True)
    raise SystemExit(STATUSES[code])


@contextmanager
def report_usage(arguments: Sequence[str]) -> Iterator[None]:
    """End the command where its words are wrong, with what was probably meant."""
    as_json = "--json" in arguments
    try:
        yield
    except click.exceptions.NoArgsIsHelpError as error:
        if as_json:
            end("Missing command.", "invalid_argument", as_json=True)
        error.show()
        raise SystemExit(STATUSES["invalid_argument"]) from error
    except click.UsageError as error:
        from satchel.cli.typos import UNKNOWN, find_hint, find_near  # only after a mistake

        near = find_near(error)
        hint = f"Did you mean {' or '.join(near)}?" if near else find_hint(error)
        message = (error.message if isinstance(error, UNKNOWN) else error.format_message()).rstrip()
        message = message.encode("utf-8", "replace").decode()  # it quotes what was typed, which may not be UTF-8
        message += "" if message.endswith((".", "?", "!")) else "."
        if as_json:
            help = f"See: {error.ctx.command_path} --help" if error.ctx else ""
            facts = {"code": "invalid_argument", "message": message, "hint": hint or help}
            value = {"error": {**facts, "near": list(near)} if near else facts}
            end(message, "invalid_argument", as_json=True, value=value)
        click.UsageError(escape(f"{message} {hint}".strip()), error.ctx).show()
        raise SystemExit(STATUSES["invalid_argument"]) from error
    except click.ClickException as error:
        end(error.format_message(), as_json=as_json)
    except click.Abort as aborted:
        if isinstance(aborted.__cause__ or aborted.__context__, KeyboardInterrupt):
            end("interrupted.", "interrupted", as_json=as_json)
        end("stopped; nothing more was done.", as_json=as_json)
