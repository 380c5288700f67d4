"""A contract with its open store and libraries, for clients that all act for the owner of this process."""

import os
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING

from msgspec import structs

from satchel.app import project_discovery
from satchel.app.startup import CannotStart, explain_missing_project, open_store, print_message
from satchel.config import Settings
from satchel.contracts import load
from satchel.contracts.contract import Contract, Report, Result
from satchel.contracts.runner import Runner
from satchel.errors import StoreError
from satchel.log import log
from satchel.model import Scope, StoreChange
from satchel.protocol import Call, ClientChange, Offer
from satchel.services import projects, users
from satchel.storage.database import Database
from satchel.work import Work

if TYPE_CHECKING:
    from satchel.library.catalog import Libraries


def load_contract(settings: Settings) -> Contract:
    """Return the contract to serve, narrowed to the tools that the settings allow."""
    contract = load(settings.contract)
    if settings.toolsets or settings.is_read_only:
        contract = contract.narrow(settings.toolsets, is_read_only=settings.is_read_only)
    return contract


class OpenContract:
    """The contract selected by the settings, with its store. `close` ends its watchers and workers.

    Raises:
        CannotStart: the store cannot be used, or has no such project.
    """

    def __init__(self, settings: Settings) -> None:
        self.contract = load_contract(settings)
        self._scope = Scope(
            project=settings.project,
            why=settings.why_project or "the default",
            user=settings.user,
            is_read_only=settings.is_read_only,
        )
        self._database: Database | None = None
        with ExitStack() as opened:
            if self.contract.reads_store:
                self._database = open_store(settings, self._scope, needs_project=self.contract.uses_project)
                opened.callback(self._database.close)
                self._scope = _complete_scope(self._scope, self.contract, self._database, settings)
            self._closing = opened.pop_all()

        @cache
        def find_local_user() -> str:
            return "" if self._database is None else users.local(self._database, settings.home)

        self._runner = Runner(self.contract, self._database, lambda: self._libraries, find_local_user)
        self._is_read_only = settings.is_read_only
        self._library_folders = settings.libraries
        if not self.contract.reads_store and any(map(os.path.isdir, settings.libraries)):
            self._libraries.renderer.warm_up()  # every call of this server needs a worker

    @cached_property
    def _libraries(self) -> "Libraries":
        from satchel.library import catalog  # 8 ms, and not every client uses libraries

        libraries = catalog.Libraries(self._library_folders, shows_roots=True)
        self._closing.callback(libraries.renderer.close)
        return libraries

    @property
    def offer(self) -> Offer:
        """The server's description for clients: capabilities, methods, instructions."""
        return self._runner.offer_to(self._scope.user)

    def answer(self, call: Call, report: Report, work: Work | None = None) -> Result:
        """Return the result of a call.

        Raises:
            ProtocolError: the client gets a JSON-RPC error.
            Abandoned: the work was cancelled; nothing of it remains.
        """
        return self._runner.answer(call, self._scope, report, work)

    def prune(self) -> None:
        """Start a thread that removes history and trash older than the retention."""
        if self._database is not None and not self._is_read_only and not self._database.why_read_only:
            from satchel.app import upkeep  # imported after the first answer

            self._closing.callback(upkeep.start(self._database, self._list_templates))

    def _list_templates(self) -> list[str] | None:
        return self._libraries.list_names() if self.contract.reads_libraries else None

    def watch(self, announce: Callable[[ClientChange], None]) -> None:
        """Watch the store and the libraries, if the contract announces changes."""
        if not any(capability.get("listChanged") for capability in self.contract.capabilities.values()):
            return

        def announce_all(changes: list[StoreChange]) -> None:
            for change in self.contract.client_changes(changes, self._scope):
                announce(change)

        try:
            if self._database is not None:
                self._database.watch(announce_all)
        except StoreError as error:  # the server still answers calls
            log(f"changes of the store will not be announced: {error}")
        if self.contract.reads_libraries:
            from satchel.library import watch  # imported after the first answer

            self._closing.callback(watch.start(lambda: self._libraries, announce_all).set)

    def close(self) -> None:
        """Close the store; stop the watchers and the workers."""
        self._closing.close()


def _complete_scope(scope: Scope, contract: Contract, database: Database, settings: Settings) -> Scope:
    """Complete the scope from the settings with the project of the working directory and the local user."""
    if contract.reads_personal:
        scope = structs.replace(scope, personal=settings.personal)
    try:
        if contract.finds_project and settings.why_project is None:
            scope = project_discovery.find_current(scope, partial(projects.exists, database))
            if scope.is_named_by_file and not projects.exists(database, scope.project):
                # Serve nevertheless: clients show little of a server that exits, and calls report the same reason.
                print_message(explain_missing_project(database, scope))
        if contract.acts_as_user and scope.user is None:
            scope = structs.replace(scope, user=users.local(database, settings.home))
        return scope
    except StoreError as error:
        raise CannotStart(f"cannot use the store: {error}", 1) from error
