r"""The grammar of a task in one line, as lists print it and `add_tasks` takes it.

    #4 [x] Write docs !high due:2026-12-01 +docs @web after:#3,#5
      its description, indented below the line

In a title, a backslash escapes text that would be read as a fact: `Learn \+1`.
"""

import re
from collections.abc import Callable, Sequence
from typing import Literal, cast

from msgspec import Struct

from satchel.errors import EntryRefused, Refused, WrongArgument
from satchel.model import Priority, Scope, Task, TaskDraft, TaskPatch
from satchel.services import projects, rules, tasks
from satchel.storage.database import Tx

Mark = Literal["", "x", "-", "~"]  # pending, completed, cancelled, in progress

MAX_TASKS = 200  # tasks in one call

_LONGEST = 8_000  # characters of a line, without the description
# Compiled on first use.
_BOX = r"\[[ xX~-]\]"
_FRONT = rf"(?:[-*]\s+)?(?:(?P<box>{_BOX})\s+)?(?:#(?P<label>[0-9]{{1,18}})\s+(?:(?P<mark>{_BOX})\s+)?)?"
_LIKE_FRONT = rf"(?:[-*]|{_BOX}|#[0-9]{{1,18}})(?:\s|$)"
_REFERENCE = r"#?[0-9]{1,18}"
_AFTER = rf"(?i:after:){_REFERENCE}(?:,{_REFERENCE})*,?"
_DAY = r"(?i:due:)[0-9]{4}-[0-9]{2}-[0-9]{2}"
_FACT = rf"(?i:!(?:low|normal|high|urgent))|{_DAY}|{_AFTER}|\+[A-Za-z0-9_-]{{1,50}}|@[A-Za-z0-9._-]{{1,255}}"
# Texts that resemble a fact, and the correct form of that fact.
_DOUBTS = {
    r"![A-Za-z0-9]\S*|(?i:prio|priority)[:=]\S+": "write a priority as !low, !high or !urgent",
    r"(?i:due|deadline)[:=]\S+": "write a day as due:2026-12-01",
    r"(?i:after|deps?|depends(?:[-_]?on)?|blocked[-_]?by)[:=]\S+": "write blockers as after:#7,2",
    r"#[A-Za-z]\S*|\+[^\s+]*[A-Za-z][^\s+]*|(?i:tags?|labels?)[:=]\S+": "write a tag as +docs: letters, digits, - or _",
}


class TaskLine(Struct, frozen=True, kw_only=True):
    """A task that a line describes; a field that the line does not mention has the default of a new task."""

    title: str
    label: int | None = None
    mark: Mark = ""
    priority: Priority = "normal"
    due: str | None = None
    tags: tuple[str, ...] = ()
    project: str | None = None
    after: tuple[str, ...] = ()  # `#7`: a task, or a line with this label; `2`: the second task in the call
    description: str | None = None
    place: int = 0  # the index of its first line in the whole call


# -- writing ----------------------------------------------------------------------------------------------------


def write(line: TaskLine) -> str:
    """Write a task as one line, followed by the lines of its description."""
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
    """Find where the fact at the end of a text begins, or the backslashes that escape it."""
    if not re.search(r"[!:+@]", text):  # true of most titles
        return None
    start = _start_of_last_word(text, len(text))
    if _is_fact(text[start:].lstrip("\\")):
        return start
    end = len(text)
    while re.fullmatch(rf"{_REFERENCE},?", text[start:end]) and text[:start].rstrip().endswith(","):
        end = len(text[:start].rstrip())  # a list after `after:` may have spaces after its commas
        start = _start_of_last_word(text, end)
        if re.fullmatch(_AFTER, text[start:end].lstrip("\\")):
            return start
    return None


def _is_fact(word: str) -> bool:
    if re.fullmatch(_FACT, word):
        return True
    return word.startswith("+") and not word.isascii() and rules.is_tag(rules.fold_tag(word[1:]))


def _start_of_last_word(text: str, end: int) -> int:
    words = text[:end].rsplit(None, 1)
    return end - len(words[-1]) if words else end


# -- reading ----------------------------------------------------------------------------------------------------


def read(texts: Sequence[str]) -> list[TaskLine]:
    """Read the tasks of several texts, joined: an indented line belongs to the task before it.

    Raises:
        WrongArgument: there are no tasks, or too many.
        EntryRefused: a task cannot be read.
    """
    found: list[TaskLine] = []
    for place, head, body in _split("\n".join(texts)):
        if len(found) == MAX_TASKS:
            raise WrongArgument("lines", "maxItems", limit=MAX_TASKS)
        try:
            found.append(_read_line(place, head, "\n".join(body).strip("\n") or None))
        except WrongArgument as wrong:
            raise EntryRefused(place_of(place), wrong) from wrong
    if not found:
        raise WrongArgument("lines", "minLength", limit=1)
    return found


def place_of(place: int) -> str:
    """Return the name that errors use for the first line of a task."""
    return f"lines[{place}]"


def find_doubts(title: str) -> tuple[str, list[str]] | None:
    """Find words at the end of a title that look like mistyped facts; return them, and advice on the correct form."""
    tail: list[str] = []
    doubts: list[str] = []
    for word in reversed(title.split()):
        if not _is_fact(word):  # a word before a doubtful one stays in the title, too
            advice = next((advice for doubt, advice in _DOUBTS.items() if re.fullmatch(doubt, word)), None)
            if advice is None:
                break
            doubts.insert(0, advice)
        tail.insert(0, word)
    return (" ".join(tail), list(dict.fromkeys(doubts))) if doubts else None


def _split(text: str) -> list[tuple[int, str, list[str]]]:
    """Split a text into tasks; each is the place of its first line, that line, and the unindented description."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    first = next((line for line in lines if line.strip()), "")
    outer = _indent(first)
    blocks: list[tuple[int, str, list[str]]] = []
    inner = ""
    for place, line in enumerate(line.removeprefix(outer) for line in lines):
        if line.strip() and not _indent(line):
            blocks.append((place, line.strip(), []))
            inner = ""
        elif blocks:
            inner = inner or (_indent(line) if line.strip() else "")
            blocks[-1][2].append(line.removeprefix(inner) if line.strip() else "")
    return blocks


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _read_line(place: int, head: str, description: str | None) -> TaskLine:
    if len(head) > _LONGEST:
        raise WrongArgument("title", "maxLength", limit=_LONGEST, kind="task")
    front = re.match(_FRONT, head)
    assert front is not None, "every part of it is optional"
    title = head[front.end() :]
    facts: dict[str, list[str]] = {"!": [], "due:": [], "@": [], "after:": [], "+": []}
    while (start := _find_fact(title)) is not None and title[start] != "\\":
        sign = next(sign for sign in facts if title[start:].lower().startswith(sign))
        facts[sign].insert(0, title[start + len(sign) :])
        title = title[:start].rstrip()
    box = front["mark"] or front["box"] or "[ ]"
    if front["mark"] and front["box"]:
        raise WrongArgument("lines", "grammar", value=f"{front['box']} and {front['mark']}")
    for sign, given in facts.items():
        if sign != "+" and len(given) > 1:
            raise WrongArgument("lines", "grammar", value=f"{sign}{given[-2]} and {sign}{given[-1]}")
    one = {sign: given[0] if given else None for sign, given in facts.items()}
    return TaskLine(
        title=_unescape(title),
        label=int(front["label"]) if front["label"] else None,
        mark=cast("Mark", box[1].strip().lower()),
        priority=cast("Priority", (one["!"] or "normal").lower()),
        due=one["due:"],
        tags=tuple(facts["+"]),
        project=one["@"],
        after=tuple(part.strip() for part in (one["after:"] or "").split(",") if part.strip()),
        description=description,
        place=place,
    )


# -- adding -----------------------------------------------------------------------------------------------------


def add_all(
    tx: Tx, scope: Scope, lines: Sequence[TaskLine], project: str | None, report: Callable[[int], None]
) -> list[Task]:
    """Add a task for each line, in the project that it names or else in `project`; report progress to `report`.

    Raises:
        EntryRefused: a task cannot be added; the cause is as in `tasks.add`, or tasks would wait for each other.
        NotFound, Forbidden: see `projects.get`, about `project`.
    """
    known: dict[str, int] = {}  # project numbers by name
    if project is not None and not all(line.project for line in lines):
        known[project] = projects.get(tx, scope, project).number
    labels = _number_labels(lines)
    waits = [_list_earlier(line, labels, len(lines)) for line in lines]
    added: dict[int, Task] = {}
    for index in _sort(lines, waits):
        line = lines[index]
        here = [added[one].number for one in waits[index]]
        others = [int(one[1:]) for one in line.after if one[0] == "#" and int(one[1:]) not in labels]
        try:
            added[index] = _add(tx, scope, line, line.project or project, [*here, *others], known)
        except Refused as refused:
            raise EntryRefused(place_of(line.place), refused) from refused
        report(len(added))
    return [added[index] for index in range(len(lines))]


def _add(
    tx: Tx, scope: Scope, line: TaskLine, project: str | None, blocked_by: Sequence[int], known: dict[str, int]
) -> Task:
    if line.mark == "~":
        raise WrongArgument("lines", "claims", value="[~]")
    draft = TaskDraft(
        title=line.title,
        description=line.description,
        project=project,
        tags=line.tags,
        priority=line.priority,
        due=line.due,
        blocked_by=blocked_by,
    )
    task = tasks.add(tx, scope, draft, known)
    if line.mark == "":
        return task
    return tasks.update(tx, scope, task.number, TaskPatch(status="completed" if line.mark == "x" else "cancelled"))


def _number_labels(lines: Sequence[TaskLine]) -> dict[int, int]:
    """Map each label to the index of its line."""
    labels: dict[int, int] = {}
    for index, line in enumerate(lines):
        if line.label is None:
            continue
        if line.label in labels:
            raise EntryRefused(place_of(line.place), WrongArgument("lines", "uniqueItems", value=f"#{line.label}"))
        labels[line.label] = index
    return labels


def _list_earlier(line: TaskLine, labels: dict[int, int], count: int) -> list[int]:
    """List the indexes of the lines that a line waits for."""
    found = []
    for reference in line.after:
        if reference[0] == "#":
            if int(reference[1:]) in labels:
                found.append(labels[int(reference[1:])])
        elif 0 < int(reference) <= count:
            found.append(int(reference) - 1)
        else:
            raise EntryRefused(place_of(line.place), WrongArgument("after", "maximum", limit=count, value=reference))
    return found


def _sort(lines: Sequence[TaskLine], waits: Sequence[Sequence[int]]) -> list[int]:
    """Sort the indexes of lines so that each follows those that it waits for; otherwise keep the order."""
    order: dict[int, None] = {}
    left = list(range(len(waits)))
    while left:
        ready = next((index for index in left if all(one in order for one in waits[index])), None)
        if ready is None:
            wrong = WrongArgument("after", "acyclic", value=_name_circle(lines, waits, left), kind="task")
            raise EntryRefused(place_of(lines[left[0]].place), wrong)
        order[ready] = None
        left.remove(ready)
    return list(order)


def _name_circle(lines: Sequence[TaskLine], waits: Sequence[Sequence[int]], left: Sequence[int]) -> str:
    """Name lines that wait for each other, by their labels or their positions in the call."""
    path = [left[0]]
    while path[-1] not in path[:-1]:
        path.append(next(one for one in waits[path[-1]] if one in left))
    circle = path[path.index(path[-1]) :]
    return " → ".join(f"#{lines[one].label}" if lines[one].label else str(one + 1) for one in circle)
