"""A transaction on a PostgreSQL server: its statements, how it is cancelled, what row-level security shows in it."""

import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache

import psycopg

from satchel.errors import StoreFailed, TooCostly
from satchel.model import PromptPosition, PromptQuery
from satchel.storage import prompts_postgres, search_postgres
from satchel.storage.changes import encode
from satchel.storage.database import PARAMETERS, Row, Tx, WordList
from satchel.storage.postgres_connect import Connection
from satchel.storage.postgres_errors import check_alive, translate_commit_errors, translate_errors
from satchel.work import Work

USER, PROJECTS = "satchel.user", "satchel.projects"  # the settings that row-level security reads

_CANCEL_TIMEOUT = 2.0  # seconds for sending the request to cancel a statement


class PostgresTx(Tx):
    """A transaction on one connection of a pool, or a look-up of one statement.

    Each statement is a round trip. In psycopg's pipelines a statement that fails leaves the next ones marked as
    prepared, and a lost connection is not told from other failures, so only `many` uses one.
    """

    def __init__(self, connection: Connection, *, shown: dict[str, str] | None = None) -> None:
        self._connection = connection
        self._shown = shown or {}  # the settings of row-level security; empty where it does not apply to our role

    def begin(self, how: str, settings: Mapping[str, str]) -> None:
        """Begin the transaction with some settings, in one round trip."""
        calls = ["select set_config(%s, %s, true)"] * len(settings)
        values = [word for setting in settings.items() for word in setting]
        with translate_errors(self._connection):
            # Values are quoted by psycopg: PostgreSQL takes parameters for a single statement only.
            psycopg.ClientCursor(self._connection).execute("; ".join([how, *calls]).encode(), values)

    def execute(self, sql: str, values: Mapping[str, object], *, prepare: bool | None = None) -> list[Row]:
        text, names = _number_parameters(sql)
        with translate_errors(self._connection):
            cursor = psycopg.RawCursor(self._connection).execute(text, _list(names, values), prepare=prepare)
            return cursor.fetchall() if cursor.description else []

    def commit(self) -> None:
        """Commit.

        Raises:
            StoreConflict: nothing was done, and the transaction can be tried again.
            StoreFailed: nothing was done, or it is not known, because the connection was lost meanwhile.
        """
        if self.changes:
            self.run("insert into changes (what) values (:what)", what=encode(list(self.changes)))
        check_alive(self._connection)
        with translate_commit_errors(self._connection):
            cursor = self._connection.execute("commit")
        if cursor.statusmessage == "ROLLBACK":
            raise StoreFailed("a statement of the transaction had failed; nothing was done")

    @contextmanager
    def bounded(self, work: Work) -> Iterator[None]:
        # The time of a statement is bounded by the `statement_timeout` of the connection.
        if self.writes:
            yield
            return
        cancelling: list[threading.Thread] = []

        def cancel() -> None:
            # In a thread, because it connects to the server, and the caller may be an event loop.
            cancelling.append(threading.Thread(target=self._cancel, name="satchel-cancel", daemon=True))
            cancelling[-1].start()

        self._work = work
        work.add_stop(cancel)
        try:
            yield
        except TooCostly:  # PostgreSQL gives both the same name
            work.check()
            raise
        finally:
            work.remove_stop(cancel)
            for thread in cancelling:
                thread.join()  # a later request would hit the next transaction on this connection

    def _cancel(self) -> None:
        with suppress(psycopg.Error):  # the statement ends by its timeout then
            self._connection.cancel_safe(timeout=_CANCEL_TIMEOUT)

    def one_to_change(self, columns: str, table: str, where: str, **values: object) -> Row | None:
        # Locked, so that the state that is kept is the one that the update replaces. After a wait for another writer,
        # PostgreSQL reads the row again, but not what sub-selects found, such as its tags. Then the version of the row
        # is not that of the snapshot, and the second statement, which does not wait, reads all of it.
        self.settle()
        is_whole = f"{table}.version = (select version from {table} as seen where seen.number = {table}.number)"
        sql = f"select {is_whole}, {columns} from {table} where {where} for update"
        while (row := self.one(sql, **values)) is not None:
            if row[0]:
                return row[1:]
        return None

    def many(self, sql: str, rows: Iterable[Mapping[str, object]]) -> None:
        text, names = _number_parameters(sql)
        with translate_errors(self._connection):
            psycopg.RawCursor(self._connection).executemany(text, [_list(names, row) for row in rows])

    def is_task(self, id: str) -> bool:
        return self.one("select satchel_is_task(:id)", id=id) == (True,)

    @contextmanager
    def in_all_projects(self) -> Iterator[None]:
        projects = self._shown.get(PROJECTS, "*")
        if projects == "*":
            yield
            return
        self._show_projects("*")
        try:
            yield
        finally:
            with suppress(StoreFailed):  # a transaction that failed shows nothing any more
                self._show_projects(projects)

    def _show_projects(self, projects: str) -> None:
        self._shown[PROJECTS] = projects
        self.run("select set_config(:name, :projects, true)", name=PROJECTS, projects=projects)

    def lock(self, what: str) -> None:
        self.run("select pg_advisory_xact_lock(hashtextextended(:what, 0))", what=what)

    def prompts_containing(
        self, project: int, query: PromptQuery, limit: int, *, offset: int = 0, after: PromptPosition | None = None
    ) -> tuple[list[int], int]:
        is_confined = self.scope.projects is not None
        sql = prompts_postgres.choose_search(query, is_guarded=bool(self._shown), is_confined=is_confined)
        values = prompts_postgres.make_values(project, query, limit, offset, after)
        # Not prepared: the plan depends on how common the text is.
        [[total, numbers]] = self.execute(sql, values, prepare=False)
        return numbers, total

    def find_words(self, spaces: Sequence[int], lists: Sequence[WordList], most: int) -> list[tuple[list[int], int]]:
        return search_postgres.find_words(self, spaces, lists, most)

    def find_together(self, spaces: Sequence[int], words: Sequence[tuple[str, bool]], most: int) -> list[int]:
        return search_postgres.find_together(self, spaces, words, most)

    def add_words(self, space: int, words: Sequence[str]) -> None:
        search_postgres.add_words(self, space, words)

    def words_of_none(self, space: int, words: Sequence[str]) -> list[str]:
        return search_postgres.words_of_none(self, space, words)


def _list(names: Iterable[str], values: Mapping[str, object]) -> list[object]:
    """Return the values of parameters in the order of their numbers; psycopg takes a tuple for a row."""
    given = [values[name] for name in names]
    return [list(value) if isinstance(value, tuple) else value for value in given]


@lru_cache(maxsize=512)
def _number_parameters(sql: str) -> tuple[bytes, tuple[str, ...]]:
    """Return a statement with `$1` for `:name`, and the names in the order of their numbers."""
    numbers: dict[str, int] = {}

    def number(found: re.Match[str]) -> str:
        name = found[2] or found[3]
        if name is None:
            return found[0]
        place = f"${numbers.setdefault(name, len(numbers) + 1)}"
        if found[3]:
            return place
        return f"<> all({place})" if found[1] else f"= any({place})"

    return PARAMETERS.sub(number, sql).encode(), tuple(numbers)
