"""The length of long tests: short in `make test`, full in `make soak` (SATCHEL_SOAK=1)."""

import os
from typing import TypeVar

Amount = TypeVar("Amount", int, float, tuple[str, ...])


def amount(quick: Amount, full: Amount) -> Amount:
    """Return the number of rounds, clients or examples: the first for `make test`, the second for `make soak`."""
    return full if os.environ.get("SATCHEL_SOAK") else quick
