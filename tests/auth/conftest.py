"""The clock of what is kept of an issuer."""

import pytest

from satchel.auth import issuer as module


class Clock:
    """The clock of the cache, which tests advance."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "monotonic", clock)
    return clock
