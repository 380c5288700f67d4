"""The only wiring place: settings in, a serving process out.

stdio   one client on stdin and stdout
http    many clients, several processes
"""

import os
from contextlib import suppress

from satchel.config import Settings
from satchel.errors import NotFound, StoreError, StoreUnusable
from satchel.model import Scope
from satchel.services import projects
from satchel.storage.database import Database, open_database


def serve(settings: Settings) -> int:
    """Serve as the settings say, until the client leaves or a signal comes; the exit status of the process."""
    if settings.http is not None:
        from satchel.app import http

        return http.serve(settings, settings.http)
    from satchel.app import stdio

    return stdio.serve(settings)


def opened(settings: Settings, scope: Scope, *, needs_project: bool) -> Database | int:
    """The store, with the project that is to be served; where that cannot be, the exit status."""
    try:
        database = open_database(settings.database)
    except StoreUnusable as error:
        return complain(str(error), 1)
    try:
        if needs_project:
            projects.require(database, scope)
        return database
    except NotFound:
        near = projects.suggest(database, scope.project)
        hint = f"Did you mean '{near}'? " if near else ""
        make = f"Make it with: satchel project create {scope.project}"
        return complain(f"project '{scope.project}' does not exist. {hint}{make}", 3)
    except StoreError as error:
        return complain(f"cannot use the store: {error}", 1)


def complain(what: str, status: int) -> int:
    """Say on stderr what is wrong, and give the exit status."""
    with suppress(OSError):  # by its number: without a stderr, print would take to stdout
        os.write(2, f"satchel: {what}\n".encode("utf-8", "replace"))
    return status
