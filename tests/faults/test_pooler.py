"""PgBouncer before PostgreSQL: in transaction mode with the settings for it, and refused at the start without them."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from satchel.errors import StoreUnusable
from satchel.services import projects
from satchel.storage.changes import EVERYTHING
from satchel.storage.database import Database, open_database
from tests.support.command import run as run_command
from tests.support.pooler import PgBouncer, find_pgbouncer
from tests.support.postgres import PostgresServer
from tests.support.process import PATIENCE, eventually
from tests.support.web import JSON, WebServer

CALLS = 10_000

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(find_pgbouncer() is None, reason="there is no PgBouncer; tools/pgbouncer installs it"),
]


@pytest.fixture(scope="module")
def pooler(postgres: PostgresServer) -> Iterator[PgBouncer]:
    with PgBouncer(postgres, "transaction") as running:
        yield running


@pytest.fixture
def name(postgres: PostgresServer) -> str:
    """Return the name of a database with our schema."""
    name = postgres.create()
    open_database(postgres.url(name)).close()
    return name


@pytest.fixture
def pooled(postgres: PostgresServer, pooler: PgBouncer, name: str) -> Iterator[Database]:
    database = open_database(pooler.url(name), postgres.url(name))
    yield database
    database.close()


# -- refused at the start ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["transaction", "session"])
def test_a_pooler_needs_the_address_of_the_server_only_for_a_migration(postgres: PostgresServer, mode: str) -> None:
    empty = postgres.create()
    with PgBouncer(postgres, mode, 4) as pooler:
        with pytest.raises(StoreUnusable, match=r"must be migrated.*connection pooler.*--database-direct"):
            open_database(pooler.url(empty))
        open_database(pooler.url(empty), postgres.url(empty)).close()
        database = open_database(pooler.url(empty))
        _add_project(database)
        database.close()


def test_a_direct_address_that_leads_to_a_pooler_is_refused(pooler: PgBouncer, name: str) -> None:
    with pytest.raises(StoreUnusable, match=r"--database-direct leads to a connection pooler"):
        open_database(pooler.url(name), pooler.url(name))


def test_a_direct_address_of_another_database_is_refused(
    postgres: PostgresServer, pooler: PgBouncer, name: str
) -> None:
    with pytest.raises(StoreUnusable, match="reach different databases"):
        open_database(pooler.url(name), postgres.fresh())


def test_a_pooler_that_shares_sessions_between_statements_is_refused(postgres: PostgresServer, name: str) -> None:
    with PgBouncer(postgres, "statement") as pooler, pytest.raises(StoreUnusable, match="statement pooling"):
        open_database(pooler.url(name), postgres.url(name))


def _add_project(database: Database) -> None:
    with database.write() as tx:
        projects.add(tx, "p")


# -- and otherwise it works -------------------------------------------------------------------------------------


def test_nothing_is_kept_on_a_shared_session(pooler: PgBouncer, name: str, pooled: Database) -> None:
    for _ in range(12):  # often enough for psycopg to prepare a statement where it may
        for begin, timeout in ((pooled.read, "5s"), (pooled.write, "20s")):
            with begin() as tx:
                assert tx.one("select current_setting('statement_timeout')") == (timeout,)
        assert pooled.look_up(lambda tx: tx.one("select current_setting('lock_timeout')")) == ("10s",)
    with psycopg.connect(pooler.url(name), prepare_threshold=None) as stranger:
        assert stranger.execute("select count(*) from pg_prepared_statements").fetchone() == (0,)
        assert stranger.execute("select current_setting('statement_timeout')").fetchone() == ("0",)


def test_changes_are_heard_through_the_pooler(pooled: Database) -> None:
    heard: list[object] = []
    pooled.watch(heard.extend)
    _add_project(pooled)
    assert eventually(lambda: bool(heard)) and EVERYTHING not in heard


def test_many_calls_beside_a_stranger_with_prepared_statements_are_all_right(
    postgres: PostgresServer, pooler: PgBouncer, name: str
) -> None:
    """The stranger prepares statements under the very names that psycopg would give to ours."""
    is_over = threading.Event()

    def disturb() -> None:
        while not is_over.is_set():
            with psycopg.connect(pooler.url(name), autocommit=True, prepare_threshold=None) as stranger:
                for number in range(20):
                    try:
                        stranger.execute(f"prepare _pg3_{number} as select 'of a stranger', 1, 2, 3")
                    except psycopg.errors.DuplicatePreparedStatement:
                        is_over.wait(0.01)

    arguments = ("-c", "tasks", "-d", pooler.url(name), "--database-direct", postgres.url(name))
    stranger = threading.Thread(target=disturb)
    stranger.start()
    try:
        with WebServer(*arguments) as one, WebServer(*arguments) as other, ThreadPoolExecutor(16) as clients:

            def add(number: int) -> object:
                server = (one, other)[number % 2]
                body = json.dumps({"title": f"task {number}"}).encode()
                answer = server.ask("POST", "/mcp/tool/add_task", [JSON], body)
                return answer.status, answer.json["data"]["title"]

            expected = [(200, f"task {number}") for number in range(CALLS)]
            assert list(clients.map(add, range(CALLS))) == expected
            assert one.ask("GET", "/health").status == 200
    finally:
        is_over.set()
        stranger.join(PATIENCE)
    with psycopg.connect(postgres.url(name)) as looking:
        found = {title for (title,) in looking.execute("select title from tasks")}
    assert found == {f"task {number}" for number in range(CALLS)}


# -- the command line -------------------------------------------------------------------------------------------------


def test_commands_that_look_at_the_store_use_the_address_of_the_server_itself(
    postgres: PostgresServer, pooler: PgBouncer, name: str
) -> None:
    addresses = {"SATCHEL_DATABASE": pooler.url(name), "SATCHEL_DATABASE_DIRECT": postgres.url(name)}
    assert run_command("project", "create", "garden", environment=addresses).returncode == 0
    examined = run_command("doctor", "--json", environment=addresses)
    found = {one["check"]: one["status"] for one in json.loads(examined.stdout)["findings"]}
    assert (found["store"], found["schema"]) == ("ok", "ok") and found["search"] in ("ok", "note"), examined.stdout
    words = {"_SATCHEL_COMPLETE": "bash_complete", "COMP_WORDS": "satchel project delete gar", "COMP_CWORD": "3"}
    completed = run_command(environment={**addresses, **words})
    assert completed.stdout == b"plain,garden\n", completed
    installed = run_command("install", "zed", "--print", "--project", "garden", environment=addresses)
    assert installed.returncode == 0 and b"does not exist yet" not in installed.stderr, installed.stderr
