"""The local user, to whom a personal store belongs where no user is named."""

import os

from satchel import clock
from satchel.errors import StoreFailed
from satchel.storage import settings
from satchel.storage.database import Database

_NAME = "local_user"


def local(database: Database, home: str) -> str:
    """The local user's UUID, created once.

    An embedded store keeps it. A shared store has no local user, so that it is in the data folder.

    Raises:
        StoreFailed: the data folder cannot be used.
    """
    if database.is_shared:
        return _read_or_create(os.path.join(home, "user"))
    with database.read() as tx:
        found = settings.get(tx, _NAME)
    if found is not None:
        return found
    with database.write() as tx:
        return settings.keep(tx, _NAME, clock.new_id())


def _read_or_create(path: str) -> str:
    try:
        if not os.path.exists(path):
            _create(path)
        with open(path, encoding="ascii", errors="replace") as file:
            user = clock.parse_id(file.read(100).strip())
    except OSError as error:
        raise StoreFailed(f"cannot keep the local user in {path}: {error.strerror}") from error
    if user is None:
        raise StoreFailed(f"{path} should hold the local user, a UUID, and does not. Correct it, or move it away")
    return user


def _create(path: str) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    part = f"{path}.{clock.new_id()}"
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(clock.new_id() + "\n")
    try:
        os.link(part, path)  # fails where another process was first, and never shows a half-written file
    except FileExistsError:
        pass
    finally:
        os.unlink(part)
