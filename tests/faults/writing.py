"""A client over HTTP that writes until it is told to stop, and notes what was acknowledged."""

import json
import threading
import time
from typing import Any

from tests.support.process import PATIENCE
from tests.support.web import JSON, Answer, Closed, WebServer, Wire


class Writer(threading.Thread):
    """Adds tasks and completes them, on a connection that it makes again when a worker was killed."""

    def __init__(self, server: WebServer, name: str) -> None:
        super().__init__(daemon=True)
        self._server, self._name = server, name
        self.is_over = threading.Event()
        self.acknowledged: dict[str, float] = {}  # titles, and when
        self.completed: list[str] = []
        self.failed: list[Any] = []
        self.lost_connections = 0

    def run(self) -> None:
        number = 0
        while not self.is_over.is_set():
            try:
                with self._server.connect() as wire:
                    while not self.is_over.is_set():
                        number += 1
                        self._write(wire, f"{self._name}/{number}")
            except (Closed, OSError):
                self.lost_connections += 1

    def _write(self, wire: Wire, title: str) -> None:
        added = self._ask(wire, "add_task", title=title)
        if added.status != 200 or added.json["data"]["title"] != title:
            self.failed.append(added.json)
            return
        self.acknowledged[title] = time.monotonic()
        completed = self._ask(wire, "complete_task", task_id=added.json["data"]["id"])
        if completed.status == 200:
            self.completed.append(title)
        else:
            self.failed.append(completed.json)

    def _ask(self, wire: Wire, tool: str, **arguments: Any) -> Answer:
        return wire.ask("POST", f"/mcp/tool/{tool}", [JSON], json.dumps(arguments).encode())

    def finish(self) -> None:
        """Stop, and wait until the last answer has arrived."""
        self.is_over.set()
        self.join(PATIENCE)
        assert not self.is_alive()
