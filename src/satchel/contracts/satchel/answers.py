"""What the tools answer, as values; empty members are left out. The schemas that clients see are beside them."""

from typing import Any

from msgspec import Struct

from satchel.contracts.contract import Reply, Schema
from satchel.model import Argument, Prompt, PromptSummary, Resource, TaskDetails

ELSEWHERE = "a task of a project that is not open here"

_SHORT = 200  # characters of a description that a list shows


class ArgumentAnswer(Struct, omit_defaults=True):
    name: str
    description: str | None = None
    required: bool = False
    values: tuple[str, ...] = ()


class PromptAnswer(Struct, omit_defaults=True):
    name: str
    title: str
    version: int | None = None  # library prompts have none: they change on disk
    id: str | None = None
    description: str | None = None
    tags: tuple[str, ...] = ()
    arguments: tuple[ArgumentAnswer, ...] = ()
    excerpt: str | None = None
    content: str | None = None
    created_at: str | None = None
    updated_at: str | None = None


class ResourceAnswer(Struct, omit_defaults=True):
    name: str
    uri: str
    mime_type: str
    size: int
    version: int
    description: str | None = None
    text: str | None = None
    blob: str | None = None
    created_at: str | None = None
    updated_at: str | None = None


class TaskAnswer(Struct, omit_defaults=True):
    number: int
    id: str
    title: str
    status: str
    ready: bool
    priority: str
    version: int
    created_at: str
    updated_at: str
    description: str | None = None
    project: str | None = None
    tags: tuple[str, ...] = ()
    due: str | None = None
    blocked_by: tuple[int, ...] = ()
    completed_at: str | None = None


def said(text: str, structured: dict[str, Any], facts: str = "") -> Reply:
    """An answer in a sentence for people, and as a value for programs.

    Some clients show a model the texts only, so that what it needs for the next call stands in a text of its own.
    """
    return Reply([{"type": "text", "text": one} for one in (text, facts) if one or one is text], structured)


def declared(arguments: tuple[Argument, ...]) -> tuple[ArgumentAnswer, ...]:
    return tuple(ArgumentAnswer(one.name, one.description, one.is_required, one.values) for one in arguments)


def whole_prompt(prompt: Prompt) -> PromptAnswer:
    return PromptAnswer(
        name=prompt.name,
        title=prompt.title,
        version=prompt.version,
        id=prompt.id,
        description=prompt.description,
        tags=prompt.tags,
        arguments=declared(prompt.arguments),
        content=prompt.content,
        created_at=prompt.created_at,
        updated_at=prompt.updated_at,
    )


def saved_prompt(prompt: Prompt) -> PromptAnswer:
    """A prompt just written; its writer knows the content."""
    answer = whole_prompt(prompt)
    answer.content = None
    return answer


def listed_prompt(prompt: PromptSummary) -> PromptAnswer:
    return PromptAnswer(
        name=prompt.name,
        title=prompt.title,
        version=prompt.version,
        id=prompt.id,
        description=prompt.description,
        tags=prompt.tags,
        arguments=declared(prompt.arguments),
        excerpt=f"{prompt.excerpt.text}..." if prompt.excerpt.is_cut_behind else prompt.excerpt.text,
        updated_at=prompt.updated_at,
    )


def shown_resource(resource: Resource) -> ResourceAnswer:
    return ResourceAnswer(
        name=resource.name,
        uri=resource.uri,
        mime_type=resource.mime_type,
        size=resource.size,
        version=resource.version,
        description=resource.description,
        created_at=resource.created_at,
        updated_at=resource.updated_at,
    )


def shown_task(task: TaskDetails) -> TaskAnswer:
    return TaskAnswer(
        number=task.number,
        id=task.id,
        title=task.title,
        status="completed" if task.is_completed else "pending",
        ready=task.is_ready,
        priority=task.priority,
        version=task.version,
        created_at=task.created_at,
        updated_at=task.updated_at,
        description=task.description,
        project=task.project,
        tags=task.tags,
        due=task.due,
        blocked_by=task.blocked_by,
        completed_at=task.completed_at,
    )


def none_of(what: str, project: str | None, *, is_narrowed: bool, is_continued: bool) -> str:
    """What an empty page says: that there are none, that none is as it was asked for, or that those before were all."""
    if is_continued:
        return f"No more {what}."
    where = f" in project '{project}'" if project else ""
    return f"No {what}{where}{' match' if is_narrowed else ''}."


def prompt_facts(prompt: PromptAnswer) -> str:
    """What a text lacks that is the content of a prompt."""
    version = "" if prompt.version is None else f", version {prompt.version}"
    arguments = [one.name if one.required else f"{one.name} (optional)" for one in prompt.arguments]
    return f"[prompt {prompt.name}{version}{'; arguments: ' if arguments else ''}{', '.join(arguments)}]"


def resource_facts(resource: ResourceAnswer) -> str:
    """What a text lacks that is the content of a resource."""
    version = f", version {resource.version}" if resource.version else ""
    return f"[resource {resource.name}{version}, {counted(resource.size, 'byte')} of {resource.mime_type}]"


def short(text: str) -> str:
    """The beginning of a text, in one line."""
    plain = " ".join(text[: 2 * _SHORT].split())
    return plain if len(plain) <= _SHORT and len(text) <= 2 * _SHORT else f"{plain[:_SHORT]}..."


def one_line(text: str) -> str:
    """A text whose lines are one."""
    return " ".join(text.splitlines())


def counted(count: int, what: str) -> str:
    """How many there are of something."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def task_entry(task: TaskDetails) -> str:
    """A task in a list: its line, and the beginning of what else is said of it."""
    return task_line(task) if task.description is None else f"{task_line(task)}\n   {short(task.description)}"


def task_line(task: TaskDetails) -> str:
    """A task in one line."""
    parts = [f"#{task.number}", one_line(task.title)]
    if task.is_completed:
        parts.append("(done)")
    if task.priority != "normal":
        parts.append(f"!{task.priority}")
    if task.due is not None:
        parts.append(f"due {task.due}")
    if task.project is not None:
        parts.append(f"@{task.project}")
    if task.tags:
        parts.append(f"[{', '.join(task.tags)}]")
    if waits_for(task):
        parts.append("blocked by " + ", ".join(waits_for(task)))
    return " ".join(parts)


def waits_for(task: TaskDetails) -> list[str]:
    """What is to be done before a task can begin."""
    numbers = [f"#{number}" for number in task.open_blockers]
    return [*numbers, ELSEWHERE] if task.waits_elsewhere else numbers


# -- schemas ----------------------------------------------------------------------------------------------------

_TEXT: Schema = {"type": "string"}
_NUMBER: Schema = {"type": "integer"}
_TEXTS: Schema = {"type": "array", "items": _TEXT}
_ERROR: Schema = {
    "type": "object",
    "properties": {"code": _TEXT, "message": _TEXT, "hint": _TEXT},
    "required": ["code", "message"],
}
PROMPT: Schema = {
    "type": "object",
    "properties": {"name": _TEXT, "title": _TEXT, "version": _NUMBER, "content": _TEXT, "tags": _TEXTS},
    "required": ["name", "title"],
}
RESOURCE: Schema = {
    "type": "object",
    "properties": {"name": _TEXT, "uri": _TEXT, "version": _NUMBER, "text": _TEXT},
    "required": ["name", "uri", "mime_type", "size", "version"],
}
TASK: Schema = {
    "type": "object",
    "properties": {
        "number": _NUMBER,
        "title": _TEXT,
        "status": _TEXT,
        "ready": {"type": "boolean"},
        "version": _NUMBER,
    },
    "required": ["number", "id", "title", "status", "ready", "priority", "version"],
}


def many(items: Schema) -> Schema:
    """A list of something."""
    return {"type": "array", "items": items}


def output(*optional: str, **members: Schema) -> Schema:
    """What a tool answers: these members, or an error."""
    return {
        "type": "object",
        "properties": {**members, "error": _ERROR},
        "oneOf": [{"required": [name for name in members if name not in optional]}, {"required": ["error"]}],
    }


def in_project(*optional: str, **members: Schema) -> Schema:
    """What a tool answers that works in a project: which, and these members."""
    return output(*optional, project=_TEXT, **members)
