"""The threads in which requests are answered, because the database is asked synchronously."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

COUNT = 32  # most of them wait: for the disk, the write lock, or the database server

P = ParamSpec("P")
T = TypeVar("T")


class Threads:
    """A pool of threads, with one kept apart for the question whether we are well."""

    def __init__(self) -> None:
        self._many = ThreadPoolExecutor(COUNT, thread_name_prefix="satchel-call")
        self._apart = ThreadPoolExecutor(1, thread_name_prefix="satchel-health")

    async def run(self, act: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run something in one of the threads."""
        assert not kwargs, "positional arguments only"
        return await asyncio.get_running_loop().run_in_executor(self._many, act, *args)

    async def run_apart(self, act: Callable[[], T]) -> T:
        """Run something that must not wait behind requests."""
        return await asyncio.get_running_loop().run_in_executor(self._apart, act)

    def close(self) -> None:
        """Take no more work; what is at hand has been waited for."""
        self._many.shutdown(wait=False, cancel_futures=True)
        self._apart.shutdown(wait=False, cancel_futures=True)
