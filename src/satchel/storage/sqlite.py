"""The embedded engine: one SQLite file in WAL mode, any number of processes.

One connection writes, the others only read. A commit is on the disk before it is acknowledged.
"""

import math
import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import lru_cache

import apsw
import msgspec

from satchel.errors import StoreFailed, StoreGone, StoreUnusable, TooCostly
from satchel.model import Scope
from satchel.storage import changes, completion, pruning, schema, search_engines, sqlite_file
from satchel.storage.database import (
    ALTERED,
    PARAMETERS,
    Cutoffs,
    Database,
    Listener,
    Row,
    Tx,
    Violation,
)
from satchel.storage.schema.migration import fill_all, for_sqlite
from satchel.storage.sqlite_file import APPLICATION_ID, WriteLock
from satchel.work import Work, seconds_for

_CHECK_INTERVAL = 0.05  # seconds between checks that the file is still the one that was opened
_ROWS = 500  # rows per insert
_STEPS = 10_000  # steps of SQLite's machine between two checks of the time: a millisecond for short rows
_encode_json = msgspec.json.Encoder().encode
_STATEMENTS = 250  # prepared statements to cache per connection; all tools of a contract have fewer


class SqliteTx(Tx):
    """A transaction on one connection."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._seconds = math.inf  # the limit for one statement
        self._ends_at = math.inf  # when the running statement must end, by `time.monotonic()`

    def execute(self, sql: str, values: dict[str, object]) -> list[Row]:
        sql, lists = _spell_lists(sql)
        if lists:
            values = values | {name: _encode_json(values[name]).decode() for name in lists}
        self._ends_at = time.monotonic() + self._seconds
        try:
            return list(self._connection.execute(sql, values))
        except apsw.ConstraintError as error:
            raise Violation(_constraint(error)) from error
        except (apsw.Error, UnicodeDecodeError) as error:
            raise _explain(error) from error

    @contextmanager
    def bounded(self, work: Work) -> Iterator[None]:
        self._seconds = seconds_for(writes=self.writes)
        self._connection.set_progress_handler(self._must_stop, _STEPS)
        stop = self._connection.interrupt  # does nothing between two statements
        if not self.writes:
            self._work = work
            work.add_stop(stop)
        try:
            yield
        except TooCostly:
            if not self.writes:
                work.check()
            raise
        finally:
            if not self.writes:
                work.remove_stop(stop)
            self._connection.set_progress_handler(None)

    def _must_stop(self) -> bool:
        """Return whether SQLite must stop the running statement, because of its time limit or a cancelled call."""
        is_cancelled = self._work is not None and self._work.is_cancelled
        return is_cancelled or time.monotonic() > self._ends_at

    def many(self, sql: str, rows: Iterable[dict[str, object]]) -> None:
        """Execute an `insert … values (…)` for many rows in few statements.

        Each statement on a table with triggers makes FTS5 flush its pending rows to the disk.
        """
        given = list(rows)
        for start in range(0, len(given), _ROWS):
            part = given[start : start + _ROWS]
            if len(part) == 1:
                self.execute(sql, part[0])
                continue
            values = {f"{name}_{place}": value for place, row in enumerate(part) for name, value in row.items()}
            self.execute(_repeat_values(sql, len(part)), values)

    def is_task(self, id: str) -> bool:
        return self.one("select 1 from tasks where id = :id and deleted_at is null", id=id) is not None

    def lock(self, what: str) -> None:
        """Do nothing: there is only one writer at a time."""

    def record_changes(self) -> None:
        """Store the announced changes for other processes, and keep the last thousand."""
        if not self.changes:
            return
        sql = "insert into changes (what) values (:what) returning number"
        [[number]] = self.all(sql, what=changes.encode(list(self.changes)))
        if number % 256 == 0:
            self.run("delete from changes where number <= :old", old=number - 1024)

    prompts_containing = search_engines.find_prompts_in_sqlite
    find_words = search_engines.find_in_sqlite
    find_together = search_engines.find_together_in_sqlite
    add_words = search_engines.add_words_in_sqlite
    clean_words = search_engines.clean_words_in_sqlite
    forget_words = search_engines.forget_words_in_sqlite

    def clear_search(self) -> None:
        # First, make the index match the items: for each deleted row, a trigger removes exactly this row's words.
        self.run("insert into search_index (search_index) values ('delete-all')")
        self.run("""
            insert into search_index (rowid, words)
            select number, replace(words, ' ', ' ' || space || '.') from search_items
        """)
        super().clear_search()

    def walk(self, sql: str, **values: object) -> Iterator[Row]:
        """Yield the rows of a query one by one; the caller may stop early."""
        self._ends_at = time.monotonic() + self._seconds
        with _translate_errors():
            yield from self._connection.execute(sql, values)


class SqliteDatabase(Database):
    """A store in one file."""

    def __init__(self, path: str) -> None:
        self._path = os.path.realpath(path)  # so that all names of a file share one lock
        self._write_lock = WriteLock(self._path)
        self._idle_readers: list[apsw.Connection] = []
        self._is_writer_lost = False  # its transaction could not be rolled back
        self._watchers: list[changes.Watcher] = []
        try:
            sqlite_file.make_private(self._path)
            sqlite_file.check_owner(self._path)
            sqlite_file.check_header(self._path)
            self.why_read_only = sqlite_file.explain_read_only(self._path)
            self._is_at_rest = bool(self.why_read_only) and sqlite_file.is_at_rest(self._path)
            self._file = sqlite_file.identify(self._path, at_rest=self._is_at_rest)
            self._next_check = 0.0
            self._writer = self._connect()
            self._prepare()
            # Every call reads this table, so fail now if it is damaged.
            self._writer.execute("select name from projects order by name limit 1").fetchall()
            sqlite_file.tighten_modes(self._path)  # after the checks, so that another program's file stays unchanged
            self._check_file()  # a restore may have replaced it since the first check
        except UnicodeEncodeError as error:
            raise StoreUnusable(f"cannot open the store {self._path!r}: its name is not UTF-8.") from error
        except OSError as error:
            raise StoreUnusable(
                f"cannot open the store {self._path}: {error.strerror}. Check that its folder is there and yours to "
                "write, or name another file with --database or SATCHEL_DATABASE."
            ) from error
        except (apsw.NotADBError, apsw.CorruptError, UnicodeDecodeError) as error:
            raise StoreUnusable(
                f"cannot open the store {self._path}: it is damaged or no database ({error}). It was left as it is; "
                "restore a backup, or name another file with --database or SATCHEL_DATABASE."
            ) from error
        except (apsw.Error, StoreFailed) as error:
            raise StoreUnusable(
                f"cannot open the store {self._path}: {error}. Check that the file and its folder are yours to write."
            ) from error

    @contextmanager
    def read(self, scope: Scope | None = None, deadline: float | None = None) -> Iterator[Tx]:
        if self._is_at_rest or time.monotonic() >= self._next_check:
            self._check_file()
        connection = self._take_reader()
        try:
            yield self._open_tx(connection, scope)
        finally:
            if _roll_back(connection):
                self._idle_readers.append(connection)

    def _take_reader(self) -> apsw.Connection:
        """Return a connection that has begun a read transaction."""
        try:
            connection = self._idle_readers.pop()
        except IndexError:
            connection = self._connect_reader()
        try:
            connection.execute("begin")
        except apsw.Error as error:
            connection.close(force=True)
            raise _explain(error) from error
        return connection

    def _connect_reader(self) -> apsw.Connection:
        with _translate_errors():
            connection = self._connect()
            connection.execute("pragma query_only = on")
            return connection

    @contextmanager
    def write(
        self, scope: Scope | None = None, deadline: float | None = None, *, lock_timeout: float | None = None
    ) -> Iterator[Tx]:
        if self.why_read_only:
            raise StoreFailed(f"{self.why_read_only}, so nothing can be changed")
        with self._write_lock.hold() if lock_timeout is None else self._write_lock.hold(lock_timeout):
            self._check_file()
            with _translate_errors():
                if self._is_writer_lost:
                    self._writer = self._connect()
                    self._is_writer_lost = False
                # Begin as a writer: otherwise, SQLite refuses the first write, without waiting, if another transaction
                # wrote after the first read.
                self._writer.execute("begin immediate")
            try:
                tx = self._open_tx(self._writer, scope)
                tx.writes = True
                yield tx
                tx.record_changes()
                with _translate_errors():
                    self._writer.execute("commit")
            finally:
                self._is_writer_lost = not _roll_back(self._writer)

    def _open_tx(self, connection: apsw.Connection, scope: Scope | None) -> SqliteTx:
        tx = SqliteTx(connection)
        tx.scope, tx.retention = scope or tx.scope, self.retention
        return tx

    def watch(self, listen: Listener) -> None:
        self._check_file()
        with _translate_errors():
            self._watchers.append(changes.SqliteWatcher(self._connect(), self._check_file, listen))

    def prune(self, cutoffs: Cutoffs, after: int) -> tuple[int, int] | None:
        with self.write() as tx:
            return pruning.prune(tx, cutoffs, after)

    def forget_values(self, libraries: Sequence[str] | None, before: str) -> int:
        with self.read() as tx:
            orphans = completion.find_forgotten_values(tx, libraries, before)
        gone = 0
        for prompt in orphans:
            with self.write() as tx:
                gone += completion.delete_values(tx, prompt)
        return gone

    def measure_tables(self, tables: Sequence[str]) -> tuple[int, int | None]:
        with self.read() as tx:
            names = "select name from sqlite_schema where tbl_name in :tables"
            sql = f"select coalesce(sum(pgsize), 0) from dbstat where name in ({names})"
            [[size]] = tx.all(sql, tables=tables)
            [[pages, page_size]] = tx.all("select page_count, page_size from pragma_page_count, pragma_page_size")
        return size, pages * page_size

    def scrub(self) -> str:
        # Replaced and deleted texts stay in the file's free space and in the log until both are rewritten.
        with self._write_lock.hold(), _translate_errors():
            # The index keeps deleted words until it merges its segments.
            self._writer.execute("insert into search_index (search_index) values ('optimize')")
            self._writer.execute("vacuum")
            [[is_blocked, *_]] = self._writer.execute("pragma wal_checkpoint(truncate)").fetchall()
        return "Old pages are removed once the other processes that read this store have ended." if is_blocked else ""

    @property
    def schema(self) -> int:
        with self.read() as tx:
            [[version]] = tx.all("pragma user_version")
        return int(version)

    def close(self) -> None:
        while self._watchers:
            self._watchers.pop().stop()
        # The last connection that closes moves the log into the file, which is a write and needs the lock. If another
        # process holds the lock, that process does it.
        lock = nullcontext() if self.why_read_only else self._write_lock.hold(timeout=0.2)
        with suppress(StoreFailed, apsw.Error), lock:
            for connection in [*self._idle_readers, self._writer]:
                connection.close()

    def _check_file(self) -> None:
        # Open connections keep using the old file, and would lose their writes with it.
        if sqlite_file.identify(self._path, at_rest=self._is_at_rest) != self._file:
            self._next_check = 0.0
            raise StoreGone(f"the store {self._path} was removed or replaced while it was open; start Satchel again")
        self._next_check = time.monotonic() + _CHECK_INTERVAL

    def _connect(self) -> apsw.Connection:
        if self._is_at_rest:
            connection = sqlite_file.connect_at_rest(self._path)
        else:
            connection = apsw.Connection(self._path, flags=apsw.SQLITE_OPEN_READWRITE, statementcachesize=_STATEMENTS)
        connection.set_busy_timeout(5000)  # for programs without our write lock, such as the sqlite3 shell
        # Otherwise, SQLite replans each statement that might use a partial index at every call.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        connection.execute("pragma foreign_keys = on; pragma synchronous = full")
        return connection

    def _prepare(self) -> None:
        version = self._version()
        if version == schema.newest() and (self.why_read_only or self._writer.pragma("journal_mode") == "wal"):
            return
        if self.why_read_only:
            raise StoreUnusable(
                f"the store {self._path} has schema {version}, which must be migrated to {schema.newest()}, but "
                f"{self.why_read_only}. Start once as a user who may write it."
            )
        with self._write_lock.hold():
            self._writer.execute("pragma journal_mode = wal")
            if (version := self._version()) == schema.newest():  # another process was first
                return
            # If anything fails, closing the connection rolls the transaction back.
            self._writer.execute("begin immediate")
            for statements in schema.list_statements(version):
                self._writer.execute(for_sqlite(statements))
                fill_all(SqliteTx(self._writer), statements)
            self._writer.execute(
                f"pragma application_id = {APPLICATION_ID}; pragma user_version = {schema.newest()}; commit"
            )

    def _version(self) -> int:
        version = self._writer.pragma("user_version")
        tables = self._writer.execute("select count(*) from sqlite_schema").fetchall()[0][0]
        if self._writer.pragma("application_id") != APPLICATION_ID and (version or tables):
            raise StoreUnusable(
                f"{self._path} is a database of another program. It was left as it is; "
                "name another file with --database or SATCHEL_DATABASE."
            )
        schema.check_number(version, f"the store {self._path}")
        return int(version)


def _roll_back(connection: apsw.Connection) -> bool:
    """Roll back an open transaction, and return True; if that fails, close the connection, and return False."""
    try:
        if connection.in_transaction:
            connection.execute("rollback")
    except apsw.Error:
        with suppress(apsw.Error):
            connection.close(True)
        return False
    return True


@lru_cache(maxsize=512)
def _spell_lists(sql: str) -> tuple[str, frozenset[str]]:
    """Make a statement read its list parameters from JSON; return it with the names of these parameters."""
    lists = frozenset(found[2] for found in PARAMETERS.finditer(sql) if found[2])

    def spell(found: re.Match[str]) -> str:
        return f"{found[1] or ''}in (select value from json_each(:{found[2]}))" if found[2] else found[0]

    return PARAMETERS.sub(spell, sql), lists


@lru_cache(maxsize=16)
def _repeat_values(sql: str, count: int) -> str:
    """Repeat the values of an `insert … values (…)` for several rows; names of parameters end in the row's number."""
    before, row, after = re.split(r"(?<=values )(\([^()]*\))", sql, maxsplit=1)  # values without inner parentheses
    rows = (re.sub(r":(\w+)", rf":\1_{place}", row) for place in range(count))
    return f"{before}{', '.join(rows)}{after}"


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except (apsw.Error, UnicodeDecodeError) as error:
        raise _explain(error) from error


def _explain(error: Exception) -> StoreFailed:
    if isinstance(error, apsw.InterruptError):
        return TooCostly("a statement took too long")
    if isinstance(error, apsw.SQLError):  # a table or a column is missing
        return StoreFailed(f"{error}. {ALTERED}")
    if isinstance(error, UnicodeDecodeError):  # in a row that was read
        return StoreFailed(f"a text in the store is damaged: {error}. Restore a backup of it")
    return StoreFailed(str(error))


def _constraint(error: apsw.ConstraintError) -> str:
    # "UNIQUE constraint failed: prompts.project, prompts.title" is what PostgreSQL calls prompts_title.
    return str(error).rpartition(" ")[2].replace(".", "_")
