"""What a table names and the first use imports, so that a start loads no more than what clients see."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from importlib import import_module
from typing import Any


class FirstCall:
    """The function `module:name`. What it is wrapped in is imported with it."""

    def __init__(self, path: str, wrap: Callable[[Callable[..., Any]], Callable[..., Any]] = lambda it: it) -> None:
        self._path = path
        self._wrap = wrap

    def find(self) -> Callable[..., Any]:
        """The function itself."""
        found: Callable[..., Any] = _import(self._path)
        return found

    @cached_property
    def _wrapped(self) -> Callable[..., Any]:
        return self._wrap(self.find())

    def __call__(self, *arguments: Any) -> Any:
        return self._wrapped(*arguments)


class FirstLookup(Mapping[Any, Any]):
    """The table `module:NAME`, such as that of failures, imported when something is first looked up in it."""

    def __init__(self, path: str) -> None:
        self._path = path

    @cached_property
    def _table(self) -> Mapping[Any, Any]:
        found: Mapping[Any, Any] = _import(self._path)
        return found

    def __getitem__(self, key: Any) -> Any:
        return self._table[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)


def _import(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)
