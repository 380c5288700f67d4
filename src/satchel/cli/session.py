"""The session of a command: its common options, the open store, the current project, calls of tools.

One transaction at the start reads the local user and the project of the folder. A command that only reads treats a
missing store as an empty one, and creates no file.
"""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click
from msgspec import structs

from satchel import __version__, config, extras
from satchel.cli.completion import PROJECT
from satchel.cli.errors import code_of, end, explain_apart
from satchel.cli.output import (
    color_option,
    print_result,
    print_table,
    restore_command,
    show_content,
    show_notes,
    to_json,
)
from satchel.errors import NotFound, Refused, SatchelError, StoreError, StoreFailed, StoreMissing
from satchel.log import escape
from satchel.model import ALL_PROJECTS, DEFAULT_PROJECT, Author, Scope
from satchel.storage.database import Database, Tx, open_database

if TYPE_CHECKING:
    from satchel.contracts.runner import Runner
    from satchel.library.catalog import Libraries

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
database_option = click.option("--database", "-d", metavar="PATH|URL", help="The store. [env: SATCHEL_DATABASE]")
VERSION = click.IntRange(1, 2**53 - 1)  # the version of an item
PAGE_SIZE = 200  # the limit of entries in one answer of a tool

Result = TypeVar("Result")
Option = Callable[[Callable[..., None]], Callable[..., None]]  # a decorator of a command
_LIMIT = 50  # entries in a list by default


class Answer(NamedTuple):
    """The answer of a tool."""

    value: Any
    content: list[dict[str, Any]]  # blocks, as in MCP

    @property
    def text(self) -> str:
        """The answer for people."""
        return str(self.content[0].get("text", ""))

    @property
    def change(self) -> str:
        """The change that an update made: the first word of its answer."""
        return "Nothing changed in" if self.text.startswith("Unchanged") else "Changed"

    @property
    def notes(self) -> list[str]:
        """The notes that come with the answer."""
        return list(self.value.get("notes", ()))


class Session:
    """The open store of a command, its scope, and how it prints its result."""

    def __init__(self, database: Database, settings: config.Settings, *, as_json: bool) -> None:
        self.database = database
        self.as_json = as_json
        self.scope = Scope(project=settings.project, user=settings.user)
        self.failure: tuple[Refused, str] | None = None  # the error of the last failed tool, and its name
        self.lacks_store = False  # an empty one takes its place
        self._settings = settings
        self._lacks_default = False  # the command works in `default`, which does not exist
        self._makes_default = False  # whether calling a tool creates it first

    def enter(self, *, in_project: bool, needs_project: bool, as_user: bool, reads: bool) -> None:
        """Enter the project and find the user, in one transaction.

        Raises:
            NotFound: a needed project does not exist, and the command would not create it.
        """
        from satchel.app import project_discovery  # takes 20 ms with the services, which `--help` need not wait for
        from satchel.services import projects, users

        settings = self._settings
        scope = Scope(
            project=settings.project,
            why=settings.why_project or "the default",
            user=settings.user,
            personal=settings.personal,
        )
        with self.database.read() as tx:
            if settings.why_project is None:
                scope = project_discovery.find_current(scope, lambda name: projects.find(tx, name) is not None)
            self.scope = scope
            is_missing = scope.project not in (scope.makes, scope.personal) and (
                projects.find(tx, scope.project) is None
            )
            user = settings.user or users.read_kept(tx)
        if is_missing and scope.project == DEFAULT_PROJECT:
            if reads:
                scope = structs.replace(scope, makes=DEFAULT_PROJECT)  # so that it reads as empty
            self._lacks_default = not reads
            self._makes_default = in_project
            if needs_project:
                self.require_default()
        elif is_missing and needs_project:
            raise NotFound("project", scope.project, scope)
        local = user or users.local(self.database, self._settings.home)
        author = Author(user=local, client="satchel", client_version=__version__, contract="cli", caller="person")
        user = local if as_user else settings.user
        self.scope = structs.replace(scope, user=user, author=author, refuses_hidden=True)

    @property
    def everywhere(self) -> str | None:
        """The argument `project` of a tool that lists all projects, if --project asks for all; otherwise None."""
        return ALL_PROJECTS if self.scope.project == ALL_PROJECTS else None

    def require_default(self) -> None:
        """Create the project `default` if it does not exist and the command works in it."""
        from satchel.services import projects

        if self._lacks_default:
            projects.require(self.database, self.scope)
            self._lacks_default = False

    def read(self) -> AbstractContextManager[Tx]:
        """Open a read transaction within the scope."""
        return self.database.read(self.scope)

    def write(self) -> AbstractContextManager[Tx]:
        """Open a write transaction within the scope."""
        return self.database.write(self.scope)

    def transact(self, run: Callable[[Tx], Result]) -> Result:
        """Write in one transaction; retry if it conflicts with another one."""
        return self.database.transact(self.scope, run)

    # -- tools of the contract `satchel` --

    @cached_property
    def _libraries(self) -> "Libraries":
        from satchel.library.catalog import Libraries  # most commands need no library

        return Libraries(self._settings.libraries, is_quiet=True)

    @cached_property
    def _runner(self) -> "Runner":
        from satchel.contracts.runner import Runner  # takes 50 ms, which `--help` need not wait for
        from satchel.contracts.satchel import CONTRACT

        return Runner(CONTRACT, self.database, lambda: self._libraries)

    def call(self, tool: str, **arguments: Any) -> Answer:
        """Call a tool and return its answer; omit arguments that are None.

        Raises:
            SatchelError: the call failed and changed nothing.
        """
        if self._makes_default:
            self.require_default()
        given = {name: value for name, value in arguments.items() if value is not None}
        scope = structs.replace(self.scope, user=self.scope.user or self.scope.author.user)
        try:
            return Answer(*self._runner.perform(tool, given, scope))
        except Refused as error:
            self.failure = error, tool
            raise

    def list(self, tool: str, key: str, limit: int | None, **filters: Any) -> Answer:
        """Return the list that a tool returns under `key`, up to `limit` entries, with as many calls as needed."""
        rows: list[Any] = []
        answer, cursor = None, None
        while answer is None or (cursor is not None and len(rows) != limit):
            size = PAGE_SIZE if limit is None else min(limit - len(rows), PAGE_SIZE)
            found = self.call(tool, **filters, limit=size, cursor=cursor)
            answer, cursor = answer or found, found.value.get("next_cursor")
            rows += found.value[key]
        value = {name: one for name, one in answer.value.items() if name != "next_cursor"} | {key: rows}
        return Answer({**value, "next_cursor": cursor} if cursor else value, answer.content)

    def describe_failure(self, error: SatchelError) -> Mapping[str, Any] | None:
        """Return the code, message and facts of an error from a tool; None for any other error."""
        if self.failure is None or self.failure[0] is not error:
            return None
        facts: Mapping[str, Any] = self._runner.describe_failure(self.failure[1], error)["error"]
        return facts

    def close(self) -> None:
        """Stop the worker that fills in templates, and close the store."""
        if "_libraries" in self.__dict__:
            self._libraries.renderer.close()
        self.database.close()

    # -- printing --

    def say(self, text: str, value: object) -> None:
        """Print a result: a sentence for people, with the notes of an answer, or the value as JSON."""
        answer = value if isinstance(value, Answer) else Answer(value, [])
        print_result(text, answer.value, as_json=self.as_json)
        if answer is value and not self.as_json:
            show_notes(answer.notes)

    def show(self, content: str, answer: Answer) -> None:
        """Print the content and nothing else, or everything about it as JSON."""
        if self.as_json:
            click.echo(to_json(answer.value))
        else:
            show_content(content)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]], value: object, *, empty: str = "") -> None:
        """Print a list: a table on a terminal, lines with tabs for other programs, or the value as JSON.

        A note on stderr says that the list is empty, unless it is printed as JSON.
        """
        if self.as_json:
            click.echo(to_json(value))
            return
        print_table(columns, rows)
        if empty and not rows:
            show_notes([empty])

    def show_list(
        self,
        answer: Answer,
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        *,
        empty: str,
        more: str = "--all",
    ) -> None:
        """Print a list and its notes; report on stderr if it is empty, or has more entries; `more` shows these."""
        notes = answer.notes
        self.table(columns, rows, answer.value, empty="" if notes else empty)
        if self.as_json:
            return
        if "next_cursor" in answer.value:
            notes.append(f"There is more: add {more}.")
        show_notes(notes)

    def say_deleted(self, text: str, kind: str, keys: Sequence[str], value: object) -> None:
        """Print that something was deleted, and how to restore it."""
        days = self.database.retention.trash_days
        it = "it" if len(keys) == 1 else "one of them"
        key = keys[0] if len(keys) == 1 else {"task": "NUMBER"}.get(kind, "NAME")
        hint = f"Bring {it} back within {days} day{'' if days == 1 else 's'} with: "
        hint += restore_command(kind, key, self.scope.project)
        self.say(f"{text}\n{hint if days else 'It cannot be brought back, because trash_days is 0.'}", value)


# -- commands ---------------------------------------------------------------------------------------------------


def command(
    *, in_project: bool = True, needs_project: bool = False, as_user: bool = False, reads: bool | str = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the common options to a command, give it a session, and report its errors.

    With `in_project`, the command has the option --project. With `needs_project`, it fails at once if the project does
    not exist and the first write would not create it. With `reads`, always or with the option of that name, it creates
    no store.
    """

    def decorate(run: Callable[..., None]) -> Callable[..., None]:
        @wraps(run)
        def with_session(*, as_json: bool, **options: Any) -> None:
            given = ("database", "project", "user", "no_personal")
            flags: dict[str, str | None] = {name: options.pop(name, None) for name in given}
            only_reads = bool(options[reads]) if isinstance(reads, str) else reads
            with ExitStack() as opened:
                with report_errors(as_json=as_json):
                    session = opened.enter_context(open_session(flags, reads=only_reads, as_json=as_json))
                with _report_failure(session):
                    session.enter(in_project=in_project, needs_project=needs_project, as_user=as_user, reads=only_reads)
                    run(session, **options)

        if in_project and reads is True:
            help = "Leave out the items of the project personal. [env: SATCHEL_NO_PERSONAL]"
            with_session = click.option("--no-personal", flag_value="yes", help=help)(with_session)
        return session_options(with_session, in_project=in_project, as_user=as_user)

    return decorate


def session_options(run: Callable[..., None], *, in_project: bool = True, as_user: bool = True) -> Callable[..., None]:
    """Add the options of a session to a command."""
    flags: list[Option] = [color_option, json_option, database_option]
    if in_project:
        flags.append(project_option("The project. [env: SATCHEL_PROJECT]", "project"))
    if as_user:
        help = "The user.  [default: the local user; env: SATCHEL_USER]"
        flags.append(click.option("--user", "-u", metavar="UUID", help=help))
    for flag in flags:
        run = flag(run)
    return run


def project_option(help: str, name: str = "wanted", **more: Any) -> Option:
    """Return an option for a project other than the session's."""
    return click.option("--project", "-p", name, type=PROJECT, metavar="NAME", help=help, **more)


def page_options(run: Callable[..., None]) -> Callable[..., None]:
    """Add the options --limit and --all to a command, which gets a limit, or None for everything."""

    @click.option("--limit", default=_LIMIT, show_default=True, type=click.IntRange(1, 10**6), help="How many at most.")
    @click.option("--all", "is_all", is_flag=True, help="All entries, regardless of the limit.")
    @wraps(run)
    def with_page(session: Session, *, limit: int, is_all: bool, **options: Any) -> None:
        run(session, limit=None if is_all else limit, **options)

    return with_page


@contextmanager
def open_session(flags: Mapping[str, str | None], *, reads: bool, as_json: bool = False) -> Iterator[Session]:
    """Open the store that flags and settings select; if `reads`, a missing store counts as an empty one.

    Raises:
        SettingsError: a setting is wrong.
        StoreUnusable: the store cannot be opened.
    """
    settings = config.load(flags)
    lacks_store = False
    with ExitStack() as closing:
        try:
            database = open_database(settings.database, settings.database_direct, must_exist=reads)
        except StoreMissing as missing:
            lacks_store = True
            if not as_json:
                show_notes([f"There is no store {missing.store} yet: the first change makes it."])
            folder = closing.enter_context(tempfile.TemporaryDirectory(prefix="satchel-"))
            database = open_database(os.path.join(folder, "empty.db"))
        database.retention = settings.retention
        session = Session(database, settings, as_json=as_json)
        session.lacks_store = lacks_store
        closing.callback(session.close)
        yield session


@contextmanager
def _report_failure(session: Session) -> Iterator[None]:
    """End the command with an error message if the block fails."""
    as_json = session.as_json
    try:
        yield
    except SatchelError as error:
        _check_file(error, session)
        if session.lacks_store and isinstance(error, NotFound):
            end("there is nothing stored yet.", code_of(error), as_json=as_json)
        what, advice = explain_apart(error, session.database, session.scope)
        facts = session.describe_failure(error)
        code = facts["code"] if facts else code_of(error)
        value = {"error": {**facts, "hint": advice or facts["hint"]}} if facts else None
        end(f"{what}. {advice}".rstrip(), code, as_json=as_json, value=value)
    except click.UsageError:
        raise
    except click.ClickException as error:
        end(error.message, as_json=as_json)


def _check_file(error: SatchelError, session: Session) -> None:
    """Refuse a command if a `.satchel` file names its project, and the project does not exist.

    Raises:
        click.UsageError: the project does not exist.
    """
    scope = session.scope
    if not isinstance(error, NotFound) or error.kind != "project" or error.key != scope.project:
        return
    if scope.is_named_by_file:
        from satchel.app.startup import explain_missing_project  # needed only after this mistake

        raise click.UsageError(explain_missing_project(session.database, scope))


def address_command(run: Callable[..., tuple[str, Any]]) -> Callable[..., None]:
    """Wrap a command that opens the store by address, without a session; print its result as text or JSON."""

    @database_option
    @json_option
    @wraps(run)
    def with_address(*, as_json: bool, database: str | None, **options: object) -> None:
        with report_errors(as_json=as_json):
            text, value = run(config.load({"database": database}).database, **options)
        print_result(text, value, as_json=as_json)

    return with_address


@contextmanager
def report_errors(*, as_json: bool) -> Iterator[None]:
    """End the command with an error message if the settings are wrong or the store cannot be used."""
    try:
        yield
    except config.SettingsError as error:
        end(str(error), "invalid_argument", as_json=as_json)
    except StoreError as error:
        end(str(error), "unavailable", as_json=as_json)
    except ModuleNotFoundError as error:
        extra = extras.find_extra(error)
        if extra is None:
            raise
        end(f"this needs an extra. Install it with: {extras.install_command(extra)}", as_json=as_json)


def confirm(question: str, *, is_yes: bool) -> None:
    """Ask the user to confirm a loss; without a terminal, fail and name the flag that confirms."""
    if is_yes:
        return
    if not sys.stdin.isatty():
        raise click.ClickException(f"{question} Not done: there is no terminal to ask on. Add --yes to do it.")
    click.confirm(escape(question), abort=True, err=True)


def check_owner(session: Session, what: str) -> None:
    """Refuse to perform an action as an application role, and name the role that may perform it."""
    if session.database.has_row_security:
        raise StoreFailed(
            f"the application role {what}: run this with the owner's address in --database or SATCHEL_DATABASE"
        )
