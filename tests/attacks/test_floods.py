"""Under every attack the memory of a server stays bounded, and a quiet user loses nothing and is answered.

In full on both engines, with one process and with two; in the quick form each attack once, for a moment.
"""

import threading
from collections.abc import Callable, Iterator

import pytest

from tests.attacks.attackers import ATTACKS, Attack, keep_writing
from tests.attacks.floods import (
    ANSWER_SECONDS,
    MAX_MEMORY_MB,
    PeakMemory,
    QuietUser,
    Site,
    list_titles,
    make_token,
    open_site,
    revoke,
)
from tests.support.process import eventually
from tests.support.soak import amount

SECONDS = amount(0.3, 6.0)  # of each attack
SERVERS = amount(("sqlite 1",), ("sqlite 1", "sqlite 2", "postgres 1", "postgres 2"))
CLIENTS = 8  # who write with a token that is revoked


@pytest.fixture(
    scope="module",
    params=[pytest.param(one, marks=[pytest.mark.postgres] if "postgres" in one else []) for one in SERVERS],
)
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    engine, workers = request.param.split()
    folder = tmp_path_factory.mktemp("floods")
    store = request.getfixturevalue("postgres").fresh() if engine == "postgres" else str(folder / "s.db")
    with open_site(store, folder, int(workers)) as site:
        yield site


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_an_attack_takes_bounded_memory_and_a_quiet_user_is_answered(
    site: Site, attack: Callable[[Attack], None]
) -> None:
    user = make_token(site.store)
    peak = PeakMemory(site.server.process.pid)
    with QuietUser(site.server.port, user) as quiet:
        attack(Attack(site.server.port, site.mallory.header, site.prompt, SECONDS))
    print(f"{peak.mb:.0f} MB, {len(quiet.seconds)} answers, {quiet.median * 1e3:.0f} ms, {quiet.worst * 1e3:.0f} ms")
    assert peak.mb <= MAX_MEMORY_MB
    assert quiet.worst <= ANSWER_SECONDS


def test_a_token_that_is_revoked_writes_nothing_more(site: Site) -> None:
    """Of each connection one request may have begun; the 50 that were sent ahead on it are refused."""
    revoked = make_token(site.store)
    same_user = make_token(site.store, revoked.user)
    attack = Attack(site.server.port, revoked.header, site.prompt, SECONDS * 3)
    writing = threading.Thread(target=keep_writing, args=(attack, CLIENTS))
    with QuietUser(site.server.port, make_token(site.store)):
        writing.start()
        assert eventually(lambda: len(list_titles(site.server, same_user)) > 0)
        revoke(site.store, revoked)
        written = len(list_titles(site.server, same_user))
        writing.join()
    assert len(list_titles(site.server, same_user)) <= written + CLIENTS
