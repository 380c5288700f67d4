"""Opening a store and working in it: `read()` and `write()` give a transaction, `Tx` asks the database.

SQL is written once with `:name` parameters; a list given as a parameter stands for `in :names`. What the engines
must do differently is a method here that each of them fills in.
"""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

from satchel import clock
from satchel.errors import StoreUnusable
from satchel.model import PromptPosition, PromptQuery, Scope, StoreChange

Row = tuple[Any, ...]
Listener = Callable[[list[StoreChange]], None]

NEWEST: PromptPosition = ("~", 0)  # before every prompt: "~" sorts after all timestamps


class Violation(Exception):
    """A constraint, named TABLE_COLUMN, refused a write; services translate it."""

    def __init__(self, constraint: str) -> None:
        super().__init__(constraint)
        self.constraint = constraint


class Tx:
    """One transaction. It has one time, and is rolled back whole when anything in it fails."""

    _now: str | None = None
    _changes: dict[StoreChange, None] | None = None

    @property
    def now(self) -> str:
        """The one time of this transaction."""
        if self._now is None:
            self._now = clock.now()
        return self._now

    @property
    def changes(self) -> dict[StoreChange, None]:
        """What is announced to watching processes once this is committed."""
        if self._changes is None:
            self._changes = {}
        return self._changes

    def changed(self, change: StoreChange) -> None:
        """Announce a change to every process that watches the store, once this is committed."""
        self.changes[change] = None

    @staticmethod
    def new_id() -> str:
        """A new UUID."""
        return clock.new_id()

    def all(self, sql: str, **values: object) -> list[Row]:
        """Every row of a statement's result."""
        text, values = _expand_lists(sql, values)
        return self.execute(text, values)

    def one(self, sql: str, **values: object) -> Row | None:
        """The first row of a statement's result, or None."""
        text, values = _expand_lists(sql, values)
        rows = self.execute(text, values)
        return rows[0] if rows else None

    def run(self, sql: str, **values: object) -> None:
        """Execute a statement for its effect."""
        self.all(sql, **values)

    def renew(self, sql: str, last: str, **values: object) -> Row | None:
        """Execute an update that sets `updated_at = :now where … and updated_at < :now returning …`.

        Each update of a row is later than the one before, even where the clock goes back or two writers wait for each
        other: where the row is not older than this transaction, `last` selects its time, and we take the tick after it.
        """
        now = self.now
        while True:
            row = self.one(sql, **values, now=now)
            if row is not None:
                return row
            found = self.one(last, **values)
            if found is None:
                return None
            now = clock.after(found[0])

    def many(self, sql: str, rows: Iterable[dict[str, object]]) -> None:
        """Execute a statement once for each row of values."""
        for row in rows:
            self.execute(sql, row)

    def execute(self, sql: str, values: dict[str, object]) -> list[Row]:
        """Execute one statement on the engine.

        Raises:
            Violation: a constraint refused it.
            StoreFailed: the database failed.
        """
        raise NotImplementedError

    def is_task(self, id: str) -> bool:
        """Whether there is a task with this id, of any user."""
        raise NotImplementedError

    def lock(self, what: str) -> None:
        """Acquire a named lock, and hold it until the transaction ends."""
        raise NotImplementedError

    def prompts_containing(
        self, project: int, query: PromptQuery, limit: int, *, offset: int = 0, after: PromptPosition | None = None
    ) -> tuple[list[int], int]:
        """The prompts with a folded text in title or content: a page of numbers, last updated first, and the total.

        The total does not depend on the position that the page starts after.
        """
        raise NotImplementedError


class Database:
    """An open store, safe to use from several threads."""

    is_shared = False  # by several machines, so that it keeps nothing about one of them
    has_row_security = False  # our role owns nothing, and row-level security applies to it

    def read(self, scope: Scope | None = None) -> AbstractContextManager[Tx]:
        """A read-only transaction that sees one snapshot.

        Where the database has row-level security, it shows the tasks of the scope's user and the scope's projects.
        """
        raise NotImplementedError

    def write(self, scope: Scope | None = None) -> AbstractContextManager[Tx]:
        """A transaction that may write; it commits when the block ends, and rolls back when the block raises."""
        raise NotImplementedError

    def watch(self, listen: Listener) -> None:
        """From now on, pass every change that any process commits to `listen`, within a second, in another thread."""
        raise NotImplementedError

    @property
    def schema(self) -> int:
        """The version of the schema, read from the database.

        Raises:
            StoreFailed: the database cannot be reached.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Close the store."""
        raise NotImplementedError


def open_database(where: str) -> Database:
    """Open the store at a file path or a `postgresql://` address, bringing its schema up to date.

    Raises:
        StoreUnusable: it cannot be opened; the message says why and what to do.
    """
    if is_postgres(where):
        from satchel.storage.postgres import PostgresDatabase

        return PostgresDatabase(where)
    from satchel.storage.sqlite import SqliteDatabase

    return SqliteDatabase(where)


def is_postgres(where: str) -> bool:
    """Whether a store is on a PostgreSQL server, and not in a file.

    Raises:
        StoreUnusable: it is neither.
    """
    if "://" not in where:
        return False
    scheme = where.partition("://")[0].lower()
    if scheme not in ("postgresql", "postgres"):
        raise StoreUnusable(f"a store is a file or postgresql://… ; {scheme}:// is neither. Check --database.")
    return True


def _expand_lists(sql: str, values: dict[str, object]) -> tuple[str, dict[str, object]]:
    for value in values.values():
        if type(value) is list or type(value) is tuple:
            break
    else:
        return sql, values
    lists = {name: value for name, value in values.items() if isinstance(value, list | tuple)}
    plain = {name: value for name, value in values.items() if name not in lists}
    for name, items in lists.items():
        sql = _expand_list(sql, name, len(items))
        plain.update((f"{name}_{position}", item) for position, item in enumerate(items))
    return sql, plain


@lru_cache(maxsize=512)
def _expand_list(sql: str, name: str, size: int) -> str:
    parameters = [f":{name}_{position}" for position in range(size)] or ["null"]
    return sql.replace(f"in :{name}", f"in ({', '.join(parameters)})")
