"""What the commands on the store share: opening it, printing, and errors with their exit status.

Exit status: 0 done, 1 failure, 2 usage, 3 not found, 5 already there.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any, NoReturn, TypeVar

import click
import msgspec

from satchel import __version__, config
from satchel.errors import Forbidden, NotFound, SatchelError, StoreError, Taken, WrongArgument
from satchel.model import UNSET, Author, Scope, UnsetType
from satchel.services import projects, prompts, resources, users
from satchel.storage.database import Database, Tx, open_database

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
database_option = click.option("--database", "-d", metavar="PATH|URL", help="The store. [env: SATCHEL_DATABASE]")


Option = TypeVar("Option")
_STATUSES: dict[type[SatchelError], int] = {NotFound: 3, Forbidden: 3, Taken: 5, WrongArgument: 2}  # all others: 1


@dataclass
class Session:
    """The store and the project that a command works with, and how it prints its result."""

    database: Database
    scope: Scope
    as_json: bool
    home: str  # the data folder

    def read(self) -> AbstractContextManager[Tx]:
        """A transaction that reads what the scope may see."""
        return self.database.read(self.scope)

    def write(self) -> AbstractContextManager[Tx]:
        """A transaction that writes what the scope may see."""
        return self.database.write(self.scope)

    def say(self, text: str, value: object) -> None:
        """Print an answer: a sentence for people, or the value as JSON."""
        click.echo(to_json(value) if self.as_json else text)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]], value: object) -> None:
        """Print a list: a table on a terminal, lines with tabs for other programs, or the value as JSON."""
        if self.as_json:
            click.echo(to_json(value))
        else:
            print_table(columns, rows)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table on a terminal, lines with tabs for other programs."""
    if sys.stdout.isatty():
        _draw(columns, rows)
        return
    for row in rows:
        click.echo("\t".join(_clean(cell) for cell in row))


def command(*, in_project: bool = True, as_user: bool = False) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the common options to a command, give it a session, and print what goes wrong."""

    def decorate(run: Callable[..., None]) -> Callable[..., None]:
        @wraps(run)
        def with_session(*, as_json: bool, **options: Any) -> None:
            flags: dict[str, str | None] = {name: options.pop(name, None) for name in ("database", "project", "user")}
            with _session(flags, as_json=as_json, in_project=in_project, as_user=as_user) as session:
                run(session, **options)

        flags = [json_option, database_option]
        if in_project:
            flags.append(click.option("--project", "-p", metavar="NAME", help="The project. [env: SATCHEL_PROJECT]"))
        if as_user:
            help = "Whose tasks; else the local user's. [env: SATCHEL_USER]"
            flags.append(click.option("--user", "-u", metavar="UUID", help=help))
        decorated: Callable[..., None] = with_session
        for flag in flags:
            decorated = flag(decorated)
        return decorated

    return decorate


@contextmanager
def _session(flags: dict[str, str | None], *, as_json: bool, in_project: bool, as_user: bool) -> Iterator[Session]:
    with report_errors(as_json=as_json):
        settings = config.load(flags)
        opened = open_database(settings.database)
        opened.retention = settings.retention
    session = Session(opened, Scope(project=settings.project, user=settings.user), as_json, settings.home)
    try:
        if in_project:
            projects.require(opened, session.scope)
        local = settings.user or users.local(opened, settings.home)
        author = Author(user=local, client="satchel", client_version=__version__, contract="cli", caller="person")
        user = local if as_user else settings.user
        session.scope = Scope(project=settings.project, user=user, author=author)
        yield session
    except SatchelError as error:
        end(_explain(error, session), _STATUSES.get(type(error), 1), code=type(error).__name__, as_json=as_json)
    except click.UsageError:
        raise
    except click.ClickException as error:
        end(error.message, 1, as_json=as_json)
    finally:
        opened.close()


@contextmanager
def report_errors(*, as_json: bool) -> Iterator[None]:
    """End the command with an error message where settings or store cannot be used."""
    try:
        yield
    except config.SettingsError as error:
        end(str(error), 2, code="SettingsError", as_json=as_json)
    except StoreError as error:
        end(str(error), 1, code=type(error).__name__, as_json=as_json)


def to_json(value: object) -> str:
    """A value as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def end(message: str, status: int, *, code: str = "Failed", as_json: bool = False) -> NoReturn:
    """End the command with an error message and an exit status."""
    message = message.encode("utf-8", "replace").decode()  # an argument may not be UTF-8
    text = f"satchel: {message}"
    if as_json:
        text = msgspec.json.encode({"error": {"code": code, "message": message}}).decode()
    click.echo(text, err=True)
    raise SystemExit(status)


def _explain(error: SatchelError, session: Session) -> str:
    if isinstance(error, NotFound | Forbidden) and error.kind == "task":
        # A task of another user is answered like one that does not exist.
        return f"task {error.key} is not among your tasks. List them with: satchel task list"
    if isinstance(error, NotFound) and error.kind == "token":
        return f"there is no token {error.key}. List them with: satchel token list"
    if isinstance(error, NotFound):
        return _explain_missing(error, session)
    if isinstance(error, Taken):
        where = "" if error.kind == "project" else f" in project '{error.scope.project}'"
        holder = f" (resource '{error.holder}')" if error.holder else ""
        return f"there is already a {error.kind} with the {error.field} '{error.key}'{where}{holder}. Choose another."
    if isinstance(error, WrongArgument):
        return f"{_explain_wrong(error)}."
    return f"{error}. Nothing was changed."


def _explain_missing(error: NotFound, session: Session) -> str:
    if error.kind == "project":
        what, next_ = f"project '{error.key}' does not exist", f"Make it with: satchel project create {error.key}"
        name = projects.suggest(session.database, error.key)
    else:
        what = f"{error.kind} '{error.key}' is not in project '{error.scope.project}'"
        next_ = f"List what is there with: satchel {error.kind} list -p {error.scope.project}"
        suggest = prompts.suggest if error.kind == "prompt" else resources.suggest
        with session.read() as tx:
            name = next(iter(suggest(tx, error.scope, error.key)), None)
    hint = f"Did you mean '{name}'? " if name else ""
    return f"{what}. {hint}{next_}"


def _explain_wrong(error: WrongArgument) -> str:
    what = f"the {error.field} of a {error.kind}" if error.kind else error.field
    words: dict[tuple[str, str], str] = {
        ("name", "pattern"): f"'{error.value}' cannot be a {error.kind} name: use letters, digits, '-', '_' and '.'",
        ("tag", "pattern"): f"'{error.value}' cannot be a tag: use up to 50 letters, digits, '-' and '_'",
        ("uri", "format"): f"'{error.value}' is no URI: it needs a scheme, as in file:///docs/api.md, and no spaces",
        ("mime_type", "format"): f"'{error.value}' is no MIME type; one looks like text/markdown",
        ("content", "contentEncoding"): "this content is no UTF-8 text; name a binary type with --mime-type",
        ("user", "format"): f"'{error.value}' is no user: a user is a UUID, as `satchel user` prints one",
        ("expires_at", "format"): f"'{error.value}' is no time: say 30m, 12h, 90d, 2w, 2030-12-31 or 2030-12-31T18:00",
        ("expires_at", "minimum"): f"a token cannot expire at {error.value}, which is past. Give a later time",
        # Without the value, which may be a secret.
        ("id", "pattern"): "give a token by its id, or by the first 8 characters of it or more, and never by its "
        "secret. List the ids with: satchel token list",
        ("id", "oneOf"): f"several tokens have an id that starts with {error.value}. Give more of it",
        ("", "minLength"): f"{what} must not be empty",
        ("", "maxLength"): f"{what} has at most {error.limit} characters",
        ("", "maxBytes"): f"{what} has at most {error.limit} bytes",
        ("", "maxItems"): f"there are at most {error.limit} {error.field}",
    }
    if error.rule == "dependentRequired" and isinstance(error.limit, tuple):
        return "changing the type from {} to {} needs new content".format(*error.limit)
    unstorable = f"{error.field} has NUL or bytes in it that are no UTF-8, and cannot be stored"
    return words.get((error.field, error.rule)) or words.get(("", error.rule)) or unstorable


def _clean(cell: str) -> str:
    """A cell without characters that move the cursor or end the line."""
    return "".join(character if character.isprintable() else " " for character in cell)


def _draw(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.console import Console  # only where a table is drawn
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(_clean(cell)) for cell in row))  # as Text: a title may look like markup
    Console().print(table)


def confirm(question: str, *, is_yes: bool, flag: str = "--yes") -> None:
    """Ask before something is lost; without a terminal, fail and name the flag that confirms it."""
    if is_yes:
        return
    if not sys.stdin.isatty():
        raise click.ClickException(f"{question} Not done: there is no terminal to ask on. Say {flag} to do it.")
    click.confirm(question, abort=True, err=True)


def given(option: Option | None) -> Option | UnsetType:
    """An option as a patch has it: UNSET where it was not given."""
    return UNSET if option is None else option


def fields(value: Any, *left_out: str) -> dict[str, Any]:
    """A value of the model as a dictionary, without numbers of rows and the fields that are left out."""
    shown: dict[str, Any] = msgspec.structs.asdict(value)
    return {name: item for name, item in shown.items() if name not in ("number", "project", *left_out)}
