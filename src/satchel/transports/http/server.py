"""The serving process, or several on one socket: uvicorn with our bounds, our log, and exit status 0 at a signal."""

import ctypes
import logging
import os
import select
import signal
import socket
import sys
import threading
import time
from asyncio import CancelledError
from collections.abc import Callable
from functools import partial
from multiprocessing import connection, parent_process
from typing import Any

import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess
from uvicorn.supervisors.multiprocess import Process

from satchel.errors import SatchelError
from satchel.log import log, log_surprise
from satchel.transports.http import metrics
from satchel.transports.http.arrivals import Arrivals
from satchel.transports.http.bounds import BoundedProtocol
from satchel.transports.http.connections import PROBE_CONNECTIONS, Connections, Limits
from satchel.transports.http.guard import Guard
from satchel.transports.http.timeouts import Timeouts
from satchel.transports.http.turns import Turns

_PAUSES = (1.0, 2.0, 3.0)  # seconds before a worker that could not start is tried again; the last one from then on
_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8  # of malloc.h
_LARGE_BLOCK = 1024 * 1024  # bytes
_OTHER_FILES = 400  # of the store and the libraries
# Seconds that the event loop waits for a thread that computes; Python's 5 ms would be paid several times a call.
_SWITCH_INTERVAL = 0.0005


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
    protocol: Any = partial(BoundedProtocol, register=Connections(limits), turns=Turns(), timeouts=timeouts)
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
            _Server(config).run(sockets=[listening])
        except SystemExit:
            return 1  # the application could not be made; _load has logged why
        except KeyboardInterrupt:
            os._exit(0)  # a second Ctrl-C: uvicorn skips the end of the lifespan, and worker threads may be waiting
        return 0
    with metrics.shared_folder():
        supervisor = _Supervisor(config, sockets=[listening])
        greet()
        supervisor.run()
    return 1 if supervisor.has_failed else 0


class _Server(uvicorn.Server):
    """uvicorn's server, with our way to accept connections where there is one."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        if not hasattr(select, "epoll"):
            await super().startup(sockets)
            return
        await super().startup([])
        protocol: Any = self.config.http_protocol_class
        make_protocol = partial(
            protocol, config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        arrivals: list[Any] = [
            Arrivals(one, make_protocol, tls=self.config.ssl, **protocol.keywords) for one in sockets or ()
        ]
        self.servers = arrivals


class _Worker(Process):
    """One of several processes."""

    @property
    def server(self) -> uvicorn.Server:
        if self._server is None:
            self._server = _Server(self.config)
        return self._server


class _Supervisor(Multiprocess):
    """uvicorn's supervisor, which refuses connections while the workers shut down.

    Once a worker has served, one that cannot start (the database is away, or a newer Satchel has migrated it) is tried
    again after a pause, and the others go on. Where none could ever start, the server ends.
    """

    def __init__(self, config: uvicorn.Config, sockets: list[socket.socket]) -> None:
        super().__init__(config, sockets)
        self.has_failed = False  # no worker could start
        self._has_served = False
        self._paused: dict[Process, float] = {}  # workers that could not start, and when they are tried again
        self._failures: dict[int, int] = {}  # by place: how often in a row

    def init_processes(self) -> None:
        for place in range(self.processes_num):
            self._start(place)

    def keep_subprocess_alive(self) -> None:
        for place, process in enumerate(self.processes):
            if self.should_exit.is_set():
                return
            if process in self._paused:
                if self._has_served and time.monotonic() >= self._paused[process]:
                    del self._paused[process]
                    self._start(place)
            elif (has_started := _ping(process, self.config.timeout_worker_healthcheck)) is None:
                self._bury(place, process)
            elif has_started:
                self._has_served = True
                if self._failures.pop(place, 0):
                    log(f"worker {process.pid} serves again")
        if not self._has_served and len(self._paused) == len(self.processes):
            self.has_failed = True
            self.should_exit.set()

    def _start(self, place: int) -> None:
        worker = _Worker(self.config, self.sockets)
        worker.start()
        self.processes[place : place + 1] = [worker]

    def _bury(self, place: int, process: Process) -> None:
        """Replace a worker that ended or hangs: at once, or after a pause where it could not start."""
        process.kill()
        process.join()
        if process.exitcode != STARTUP_FAILURE:
            log(f"Child process [{process.pid}] died")
            self._has_served = True  # it was ended from outside, perhaps before we looked
            self._start(place)
            return
        failures = self._failures.get(place, 0)
        pause = _PAUSES[min(failures, len(_PAUSES) - 1)]
        self._failures[place] = failures + 1
        self._paused[process] = time.monotonic() + pause
        if self._has_served and not failures:
            log(f"worker {process.pid} could not start; the others go on, and it is tried again every few seconds")

    def terminate_all(self) -> None:
        for listening in self.sockets:
            listening.close()
        super().terminate_all()


def _ping(process: Process, timeout: float) -> bool | None:
    """Whether a worker has started to serve; None where it ended, or does not answer in time.

    uvicorn's own ping waits for the whole time where the worker ends meanwhile, and for no other worker's end.
    """
    try:
        process.parent_conn.send(b"ping")
        ready = connection.wait([process.parent_conn, process.process.sentinel], timeout)
        return bool(process.parent_conn.recv()) if process.parent_conn in ready else None
    except (OSError, EOFError):
        return None


def _load(make_app: Callable[[], Guard], greet: Callable[[], None] | None) -> Guard:
    """Make the application in the process that serves it."""
    _forward_logs()
    _return_freed_memory()
    sys.setswitchinterval(_SWITCH_INTERVAL)
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
        if record.exc_info and isinstance(record.exc_info[1], CancelledError):
            log("a request was given up, because the server ends")
        elif record.exc_info:
            log_surprise("the application", record.exc_info[1])
        elif record.levelno >= logging.ERROR or "died" in record.getMessage():
            log(record.getMessage())
