"""One client on stdin and stdout."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from satchel.app import complain, opened
from satchel.config import Settings
from satchel.contracts import load
from satchel.errors import StoreError
from satchel.model import Changed, Scope
from satchel.services import projects, users
from satchel.transports import stdio

if TYPE_CHECKING:
    from satchel.contracts.contract import Contract
    from satchel.library.catalog import Libraries
    from satchel.protocol import Change
    from satchel.storage.database import Database


def serve(settings: Settings) -> int:
    """Serve a contract until the client leaves; the exit status."""
    from satchel.contracts.runner import Runner

    assert settings.contract is not None
    streams = stdio.Streams()
    contract = load(settings.contract)
    scope = Scope(project=settings.project, user=settings.user)
    database: Database | None = None
    libraries: Libraries | None = None
    if contract.reads_store:
        store = opened(settings, scope, needs_project=contract.uses_project)
        if isinstance(store, int):
            return store
        database = store
        try:
            if contract.acts_as_user and scope.user is None:
                scope = Scope(project=scope.project, user=users.local(database, settings.home))
        except StoreError as error:
            return complain(f"cannot use the store: {error}", 1)
    if contract.reads_libraries:
        from satchel.library import catalog

        libraries = catalog.Libraries(settings.libraries)
    if os.isatty(streams.reader):
        complain(f"serving {contract.name} on stdin and stdout; a client belongs there. End with Ctrl-D.", 0)
    runner = Runner(contract, database, libraries)
    begin = _watching(contract, scope, database, libraries)
    stdio.serve(streams, runner.offer, lambda call, report: runner.answer(call, scope, report), begin)
    if database is not None:
        database.close()
    if libraries is not None:
        libraries.renderer.close()
    return 0


def _watching(
    contract: "Contract", scope: Scope, database: "Database | None", libraries: "Libraries | None"
) -> Callable[[Callable[["Change"], None]], None]:
    """What begins once the first answer is out: watching for changes, where the contract tells of them."""

    def begin(announce: Callable[["Change"], None]) -> None:
        has_news = any(told.get("listChanged") for told in contract.capabilities.values())
        if not has_news:
            return
        from satchel.contracts.news import news

        project = None if database is None else projects.number(database, scope)

        def hear(changes: list[Changed]) -> None:
            for change in news(contract, changes, project=project, user=scope.user):
                announce(change)

        if database is not None:
            database.watch(hear)
        if libraries is not None:
            from satchel.library import watch

            watch.start(libraries, lambda: hear([Changed("libraries")]))

    return begin
