"""Opening a store and working in it: `read()` and `write()` give a transaction, and `Tx` executes statements.

SQL is written once for both engines, with `:name` parameters; `in :names` takes a list. Each engine implements a
method of these classes where they differ.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cached_property
from typing import Any, Final, TypeVar

from msgspec import Struct
from msgspec.structs import asdict

from satchel import clock
from satchel.errors import Refused, StoreConflict, StoreFailed, StoreUnusable
from satchel.model import UNSET, PromptPosition, PromptQuery, Retention, Scope, StoreChange
from satchel.work import Work

Row = tuple[Any, ...]
Listener = Callable[[list[StoreChange]], None]
Found = TypeVar("Found")
Key = TypeVar("Key")
Value = TypeVar("Value")

_TRIES = 5  # attempts at a transaction

WAIT = 10.0  # seconds that a call waits for a database connection, over all attempts

# The remedy if the database refuses a statement because tables or columns are missing.
ALTERED = "Another program changed the store: restore a backup of it"

# A quoted text or a cast, which stay unchanged; a list; a single value. Parameters match by their whole names.
PARAMETERS = re.compile(r"'[^']*'|::|\b(not )?in :(\w+)|:(\w+)")

WordList = tuple[str, str, bool]  # selects items: level, word, and whether longer words match too

NEWEST: Final = PromptPosition("~", 0, 2**62)  # before every prompt: "~" sorts after all timestamps


class Cutoffs(Struct, frozen=True):
    """Limits of pruning: rows from before these times are removed, except some versions of each item."""

    history: str
    versions: int
    trash: str


class Violation(StoreFailed):
    """A constraint, named TABLE_COLUMN, refused a write. Services translate the violations that they expect.

    Any other violation means that the store is damaged: its rows contradict each other.
    """

    def __init__(self, constraint: str) -> None:
        super().__init__(f"the constraint {constraint!r} refused a row: the store may be damaged. Run `satchel doctor`")
        self.constraint = constraint


class Tx:
    """One transaction with one timestamp. If anything in it fails, all of it is rolled back."""

    scope = Scope()  # the caller
    retention = Retention()
    writes = False
    absent_project = ""  # a missing project that was read as empty
    made_project = ""  # a missing project that this transaction created
    _gathered: dict[tuple[Any, Any], list[Any]] | None = None  # gathered values by function and key
    restores: int | None = None  # during a restore: the number of the revision that it reverses, or 0
    _work: Work | None = None  # the call, which may be cancelled between two statements

    @cached_property
    def now(self) -> str:
        """Return the timestamp of this transaction."""
        return clock.now()

    @cached_property
    def changes(self) -> dict[StoreChange, None]:
        """Return the changes to announce to watching processes after the commit."""
        return {}

    def changed(self, change: StoreChange) -> None:
        """Announce a change to every process that watches the store, after the commit."""
        self.changes[change] = None

    @staticmethod
    def new_id() -> str:
        """Return a new UUID."""
        return clock.new_id()

    def all(self, sql: str, **values: object) -> list[Row]:
        """Return every row of a statement's result."""
        if self._work is not None:
            self._work.check()
        return self.execute(sql, values)

    def one(self, sql: str, **values: object) -> Row | None:
        """Return the first row of a statement's result; None if it has no rows."""
        rows = self.all(sql, **values)
        return rows[0] if rows else None

    def value(self, sql: str, **values: object) -> Any:
        """Return the first column of the first row of a statement's result; None if it has no rows."""
        row = self.one(sql, **values)
        return row[0] if row else None

    def one_to_change(self, columns: str, table: str, where: str, **values: object) -> Row | None:
        """Return the given columns of a row that this transaction will update or delete; None if there is no row."""
        self.settle()
        return self.one(f"select {columns} from {table} where {where}", **values)

    def all_beside(self, sql: str, column: str, text: str, limit: int, **values: object) -> list[Row]:
        """Return the rows of a `select … where …` nearest to a text in the order of a column, on both sides of it."""
        before = f"{sql} and {column} < :text order by {column} desc limit :limit"
        after = f"{sql} and {column} >= :text order by {column} limit :limit"
        return [row for one in (before, after) for row in self.all(one, **values, text=text, limit=limit)]

    def run(self, sql: str, **values: object) -> None:
        """Execute a statement without a result."""
        self.all(sql, **values)

    def renew(
        self, table: str, changes: str, where: str, *, columns: str, version: int | None = None, **values: Any
    ) -> Row | None:
        """Update the row that a condition selects, and return the given columns of it; None if there is no such row.

        The row gets the next version and a later time, even if the clock goes back or two writers wait for each
        other: a row that is not older than this transaction gets the next tick after its own time. With `version`,
        only a row with this version is updated.
        """
        condition = f"{where} and (:any_version or version = :version)"
        sql = f"""
            update {table} set {changes}, updated_at = :now, version = version + 1
            where {condition} and updated_at < :now returning {columns}
        """
        last = f"select updated_at from {table} where {condition}"
        values |= {"any_version": version is None, "version": version}
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

    def gather(self, put: Callable[["Tx", Key, list[Value]], None], key: Key, value: Value) -> None:
        """Call `put` with one value now or, inside `gathering`, later with all values that have the same key."""
        if self._gathered is None:
            put(self, key, [value])
        else:
            self._gathered.setdefault((put, key), []).append(value)

    @contextmanager
    def gathering(self) -> Iterator[None]:
        """Collect the values of `gather` in the block; put them at its end, or earlier if a row is about to change.

        Queries do not see them until then. In the full-text index, many rows at once cost a fraction of single ones.
        """
        self._gathered = {}
        try:
            yield
            self.settle()
        finally:
            self._gathered = None

    def settle(self) -> None:
        """Put the values gathered so far."""
        if self._gathered:
            gathered, self._gathered = self._gathered, {}
            for (put, key), values in gathered.items():
                put(self, key, values)

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """Roll back only the block if it raises Refused. Any other error ends the transaction."""
        known, gathered = len(self.changes), self._gathered
        counts = {one: len(values) for one, values in (gathered or {}).items()}
        self.run("savepoint block")
        try:
            yield
        except Refused:
            self.run("rollback to savepoint block")
            self.run("release savepoint block")
            for change in list(self.changes)[known:]:
                del self.changes[change]
            if gathered is not None:  # the block may have settled it, which the rollback reversed
                for one, values in gathered.items():
                    del values[counts.get(one, 0) :]
                self._gathered = {one: values for one, values in gathered.items() if values}
            raise
        self.run("release savepoint block")

    def execute(self, sql: str, values: dict[str, object]) -> list[Row]:
        """Execute one statement on the engine.

        Raises:
            Violation: a constraint refused it.
            StoreFailed: the database failed.
        """
        raise NotImplementedError

    def bounded(self, work: Work) -> AbstractContextManager[None]:
        """Limit the time of each statement, and end a read when its call is cancelled.

        Raises:
            TooCostly: a statement took too long.
            Abandoned: this transaction reads, and the call was cancelled.
        """
        raise NotImplementedError

    def is_task(self, id: str) -> bool:
        """Return whether a task of any user has this id."""
        raise NotImplementedError

    @contextmanager
    def in_all_projects(self) -> Iterator[None]:
        """Show the user's rows in all projects during the block, despite row-level security.

        A change may affect tasks that its caller cannot see, such as those that a deleted task blocked. Rows read here
        must not reach the caller.
        """
        yield

    def lock(self, what: str) -> None:
        """Acquire a named lock, and hold it until the transaction ends."""
        raise NotImplementedError

    def prompts_containing(
        self, project: int, query: PromptQuery, limit: int, *, offset: int = 0, after: PromptPosition | None = None
    ) -> tuple[list[int], int]:
        """Return a page of the numbers of prompts that contain a folded text, last updated first, and the total.

        The total does not depend on where the page starts.
        """
        raise NotImplementedError

    def find_words(self, spaces: Sequence[int], lists: Sequence[WordList], most: int) -> list[tuple[list[int], int]]:
        """Return, for each list, up to `most` index numbers of items, and an estimate of the list's length."""
        raise NotImplementedError

    def find_together(self, spaces: Sequence[int], words: Sequence[tuple[str, bool]], most: int) -> list[int]:
        """Return the index numbers of items that have all the words; True marks a word as a prefix."""
        raise NotImplementedError

    def add_words(self, space: int, words: Sequence[str]) -> None:
        """Store words to which mistyped ones can be corrected."""
        raise NotImplementedError

    def clean_words(self, after: tuple[int, str]) -> tuple[int, str] | None:
        """Delete a batch of unused words after a position; return the position of the next batch, if any."""
        raise NotImplementedError

    def forget_words(self, space: int, words: Sequence[str]) -> None:
        """Delete from a space those of the words that no item has any more."""
        raise NotImplementedError

    def clear_search(self) -> None:
        """Empty the word index before it is rebuilt."""
        for table in ("delete from search_items", "delete from search_words", "delete from search_spaces"):
            self.run(table)


class Database:
    """An open store, safe to use from several threads."""

    is_shared = False  # several machines share it, so it stores nothing about a single one
    why_read_only = ""  # why this process cannot write the store; empty if it can
    has_row_security = False  # our role owns nothing, and row-level security applies to it
    retention = Retention()

    def read(self, scope: Scope | None = None, deadline: float | None = None) -> AbstractContextManager[Tx]:
        """Begin a read-only transaction that sees one snapshot.

        Row-level security limits it to the tasks of the scope's user and the scope's projects. It waits for an
        unreachable server until the deadline, a `time.monotonic()` value, or for `WAIT` seconds.
        """
        raise NotImplementedError

    def write(
        self, scope: Scope | None = None, deadline: float | None = None, *, lock_timeout: float | None = None
    ) -> AbstractContextManager[Tx]:
        """Begin a transaction that may write; it commits when the block ends, and rolls back when the block raises.

        With `lock_timeout`, it waits at most so many seconds for a lock of another writer.

        Raises:
            StoreConflict: the transaction was rolled back, or the connection lost before the commit; nothing changed.
        """
        raise NotImplementedError

    def transact(self, scope: Scope, run: Callable[[Tx], Found]) -> Found:
        """Write in one transaction; retry if it conflicts with another one.

        Raises:
            StoreConflict: every attempt conflicted.
        """
        for _ in range(_TRIES - 1):
            with suppress(StoreConflict), self.write(scope) as tx:
                return run(tx)
        with self.write(scope) as tx:
            return run(tx)

    def look_up(self, find: Callable[[Tx], Found]) -> Found:
        """Return the rows that one statement finds, such as a token, even while calls use all other connections."""
        with self.read() as tx:
            return find(tx)

    def watch(self, listen: Listener) -> None:
        """Call `listen` from another thread with every change that any process commits from now on, within a second."""
        raise NotImplementedError

    def prune(self, cutoffs: Cutoffs, after: int) -> tuple[int, int] | None:
        """Run one step of `pruning.prune` in its own transaction."""
        raise NotImplementedError

    def forget_values(self, libraries: Sequence[str] | None, before: str) -> int:
        """Delete the values that `completion.find_forgotten_values` finds, in several transactions; count them."""
        raise NotImplementedError

    def measure_tables(self, tables: Sequence[str]) -> tuple[int, int | None]:
        """Return the size on disk of the given tables with their indexes, and of the whole file if there is one."""
        raise NotImplementedError

    def scrub(self) -> str:
        """Remove the bytes of deleted rows from the disk; return a sentence about remaining steps, or an empty text."""
        raise NotImplementedError

    @property
    def schema(self) -> int:
        """Return the version of the schema, read from the database.

        Raises:
            StoreFailed: the database cannot be reached.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Close the store."""
        raise NotImplementedError


def explain_damage(what: str, error: Exception) -> StoreFailed:
    """Return the error for a malformed row; only another program or the disk can have made it so."""
    return StoreFailed(f"{what} in the store cannot be read: {error}. Restore a backup of it")


def patch_values(patch: Struct) -> dict[str, Any]:
    """Return two parameters of an update for each field of a patch: its value, and whether it is set."""
    fields = asdict(patch)
    given = {f"has_{name}": value is not UNSET for name, value in fields.items()}
    return given | {name: None if value is UNSET else value for name, value in fields.items()}


def open_database(where: str, direct: str | None = None, *, must_exist: bool = False) -> Database:
    """Open the store at a file path or a `postgresql://` address, and update its schema.

    A missing store is created, unless it must exist. If a pooler in front of PostgreSQL shares sessions,
    `direct` is the address of the server itself.

    Raises:
        StoreUnusable: the store cannot be opened; the message has the reason and the remedy.
    """
    if is_postgres(where):
        from satchel.storage.postgres import PostgresDatabase, check_existence

        if must_exist:
            check_existence(where, direct)
        return PostgresDatabase(where, direct)
    from satchel.storage.sqlite import SqliteDatabase
    from satchel.storage.sqlite_file import check_file

    if must_exist:
        check_file(where)
    return SqliteDatabase(where)


def is_postgres(where: str) -> bool:
    """Return whether a store is on a PostgreSQL server, not in a file.

    Raises:
        StoreUnusable: the address has another form.
    """
    if "://" not in where:
        return False
    scheme = where.partition("://")[0].lower()
    if scheme not in ("postgresql", "postgres"):
        raise StoreUnusable(f"a store is a file or postgresql://… ; {scheme}:// is neither. Check --database.")
    return True
