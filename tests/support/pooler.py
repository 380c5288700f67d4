"""A PgBouncer for tests, in front of a PostgreSQL server of the tests."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Self

from tests.support.postgres import PostgresServer, find_folder, is_reached
from tests.support.process import eventually

_CONFIG = """\
[databases]
* = host={server}
[pgbouncer]
unix_socket_dir = {folder}
listen_port = 6432
auth_type = trust
auth_file = {folder}/users
pool_mode = {mode}
default_pool_size = {size}
logfile = {folder}/log
"""


def find_pgbouncer() -> str | None:
    """Return the path of PgBouncer if it is installed; tools/pgbouncer installs it."""
    return shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


class PgBouncer:
    """A pooler on a Unix socket; the end of the block stops it."""

    def __init__(self, server: PostgresServer, mode: str, size: int = 4) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="satchel-pgb-", dir=find_folder()))
        user = "nobody" if os.geteuid() == 0 else None  # it refuses to run as root
        (self.folder / "users").write_text('"satchel" ""\n')
        config = self.folder / "pgbouncer.ini"
        config.write_text(_CONFIG.format(server=server.folder, folder=self.folder, mode=mode, size=size))
        if user:
            shutil.chown(self.folder, user)
        program = find_pgbouncer()
        assert program is not None
        self._process = subprocess.Popen([program, "-q", config], user=user, stderr=subprocess.DEVNULL)

    def __enter__(self) -> Self:
        assert eventually(lambda: is_reached(self.url("postgres"))), (self.folder / "log").read_text()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database: str) -> str:
        """Return the address of a database through the pooler."""
        return f"postgresql://satchel@/{database}?host={self.folder}&port=6432"
