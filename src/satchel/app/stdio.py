"""One client on stdin and stdout."""

import os
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from msgspec import structs

from satchel.app import complain, opened
from satchel.config import Settings
from satchel.contracts import load
from satchel.contracts.contract import narrowed
from satchel.errors import StoreError
from satchel.log import log
from satchel.model import Scope, StoreChange
from satchel.services import projects, users
from satchel.transports import stdio

if TYPE_CHECKING:
    from satchel.contracts.contract import Contract
    from satchel.library.catalog import Libraries
    from satchel.protocol import ClientChange
    from satchel.storage.database import Database


def serve(settings: Settings, streams: stdio.Streams | None = None) -> int:
    """Serve a contract on the process's own streams, or on others, until the client leaves; the exit status."""
    from satchel.contracts.runner import Runner

    streams = streams or stdio.Streams()
    closing = ExitStack()
    contract = load(settings.contract)
    scope = Scope(
        project=settings.project,
        why=settings.why_project or "the default",
        user=settings.user,
        is_read_only=settings.is_read_only,
    )
    if settings.toolsets or settings.is_read_only:
        contract = narrowed(contract, settings.toolsets, is_read_only=settings.is_read_only)
    database: Database | None = None
    libraries: Libraries | None = None
    if contract.reads_store:
        store = opened(settings, scope, needs_project=contract.uses_project)
        if isinstance(store, int):
            return store
        database = store
        closing.callback(database.close)
        try:
            if contract.finds_project and settings.why_project is None:
                scope = _placed(database, scope)
            if contract.acts_as_user and scope.user is None:
                scope = structs.replace(scope, user=users.local(database, settings.home))
        except StoreError as error:
            return complain(f"cannot use the store: {error}", 1)
    if contract.reads_libraries:
        from satchel.library import catalog

        libraries = catalog.Libraries(settings.libraries)
        closing.callback(libraries.renderer.close)
    if os.isatty(streams.reader):
        complain(f"serving {contract.name} on stdin and stdout; a client belongs there. End with Ctrl-D.", 0)
    runner = Runner(contract, database, libraries)
    begin = _watching(contract, scope, database, libraries, closing)
    with closing:
        stdio.serve(streams, runner.offer, lambda call, report: runner.answer(call, scope, report), begin)
    return 0


def _placed(database: "Database", scope: Scope) -> Scope:
    """The scope in the project that the working directory names."""
    from satchel.app import project_discovery

    folder = project_discovery.here()
    for name, why in project_discovery.named_above(folder) if folder is not None else ():
        if projects.is_there(database, name):
            return structs.replace(scope, project=name, why=why)
    return scope


def _watching(
    contract: "Contract",
    scope: Scope,
    database: "Database | None",
    libraries: "Libraries | None",
    closing: ExitStack,
) -> Callable[[Callable[["ClientChange"], None]], None]:
    """What begins once the first answer is out: watching for changes, where the contract tells of them."""

    def begin(announce: Callable[["ClientChange"], None]) -> None:
        has_news = any(told.get("listChanged") for told in contract.capabilities.values())
        if not has_news:
            return
        from satchel.contracts.news import news

        def hear(changes: list[StoreChange]) -> None:
            for change in news(contract, changes, scope):
                announce(change)

        try:
            if database is not None:
                database.watch(hear)
        except StoreError as error:  # calls are served all the same
            log(f"changes of the store will not be told: {error}")
        if libraries is not None:
            from satchel.library import watch

            closing.callback(watch.start(libraries, hear).set)

    return begin
