"""Checks of `satchel doctor` on the store: does it open, is it sound, is its schema the newest, is search in step."""

import os
import stat
from collections.abc import Iterator

from satchel.cli.findings import Finding, Repairable, attempt
from satchel.errors import SatchelError
from satchel.storage import checking, schema
from satchel.storage.database import Database, is_postgres, open_database
from satchel.storage.status import StoreStatus, read_status


def check_store(where: str, direct: str | None = None, *, is_fixing: bool) -> Iterator[Finding]:
    """All findings on a store. Nothing is made or migrated, unless it is to be repaired.

    `direct` is the address of the server itself, where a pooler stands before it.
    """
    try:
        is_shared = is_postgres(where)
        if not is_shared and not os.path.exists(where):
            message = f"there is no store {where} yet; it is made with the first use"
            yield Finding(check="store", status="ok", message=message)
            return
        status = read_status(where)
    except SatchelError as error:
        yield Finding(check="store", status="failure", message=str(error), remedy=_remedy(where))
        return
    counts = ", ".join(f"{count} {name}" for name, count in status.counts.items() if count is not None)
    yield Finding(check="store", status="ok", message=f"{status.engine} {status.store} opens: {counts or 'empty'}")
    if not is_shared:
        yield _check_file(where, is_fixing=is_fixing)
        yield _check_mode(where, is_fixing=is_fixing)
    schema = attempt("schema", lambda: _look_at_schema(where, direct, status), is_fixing=is_fixing)
    yield schema
    if schema.status in ("ok", "fixed"):
        yield _check_search(where, direct, status, is_fixing=is_fixing)


def _remedy(where: str) -> str:
    if "://" in where:
        return "Check the address in SATCHEL_DATABASE or satchel.toml, and that the server runs and lets you in."
    return "Restore a backup of it, or name another file with --database or SATCHEL_DATABASE."


def _check_file(where: str, *, is_fixing: bool) -> Finding:
    del is_fixing  # a damaged file is restored from a backup by its owner
    try:
        wrong = checking.check_file(where)
    except SatchelError as error:
        wrong = [str(error)]
    if not wrong:
        return Finding(check="integrity", status="ok", message="the file is sound")
    remedy = "Stop all servers, keep a copy of the file, and restore a backup."
    return Finding(check="integrity", status="failure", message="; ".join(wrong), remedy=remedy)


def _check_mode(where: str, *, is_fixing: bool) -> Finding:
    def look() -> str:
        if os.name != "nt" and stat.S_IMODE(os.stat(where).st_mode) & 0o077:
            what = f"{where} can be read by others."
            raise Repairable(what, f"chmod 600 {where}", lambda: _make_private(where), is_failure=False)
        return "only you can read the file"

    return attempt("privacy", look, is_fixing=is_fixing)


def _make_private(where: str) -> str:
    os.chmod(where, 0o600)
    return "Its mode is 600 now."


def _look_at_schema(where: str, direct: str | None, status: StoreStatus) -> str:
    now = read_status(where)
    if schema.explain_number(now.schema):
        what = f"the store has schema {now.schema}, and this Satchel knows schemas {schema.NUMBER} to {now.newest}."
        remedy = "Dump the store with the Satchel that wrote it, and load the dump into a new store with this one."
        raise Repairable(what, remedy, _refuse)
    if now.schema < now.newest:
        what = f"the store has schema {now.schema}; the newest is {now.newest}."
        raise Repairable(
            what, "satchel database migrate", lambda: _migrate(where, direct), is_failure=status.schema > 0
        )
    return f"schema {now.schema}, the newest"


def _refuse() -> str:
    raise OSError("another Satchel wrote it")


def _migrate(where: str, direct: str | None) -> str:
    open_database(where, direct).close()
    return "It was migrated."


def _check_search(where: str, direct: str | None, status: StoreStatus, *, is_fixing: bool) -> Finding:
    if status.row_security:
        message = "not compared: this role sees one user at a time. Run it as the owner of the store."
        return Finding(check="search", status="note", message=message)
    try:
        opened = open_database(where, direct)
    except SatchelError as error:
        return Finding(check="search", status="failure", message=str(error), remedy=_remedy(where))
    try:
        return attempt("search", lambda: _look_at_search(opened), is_fixing=is_fixing)
    except SatchelError as error:
        return Finding(check="search", status="failure", message=str(error), remedy=_remedy(where))
    finally:
        opened.close()


def _look_at_search(opened: Database) -> str:
    with opened.read() as tx:
        state = checking.compare_index(tx)
    if not state.is_in_step:
        what = f"the search index lacks {state.missing} items, and has {state.stale} wrong."
        raise Repairable(what, "satchel doctor --fix", lambda: _rebuild(opened))
    return f"the search index is in step ({state.compared} items compared)"


def _rebuild(opened: Database) -> str:
    with opened.write() as tx:
        checking.rebuild_index(tx)
    return "It was made again from all items."
