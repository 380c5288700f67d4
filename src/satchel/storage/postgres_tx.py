"""A transaction on a PostgreSQL server: its statements, how it is interrupted, what row-level security shows."""

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress

import psycopg

from satchel.errors import StoreFailed
from satchel.model import PromptPosition, PromptQuery
from satchel.storage import prompts_postgres, search_postgres
from satchel.storage.database import Row, Tx, WordList
from satchel.storage.postgres_errors import translate_errors
from satchel.storage.postgres_statements import Connection, Statement

USER, PROJECTS = "satchel.user", "satchel.projects"  # what row-level security shows in a transaction

_CANCEL_TIMEOUT = 2.0  # seconds for telling the server that a query is to be cancelled
_MOST_AT_ONCE = 1000  # statements in one round trip


class PostgresTx(Tx):
    """A transaction on one connection of a pool."""

    longest_list = 50  # psycopg takes milliseconds for a text with hundreds of parameters

    def __init__(self, connection: Connection, *, shown: dict[str, str] | None = None) -> None:
        self._connection = connection
        self._shown = shown or {}  # the settings of row-level security; none: it does not apply to our role
        self._cancelling: threading.Thread | None = None

    def execute(self, sql: str, values: dict[str, object]) -> list[Row]:
        with translate_errors(self._connection):
            return self._connection.statements.run(sql, values)

    def one_to_change(self, sql: str, table: str, **values: object) -> Row | None:
        # Locked, so that the state that is kept is the one that the update replaces. Where another writer was waited
        # for, PostgreSQL reads the row again, but not what sub-selects found, such as its tags. Then the version of the
        # row is not that of the snapshot, and the second statement, which does not wait, reads all of it.
        self.settle()
        is_whole = f"{table}.version = (select version from {table} as seen where seen.number = {table}.number)"
        text = sql.replace("select ", f"select {is_whole}, ", 1) + " for update"
        while (row := self.one(text, **values)) is not None:
            if row[0]:
                return row[1:]
        return None

    def many(self, sql: str, rows: Iterable[dict[str, object]]) -> None:
        statements: list[Statement] = [(sql, row, True) for row in rows]
        with translate_errors(self._connection):
            for start in range(0, len(statements), _MOST_AT_ONCE):
                self._connection.statements.run_all(statements[start : start + _MOST_AT_ONCE])

    def put(self, sql: str, **values: object) -> None:
        if self._gathered is None and not self.is_interrupted:
            self.put_off((sql, values, True))
        else:
            super().put(sql, **values)

    def put_off(self, statement: Statement) -> None:
        """Execute a statement for its effect, together with the next one or with the commit."""
        self._connection.statements.pending.append(statement)

    def interrupt(self) -> None:
        super().interrupt()
        # In a thread, because it connects to the server, and the caller may be an event loop.
        self._cancelling = threading.Thread(target=self._cancel, name="satchel-cancel", daemon=True)
        self._cancelling.start()

    def end_interrupt(self) -> None:
        if self._cancelling is not None:
            self._cancelling.join()  # what is cancelled later is the next statement on this connection

    def _cancel(self) -> None:
        with suppress(psycopg.Error):  # the statement ends by its own timeout then
            self._connection.cancel_safe(timeout=_CANCEL_TIMEOUT)

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
        with translate_errors(self._connection):
            self._connection.statements.run_all([set_locally({PROJECTS: projects})])

    def lock(self, what: str) -> None:
        self.run("select pg_advisory_xact_lock(hashtextextended(:what, 0))", what=what)

    def prompts_containing(
        self, project: int, query: PromptQuery, limit: int, *, offset: int = 0, after: PromptPosition | None = None
    ) -> tuple[list[int], int]:
        is_confined = self.scope.projects is not None
        sql = prompts_postgres.choose_search(query, is_guarded=bool(self._shown), is_confined=is_confined)
        values = prompts_postgres.make_values(project, query, limit, offset, after)
        with translate_errors(self._connection):
            # Not prepared: the plan depends on how common the text is.
            [[total, numbers]] = self._connection.statements.run(sql, values, may_prepare=False)
        return numbers, total

    def find_words(self, spaces: Sequence[int], lists: Sequence[WordList], most: int) -> list[tuple[list[int], int]]:
        return search_postgres.find_words(self, spaces, lists, most)

    def find_together(self, spaces: Sequence[int], words: Sequence[tuple[str, bool]], most: int) -> list[int]:
        return search_postgres.find_together(self, spaces, words, most)

    def add_words(self, space: int, words: Sequence[str]) -> None:
        self.put_off((search_postgres.ADD_WORDS, {"space": space, "words": list(words)}, True))

    def words_of_none(self, space: int, words: Sequence[str]) -> list[str]:
        return search_postgres.words_of_none(self, space, words)


def set_locally(settings: dict[str, str]) -> Statement:
    """The statement that makes settings, which end with the transaction."""
    calls = (f"set_config('{name}', :{name.replace('.', '_')}, true)" for name in settings)
    values = {name.replace(".", "_"): value for name, value in settings.items()}
    return f"select {', '.join(calls)}", values, True
