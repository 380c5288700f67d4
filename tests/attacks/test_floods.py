"""Under every attack the memory of a server stays bounded, and a quiet user loses nothing and is answered.

In full on both engines, with one process and with two; in the quick form each attack once, for a moment.
"""

from collections.abc import Callable, Iterator

import pytest

from tests.attacks.attackers import ATTACKS, Attack
from tests.attacks.floods import ANSWER_SECONDS, MAX_MEMORY_MB, PeakMemory, QuietUser, Site, make_token, open_site
from tests.support.soak import amount

SECONDS = amount(0.3, 6.0)  # of each attack
SERVERS = amount(("sqlite 1",), ("sqlite 1", "sqlite 2", "postgres 1", "postgres 2"))


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
