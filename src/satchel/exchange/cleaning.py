"""Turns values of others into values that the store takes: names, titles, tags, days, priorities and statuses."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from typing import Any

from satchel import clock
from satchel.model import MAX_DESCRIPTION, Priority, TaskStatus
from satchel.services import prompts, rules

_LONGEST_VALUE = 500  # characters of a kept field
_MAX_NAME = 200  # so that a number fits behind it

_PRIORITIES: dict[str, Priority] = {
    **dict.fromkeys(("urgent", "critical", "blocker", "highest", "p0", "a", "asap"), "urgent"),
    **dict.fromkeys(("high", "h", "p1", "b", "important", "major"), "high"),
    **dict.fromkeys(("low", "l", "p3", "p4", "d", "minor", "lowest", "trivial", "backlog", "someday"), "low"),
}
_COMPLETED = {"done", "completed", "complete", "closed", "finished", "resolved", "merged"}
_CANCELLED = {
    "cancelled",
    "canceled",
    "deleted",
    "wontfix",
    "won't fix",
    "won't do",
    "rejected",
    "abandoned",
    "archived",
}
_CANCELLED |= {"not_planned", "not planned", "duplicate", "tombstone"}


def clean_name(text: str) -> str:
    """A text as the name of a prompt or project; empty where too little is left of it."""
    if re.fullmatch(rules.NAME, text) and len(text) <= _MAX_NAME:
        return text
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", rules.drop_accents(text.replace("ß", "ss"))).strip("-.")
    return plain[:_MAX_NAME].strip("-.")


def clean_title(text: str, longest: int = rules.MAX_TITLE) -> tuple[str, list[str]]:
    """A text as a title: in one line, not too long; and what was done to it."""
    title = " ".join(text.split())
    if len(title) <= longest:
        return title, []
    return title[: longest - 1].rstrip() + "…", [f"The title was longer than {longest} characters, and is cut."]


def clean_description(text: str) -> tuple[str | None, list[str]]:
    """A text as a description; and what was done to it."""
    if len(text) <= MAX_DESCRIPTION:
        return text or None, []
    note = f"The description was longer than {MAX_DESCRIPTION} characters, and is cut."
    return text[: MAX_DESCRIPTION - 1].rstrip() + "…", [note]


def clean_tags(given: object) -> tuple[tuple[str, ...], list[str]]:
    """Tags, from a list or a text with commas; and which could not be kept."""
    found: dict[str, None] = {}
    notes: list[str] = []
    for one in list_texts(given):
        tag = re.sub(r"[^a-z0-9_-]+", "-", rules.drop_accents(one.casefold()).replace("ß", "ss")).strip("-")[:50]
        if tag:
            found[tag.strip("-")] = None
        elif one.strip():
            notes.append(f"The tag {one.strip()!r} has no letters that a tag may have, and is left out.")
    if len(found) > rules.MAX_TAGS:
        notes.append(f"Of {len(found)} tags the first {rules.MAX_TAGS} are kept.")
    return tuple(sorted(list(found)[: rules.MAX_TAGS])), notes


def list_texts(given: object) -> list[str]:
    """The texts of a list, or of a text with commas or line breaks; numbers count as texts, other values do not."""
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
    """A text, number or truth value as a text; anything else is empty."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value.strip()
    return str(value) if isinstance(value, int | float) else ""


def keep_fields(description: str, fields: Mapping[str, Any], known: Iterable[str]) -> tuple[str | None, list[str]]:
    """A description with the fields below it that the store has no place for, a line each; and what is left out.

    So `model: opus` is kept where people and models can read it, and an export writes it back as a field.
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
    notes = [f"Left out, because there is no place for it: {', '.join(sorted(lost))}."] if lost else []
    text = "\n".join(lines)
    whole = f"{description.strip()}\n\n{text}" if text else description.strip()
    made, more = clean_description(whole.strip())
    return made, notes + more


FIELD_NAME = r"[A-Za-z$][\w.$-]{0,60}"


def split_fields(description: str | None) -> tuple[str, dict[str, str]]:
    """The other way: a description without the fields below it, and these."""
    text, _, last = ("\n\n" + (description or "")).rpartition("\n\n")
    fields: dict[str, str] = {}
    for line in last.split("\n"):
        key, colon, value = line.partition(": ")
        if not colon or not re.fullmatch(FIELD_NAME, key):
            return description or "", {}
        fields[key] = value
    return text.strip(), fields


def _write_value(value: object) -> str | None:
    """A value in one line, or None."""
    if isinstance(value, bool | int | float):
        return to_text(value)
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, list) and all(isinstance(one, str | int | float) for one in value):
        return ", ".join(to_text(one) for one in value)
    import json

    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return None


def clean_priority(value: object) -> Priority:
    """A priority by any of its usual names; normal where it has none."""
    text = re.sub(r"^(?:priority|prio)[\s:/_-]*", "", to_text(value).casefold()).strip("() ")
    return _PRIORITIES.get(text, "normal")


def clean_status(value: object) -> TaskStatus:
    """A status by any of its usual names."""
    text = to_text(value).casefold().strip()
    plain = text.replace("-", " ").replace("_", " ")
    if text in _COMPLETED or plain in _COMPLETED:
        return "completed"
    return "cancelled" if text in _CANCELLED or plain in _CANCELLED else "pending"


_PLAIN_STATUSES = {"", "pending", "open", "todo", "to do", "new", "none", "reopened"}


def status_tags(value: object) -> list[str]:
    """The tag that keeps an open status that the store does not have, like `in-progress` or `review`."""
    text = to_text(value).casefold().strip()
    is_known = text.replace("-", " ").replace("_", " ") in _PLAIN_STATUSES or clean_status(text) != "pending"
    return [] if is_known else [text]


def clean_day(value: object) -> str | None:
    """A day, from a day or a moment in one of the usual forms; None where it is none."""
    moment = parse_moment(value)
    if moment is None:
        return None
    return (moment.astimezone() if moment.tzinfo else moment).date().isoformat()


def clean_moment(value: object) -> str | None:
    """A moment as a timestamp; None where it is none."""
    moment = parse_moment(value)
    if moment is None:
        return None
    try:
        return clock.write(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (OverflowError, ValueError):
        return None


def parse_moment(value: object) -> datetime | None:
    """A moment, or the beginning of a day; without a time zone where none is said."""
    text = to_text(value)
    if compact := re.fullmatch(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z?", text):
        text = "{}-{}-{}T{}:{}:{}".format(*compact.groups()) + ("+00:00" if text.endswith("Z") else "")
    elif re.fullmatch(r"\d{8}", text):
        text = f"{text[:4]}-{text[4:6]}-{text[6:]}"
    if not re.match(r"\d{4}-\d{1,2}-\d{1,2}", text):
        return None
    if short := re.fullmatch(r"(\d{4})-(\d{1,2})-(\d{1,2})", text):
        try:
            day = date(*map(int, short.groups()))
        except ValueError:
            return None
        return datetime(day.year, day.month, day.day)
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def make_title(name: str) -> str:
    """A title for people, from the name of a file: `code-review` is `Code review`."""
    words = re.sub(r"[-_]+", " ", name).strip()
    return words[:1].upper() + words[1:] if prompts.make_name(words) else name
