"""The only wiring place: settings in, a serving process out."""

import os
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from satchel.config import Settings
from satchel.errors import NotFound, StoreError, StoreUnusable
from satchel.model import Scope
from satchel.services import projects, users
from satchel.storage.database import open_database

if TYPE_CHECKING:
    from satchel.contracts.contract import Contract
    from satchel.transports.stdio import Streams


def serve(settings: Settings) -> int:
    """Serve a contract over stdio until the client leaves; the exit status of the process."""
    from satchel.contracts import load  # here, because commands that only touch the store need none of it
    from satchel.transports import stdio

    assert settings.contract is not None
    streams = stdio.Streams()
    contract = load(settings.contract)
    if contract.reads_libraries:
        return _serve_libraries(contract, settings, streams)
    return _serve_store(contract, settings, streams)


def _serve_store(contract: "Contract", settings: Settings, streams: "Streams") -> int:
    from satchel.contracts.runner import Runner
    from satchel.transports import stdio

    scope = Scope(project=settings.project, user=settings.user)
    try:
        database = open_database(settings.database)
    except StoreUnusable as error:
        return complain(str(error), 1)
    try:
        if contract.uses_project:
            projects.require(database, scope)
        if contract.acts_as_user and scope.user is None:
            scope = Scope(project=scope.project, user=users.local(database, settings.home))
    except NotFound:
        near = projects.near(database, scope.project)
        hint = f"Did you mean '{near}'? " if near else ""
        make = f"Make it with: satchel project create {scope.project}"
        return complain(f"project '{scope.project}' does not exist. {hint}{make}", 3)
    except StoreError as error:
        return complain(f"cannot use the store: {error}", 1)
    _greet(contract, streams)
    runner = Runner(contract, database, scope)
    stdio.serve(streams, runner.offer, runner.answer)
    database.close()
    return 0


def _serve_libraries(contract: "Contract", settings: Settings, streams: "Streams") -> int:
    from satchel.contracts.runner import Runner
    from satchel.library.catalog import Libraries
    from satchel.protocol import Change
    from satchel.transports import stdio

    libraries = Libraries(settings.libraries)

    def begin(announce: Callable[[Change], None]) -> None:
        from satchel.library import watch

        watch.start(libraries, lambda: announce(Change("prompts")))

    _greet(contract, streams)
    runner = Runner(contract, None, Scope(project=settings.project, user=settings.user), libraries)
    stdio.serve(streams, runner.offer, runner.answer, begin)
    libraries.renderer.close()
    return 0


def _greet(contract: "Contract", streams: "Streams") -> None:
    if os.isatty(streams.reader):
        complain(f"serving {contract.name} on stdin and stdout; a client belongs there. End with Ctrl-D.", 0)


def complain(what: str, status: int) -> int:
    """Say on stderr what is wrong, and give the exit status."""
    with suppress(OSError):  # by its number: without a stderr, print would take to stdout
        os.write(2, f"satchel: {what}\n".encode("utf-8", "replace"))
    return status
