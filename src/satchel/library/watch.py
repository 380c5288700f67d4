"""Notices that the disk has changed. An event only means "look again"; and every half minute we look anyway."""

import os
import threading
import time
from collections.abc import Callable

from satchel.library.catalog import Libraries
from satchel.log import log
from satchel.model import StoreChange

_STEP, _DEBOUNCE = 60, 400  # milliseconds of quiet that end a burst, and the most that a burst may take
_LOOK = 500  # how often we look whether the folders are still the same ones
_NET = 30.0  # seconds between looks at everything, for what no event tells


def start(libraries: Libraries, hear: Callable[[list[StoreChange]], None]) -> threading.Event:
    """Watch in a thread of its own, and tell what is another than before. The event ends it."""
    stop = threading.Event()
    threading.Thread(target=_run, args=(libraries, hear, stop), name="satchel-watch", daemon=True).start()
    return stop


def _run(libraries: Libraries, hear: Callable[[list[StoreChange]], None], stop: threading.Event) -> None:
    complaint = ""
    while not stop.is_set():
        try:
            _watch(libraries, hear, stop)
        except Exception as error:
            # A folder vanished between looking and watching, or the system has no more watches to give. Until that has
            # passed, looking again and again must do.
            if str(error) != complaint and not isinstance(error, FileNotFoundError):
                complaint = str(error)
                log(f"watching: {type(error).__name__}: {error}")
            stop.wait(_LOOK / 1000)
            _look(libraries, hear)


def _look(libraries: Libraries, hear: Callable[[list[StoreChange]], None]) -> None:
    changes = libraries.rescan()
    if changes:
        hear(changes)


def _watch(libraries: Libraries, hear: Callable[[list[StoreChange]], None], stop: threading.Event) -> None:
    """Watch the folders there are now, until others are there."""
    from watchfiles import watch  # it takes 60 ms, and nobody waits for this thread

    folders = libraries.catalog.folders
    identities = _identities(libraries.roots, folders)
    if not folders:
        stop.wait(_LOOK / 1000)
        _look(libraries, hear)
        return
    looked = 0.0  # never, as far as what happened before the watch was armed is concerned
    # Each folder alone: a link inside a library must not make us watch the whole disk.
    for events in watch(
        *folders,
        watch_filter=None,
        recursive=False,
        step=_STEP,
        debounce=_DEBOUNCE,
        rust_timeout=_LOOK,
        yield_on_timeout=True,
        stop_event=stop,
        raise_interrupt=False,
    ):
        is_time = time.monotonic() - looked > _NET
        if events or is_time or _identities(libraries.roots, folders) != identities:
            looked = time.monotonic()
            _look(libraries, hear)
        now = libraries.catalog.folders
        if now != folders or _identities(libraries.roots, now) != identities:
            return


def _identities(roots: tuple[str, ...], folders: tuple[str, ...]) -> list[tuple[int, int] | None]:
    """Which folders these are: one that was removed and made again is another."""
    found: list[tuple[int, int] | None] = []
    for folder in (*roots, *folders):
        try:
            status = os.stat(folder)
            found.append((status.st_dev, status.st_ino))
        except OSError:
            found.append(None)
    return found
