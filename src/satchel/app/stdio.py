"""Serves one client on stdin and stdout."""

import os
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from msgspec import structs

from satchel.app import project_discovery
from satchel.app.startup import CannotStart, open_store, print_message
from satchel.config import Settings
from satchel.contracts import load
from satchel.contracts.contract import Contract
from satchel.contracts.runner import Runner
from satchel.errors import StoreError
from satchel.log import log
from satchel.model import Scope, StoreChange
from satchel.protocol import ClientChange
from satchel.services import projects, users
from satchel.storage.database import Database
from satchel.transports.stdio import StdioServer, Streams

if TYPE_CHECKING:
    from satchel.library.catalog import Libraries


def serve(settings: Settings, streams: Streams | None = None) -> int:
    """Serve a contract on the streams of the process, or on others, until the client leaves; the exit status."""
    streams = streams or Streams()
    closing = ExitStack()
    contract = load(settings.contract)
    if settings.toolsets or settings.is_read_only:
        contract = contract.narrow(settings.toolsets, is_read_only=settings.is_read_only)
    scope = Scope(
        project=settings.project,
        why=settings.why_project or "the default",
        user=settings.user,
        is_read_only=settings.is_read_only,
    )
    database: Database | None = None
    libraries: Libraries | None = None
    if contract.reads_store:
        database = open_store(settings, scope, needs_project=contract.uses_project)
        closing.callback(database.close)
        scope = _complete_scope(scope, contract, database, settings)
    if contract.reads_libraries:
        from satchel.library import catalog  # 8 ms, and most contracts read no libraries

        libraries = catalog.Libraries(settings.libraries)
        closing.callback(libraries.renderer.close)
    if os.isatty(streams.reader):
        print_message(f"serving {contract.name} on stdin and stdout, for an MCP client. End with Ctrl-D.")
    runner = Runner(contract, database, libraries)

    def watch(announce: Callable[[ClientChange], None]) -> None:
        """Watch the store and the libraries, and announce changes, where the contract announces any."""
        if not any(capability.get("listChanged") for capability in contract.capabilities.values()):
            return

        def announce_all(changes: list[StoreChange]) -> None:
            for change in contract.client_changes(changes, scope):
                announce(change)

        try:
            if database is not None:
                database.watch(announce_all)
        except StoreError as error:  # calls are still answered
            log(f"changes of the store will not be announced: {error}")
        if libraries is not None:
            from satchel.library import watch  # 8 ms with the catalog, which most contracts do not read

            closing.callback(watch.start(libraries, announce_all).set)

    with closing:
        offer = runner.offer_to(scope.user)
        StdioServer(streams, offer, lambda call, report: runner.answer(call, scope, report), watch).run()
    return 0


def _complete_scope(scope: Scope, contract: Contract, database: Database, settings: Settings) -> Scope:
    """Add the project that the working directory names and the local user, where the settings name none."""
    try:
        if contract.finds_project and settings.why_project is None:
            for name, why in project_discovery.find_names():
                if projects.exists(database, name):
                    scope = structs.replace(scope, project=name, why=why)
                    break
        if contract.acts_as_user and scope.user is None:
            scope = structs.replace(scope, user=users.local(database, settings.home))
        return scope
    except StoreError as error:
        raise CannotStart(f"cannot use the store: {error}", 1) from error
