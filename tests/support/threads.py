"""Runs work in several threads at once."""

import threading
from collections.abc import Callable, Iterable
from typing import Any


def in_threads(work: Callable[[Any], None], items: Iterable[Any]) -> None:
    """Run an action for all items concurrently; raise the first error."""
    errors: list[BaseException] = []

    def run(item: Any) -> None:
        try:
            work(item)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(item,)) for item in items]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
