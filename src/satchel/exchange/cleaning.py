"""Converts foreign values into values that the store accepts: names, titles, tags, days, priorities, whole entries."""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from satchel import clock
from satchel.errors import Refused
from satchel.exchange.entries import DocumentEntry, Entry, PromptEntry, Unreadable
from satchel.model import MAX_DESCRIPTION, Priority, TaskStatus
from satchel.services import prompts, rules, wording
from satchel.services.rules import drop_hidden, find_hidden

_LONGEST_VALUE = 500  # characters of a field in a description
_MAX_NAME = 200  # characters; leaves room for a number

_PRIORITIES: dict[str, Priority] = {
    **dict.fromkeys(("urgent", "critical", "blocker", "highest", "p0", "a", "asap"), "urgent"),
    **dict.fromkeys(("high", "h", "p1", "b", "important", "major"), "high"),
    **dict.fromkeys(("low", "l", "p3", "p4", "d", "minor", "lowest", "trivial", "backlog", "someday"), "low"),
}
# Words for each status, without - and _.
_COMPLETED = {"done", "completed", "complete", "closed", "finished", "resolved", "merged"}
_CANCELLED = {"cancelled", "canceled", "deleted", "wontfix", "won't fix", "won't do", "rejected", "abandoned"}
_CANCELLED |= {"archived", "not planned", "duplicate", "tombstone"}
_PENDING = {"", "pending", "open", "todo", "to do", "new", "none", "reopened"}
_VOICE = wording.Voice(quote=lambda text: f"'{text}'", advice={})


def clean_name(text: str) -> str:
    """Make the name of a prompt or project from a text; empty if too little of the text is valid in names."""
    if re.fullmatch(rules.NAME, text) and len(text) <= _MAX_NAME:
        return text
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", rules.drop_accents(text.replace("ß", "ss"))).strip("-.")
    return plain[:_MAX_NAME].strip("-.")


def clean_title(text: str, longest: int = rules.MAX_TITLE) -> tuple[str, list[str]]:
    """Make a title in one line from a text; also return notes on what was cut."""
    return _cut(" ".join(text.split()), longest, "title")


def clean_description(text: str) -> tuple[str | None, list[str]]:
    """Make a description from a text; also return notes on what was cut."""
    cut, notes = _cut(text, MAX_DESCRIPTION, "description")
    return cut or None, notes


def _cut(text: str, longest: int, what: str) -> tuple[str, list[str]]:
    if len(text) <= longest:
        return text, []
    return text[: longest - 1].rstrip() + "…", [f"The {what} was cut: it is longer than {longest} characters."]


def clean_tags(given: object) -> tuple[tuple[str, ...], list[str]]:
    """Return tags from a list, or from a text with commas, and notes on omitted tags."""
    found: dict[str, None] = {}
    notes: list[str] = []
    for one in list_texts(given):
        # The mark is a character that no tag has, so that the hyphens of a tag stay as they are.
        fitting = re.sub("\0+", "-", rules.drop_unfit(rules.fold_tag(one), "\0"))
        tag = fitting.strip("-")[: rules.MAX_TAG].strip("-")
        if rules.is_tag(tag):
            found[tag] = None
        elif one.strip():
            notes.append(f"The tag {one.strip()!r} was left out: none of its characters is allowed in a tag.")
    if len(found) > rules.MAX_TAGS:
        notes.append(f"Only the first {rules.MAX_TAGS} of {len(found)} tags are kept.")
    return tuple(sorted(list(found)[: rules.MAX_TAGS])), notes


def list_texts(given: object) -> list[str]:
    """Return the texts and numbers of a list, or the parts of a text with commas or line breaks."""
    if isinstance(given, str):
        text = given.strip()
        if text.startswith("[") and text.endswith("]"):
            text = text[1:-1]
        return [one.strip().strip("\"'") for one in re.split(r"[,\n]", text) if one.strip()]
    if isinstance(given, Mapping):
        return [str(one) for one in given]
    if isinstance(given, Iterable):
        return [text for one in given if (text := to_text(one))]
    return [text] if (text := to_text(given)) else []


def to_text(value: object) -> str:
    """Return a text, number or truth value as a text; empty for anything else."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value.strip()
    return str(value) if isinstance(value, int | float) else ""


def keep_fields(description: str, fields: Mapping[str, Any], known: Iterable[str]) -> tuple[str | None, list[str]]:
    """Append `fields` that the store has no column for to a description, one per line; return notes on omitted ones.

    People and models can read `model: opus` there, and an export writes it back as a field.
    """
    names = {name.casefold() for name in known}
    lines: list[str] = []
    lost: list[str] = []
    for key, value in fields.items():
        if key.casefold() in names or value is None or value == "" or value == [] or value == {}:
            continue
        text = _write_value(value)
        is_kept = text is not None and len(text) <= _LONGEST_VALUE and re.fullmatch(FIELD_NAME, key)
        if is_kept:
            lines.append(f"{key}: {text}")
        else:
            lost.append(key)
    notes = [f"Left out, because Satchel has no field for it: {', '.join(sorted(lost))}."] if lost else []
    text = "\n".join(lines)
    whole = f"{description.strip()}\n\n{text}" if text else description.strip()
    made, more = clean_description(whole.strip())
    return made, notes + more


FIELD_NAME = r"[A-Za-z$][\w.$-]{0,60}"


def split_fields(description: str | None) -> tuple[str, dict[str, str]]:
    """Split a description into its text and the fields that `keep_fields` appended."""
    text, _, last = ("\n\n" + (description or "")).rpartition("\n\n")
    fields: dict[str, str] = {}
    for line in last.split("\n"):
        key, colon, value = line.partition(": ")
        if not colon or not re.fullmatch(FIELD_NAME, key):
            return description or "", {}
        fields[key] = value
    return text.strip(), fields


def _write_value(value: object) -> str | None:
    """Return a value in one line; None if that is impossible."""
    if isinstance(value, bool | int | float):
        return to_text(value)
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, list) and all(isinstance(one, str | int | float) for one in value):
        return ", ".join(to_text(one) for one in value)
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return None


def clean_priority(value: object) -> Priority:
    """Return the priority that a text means by any of the usual names; normal for any other text."""
    text = re.sub(r"^(?:priority|prio)[\s:/_-]*", "", to_text(value).casefold()).strip("() ")
    return _PRIORITIES.get(text, "normal")


def clean_status(value: object) -> TaskStatus:
    """Return the status that a text means by any of the usual names; pending for any other text."""
    plain = _plain_status(value)
    return "completed" if plain in _COMPLETED else "cancelled" if plain in _CANCELLED else "pending"


def status_tags(value: object) -> list[str]:
    """Return a tag for an open status that the store lacks, such as `in-progress` or `review`."""
    is_known = _plain_status(value) in _PENDING | _COMPLETED | _CANCELLED
    return [] if is_known else [to_text(value).casefold()]


def _plain_status(value: object) -> str:
    return to_text(value).casefold().replace("-", " ").replace("_", " ")


def clean_day(value: object) -> str | None:
    """Parse a date or time in a usual form, and return its day; None for anything else."""
    moment = parse_moment(value)
    if moment is None:
        return None
    try:
        return (moment.astimezone() if moment.tzinfo else moment).date().isoformat()
    except (OverflowError, ValueError):
        return None


def clean_moment(value: object) -> str | None:
    """Parse a moment in a usual form into a timestamp; None for anything else."""
    moment = parse_moment(value)
    if moment is None:
        return None
    try:
        return clock.write(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (OverflowError, ValueError):
        return None


def parse_moment(value: object) -> datetime | None:
    """Parse a time, or a day as its beginning; None for anything else. A time zone comes only from the text."""
    text = to_text(value)
    if short := re.fullmatch(r"(\d{4})-(\d{1,2})-(\d{1,2})", text):
        text = "{}-{:0>2}-{:0>2}".format(*short.groups())
    if not re.match(r"\d{4}-?\d\d-?\d\d", text):
        return None  # Python also reads weeks, and a plain number as year and day
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def make_title(name: str) -> str:
    """Make a title from the name of a file: `code-review` gives `Code review`."""
    words = re.sub(r"[-_]+", " ", name).strip()
    return words[:1].upper() + words[1:] if prompts.make_name(words) else name


def clean_entry(entry: Entry) -> Entry:
    """Return an entry in its stored form.

    Raises:
        Unreadable: a value breaks a rule.
    """
    try:
        if isinstance(entry, PromptEntry) and (entry.arguments or entry.is_constant):
            rules.check_template(entry.content)
        if not isinstance(entry, DocumentEntry):
            made = rules.clean(entry.kind, entry)
            return replace(made, tags=tuple(made.tags), description=made.description or None)
        document = rules.clean("document", replace(entry, uri=entry.uri or rules.make_own_uri(entry.name)))
        content = rules.clean_content(document.mime_type, entry.content)
        return replace(
            document, content=content, description=rules.clean_description("document", entry.description or "")
        )
    except Refused as refused:
        raise Unreadable(explain(refused)) from None


def drop_hidden_characters(entry: Entry) -> Entry:
    """Remove invisible characters from the title of an entry, and add a note on them."""
    if isinstance(entry, DocumentEntry) or find_hidden(entry.title.strip()) is None:
        return entry
    note = "Invisible characters were removed from the title."
    return replace(entry, title=drop_hidden(entry.title.strip()), notes=(*entry.notes, note))


def explain(refused: Refused) -> str:
    """Explain why the store refuses a value."""
    return wording.describe(refused, _VOICE)
