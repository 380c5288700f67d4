"""The values that travel between the layers: frozen, and without behaviour beyond what follows from them.

They are msgspec Structs rather than dataclasses because a cold start already pays for msgspec.
"""

from typing import Final, Literal

from msgspec import UNSET, Struct, UnsetType

Timestamp = str  # as clock.now() writes it

DEFAULT_PROJECT: Final = "default"
MAX_CONTENT_BYTES: Final = 4 * 1024 * 1024


class Scope(Struct, frozen=True, kw_only=True):
    """On whose behalf and where a call acts. The transport knows it; the caller's arguments never widen it."""

    project: str = DEFAULT_PROJECT
    why: str = "the default"  # it is this project
    user: str | None = None
    projects: tuple[str, ...] | None = None  # the only ones it may enter; None: all
    is_read_only: bool = False


class Identity(Struct, frozen=True, kw_only=True):
    """Who a request over HTTP comes from, and what was given to him with his token."""

    user: str
    projects: tuple[str, ...] | None = None  # the only ones he may enter; None: all
    is_read_only: bool = False


class StoreChange(Struct, frozen=True, array_like=True):
    """Something in the store is no longer what it was; for whoever shows it."""

    # A list of a project; one prompt (by name) or resource (by URI) of it; a project itself: that it is there, or what
    # it holds; a task (by number) of an owner, in a project or in none; what libraries on disk list; one template of
    # theirs (by the name of its prompt); or everything, where nobody can tell.
    what: Literal[
        "prompts", "resources", "prompt", "resource", "project", "task", "libraries", "template", "everything"
    ]
    project: str | None = None  # by name, as who listens knows it: one that is made anew has another number
    owner: str | None = None
    key: str | None = None


class Project(Struct, frozen=True, kw_only=True):
    """A named corner of the store."""

    number: int
    id: str
    name: str
    created_at: Timestamp


class ProjectCounts(Struct, frozen=True):
    """How much a project holds."""

    prompts: int
    resources: int


class Argument(Struct, frozen=True):
    """What a prompt wants to be told; always a text."""

    name: str
    description: str | None
    is_required: bool
    values: tuple[str, ...] = ()  # that somebody may want to choose from


class Prompt(Struct, frozen=True, kw_only=True):
    """A text with a name for machines and a title for people; where it has arguments, a template."""

    number: int  # order of insertion; never used twice
    id: str
    name: str
    title: str
    content: str
    tags: tuple[str, ...]
    created_at: Timestamp
    updated_at: Timestamp
    version: int
    description: str | None = None
    arguments: tuple[Argument, ...] = ()


class PromptHeader(Struct, frozen=True, kw_only=True):
    """A prompt as MCP lists it: what one has to know to ask for it."""

    number: int
    name: str
    title: str
    description: str | None
    arguments: tuple[Argument, ...]


class Excerpt(Struct, frozen=True):
    """A piece of a text, and whether there is more before and behind it."""

    text: str
    is_cut_before: bool
    is_cut_behind: bool


class PromptSummary(Struct, frozen=True, kw_only=True):
    """A prompt as lists show it: everything but the whole of its content."""

    number: int
    id: str
    name: str
    title: str
    description: str | None
    excerpt: Excerpt
    tags: tuple[str, ...]
    arguments: tuple[Argument, ...]
    created_at: Timestamp
    updated_at: Timestamp
    version: int


class Page(Struct, frozen=True):
    """Some of the prompts that were asked for, and how many there are in all, at one moment."""

    items: tuple[PromptSummary, ...]
    total: int


class Resource(Struct, frozen=True, kw_only=True):
    """A named document with a URI; text or bytes, as its MIME type says."""

    number: int
    id: str
    name: str
    uri: str
    description: str | None
    mime_type: str
    created_at: Timestamp
    updated_at: Timestamp
    version: int
    size: int  # of the content in bytes
    content: str | bytes | None  # None in lists, which do not read it


class Task(Struct, frozen=True, kw_only=True):
    """One thing a user means to do."""

    number: int  # what integer-speaking contracts call the id; never used twice
    id: str
    owner: str
    title: str
    description: str | None = None
    completed_at: Timestamp | None = None
    created_at: Timestamp
    updated_at: Timestamp
    version: int

    @property
    def is_completed(self) -> bool:
        """Whether it is done."""
        return self.completed_at is not None


class Token(Struct, frozen=True, kw_only=True):
    """What a store keeps of a token: everything but the secret, of which nobody has a second copy."""

    id: str
    owner: str
    is_read_only: bool
    projects: tuple[str, ...] | None  # the only ones that it opens; None: all
    created_at: Timestamp
    expires_at: Timestamp | None = None
    revoked_at: Timestamp | None = None

    def state(self, now: Timestamp) -> Literal["active", "expired", "revoked"]:
        """What it is good for at a time."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= now else "active"


Priority = Literal["low", "normal", "high", "urgent"]


class TaskDetails(Task, frozen=True, kw_only=True):
    """A task with all that is known of it."""

    project: str | None = None  # by name
    tags: tuple[str, ...] = ()
    priority: Priority = "normal"
    due: str | None = None  # YYYY-MM-DD
    blocked_by: tuple[int, ...] = ()  # the numbers of all tasks that must be done before it
    open_blockers: tuple[int, ...] = ()  # those that are not done yet
    waits_elsewhere: bool = False  # for tasks of projects that are not open to who asks, and are told to him no nearer

    @property
    def is_ready(self) -> bool:
        """Whether it can be begun: it is not done, and waits for nothing."""
        return not self.is_completed and not self.open_blockers and not self.waits_elsewhere


class TagCount(Struct, frozen=True):
    """A tag in use and the number of prompts that carry it."""

    name: str
    prompts: int


__all__ = [
    "DEFAULT_PROJECT",
    "MAX_CONTENT_BYTES",
    "UNSET",
    "Argument",
    "Excerpt",
    "Identity",
    "Page",
    "Priority",
    "Project",
    "ProjectCounts",
    "Prompt",
    "PromptHeader",
    "PromptSummary",
    "Resource",
    "Scope",
    "StoreChange",
    "TagCount",
    "Task",
    "TaskDetails",
    "Timestamp",
    "Token",
    "UnsetType",
]
