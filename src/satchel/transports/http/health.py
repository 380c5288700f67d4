"""`GET /health`: checks in a reserved thread that the database answers."""

import asyncio
from collections.abc import Callable

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response

from satchel.errors import StoreError
from satchel.log import log
from satchel.transports.http.messages import json_response

_DATABASE_TIMEOUT = 2.0  # seconds that a probe waits


class Health:
    """Checks that the database answers; concurrent probes share one check."""

    def __init__(self, read_schema: Callable[[], int]) -> None:
        self._read_schema = read_schema
        self._limiter = CapacityLimiter(1)
        self._checking: asyncio.Task[int | None] | None = None

    async def handle(self, _request: Request) -> Response:
        """Answer a probe."""
        if self._checking is None or self._checking.done():
            self._checking = asyncio.create_task(run_sync(self._check, limiter=self._limiter))
        try:
            async with asyncio.timeout(_DATABASE_TIMEOUT):
                schema = await asyncio.shield(self._checking)
        except TimeoutError:
            log("health: the database takes too long to answer")
            schema = None
        if schema is None:
            return json_response(503, {"status": "unavailable", "database": "unavailable"})
        return json_response(200, {"status": "ok", "database": "ok", "schema": schema})

    def _check(self) -> int | None:
        try:
            return self._read_schema()
        except StoreError as error:
            log(f"health: {error}")
            return None
