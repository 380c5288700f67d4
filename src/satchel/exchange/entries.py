"""The values between a format and the store: the prompts, documents, tasks and problems of a file."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from satchel.model import Argument, Priority, TaskStatus

Kind = Literal["prompt", "document", "task"]
KINDS: tuple[Kind, ...] = ("prompt", "document", "task")


class Unreadable(Exception):
    """A file, or an entry of it, cannot be read or written; the message has the reason and the remedy."""


class Problem(Struct, frozen=True, omit_defaults=True):
    """A file or entry that could not be read or stored: its place, and the reason."""

    where: str
    what: str
    is_harmless: bool = False  # skipped on purpose


class NoteEntry(Struct, frozen=True):
    """A note on a task; the time is empty if it is unknown."""

    text: str
    at: str = ""


class _Entry(Struct, frozen=True, kw_only=True):
    project: str | None = None  # None: the project of the import
    where: str = ""
    notes: tuple[str, ...] = ()  # sentences on differences from the file

    @property
    def label(self) -> str:
        """The name that a report uses."""
        return str(getattr(self, "name", None) or getattr(self, "title", ""))


class PromptEntry(_Entry, frozen=True, kw_only=True):
    """A prompt in a file."""

    title: str
    content: str
    name: str | None = None  # None: made from the title
    description: str | None = None
    tags: tuple[str, ...] = ()
    arguments: tuple[Argument, ...] = ()
    expires: str | None = None
    replaced_by: str | None = None
    is_constant: bool = False  # as in Prompt
    labels: Mapping[str, int] = {}  # of versions; only written, because the versions are not exported
    kind: Kind = "prompt"


class DocumentEntry(_Entry, frozen=True, kw_only=True):
    """A document in a file."""

    name: str
    content: str | bytes
    mime_type: str = "text/plain"
    uri: str = ""  # empty: made from the name
    description: str | None = None
    expires: str | None = None
    replaced_by: str | None = None
    kind: Kind = "document"


class TaskEntry(_Entry, frozen=True, kw_only=True):
    """A task in a file; `project` is empty if it has none."""

    title: str
    description: str | None = None
    status: TaskStatus = "pending"
    priority: Priority = "normal"
    due: str | None = None
    tags: tuple[str, ...] = ()
    completed_at: str | None = None  # a timestamp; None: unknown, or the task is open
    key: str = ""  # the name by which other tasks of the same file refer to it
    after: tuple[str, ...] = ()  # the keys of its blockers
    parent: str = ""  # the key of the task of which it is a subtask
    comments: tuple[NoteEntry, ...] = ()
    kind: Kind = "task"

    @property
    def others(self) -> tuple[str, ...]:
        """The keys of the tasks that it refers to, each once."""
        return tuple(dict.fromkeys([*self.after, *([self.parent] if self.parent else [])]))


Entry = PromptEntry | DocumentEntry | TaskEntry
Found = Entry | Problem
