"""The rules of the store: what each value may be. Services apply them; contracts may only be narrower.

A `check_…` function raises WrongArgument. A `clean_…` function also returns the value in the form that is stored.
"""

import re
from binascii import Error, a2b_base64, b2a_base64
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any, TypeVar

from msgspec import Struct, structs

from satchel import clock
from satchel.errors import WrongArgument
from satchel.model import (
    MAX_CONTENT_BYTES,
    MAX_DESCRIPTION,
    PRIORITIES,
    STATUSES,
    UNSET,
    Argument,
    BlockerChange,
    ListChange,
    PromptDraft,
    TextQuery,
    can_be_argument,
)
from satchel.storage.database import Tx

Value = TypeVar("Value", bound=Struct)
Query = TypeVar("Query", bound=TextQuery)

MAX_NAME = 255
MAX_TITLE = 200
MAX_TASK_TITLE = 500
MAX_QUERY = 1000
MAX_TAGS = 100
MAX_BLOCKERS = 100
MAX_CLAIM_MINUTES = 1440
MAX_ARGUMENTS = 100
MAX_VALUES = 100  # of one argument
MAX_VALUE = 200
MAX_ARGUMENTS_TEXT = 100_000  # characters of all names, descriptions and values of a prompt's arguments together
MAX_TEMPLATE_BYTES = 64 * 1024  # the limit of the process that renders templates
MAX_URI_BYTES = 2000  # PostgreSQL indexes no key beyond 2,704 bytes

# Compiled on first use: a cold start checks nothing.
NAME = r"[A-Za-z0-9._-]+"
_EXTENSION = r"(?<=.)\.[A-Za-z][A-Za-z0-9]{0,9}\Z"  # of a name like s.md; v1.2 has none
_TAG = r"[A-Za-z0-9_-]{1,50}"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_URI = r"[A-Za-z][A-Za-z0-9+.-]*:[^\s\x00-\x1f\x7f-\x9f]*"
_OWN_SCHEME = "satchel:"
_WORD = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+"
_MIME_TYPE = rf'{_WORD}/{_WORD}(?:[ \t]*;[ \t]*{_WORD}=(?:{_WORD}|"[^"\\\x00-\x1f\x7f]*"))*'

# Of `application/`, with or without `x-` in front.
_TEXT_SUBTYPES = {
    *("json", "json5", "jsonl", "ndjson", "json-seq", "xml", "xhtml", "yaml", "toml", "www-form-urlencoded"),
    *("javascript", "ecmascript", "typescript", "sql", "graphql", "sh", "shellscript", "python", "ruby", "perl"),
    *("php", "httpd-php", "lua", "rtf", "tex", "latex", "subrip"),
}


def clean_name(kind: str, name: str) -> str:
    """The name of a project, prompt or resource."""
    if not name:
        raise WrongArgument("name", "minLength", limit=1, value=name, kind=kind)
    if len(name) > MAX_NAME:
        raise WrongArgument("name", "maxLength", limit=MAX_NAME, value=name, kind=kind)
    if not re.fullmatch(NAME, name):
        raise WrongArgument("name", "pattern", limit=NAME, value=name, kind=kind)
    return name


def clean_new_name(kind: str, name: str) -> str:
    """The name of a project, prompt or resource that is added. One like an id would be taken for that of another."""
    clean_name(kind, name)
    if clock.parse_id(name) is not None:
        raise WrongArgument("name", "reserved", value=name, kind=kind)
    return name


def list_free_names(name: str, id: str) -> list[str]:
    """Return a name and what to try where it is taken: -2 to -9 before its extension, then digits of an id."""
    found = re.search(_EXTENSION, name)
    end = found[0] if found else ""
    return [name, *(_end_with(name.removesuffix(end), f"-{mark}{end}", MAX_NAME) for mark in _list_marks(id))]


def list_free_titles(title: str, id: str) -> list[str]:
    """Return a title, cut to its bound, and what to try where it is taken: (2) to (9), then digits of an id."""
    return [title[:MAX_TITLE], *(_end_with(title, f" ({mark})", MAX_TITLE) for mark in _list_marks(id))]


def list_free_uris(uri: str, id: str) -> list[str]:
    """Return a URI and what to try where it is taken. Its bound is in bytes."""
    kept = uri.encode()[: MAX_URI_BYTES - len(id) - 1].decode(errors="ignore")
    return [uri, *(f"{kept}-{mark}" for mark in _list_marks(id))]


def _list_marks(id: str) -> tuple[str, ...]:
    """Return what tells copies of a name apart. The last makes a name free, because ids are unique."""
    return (*map(str, range(2, 10)), id[:8], id)


def _end_with(text: str, end: str, longest: int) -> str:
    return text[: longest - len(end)] + end


def drop_accents(text: str) -> str:
    """A text with plain letters for those with accents."""
    if text.isascii():
        return text
    import unicodedata  # only new names need it

    spelled = unicodedata.normalize("NFKD", text)
    return "".join(character for character in spelled if not unicodedata.category(character).startswith("M"))


def clean_title(kind: str, title: str) -> str:
    """The title of a prompt or task, without outer white space."""
    check_text("title", title)
    title = title.strip()
    longest = MAX_TASK_TITLE if kind == "task" else MAX_TITLE
    if not title:
        raise WrongArgument("title", "minLength", limit=1, kind=kind)
    if len(title) > longest:
        raise WrongArgument("title", "maxLength", limit=longest, kind=kind)
    return title


def check_new(tx: Tx, kind: str, field: str, new: object, old: str | None = None) -> None:
    """Check a new title or URI of a caller for whom all characters must show; what stays, or is restored, may be old.

    Raises:
        WrongArgument: a character does not show; the value names it.
    """
    if isinstance(new, str) and new != old and tx.scope.refuses_hidden and tx.restores is None:
        from satchel.services.hidden_characters import check_shown  # a start needs none of it

        check_shown(field, new, kind)


def clean_description(kind: str, description: str) -> str | None:
    """A description; None where it is empty."""
    check_text("description", description)
    if len(description) > MAX_DESCRIPTION:
        raise WrongArgument("description", "maxLength", limit=MAX_DESCRIPTION, kind=kind)
    return description or None


def clean_uri(kind: str, uri: str) -> str:
    """A URI, which has a scheme, and neither spaces nor control characters."""
    check_text("uri", uri)
    if not re.fullmatch(_URI, uri) or len(uri.encode()) > MAX_URI_BYTES:
        raise WrongArgument("uri", "format", limit="uri", value=uri, kind=kind)
    return uri


def check_own_uri(name: str, uri: str) -> None:
    """Check that the URI of a resource is none that names something else of ours, in any case of letters."""
    if is_own_uri(uri) and uri != make_own_uri(name):
        raise WrongArgument("uri", "reserved", value=uri, kind="resource")


def make_own_uri(name: str) -> str:
    """The URI that names a resource of ours by its name."""
    return f"{_OWN_SCHEME}//resource/{name}"


def is_own_uri(uri: str) -> bool:
    """Whether a URI is one of those that name items of ours."""
    return uri.lower().startswith(_OWN_SCHEME)


def clean_mime_type(kind: str, mime_type: str) -> str:
    """A MIME type."""
    if len(mime_type) > MAX_NAME or not re.fullmatch(_MIME_TYPE, mime_type):
        raise WrongArgument("mime_type", "format", limit="mime type", value=mime_type, kind=kind)
    return mime_type


def is_text(mime_type: str) -> bool:
    """Whether a content of this type is text; of any other type it is bytes."""
    type_, _, subtype = mime_type.partition(";")[0].strip().lower().partition("/")
    if type_ in ("text", "message") or subtype.endswith(("+json", "+xml", "+yaml")):
        return True
    return type_ == "application" and subtype.removeprefix("x-") in _TEXT_SUBTYPES


def clean_prompt_content(kind: str, content: str) -> str:
    """The content of a prompt, which is not blank."""
    check_text("content", content)
    if not content.strip():
        raise WrongArgument("content", "minLength", limit=1, kind=kind)
    _check_size(kind, content.encode())
    return content


def check_template(content: str) -> None:
    """Check that a template is short enough to be rendered."""
    if len(content.encode()) > MAX_TEMPLATE_BYTES:
        raise WrongArgument("content", "maxBytes", limit=MAX_TEMPLATE_BYTES, kind="prompt")


def clean_content(mime_type: str, content: str | bytes) -> str | bytes:
    """The content of a resource: text for a text type, else bytes.

    Bytes of a text type are read as UTF-8, and text of any other type as base64.
    """
    if not is_text(mime_type):
        content = content if isinstance(content, bytes) else _from_base64(content, mime_type)
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


def _from_base64(content: str, mime_type: str) -> bytes:
    try:
        data = a2b_base64(content, strict_mode=True)
    except (Error, ValueError):
        data = None
    # Strict mode still accepts superfluous padding and unused bits, so compare with the canonical form.
    if data is None or b2a_base64(data, newline=False) != content.encode():
        # The value is the type: it says why the content must be base64.
        raise WrongArgument("content", "contentEncoding", limit="base64", value=mime_type, kind="resource")
    return data


def _check_size(kind: str, content: bytes) -> None:
    if len(content) > MAX_CONTENT_BYTES:
        raise WrongArgument("content", "maxBytes", limit=MAX_CONTENT_BYTES, kind=kind)


def clean_tags(kind: str, tags: Sequence[str]) -> list[str]:
    """Tags in lower case, sorted, without repeats."""
    _check_number_of_tags(kind, tags)
    for index, tag in enumerate(tags):
        if not re.fullmatch(_TAG, tag):
            raise WrongArgument("tag", "pattern", limit=_TAG, value=tag, kind=kind, place=f"tags[{index}]")
    return sorted({tag.lower() for tag in tags})


def clean_tag_changes(kind: str, tags: Sequence[str] | ListChange) -> Sequence[str] | ListChange:
    """The tags of an update, which may say only what to add and remove."""
    if not isinstance(tags, ListChange):
        return clean_tags(kind, tags)
    return ListChange(added=tuple(clean_tags(kind, tags.added)), removed=tuple(clean_tags(kind, tags.removed)))


def clean_query(kind: str, query: Query) -> Query | None:
    """A query as texts and tags are stored; None where nothing can match. A tag may be any text."""
    _check_number_of_tags(kind, query.tags)
    for index, tag in enumerate(query.tags):
        check_text("tags", tag, f"tags[{index}]")
    text = fold_query(query.text)
    # Stored tags are ASCII. Lower-casing first would turn the Kelvin sign into a k.
    possible = [tag for tag in query.tags if tag.isascii()]
    if query.tags and (not possible or (query.needs_all_tags and len(possible) < len(query.tags))):
        return None
    return structs.replace(query, text=text, tags=sorted({tag.lower() for tag in possible}))


def _check_number_of_tags(kind: str, tags: Sequence[str]) -> None:
    if len(tags) > MAX_TAGS:
        raise WrongArgument("tags", "maxItems", limit=MAX_TAGS, kind=kind)


def fold_query(query: str) -> str:
    """A search text as it is compared: case-folded."""
    check_text("query", query)
    if len(query) > MAX_QUERY:
        raise WrongArgument("query", "maxLength", limit=MAX_QUERY)
    return query.casefold()


def clean_due(kind: str, due: str) -> str:
    """A day, written YYYY-MM-DD."""
    try:
        if not re.fullmatch(_DATE, due):
            raise ValueError
        date.fromisoformat(due)
    except ValueError:
        raise WrongArgument("due", "format", limit="date", value=due, kind=kind) from None
    return due


def clean_choice(kind: str, field: str, value: str, choices: tuple[str, ...]) -> str:
    """One of some words."""
    if value not in choices:
        raise WrongArgument(field, "enum", limit=choices, value=value, kind=kind)
    # Our own copy of the word: Structs that leave out defaults recognize those only by identity.
    return choices[choices.index(value)]


def clean_blockers(kind: str, blockers: Sequence[int] | BlockerChange) -> Sequence[int] | BlockerChange:
    """The numbers of the tasks that block a task, or of those that it gets and loses."""
    check_blockers(kind, blockers.added if isinstance(blockers, BlockerChange) else blockers)
    return blockers


def check_blockers(kind: str, blockers: Sequence[int]) -> None:
    """Check that a task has not too many blockers."""
    if len(blockers) > MAX_BLOCKERS:
        raise WrongArgument("blocked_by", "maxItems", limit=MAX_BLOCKERS, kind=kind)


def clean_arguments(kind: str, arguments: Sequence[Argument]) -> Sequence[Argument]:
    """The arguments that a prompt declares."""
    if len(arguments) > MAX_ARGUMENTS:
        raise WrongArgument("arguments", "maxItems", limit=MAX_ARGUMENTS, kind=kind)
    seen: set[str] = set()
    for index, argument in enumerate(arguments):
        place = f"arguments[{index}]"
        _check_argument_name(argument.name, f"{place}.name")
        if argument.name in seen:
            raise WrongArgument("arguments", "uniqueItems", value=argument.name, kind="prompt", place=place)
        seen.add(argument.name)
        _check_argument(argument, place)
    if sum(map(_measure_argument, arguments)) > MAX_ARGUMENTS_TEXT:
        raise WrongArgument("arguments", "maxLength", limit=MAX_ARGUMENTS_TEXT, kind=kind)
    return arguments


def _measure_argument(argument: Argument) -> int:
    """The characters of an argument."""
    return len(argument.name) + len(argument.description or "") + sum(map(len, argument.values))


def _check_argument_name(name: str, place: str) -> None:
    if len(name) > MAX_NAME:
        raise WrongArgument("arguments", "maxLength", limit=MAX_NAME, kind="prompt", place=place)
    if not can_be_argument(name):
        raise WrongArgument("arguments", "pattern", value=name, kind="prompt", place=place)


def _check_argument(argument: Argument, place: str) -> None:
    values, description = argument.values, argument.description or ""
    if len(values) > MAX_VALUES:
        place = f"{place}.values"
        raise WrongArgument("arguments", "maxItems", limit=MAX_VALUES, value=argument.name, kind="prompt", place=place)
    check_text("arguments", description, f"{place}.description")
    for index, text in enumerate(values):
        check_text("arguments", text, f"{place}.values[{index}]")
    if len(description) > MAX_DESCRIPTION:
        place = f"{place}.description"
        raise WrongArgument("arguments", "maxLength", limit=MAX_DESCRIPTION, kind="prompt", place=place)
    for index, value in enumerate(values):
        if len(value) > MAX_VALUE:
            place = f"{place}.values[{index}]"
            raise WrongArgument("arguments", "maxLength", limit=MAX_VALUE, value=value, kind="prompt", place=place)


def check_text(field: str, text: str, place: str | None = None) -> None:
    """Check that a store can keep a text."""
    if not is_storable(text):
        raise WrongArgument(field, "type", limit="text", value=text, place=place)


def is_storable(text: str) -> bool:
    """Whether both engines can keep a text: PostgreSQL refuses NUL, and a lone surrogate cannot be encoded."""
    if "\0" in text:
        return False
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


# -- whole values -------------------------------------------------------------------------------------------------

# The rules of each field, in the order in which they are applied.
_RULES: dict[str, dict[str, Callable[[str, Any], Any]]] = {
    "prompt": {
        "name": clean_new_name,
        "title": clean_title,
        "content": clean_prompt_content,
        "description": clean_description,
        "tags": clean_tag_changes,
        "arguments": clean_arguments,
    },
    "resource": {
        "name": clean_new_name,
        "uri": clean_uri,
        "mime_type": clean_mime_type,
    },
    "task": {
        "title": clean_title,
        "description": clean_description,
        "tags": clean_tag_changes,
        "priority": lambda kind, priority: clean_choice(kind, "priority", priority, PRIORITIES),
        "due": clean_due,
        "blocked_by": clean_blockers,
        "status": lambda kind, status: clean_choice(kind, "status", status, STATUSES),
    },
}


def clean(kind: str, value: Value) -> Value:
    """A draft or a patch with its fields in the form that is stored, except content and description of a resource."""
    cleaned = {}
    for field, rule in _RULES[kind].items():
        item = getattr(value, field, UNSET)
        if item is not UNSET and item is not None:
            cleaned[field] = rule(kind, item)
    return structs.replace(value, **cleaned)


def clean_prompt(draft: PromptDraft) -> PromptDraft:
    """A new prompt as it is stored, with a title, a name, or both."""
    draft = clean("prompt", draft)
    if draft.arguments:
        check_template(draft.content)
    if draft.title is UNSET and draft.name is None:
        raise WrongArgument("title", "required", kind="prompt")
    return draft
