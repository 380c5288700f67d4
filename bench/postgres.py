"""A PostgreSQL server for one part: in a temporary folder, on a Unix socket, with durable commits."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec
import psycopg
from tests.support.postgres import find_runnable

from bench.surroundings import PYTHON


class Server:
    """A server as a context; as root it runs as `nobody`."""

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        self._user = "nobody" if os.geteuid() == 0 else None
        self.folder = Path(tempfile.mkdtemp(prefix="satchel-bench-pg-", dir="/tmp"))  # short: sockets have short names
        if self._user:
            shutil.chown(self.folder, self._user)
        programs = find_runnable(self.folder, self._user)
        data = self.folder / "data"
        make: list[str | Path] = [
            programs / "initdb",
            "-D",
            data,
            "-U",
            "satchel",
            "--auth=trust",
            "-E",
            "UTF8",
            "--locale=C",
        ]
        subprocess.run(make, check=True, stdout=subprocess.DEVNULL, user=self._user, cwd=self.folder)
        options: list[str | Path] = ["-c", "listen_addresses=", "-c", "max_connections=200", "-k", self.folder]
        for name, value in (settings or {}).items():
            options += ["-c", f"{name}={value}"]
        with open(self.folder / "log", "wb") as log:
            command: list[str | Path] = [programs / "postgres", "-D", data, *options]
            self._process = subprocess.Popen(command, stdout=log, stderr=log, user=self._user, cwd=self.folder)
        self._wait()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *raised: object) -> None:
        self._process.terminate()
        self._process.wait(30)
        shutil.rmtree(self.folder, ignore_errors=True)

    def make_database(self, name: str) -> str:
        """Create a database; return its address."""
        self._execute(f"create database {name}")
        return self.address(name)

    def make_store(self, name: str) -> str:
        """Create a store; return its address."""
        address = self.make_database(name)
        _satchel(["database", "migrate", "--database", address])
        return address

    def make_guarded_store(self, name: str) -> tuple[str, str, str]:
        """Create a store for two roles; return the addresses of owner and application role, and a token."""
        owner = self.make_database(name)
        role = f"{name}_app"
        self._execute(f"create role {role} login")
        _satchel(["database", "migrate", "--role", role, "--database", owner])
        user = "550e8400-e29b-41d4-a716-446655440000"
        said = _satchel(["token", "create", "--json", "--user", user, "--database", owner])
        return owner, self.address(name, role), str(msgspec.json.decode(said)["token"])

    def copy_store(self, name: str, file: Path) -> str:
        """Copy a SQLite store into a new database; return its address."""
        address, dump = self.make_database(name), self.folder / f"{name}.jsonl"
        _satchel(["dump", str(dump), "--database", str(file)])
        _satchel(["load", str(dump), "--database", address])
        dump.unlink()
        settle(address)
        return address

    def address(self, name: str = "postgres", role: str = "satchel") -> str:
        """Return the address of a database for a role."""
        return f"postgresql://{role}@/{name}?host={self.folder}"

    def _execute(self, sql: str) -> None:
        with psycopg.connect(self.address(), autocommit=True) as connection:
            connection.execute(sql.encode())

    def _wait(self) -> None:
        deadline = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(self.address()).close()
                return
            except psycopg.OperationalError:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    raise RuntimeError((self.folder / "log").read_text()[-300:]) from None
                time.sleep(0.05)


def settle(address: str) -> None:
    """Vacuum and analyse a database, as autovacuum does a minute after a big load."""
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("vacuum (analyze)")


def _satchel(words: list[str]) -> bytes:
    done = subprocess.run([PYTHON, "-m", "satchel", *words], capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"satchel {' '.join(words[:2])}: {done.stderr.decode()[-300:]}")
    return done.stdout
