"""The values that travel between the layers: frozen, without behaviour except derived properties.

They are msgspec Structs rather than dataclasses because a cold start already pays for msgspec.
"""

from collections.abc import Sequence
from typing import Final, Literal

from msgspec import UNSET as UNSET
from msgspec import Struct
from msgspec import UnsetType as UnsetType

Timestamp = str  # as clock.now() writes it
Priority = Literal["low", "normal", "high", "urgent"]
TaskStatus = Literal["pending", "review", "completed", "cancelled"]
TaskFilter = Literal["ready", "pending", "in_progress", "review", "completed", "cancelled", "all"]
Reviewer = Literal["people"]
ItemKind = Literal["prompt", "document", "task", "project"]
# review, complete, cancel and reopen are updates of the status of a task; move is one of its project and nothing else;
# note adds a note to a task, and makes no version.
Action = Literal["add", "update", "review", "complete", "cancel", "reopen", "move", "delete", "restore", "note"]
Day = str  # YYYY-MM-DD

DEFAULT_PROJECT: Final = "default"
PERSONAL_PROJECT: Final = "personal"  # its prompts and documents can be read from every project
ALL_PROJECTS: Final = "all"  # stands for every project in lists and searches; no new project can have this name
NAMED_BY_FILE: Final = "the file "  # the start of `Scope.why` if a `.satchel` file names the project
DEFAULT_STORE: Final = "satchel.db"  # in the data folder
MAX_CONTENT_BYTES: Final = 4 * 1024 * 1024
MAX_DESCRIPTION: Final = 10_000  # characters
PRIORITIES: Final[tuple[Priority, ...]] = ("low", "normal", "high", "urgent")
KINDS: Final[tuple[ItemKind, ...]] = ("prompt", "document", "task", "project")


def uri_of(kind: str, key: object, project: str = "") -> str:
    """Return the URI of an item; a document's URI contains `resource`, as in MCP.

    With the project of a prompt or document, the URI names the item in every project.
    """
    return f"satchel://{'resource' if kind == 'document' else kind}/{project}{'/' if project else ''}{key}"


ACTION_WORDS: Final[dict[Action, str]] = {
    "add": "added",
    "update": "changed",
    "review": "sent to review",
    "complete": "completed",
    "cancel": "cancelled",
    "reopen": "reopened",
    "move": "moved",
    "delete": "deleted",
    "restore": "restored",
    "note": "noted",
}


def describe_change(action: Action, fields: Sequence[str]) -> str:
    """Return the action that made a version, in the past tense, and the fields that it changed."""
    done = ACTION_WORDS[action]
    also = "" if action in ("update", "restore") or not fields else ", changed"
    return f"{done}{also} {', '.join(fields)}".rstrip()


STATUSES: Final[tuple[TaskStatus, ...]] = ("pending", "review", "completed", "cancelled")
# The literals and operators of Jinja2, and the words of its `if` and `for`.
JINJA2_WORDS: Final = (
    *("true", "false", "none", "True", "False", "None", "not", "and", "or", "in", "is"),
    *("if", "elif", "else", "endif", "for", "endfor"),
)


class Author(Struct, frozen=True):
    """The author of a change: user, token, program and contract, each empty if unknown."""

    user: str = ""
    token: str = ""  # the token's id
    client: str = ""  # the name by which the client identifies itself
    client_version: str = ""
    contract: str = ""  # the contract, or `cli`
    caller: Literal["", "person", "model"] = ""
    session: str = ""  # four characters that distinguish sessions of one client


class Quota(Struct, frozen=True, kw_only=True):
    """Limits of a user's storage, which includes deleted items and old versions until they expire; 0: no limit."""

    items: int = 0
    bytes: int = 0


class Scope(Struct, frozen=True, kw_only=True):
    """The user, project and rights of a call. The arguments of a call never widen it."""

    project: str = DEFAULT_PROJECT
    why: str = "the default"  # the reason for this project
    user: str | None = None
    projects: tuple[str, ...] | None = None  # the only projects it may enter; None: all
    is_read_only: bool = False
    makes: str = ""  # a project that need not exist: it reads as empty, and the first write creates it
    personal: str = ""  # its prompts and documents can be read in every other project; empty: none
    author: Author = Author()
    quota: Quota | None = None  # None: no limits
    began: Timestamp = ""  # when a command of several transactions began: history has this time for all, as undo groups
    refuses_hidden: bool = False  # refuse invisible characters in new titles and URIs; each contract decides

    @property
    def is_named_by_file(self) -> bool:
        """Whether a `.satchel` file names the project, which must then exist."""
        return self.why.startswith(NAMED_BY_FILE)

    @property
    def is_person(self) -> bool:
        """Whether a person acts, on the page or the command line, and not an agent."""
        return self.author.caller == "person"

    @property
    def owner(self) -> str:
        """The user whose tasks the call reads and writes."""
        assert self.user is not None, "a scope for tasks names a user"
        return self.user


class Identity(Struct, frozen=True, kw_only=True):
    """The caller of an HTTP request, and the rights of the token."""

    user: str
    projects: tuple[str, ...] | None = None  # the only projects they may enter; None: all
    is_read_only: bool = False
    token: str = ""  # the id of the token, if it is Satchel's own


class StoreChange(Struct, frozen=True, array_like=True):
    """A committed change that is announced to every process that watches the store."""

    # prompts, documents: a project's list. prompt (key: its name), document (key: its URI): one item of a project.
    # project: its existence or its contents. task (key: its number): a task of `owner`, in `project` or in none.
    # libraries: the lists of libraries on disk. template (key: the name of its prompt): one template of a library.
    # access: a token or a session of `owner` was revoked.
    # everything: the change is unknown, so anything may have changed.
    what: Literal[
        "prompts", "documents", "prompt", "document", "project", "task", "libraries", "template", "access", "everything"
    ]
    project: str | None = None  # the name, not the number: a project that is deleted and created again has a new number
    owner: str | None = None
    key: str | None = None

    def is_open_to(self, scope: Scope) -> bool:
        """Return whether a scope may learn of the change: it may enter the project, and any owner is its user."""
        if self.owner not in (None, scope.user):
            return False
        is_anywhere = self.project is None and self.what != "task"
        return scope.projects is None or is_anywhere or self.project in scope.projects


class Project(Struct, frozen=True):
    """A named part of the store."""

    number: int
    id: str
    name: str
    created_at: Timestamp
    updated_at: Timestamp
    version: int
    review: Reviewer | None = None  # who must accept a task that an agent completed; None: nobody


class ProjectCounts(Struct, frozen=True):
    """The number of items in a project."""

    prompts: int
    documents: int


class Argument(Struct, frozen=True):
    """A parameter of a prompt; its value is always a text."""

    name: str
    description: str | None
    is_required: bool
    values: tuple[str, ...] = ()  # the suggested values
    is_open: bool = False  # other values are allowed too


def can_be_argument(name: str) -> bool:
    """Return whether a template can use a name for an argument."""
    return name.isascii() and name.isidentifier() and name not in JINJA2_WORDS


class Prompt(Struct, frozen=True, kw_only=True):
    """A text with a name for machines and a title for people; a template if it has arguments or includes texts."""

    number: int  # in order of insertion; never reused
    id: str
    project: int  # the project's number
    name: str
    title: str
    content: str
    tags: tuple[str, ...]
    created_at: Timestamp
    updated_at: Timestamp
    version: int
    description: str | None = None
    arguments: tuple[Argument, ...] = ()
    uses: int = 0  # how often it was fetched to be used; not part of its history
    last_used: Timestamp | None = None
    expires: Day | None = None  # the last day on which it is valid
    replaced_by: str | None = None  # the name of another prompt
    is_constant: bool = False  # a template without arguments, which includes other texts
    layer: str = ""  # the personal project, if it was found there and not in the call's project
    label: str = ""  # the label by which this version was found

    @property
    def is_template(self) -> bool:
        """Whether the prompt is filled in; otherwise, it is plain text."""
        return bool(self.arguments) or self.is_constant


class PromptDraft(Struct, frozen=True, kw_only=True):
    """A new prompt."""

    content: str
    title: str | UnsetType = UNSET  # by default the name
    name: str | None = None  # by default made from the title
    description: str | None = None
    tags: Sequence[str] = ()
    arguments: Sequence[Argument] = ()
    expires: Day | None = None
    replaced_by: str | None = None
    is_constant: bool = False  # as in Prompt


class ListChange(Struct, frozen=True, kw_only=True):
    """Additions to a list and removals from it, for an update that does not replace the list."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


class BlockerChange(Struct, frozen=True, kw_only=True):
    """Blockers to add to a task or remove from it, for an update that does not replace all of them."""

    added: tuple[int, ...] = ()
    removed: tuple[int, ...] = ()


class PromptPatch(Struct, frozen=True, kw_only=True):
    """Changes to a prompt; UNSET keeps a field."""

    title: str | UnsetType = UNSET
    content: str | UnsetType = UNSET
    description: str | UnsetType | None = UNSET
    tags: Sequence[str] | ListChange | UnsetType = UNSET
    arguments: Sequence[Argument] | UnsetType = UNSET
    expires: Day | UnsetType | None = UNSET
    replaced_by: str | UnsetType | None = UNSET
    is_constant: bool = False  # as in Prompt, after a change of the arguments


class TextQuery(Struct, frozen=True, kw_only=True):
    """A query by text and tags."""

    text: str = ""  # in title or content, for a task in title or description, in any case
    tags: Sequence[str] = ()
    needs_all_tags: bool = False  # otherwise, one of the tags is enough

    @property
    def needed_tags(self) -> int:
        """The number of tags that a match must have."""
        return len(self.tags) if self.needs_all_tags else min(1, len(self.tags))


class PromptQuery(TextQuery, frozen=True, kw_only=True):
    """A query for a project's prompts."""

    by_use: bool = False  # most used first; otherwise last updated first


class PromptPosition(Struct, frozen=True):
    """The position of a prompt in a sorted list; the next page starts after it."""

    moment: Timestamp  # its `updated_at`
    number: int
    uses: int = 0  # only in a list by use


class PromptHeader(Struct, frozen=True, kw_only=True):
    """A prompt in MCP's list, with everything that a client needs to request it."""

    number: int
    name: str
    title: str
    description: str | None
    arguments: tuple[Argument, ...]
    layer: str = ""  # as in Prompt


class Excerpt(Struct, frozen=True):
    """A part of a text, and whether the text continues before and after it."""

    text: str
    is_cut_before: bool
    is_cut_behind: bool


class PromptSummary(Struct, frozen=True, kw_only=True):
    """A prompt in a list: everything except most of its content."""

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
    uses: int = 0
    last_used: Timestamp | None = None
    expires: Day | None = None
    replaced_by: str | None = None
    layer: str = ""  # as in Prompt
    project: str = ""  # its name, in a list of several projects


class Page(Struct, frozen=True):
    """A page of a list of prompts, and the total from the same snapshot."""

    items: tuple[PromptSummary, ...]
    total: int


class Document(Struct, frozen=True):
    """A named document with a URI; its MIME type says whether it is text or bytes."""

    number: int
    id: str
    project: int  # the project's number
    name: str
    uri: str
    description: str | None
    mime_type: str
    created_at: Timestamp
    updated_at: Timestamp
    version: int
    size: int  # bytes of the content
    content: str | bytes | None  # None in lists, which do not read it
    expires: Day | None = None  # this and the following as in Prompt
    replaced_by: str | None = None
    layer: str = ""


class DocumentDraft(Struct, frozen=True, kw_only=True):
    """A new document."""

    name: str
    uri: str
    content: str | bytes  # for a text type, text or UTF-8 bytes; for any other, bytes or base64 text
    mime_type: str = "text/plain"
    description: str | None = None
    expires: Day | None = None
    replaced_by: str | None = None


class DocumentPatch(Struct, frozen=True, kw_only=True):
    """Changes to a document; UNSET keeps a field. A URI that is made from the name changes with it."""

    name: str | UnsetType = UNSET
    content: str | bytes | UnsetType = UNSET  # as in a draft
    mime_type: str | UnsetType = UNSET
    description: str | UnsetType | None = UNSET
    expires: Day | UnsetType | None = UNSET
    replaced_by: str | UnsetType | None = UNSET


class Token(Struct, frozen=True, kw_only=True):
    """A stored token; of its secret, the store keeps only a hash."""

    id: str
    name: str  # its purpose; may be empty
    owner: str
    is_read_only: bool
    projects: tuple[str, ...] | None  # the only projects it may enter; None: all
    created_at: Timestamp
    expires_at: Timestamp | None = None
    revoked_at: Timestamp | None = None

    def state(self, now: Timestamp) -> Literal["active", "expired", "revoked"]:
        """Return the token's state at a time."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= now else "active"


class Holder(Struct, frozen=True):
    """The holder of a claim on a task."""

    name: str  # short, for people and models
    key: str  # the same for every call of one agent
    has_session: bool = False  # otherwise several agents may have the same key


class Claim(Struct, frozen=True, kw_only=True):
    """The last claim of a task."""

    holder: str
    holder_key: str
    until: Timestamp  # empty after a release, or if the task is closed
    fence: int  # grows with every claim of the task
    former_key: str = ""  # the holder who lost the task to a takeover, until told
    taken_at: Timestamp = ""


class Task(Struct, frozen=True):
    """A task of one user."""

    number: int  # the integer id that some contracts expose; never reused
    id: str
    owner: str
    title: str
    description: str | None
    completed_at: Timestamp | None  # or the time when it was cancelled
    created_at: Timestamp
    updated_at: Timestamp
    version: int
    project: str | None = None  # the project's name
    project_number: int | None = None
    tags: tuple[str, ...] = ()
    priority: Priority = "normal"
    due: str | None = None  # YYYY-MM-DD
    blocked_by: tuple[int, ...] = ()  # the numbers of all tasks that must be completed before it
    open_blockers: tuple[int, ...] = ()  # those blockers that are still open
    deleted_blockers: tuple[int, ...] = ()  # deleted blockers, which block it again when they are restored
    waits_elsewhere: bool = False  # also blocked by tasks that the caller may not see
    is_cancelled: bool = False
    parent: int | None = None  # the number of the task of which this is a subtask
    review_at: Timestamp | None = None  # since when it waits for a person to accept it
    subtasks: int = 0  # the number of its subtasks
    subtasks_done: int = 0  # the number of those that are closed
    claim: Claim | None = None  # the present claim

    @property
    def is_completed(self) -> bool:
        """Whether the task is completed or cancelled; most contracts do not distinguish the two."""
        return self.completed_at is not None

    @property
    def status(self) -> Literal["pending", "in_progress", "review", "completed", "cancelled"]:
        """The status of the task."""
        if self.is_completed:
            return "cancelled" if self.is_cancelled else "completed"
        if self.review_at is not None:
            return "review"
        return "pending" if self.claim is None else "in_progress"

    @property
    def is_ready(self) -> bool:
        """Whether work on the task can start: it is neither completed nor blocked, and waits for no review."""
        is_open = not self.is_completed and self.review_at is None
        return is_open and not self.open_blockers and not self.waits_elsewhere


class TaskNote(Struct, frozen=True, kw_only=True):
    """A note on a task."""

    at: Timestamp
    text: str
    author: Author


class TaskDraft(Struct, frozen=True, kw_only=True):
    """A new task."""

    title: str
    description: str | None = None
    project: str | None = None  # the project's name
    tags: Sequence[str] = ()
    priority: Priority = "normal"
    due: str | None = None
    blocked_by: Sequence[int] = ()
    parent: int | None = None


class TaskPatch(Struct, frozen=True, kw_only=True):
    """Changes to a task; UNSET keeps a field, None clears it."""

    title: str | UnsetType = UNSET
    description: str | UnsetType | None = UNSET
    project: str | UnsetType | None = UNSET
    tags: Sequence[str] | ListChange | UnsetType = UNSET
    priority: Priority | UnsetType = UNSET
    due: str | UnsetType | None = UNSET
    blocked_by: Sequence[int] | BlockerChange | UnsetType = UNSET
    parent: int | UnsetType | None = UNSET
    status: TaskStatus | UnsetType = UNSET
    # Only for a restore; otherwise the status determines these.
    completed_at: Timestamp | UnsetType | None = UNSET
    review_at: Timestamp | UnsetType | None = UNSET
    is_cancelled: bool | UnsetType = UNSET


class TaskQuery(TextQuery, frozen=True, kw_only=True):
    """A query for a user's tasks."""

    filter: TaskFilter = "ready"
    project: str | None = None  # the project's name
    takes_unfiled: bool = False  # include tasks of no project
    reads_notes: bool = False  # look for the text in notes too
    priority: Priority | None = None
    due_from: str = ""  # the first day on which they may be due
    due_before: str = ""  # the day after the last
    holder_key: str | None = None  # with `ready`: leave out tasks held by others; empty: leave out all held tasks
    has_no_open_subtask: bool = False
    completed_since: Timestamp = ""  # with `completed` or `cancelled`: leave out tasks closed before


class TaskPosition(Struct, frozen=True):
    """The position of a task in a sorted list; the next page starts after it."""

    moment: Timestamp  # completed_at in the filter `completed`, else created_at
    number: int
    priority: int = 0  # priority and due day only in the filters `ready` and `pending`
    due: str | None = None


class Outdated(Struct, frozen=True):
    """A prompt or document that is expired or replaced."""

    kind: str
    name: str
    day: str  # the day on which it expired, or of its last change
    expires: str | None  # None if it is not expired
    replaced_by: str | None
    count: int  # the number of such items in its project


class TagCount(Struct, frozen=True):
    """A tag and the number of prompts that have it."""

    name: str
    prompts: int


class State(Struct, frozen=True, omit_defaults=True):
    """The state of an item in history, except its long text; fields that its kind lacks are empty."""

    id: str
    created_at: Timestamp
    name: str = ""
    title: str = ""
    description: str | None = None
    tags: tuple[str, ...] = ()
    arguments: tuple[Argument, ...] = ()
    is_constant: bool = False
    uri: str = ""
    mime_type: str = ""
    priority: Priority = "normal"
    due: str | None = None
    blocked_by: tuple[int, ...] = ()
    parent: int | None = None
    completed_at: Timestamp | None = None
    is_cancelled: bool = False
    review_at: Timestamp | None = None
    review: Reviewer | None = None  # of a project
    is_binary: bool = False
    expires: Day | None = None
    replaced_by: str | None = None


_UNREAD: Final = State("", "")


class Item(Struct, frozen=True):
    """A prompt, document, task or project: as it is, at an older version, or as it was deleted."""

    kind: ItemKind
    number: int
    id: str
    version: int  # for a deleted item, the version of its deletion
    updated_at: Timestamp
    name: str  # empty for a task
    title: str
    project: int | None  # the number of its project; for a project, its own
    owner: str | None = None  # the owner of a task
    deleted_at: Timestamp | None = None
    former: tuple[int, ...] = ()  # deleted items of the same name, last deleted first; its history includes theirs
    state: State = _UNREAD
    content: str | bytes = ""  # the text of a prompt or document, or its bytes; the description of a task

    @property
    def key(self) -> str:
        """The key by which calls refer to the item: its name, or the number of a task."""
        return f"#{self.number}" if self.kind == "task" else self.name

    @property
    def is_deleted(self) -> bool:
        """Whether the item is in the trash."""
        return self.deleted_at is not None


class Version(Struct, frozen=True):
    """A change of one item, which made a new version; or a note on a task."""

    number: int  # in the order of all changes
    kind: ItemKind
    item: int  # the item's number
    version: int
    action: Action
    at: Timestamp
    project: int | None
    undoes: int | None  # the number of the change that this one reversed
    note: int = 0  # the number of the note that was added; 0 for any other change
    author: Author = Author()
    labels: tuple[str, ...] = ()  # of this version of a prompt; only in the list of its versions

    @property
    def done(self) -> str:
        """The action, as one word in the past tense."""
        return ACTION_WORDS[self.action]


class ChangeQuery(Struct, frozen=True, kw_only=True):
    """A query for changes."""

    since: Timestamp = ""
    until: Timestamp = ""  # changes at this time are left out
    # A client, alone or with its version or session; a contract; `person` or `model`; at least 8 characters of the id
    # of a user or token; or an author as `history.name_author` writes it.
    by: str = ""
    after: int = 0  # the number of a change
    kinds: Sequence[ItemKind] = KINDS  # this and the following apply only to feeds of many items
    before: int = 2**53


EVERY_CHANGE: Final = ChangeQuery()


class Retention(Struct, frozen=True, kw_only=True):
    """How long the store keeps old versions and deleted items."""

    trash_days: int = 30  # 0: deleted items cannot be restored
    history_days: int = 90
    history_versions: int = 20  # the minimum for each item, regardless of age
