"""Fixtures for all tests: stores on both engines, and servers on them."""

import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from satchel.storage.database import Database, open_database
from tests.support.in_process import InProcess
from tests.support.postgres import PostgresServer, ReusedDatabase, close_shared, shared_server
from tests.support.soak import amount
from tests.support.stdio import NEWEST, Client, Server

Serve = Callable[..., Client]

# The variables that are settings of the tests; all other SATCHEL_* are the user's.
OF_TESTS = ("SATCHEL_SOAK", "SATCHEL_EXPLORE", "SATCHEL_MCP_SCHEMAS")

# The tests' own data folder: no test reads or writes the user's store, libraries or settings.
HOME = tempfile.TemporaryDirectory(prefix="satchel-tests-")
for name in [name for name in os.environ if name.startswith("SATCHEL_") and name not in OF_TESTS]:
    del os.environ[name]
os.environ["SATCHEL_HOME"] = os.environ["XDG_DATA_HOME"] = HOME.name

# Servers and commands of the tests start from compiled code, whatever the caller of the tests wants for itself.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A shell has what it starts in the background ignore Ctrl-C, and so would the programs that tests interrupt.
if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Examples are the same in every run, so that a run depends on the code alone and not on the speed of the machine;
# SATCHEL_EXPLORE draws new ones.
settings.register_profile(
    "satchel",
    deadline=None,
    derandomize=not os.environ.get("SATCHEL_EXPLORE"),
    max_examples=amount(50, 500),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("satchel")


# A worker runs a module of tests at a time. These come first, so that the run does not end with one long module.
SLOW_FOLDERS = ("faults", "model", "history", "library", "transports", "attacks")

# Tests of the page in a browser need what `make browser` installs.
collect_ignore = [] if find_spec("playwright") else ["browser"]


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """With `-n auto`: one more than there are processors, because tests wait for nearly as long as they compute."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell each worker which folder they all share."""
    node.workerinput["run_folder"] = HOME.name


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the folders that take long; mark what needs PostgreSQL, so that `make quick` can leave it out."""
    items.sort(key=lambda item: item.path.parent.name not in SLOW_FOLDERS)
    for item in items:
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        if "postgres" in (*getattr(item, "fixturenames", ()), *map(str, parameters.values())):
            item.add_marker("postgres")


def pytest_unconfigure() -> None:
    """Stop the PostgreSQL server of the run and remove the data folder."""
    close_shared(Path(HOME.name))  # does nothing in a worker: the folder that they share is the controller's
    HOME.cleanup()


@pytest.fixture(scope="session", autouse=True)
def outside_any_repository() -> None:
    """Run servers and commands where no repository names their project, unlike the folder that the tests start in."""
    os.environ["PYTHONPATH"] = str(Path(__file__).resolve().parents[1])  # for servers that are modules of the tests
    os.chdir(HOME.name)


@pytest.fixture(scope="session")
def run_folder(request: pytest.FixtureRequest) -> Path:
    """The folder that all workers of the test run share."""
    return Path(getattr(request.config, "workerinput", {}).get("run_folder", HOME.name))


@pytest.fixture(scope="session")
def postgres(run_folder: Path) -> PostgresServer:
    """The PostgreSQL server of the test run. A test that stops or changes a server starts its own."""
    return shared_server(run_folder)


@pytest.fixture(scope="session")
def reused_database(postgres: PostgresServer) -> ReusedDatabase:
    """The PostgreSQL database that the tests of one worker use one after the other."""
    return ReusedDatabase(postgres)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with our schema, to be copied."""
    file = tmp_path_factory.mktemp("template") / "satchel.db"
    open_database(str(file)).close()
    return file


@pytest.fixture
def engine() -> str:
    """The engine of a store. Folders about SQL take `each_engine` of support/variants.py instead."""
    return "sqlite"


@pytest.fixture
def empty_store(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a new store without a schema."""
    if engine == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres")
        return server.fresh()
    return str(tmp_path / "satchel.db")


@pytest.fixture
def store(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a new store with our schema and nothing in it."""
    if engine == "postgres":
        reused: ReusedDatabase = request.getfixturevalue("reused_database")
        return reused.emptied()
    return str(shutil.copy(request.getfixturevalue("sqlite_template"), tmp_path / "satchel.db"))


@pytest.fixture
def database(store: str) -> Iterator[Database]:
    """An open store."""
    database = open_database(store)
    yield database
    database.close()


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts servers in threads of this process and ends them: `serve("todo", store, revision)`."""
    yield from _serving(InProcess)


@pytest.fixture
def serve_process() -> Iterator[Serve]:
    """Starts servers in processes of their own, for what several processes do to one store."""
    yield from _serving(Server)


def _serving(kind: Callable[..., Client]) -> Iterator[Serve]:
    servers: list[Client] = []

    def start(contract: str, store: str, revision: str = NEWEST, *more: str) -> Client:
        server = kind("--contract", contract, "--database", store, *more)
        servers.append(server)
        if revision != NEWEST:
            server.initialize(revision)
        return server

    yield start
    for server in servers:
        assert server.close() == 0, server.stderr
        assert "surprise in" not in server.stderr, server.stderr
