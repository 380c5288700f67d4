"""What a name, a URI, a MIME type and a content may be, whoever gives them."""

import re
from collections.abc import Sequence
from datetime import date

from satchel.errors import WrongArgument
from satchel.model import MAX_CONTENT_BYTES, Argument

MAX_NAME = 255
MAX_TAGS = 100
MAX_BLOCKERS = 100
MAX_ARGUMENTS = 100
MAX_VALUES = 100  # of one argument
MAX_VALUE = 200
MAX_TEMPLATE_BYTES = 64 * 1024  # as much as the worker takes that fills them in
MAX_TITLE = 200
MAX_URI_BYTES = 2000  # PostgreSQL indexes no key beyond 2,704 bytes

# Compiled when first used: a cold start has no name to look at.
_NAME = r"[A-Za-z0-9._-]+"
_TAG = r"[A-Za-z0-9_-]{1,50}"
_ARGUMENT = r"[a-z0-9_]{1,255}"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_URI = r"[A-Za-z][A-Za-z0-9+.-]*:[^\s\x00-\x1f\x7f-\x9f]*"
_WORD = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+"
_MIME_TYPE = rf'{_WORD}/{_WORD}(?:[ \t]*;[ \t]*{_WORD}=(?:{_WORD}|"[^"\\\x00-\x1f\x7f]*"))*'

_TEXT_SUBTYPES = {"json", "xml", "sql", "javascript", "typescript", "yaml", "toml", "graphql"}


def check_name(kind: str, name: str) -> None:
    """Refuse what cannot be the name of a project, prompt or resource."""
    if not name:
        raise WrongArgument("name", "minLength", limit=1, value=name, kind=kind)
    if len(name) > MAX_NAME:
        raise WrongArgument("name", "maxLength", limit=MAX_NAME, value=name, kind=kind)
    if not re.fullmatch(_NAME, name):
        raise WrongArgument("name", "pattern", limit=_NAME, value=name, kind=kind)


def check_uri(uri: str) -> None:
    """Refuse what is no URI: it has a scheme, and neither spaces nor control characters."""
    if not re.fullmatch(_URI, uri) or len(uri.encode()) > MAX_URI_BYTES:
        raise WrongArgument("uri", "format", limit="uri", value=uri, kind="resource")


def check_mime_type(mime_type: str) -> None:
    """Refuse what is no MIME type."""
    if len(mime_type) > MAX_NAME or not re.fullmatch(_MIME_TYPE, mime_type):
        raise WrongArgument("mime_type", "format", limit="mime type", value=mime_type, kind="resource")


def check_prompt_content(content: str) -> None:
    """Refuse an empty prompt, or one too long."""
    if not content:
        raise WrongArgument("content", "minLength", limit=1, kind="prompt")
    check_size("prompt", content)


def check_size(kind: str, content: str | bytes) -> None:
    """Refuse a content that is too long."""
    size = len(content) if isinstance(content, bytes) else len(content.encode())
    if size > MAX_CONTENT_BYTES:
        raise WrongArgument("content", "maxBytes", limit=MAX_CONTENT_BYTES, kind=kind)


def is_text(mime_type: str) -> bool:
    """Whether a content of this type is text; of any other type it is bytes."""
    type_, _, subtype = mime_type.partition(";")[0].strip().lower().partition("/")
    if type_ == "text" or subtype.endswith(("+json", "+xml", "+yaml")):
        return True
    return type_ == "application" and subtype.removeprefix("x-") in _TEXT_SUBTYPES


def check_title(title: str) -> None:
    """Refuse what cannot be a title."""
    if not 1 <= len(title.strip()) <= MAX_TITLE:
        raise WrongArgument("title", "maxLength" if title.strip() else "minLength", limit=MAX_TITLE, kind="prompt")


def check_tags(tags: Sequence[str], kind: str = "prompt") -> None:
    """Refuse what cannot be a tag, and too many of them."""
    if len(tags) > MAX_TAGS:
        raise WrongArgument("tags", "maxItems", limit=MAX_TAGS, kind=kind)
    for tag in tags:
        if not re.fullmatch(_TAG, tag):
            raise WrongArgument("tag", "pattern", limit=_TAG, value=tag, kind=kind)


def fold_tags(tags: Sequence[str]) -> list[str]:
    """Tags as they are kept: in lower case, each once."""
    return sorted({tag.lower() for tag in tags})


def possible_tags(tags: Sequence[str]) -> list[str]:
    """Those of the tags somebody asks for that anything can have, as they are kept."""
    # Tags are ASCII; without a look at that, the Kelvin sign would be folded into a k.
    return fold_tags([tag for tag in tags if tag.isascii()])


def check_due(due: str) -> None:
    """Refuse what is no day."""
    try:
        if not re.fullmatch(_DATE, due):
            raise ValueError
        date.fromisoformat(due)
    except ValueError:
        raise WrongArgument("due", "format", limit="date", value=due, kind="task") from None


def check_arguments(arguments: Sequence[Argument]) -> None:
    """Refuse what cannot be the arguments of a prompt."""
    if len(arguments) > MAX_ARGUMENTS:
        raise WrongArgument("arguments", "maxItems", limit=MAX_ARGUMENTS, kind="prompt")
    seen: set[str] = set()
    for index, argument in enumerate(arguments):
        values = f"arguments[{index}].values"
        if not re.fullmatch(_ARGUMENT, argument.name):
            raise WrongArgument("arguments", "pattern", limit=_ARGUMENT, value=argument.name, kind="prompt")
        if argument.name in seen:
            raise WrongArgument("arguments", "uniqueItems", value=argument.name, kind="prompt")
        seen.add(argument.name)
        if len(argument.values) > MAX_VALUES:
            raise WrongArgument(
                "arguments", "maxItems", limit=MAX_VALUES, value=argument.name, kind="prompt", place=values
            )
        for text in (argument.description or "", *argument.values):
            check_text("arguments", text)
        for number, value in enumerate(argument.values):
            if len(value) > MAX_VALUE:
                place = f"{values}[{number}]"
                raise WrongArgument("arguments", "maxLength", limit=MAX_VALUE, value=value, kind="prompt", place=place)


def check_template(content: str) -> None:
    """Refuse a template that is too long to be filled in."""
    if len(content.encode()) > MAX_TEMPLATE_BYTES:
        raise WrongArgument("content", "maxBytes", limit=MAX_TEMPLATE_BYTES, kind="prompt")


def check_text(field: str, text: str) -> None:
    """Refuse what no store can keep: NUL, which PostgreSQL refuses, and half characters, which are no UTF-8."""
    if not is_storable(text):
        raise WrongArgument(field, "type", limit="text")


def is_storable(text: str) -> bool:
    """Whether both databases can store a text: PostgreSQL refuses NUL, and a lone surrogate is not UTF-8."""
    if "\0" in text:
        return False
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False
