"""A PostgreSQL server for one benchmark: in a temporary folder, on a Unix socket, with its commits on the disk."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg


@contextmanager
def temporary_server() -> Iterator[str]:
    """The address of an empty database, which is gone afterwards. As root the server runs as `nobody`."""
    user = "nobody" if os.geteuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="satchel-bench-pg-", dir="/tmp"))  # short: sockets have short names
    if user:
        shutil.chown(folder, user)
    programs = binaries()
    make = [programs / "initdb", "-D", folder / "data", "-U", "satchel", "--auth=trust", "-E", "UTF8", "--locale=C"]
    subprocess.run(make, check=True, stdout=subprocess.DEVNULL, user=user, cwd=folder)
    serve = [programs / "postgres", "-D", folder / "data", "-c", "listen_addresses=", "-k", folder]
    with open(folder / "log", "wb") as log:
        server = subprocess.Popen(serve, stdout=log, stderr=log, user=user, cwd=folder)
    address = f"postgresql://satchel@/postgres?host={folder}"
    try:
        _wait(address, server)
        yield address
    finally:
        server.terminate()
        server.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


def binaries() -> Path:
    """The folder of `postgres` and `initdb`: the newest of the system's, or what is on the path."""
    on_path = shutil.which("postgres")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: int(folder.parent.name))
    if not found and not on_path:
        raise SystemExit("no PostgreSQL here; name one with --database postgresql://…")
    return found[-1] if found else Path(str(on_path)).resolve().parent


def settle(address: str) -> None:
    """Do at once what autovacuum does by itself a minute after a big load."""
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("vacuum (analyze)")


def _wait(address: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            psycopg.connect(address).close()
            return
        except psycopg.OperationalError:
            if time.monotonic() > deadline or server.poll() is not None:
                raise
            time.sleep(0.05)
