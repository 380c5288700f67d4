r"""The grammar of a task in one line, as lists print it and `add_tasks` takes it.

    #4 [x] Write docs !high due:2026-12-01 +docs @web after:#3,#5 in:#2
      its description, indented below the line
      - a subtask of it, in the same grammar

Facts stand among the words at the end; a word there that only resembles one stays in the title. In a title, a backslash
escapes text that would be read as a fact: `Learn \+1`.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from satchel.errors import EntryRefused, Refused, WrongArgument
from satchel.model import Priority, Scope, Task, TaskDraft, TaskPatch, TaskStatus
from satchel.services import projects, rules, tasks
from satchel.storage.database import Tx

Mark = Literal["", "x", "-", "~", "?"]  # pending, completed, cancelled, in progress, in review

MAX_TASKS = 200  # tasks in one call

_STATUSES: dict[Mark, TaskStatus] = {"x": "completed", "-": "cancelled", "?": "review"}
_LONGEST = 8_000  # characters of a line, without the description
_LONGEST_TITLE = 60  # characters of a title in an error
_MOST_TITLED = 6  # tasks that an error names with their titles
# Compiled on first use.
_BOX = r"\[[ xX~?-]\]"
_FRONT = rf"(?:[-*]\s+)?(?:(?P<box>{_BOX})\s+)?(?:#(?P<label>[0-9]{{1,18}})\s+(?:(?P<mark>{_BOX})\s+)?)?"
_LIKE_FRONT = rf"(?:[-*]|{_BOX}|#[0-9]{{1,18}})(?:\s|$)"
_REFERENCE = r"#?[0-9]{1,18}"
_AFTER = rf"(?i:after:){_REFERENCE}(?:,{_REFERENCE})*,?"
_DAY = r"(?i:due:)[0-9]{4}-[0-9]{2}-[0-9]{2}"
_PARENT = rf"(?i:in:){_REFERENCE}"
_FACT = rf"(?i:!(?:low|normal|high|urgent))|{_DAY}|{_AFTER}|{_PARENT}|\+[A-Za-z0-9_-]{{1,50}}|@[A-Za-z0-9._-]{{1,255}}"
# Texts that resemble a fact, and the correct form of that fact.
_DOUBTS = {
    r"![A-Za-z0-9]\S*|(?i:prio|priority)[:=]\S+": "write a priority as !low, !high or !urgent",
    r"(?i:due|deadline)[:=]\S+": "write a day as due:2026-12-01",
    r"(?i:every|repeat|recur(?:rence)?)[:=]\S+": "every: is not known, because tasks do not repeat",
    r"(?i:after|deps?|depends(?:[-_]?on)?|blocked[-_]?by)[:=]\S+": "write blockers as after:#7,2",
    r"(?i:in|parent|sub(?:task)?[-_]?of)[:=]\S+": "write a parent as in:#7",
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
    parent: str | None = None  # in the same form
    progress: str = ""  # closed and all subtasks, as in `2/5`; only lists print it
    description: str | None = None
    place: int = 0  # the index of its first line in the whole call


# -- writing ----------------------------------------------------------------------------------------------------


def write(line: TaskLine) -> str:
    """Write a task as one line, followed by the lines of its description."""
    facts = (
        f"#{line.label}" if line.label is not None else "",
        f"[{line.mark}]" if line.mark else "",
        _escape(line.title),
        line.progress,
        f"!{line.priority}" if line.priority != "normal" else "",
        f"due:{line.due}" if line.due else "",
        *(f"+{tag}" for tag in line.tags),
        f"@{line.project}" if line.project else "",
        f"after:{','.join(line.after)}" if line.after else "",
        f"in:{line.parent}" if line.parent else "",
    )
    text = " ".join(filter(None, facts))
    # A backslash escapes the lines that would be read as subtasks.
    lines = [re.sub(r"^([ \t]*)(\\*- )", r"\1\\\2", one) for one in (line.description or "").split("\n")]
    description = "".join(f"\n  {one}" if one else "\n" for one in lines)
    return text + description if line.description else text


def _escape(title: str) -> str:
    title = " ".join(title.splitlines())
    mark = _find_mark(title)
    if mark is not None:
        title = f"{title[: mark[0]]}\\{title[mark[0] :]}"
    return f"\\{title}" if re.match(rf"\\*{_LIKE_FRONT}", title) else title


def _unescape(title: str) -> str:
    if re.match(rf"\\+{_LIKE_FRONT}", title):
        title = title[1:]
    mark = _find_mark(title)
    return title if mark is None else title[: mark[0]] + title[mark[0] + 1 :]


def _find_mark(text: str) -> tuple[int, int] | None:
    """Find the last fact among the words at the end; return where it, or its escape, begins and ends.

    Only words that resemble a fact may follow it.
    """
    if not re.search(r"[!:+@]", text):  # true of most titles
        return None
    end = len(text.rstrip())
    while end:
        start = _find_fact(text[:end])
        if start is not None:
            return start, end
        start = _start_of_last_word(text, end)
        if _find_advice(text[start:end]) is None:
            return None
        end = len(text[:start].rstrip())
    return None


def _find_fact(text: str) -> int | None:
    """Find where the fact at the end of a text begins, or the backslashes that escape it."""
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
    """Read the tasks of several texts, joined: an indented line belongs to the task above it.

    Raises:
        WrongArgument: there are no tasks, or too many.
        EntryRefused: a task cannot be read.
    """
    found: list[TaskLine] = []
    for block in _split("\n".join(texts)):
        if len(found) == MAX_TASKS:
            raise WrongArgument("lines", "maxItems", limit=MAX_TASKS)
        try:
            line = _read_line(block)
        except WrongArgument as wrong:
            raise EntryRefused(place_of(block.place), wrong) from wrong
        if block.above is not None and line.project is None:
            line = replace(line, project=found[block.above].project)
        found.append(line)
    if not found:
        raise WrongArgument("lines", "minLength", limit=1)
    return found


def place_of(place: int) -> str:
    """Return the name that errors use for the first line of a task."""
    return f"lines[{place}]"


def find_doubts(title: str) -> tuple[str, list[str]] | None:
    """Find words at the end of a title that look like mistyped facts; return them, and advice on the correct form."""
    doubts: list[tuple[str, str]] = []
    for word in reversed(title.split()):
        if (advice := _find_advice(word)) is None:
            break
        doubts.insert(0, (word, advice))
    words = " ".join(word for word, _ in doubts)
    return (words, list(dict.fromkeys(advice for _, advice in doubts))) if doubts else None


def _find_advice(word: str) -> str | None:
    """Return the correct form of a fact that a word resembles."""
    return next((advice for doubt, advice in _DOUBTS.items() if re.fullmatch(doubt, word)), None)


class _Block(Struct):
    """The lines of one task."""

    place: int  # the index of the first line
    indent: int
    head: str
    above: int | None  # the index of the block of which it is a subtask
    body: list[str]  # the lines of the description
    inner: str = ""  # the indentation of the description
    is_code: bool = False  # the description is inside a code block


def _split(text: str) -> list[_Block]:
    """Split a text into tasks. An indented line that begins with `- ` is a subtask; others belong to a description."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    outer = _indent(next((line for line in lines if line.strip()), ""))
    blocks: list[_Block] = []
    path: list[int] = []  # the indexes of the tasks around a line, the innermost last
    for place, line in enumerate(line.removeprefix(outer) for line in lines):
        if not line.strip():
            if path:
                blocks[path[-1]].body.append("")
            continue
        indent = len(_indent(line))
        while path and indent <= blocks[path[-1]].indent:
            path.pop()
        if path and (blocks[path[-1]].is_code or not re.match(r"[ \t]*- +\S", line)):
            _add_to_body(blocks[path[-1]], line)
            continue
        blocks.append(_Block(place, indent, line.strip(), path[-1] if path else None, []))
        path.append(len(blocks) - 1)
    return blocks


def _add_to_body(block: _Block, line: str) -> None:
    """Add a line to the description of a task."""
    block.inner = block.inner or _indent(line)
    if line.lstrip().startswith(("```", "~~~")):
        block.is_code = not block.is_code
    block.body.append(re.sub(r"^([ \t]*)\\(\\*- )", r"\1\2", line.removeprefix(block.inner)))


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _read_line(block: _Block) -> TaskLine:
    head = block.head
    if len(head) > _LONGEST:
        raise WrongArgument("title", "maxLength", limit=_LONGEST, kind="task")
    front = re.match(_FRONT, head)
    assert front is not None, "every part of it is optional"
    title = head[front.end() :]
    facts: dict[str, list[str]] = {"!": [], "due:": [], "@": [], "after:": [], "in:": [], "+": []}
    kept = ""  # the words at the end that stay in the title, with the space before them
    while (mark := _find_mark(title)) is not None and title[mark[0]] != "\\":
        start, end = mark
        kept = f"{title[end:]}{kept}"
        sign = next(sign for sign in facts if title[start:].lower().startswith(sign))
        facts[sign].insert(0, title[start + len(sign) : end])
        title = title[:start].rstrip()
    box = front["mark"] or front["box"] or "[ ]"
    if front["mark"] and front["box"]:
        raise WrongArgument("lines", "grammar", value=f"{front['box']} and {front['mark']}")
    for sign, given in facts.items():
        if sign != "+" and len(given) > 1:
            raise WrongArgument("lines", "grammar", value=f"{sign}{given[-2]} and {sign}{given[-1]}")
    if block.above is not None:
        if facts["in:"]:
            raise WrongArgument("lines", "grammar", value=f"in:{facts['in:'][0]} and an indented line")
        facts["in:"] = [str(block.above + 1)]
    one = {sign: given[0] if given else None for sign, given in facts.items()}
    return TaskLine(
        title=f"{_unescape(title)}{kept}".strip(),
        label=int(front["label"]) if front["label"] else None,
        mark=cast("Mark", box[1].strip().lower()),
        priority=cast("Priority", (one["!"] or "normal").lower()),
        due=one["due:"],
        tags=tuple(facts["+"]),
        project=one["@"],
        after=tuple(part.strip() for part in (one["after:"] or "").split(",") if part.strip()),
        parent=one["in:"],
        description="\n".join(block.body).strip("\n") or None,
        place=block.place,
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
    for line in lines:
        _check_positions(line, len(lines))
    waits = [_find_lines(line.after, labels) for line in lines]
    above = [_find_lines([line.parent] if line.parent else [], labels) for line in lines]
    _check_circles(lines, above, "in")
    _check_circles(lines, waits, "after")
    added: list[Task] = []

    def number_of(reference: str) -> int | None:
        at = _find_line(reference, labels)
        if at is None:
            return int(reference[1:])
        return added[at].number if at < len(added) else None

    for line in lines:
        blockers = [number for one in line.after if (number := number_of(one)) is not None]
        parent = number_of(line.parent) if line.parent else None
        with _name_line(line):
            added.append(_add(tx, scope, line, line.project or project, blockers, parent, known))
        report(len(added))
    for index, line in enumerate(lines):  # references to later lines
        later = [added[one].number for one in waits[index] if one > index]
        parent = next((added[one].number for one in above[index] if one > index), None)
        if later or parent is not None:
            with _name_line(line):
                tasks.relate(tx, scope, added[index], later, parent)
    for task, line in zip(added, lines, strict=True):
        if line.mark:
            with _name_line(line):
                status = tasks.choose_status(tx, task, _STATUSES[line.mark])
                tasks.update(tx, scope, task.number, TaskPatch(status=status))
    # Read the tasks again if adding later ones changed what they show.
    is_changed = any(line.parent or line.mark or line.after for line in lines)
    return tasks.list_some(tx, scope, [task.number for task in added]) if is_changed else added


@contextmanager
def _name_line(line: TaskLine) -> Iterator[None]:
    """Name the place of a line in errors about it."""
    try:
        yield
    except Refused as refused:
        raise EntryRefused(place_of(line.place), refused) from refused


def _add(
    tx: Tx,
    scope: Scope,
    line: TaskLine,
    project: str | None,
    blocked_by: Sequence[int],
    parent: int | None,
    known: dict[str, int],
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
        parent=parent,
    )
    return tasks.add(tx, scope, draft, known)


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


def _check_positions(line: TaskLine, count: int) -> None:
    for sign, references in (("after", line.after), ("in", (line.parent or "#",))):
        for one in references:
            if one[0] != "#" and not 0 < int(one) <= count:
                raise EntryRefused(place_of(line.place), WrongArgument(sign, "maximum", limit=count, value=one))


def _find_line(reference: str, labels: dict[int, int]) -> int | None:
    """Return the index of the line that a reference names; None for a task that exists already."""
    return labels.get(int(reference[1:])) if reference[0] == "#" else int(reference) - 1


def _find_lines(references: Sequence[str], labels: dict[int, int]) -> list[int]:
    return [at for one in references if (at := _find_line(one, labels)) is not None]


def _check_circles(lines: Sequence[TaskLine], waits: Sequence[Sequence[int]], sign: Literal["after", "in"]) -> None:
    """Check that no lines wait for each other.

    Raises:
        EntryRefused: some do; the error is about the fact that begins with `sign`.
    """
    left = list(range(len(waits)))
    while left:
        waiting = {*left}
        blocked = [index for index in left if not waiting.isdisjoint(waits[index])]
        if blocked == left:
            circle = _find_circle(waits, left)
            wrong = WrongArgument(sign, "acyclic", value=_name_circle(lines, circle), kind="task")
            raise EntryRefused(place_of(lines[circle[0]].place), wrong)
        left = blocked


def _find_circle(waits: Sequence[Sequence[int]], left: Sequence[int]) -> list[int]:
    """Return a circle of lines: each waits for the next, and the last is the first again."""
    path = [left[0]]
    while path[-1] not in path[:-1]:
        path.append(next(one for one in waits[path[-1]] if one in left))
    return path[path.index(path[-1]) :]


def _name_circle(lines: Sequence[TaskLine], circle: Sequence[int]) -> str:
    """Name lines by their labels or their positions in the call; a few of them also by their titles."""
    names = [f"#{lines[one].label}" if lines[one].label else f"task {one + 1}" for one in circle]
    if len(circle) <= _MOST_TITLED:
        names = [f"{name} '{lines[one].title[:_LONGEST_TITLE]}'" for name, one in zip(names, circle, strict=True)]
    return " → ".join(names)
