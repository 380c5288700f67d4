"""Serves one client on stdin and stdout."""

import os
from collections.abc import Callable
from contextlib import closing

from satchel.app.open_contract import OpenContract
from satchel.app.startup import end_start, print_message
from satchel.config import Settings
from satchel.protocol import ClientChange
from satchel.transports.stdio import StdioServer, Streams


def serve(settings: Settings, streams: Streams | None = None) -> int:
    """Serve a contract on the streams of the process, or on others, until the client leaves; the exit status."""
    streams = streams or Streams()
    with closing(OpenContract(settings)) as opened:
        if os.isatty(streams.reader):
            print_message(f"serving {opened.contract.name} on stdin and stdout, for an MCP client. End with Ctrl-D.")

        def work_beside(announce: Callable[[ClientChange], None]) -> None:
            opened.watch(announce)
            opened.prune()

        server = StdioServer(streams, opened.offer, opened.answer, work_beside, opened.needs_store)
        end_start()
        server.run()
    return 0
