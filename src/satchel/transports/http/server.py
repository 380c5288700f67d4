"""The serving process, or several on one socket: uvicorn with our limits, our log, and exit status 0 after a signal."""

import asyncio
import ctypes
import logging
import os
import resource
import signal
import socket
import sys
import threading
import time
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
from satchel.transports.http.app import Guard
from satchel.transports.http.bounds import BoundedProtocol
from satchel.transports.http.limits import Timeouts

_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8  # constants from malloc.h
_LARGE_BLOCK = 1024 * 1024  # bytes
_OTHER_FILES = 400  # files of the store and the libraries
# Seconds after which a computing thread yields to the event loop. With Python's 5 ms, each call waits several times.
_SWITCH_INTERVAL = 0.0005
_RESTART_PAUSE = 3.0  # seconds before the replacement of a worker that cannot use the store
_OUT_OF_FILES_PAUSE = 60.0  # seconds between two log lines about this


def run(
    make_app: Callable[[], Guard],
    listening: socket.socket,
    *,
    workers: int,
    connections: int,
    timeouts: Timeouts,
    tls: tuple[str, str] | None,
    forwarded_allow_ips: str | None,
    greet: Callable[[], None],
) -> int:
    """Serve until a signal comes; return the exit status. `make_app` is pickled if there are several workers."""
    protocol: Any = partial(BoundedProtocol, connections=connections, timeouts=timeouts, waiting={})
    certificate, key = tls or (None, None)
    config = uvicorn.Config(
        partial(_load, make_app),
        factory=True,
        http=protocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=forwarded_allow_ips is not None,
        forwarded_allow_ips=forwarded_allow_ips,
        server_header=False,
        workers=workers,
        timeout_keep_alive=timeouts.keep_alive,
        timeout_graceful_shutdown=timeouts.shutdown,
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )
    _forward_logs()
    _raise_file_limit(connections + _OTHER_FILES)
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # inherited by connections; closes those whose client reads nothing
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(timeouts.write * 1000))
    if workers > 1:
        with metrics.shared_folder():
            supervisor = _Supervisor(config, sockets=[listening])
            greet()
            supervisor.run()
        return 0
    for number in (signal.SIGTERM, signal.SIGINT):
        # uvicorn raises the signal again at its end. Threads that wait for the database must not delay the exit.
        signal.signal(number, lambda *_: os._exit(0))
    try:
        _Server(config, greet).run(sockets=[listening])
    except SystemExit:
        return 1  # the application could not be made; _load has logged the reason
    return 0


class _Server(uvicorn.Server):
    """uvicorn's server, which prints a greeting when it is ready."""

    def __init__(self, config: uvicorn.Config, greet: Callable[[], None]) -> None:
        super().__init__(config)
        self._greet = greet

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._greet()


class _Supervisor(Multiprocess):
    """uvicorn's supervisor, which refuses connections while the workers shut down."""

    def terminate_all(self) -> None:
        for listening in self.sockets:
            listening.close()
        super().terminate_all()


def _load(make_app: Callable[[], Guard]) -> Guard:
    """Create the application inside the worker process."""
    _forward_logs()
    _return_freed_memory()
    sys.setswitchinterval(_SWITCH_INTERVAL)
    if parent_process() is not None:
        threading.Thread(target=_end_with_parent, name="satchel-parent", daemon=True).start()
    _log_loop_errors()
    try:
        return make_app()
    except SatchelError as error:
        log(str(error))
        if parent_process() is None:
            sys.exit(STARTUP_FAILURE)
        time.sleep(_RESTART_PAUSE)
        os._exit(1)  # unlike STARTUP_FAILURE, this makes uvicorn try again while the other workers continue


def _log_loop_errors() -> None:
    """Log once a minute that the limit of open files is reached; uvloop silently closes such connections."""
    logged_at = -_OUT_OF_FILES_PAUSE

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        nonlocal logged_at
        if "_start_serving" in context["message"]:
            return  # asyncio retries accept a second later, even after the server was closed
        if "socket.accept()" not in context["message"]:
            loop.default_exception_handler(context)
        elif time.monotonic() >= logged_at + _OUT_OF_FILES_PAUSE:
            logged_at = time.monotonic()
            log(f"cannot accept connections: {context['exception']}. Raise the limit of open files (ulimit -n)")

    asyncio.get_running_loop().set_exception_handler(handle)


def _raise_file_limit(count: int) -> None:
    """Raise the limit of open files, often 1,024, for this process and its workers: each connection is a file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = count if hard == resource.RLIM_INFINITY else min(count, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _return_freed_memory() -> None:
    """Return large freed blocks to the system.

    Otherwise, glibc keeps freed blocks of up to 32 MiB in each of several arenas, once one of that size was freed.
    """
    if sys.platform.startswith("linux"):
        set_option = getattr(ctypes.CDLL(None), "mallopt", None)  # musl lacks it, and does not need it
        if set_option is not None:
            set_option(_M_MMAP_THRESHOLD, _LARGE_BLOCK)
            set_option(_M_ARENA_MAX, 2)


def _end_with_parent() -> None:
    """End a worker whose supervisor was killed; otherwise, it would serve forever."""
    parent = parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    os.kill(os.getpid(), signal.SIGTERM)


def _forward_logs() -> None:
    """Forward the lines of uvicorn's log that an operator needs to our log."""
    logger = logging.getLogger("uvicorn.error")
    logger.handlers = [_Forwarder()]
    logger.propagate = False
    logger.setLevel(logging.INFO)


class _Forwarder(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError):
            log("a request was abandoned because the server shuts down")
        elif record.exc_info:
            log_surprise("the application", record.exc_info[1])
        elif record.levelno >= logging.ERROR or "died" in record.getMessage():
            log(record.getMessage())
