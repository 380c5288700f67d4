"""An issuer with one key, tokens of it, and the clock of what is kept of it."""

from collections.abc import Iterator

import pytest

from satchel.auth import issuer as module
from satchel.auth.oauth import OAuth
from tests.auth.issuer import AUDIENCE, KEY, Issuer, jwk


class Clock:
    """The clock of the cache, which tests advance."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    """An issuer that publishes one key, called one."""
    issuer = Issuer()
    issuer.publish(jwk(KEY, "one"))
    yield issuer
    issuer.close()


@pytest.fixture
def oauth(issuer: Issuer) -> OAuth:
    return OAuth(issuer.url, {AUDIENCE}, keys=f"{issuer.url}/keys")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "monotonic", clock)
    return clock
