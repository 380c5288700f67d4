"""The rules for the values in the store. Services apply them; contracts may only be narrower.

A `check_…` function raises WrongArgument. A `clean_…` function also returns the value in the form that is stored.
"""

import re
import unicodedata
from binascii import Error, a2b_base64, b2a_base64, crc32
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from functools import partial
from typing import Any, TypeVar

from msgspec import Struct, structs

from satchel import clock
from satchel.errors import WrongArgument
from satchel.model import (
    ALL_PROJECTS,
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
    uri_of,
)
from satchel.storage.database import Tx

Value = TypeVar("Value", bound=Struct)
Query = TypeVar("Query", bound=TextQuery)

MAX_NAME = 255
_LONGEST_CLIENT = 60  # characters of a client's name in keys and names of its sessions
MAX_TITLE = 200
MAX_TASK_TITLE = 500
MAX_QUERY = 1000
MAX_TAGS = 100
MAX_BLOCKERS = 100
MAX_CLAIM_MINUTES = 1440
MAX_ARGUMENTS = 100
MAX_VALUES = 100  # values of one argument
MAX_VALUE = 200
MAX_ARGUMENTS_TEXT = 100_000  # characters of all names, descriptions and values of a prompt's arguments
MAX_TEMPLATE_BYTES = 64 * 1024  # the limit of the process that renders templates
MAX_URI_BYTES = 2000  # PostgreSQL indexes no key beyond 2,704 bytes

# Compiled on first use: a cold start checks no values.
NAME = r"[A-Za-z0-9._-]+"
_EXTENSION = r"(?<=.)\.[A-Za-z][A-Za-z0-9]{0,9}\Z"  # the extension of a name like s.md; v1.2 has none
_TAG = r"[a-z0-9_-]{1,50}"
MAX_TAG = 50
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_URI = r"[A-Za-z][A-Za-z0-9+.-]*:[^\s\x00-\x1f\x7f-\x9f]*"
_OWN_SCHEME = "satchel:"
_WORD = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+"
_MIME_TYPE = rf'{_WORD}/{_WORD}(?:[ \t]*;[ \t]*{_WORD}=(?:{_WORD}|"[^"\\\x00-\x1f\x7f]*"))*'

# Subtypes of `application/`, with or without `x-` in front.
_TEXT_SUBTYPES = {
    *("json", "json5", "jsonl", "ndjson", "json-seq", "xml", "xhtml", "yaml", "toml", "www-form-urlencoded"),
    *("javascript", "ecmascript", "typescript", "sql", "graphql", "sh", "shellscript", "python", "ruby", "perl"),
    *("php", "httpd-php", "lua", "rtf", "tex", "latex", "subrip"),
}


def clean_name(kind: str, name: str) -> str:
    """Check the name of a project, prompt or document, and return it."""
    if not name:
        raise WrongArgument("name", "minLength", limit=1, value=name, kind=kind)
    if len(name) > MAX_NAME:
        raise WrongArgument("name", "maxLength", limit=MAX_NAME, value=name, kind=kind)
    if not re.fullmatch(NAME, name):
        raise WrongArgument("name", "pattern", limit=NAME, value=name, kind=kind)
    return name


def clean_new_name(kind: str, name: str) -> str:
    """Check the name of a new project, prompt or document, and return it. The form of an id is refused as ambiguous."""
    clean_name(kind, name)
    if kind == "project" and name.lower() == ALL_PROJECTS:
        raise WrongArgument("name", "everywhere", value=name, kind=kind)
    if clock.parse_id(name) is not None:
        raise WrongArgument("name", "reserved", value=name, kind=kind)
    return name


def list_free_names(name: str, id: str) -> Iterator[str]:
    """Yield a name, then alternatives to it: with -2 to -9 before the extension, then with digits of an id."""
    yield name
    found = re.search(_EXTENSION, name)
    end = found[0] if found else ""
    for mark in _list_marks(id):
        yield name.removesuffix(end)[: MAX_NAME - len(f"-{mark}{end}")] + f"-{mark}{end}"


def list_free_titles(title: str, id: str) -> Iterator[str]:
    """Yield a title, cut to its limit, then alternatives to it: with (2) to (9), then with digits of an id."""
    yield title[:MAX_TITLE]
    for mark in _list_marks(id):
        yield title[: MAX_TITLE - len(f" ({mark})")] + f" ({mark})"


def list_free_uris(uri: str, id: str) -> Iterator[str]:
    """Yield a URI, then alternatives to it, within the limit of bytes."""
    yield uri
    for mark in _list_marks(id):
        yield f"{uri.encode()[: MAX_URI_BYTES - len(mark) - 1].decode(errors='ignore')}-{mark}"


def choose_free(candidates: Iterable[str], is_free: Callable[[str], bool]) -> str:
    """Return the first free candidate; if none is free, the last one, so that the database refuses it."""
    last = ""
    for last in candidates:
        if is_free(last):
            break
    return last


def _list_marks(id: str) -> tuple[str, ...]:
    """Return the endings that make names of copies. The last one is always free, because ids are unique."""
    return (*map(str, range(2, 10)), id[:8], id)


def drop_accents(text: str) -> str:
    """Return a text with accented letters replaced by plain ones."""
    if text.isascii():
        return text
    spelled = unicodedata.normalize("NFKD", text)
    return "".join(character for character in spelled if not unicodedata.category(character).startswith("M"))


def clean_title(kind: str, title: str) -> str:
    """Return the title of a prompt or task, without surrounding white space."""
    check_text("title", title)
    title = title.strip()
    longest = MAX_TASK_TITLE if kind == "task" else MAX_TITLE
    if not title:
        raise WrongArgument("title", "minLength", limit=1, kind=kind)
    if len(title) > longest:
        raise WrongArgument("title", "maxLength", limit=longest, kind=kind)
    return title


def check_new(tx: Tx, kind: str, field: str, new: object, old: str | None = None) -> None:
    """Refuse hidden characters in a new title or URI, if the scope asks for this; keep those of restored items."""
    if isinstance(new, str) and new != old and tx.scope.refuses_hidden and tx.restores is None:
        check_shown(kind, field, new)


def clean_description(kind: str, description: str) -> str | None:
    """Return a description; None if it is empty."""
    check_text("description", description)
    if len(description) > MAX_DESCRIPTION:
        raise WrongArgument("description", "maxLength", limit=MAX_DESCRIPTION, kind=kind)
    return description or None


def clean_uri(kind: str, uri: str) -> str:
    """Check a URI, which needs a scheme and may have neither spaces nor control characters; return it."""
    check_text("uri", uri)
    if not re.fullmatch(_URI, uri) or len(uri.encode()) > MAX_URI_BYTES:
        raise WrongArgument("uri", "format", limit="uri", value=uri, kind=kind)
    return uri


def check_own_uri(name: str, uri: str) -> None:
    """Refuse a URI with the scheme `satchel`, in upper or lower case, that names another item."""
    if is_own_uri(uri) and uri != make_own_uri(name):
        raise WrongArgument("uri", "reserved", value=uri, kind="document")


def make_own_uri(name: str) -> str:
    """Return the `satchel://` URI of a document."""
    return uri_of("document", name)


def is_own_uri(uri: str) -> bool:
    """Return whether a URI has the scheme `satchel`."""
    return uri.lower().startswith(_OWN_SCHEME)


def clean_mime_type(kind: str, mime_type: str) -> str:
    """Check a MIME type, and return it."""
    if len(mime_type) > MAX_NAME or not re.fullmatch(_MIME_TYPE, mime_type):
        raise WrongArgument("mime_type", "format", limit="mime type", value=mime_type, kind=kind)
    return mime_type


def is_text(mime_type: str) -> bool:
    """Return whether content of this type is text rather than bytes."""
    type_, _, subtype = mime_type.partition(";")[0].strip().lower().partition("/")
    if type_ in ("text", "message") or subtype.endswith(("+json", "+xml", "+yaml")):
        return True
    return type_ == "application" and subtype.removeprefix("x-") in _TEXT_SUBTYPES


def clean_prompt_content(kind: str, content: str) -> str:
    """Check the content of a prompt, which must not be blank; return it."""
    check_text("content", content)
    if not content or content.isspace():
        raise WrongArgument("content", "minLength", limit=1, kind=kind)
    _check_size(kind, content)
    return content


def check_template(content: str) -> None:
    """Check that a template is short enough to be rendered."""
    if not fits(content, MAX_TEMPLATE_BYTES):
        raise WrongArgument("content", "maxBytes", limit=MAX_TEMPLATE_BYTES, value=content, kind="prompt")


def fits(text: str, most: int) -> bool:
    """Return whether a text has at most `most` bytes, encoding it only if its length does not tell."""
    return len(text) * 4 <= most or len(text.encode()) <= most


def clean_content(mime_type: str, content: str | bytes) -> str | bytes:
    """Return the content of a document: text for a text type, else bytes.

    Bytes of a text type are read as UTF-8, and text of any other type as base64.
    """
    if not is_text(mime_type):
        content = content if isinstance(content, bytes) else _from_base64(content, mime_type)
        _check_size("document", content)
        return content
    if isinstance(content, bytes):
        try:
            content = content.decode()
        except UnicodeDecodeError:
            raise WrongArgument("content", "contentEncoding", limit="utf-8", kind="document") from None
    check_text("content", content)
    _check_size("document", content)
    return content


def _from_base64(content: str, mime_type: str) -> bytes:
    content = "".join(content.split())  # the command base64 wraps its lines
    try:
        data = a2b_base64(content, strict_mode=True)
    except (Error, ValueError):
        data = None
    # Strict mode still accepts superfluous padding and unused bits, so compare with the canonical form.
    if data is None or b2a_base64(data, newline=False) != content.encode():
        # The value is the type, which is the reason why the content must be base64.
        raise WrongArgument("content", "contentEncoding", limit="base64", value=mime_type, kind="document")
    return data


def _check_size(kind: str, content: str | bytes) -> None:
    if not (fits(content, MAX_CONTENT_BYTES) if isinstance(content, str) else len(content) <= MAX_CONTENT_BYTES):
        raise WrongArgument("content", "maxBytes", limit=MAX_CONTENT_BYTES, value=content, kind=kind)


def clean_tags(kind: str, tags: Sequence[str]) -> list[str]:
    """Return tags in lower case, sorted, without repeats; a tag has letters of any script, digits, - and _."""
    _check_number_of_tags(kind, tags)
    folded = [fold_tag(tag) for tag in tags]
    for index, tag in enumerate(folded):
        if not is_tag(tag):
            raise WrongArgument("tag", "pattern", limit=MAX_TAG, value=tags[index], kind=kind, place=f"tags[{index}]")
    return sorted(set(folded))


def fold_tag(tag: str) -> str:
    """Return a tag in its stored form, lower case with composed letters; folding a stored tag does not change it."""
    if tag.isascii():
        return tag.lower()
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", tag).lower())
    return tag if folded.isascii() else folded  # the Kelvin sign stays different from a k


def is_tag(tag: str) -> bool:
    """Return whether a text in the form of `fold_tag` can be a tag."""
    if tag.isascii():
        return re.fullmatch(_TAG, tag) is not None
    is_marked = unicodedata.category(tag[0])[0] == "M"  # a mark needs a letter before it
    return len(tag) <= MAX_TAG and not is_marked and is_storable(tag) and drop_unfit(tag, "") == tag


def drop_unfit(text: str, instead: str) -> str:
    """Replace every character that a tag cannot have."""
    return "".join(one if _fits_tag(text, place) else instead for place, one in enumerate(text))


def _fits_tag(text: str, place: int) -> bool:
    one = text[place]
    is_letter = one in _JOINERS or unicodedata.category(one)[0] in "LMN"
    return one in "-_" or (is_letter and not _is_hidden(text, place))


def clean_tag_changes(kind: str, tags: Sequence[str] | ListChange) -> Sequence[str] | ListChange:
    """Return the tags of an update in their stored form: a list, or additions and removals."""
    if not isinstance(tags, ListChange):
        return clean_tags(kind, tags)
    return ListChange(added=tuple(clean_tags(kind, tags.added)), removed=tuple(clean_tags(kind, tags.removed)))


def read_changes(field: str, given: Sequence[str]) -> Sequence[str] | ListChange:
    """Read a list of an update: as additions and removals if its entries look like +x and -x, else as the new list.

    Raises:
        WrongArgument: only some of the entries have a sign.
    """
    stripped = [entry.strip() for entry in given]
    signed = [entry[:1] in ("+", "-") for entry in stripped]
    if not any(signed):
        return given
    for index, entry in enumerate(stripped):
        if not signed[index] or not entry[1:].strip():
            raise WrongArgument(field, "signs", value=given[index], place=f"{field}[{index}]")
    return ListChange(
        added=tuple(entry[1:].strip() for entry in stripped if entry[0] == "+"),
        removed=tuple(entry[1:].strip() for entry in stripped if entry[0] == "-"),
    )


def apply_changes(current: Sequence[str], given: Sequence[str] | ListChange) -> list[str]:
    """Return the tags that an item has after an update; the removal of a tag that it does not have changes nothing."""
    if not isinstance(given, ListChange):
        return list(given)
    removed = set(map(fold_tag, given.removed))
    added = [entry for entry in given.added if fold_tag(entry) not in removed]
    return [*(entry for entry in current if fold_tag(entry) not in removed), *added]


def clean_query(kind: str, query: Query) -> Query:
    """Return a query with text and tags in their stored form. A tag may be any text."""
    _check_number_of_tags(kind, query.tags)
    for index, tag in enumerate(query.tags):
        check_text("tags", tag, f"tags[{index}]")
    return structs.replace(query, text=fold_query(query.text), tags=sorted(set(map(fold_tag, query.tags))))


def _check_number_of_tags(kind: str, tags: Sequence[str]) -> None:
    if len(tags) > MAX_TAGS:
        raise WrongArgument("tags", "maxItems", limit=MAX_TAGS, kind=kind)


def fold_query(query: str) -> str:
    """Return a search text in the form used for comparison."""
    check_text("query", query)
    if len(query) > MAX_QUERY:
        raise WrongArgument("query", "maxLength", limit=MAX_QUERY)
    return fold(query)


def fold(text: str) -> str:
    """Return a text in the form that literal searches compare: case-folded, and composed to single letters."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFC", text).casefold()


def clean_due(kind: str, due: str) -> str:
    """Check the day when a task is due."""
    return clean_day("due", kind, due)


def read_due(text: str, today: str) -> tuple[str, str]:
    """Return the first day that a filter for due days selects, and the day after the last; empty if unlimited.

    A week is today and the seven days after it.
    """
    word, tomorrow = text.strip().lower(), clock.days_after(today, 1)
    days = {"overdue": ("", today), "today": (today, tomorrow), "week": (today, clock.days_after(today, 8))}
    if word in days:
        return days[word]
    if not word.startswith("<"):
        raise WrongArgument("due", "filter", value=text, kind="task")
    try:
        return "", clean_due("task", word[1:].strip())
    except WrongArgument as wrong:
        raise WrongArgument("due", "filter", value=text, kind="task") from wrong


def clean_day(field: str, kind: str, day: str) -> str:
    """Check a day, which is written YYYY-MM-DD."""
    try:
        if not re.fullmatch(_DATE, day):
            raise ValueError
        date.fromisoformat(day)
    except ValueError:
        raise WrongArgument(field, "format", limit="date", value=day, kind=kind) from None
    return day


def is_expired(day: str | None) -> bool:
    """Return whether an item that expires on a day is out of date: the day is over, in UTC."""
    return day is not None and day < clock.now()[:10]


def clean_replacement(kind: str, name: str) -> str:
    """Check the name of the item that replaces another one; it need not exist."""
    check_text("replaced_by", name)
    if len(name) > MAX_NAME:
        raise WrongArgument("replaced_by", "maxLength", limit=MAX_NAME, value=name, kind=kind)
    return name


def clean_choice(kind: str, field: str, value: str, choices: tuple[str, ...]) -> str:
    """Check that a word is one of the choices."""
    if value not in choices:
        raise WrongArgument(field, "enum", limit=choices, value=value, kind=kind)
    # Return the constant, not the given word: Structs that omit defaults recognize them only by identity.
    return choices[choices.index(value)]


def clean_blockers(kind: str, blockers: Sequence[int] | BlockerChange) -> Sequence[int] | BlockerChange:
    """Check the blockers of an update, and return their numbers, or which of them to add and to remove."""
    if len(blockers.added if isinstance(blockers, BlockerChange) else blockers) > MAX_BLOCKERS:
        raise WrongArgument("blocked_by", "maxItems", limit=MAX_BLOCKERS, kind=kind)
    return blockers


def clean_arguments(kind: str, arguments: Sequence[Argument]) -> Sequence[Argument]:
    """Return the arguments that a prompt declares."""
    if len(arguments) > MAX_ARGUMENTS:
        raise WrongArgument("arguments", "maxItems", limit=MAX_ARGUMENTS, kind=kind)
    seen: set[str] = set()
    for index, argument in enumerate(arguments):
        place = f"arguments[{index}]"
        if len(argument.name) > MAX_NAME:
            raise WrongArgument("arguments", "maxLength", limit=MAX_NAME, kind=kind, place=f"{place}.name")
        if not can_be_argument(argument.name):
            raise WrongArgument("arguments", "pattern", value=argument.name, kind=kind, place=f"{place}.name")
        if argument.name in seen:
            raise WrongArgument("arguments", "uniqueItems", value=argument.name, kind="prompt", place=place)
        seen.add(argument.name)
        _check_argument(argument, place)
    size = sum(len(one.name) + len(one.description or "") + sum(map(len, one.values)) for one in arguments)
    if size > MAX_ARGUMENTS_TEXT:
        raise WrongArgument("arguments", "maxLength", limit=MAX_ARGUMENTS_TEXT, kind=kind)
    return arguments


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
    """Check that both engines can store a text."""
    if not is_storable(text):
        raise WrongArgument(field, "type", limit="text", value=text, place=place)


def clean_client(name: str) -> str:
    """Return the name of a client in one line, shortened; empty if it cannot be stored."""
    return " ".join(name.split())[:_LONGEST_CLIENT] if is_storable(name) else ""


def make_session_key(client: str, session: str) -> str:
    """Return the key that all calls of one session of a client share."""
    return f"{clean_client(client)} {session if is_storable(session) else ''}"


def shorten_session(key: str) -> str:
    """Return four characters by which people and models distinguish the sessions of a client."""
    return f"{crc32(key.encode()) & 0xFFFF:04x}"


def is_storable(text: str) -> bool:
    """Return whether both engines can store a text: PostgreSQL refuses NUL, and lone surrogates cannot be encoded."""
    if "\0" in text:
        return False
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


# -- hidden characters --------------------------------------------------------------------------------------------
# A control character, a bidirectional override or a zero-width space can make two titles look alike, or hide an
# instruction for a model from people. Some writing needs characters of these kinds: joiners in Persian, Indic
# and other scripts; joiners, variation selectors and tags in emoji. They are accepted only in such writing.

_CONTROLS = r"[\x00-\x1f\x7f-\x9f]"
# Letters and marks that are blank, but are not format characters.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2028\u2029\u2800\u3164\uffa0\ufffc")
# Code points that Unicode reserves for more invisible characters, and noncharacters.
_RESERVED = ((0x2060, 0x206F), (0xFDD0, 0xFDEF), (0xFFF0, 0xFFF8), (0xE0000, 0xE0FFF))
# Visible format characters: signs that enclose or span numbers in Arabic, Syriac and Kaithi.
_SHOWN = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")
_JOINERS = ("\u200c", "\u200d")
_BEYOND_LATIN = "\u0590"  # the first code point after Latin, Greek and Cyrillic, whose letters need no joiners
_BLACK_FLAG, _END_OF_TAGS = "\U0001f3f4", "\U000e007f"
_FLAG = "\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f"  # a region's flag, such as Scotland's


def check_shown(kind: str, field: str, text: str) -> None:
    """Refuse a text with a hidden character; the value of the error names the character."""
    hidden = find_hidden(text)
    if hidden is not None:
        raise WrongArgument(field, "hidden", value=f"U+{ord(hidden):04X}", kind=kind)


def drop_hidden(text: str) -> str:
    """Return a text without its hidden characters; line breaks and tabs become spaces."""
    text = re.sub(r"[\t\n\r\x0b\x0c\x85\u2028\u2029]+", " ", text)
    while (hidden := find_hidden(text)) is not None:
        text = text.replace(hidden, "")
    return text


def find_hidden(text: str) -> str | None:
    """Return the first hidden character of a text; None if there is none."""
    if text.isascii():
        found = re.search(_CONTROLS, text)
        return found[0] if found else None
    text = re.sub(_FLAG, _BLACK_FLAG, text)
    return next((one for place, one in enumerate(text) if _is_hidden(text, place)), None)


def _is_hidden(text: str, place: int) -> bool:
    one = text[place]
    before, after = text[place - 1 : place] if place else "", text[place + 1 : place + 2]
    if one in _JOINERS:
        return not _joins(before, after)
    if _is_selector(one):
        return not before or _is_selector(before) or before.isspace() or unicodedata.category(before)[0] == "C"
    code = ord(one)
    if one in _BLANK or code & 0xFFFE == 0xFFFE or any(first <= code <= last for first, last in _RESERVED):
        return True
    return unicodedata.category(one) in ("Cc", "Cf", "Cs") and one not in _SHOWN


def _joins(before: str, after: str) -> bool:
    """Return whether a joiner stands between letters or signs beyond Latin, or ends a word of such letters."""
    if before < _BEYOND_LATIN or unicodedata.category(before)[0] not in "LMS" or after in _JOINERS:
        return False
    return after >= _BEYOND_LATIN if after else unicodedata.category(before)[0] != "S" and not _is_selector(before)


def _is_selector(one: str) -> bool:
    """Return whether a character is a variation selector, which chooses a form of the character before it."""
    return "\ufe00" <= one <= "\ufe0f" or "\U000e0100" <= one <= "\U000e01ef"


# -- whole values -------------------------------------------------------------------------------------------------

_AGE: dict[str, Callable[[str, Any], Any]] = {
    "expires": partial(clean_day, "expires"),
    "replaced_by": clean_replacement,
}
# The rules of each field, in the order of their application.
_RULES: dict[str, dict[str, Callable[[str, Any], Any]]] = {
    "prompt": {
        "name": clean_new_name,
        "title": clean_title,
        "content": clean_prompt_content,
        "description": clean_description,
        "tags": clean_tag_changes,
        "arguments": clean_arguments,
        **_AGE,
    },
    "document": {
        "name": clean_new_name,
        "uri": clean_uri,
        "mime_type": clean_mime_type,
        **_AGE,
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
    """Return a draft or a patch with its fields in their stored form, except content and description of a document."""
    cleaned = {}
    for field, rule in _RULES[kind].items():
        item = getattr(value, field, UNSET)
        if item is not UNSET and item is not None:
            cleaned[field] = rule(kind, item)
    return structs.replace(value, **cleaned)


def clean_prompt(draft: PromptDraft) -> PromptDraft:
    """Return a new prompt in its stored form; refuse a prompt that has neither title nor name."""
    draft = clean("prompt", draft)
    if draft.arguments or draft.is_constant:
        check_template(draft.content)
    if draft.title is UNSET and draft.name is None:
        raise WrongArgument("title", "required", kind="prompt")
    return draft
