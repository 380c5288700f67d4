"""The local user: whom a personal store belongs to when nobody says who is calling."""

import os

from satchel import clock
from satchel.errors import StoreFailed
from satchel.storage import settings
from satchel.storage.database import Database

_NAME = "local_user"


def local(database: Database, home: str) -> str:
    """The local user's UUID, made once.

    A store of one's own keeps it. A store that many share cannot: there it is in the data folder.

    Raises:
        StoreFailed: the data folder cannot be used.
    """
    if database.is_shared:
        return _in_folder(os.path.join(home, "user"))
    with database.read() as tx:
        found = settings.get(tx, _NAME)
    if found is not None:
        return found
    with database.write() as tx:
        return settings.keep(tx, _NAME, clock.new_id())


def _in_folder(path: str) -> str:
    try:
        if not os.path.exists(path):
            _make(path)
        with open(path, encoding="ascii", errors="replace") as file:
            user = clock.parse_id(file.read(100).strip())
    except OSError as error:
        raise StoreFailed(f"cannot keep the local user in {path}: {error.strerror}") from error
    if user is None:
        raise StoreFailed(f"{path} should hold the local user, a UUID, and does not. Mend it, or move it away")
    return user


def _make(path: str) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    made = f"{path}.{clock.new_id()}"
    with open(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(clock.new_id() + "\n")
    try:
        os.link(made, path)  # which fails where another process was first, and never shows a half-written file
    except FileExistsError:
        pass
    finally:
        os.unlink(made)
