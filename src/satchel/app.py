"""The only wiring place: settings in, a serving process out."""

import os
from contextlib import suppress

from satchel.config import Settings
from satchel.errors import NotFound, StoreError, StoreUnusable
from satchel.model import Scope
from satchel.services import projects, users
from satchel.storage.database import open_database


def serve(settings: Settings) -> int:
    """Serve a contract over stdio until the client leaves; the exit status of the process."""
    from satchel.contracts import load  # here, because commands that only touch the store need none of it
    from satchel.contracts.runner import Runner
    from satchel.transports import stdio

    assert settings.contract is not None
    streams = stdio.Streams()
    contract = load(settings.contract)
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
        return complain(
            f"project '{scope.project}' does not exist. Make it with: satchel project create {scope.project}", 3
        )
    except StoreError as error:
        return complain(f"cannot use the store: {error}", 1)
    if os.isatty(streams.reader):
        complain(f"serving {contract.name} on stdin and stdout; a client belongs there. End with Ctrl-D.", 0)
    runner = Runner(contract, database, scope)
    stdio.serve(streams, runner.offer, runner.answer)
    database.close()
    return 0


def complain(what: str, status: int) -> int:
    """Say on stderr what is wrong, and give the exit status."""
    with suppress(OSError):  # by its number: without a stderr, print would take to stdout
        os.write(2, f"satchel: {what}\n".encode("utf-8", "replace"))
    return status
