"""The serving process, or several on one socket: uvicorn with our bounds, our log, and exit status 0 at a signal."""

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
from satchel.transports.http.guard import Guard
from satchel.transports.http.timeouts import Timeouts

# Seconds after which a thread that computes lets another one go on. With Python's own 5 ms, the event loop would wait
# that long whenever it wakes up beside a costly search.
_SWITCH_INTERVAL = 0.0005


def run(
    make_app: Callable[[], Guard],
    listening: socket.socket,
    *,
    workers: int,
    max_connections: int,
    tls: tuple[str, str] | None,
    timeouts: Timeouts,
    greet: Callable[[], None],
) -> int:
    """Serve until a signal comes; the exit status. With several workers, `make_app` is pickled for each of them."""
    protocol: Any = partial(BoundedProtocol, max_connections=max_connections, timeouts=timeouts)
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
    if parent_process() is not None:
        threading.Thread(target=_end_with_parent, name="satchel-parent", daemon=True).start()
    try:
        app = make_app()
    except SatchelError as error:
        log(str(error))
        sys.exit(STARTUP_FAILURE)

    sys.setswitchinterval(_SWITCH_INTERVAL)
    app.on_start = greet or app.on_start
    # A worker thread that still waits for the database must not hold the process up, and uvicorn would let the signal
    # end it instead of status 0.
    app.on_end = partial(os._exit, 0)
    return app


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
