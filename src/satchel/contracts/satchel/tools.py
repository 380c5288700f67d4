"""The tools of the `satchel` contract as clients see them: inputs, schemas of answers, the table of all tools.

The functions are in the modules of the nouns, which the first call of a tool imports. This halves the start time.
"""

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Annotated, Any, Literal, get_args

from msgspec import UNSET, Meta, Struct, UnsetType, field

from satchel import model
from satchel.contracts.contract import Body, Context, Tool, Transaction
from satchel.contracts.satchel.app import describe_ui
from satchel.contracts.schema import Schema, answer_schema, hidden
from satchel.errors import VersionConflict, WrongArgument
from satchel.model import ALL_PROJECTS, MAX_CONTENT_BYTES, PRIORITIES, STATUSES, TaskFilter, TaskStatus
from satchel.services.rules import MAX_CLAIM_MINUTES, MAX_NAME, MAX_TITLE

# -- arguments of several tools -----------------------------------------------------------------------------------
# Descriptions are short, because a client gives all of them to a model before the first question.

MOST_ENTRIES = 200  # entries in one call

_LINE = hidden(is_trimmed=True, max_length=10_000)
_NAME = hidden(is_trimmed=True, max_length=MAX_NAME)
_QUERY = hidden(max_length=1000)
_NUMBER = hidden(minimum=1, maximum=2**63 - 1)
_ITEM = hidden(takes_numbers=True, is_trimmed=True, max_length=2000, is_blank_refused=True)

Text = Annotated[str, Meta(extra=_LINE)]
Project = Annotated[str, Meta(extra=_NAME)]
Tags = Annotated[list[str], Meta(extra=hidden(max_items=100))]
ChangedTags = Annotated[list[str], Meta(description="The whole list, or +x and -x", extra=hidden(max_items=100))]
Match = Annotated[Literal["any", "all"], Meta(extra_json_schema={"enum": ["any", "all"]})]
Limit = Annotated[int, Meta(le=200, extra=hidden(minimum=1))]
Key = Annotated[str, Meta(description="Makes a retry safe", extra=hidden(max_length=200))]
Cursor = Annotated[str, Meta(extra=hidden(max_length=2000))]
Version = Annotated[int, Meta(extra=_NUMBER)]
Status = Annotated[TaskStatus, Meta(extra_json_schema={"enum": [*STATUSES]})]  # in this order, which msgspec loses
Lines = Annotated[
    str, Meta(description="Like 10-40", extra=hidden(takes_numbers=True, is_trimmed=True, max_length=100))
]
Heading = Annotated[str, Meta(extra=hidden(is_trimmed=True, max_length=1000))]
DryRun = Annotated[bool, Meta(description="Only list changes")]
# Days after which an item is out of date, and what replaces it.
Expires = Annotated[str, Meta(description="YYYY-MM-DD", extra=_LINE)]
ReplacedBy = Annotated[str, Meta(description="Its successor", extra=hidden(is_trimmed=True, max_length=2000))]


class InProject(Struct, kw_only=True):
    """The arguments of a tool that works in one project: the current one, unless the call names another."""

    project: Project | UnsetType = UNSET


class InProjects(Struct, kw_only=True):
    """The arguments of a tool that works in one project or, with `all`, in all of them."""

    project: Annotated[str, Meta(description="Or all", extra=_NAME)] | UnsetType = UNSET


# -- answers ------------------------------------------------------------------------------------------------------
# An answer omits members that have their default value.


class DeclaredArgument(Struct, omit_defaults=True):
    """An argument of a prompt."""

    name: str
    description: str = ""
    required: bool = False
    values: list[str] = []
    open: bool = False


class VersionLabel(Struct):
    """A label, and the version that it names."""

    label: str
    version: int


class PromptAnswer(Struct, omit_defaults=True, kw_only=True):
    """The members that a list, the echo of a change and a whole prompt share."""

    name: str
    layer: str = field(default="", name="from")  # the personal project
    title: str | None = None  # in lists and echoes, only if it differs from the name
    version: int | None = None  # not in lists; libraries' prompts have none
    description: str | None = None
    tags: tuple[str, ...] = ()
    labels: tuple[VersionLabel, ...] = ()  # not in lists
    uses: int = 0
    last_used: str | None = None
    expires: str | None = None  # a day
    replaced_by: str | None = None


class PromptRow(PromptAnswer, kw_only=True):
    """A prompt in a list or an echo of a change."""

    project: str = ""  # in a list of all projects
    arguments: tuple[str, ...] = ()  # the names of the arguments


class WholePrompt(PromptAnswer, kw_only=True):
    """A prompt with its content, or a part of it."""

    arguments: tuple[DeclaredArgument, ...] = ()
    created: str | None = None
    updated: str | None = None
    label: str = ""  # by which this version was found
    lines: str = ""
    of: int = 0
    outline: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()  # the names of the texts that a template includes
    links: tuple[str, ...] = ()
    linked_from: tuple[str, ...] = ()
    content: str = ""


class DocumentAnswer(Struct, omit_defaults=True, kw_only=True):
    """A document: whole, in a list, or in an echo of a change."""

    name: str
    layer: str = field(default="", name="from")  # the personal project
    project: str = ""  # in a list of all projects
    size: int | None = None
    version: int = 0  # not in lists
    uri: str | None = None  # omitted if derived from the name; in lists and echoes, the type too
    mime_type: str | None = None
    description: str | None = None
    expires: str | None = None
    replaced_by: str | None = None
    created: str | None = None
    updated: str | None = None
    lines: str = ""
    of: int = 0
    outline: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    linked_from: tuple[str, ...] = ()
    text: str | None = None


class TaskRow(Struct, omit_defaults=True):
    """A task in a list or an echo."""

    number: int
    title: str
    status: str = "pending"
    priority: str = "normal"
    due: str | None = None
    tags: tuple[str, ...] = ()
    project: str | UnsetType | None = UNSET  # omitted if it is the answer's project
    blocked_by: tuple[int, ...] = ()  # the open blockers
    blocked_elsewhere: bool = False  # by tasks that the caller may not see
    parent: int | None = None
    subtasks: str = ""  # the number of its closed subtasks and of all, as in 2/5
    unticked: int = 0  # the number of `- [ ]` in its description
    holder: str = ""
    until: str = ""
    version: int | UnsetType = UNSET  # in echoes of writes


class Neighbour(Struct, omit_defaults=True):
    """A task that blocks another or waits for it, a parent or a subtask."""

    number: int
    title: str
    status: str = "pending"
    due: str | None = None
    project: str | UnsetType | None = UNSET  # omitted if it is the other's project


class Note(Struct):
    """A note on a task."""

    at: str
    by: str
    text: str


class WholeTask(Struct, omit_defaults=True):
    """A task with everything that the caller may see."""

    number: int
    title: str
    status: str
    version: int
    created: str
    updated: str
    completed: str = ""  # or the time when it was cancelled
    description: str | None = None
    priority: str = "normal"
    due: str | None = None
    tags: tuple[str, ...] = ()
    project: str | UnsetType | None = UNSET
    blocked_by: list[Neighbour] = []
    blocked_elsewhere: bool = False
    blocks: list[Neighbour] = []
    parent: Neighbour | None = None
    subtasks: str = ""  # as in a row
    children: list[Neighbour] = []  # the first of its subtasks
    unticked: int = 0
    holder: str = ""
    until: str = ""
    fence: int = 0
    notes: list[Note] = []
    older_notes: int = 0  # the number of notes left out
    links: tuple[str, ...] = ()
    linked_from: tuple[str, ...] = ()


class Hit(Struct, omit_defaults=True):
    """An item that a search found."""

    kind: str
    reference: str
    title: str
    status: str = "pending"  # for a task
    line: int | None = None
    text: str = ""
    layer: str = field(default="", name="from")  # the personal project
    project: str = ""  # in a search of all projects
    expires: str | None = None  # only if it is expired
    replaced_by: str | None = None


# -- schemas of answers -------------------------------------------------------------------------------------------

STRING: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
BOOLEAN: Schema = {"type": "boolean"}


def list_of(items: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": items}


def object_of(*required: str, **members: Schema) -> Schema:
    """Return the schema of an object with these members, some of them required."""
    return {"type": "object", "properties": members, "required": list(required)}


def answer_of(*answers: str, **members: Schema) -> Schema:
    """Return the schema of a tool's answers; each of `answers` lists the required members of one kind of answer."""
    choices = [{"required": ["project", *names.split()]} for names in answers]
    properties = {"project": STRING, **members, "notes": STRINGS, "error": ERROR}
    return {"type": "object", "properties": properties, "oneOf": [*choices, {"required": ["error"]}]}


STRINGS = list_of(STRING)
PROMPT, WHOLE_PROMPT, DOCUMENT = answer_schema(PromptRow), answer_schema(WholePrompt), answer_schema(DocumentAnswer)
TASK, WHOLE_TASK, HIT = answer_schema(TaskRow), answer_schema(WholeTask), answer_schema(Hit)
TASKS = list_of(TASK)
ITEM: Schema = {
    "type": "object",
    "properties": {"kind": STRING, **DOCUMENT["properties"], **PROMPT["properties"], **TASK["properties"]},
}
COUNTED = object_of(
    "name",
    **dict.fromkeys(("name", "review"), STRING),
    **dict.fromkeys(("prompts", "documents", "open_tasks", "changes"), INTEGER),
)
VERSION = {"version": INTEGER, **dict.fromkeys(("at", "action", "by"), STRING)}
# A version in the history of an item has the fields that it changed. A note has its text, and makes no version.
CHANGE = object_of("kind", "item", *VERSION, kind=STRING, item=STRING, title=STRING, text=STRING, **VERSION)
VERSIONS = list_of(object_of(*VERSION, **VERSION, fields=STRINGS, labels=STRINGS, text=STRING))
FILLED_IN = {"name": STRING, "from": STRING, "text": STRING, "version": INTEGER, "label": STRING}
DELETED = object_of("kind", "item", kind=STRING, item=STRING, title=STRING)
REFERRED = list_of(object_of("item", "by", item=STRING, by=STRINGS))
LINE = object_of("line", "text", line=INTEGER, text=STRING)
RESTORED = object_of(
    *("kind", "item", "version", "from_version", "changed"),
    **dict.fromkeys(("kind", "item"), STRING),
    **dict.fromkeys(("version", "from_version"), INTEGER),
    changed=BOOLEAN,
    lines=STRINGS,
)
ERROR = object_of(
    *("code", "message", "hint"),
    **dict.fromkeys(("code", "message", "hint", "argument", "deleted", "holder", "until"), STRING),
    **dict.fromkeys(("version", "count", "blocked", "held"), INTEGER),
    **dict.fromkeys(("versions", "lines"), list_of(INTEGER)),
    near={"anyOf": [STRINGS, LINE]},  # similar names; for an edit, the most similar line
)

# -- rows of the table --------------------------------------------------------------------------------------------

# The effects of a tool on the store, as its annotations describe them to clients.
READS = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
ADDS = {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": False, "openWorldHint": False}
UPDATES = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True, "openWorldHint": False}
EDITS = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": False}
COMPLETES = {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}


# -- search, catch_up, projects -----------------------------------------------------------------------------------


class Search(Struct):
    query: Annotated[
        str, Meta(description='In "quotes": literally', extra=hidden(max_length=1000, is_blank_refused=True))
    ]
    kind: Literal["prompt", "document", "task"] | UnsetType = UNSET
    project: Annotated[str, Meta(description="Or all", extra=_NAME)] | UnsetType = UNSET
    limit: Annotated[int, Meta(le=50, extra=hidden(minimum=1))] = 10
    cursor: Cursor | UnsetType = UNSET


class CatchUp(InProject):
    since: Annotated[str, Meta(description="Time, 2h or marker", extra=_LINE)] | UnsetType = UNSET


class Remember(InProject):
    text: Annotated[str, Meta(extra=hidden(is_trimmed=True, max_length=1000, is_blank_refused=True))]


class AddProject(Struct):
    name: Annotated[str, Meta(extra=_NAME)]


class ListProjects(Struct):
    pass


# -- prompts ------------------------------------------------------------------------------------------------------


class NewPrompt(Struct):
    title: str
    content: str
    name: str = ""
    description: str = ""
    tags: list[str] = []
    arguments: list[DeclaredArgument] | UnsetType = UNSET


PromptReference = Annotated[
    str,
    Meta(
        description="Name, name@label, title or id",
        extra=hidden(takes_numbers=True, max_length=500, is_blank_refused=True),
    ),
]
PromptTitle = Annotated[str, Meta(extra=hidden(is_trimmed=True, max_length=MAX_TITLE, is_blank_refused=True))]
PromptContent = Annotated[str, Meta(extra=hidden(max_bytes=MAX_CONTENT_BYTES, is_blank_refused=True))]
Arguments = Annotated[list[DeclaredArgument], Meta(description="[]: plain text", extra=hidden(max_items=100))]
# This refers to add_prompts, whose schema a model has seen.
ChangedArguments = Annotated[
    list[DeclaredArgument],
    Meta(
        description="As in add_prompts; []: plain text",
        extra_json_schema={"items": {"type": "object"}},
        extra=hidden(max_items=100),
    ),
]
Values = Annotated[dict[str, str], Meta(extra=hidden(max_items=100))]


class AddPrompts(InProject):
    prompts: Annotated[
        list[NewPrompt],
        Meta(
            description='{{ x }} or {% include "name" %} in content makes a Jinja2 template',
            extra=hidden(max_items=MOST_ENTRIES),
        ),
    ]
    key: Key | UnsetType = UNSET


class AddPrompt(InProject):
    title: PromptTitle
    content: PromptContent
    name: Annotated[str, Meta(description="Default: from the title", extra=_LINE)] | UnsetType = UNSET
    description: Text | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET
    arguments: Arguments | UnsetType = UNSET


class UpdatePrompt(InProject):
    prompt: PromptReference
    title: PromptTitle | UnsetType = UNSET
    content: PromptContent | UnsetType = UNSET
    description: Text | UnsetType = UNSET
    tags: ChangedTags | UnsetType = UNSET
    arguments: ChangedArguments | UnsetType = UNSET
    expires: Expires | UnsetType = UNSET
    replaced_by: ReplacedBy | UnsetType = UNSET
    label: Annotated[str, Meta(description="For version; -label removes it", extra=_LINE)] | UnsetType = UNSET
    version: Annotated[int, Meta(description="Default: newest", extra=_NUMBER)] | UnsetType = UNSET
    expected_version: Version | UnsetType = UNSET


class ListPrompts(InProjects):
    query: Annotated[str, Meta(description="Text in title or content", extra=_QUERY)] | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET
    match: Match = "any"
    sort: Literal["new", "used"] = "new"
    limit: Limit = 50
    cursor: Cursor | UnsetType = UNSET


class GetPrompt(InProject):
    prompt: PromptReference
    arguments: Values | UnsetType = UNSET
    lines: Lines | UnsetType = UNSET
    heading: Heading | UnsetType = UNSET
    whole: bool | UnsetType = UNSET


class RenderPrompt(InProject):
    prompt: PromptReference
    arguments: Values | UnsetType = UNSET


# -- documents ----------------------------------------------------------------------------------------------------


class NewDocument(Struct):
    name: str
    content: str
    uri: str = ""
    mime_type: str = ""
    description: str = ""


DocumentReference = Annotated[
    str, Meta(description="Name or URI", extra=hidden(takes_numbers=True, max_length=2000, is_blank_refused=True))
]
DocumentContent = Annotated[str, Meta(description="Text; base64 for binary types")]


class AddResources(InProject):
    resources: Annotated[
        list[NewDocument],
        Meta(
            description="content is text, or base64; mime_type defaults by name", extra=hidden(max_items=MOST_ENTRIES)
        ),
    ]
    key: Key | UnsetType = UNSET


class AddResource(InProject):
    name: Annotated[str, Meta(description="Letters, digits, - _ .", extra=_LINE)]
    content: DocumentContent
    uri: Annotated[str, Meta(description="Default: satchel://resource/NAME", extra=_LINE)] | UnsetType = UNSET
    mime_type: Annotated[str, Meta(description="Default: from the name", extra=_LINE)] | UnsetType = UNSET
    description: Text | UnsetType = UNSET


class ListResources(InProjects):
    query: Annotated[str, Meta(description="Text in name, URI or description", extra=_QUERY)] | UnsetType = UNSET
    limit: Limit = 50
    cursor: Cursor | UnsetType = UNSET


class ReadResource(InProject):
    resource: DocumentReference
    lines: Lines | UnsetType = UNSET
    heading: Heading | UnsetType = UNSET
    whole: bool | UnsetType = UNSET


class UpdateResource(InProject):
    resource: DocumentReference
    name: Text | UnsetType = UNSET
    content: DocumentContent | UnsetType = UNSET
    mime_type: Text | UnsetType = UNSET
    description: Text | UnsetType = UNSET
    expires: Expires | UnsetType = UNSET
    replaced_by: ReplacedBy | UnsetType = UNSET
    expected_version: Version | UnsetType = UNSET


# -- parts of texts -----------------------------------------------------------------------------------------------


class NewEdit(Struct):
    old: str
    new: str
    all: bool = False


Added = Annotated[str, Meta(extra=hidden(max_bytes=MAX_CONTENT_BYTES))]


class EditText(InProject):
    item: Annotated[str, Meta(description="Name, #4 or URI", extra=_ITEM)]
    edits: (
        Annotated[list[NewEdit], Meta(description="old must occur once, unless all", extra=hidden(max_items=100))]
        | UnsetType
    ) = UNSET
    append: Added | UnsetType = UNSET
    prepend: Added | UnsetType = UNSET
    expected_version: Version | UnsetType = UNSET


# -- tasks --------------------------------------------------------------------------------------------------------

TASK_FIELDS = ("title", "description", "status", "tags", "priority", "due", "blocked_by", "parent", "to")

TaskTitle = Annotated[str, Meta(extra=hidden(is_trimmed=True, max_length=500, is_blank_refused=True))]
TaskReference = Annotated[
    str, Meta(description="#4, title or URI", extra=hidden(takes_numbers=True, max_length=500, is_blank_refused=True))
]
Priority = Annotated[model.Priority, Meta(extra_json_schema={"enum": [*PRIORITIES]}, extra=hidden(ignores_case=True))]
# Without the choices, which a model has seen in update_task.
KnownStatus = Annotated[TaskStatus, Meta(extra_json_schema={"enum": None})]
KnownPriority = Annotated[model.Priority, Meta(extra_json_schema={"enum": None}, extra=hidden(ignores_case=True))]
Blockers = Annotated[list[str], Meta(extra=hidden(max_items=100, takes_numbers=True))]
Day = Annotated[str, Meta(description="YYYY-MM-DD", extra=_LINE)]
Fence = Annotated[int, Meta(description="From your claim", extra=_NUMBER)]

_PARENT = hidden(takes_numbers=True, is_trimmed=True, max_length=500)
_FILTERS = [*get_args(TaskFilter)]  # in this order, which msgspec loses
_GRAMMAR = (
    "Title !high due:2026-12-01 +tag @project after:#7,2 in:#5 - #7 is a task, 2 the second here; "
    "indented: description, or a subtask after '- '"
)


class AddTask(Struct):
    title: TaskTitle
    description: Text | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET
    priority: Priority = "normal"
    due: Day | UnsetType = UNSET
    blocked_by: Blockers | UnsetType = UNSET
    parent: Annotated[str, Meta(extra=_PARENT)] | UnsetType = UNSET
    project: Project | UnsetType = UNSET


class ListTasks(Struct):
    status: (
        Annotated[
            TaskFilter,
            Meta(
                description="ready: can start now; pending: all open",
                extra_json_schema={"enum": _FILTERS, "default": "ready"},  # but pending if due is given
            ),
        ]
        | UnsetType
    ) = UNSET
    query: Annotated[str, Meta(description="Text in title or description", extra=_QUERY)] | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET
    match: Match = "any"
    due: (
        Annotated[str, Meta(description="overdue, today, week (next 7 days), <2026-12-01", extra=_LINE)] | UnsetType
    ) = UNSET
    priority: KnownPriority | UnsetType = UNSET
    limit: Limit = 50
    cursor: Cursor | UnsetType = UNSET
    project: Annotated[str, Meta(description="Default: all", extra=_NAME)] | UnsetType = UNSET


class GetTask(Struct):
    task: TaskReference
    since: Annotated[str, Meta(description="Only newer notes and changes", extra=_LINE)] | UnsetType = UNSET
    project: Project | UnsetType = UNSET


class AddTasks(Struct):
    lines: Annotated[list[str], Meta(description=_GRAMMAR)]
    project: Project | UnsetType = UNSET
    key: Key | UnsetType = UNSET


class UpdateTask(Struct):
    task: TaskReference
    title: TaskTitle | UnsetType = UNSET
    description: Text | UnsetType = UNSET
    status: Status | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET
    priority: Priority | UnsetType = UNSET
    due: Day | UnsetType = UNSET
    blocked_by: Blockers | UnsetType = UNSET
    parent: Annotated[str, Meta(description="Makes it a subtask", extra=_PARENT)] | UnsetType = UNSET
    note: Text | UnsetType = UNSET
    to: Annotated[str, Meta(description="Target project", extra=_NAME)] | UnsetType = UNSET
    expected_version: Version | UnsetType = UNSET
    fence: Fence | UnsetType = UNSET
    project: Project | UnsetType = UNSET


class CompleteTask(Struct):
    task: TaskReference
    note: Text | UnsetType = UNSET
    fence: Fence | UnsetType = UNSET
    project: Project | UnsetType = UNSET


class ClaimTask(Struct):
    task: Annotated[TaskReference, Meta(description="Default: the next ready of the project")] | UnsetType = UNSET
    minutes: Annotated[int, Meta(extra=hidden(minimum=1, maximum=MAX_CLAIM_MINUTES))] = 30
    release: bool = False
    take_over: Annotated[bool, Meta(description="From another agent")] = False
    project: Project | UnsetType = UNSET


# -- items of any kind, their history, and the chat app -----------------------------------------------------------

Items = Annotated[
    list[str], Meta(description="#4, name, URI", extra=hidden(max_items=MOST_ENTRIES, takes_numbers=True))
]
HistoryItem = Annotated[str, Meta(extra=_ITEM)]


class Where(Struct):
    """A query for the items of a bulk change."""

    kind: Literal["prompt", "document", "task"] | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET
    match: Match = "all"  # a bulk change should reach too few items rather than too many
    status: TaskFilter | UnsetType = UNSET
    priority: KnownPriority | UnsetType = UNSET
    due: Annotated[str, Meta(extra=_LINE)] | UnsetType = UNSET
    query: Annotated[str, Meta(extra=_QUERY)] | UnsetType = UNSET


Matching = Annotated[
    Where,
    Meta(
        description="Instead of items: kind, tags (all), status, priority, due, query; in one project",
        extra_json_schema={"properties": None, "required": None},  # the description names them
    ),
]


class Delete(InProject):
    items: Items | UnsetType = UNSET
    where: Annotated[Matching, Meta(description="As in update_items")] | UnsetType = UNSET
    dry_run: DryRun | UnsetType = UNSET


class UpdateItems(InProject):
    items: Items | UnsetType = UNSET
    where: Matching | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET
    status: KnownStatus | UnsetType = UNSET
    priority: KnownPriority | UnsetType = UNSET
    due: Day | UnsetType = UNSET
    to: Annotated[str, Meta(description="Target project", extra=_NAME)] | UnsetType = UNSET
    copy: Annotated[bool, Meta(description="Copy there instead")] | UnsetType = UNSET
    dry_run: DryRun | UnsetType = UNSET


class History(InProject):
    item: HistoryItem | UnsetType = UNSET
    since: Annotated[str, Meta(description="Time, 2h or marker", extra=_LINE)] | UnsetType = UNSET
    until: Text | UnsetType = UNSET
    version: Version | UnsetType = UNSET
    against: Annotated[int, Meta(description="Diff from it", extra=_NUMBER)] | UnsetType = UNSET
    by: Text | UnsetType = UNSET
    lines: Lines | UnsetType = UNSET
    heading: Heading | UnsetType = UNSET
    cursor: Cursor | UnsetType = UNSET


class Restore(InProject):
    item: HistoryItem | UnsetType = UNSET
    items: Items | UnsetType = UNSET
    version: Annotated[int, Meta(description="Default: before the last change", extra=_NUMBER)] | UnsetType = UNSET


class Show(InProject):
    what: Annotated[Literal["tasks", "prompts"], Meta(extra_json_schema={"enum": ["tasks", "prompts"]})] = "tasks"
    query: Annotated[str, Meta(extra=_QUERY)] | UnsetType = UNSET


_TAKING_ALL = (Search, InProjects, ListTasks)  # these take `all` as the project


# -- the table of all tools ------------------------------------------------------------------------------------------


def _search() -> ModuleType:
    from satchel.contracts.satchel import search

    return search


def _projects() -> ModuleType:
    from satchel.contracts.satchel import projects

    return projects


def _prompts() -> ModuleType:
    from satchel.contracts.satchel import prompts

    return prompts


def _documents() -> ModuleType:
    from satchel.contracts.satchel import documents

    return documents


def _tasks() -> ModuleType:
    from satchel.contracts.satchel import tasks

    return tasks


def _items() -> ModuleType:
    from satchel.contracts.satchel import items

    return items


def _history() -> ModuleType:
    from satchel.contracts.satchel import history

    return history


def _tool(
    find_module: Callable[[], ModuleType],
    name: str,
    input: type[Struct],
    description: str,
    output_schema: Schema,
    annotations: dict[str, bool] = READS,
    *,
    opens_transactions: bool = False,
    **more: Any,
) -> Tool:
    """Return a tool that runs the function of the same name in a module; `more` are fields of `Tool`."""

    def run(context: Context, args: Any) -> Body:
        project = getattr(args, "project", UNSET)
        if project == ALL_PROJECTS:
            if not isinstance(args, _TAKING_ALL):
                raise WrongArgument("project", "everywhere", value=project)
        elif isinstance(args, InProject | InProjects):
            context = context.within(project)
        try:
            body: Body = getattr(find_module(), name)(context, args)
        except VersionConflict as clash:
            from satchel.contracts.satchel import guesses  # needed only after such a conflict

            if not opens_transactions:
                raise guesses.explain_conflict(context, clash) from clash
            with context.read() as opened:
                raise guesses.explain_conflict(opened, clash) from clash
        return body

    transaction: Transaction = "read" if annotations["readOnlyHint"] else "write"
    return Tool(
        name,
        description,
        input,
        run,
        transaction=None if opens_transactions else transaction,
        size_argument="limit" if "limit" in input.__struct_fields__ else None,
        output_schema=output_schema,
        annotations={"title": name.replace("_", " ").capitalize(), **annotations},
        **more,
    )


_AGE = ("expires", "replaced_by")
_prompt = partial(_tool, _prompts, toolset="prompts")
_document = partial(_tool, _documents, toolset="documents")
_task = partial(_tool, _tasks, toolset="tasks")
_item = partial(_tool, _items)

TOOLS = (
    _tool(
        _search,
        "search",
        Search,
        "Find prompts, documents and tasks by words, best first",
        answer_of("hits", hits=list_of(HIT), near=STRINGS, next_cursor=STRING),
    ),
    _tool(
        _projects,
        "catch_up",
        CatchUp,
        "Call first: recent changes, claimed tasks and tasks ready to start",
        answer_of(
            "why since period done",
            **dict.fromkeys(("why", "since", "period", "marker"), STRING),
            expired=STRINGS,
            **dict.fromkeys(
                ("tags", "completed", "cancelled", "done", "task_notes", "in_review", "memory", "personal_memory"),
                STRINGS,
            ),
            **dict.fromkeys(("prompts", "documents", "open_tasks", "ready_elsewhere"), INTEGER),
            **dict.fromkeys(
                ("more_others", "more_expired", "more_memory", "more_personal_memory", "more_ready"), INTEGER
            ),
            **dict.fromkeys(("in_progress", "expired_claims", "overdue", "due_today", "ready"), TASKS),
            **dict.fromkeys(
                (
                    *("more_completed", "more_cancelled", "more_done", "more_task_notes", "more_in_progress"),
                    *("more_overdue", "more_due_today"),
                ),
                BOOLEAN,
            ),
            others=list_of(COUNTED),
        ),
    ),
    _tool(
        _projects,
        "remember",
        Remember,
        "Remember one line for the project; project personal: for all projects and users",
        answer_of("added line", added=BOOLEAN, line=STRING),
        ADDS,
    ),
    _tool(_projects, "add_project", AddProject, "Add a project", answer_of("added", added=BOOLEAN), ADDS),
    _tool(
        _projects,
        "list_projects",
        ListProjects,
        "List projects",
        answer_of("why projects", why=STRING, projects=list_of(COUNTED)),
        is_listed=False,
    ),
    _prompt(
        "list_prompts",
        ListPrompts,
        "Find saved and library prompts, newest first, without their content",
        answer_of("prompts", prompts=list_of(PROMPT), next_cursor=STRING),
    ),
    _prompt(
        "get_prompt",
        GetPrompt,
        "Read a prompt; with arguments, fill it in to follow it",
        answer_of("prompt", "name text", prompt=WHOLE_PROMPT, **FILLED_IN),
        opens_transactions=True,
    ),
    _prompt(
        "add_prompts",
        AddPrompts,
        "Save prompts, all or none",
        answer_of("prompts", prompts=list_of(PROMPT)),
        ADDS,
        opens_transactions=True,
    ),
    _prompt(
        "update_prompt",
        UpdatePrompt,
        "Change the given fields of a prompt; empty clears",
        answer_of("prompt", prompt=PROMPT),
        UPDATES,
        at_least_one=("title", "content", "description", "tags", "arguments", *_AGE, "label"),
        opens_transactions=True,
    ),
    _prompt(
        "add_prompt",
        AddPrompt,
        "Save a prompt for later use",
        answer_of("prompt", prompt=PROMPT),
        ADDS,
        opens_transactions=True,
        is_listed=False,
    ),
    _prompt(
        "render_prompt",
        RenderPrompt,
        "Fill in a prompt",
        answer_of("name text", **FILLED_IN),
        opens_transactions=True,
        is_listed=False,
    ),
    _prompt(
        "list_tags", InProject, "Tags of prompts with counts", answer_of("tags", tags=list_of(COUNTED)), is_listed=False
    ),
    _document(
        "list_resources",
        ListResources,
        "Find documents",
        answer_of("resources", resources=list_of(DOCUMENT), next_cursor=STRING),
    ),
    _document(
        "read_resource",
        ReadResource,
        "Read a document; a long one by outline and parts",
        answer_of("resource", resource=DOCUMENT),
    ),
    _document(
        "add_resources",
        AddResources,
        "Save documents with the project, all or none",
        answer_of("resources", resources=list_of(DOCUMENT)),
        ADDS,
    ),
    _document(
        "update_resource",
        UpdateResource,
        "Change the given fields of a document; empty clears",
        answer_of("resource", resource=DOCUMENT),
        UPDATES,
        at_least_one=("content", "name", "mime_type", "description", *_AGE),
    ),
    _document(
        "add_resource", AddResource, "Save a document", answer_of("resource", resource=DOCUMENT), ADDS, is_listed=False
    ),
    _item(
        "edit_text",
        EditText,
        "Change parts of a prompt, document or task description, all or none",
        answer_of("item version changed", item=STRING, version=INTEGER, changed=list_of(LINE), more=INTEGER),
        EDITS,
        at_least_one=("edits", "append", "prepend"),
        opens_transactions=True,
    ),
    _task(
        "list_tasks",
        ListTasks,
        "List tasks; open ones most urgent first",
        answer_of("tasks", tasks=TASKS, next_cursor=STRING, held=INTEGER),
    ),
    _task(
        "get_task",
        GetTask,
        "Read a task with its notes and subtasks",
        answer_of("task since", task=WHOLE_TASK, since=STRING, changes=VERSIONS, more_changes=BOOLEAN),
    ),
    _task("add_tasks", AddTasks, "Add tasks, one per line", answer_of("tasks", tasks=TASKS), ADDS),
    _task(
        "update_task",
        UpdateTask,
        "Change given fields; empty clears. tags, blocked_by: the whole list, or +x and -x. note is appended",
        answer_of("task", task=TASK, ready=TASKS),
        UPDATES,
        at_least_one=(*TASK_FIELDS, "note"),
    ),
    _task(
        "complete_task",
        CompleteTask,
        "Complete a task; lists the tasks that became ready",
        answer_of("task", task=TASK, ready=TASKS, already_completed=BOOLEAN),
        COMPLETES,
    ),
    _task(
        "claim_task",
        ClaimTask,
        "Claim a task so that other agents leave it; call again to renew",
        answer_of(
            "task",
            task={"anyOf": [WHOLE_TASK, TASK]},  # the second form after a release
            holder=STRING,
            until=STRING,
            fence=INTEGER,
            released=BOOLEAN,
        ),
        ADDS,
    ),
    _task(
        "add_task", AddTask, "Note something to do, now or later", answer_of("task", task=TASK), ADDS, is_listed=False
    ),
    _item(
        "update_items",
        UpdateItems,
        "Change, move or copy items, all or none. tags: the whole list, or +x and -x",
        answer_of("items", items=list_of(ITEM), ready=TASKS, dry_run=BOOLEAN),
        UPDATES,
        at_least_one=("tags", "status", "priority", "due", "to"),
        opens_transactions=True,
    ),
    _item(
        "delete",
        Delete,
        "Delete items; restore brings them back",
        answer_of("deleted", deleted=list_of(DELETED), referred=REFERRED, ready=TASKS, dry_run=BOOLEAN),
        EDITS,
        opens_transactions=True,
    ),
    _tool(
        _history,
        "history",
        History,
        "List changes; with item, its versions, one version or a diff",
        answer_of(
            *("changes", "kind item versions", "kind item version text", "kind item version against diff"),
            **dict.fromkeys(("kind", "item", "text", "diff", "lines", "since", "next_cursor"), STRING),
            **dict.fromkeys(("version", "against", "of"), INTEGER),
            outline=STRINGS,
            changes=list_of(CHANGE),
            versions=VERSIONS,
        ),
    ),
    _tool(
        _history,
        "restore",
        Restore,
        "Bring back an old version or a deleted item",
        answer_of("restored", "items", restored=RESTORED, items=list_of(RESTORED)),
        UPDATES,
    ),
    _item(
        "show",
        Show,
        "Show the user their tasks as a board, or prompts to pick",
        answer_of("tasks", "prompts", tasks=TASKS, prompts=list_of(PROMPT), next_cursor=STRING),
        make_meta=describe_ui,
        toolset="tasks",
    ),
)
