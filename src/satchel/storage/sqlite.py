"""The embedded engine: one SQLite file in WAL mode, any number of processes.

One connection writes, the others only read. A commit is on the disk before it is acknowledged.
"""

import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import lru_cache
from itertools import islice
from typing import Any

import apsw

from satchel.errors import StoreFailed, StoreGone, StoreUnusable
from satchel.model import PromptPosition, PromptQuery, Scope
from satchel.storage import changes, search_sqlite, sqlite_read_only
from satchel.storage.database import ALTERED, NEWEST, Cutoffs, Database, Listener, Row, Tx, Violation, WordList
from satchel.storage.migrations import MIGRATIONS, for_sqlite
from satchel.storage.migrations.migration import fill_all
from satchel.storage.private_files import check_owner, mend_modes
from satchel.storage.write_lock import WriteLock

APPLICATION_ID = 0x53415443  # "SATC", so that the database of another program is never taken for a store

# With fewer hits than this, sorting the hits is cheaper than walking through all prompts in order.
_FEW = 300

_SHORT = 8  # characters of a text that `glob` looks for

_CHECK_INTERVAL = 0.05  # seconds between looks, on reads, whether the file is still the one that was opened

_AFTER = "(updated_at, number) < (:moment, :last) order by updated_at desc, number desc"


_ROWS = 500  # of one insert


class SqliteTx(Tx):
    """A transaction on one connection."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._hits: tuple[str, list[int]] | None = None  # of the last text that was searched, while nothing is written

    def execute(self, sql: str, values: dict[str, object]) -> list[Row]:
        with _translate_errors():
            try:
                return list(self._connection.execute(sql, values))
            except apsw.ConstraintError as error:
                raise Violation(_constraint(error)) from error

    def interrupt(self) -> None:
        super().interrupt()
        self._connection.interrupt()

    def many(self, sql: str, rows: Iterable[dict[str, object]]) -> None:
        """Execute an `insert … values (…)` for many rows in few statements.

        Each statement on a table with triggers makes FTS5 write to the disk what it has gathered.
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
        return self.one("select 1 from tasks where id = :id", id=id) is not None

    def lock(self, what: str) -> None:
        """Nothing to do: there is only one writer at a time."""

    def record_changes(self) -> None:
        """Write down what was changed for other processes; those that watch read it within a thousand transactions."""
        if not self.changes:
            return
        sql = "insert into changes (what) values (:what) returning number"
        [[number]] = self.all(sql, what=changes.encode(list(self.changes)))
        if number % 256 == 0:
            self.run("delete from changes where number <= :old", old=number - 1024)

    def prompts_containing(
        self, project: int, query: PromptQuery, limit: int, *, offset: int = 0, after: PromptPosition | None = None
    ) -> tuple[list[int], int]:
        is_confined = self.scope.projects is not None
        hits = self._scan_texts(query.text, project) if is_confined else self._recall_texts(query.text)
        if hits and query.tags:
            tagged = self._find_tagged(project, query.tags, needs_all=query.needs_all_tags)
            hits = [number for number in hits if number in tagged]
        elif hits and not is_confined and self._has_other_projects(project):
            sql = "select number from prompts where project = :project"
            own = {number for (number,) in self.all(sql, project=project)}
            hits = [number for number in hits if number in own]
        if len(hits) > _FEW:
            return self._walk(project, set(hits), limit, offset, after or NEWEST), len(hits)
        sql = f"select number from prompts where number in :numbers and {_AFTER}"
        moment, last = after or NEWEST
        numbers = [number for (number,) in self.all(sql, numbers=hits, moment=moment, last=last)]
        return numbers[offset : offset + limit], len(hits)

    def find_words(self, spaces: Sequence[int], lists: Sequence[WordList], most: int) -> list[tuple[list[int], int]]:
        return [search_sqlite.find_list(self, spaces, one, most) for one in lists]

    def find_together(self, spaces: Sequence[int], words: Sequence[tuple[str, bool]], most: int) -> list[int]:
        return search_sqlite.find_together(self, spaces, words, most)

    def add_words(self, space: int, words: Sequence[str]) -> None:
        search_sqlite.add_words(self, space, words)

    def words_of_none(self, space: int, words: Sequence[str]) -> list[str]:
        return search_sqlite.words_of_none(self, space, words)

    def clear_search(self) -> None:
        # The triggers take the words of a row out of the index, which must have exactly these.
        self.run("insert into search_index (search_index) values ('delete-all')")
        self.run("""
            insert into search_index (rowid, words)
            select number, replace(words, ' ', ' ' || space || '.') from search_items
        """)
        super().clear_search()

    def _recall_texts(self, folded: str) -> list[int]:
        """As `_search_texts`, which searches all projects, once for those of them that a list reads."""
        if self.writes or self._hits is None or self._hits[0] != folded:
            self._hits = (folded, self._search_texts(folded))
        return self._hits[1]

    def _search_texts(self, folded: str) -> list[int]:
        """The numbers of prompts with a text in title or content, of all projects, in no particular order."""
        if len(folded) < 3 or any("\ufffd" <= character <= "\uffff" for character in folded):
            # Too short for trigrams, or with one of three characters that FTS5 does not tell apart.
            sql = f"select prompt from prompt_texts where {_contains(folded)}"
            rows = self.all(sql, text=folded, pattern=_to_glob(folded))
        else:
            # In double quotes the query is literal, even where it looks like operators of FTS5.
            sql = """
                select rowid from prompt_index where prompt_index match :phrase
                union
                select prompt from prompt_texts where is_indexed = 0 and instr(content, :text) > 0
            """
            rows = self.all(sql, phrase='"' + folded.replace('"', '""') + '"', text=folded)
        return [number for (number,) in rows]

    def _scan_texts(self, folded: str, project: int) -> list[int]:
        """The numbers of a project's prompts with a text in title or content.

        For callers who may not enter all projects: the index has the texts of all, so that the time it takes would tell
        them what is in the others.
        """
        sql = f"""
            select prompt from prompt_texts where prompt in (select number from prompts where project = :project)
            and ({_contains(folded)})
        """
        return [number for (number,) in self.all(sql, project=project, text=folded, pattern=_to_glob(folded))]

    def _find_tagged(self, project: int, tags: Sequence[str], *, needs_all: bool) -> set[int]:
        """The numbers of a project's prompts with one of some tags, or with all."""
        sql = "select prompt from prompt_tags where project = :project and tag = :tag"
        sets = [{number for (number,) in self.all(sql, project=project, tag=tag)} for tag in tags]
        return set.intersection(*sets) if needs_all else set.union(*sets)

    def _has_other_projects(self, project: int) -> bool:
        sql = """
            select exists (select 1 from prompts where project < :project)
                or exists (select 1 from prompts where project > :project)
        """
        return self.one(sql, project=project) == (1,)

    def _walk(self, project: int, wanted: set[int], limit: int, offset: int, after: PromptPosition) -> list[int]:
        """Read a project's prompts after a position, last updated first, until the page is full."""
        sql = f"select number from prompts where project = :project and {_AFTER}"
        moment, last = after
        with _translate_errors():
            rows = self._connection.execute(sql, {"project": project, "moment": moment, "last": last})
            found = (number for (number,) in rows if number in wanted)
            return list(islice(found, offset, offset + limit)) if offset < len(wanted) else []


class SqliteDatabase(Database):
    """A store in one file."""

    def __init__(self, path: str) -> None:
        self._path = os.path.realpath(path)  # so that every name of a file means the same lock
        # The name of the lock file stays: processes of older versions must wait for the same one.
        self._write_lock = WriteLock(f"{self._path}-gate")
        self._idle_readers: list[apsw.Connection] = []
        self._is_writer_lost = False  # its transaction could not be ended
        self._watchers: list[changes.Watcher] = []
        try:
            _make_private_file(self._path)
            check_owner(self._path)
            _check_header(self._path)
            self.why_read_only = sqlite_read_only.find_obstacle(self._path)
            self._is_at_rest = bool(self.why_read_only) and sqlite_read_only.is_at_rest(self._path)
            self._file = self._identify()
            self._next_check = 0.0
            self._writer = self._connect()
            self._prepare()
            # Every call reads this table: if it is damaged, fail now.
            self._writer.execute("select name from projects order by name limit 1").fetchall()
            mend_modes(self._path)  # only now: a file that is not ours stays as it is
            self._check_file()  # a restore may have replaced it since the first look
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
        """A connection with a read transaction."""
        try:
            connection = self._idle_readers.pop()
        except IndexError:
            connection = None
        with _translate_errors():
            if connection is None:
                connection = self._connect()
                connection.execute("pragma query_only = on")
            connection.execute("begin")
        return connection

    @contextmanager
    def write(self, scope: Scope | None = None, deadline: float | None = None) -> Iterator[Tx]:
        if self.why_read_only:
            raise StoreFailed(f"{self.why_read_only}, so that nothing can be changed")
        with self._write_lock.hold():
            self._check_file()
            with _translate_errors():
                if self._is_writer_lost:
                    self._writer = self._connect()
                    self._is_writer_lost = False
                # Immediate, because SQLite refuses at once, without waiting, a transaction that first reads and then
                # writes while another one writes.
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
        from satchel.storage.sqlite_watch import SqliteWatcher  # a cold start watches nothing

        self._check_file()
        with _translate_errors():
            self._watchers.append(SqliteWatcher(self._connect(), self._check_file, listen))

    def prune(self, cutoffs: Cutoffs, after: int) -> tuple[int, int] | None:
        from satchel.storage import pruning  # a cold start prunes nothing

        with self.write() as tx:
            return pruning.prune(tx, cutoffs, after)

    def forget_values(self, libraries: Sequence[str] | None, before: str) -> int:
        from satchel.storage import argument_history  # a cold start removes nothing

        with self.read() as tx:
            orphans = argument_history.find_orphans(tx, libraries, before)
        gone = 0
        for prompt in orphans:
            with self.write() as tx:
                gone += argument_history.delete(tx, prompt)
        return gone

    def measure_tables(self, tables: Sequence[str]) -> tuple[int, int | None]:
        with self.read() as tx:
            names = "select name from sqlite_schema where tbl_name in :tables"
            sql = f"select coalesce(sum(pgsize), 0) from dbstat where name in ({names})"
            [[size]] = tx.all(sql, tables=tables)
            [[pages, page_size]] = tx.all("select page_count, page_size from pragma_page_count, pragma_page_size")
        return size, pages * page_size

    def scrub(self) -> str:
        # Texts that were replaced or deleted stay in free space of the file, and in the log, until both are rewritten.
        with self._write_lock.hold(), _translate_errors():
            # The index keeps words that are deleted until it merges what it wrote after them.
            self._writer.execute("insert into search_index (search_index) values ('optimize')")
            self._writer.execute("vacuum")
            [[is_blocked, *_]] = self._writer.execute("pragma wal_checkpoint(truncate)").fetchall()
        return "Old pages go when the other processes that read this store have ended." if is_blocked else ""

    @property
    def schema(self) -> int:
        with self.read() as tx:
            [[version]] = tx.all("pragma user_version")
        return int(version)

    def close(self) -> None:
        while self._watchers:
            self._watchers.pop().stop()
        # The last connection to close moves the log into the file, which is a write and needs the lock. Where other
        # processes hold it, this is left to them.
        with suppress(StoreFailed, apsw.Error), self._hold_to_close():
            for connection in [*self._idle_readers, self._writer]:
                connection.close()

    def _hold_to_close(self) -> AbstractContextManager[None]:
        return nullcontext() if self.why_read_only else self._write_lock.hold(timeout=0.2)

    def _identify(self) -> tuple[int, ...] | None:
        return sqlite_read_only.describe(self._path) if self._is_at_rest else _identity(self._path)

    def _check_file(self) -> None:
        # Open connections keep using the old file, and what they write is lost with it.
        if self._identify() != self._file:
            self._next_check = 0.0
            raise StoreGone(f"the store {self._path} was removed or replaced while it was open; start Satchel again")
        self._next_check = time.monotonic() + _CHECK_INTERVAL

    def _connect(self) -> apsw.Connection:
        if self._is_at_rest:
            connection = sqlite_read_only.connect(self._path)
        else:
            connection = apsw.Connection(self._path, flags=apsw.SQLITE_OPEN_READWRITE)
        connection.set_busy_timeout(5000)  # for programs without our write lock, such as the sqlite3 shell
        connection.execute("pragma foreign_keys = on; pragma synchronous = full")
        return connection

    def _prepare(self) -> None:
        version = self._version()
        if version == len(MIGRATIONS) and (self.why_read_only or self._pragma("journal_mode") == "wal"):
            return
        if self.why_read_only:
            raise StoreUnusable(
                f"the store {self._path} has schema {version}, which must be brought to {len(MIGRATIONS)}, but "
                f"{self.why_read_only}. Start once as a user who may write it."
            )
        with self._write_lock.hold():
            self._writer.execute("pragma journal_mode = wal")
            while (version := self._version()) < len(MIGRATIONS):
                # A failure anywhere leaves the transaction to be undone by closing.
                self._writer.execute(f"begin immediate; {for_sqlite(MIGRATIONS[version])}")
                fill_all(SqliteTx(self._writer), MIGRATIONS[version])
                self._writer.execute(
                    f"pragma application_id = {APPLICATION_ID}; pragma user_version = {version + 1}; commit"
                )

    def _version(self) -> int:
        version = self._pragma("user_version")
        tables = self._writer.execute("select count(*) from sqlite_schema").fetchall()[0][0]
        is_ours = self._pragma("application_id") == APPLICATION_ID
        if not is_ours and (version or tables):
            raise StoreUnusable(
                f"{self._path} is a database of another program. It was left as it is; "
                "name another file with --database or SATCHEL_DATABASE."
            )
        if not 0 <= version <= len(MIGRATIONS):
            raise StoreUnusable(
                f"the store {self._path} has schema {version}, and this Satchel knows schemas up to {len(MIGRATIONS)}. "
                "It was written by a newer Satchel: upgrade this one."
            )
        return int(version)

    def _pragma(self, name: str) -> Any:
        return self._writer.execute(f"pragma {name}").fetchall()[0][0]


def _roll_back(connection: apsw.Connection) -> bool:
    """End a transaction that is not committed; where that fails the connection is closed, which ends it too."""
    try:
        if connection.in_transaction:
            connection.execute("rollback")
    except apsw.Error:
        with suppress(apsw.Error):
            connection.close(True)
        return False
    return True


def _contains(text: str) -> str:
    """The condition for rows of prompt_texts with a text.

    `glob` takes half the time of `instr` on a short text, and the product of both lengths on a long one: on 4 MiB of
    the same letter that was 5 s, in which SQLite cannot be interrupted.
    """
    if len(text) <= _SHORT:
        return "title glob :pattern or content glob :pattern"
    return "instr(title, :text) > 0 or instr(content, :text) > 0"


@lru_cache(maxsize=16)
def _repeat_values(sql: str, count: int) -> str:
    """An `insert … values (…)` for several rows, whose parameters have the place of the row behind their names."""
    before, row, after = re.split(r"(?<=values )(\([^()]*\))", sql, maxsplit=1)  # one that has no others inside
    rows = (re.sub(r":(\w+)", rf":\1_{place}", row) for place in range(count))
    return f"{before}{', '.join(rows)}{after}"


def _to_glob(text: str) -> str:
    """A pattern for a literal text."""
    literal = "".join(f"[{character}]" if character in "*?[" else character for character in text)
    return f"*{literal}*"


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except apsw.SQLError as error:  # a table or a column is missing
        raise StoreFailed(f"{error}. {ALTERED}") from error
    except UnicodeDecodeError as error:  # of a row that was read
        raise StoreFailed(f"a text in the store is damaged: {error}. Restore a backup of it") from error
    except apsw.Error as error:
        raise StoreFailed(str(error)) from error


def check_file(path: str) -> None:
    """Check that there is a store, of whatever kind.

    Raises:
        StoreUnusable: there is not.
    """
    if not os.path.exists(path):
        raise StoreUnusable(
            f"there is no store {os.path.realpath(path)}. Name the right one with --database or SATCHEL_DATABASE. A "
            "new one is made by the first command that adds something, by `satchel serve` and by `satchel database "
            "migrate`."
        )


def _make_private_file(path: str) -> None:
    # Created with mode 0600, never widened later; SQLite gives its log files the same mode.
    if os.path.exists(path) and not os.path.isfile(path):
        raise StoreUnusable(f"{path} is no file. Name one with --database or SATCHEL_DATABASE.")
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _check_header(path: str) -> None:
    # SQLite takes a file of a few bytes for an empty database and overwrites it: data of another program.
    with open(path, "rb") as file:
        start = file.read(512)
    if start and (len(start) < 512 or not start.startswith(b"SQLite format 3\0")):
        raise apsw.NotADBError("file is not a database")
    # The header tells the size where its two counters agree; with a log, the end of the file may still be in there.
    if start[24:28] == start[92:96] and not any(os.path.exists(f"{path}{log}") for log in ("-wal", "-journal")):
        size = int.from_bytes(start[16:18], "big")
        expected = int.from_bytes(start[28:32], "big") * (65536 if size == 1 else size)
        if (found := os.path.getsize(path)) < expected:
            raise apsw.CorruptError(f"it has {found} bytes, and should have {expected}")


def _constraint(error: apsw.ConstraintError) -> str:
    # "UNIQUE constraint failed: prompts.project, prompts.title" is what PostgreSQL calls prompts_title.
    return str(error).rpartition(" ")[2].replace(".", "_")
