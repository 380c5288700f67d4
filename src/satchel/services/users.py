"""The local user, who owns a personal store and acts if no user is named."""

import os

from satchel import clock
from satchel.errors import StoreError, StoreFailed
from satchel.model import DEFAULT_STORE
from satchel.storage import users as rows
from satchel.storage.database import Database, Tx, open_database

_NAME = "local_user"


def local(database: Database, home: str) -> str:
    """Return the local user's UUID, created once.

    An embedded store contains it. For a shared store, the data folder has it; it equals the local user of the embedded
    store there, so that people who move to a shared store keep their tasks.

    Raises:
        StoreFailed: the data folder cannot be used.
    """
    if database.is_shared:
        return _read_or_create(home)
    found = find_kept(database)
    if found is not None:
        return found
    with database.write() as tx:
        return rows.keep_setting(tx, _NAME, clock.new_id())


def find_kept(database: Database) -> str | None:
    """Return the local user of an embedded store, if there is one."""
    with database.read() as tx:
        return read_kept(tx)


def read_kept(tx: Tx) -> str | None:
    """Return the local user in the store; None in a shared store, which has none."""
    return rows.get_setting(tx, _NAME)


def _read_or_create(home: str) -> str:
    path = os.path.join(home, "user")
    try:
        if not os.path.exists(path):
            _create(path, _find_embedded(home, path) or clock.new_id())
        with open(path, encoding="ascii", errors="replace") as file:
            user = clock.parse_id(file.read(100).strip())
    except OSError as error:
        raise StoreFailed(f"cannot keep the local user in {path}: {error.strerror}") from error
    if user is None:
        raise StoreFailed(f"{path} does not contain the UUID of the local user. Correct it, or move it away")
    return user


def _find_embedded(home: str, path: str) -> str | None:
    """Return the local user of the embedded store in the data folder, if there is one."""
    store = os.path.join(home, DEFAULT_STORE)
    if not os.path.exists(store):
        return None
    try:
        embedded = open_database(store)
        try:
            return find_kept(embedded)
        finally:
            embedded.close()
    except StoreError as error:
        why = f"cannot read the local user from {store}: {error} Move it away, or write the UUID into {path}"
        raise StoreFailed(why) from error


def _create(path: str, user: str) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    part = f"{path}.{clock.new_id()}"
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(f"{user}\n")
    try:
        os.link(part, path)  # fails if another process was first, and never exposes a half-written file
    except FileExistsError:
        pass
    finally:
        os.unlink(part)
