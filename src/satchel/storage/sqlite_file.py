"""The files of a SQLite store: existence, owner, modes and integrity; write access of this process; the write lock."""

import fcntl
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import apsw

from satchel.errors import StoreFailed, StoreMissing, StoreUnusable
from satchel.files import create_file
from satchel.log import log

APPLICATION_ID = 0x53415443  # "SATC", so that another program's database is never mistaken for a store

_LOGS = ("-wal", "-journal")
_BESIDE = ("-wal", "-shm", "-gate")  # the files of SQLite and of our write lock beside a store


def check_file(path: str) -> None:
    """Check that a file of any kind exists.

    Raises:
        StoreUnusable: there is no such file.
    """
    if not os.path.exists(path):
        raise StoreMissing(
            f"there is no store {os.path.realpath(path)}. Name the right one with --database or SATCHEL_DATABASE. A "
            "new one is made by the first command that adds something, by `satchel serve` and by `satchel database "
            "migrate`.",
            os.path.realpath(path),
        )


def check_kind(path: str) -> None:
    """Check that a path is a regular file or does not exist.

    Raises:
        StoreUnusable: the path is a folder, a device, …
    """
    if os.path.exists(path) and not os.path.isfile(path):
        raise StoreUnusable(f"{path} is not a file. Name one with --database or SATCHEL_DATABASE.")


def make_private(path: str) -> None:
    """Create the file with mode 0600 unless it exists; SQLite gives its log files the same mode.

    Raises:
        StoreUnusable: the path is not a regular file.
    """
    check_kind(path)
    if not os.path.exists(path):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with suppress(FileExistsError):
            create_file(path, b"")


def check_owner(path: str) -> None:
    """Check that a store and its files belong to this user, and that no other user can replace them.

    Raises:
        StoreUnusable: the store or its folder belongs to another user.
    """
    us = os.geteuid()
    for file, found in _stat_files(path):
        if found.st_uid != us:
            raise StoreUnusable(
                f"{file} belongs to another user (uid {found.st_uid}; this is uid {us}), who could change it, or be "
                "locked out of it. Run satchel as that user, make the file yours with chown, or name another store "
                "with --database or SATCHEL_DATABASE."
            )
    folder = os.path.dirname(path)
    owner = os.stat(folder).st_uid
    # A folder of root is accepted. For root, any folder is accepted: in a container, it belongs to the host.
    if owner not in (us, 0) and us != 0:
        raise StoreUnusable(
            f"the folder {folder} belongs to another user (uid {owner}), who could replace the store. Name a store "
            "in a folder of yours with --database or SATCHEL_DATABASE."
        )


def tighten_modes(path: str) -> None:
    """Remove group and world access to the store's files, and write access to its folder; log each change.

    Raises:
        StoreUnusable: a mode cannot be changed.
    """
    for file, found in _stat_files(path):
        if found.st_mode & 0o077 and stat.S_ISREG(found.st_mode):
            _tighten(file, stat.S_IMODE(found.st_mode), 0o600)
    folder = os.path.dirname(path)
    found = os.stat(folder)
    mode = stat.S_IMODE(found.st_mode)
    if not mode & 0o022 or mode & stat.S_ISVTX:  # in a sticky folder, others cannot replace our files
        return
    if found.st_uid == os.geteuid():
        _tighten(folder, mode, mode & ~0o022)
    elif mode & 0o002:
        log(f"everyone may replace files in the folder of the store, {folder}: use one that only you can write to")


def _stat_files(path: str) -> list[tuple[str, os.stat_result]]:
    """Return the files of a store that exist."""
    found = []
    for file in (path, *(f"{path}{end}" for end in _BESIDE)):
        with suppress(FileNotFoundError):
            found.append((file, os.lstat(file)))
    return found


def _tighten(path: str, mode: int, private: int) -> None:
    try:
        os.chmod(path, private)
    except OSError as error:
        raise StoreUnusable(
            f"others may use {path} (mode {mode:04o}), and its mode cannot be changed: {error.strerror}. "
            f"Change it with: chmod {private:04o}, or name another store."
        ) from error
    log(f"others could use {path} (mode {mode:04o}); its mode is {private:04o} now")


def check_header(path: str) -> None:
    """Check that a file is a whole database, or empty.

    Raises:
        apsw.NotADBError, apsw.CorruptError: it is neither.
    """
    # SQLite treats a file of a few bytes as an empty database, and would overwrite another program's data.
    with open(path, "rb") as file:
        start = file.read(512)
    if start and (len(start) < 512 or not start.startswith(b"SQLite format 3\0")):
        raise apsw.NotADBError("file is not a database")
    # SQLite reads missing pages as zeros, so compare the size with the header, if its two counters agree.
    # If there is a log, the end of the file may still be in it.
    if start[24:28] == start[92:96] and not any(os.path.exists(path + log) for log in _LOGS):
        size = int.from_bytes(start[16:18], "big")
        expected = int.from_bytes(start[28:32], "big") * (65536 if size == 1 else size)
        if (found := os.path.getsize(path)) < expected:
            raise apsw.CorruptError(f"it has {found} bytes, and should have {expected}")


def explain_read_only(path: str) -> str:
    """Explain in a sentence why this process cannot write a store; empty if it can."""
    folder = os.path.dirname(path)
    if not os.access(path, os.W_OK):
        return f"the file {path} is read-only for this user"
    if not _is_writable(folder):
        return f"the folder {folder} is read-only for this user"
    return ""


def is_at_rest(path: str) -> bool:
    """Return whether a store must be opened as an immutable file.

    SQLite keeps its log and locks beside the file. If this process cannot create them and no other one did, the file
    alone is the whole store.
    """
    return not _is_writable(os.path.dirname(path)) and not os.path.exists(f"{path}-wal")


def connect_at_rest(path: str) -> apsw.Connection:
    """Connect to an immutable store, without locks."""
    from urllib.parse import quote  # takes 5 ms, and few stores are at rest

    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    return apsw.Connection(f"file:{quote(path)}?immutable=1", flags=flags)


def identify(path: str, *, at_rest: bool) -> tuple[int, ...] | None:
    """Return an identity that changes if the file is replaced or an immutable store is written; None without a file."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    if not at_rest:
        return found.st_dev, found.st_ino
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, int(os.path.exists(f"{path}-wal"))


def _is_writable(folder: str) -> bool:
    return os.access(folder, os.W_OK | os.X_OK)


class WriteLock:
    """The write lock: a kernel file lock that one thread among all processes of this machine holds at a time.

    SQLite's busy handler starves writers: of eight, one made 1 commit while another made 5,436. The kernel's queue is
    fair.
    """

    def __init__(self, store: str) -> None:
        self._path = f"{store}-gate"
        self._threads = threading.Lock()

    @contextmanager
    def hold(self, timeout: float = 30.0) -> Iterator[None]:
        """Wait for the lock, and hold it for the block.

        Raises:
            StoreFailed: the holder did not release it in time; it may have been stopped.
        """
        if not self._threads.acquire(timeout=timeout):
            raise StoreFailed("another thread holds the write lock of the store")
        try:
            file = self._lock_file(timeout)
            try:
                yield
            finally:
                os.close(file)  # releases the lock
        finally:
            self._threads.release()

    def _lock_file(self, timeout: float) -> int:
        try:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreFailed(f"cannot open {self._path}: {error.strerror}") from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._wait(file, timeout)
        return file

    def _wait(self, file: int, timeout: float) -> None:
        # The kernel queues only blocking calls fairly, and these have no timeout, so a thread makes the call.
        is_locked = threading.Event()
        handover = threading.Lock()
        has_given_up = False

        def queue() -> None:
            fcntl.flock(file, fcntl.LOCK_EX)
            with handover:
                if has_given_up:
                    os.close(file)
                else:
                    is_locked.set()

        threading.Thread(target=queue, name="satchel-write-lock", daemon=True).start()
        if is_locked.wait(timeout):
            return
        with handover:
            if not is_locked.is_set():
                has_given_up = True
                raise StoreFailed(f"another process has held the write lock of the store for {timeout:.0f} s")
