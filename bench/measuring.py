"""The one way of measuring: every round runs each case once, in rotation, so that other load affects all alike."""

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field


@dataclass
class Case:
    """Something that is measured repeatedly: `run` gets the number of the round and returns a value."""

    name: str
    run: Callable[[int], float]
    values: list[float] = field(default_factory=list)
    first: float | None = None  # the very first value, which may have been a warm-up
    failure: str = ""  # why it was given up

    @property
    def median(self) -> float:
        """The middle value."""
        return statistics.median(self.values)

    @property
    def spread(self) -> str:
        """The quartiles."""
        return f"{show(quantile(self.values, 0.25))}–{show(quantile(self.values, 0.75))}"

    @property
    def summary(self) -> str:
        """The median, with the quartiles in parentheses."""
        return f"{show(self.median)} ({self.spread})"


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value below which a share of all values lies."""
    ordered = sorted(values)
    return ordered[round(share * (len(ordered) - 1))]


def show_tail(values: Sequence[float], share: float) -> str:
    """Format a high quantile, or a dash if fewer than ten samples lie above it."""
    return show(quantile(values, share)) if len(values) * (1 - share) >= 9.99 else "–"


def count_samples(cases: Iterable[Case]) -> str:
    """Format how many samples the cases have: one number, or a range."""
    counts = sorted(len(case.values) for case in cases if case.values) or [0]
    return f"{counts[0]}" if counts[0] == counts[-1] else f"{counts[0]}–{counts[-1]}"


def interleave(
    cases: Sequence[Case],
    rounds: int,
    *,
    warmup: int = 1,
    budget: float = 60.0,  # seconds that one case may take in all
    step: Callable[[], None] = lambda: None,
) -> None:
    """Run all cases in rotation. A case that fails stops there, and keeps the reason."""
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
    """Return the milliseconds that something takes."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def show(value: float) -> str:
    """Format a figure with three significant digits."""
    if value >= 100 or value == 0:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.095 else f"{value:.3f}"
