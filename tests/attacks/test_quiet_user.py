"""Under every attack of one user, or of none, a quiet user is answered as at a twin of the server that is not attacked.

On both engines, with one process and with two. The quick form has two processes on PostgreSQL: the tests of single
attacks beside this one have one on SQLite.
"""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from msgspec import Struct

from satchel.storage.database import open_database
from tests.attacks import neighbours
from tests.attacks.attackers import ATTACKS, SLOW_TEMPLATE, Attack, keep_writing
from tests.attacks.support import MAX_MEMORY_MB, Attacked, Bearer, Neighbour, PeakMemory, make_token
from tests.support.process import eventually
from tests.support.soak import amount
from tests.support.web import HANDSHAKE, call

SECONDS = amount(0.3, 6.0)  # of each attack
SERVERS = amount(("postgres 2",), ("sqlite 1", "sqlite 2", "postgres 1", "postgres 2"))
CLIENTS = 8  # who write with a token that is revoked


class Site(Struct, frozen=True):
    """A server with its twin, and who uses it."""

    server: Attacked
    store: str
    mallory: Bearer
    ada: Bearer
    prompt: str  # of 4 MB

    def attack(self, token: Bearer, seconds: float) -> Attack:
        return Attack(self.server, token, self.prompt, seconds)


@pytest.fixture(
    scope="module",
    params=[pytest.param(one, marks=[pytest.mark.postgres] if "postgres" in one else []) for one in SERVERS],
)
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    engine, workers = request.param.split()
    folder = tmp_path_factory.mktemp("quiet")
    make_library(folder / "libraries" / "a")
    store = request.getfixturevalue("postgres").fresh() if engine == "postgres" else str(folder / "s.db")
    mallory, ada = make_token(store), make_token(store)
    options = ("--workers", workers, "--calls-per-minute", "0", "--libraries", str(folder / "libraries"))
    with Attacked("-c", "prompt-store", "-d", store, "--auth", "token", *options) as server:
        headers, body = call("add_prompt", {"title": "long", "content": "word " * 800_000}, revision=HANDSHAKE)
        added = server.ask("POST", "/mcp", [mallory, *headers], body)
        yield Site(server, store, mallory, ada, added.tool["id"])


def make_library(folder: Path) -> None:
    (folder / "prompts").mkdir(parents=True)
    (folder / "twig.toml").write_text('[library]\nname = "a"\n[prompts.slow]\n')
    (folder / "prompts" / "slow.md").write_text(SLOW_TEMPLATE)


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_a_quiet_user_is_served_as_if_there_were_no_attack(site: Site, attack: Callable[[Attack], None]) -> None:
    peak = PeakMemory(site.server.process.pid)
    with Neighbour(site.server, site.ada, tool="list_tags"):
        attack(site.attack(site.mallory, SECONDS))
    print(f"{peak.mb:.0f} MB")
    assert peak.mb < MAX_MEMORY_MB


def test_a_token_that_is_revoked_writes_nothing_more(site: Site) -> None:
    """Of each connection one request may have begun; the 50 that were sent ahead on it are refused."""
    user = str(uuid4())
    id, secret = neighbours.make_token(site.store, user)
    writing = threading.Thread(
        target=keep_writing,
        args=(site.attack(("Authorization", f"Bearer {secret}"), SECONDS * 3), CLIENTS),
    )
    with Neighbour(site.server, site.ada, tool="list_tags"):
        writing.start()
        assert eventually(lambda: count_tasks(site.store, user) > 0)
        neighbours.revoke(site.store, id)
        written = count_tasks(site.store, user)
        writing.join()
    assert count_tasks(site.store, user) <= written + CLIENTS


def count_tasks(store: str, owner: str) -> int:
    database = open_database(store)
    try:
        with database.read() as tx:
            row = tx.one("select count(*) from tasks where owner = :owner", owner=owner)
            return int(row[0]) if row else 0
    finally:
        database.close()
