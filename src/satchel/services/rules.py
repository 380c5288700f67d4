"""The rules of the store: what each value may be. Services apply them; contracts may only be narrower.

A `check_…` function raises WrongArgument. A `clean_…` function also returns the value in the form that is stored.
"""

import re
from binascii import Error, a2b_base64, b2a_base64
from collections.abc import Sequence
from datetime import date

from msgspec import structs

from satchel.errors import WrongArgument
from satchel.model import (
    MAX_CONTENT_BYTES,
    PRIORITIES,
    STATUSES,
    UNSET,
    Argument,
    PromptDraft,
    PromptPatch,
    ResourceDraft,
    ResourcePatch,
    TaskDraft,
    TaskPatch,
)

MAX_NAME = 255
MAX_TITLE = 200
MAX_TASK_TITLE = 500
MAX_DESCRIPTION = 10_000
MAX_QUERY = 1000
MAX_TAGS = 100
MAX_BLOCKERS = 100
MAX_ARGUMENTS = 100
MAX_VALUES = 100  # of one argument
MAX_VALUE = 200
MAX_TEMPLATE_BYTES = 64 * 1024  # the limit of the process that renders templates
MAX_URI_BYTES = 2000  # PostgreSQL indexes no key beyond 2,704 bytes

# Compiled on first use: a cold start checks nothing.
_NAME = r"[A-Za-z0-9._-]+"
_TAG = r"[A-Za-z0-9_-]{1,50}"
_ARGUMENT = r"[a-z0-9_]{1,255}"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_URI = r"[A-Za-z][A-Za-z0-9+.-]*:[^\s\x00-\x1f\x7f-\x9f]*"
_WORD = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+"
_MIME_TYPE = rf'{_WORD}/{_WORD}(?:[ \t]*;[ \t]*{_WORD}=(?:{_WORD}|"[^"\\\x00-\x1f\x7f]*"))*'

_TEXT_SUBTYPES = {"json", "xml", "sql", "javascript", "typescript", "yaml", "toml", "graphql"}


# -- whole values -------------------------------------------------------------------------------------------------


def clean_prompt_draft(draft: PromptDraft) -> PromptDraft:
    """A new prompt as it is stored. Without a title, its name is the title."""
    title: str
    if draft.name is not None:
        check_name("prompt", draft.name)
    if draft.title is not UNSET:
        title = clean_title(draft.title)
    elif draft.name is not None:
        title = draft.name
    else:
        raise WrongArgument("title", "required", kind="prompt")
    check_prompt_content(draft.content)
    description = clean_description("prompt", draft.description)
    tags = clean_tags("prompt", draft.tags)
    if draft.arguments:
        check_arguments(draft.arguments)
        check_template(draft.content)
    return structs.replace(draft, title=title, description=description, tags=tags)


def clean_prompt_patch(patch: PromptPatch) -> PromptPatch:
    """Changes to a prompt as they are stored."""
    title = UNSET if patch.title is UNSET else clean_title(patch.title)
    if patch.content is not UNSET:
        check_prompt_content(patch.content)
    description = UNSET if patch.description is UNSET else clean_description("prompt", patch.description)
    tags = UNSET if patch.tags is UNSET else clean_tags("prompt", patch.tags)
    check_arguments(patch.arguments or ())
    return structs.replace(patch, title=title, description=description, tags=tags)


def clean_resource_draft(draft: ResourceDraft) -> ResourceDraft:
    """A new resource as it is stored."""
    check_name("resource", draft.name)
    check_uri(draft.uri)
    check_mime_type(draft.mime_type)
    content = clean_content(draft.mime_type, draft.content)
    return structs.replace(draft, content=content, description=clean_description("resource", draft.description))


def clean_resource_patch(patch: ResourcePatch) -> ResourcePatch:
    """Changes to a resource as they are stored; its content only where the MIME type is among them."""
    content = patch.content
    if patch.mime_type is not UNSET:
        check_mime_type(patch.mime_type)
        content = UNSET if content is UNSET else clean_content(patch.mime_type, content)
    description = UNSET if patch.description is UNSET else clean_description("resource", patch.description)
    return structs.replace(patch, content=content, description=description)


def clean_task_draft(draft: TaskDraft) -> TaskDraft:
    """A new task as it is stored."""
    title = clean_title(draft.title, "task", MAX_TASK_TITLE)
    description = clean_description("task", draft.description)
    tags = clean_tags("task", draft.tags)
    _check_plan(draft.priority, draft.due, draft.blocked_by)
    return structs.replace(draft, title=title, description=description, tags=tags)


def clean_task_patch(patch: TaskPatch) -> TaskPatch:
    """Changes to a task as they are stored."""
    title = UNSET if patch.title is UNSET else clean_title(patch.title, "task", MAX_TASK_TITLE)
    description = UNSET if patch.description is UNSET else clean_description("task", patch.description)
    tags = UNSET if patch.tags is UNSET else clean_tags("task", patch.tags)
    priority = "normal" if patch.priority is UNSET else patch.priority
    _check_plan(priority, None if patch.due is UNSET else patch.due, patch.blocked_by or ())
    if patch.status is not UNSET and patch.status not in STATUSES:
        raise WrongArgument("status", "enum", limit=STATUSES, value=patch.status, kind="task")
    return structs.replace(patch, title=title, description=description, tags=tags)


def _check_plan(priority: str, due: str | None, blocked_by: Sequence[int]) -> None:
    if priority not in PRIORITIES:
        raise WrongArgument("priority", "enum", limit=PRIORITIES, value=priority, kind="task")
    if due is not None:
        check_due(due)
    if len(blocked_by) > MAX_BLOCKERS:
        raise WrongArgument("blocked_by", "maxItems", limit=MAX_BLOCKERS, kind="task")


# -- single values ------------------------------------------------------------------------------------------------


def check_name(kind: str, name: str) -> None:
    """Check the name of a project, prompt or resource."""
    if not name:
        raise WrongArgument("name", "minLength", limit=1, value=name, kind=kind)
    if len(name) > MAX_NAME:
        raise WrongArgument("name", "maxLength", limit=MAX_NAME, value=name, kind=kind)
    if not re.fullmatch(_NAME, name):
        raise WrongArgument("name", "pattern", limit=_NAME, value=name, kind=kind)


def clean_title(title: str, kind: str = "prompt", longest: int = MAX_TITLE) -> str:
    """A title without outer white space."""
    check_text("title", title)
    title = title.strip()
    if not title:
        raise WrongArgument("title", "minLength", limit=1, kind=kind)
    if len(title) > longest:
        raise WrongArgument("title", "maxLength", limit=longest, kind=kind)
    return title


def clean_description(kind: str, description: str | None) -> str | None:
    """A description; None where it is empty."""
    if not description:
        return None
    check_text("description", description)
    if len(description) > MAX_DESCRIPTION:
        raise WrongArgument("description", "maxLength", limit=MAX_DESCRIPTION, kind=kind)
    return description


def check_uri(uri: str) -> None:
    """Check a URI: it has a scheme, and neither spaces nor control characters."""
    check_text("uri", uri)
    if not re.fullmatch(_URI, uri) or len(uri.encode()) > MAX_URI_BYTES:
        raise WrongArgument("uri", "format", limit="uri", value=uri, kind="resource")


def check_mime_type(mime_type: str) -> None:
    """Check a MIME type."""
    if len(mime_type) > MAX_NAME or not re.fullmatch(_MIME_TYPE, mime_type):
        raise WrongArgument("mime_type", "format", limit="mime type", value=mime_type, kind="resource")


def is_text(mime_type: str) -> bool:
    """Whether a content of this type is text; of any other type it is bytes."""
    type_, _, subtype = mime_type.partition(";")[0].strip().lower().partition("/")
    if type_ == "text" or subtype.endswith(("+json", "+xml", "+yaml")):
        return True
    return type_ == "application" and subtype.removeprefix("x-") in _TEXT_SUBTYPES


def check_prompt_content(content: str) -> None:
    """Check the content of a prompt: some text, and not too long."""
    check_text("content", content)
    if not content.strip():
        raise WrongArgument("content", "minLength", limit=1, kind="prompt")
    _check_size("prompt", content.encode())


def check_template(content: str) -> None:
    """Check that a template is short enough to be rendered."""
    if len(content.encode()) > MAX_TEMPLATE_BYTES:
        raise WrongArgument("content", "maxBytes", limit=MAX_TEMPLATE_BYTES, kind="prompt")


def clean_content(mime_type: str, content: str | bytes) -> str | bytes:
    """The content of a resource: text for a text type, else bytes.

    Bytes of a text type are read as UTF-8, and text of any other type as base64.
    """
    if not is_text(mime_type):
        content = content if isinstance(content, bytes) else _from_base64(content)
        _check_size("resource", content)
        return content
    if isinstance(content, bytes):
        try:
            content = content.decode()
        except UnicodeDecodeError:
            raise WrongArgument("content", "contentEncoding", limit="utf-8", kind="resource") from None
    check_text("content", content)
    _check_size("resource", content.encode())
    return content


def _from_base64(content: str) -> bytes:
    try:
        data = a2b_base64(content, strict_mode=True)
    except (Error, ValueError):
        data = None
    # Strict mode still accepts superfluous padding and unused bits, so compare with the canonical form.
    if data is None or b2a_base64(data, newline=False) != content.encode():
        raise WrongArgument("content", "contentEncoding", limit="base64", kind="resource")
    return data


def _check_size(kind: str, content: bytes) -> None:
    if len(content) > MAX_CONTENT_BYTES:
        raise WrongArgument("content", "maxBytes", limit=MAX_CONTENT_BYTES, kind=kind)


def clean_tags(kind: str, tags: Sequence[str]) -> list[str]:
    """Tags in lower case, sorted, without repeats."""
    _check_number_of_tags(kind, tags)
    for tag in tags:
        if not re.fullmatch(_TAG, tag):
            raise WrongArgument("tag", "pattern", limit=_TAG, value=tag, kind=kind)
    return sorted({tag.lower() for tag in tags})


def clean_tag_filter(kind: str, tags: Sequence[str], *, needs_all: bool = False) -> list[str] | None:
    """Tags to filter by, as they are stored; None where nothing can match. Any text is allowed."""
    _check_number_of_tags(kind, tags)
    for tag in tags:
        check_text("tags", tag)
    # Stored tags are ASCII. Lower-casing first would turn the Kelvin sign into a k.
    possible = [tag for tag in tags if tag.isascii()]
    if tags and (not possible or (needs_all and len(possible) < len(tags))):
        return None
    return sorted({tag.lower() for tag in possible})


def _check_number_of_tags(kind: str, tags: Sequence[str]) -> None:
    if len(tags) > MAX_TAGS:
        raise WrongArgument("tags", "maxItems", limit=MAX_TAGS, kind=kind)


def fold_query(query: str) -> str:
    """A search text as it is compared: case-folded."""
    check_text("query", query)
    if len(query) > MAX_QUERY:
        raise WrongArgument("query", "maxLength", limit=MAX_QUERY)
    return query.casefold()


def check_due(due: str) -> None:
    """Check a day, written YYYY-MM-DD."""
    try:
        if not re.fullmatch(_DATE, due):
            raise ValueError
        date.fromisoformat(due)
    except ValueError:
        raise WrongArgument("due", "format", limit="date", value=due, kind="task") from None


def check_arguments(arguments: Sequence[Argument]) -> None:
    """Check the arguments that a prompt declares."""
    if len(arguments) > MAX_ARGUMENTS:
        raise WrongArgument("arguments", "maxItems", limit=MAX_ARGUMENTS, kind="prompt")
    seen: set[str] = set()
    for index, argument in enumerate(arguments):
        if not re.fullmatch(_ARGUMENT, argument.name):
            raise WrongArgument("arguments", "pattern", limit=_ARGUMENT, value=argument.name, kind="prompt")
        if argument.name in seen:
            raise WrongArgument("arguments", "uniqueItems", value=argument.name, kind="prompt")
        seen.add(argument.name)
        _check_argument(argument, f"arguments[{index}]")


def _check_argument(argument: Argument, place: str) -> None:
    values, description = argument.values, argument.description or ""
    if len(values) > MAX_VALUES:
        place = f"{place}.values"
        raise WrongArgument("arguments", "maxItems", limit=MAX_VALUES, value=argument.name, kind="prompt", place=place)
    for text in (description, *values):
        check_text("arguments", text)
    if len(description) > MAX_DESCRIPTION:
        place = f"{place}.description"
        raise WrongArgument("arguments", "maxLength", limit=MAX_DESCRIPTION, kind="prompt", place=place)
    for index, value in enumerate(values):
        if len(value) > MAX_VALUE:
            place = f"{place}.values[{index}]"
            raise WrongArgument("arguments", "maxLength", limit=MAX_VALUE, value=value, kind="prompt", place=place)


def check_text(field: str, text: str) -> None:
    """Check that a store can keep a text."""
    if not is_storable(text):
        raise WrongArgument(field, "type", limit="text")


def is_storable(text: str) -> bool:
    """Whether both engines can keep a text: PostgreSQL refuses NUL, and a lone surrogate cannot be encoded."""
    if "\0" in text:
        return False
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False
