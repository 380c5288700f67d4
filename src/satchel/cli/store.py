"""What the commands on the store share: their options, opening it, calling tools and services, printing the result."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec
from msgspec import structs

from satchel import __version__, config
from satchel.cli import printing
from satchel.cli.colors import color_option
from satchel.cli.ending import end as end
from satchel.cli.exits import code_of
from satchel.cli.printing import print_table, restore_command, to_json
from satchel.errors import Refused, SatchelError, StoreConflict, StoreError, StoreFailed
from satchel.log import escape
from satchel.model import DEFAULT_PROJECT, Author, Scope
from satchel.storage.database import Database, Tx, open_database

if TYPE_CHECKING:
    from satchel.cli.calls import Answer, Page, Tools

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
database_option = click.option("--database", "-d", metavar="PATH|URL", help="The store. [env: SATCHEL_DATABASE]")
personal_option = click.option(
    "--no-personal", flag_value="yes", help="Without what the project personal holds. [env: SATCHEL_NO_PERSONAL]"
)
VERSION = click.IntRange(1, 2**53 - 1)  # of an item

Result = TypeVar("Result")
_TRIES = 5  # of a transaction


@dataclass
class Session:
    """The store and the project that a command works with, and how it prints its result."""

    database: Database
    scope: Scope
    as_json: bool
    home: str  # the data folder
    libraries: tuple[str, ...] = ()  # folders with libraries of templates
    failure: "tuple[Refused, dict[str, Any]] | None" = None  # of the last tool, and what the tool says of it
    makes_default: bool = True  # the project `default`, where a tool works in it and it is not there yet
    _tools: "Tools | None" = None

    def read(self) -> AbstractContextManager[Tx]:
        """A transaction that reads what the scope may see."""
        return self.database.read(self.scope)

    def write(self) -> AbstractContextManager[Tx]:
        """A transaction that writes what the scope may see."""
        return self.database.write(self.scope)

    def transact(self, run: Callable[[Tx], Result]) -> Result:
        """Write in one transaction, again where it lost against another one."""
        for _ in range(_TRIES - 1):
            with suppress(StoreConflict), self.write() as tx:
                return run(tx)
        with self.write() as tx:
            return run(tx)

    def call(self, tool: str, **arguments: Any) -> "Answer":
        """What a tool of the `satchel` contract answers; an argument that is None is not given.

        Raises:
            SatchelError: it failed; nothing was done.
        """
        from satchel.cli.calls import Tools, explain_failure  # 50 ms, which `--help` need not wait for
        from satchel.services import projects

        if self.makes_default and self.scope.project == DEFAULT_PROJECT:
            projects.require(self.database, self.scope)
        self._tools = self._tools or Tools(self.database, self.libraries)
        try:
            scope = structs.replace(self.scope, user=self.scope.user or self.scope.author.user)
            return self._tools.call(scope, tool, arguments)
        except Refused as error:
            self.failure = error, explain_failure(tool, error)
            raise

    def list(self, tool: str, key: str, page: "Page", **filters: Any) -> "Answer":
        """A part of what a tool lists under a key, in as many calls as that takes."""
        from satchel.cli.calls import Answer, split

        rows: list[Any] = []
        answer, cursor = None, page.cursor
        for size, is_skipped in split(page):
            found = self.call(tool, **filters, limit=size, cursor=cursor)
            answer, cursor = answer or found, found.value.get("next_cursor")
            rows += [] if is_skipped else found.value[key]
            if cursor is None:
                break
        assert answer is not None, "a limit is at least 1"
        value = {name: one for name, one in answer.value.items() if name != "next_cursor"} | {key: rows}
        return Answer({**value, "next_cursor": cursor} if cursor else value, answer.content)

    def close(self) -> None:
        """Close the store, and end what tools started."""
        if self._tools is not None:
            self._tools.close()
        self.database.close()

    def say(self, text: str, value: object) -> None:
        """Print an answer: a sentence for people, or the value as JSON."""
        if self.as_json:
            click.echo(to_json(value))
        else:
            printing.say(text)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]], value: object) -> None:
        """Print a list: a table on a terminal, lines with tabs for other programs, or the value as JSON."""
        if self.as_json:
            click.echo(to_json(value))
        else:
            print_table(columns, rows)


def command(
    *, in_project: bool = True, needs_project: bool = True, as_user: bool = False, reads: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the common options to a command, give it a session, and print what goes wrong.

    With `needs_project=False` the command runs even where its project does not exist, and may bring it back. A command
    that only `reads` makes no store.
    """

    def decorate(run: Callable[..., None]) -> Callable[..., None]:
        @wraps(run)
        def with_session(*, as_json: bool, **options: Any) -> None:
            given = ("database", "project", "user", "no_personal")
            flags: dict[str, str | None] = {name: options.pop(name, None) for name in given}
            wants = _Wants(in_project=in_project, needs_project=needs_project, as_user=as_user, reads=reads)
            with _session(flags, wants, as_json=as_json) as session:
                run(session, **options)

        if in_project and reads:
            with_session = personal_option(with_session)
        return session_options(with_session, in_project=in_project, as_user=as_user)

    return decorate


def session_options(run: Callable[..., None], *, in_project: bool = True, as_user: bool = True) -> Callable[..., None]:
    """Add the options of a session to a command."""
    flags = [color_option, json_option, database_option]
    if in_project:
        flags.append(click.option("--project", "-p", metavar="NAME", help="The project. [env: SATCHEL_PROJECT]"))
    if as_user:
        help = "Whose tasks; else the local user's. [env: SATCHEL_USER]"
        flags.append(click.option("--user", "-u", metavar="UUID", help=help))
    for flag in flags:
        run = flag(run)
    return run


@dataclass
class _Wants:
    """What a command asks of its session."""

    in_project: bool
    needs_project: bool
    as_user: bool
    reads: bool


@contextmanager
def _session(flags: dict[str, str | None], wants: _Wants, *, as_json: bool) -> Iterator[Session]:
    from satchel.cli.place import check_file, find_scope  # with the services 20 ms, which `--help` need not wait for
    from satchel.services import projects, users

    with report_errors(as_json=as_json):
        settings = config.load(flags)
        opened = open_database(settings.database, settings.database_direct, must_exist=wants.reads)
        opened.retention = settings.retention
    scope = Scope(project=settings.project, user=settings.user)
    session = Session(opened, scope, as_json, settings.home, settings.libraries, makes_default=wants.in_project)
    try:
        session.scope = find_scope(settings, opened)
        if wants.in_project and wants.needs_project:
            projects.require(opened, session.scope)
        local = settings.user or users.local(opened, settings.home)
        author = Author(user=local, client="satchel", client_version=__version__, contract="cli", caller="person")
        user = local if wants.as_user else settings.user
        session.scope = structs.replace(session.scope, user=user, author=author, refuses_hidden=True)
        yield session
    except SatchelError as error:
        from satchel.cli.explain import explain  # only after an error

        check_file(error, opened, session.scope)
        value = session.failure[1] if session.failure and session.failure[0] is error else None
        code = value["error"]["code"] if value else code_of(error)
        end(explain(error, session.database, session.scope), code, as_json=as_json, value=value)
    except click.UsageError:
        raise
    except click.ClickException as error:
        end(error.message, as_json=as_json)
    finally:
        session.close()


def address_command(run: Callable[..., tuple[str, Any]]) -> Callable[..., None]:
    """Give a command the address of the store, which it does not open, and print its result as text or as JSON."""

    @database_option
    @json_option
    @wraps(run)
    def with_address(*, as_json: bool, database: str | None, **options: object) -> None:
        with report_errors(as_json=as_json):
            text, value = run(config.load({"database": database}).database, **options)
        if as_json:
            click.echo(to_json(value))
        else:
            printing.say(text)

    return with_address


@contextmanager
def report_errors(*, as_json: bool) -> Iterator[None]:
    """End the command with an error message where settings or store cannot be used."""
    try:
        yield
    except config.SettingsError as error:
        end(str(error), "invalid_argument", as_json=as_json)
    except StoreError as error:
        end(str(error), "unavailable", as_json=as_json)


def confirm(question: str, *, is_yes: bool, flag: str = "--yes") -> None:
    """Ask before something is lost; without a terminal, fail and name the flag that confirms it."""
    if is_yes:
        return
    if not sys.stdin.isatty():
        raise click.ClickException(f"{question} Not done: there is no terminal to ask on. Say {flag} to do it.")
    click.confirm(escape(question), abort=True, err=True)


def say_deleted(session: Session, text: str, kind: str, keys: Sequence[str], value: object) -> None:
    """Print that something was deleted, and how to bring it back."""
    days = session.database.retention.trash_days
    it = "it" if len(keys) == 1 else "one of them"
    key = keys[0] if len(keys) == 1 else {"task": "NUMBER"}.get(kind, "NAME")
    hint = f"Bring {it} back within {days} day{'' if days == 1 else 's'} with: "
    hint += restore_command(kind, key, session.scope.project)
    session.say(f"{text}\n{hint if days else 'It cannot be brought back, because the setting trash_days is 0.'}", value)


def check_owner(session: Session, what: str) -> None:
    """Refuse something to an application role, and name the role that may do it."""
    if session.database.has_row_security:
        raise StoreFailed(
            f"the application role {what}: run this with the owner's address in --database or SATCHEL_DATABASE"
        )


def fields(value: Any, *left_out: str) -> dict[str, Any]:
    """A value of the model as a dictionary, without numbers of rows and the fields that are left out."""
    shown: dict[str, Any] = msgspec.structs.asdict(value)
    if layer := shown.pop("layer", ""):
        shown["from"] = layer
    return {name: item for name, item in shown.items() if name not in ("number", "project", *left_out)}
