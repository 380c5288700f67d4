"""The file `tasks.md` of a folder: one task per line, as `satchel` prints it, with description and notes below.

    - [x] #4 Write docs !high due:2026-12-01 +docs after:#3 done:2026-11-17T12:00:00.000000Z
      What it is about.
      > 2026-11-17T12:00:00.000000Z A note.

A value that this form cannot express (a title with line breaks, a description with blank ends) is JSON after `=`.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from satchel.errors import Refused
from satchel.exchange import cleaning
from satchel.exchange.entries import NoteEntry, Problem, TaskEntry, Unreadable
from satchel.model import TaskStatus
from satchel.services import rules, task_lines
from satchel.services.task_lines import Mark, TaskLine

TITLE = "# Tasks"

_MARKS: dict[TaskStatus, Mark] = {"pending": "", "review": "?", "completed": "x", "cancelled": "-"}
_STATUSES: dict[str, TaskStatus] = {"": "pending", "~": "pending", "?": "review", "x": "completed", "-": "cancelled"}
_MOMENT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"
_DONE = re.compile(rf" done:({_MOMENT})$")
_NOTE = re.compile(rf"> (?:({_MOMENT}) )?(.*)", re.S)


# -- writing ----------------------------------------------------------------------------------------------------


def write(tasks: Sequence[TaskEntry], labels: Mapping[str, int]) -> str:
    """Return the content of the file; `labels` maps the keys of tasks to the numbers that they have in the file."""
    return "".join(f"{part}\n" for part in (TITLE, "", *(write_task(task, labels) for task in tasks)))


def write_task(task: TaskEntry, labels: Mapping[str, int]) -> str:
    """Return the lines of one task."""
    lines = [_write_head(task, labels)]
    if task.description:
        lines += _write_text(task.description)
    for note in task.comments:
        at = f"{note.at} " if note.at else ""
        is_simple = note.text.isprintable() and not re.match(rf'= "|{_MOMENT} ', note.text) and note.text.strip()
        lines.append(f"  > {at}" + (note.text if is_simple and note.text == note.text.strip() else _encode(note.text)))
    return "\n".join(lines)


def _write_head(task: TaskEntry, labels: Mapping[str, int]) -> str:
    head = TaskLine(
        title=task.title,
        label=labels.get(task.key),
        priority=task.priority,
        due=task.due,
        tags=task.tags,
        after=tuple(f"#{labels[one]}" for one in task.after if one in labels),
        parent=f"#{labels[task.parent]}" if task.parent in labels else None,
    )
    mark = _MARKS[task.status] or " "
    done = f" done:{task.completed_at}" if task.completed_at else ""
    for title in (task.title, _encode(task.title)):
        line = f"- [{mark}] {task_lines.write(replace(head, title=title))}{done}"
        if line.isprintable() and _reads_as(line, task.title):
            return line
    return line


def _reads_as(line: str, title: str) -> bool:
    try:
        return _read_head(line)[0].title == title
    except (Refused, Unreadable):
        return False


def _write_text(text: str) -> list[str]:
    lines = [f"  {line}" if line else "" for line in text.split("\n")]
    is_simple = all(line.isprintable() for line in lines) and _read_below(lines) == (text, [])
    return lines if is_simple else [f"  {_encode(text)}"]


def _encode(text: str) -> str:
    return "= " + json.dumps(text, ensure_ascii=not text.isprintable())


# -- reading ----------------------------------------------------------------------------------------------------


def read(text: str, where: str) -> Iterator[TaskEntry | Problem]:
    """Yield the tasks of a file; an unreadable line is a Problem."""
    for number, block in _split(text):
        place = f"{where}:{number}"
        try:
            yield _read_block(block, place)
        except Unreadable as wrong:
            yield Problem(place, str(wrong))
        except Refused as refused:
            yield Problem(place, cleaning.explain(refused))


def _split(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines of each task, with the number of the first line."""
    block: list[str] = []
    start = 0
    is_old_mac = "\n" not in text
    for number, line in enumerate(text.split("\r" if is_old_mac else "\n"), 1):
        line = line.removesuffix("\r")
        if re.match(r"(?:[-*] |\[[ xX~?-]\]|#\d)", line):
            if block:
                yield start, block
            block, start = [line], number
        elif block and (not line.strip() or line.startswith((" ", "\t"))):
            block.append(line)
        elif block:
            yield start, block
            block = []
        # Skip headings and other text for people.
    if block:
        yield start, block


def _read_block(block: list[str], where: str) -> TaskEntry:
    head, done = _read_head(block[0])
    indent = "\t" if len(block) > 1 and block[1].startswith("\t") else "  "
    lines = [line if not line.startswith(indent) else "  " + line.removeprefix(indent) for line in block[1:]]
    description, notes = _read_below(lines)
    status = _STATUSES[head.mark]
    return TaskEntry(
        title=head.title,
        description=description or None,
        status=status,
        priority=head.priority,
        due=rules.clean_due("task", head.due) if head.due else None,
        tags=tuple(rules.clean_tags("task", head.tags)),
        completed_at=cleaning.clean_moment(done) if done and status in ("completed", "cancelled") else None,
        key="" if head.label is None else str(head.label),
        after=tuple(one.removeprefix("#") for one in head.after),
        parent=(head.parent or "").removeprefix("#"),
        comments=tuple(notes),
        project=head.project,
        where=where,
    )


def _read_head(line: str) -> tuple[TaskLine, str | None]:
    done = _DONE.search(line)
    [head] = task_lines.read([line[: done.start()] if done else line])
    if head.title.startswith('= "'):
        head = replace(head, title=_decode(head.title))
    return head, done[1] if done else None


def _read_below(lines: Sequence[str]) -> tuple[str, list[NoteEntry]]:
    """Return the description and the notes in the lines below a task."""
    texts: list[str] = []
    notes: list[NoteEntry] = []
    for line in lines:
        line = line.removeprefix("  ")
        found = _NOTE.fullmatch(line)
        if found and (notes or found[1] or found[2].startswith('= "')):
            text = found[2]
            at = cleaning.clean_moment(found[1]) or ""
            notes.append(NoteEntry(_decode(text) if text.startswith('= "') else text, at))
        elif notes and line.strip():
            notes[-1] = NoteEntry(f"{notes[-1].text}\n{line}", notes[-1].at)
        elif not notes:
            texts.append(line if line.strip() or line == "" else "")
    text = "\n".join(texts).strip("\n")
    return _decode(text) if text.startswith('= "') and "\n" not in text else text, notes


def _decode(text: str) -> str:
    try:
        value = json.loads(text.removeprefix("= "))
    except ValueError as error:
        raise Unreadable(f"the text after = is not JSON: {error}") from None
    if not isinstance(value, str):
        raise Unreadable("the text after = is not a JSON string")
    return value
