"""The serving process, or several on one socket: uvicorn with our bounds, our log, and exit status 0 at a signal."""

import ctypes
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from functools import partial
from multiprocessing import connection, parent_process
from typing import Any

import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from satchel.errors import SatchelError
from satchel.log import log, log_surprise
from satchel.transports.http import metrics
from satchel.transports.http.bounds import BoundedProtocol
from satchel.transports.http.connections import PROBE_CONNECTIONS, Connections, Limits
from satchel.transports.http.guard import Guard
from satchel.transports.http.timeouts import Timeouts

_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8  # of malloc.h
_LARGE_BLOCK = 1024 * 1024  # bytes
_OTHER_FILES = 400  # of the store and the libraries


def run(
    make_app: Callable[[], Guard],
    listening: socket.socket,
    *,
    workers: int,
    limits: Limits,
    tls: tuple[str, str] | None,
    timeouts: Timeouts,
    greet: Callable[[], None],
) -> int:
    """Serve until a signal comes; the exit status. With several workers, `make_app` is pickled for each of them."""
    protocol: Any = partial(BoundedProtocol, register=Connections(limits), timeouts=timeouts)
    certificate, key = tls or (None, None)
    config = uvicorn.Config(
        partial(_load, make_app, greet if workers == 1 else None),
        factory=True,
        http=protocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        workers=workers,
        timeout_keep_alive=timeouts.keep_alive,
        timeout_graceful_shutdown=timeouts.shutdown,
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )
    _forward_logs()
    _allow_open_files(limits.connections + PROBE_CONNECTIONS + _OTHER_FILES)
    if workers == 1:
        try:
            uvicorn.Server(config).run(sockets=[listening])
        except SystemExit:
            return 1  # the application could not be made; _load has logged why
        except KeyboardInterrupt:
            os._exit(0)  # a second Ctrl-C: uvicorn skips the end of the lifespan, and worker threads may be waiting
        return 0
    with metrics.shared_folder():
        supervisor = _Supervisor(config, sockets=[listening])
        greet()
        supervisor.run()
    return 1 if any(process.exitcode == STARTUP_FAILURE for process in supervisor.processes) else 0


class _Supervisor(Multiprocess):
    """uvicorn's supervisor, which refuses connections while the workers shut down."""

    def terminate_all(self) -> None:
        for listening in self.sockets:
            listening.close()
        super().terminate_all()


def _load(make_app: Callable[[], Guard], greet: Callable[[], None] | None) -> Guard:
    """Make the application in the process that serves it."""
    _forward_logs()
    _return_freed_memory()
    if parent_process() is not None:
        threading.Thread(target=_end_with_parent, name="satchel-parent", daemon=True).start()
    try:
        app = make_app()
    except SatchelError as error:
        log(str(error))
        sys.exit(STARTUP_FAILURE)

    app.on_start = greet or app.on_start
    # A worker thread that still waits for the database must not hold the process up, and uvicorn would let the signal
    # end it instead of status 0.
    app.on_end = partial(os._exit, 0)
    return app


def _allow_open_files(count: int) -> None:
    """Raise the limit of this process and its workers, often 1,024, as far as it may: a connection is a file, too."""
    try:
        import resource  # Windows has none, and no such limit
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = count if hard == resource.RLIM_INFINITY else min(count, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _return_freed_memory() -> None:
    """Have large blocks given back to the system when they are freed.

    The C library of Linux would keep blocks of up to 32 MiB in each of several arenas, once one of that size was freed.
    """
    if sys.platform.startswith("linux"):
        set_option = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none, and keeps nothing
        if set_option is not None:
            set_option(_M_MMAP_THRESHOLD, _LARGE_BLOCK)
            set_option(_M_ARENA_MAX, 2)


def _end_with_parent() -> None:
    """End a worker whose supervisor was killed, or it would serve for ever."""
    parent = parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    os.kill(os.getpid(), signal.SIGTERM)


def _forward_logs() -> None:
    """Send what an operator needs of uvicorn's log to ours."""
    logger = logging.getLogger("uvicorn.error")
    logger.handlers = [_Forwarder()]
    logger.propagate = False
    logger.setLevel(logging.INFO)


class _Forwarder(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info:
            log_surprise("the application", record.exc_info[1])
        elif record.levelno >= logging.ERROR or "died" in record.getMessage():
            log(record.getMessage())
