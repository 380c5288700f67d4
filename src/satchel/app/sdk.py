"""A contract as a server of the official SDK; its store is open during the lifespans of the server."""

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from anyio import CancelScope
from anyio.to_thread import run_sync
from mcp.server import Server

from satchel.app.open_contract import OpenContract, load_contract
from satchel.config import Settings
from satchel.contracts.contract import Report, Result
from satchel.contracts.runner import Runner
from satchel.protocol import Call, ClientChange
from satchel.transports.sdk import SdkSession, make_server


def create_server(settings: Settings) -> Server[SdkSession]:
    """Return a server of the official SDK for the contract that the settings name."""
    offer = Runner(load_contract(settings), None).offer_to(settings.user)
    return make_server(offer, _SharedContract(settings).lifespan)


class _SharedContract:
    """A contract that the lifespans of one server share: the first lifespan opens it, the last closes it.

    The SDK starts one lifespan per connection in memory and on stdio, and one for all connections over HTTP. FastMCP
    connects for each call.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._opened: OpenContract | None = None
        self._sessions: set[SdkSession] = set()
        self._is_watching = False

    @asynccontextmanager
    async def lifespan(self, _: Server[SdkSession]) -> AsyncIterator[SdkSession]:
        """Keep the contract open.

        Raises:
            CannotStart: the store cannot be used, or has no such project.
        """
        session = SdkSession(self._answer, self._watch)
        try:
            await run_sync(self._enter, session)
            yield session
        finally:
            with CancelScope(shield=True):
                await run_sync(self._leave, session)

    def _enter(self, session: SdkSession) -> None:
        with self._lock:
            if self._opened is None:
                self._opened = OpenContract(self._settings)
                self._opened.prune()
            self._sessions.add(session)

    def _leave(self, session: SdkSession) -> None:
        with self._lock:
            self._sessions.discard(session)
            if self._opened is not None and not self._sessions:
                last, self._opened, self._is_watching = self._opened, None, False
                last.close()

    def _answer(self, call: Call, report: Report) -> Result:
        assert self._opened is not None, "a lifespan is open"
        return self._opened.answer(call, report)

    def _watch(self) -> None:
        with self._lock:
            if self._opened is not None and not self._is_watching:
                self._opened.watch(self._announce)
                self._is_watching = True

    def _announce(self, change: ClientChange) -> None:
        for session in tuple(self._sessions):
            session.announce(change)
