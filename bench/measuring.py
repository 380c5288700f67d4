"""The one way of measuring: every round runs each case once, in rotation, so that a busy moment hits all alike."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


@dataclass
class Case:
    """Something that is measured again and again: `run` gets the number of the round and returns a value."""

    name: str
    run: Callable[[int], float]
    values: list[float] = field(default_factory=list)
    first: float | None = None  # the very first value, which may have been a warm-up
    failure: str = ""  # why it was given up

    @property
    def median(self) -> float:
        """The middle value."""
        return statistics.median(self.values)

    def quantile(self, share: float) -> float:
        """The value below which a share of all values lies."""
        ordered = sorted(self.values)
        return ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))]

    @property
    def spread(self) -> str:
        """The quartiles."""
        return f"{show(self.quantile(0.25))}–{show(self.quantile(0.75))}"


def interleave(
    cases: Sequence[Case],
    rounds: int,
    *,
    warmup: int = 1,
    budget: float = 60.0,  # seconds of one case, after which it has had enough rounds
    step: Callable[[], None] = lambda: None,
) -> None:
    """Run all cases in rotation. A case that fails is left out from then on, and says why."""
    spent = dict.fromkeys(range(len(cases)), 0.0)
    for round in range(rounds + warmup):
        for place in range(len(cases)):
            number = (place + round) % len(cases)
            case = cases[number]
            if case.failure or (spent[number] > budget and case.values):
                continue
            started = time.perf_counter()
            try:
                value = case.run(round)
            except (RuntimeError, OSError) as error:
                case.failure = str(error)[:200]
                continue
            spent[number] += time.perf_counter() - started
            if case.first is None:
                case.first = value
            if round >= warmup:
                case.values.append(value)
        step()


def time_ms(work: Callable[[], object]) -> float:
    """The milliseconds that something takes."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def show(value: float) -> str:
    """A figure with three digits that count."""
    if value >= 100 or value == 0:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.095 else f"{value:.3f}"
