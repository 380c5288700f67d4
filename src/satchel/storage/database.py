"""Opening a store and working in it: `read()` and `write()` give a transaction, `Tx` asks the database.

SQL is written once with `:name` parameters; a list given as a parameter stands for `in :names`. What the engines
must do differently is a method here that each of them fills in.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

from msgspec import Struct

from satchel import clock
from satchel.errors import StoreUnusable
from satchel.model import Scope, StoreChange

Row = tuple[Any, ...]

Place = tuple[str, int]  # of a prompt among the last updated: when that was, and its number
NEWEST: Place = ("~", 0)  # before all of them


class PromptQuery(Struct, frozen=True, kw_only=True):
    """The prompts that are looked for by a text."""

    project: int
    text: str  # folded
    tags: Sequence[str] = ()  # one of which they have, or all
    needs_all: bool = False
    behind: Place = NEWEST  # which a page is; the total is of all


class Violation(Exception):
    """The database refused a write by one of its constraints, named TABLE_COLUMN; storage modules translate it."""

    def __init__(self, constraint: str) -> None:
        super().__init__(constraint)
        self.constraint = constraint


class Tx:
    """One transaction. It has one time, and it is gone whole when anything in it fails."""

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
        """What is told to whoever watches, once this is committed."""
        if self._changes is None:
            self._changes = {}
        return self._changes

    def changed(self, change: StoreChange) -> None:
        """Tell every process that watches the store, once this is committed."""
        self.changes[change] = None

    @staticmethod
    def new_id() -> str:
        """A new UUID."""
        return clock.new_id()

    def all(self, sql: str, **values: object) -> list[Row]:
        """Every row that a statement gives."""
        text, values = _expanded(sql, values)
        return self.execute(text, values)

    def one(self, sql: str, **values: object) -> Row | None:
        """The first row that a statement gives, or None."""
        text, values = _expanded(sql, values)
        rows = self.execute(text, values)
        return rows[0] if rows else None

    def run(self, sql: str, **values: object) -> None:
        """Carry out a statement for its effect."""
        self.all(sql, **values)

    def renew(self, sql: str, last: str, **values: object) -> Row | None:
        """Carry out an update that sets `updated_at = :now where … and updated_at < :now returning …`.

        Every update is later than the one before, whatever the clock says and whoever had to wait for whom: where the
        row is newer than our time already, its time (which `last` selects) and a tick is the time of this update.
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
        """Carry out a statement once for each row of values."""
        for row in rows:
            self.execute(sql, row)

    def execute(self, sql: str, values: dict[str, object]) -> list[Row]:
        """Hand one statement to the engine.

        Raises:
            Violation: a constraint refused it.
            StoreFailed: the database failed.
        """
        raise NotImplementedError

    def is_task(self, id: str) -> bool:
        """Whether there is a task with this id, whosever it is."""
        raise NotImplementedError

    def lock(self, what: str) -> None:
        """Wait until nobody else has this lock, and have it until the transaction ends."""
        raise NotImplementedError

    def prompts_containing(self, sought: PromptQuery, limit: int, offset: int = 0) -> tuple[list[int], int]:
        """Of the prompts with a text in folded title or content: a page of numbers, newest first, and the total."""
        raise NotImplementedError


class Database:
    """An open store, safe to use from several threads."""

    is_shared = False  # between machines, so that nothing in it is about this one
    is_walled = False  # our role owns nothing, and row-level security holds it

    def read(self, scope: Scope | None = None, patience: float | None = None) -> AbstractContextManager[Tx]:
        """A transaction that sees one moment and changes nothing.

        Where the database has row-level security, the scope says what it shows: the tasks of its user, its projects.
        Where it is embedded, a statement that goes on when the seconds of `patience` have passed raises OutOfTime.
        """
        raise NotImplementedError

    def look(self, scope: Scope | None = None) -> AbstractContextManager[Tx]:
        """A transaction for one statement that reads; of several, each would see its own moment."""
        return self.read(scope)

    def write(self, scope: Scope | None = None) -> AbstractContextManager[Tx]:
        """A transaction that may write; it commits when the block ends, and undoes everything when it raises."""
        raise NotImplementedError

    def watch(self, heard: Callable[[list[StoreChange]], None]) -> None:
        """From now on, tell of every change that any process commits, within a second, from a thread of its own."""
        raise NotImplementedError

    @property
    def schema(self) -> int:
        """Ask the database which schema it has.

        Raises:
            StoreFailed: it is not there.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Let go of the store."""
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


def _expanded(sql: str, values: dict[str, object]) -> tuple[str, dict[str, object]]:
    for value in values.values():
        if type(value) is list or type(value) is tuple:
            break
    else:
        return sql, values
    lists = {name: value for name, value in values.items() if isinstance(value, list | tuple)}
    plain = {name: value for name, value in values.items() if name not in lists}
    for name, items in lists.items():
        sql = _with_list(sql, name, len(items))
        plain.update((f"{name}_{position}", item) for position, item in enumerate(items))
    return sql, plain


@lru_cache(maxsize=512)
def _with_list(sql: str, name: str, size: int) -> str:
    places: Sequence[str] = [f":{name}_{position}" for position in range(size)] or ["null"]
    return sql.replace(f"in :{name}", f"in ({', '.join(places)})")
