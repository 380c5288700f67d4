"""The start of a server: opens the store, or explains why it cannot be opened."""

import gc
import os
from contextlib import suppress

from satchel.config import Settings
from satchel.errors import NotFound, SatchelError, StoreUnusable
from satchel.log import escape
from satchel.model import ALL_PROJECTS, Scope, uri_of
from satchel.services import projects
from satchel.storage.database import Database, open_database


class CannotStart(Exception):
    """The process cannot serve; the message has the reason and the remedy."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status  # the exit status of the process


def open_store(settings: Settings, scope: Scope, *, needs_project: bool) -> Database:
    """Open the store, and check that the project to serve exists.

    Raises:
        CannotStart: the store cannot be used, or has no such project.
    """
    try:
        # A read-only server does not create a store.
        database = open_database(settings.database, settings.database_direct, must_exist=settings.is_read_only)
        database.retention = settings.retention
    except StoreUnusable as error:
        raise CannotStart(str(error), 1) from error
    try:
        if needs_project and not projects.exists(database, scope.project):
            projects.require(database, scope)
    except SatchelError as error:
        is_missing = isinstance(error, NotFound)
        why = explain_missing_project(database, scope) if is_missing else f"cannot use the store: {error}"
        database.close()
        raise CannotStart(why, 3 if is_missing else 1) from error
    if database.why_read_only:
        print_message(f"{database.why_read_only}: reads are served, and every call that writes fails")
    return database


def explain_missing_project(database: Database, scope: Scope) -> str:
    """Explain that a scope's project does not exist or was deleted, where the project is named, and what to do."""
    who, also = (f", but {scope.why} names it", ", or correct that file") if scope.is_named_by_file else ("", "")
    with database.read() as tx:
        is_deleted = projects.find_deleted(tx, scope.project) is not None
    if is_deleted:
        uri = uri_of("project", scope.project)
        return f"project '{scope.project}' is in the trash{who}. Bring it back with: satchel restore {uri}{also}"
    if scope.project == ALL_PROJECTS:
        return (
            f"project '{scope.project}' does not exist{who}: the name stands for all projects. Name one of them{also}"
        )
    near = projects.suggest(database, scope.project)
    hint = f"Did you mean '{near}'? " if near else ""
    make = f"Make it with: satchel project create {scope.project}{also}"
    return f"project '{scope.project}' does not exist{who}. {hint}{make}"


def end_start() -> None:
    """Enable garbage collection, except of the objects made so far, which live as long as the process."""
    gc.freeze()
    gc.enable()


def print_message(text: str) -> None:
    """Write a message for the operator to stderr."""
    with suppress(OSError):  # writes to the file descriptor: without a stderr, print() would write to stdout
        os.write(2, f"satchel: {escape(text)}\n".encode("utf-8", "replace"))
