"""Serves one client on stdin and stdout."""

import os
from collections.abc import Callable
from contextlib import closing

from satchel.app.open_contract import OpenContract
from satchel.app.startup import end_start, print_message
from satchel.config import Settings
from satchel.protocol import ClientChange
from satchel.transports.stdio import Shutdown, StandardStreams, StdioServer


def serve(settings: Settings, streams: StandardStreams | None = None, shutdown: Shutdown | None = None) -> int:
    """Serve a contract until the client leaves or a signal comes, and return the exit status."""
    streams = streams or StandardStreams()
    shutdown = shutdown or Shutdown()
    with closing(OpenContract(settings)) as opened:
        if os.isatty(streams.reader):
            print_message(f"serving {opened.contract.name} on stdin and stdout, for an MCP client. End with Ctrl-D.")

        def start_upkeep(announce: Callable[[ClientChange], None]) -> None:
            opened.watch(announce)
            opened.prune()

        server = StdioServer(streams, shutdown, opened.offer, opened.answer, start_upkeep)
        end_start()
        server.run()
    return 0
