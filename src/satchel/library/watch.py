"""Watches library folders. Every burst of events causes a full scan; without events there is one every 30 seconds."""

import os
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from satchel.log import log
from satchel.model import StoreChange

if TYPE_CHECKING:
    from satchel.library.catalog import Libraries  # takes 8 ms, in the thread that watches

_STEP, _GATHER = 150, 300  # milliseconds: between looks at new events, and the most that gathers events of other files
_FOLDER_CHECK = 500  # milliseconds without events that end a burst, and between checks that the folders are the same
_LONGEST_BURST = 1.0  # seconds; a longer one is scanned in between, because clients wait at most 2 s
SCAN_INTERVAL = 30.0  # seconds between scans, for changes without an event (network file systems)

OnChange = Callable[[list[StoreChange]], None]


def start(
    find_libraries: "Callable[[], Libraries]", on_change: OnChange, scan_interval: float = SCAN_INTERVAL
) -> threading.Event:
    """Start a thread that watches libraries and calls `on_change`; setting the returned event stops it."""
    stop = threading.Event()
    arguments = (find_libraries, on_change, scan_interval, stop)
    threading.Thread(target=_run, args=arguments, name="satchel-watch", daemon=True).start()
    return stop


def sees_changes(folder: str) -> bool:
    """Return whether the system reports a new file in a folder within ten seconds."""
    from watchfiles import watch

    deadline = time.monotonic() + 10
    for events in watch(
        folder, watch_filter=None, recursive=False, step=20, debounce=100, rust_timeout=100, yield_on_timeout=True
    ):
        if events or time.monotonic() > deadline:
            return bool(events)
        with open(os.path.join(folder, "touched"), "a") as file:  # only now, because the first pass arms the watch
            file.write(".")
    return False


def _run(
    find_libraries: "Callable[[], Libraries]", on_change: OnChange, scan_interval: float, stop: threading.Event
) -> None:
    libraries, last_error = find_libraries(), ""
    while not stop.is_set():
        try:
            _watch(libraries, on_change, scan_interval, stop)
        except Exception as error:
            # A folder was deleted before the watch was armed, or the system has no inotify watches left. Scan at
            # intervals until watching works again.
            if str(error) != last_error and not isinstance(error, FileNotFoundError):
                last_error = str(error)
                log(f"watching libraries: {type(error).__name__}: {error}")
            stop.wait(_FOLDER_CHECK / 1000)
            _scan(libraries, on_change)


def _scan(libraries: "Libraries", on_change: OnChange) -> None:
    changes = libraries.rescan()
    if changes:
        on_change(changes)


def _watch(libraries: "Libraries", on_change: OnChange, scan_interval: float, stop: threading.Event) -> None:
    """Watch the current folders until they change."""
    folders = libraries.catalog.folders
    identities = _identities(libraries.roots, folders)
    if not folders:
        stop.wait(_FOLDER_CHECK / 1000)
        _scan(libraries, on_change)
        return
    from watchfiles import watch  # 18 ms, and most servers have no libraries

    scanned_at = 0.0  # so that the first pass scans: files may have changed before the watch was armed
    began_at: float | None = None  # the burst that is not scanned yet
    # Not recursive: a link inside a library must not make us watch the whole disk.
    for events in watch(
        *folders,
        watch_filter=None,
        recursive=False,
        step=_STEP,
        debounce=_GATHER,
        rust_timeout=_FOLDER_CHECK,
        yield_on_timeout=True,
        stop_event=stop,
        raise_interrupt=False,
    ):
        now = time.monotonic()
        is_due = now - scanned_at > scan_interval
        if began_at is None and (events or is_due or _identities(libraries.roots, folders) != identities):
            began_at = now
        # watchfiles ends a burst when it sees no other file, so repeated writes of one file come as many bursts.
        if began_at is None or (events and now - began_at < _LONGEST_BURST):
            continue
        scanned_at, began_at = now, None
        _scan(libraries, on_change)
        current = libraries.catalog.folders
        if current != folders or _identities(libraries.roots, current) != identities:
            return


def _identities(roots: tuple[str, ...], folders: tuple[str, ...]) -> list[tuple[int, int] | None]:
    """Return device and inode of each folder; they change when a folder is deleted and created again."""
    found: list[tuple[int, int] | None] = []
    for folder in (*roots, *folders):
        try:
            status = os.stat(folder)
            found.append((status.st_dev, status.st_ino))
        except OSError:
            found.append(None)
    return found
