"""Runs work in several threads at once."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def in_threads(work: Callable[[Any], None], items: Iterable[Any]) -> None:
    """Run an action for all items concurrently; raise the first error."""
    items = list(items)
    with ThreadPoolExecutor(len(items)) as threads:
        for running in [threads.submit(work, item) for item in items]:
            running.result()
