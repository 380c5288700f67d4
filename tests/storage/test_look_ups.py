"""Look-ups in an event loop: each sees what its own scope may see, and what cannot be answered at once is left."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import psycopg
import pytest

from satchel.errors import Unanswered
from satchel.model import Scope
from satchel.storage.database import Database, Row, look_ahead, open_database
from tests.storage.test_pool import end_all_others
from tests.support.postgres import PostgresServer
from tests.support.process import PATIENCE
from tests.support.roles import two_roles

WHO = "select current_setting('satchel.user'), current_setting('satchel.projects')"


@pytest.fixture
def roles(postgres: PostgresServer) -> tuple[str, str]:
    """The addresses of the owner of a store, and of a role that owns nothing."""
    return two_roles(postgres)


@pytest.fixture
def database(roles: tuple[str, str]) -> Iterator[Database]:
    database = open_database(roles[1])
    yield database
    database.close()


def ask(sql: str, scope: Scope | None = None) -> Callable[[Database], Row | None]:
    def find(store: Database) -> Row | None:
        with store.read(scope) as tx:
            return tx.one(sql)

    return find


async def answered(database: Database, find: Callable[[Database], Row | None]) -> Row | None:
    """The answer, once there is a connection."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                return await look_ahead(database, find)
            except Unanswered:
                await asyncio.sleep(0.02)


def run(act: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        await act()

    asyncio.run(main())


def test_many_at_once_see_each_what_their_own_scope_shows(database: Database) -> None:
    async def act() -> None:
        scopes = [Scope(user=f"user {number}", projects=(f"p{number}",)) for number in range(50)]
        for _ in range(3):
            found = await asyncio.gather(*(answered(database, ask(WHO, scope)) for scope in scopes))
            assert found == [(f"user {number}", f"p{number}") for number in range(50)]
        assert await answered(database, ask(WHO)) == ("", "*")
        database.close()

    run(act)


def test_a_failure_is_left_to_a_thread_and_so_are_those_behind_it(database: Database) -> None:
    async def act() -> None:
        await answered(database, ask("select 1"))
        good, bad = ask("select 1"), ask("select 1 / 0")
        found = await asyncio.gather(
            *(look_ahead(database, find) for find in (good, bad, good)), return_exceptions=True
        )
        assert isinstance(found[1], Unanswered)
        assert all(one == (1,) or isinstance(one, Unanswered) for one in found)  # and never without rows
        assert await answered(database, good) == (1,)
        database.close()

    run(act)


def test_what_asks_for_more_than_one_statement_is_left_to_a_thread(database: Database) -> None:
    def find_two(store: Database) -> Row | None:
        with store.read() as tx:
            return tx.one("select 1") and tx.one("select 2")

    def lock(store: Database) -> Row | None:
        with store.read() as tx:
            tx.lock("something")
            return tx.one("select 1")

    async def act() -> None:
        await answered(database, ask("select 1"))
        for find in (find_two, lock):
            with pytest.raises(Unanswered):
                await look_ahead(database, find)
        assert await look_ahead(database, lambda _: 5) == 5  # needs no rows at all
        database.close()

    run(act)


def test_what_waits_is_left_to_a_thread_and_holds_up_the_next_ones_no_longer(
    roles: tuple[str, str], database: Database
) -> None:
    async def act() -> None:
        await answered(database, ask("select 1"))
        with psycopg.connect(roles[0]) as locking:
            locking.execute("lock table projects in access exclusive mode")
            with pytest.raises(Unanswered):
                await look_ahead(database, ask("select count(*) from projects"))
            with pytest.raises(Unanswered):  # it would wait behind the other
                await look_ahead(database, ask("select 1"))
        assert await answered(database, ask("select 1")) == (1,)
        database.close()

    run(act)


def test_a_lost_connection_is_made_again(postgres: PostgresServer, roles: tuple[str, str], database: Database) -> None:
    async def act() -> None:
        await answered(database, ask("select 1"))
        end_all_others(postgres.url(str(psycopg.conninfo.conninfo_to_dict(roles[0])["dbname"])))
        assert await answered(database, ask("select 1")) == (1,)
        database.close()

    run(act)


def test_another_event_loop_and_a_closed_store_are_left_to_threads(database: Database) -> None:
    run(lambda: _assert_answered(database))

    async def act() -> None:
        with pytest.raises(Unanswered):
            await look_ahead(database, ask("select 1"))

    run(act)
    database.close()
    run(act)


async def _assert_answered(database: Database) -> None:
    assert await answered(database, ask("select 1")) == (1,)
