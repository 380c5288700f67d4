"""The schema, one numbered step after another. A step that has been released is never edited.

migration  what a step is, and how it reads in the SQL of each engine
step_1     projects, prompts, resources and tasks
step_2     tokens, details of tasks, the history of arguments, and row-level security
step_3     row-level security for search
step_4     history and trash
step_5     the words by which items are found
step_6     claims, notes and cancelled tasks, and the keys of repeated calls
step_7     links between items
step_8     row-level security of what search keeps of tasks
step_9     how much the store keeps of what each user wrote
step_10    the values of arguments go with their prompt
step_11    sessions of browsers
step_12    row-level security of tasks by the projects of a token
step_13    lists of changes of a limited token, words of a deleted item
step_14    the latest changes on PostgreSQL
"""

from collections.abc import Sequence
from importlib import import_module
from typing import overload

from satchel.storage.migrations.migration import Migration
from satchel.storage.migrations.migration import for_postgres as for_postgres
from satchel.storage.migrations.migration import for_sqlite as for_sqlite


class _Steps(Sequence[Migration]):
    """The steps by the names of their modules; each is imported when it is read, which only an older store needs."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def __len__(self) -> int:
        return len(self._names)

    @overload
    def __getitem__(self, place: int) -> Migration: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Migration, ...]: ...

    def __getitem__(self, place: int | slice) -> Migration | tuple[Migration, ...]:
        if isinstance(place, slice):
            return tuple(map(_load, self._names[place]))
        return _load(self._names[place])


def _load(name: str) -> Migration:
    step: Migration = import_module(f"satchel.storage.migrations.{name}").STEP
    return step


MIGRATIONS: Sequence[Migration] = _Steps(
    "step_1",
    "step_2",
    "step_3",
    "step_4",
    "step_5",
    "step_6",
    "step_7",
    "step_8",
    "step_9",
    "step_10",
    "step_11",
    "step_12",
    "step_13",
    "step_14",
)
