r"""The grammar of a task in one line, as lists print it and `add_tasks` takes it.

    #4 [x] Write docs !high due:2026-12-01 +docs @web after:#3,#5
      and indented below it, its description

A title that begins or ends with what would be read as something else has a backslash in front of that: `Learn \+1`.
"""

import re
from collections.abc import Sequence
from typing import Literal, cast

from msgspec import Struct

from satchel.errors import EntryRefused, WrongArgument
from satchel.model import Priority

Mark = Literal["", "x", "-", "~"]  # pending, completed, cancelled, in progress

MAX_TASKS = 200  # of one call

_LONGEST = 8_000  # characters of a line, description apart
# Compiled on first use.
_BOX = r"\[[ xX~-]\]"
_FRONT = rf"(?:[-*]\s+)?(?:(?P<box>{_BOX})\s+)?(?:#(?P<label>[0-9]{{1,18}})\s+(?:(?P<mark>{_BOX})\s+)?)?"
_LIKE_FRONT = rf"(?:[-*]|{_BOX}|#[0-9]{{1,18}})(?:\s|$)"
_FACT = r"(?i:!(?:low|normal|high|urgent)|due:\S+|after:\S+)|\+[A-Za-z0-9_-]{1,50}|@[A-Za-z0-9._-]{1,255}"
_REFERENCE = r"#?[0-9]{1,18}"


class TaskLine(Struct, frozen=True, kw_only=True):
    """A task as a line says it; what it does not say is as for any new task."""

    title: str
    label: int | None = None
    mark: Mark = ""
    priority: Priority = "normal"
    due: str | None = None
    tags: tuple[str, ...] = ()
    project: str | None = None
    after: tuple[str, ...] = ()  # `#7`: a task, or a line with this label; `2`: the second task of the same call
    description: str | None = None


# -- writing ----------------------------------------------------------------------------------------------------


def write(line: TaskLine) -> str:
    """A task in one line, and the lines of its description."""
    facts = (
        f"#{line.label}" if line.label is not None else "",
        f"[{line.mark}]" if line.mark else "",
        _escape(line.title),
        f"!{line.priority}" if line.priority != "normal" else "",
        f"due:{line.due}" if line.due else "",
        *(f"+{tag}" for tag in line.tags),
        f"@{line.project}" if line.project else "",
        f"after:{','.join(line.after)}" if line.after else "",
    )
    text = " ".join(filter(None, facts))
    description = "".join(f"\n  {one}" if one else "\n" for one in (line.description or "").split("\n"))
    return text + description if line.description else text


def _escape(title: str) -> str:
    title = " ".join(title.splitlines())
    start = _find_fact(title)
    if start is not None:
        title = f"{title[:start]}\\{title[start:]}"
    return f"\\{title}" if re.match(rf"\\*{_LIKE_FRONT}", title) else title


def _unescape(title: str) -> str:
    if re.match(rf"\\+{_LIKE_FRONT}", title):
        title = title[1:]
    start = _find_fact(title)
    return title if start is None else title[:start] + title[start + 1 :]


def _find_fact(text: str) -> int | None:
    """Where the fact at the end of a text begins, or the backslashes in front of what looks like one."""
    start = _start_of_last_word(text, len(text))
    if re.fullmatch(_FACT, text[start:].lstrip("\\")):
        return start
    end = len(text)
    while re.fullmatch(rf"{_REFERENCE},?", text[start:end]) and text[:start].rstrip().endswith(","):
        end = len(text[:start].rstrip())  # a list behind `after:` may have spaces behind its commas
        start = _start_of_last_word(text, end)
        if re.fullmatch(r"(?i:after:\S+)", text[start:end].lstrip("\\")):
            return start
    return None


def _start_of_last_word(text: str, end: int) -> int:
    words = text[:end].rsplit(None, 1)
    return end - len(words[-1]) if words else end


# -- reading ----------------------------------------------------------------------------------------------------


def read(texts: Sequence[str]) -> list[TaskLine]:
    """The tasks of some texts, each of one or more lines.

    Raises:
        WrongArgument: there are none, or too many.
        EntryRefused: one cannot be read.
    """
    found: list[TaskLine] = []
    for text in texts:
        blocks = _split(text)
        if not blocks and len(texts) > 1:
            raise EntryRefused(place_of(len(found)), WrongArgument("title", "minLength", limit=1, kind="task"))
        for head, body in blocks:
            if len(found) == MAX_TASKS:
                raise WrongArgument("lines", "maxItems", limit=MAX_TASKS)
            try:
                found.append(_read_line(head, "\n".join(body).strip("\n") or None))
            except WrongArgument as wrong:
                raise EntryRefused(place_of(len(found)), wrong) from wrong
    if not found:
        raise WrongArgument("lines", "minLength", limit=1)
    return found


def place_of(index: int) -> str:
    """How an error names a task of a call."""
    return f"lines[{index}]"


def _split(text: str) -> list[tuple[str, list[str]]]:
    """The head of each task, and the lines of its description without their indent."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    first = next((line for line in lines if line.strip()), "")
    outer = _indent(first)
    blocks: list[tuple[str, list[str]]] = []
    inner = ""
    for line in (line.removeprefix(outer) for line in lines):
        if line.strip() and not _indent(line):
            blocks.append((line.strip(), []))
            inner = ""
        elif blocks:
            inner = inner or (_indent(line) if line.strip() else "")
            blocks[-1][1].append(line.removeprefix(inner) if line.strip() else "")
    return blocks


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _read_line(head: str, description: str | None) -> TaskLine:
    if len(head) > _LONGEST:
        raise WrongArgument("title", "maxLength", limit=_LONGEST, kind="task")
    front = re.match(_FRONT, head)
    assert front is not None, "every part of it is optional"
    title, facts = head[front.end() :], _Facts()
    while (start := _find_fact(title)) is not None and title[start] != "\\":
        facts.add(title[start:])
        title = title[:start].rstrip()
    box = front["mark"] or front["box"] or "[ ]"
    if front["mark"] and front["box"]:
        raise WrongArgument("lines", "grammar", value=f"{front['box']} and {front['mark']}")
    return TaskLine(
        title=_unescape(title),
        label=int(front["label"]) if front["label"] else None,
        mark=cast("Mark", box[1].strip().lower()),
        priority=cast("Priority", (facts.one("!") or "normal").lower()),
        due=facts.one("due:"),
        tags=tuple(reversed(facts.found["+"])),
        project=facts.one("@"),
        after=_read_references(facts.one("after:")),
        description=description,
    )


class _Facts:
    """What stands behind a title, from the last to the first."""

    def __init__(self) -> None:
        self.found: dict[str, list[str]] = {"!": [], "due:": [], "+": [], "@": [], "after:": []}

    def add(self, fact: str) -> None:
        sign = next(sign for sign in self.found if fact.lower().startswith(sign))
        self.found[sign].append(fact[len(sign) :])

    def one(self, sign: str) -> str | None:
        """The one fact of a sign, where there is one."""
        given = self.found[sign]
        if len(given) > 1:
            raise WrongArgument("lines", "grammar", value=f"{sign}{given[1]} and {sign}{given[0]}")
        return given[0] if given else None


def _read_references(text: str | None) -> tuple[str, ...]:
    references = [one.strip() for one in (text or "").rstrip(",").split(",")] if text else []
    for one in references:
        if not re.fullmatch(_REFERENCE, one):
            raise WrongArgument("after", "format", value=one)
    return tuple(references)
