"""todo.txt: a task in each line, `(A) 2026-11-01 Title +project @context due:2026-12-01`."""

import re
from collections.abc import Iterator, Sequence

from satchel.exchange import cleaning
from satchel.exchange.entries import Entry, Found, Problem, TaskEntry
from satchel.exchange.formats import shared
from satchel.exchange.sources import SourceFile
from satchel.model import Priority

FILE = "todo.txt"
_DAY = r"\d{4}-\d\d-\d\d"
_HEAD = rf"(?:(x)\s+)?(?:\(([A-Z])\)\s+)?(?:({_DAY})\s+)?(?:({_DAY})\s+)?"
_HEADING = r"#{1,6}\s"
_PRIORITIES: dict[str, Priority] = {"A": "urgent", "B": "high", "C": "normal"}
_LETTERS = {"urgent": "A", "high": "B", "low": "D"}


def recognise(file: SourceFile) -> bool:
    """Recognise a file whose name is or ends with `todo.txt` or `done.txt`."""
    return re.search(r"(?i)(?:^|[._-])(?:todo|done)\.txt$", file.name) is not None


def read(file: SourceFile) -> Iterator[Found]:
    """Read a task from each line; contexts become tags, the first project becomes the task's project.

    A heading of Markdown is left alone.
    """
    for number, line in enumerate(file.text.split("\n"), 1):
        if re.match(_HEADING, line):
            yield Problem(f"{file.shown}:{number}", "it is a heading of Markdown, not a task", is_harmless=True)
        elif line.strip():
            yield _read_line(f"{file.shown}:{number}", line.strip())


def _read_line(where: str, line: str) -> Found:
    head = re.match(_HEAD, line)
    assert head is not None, "every part of it is optional"
    is_done, letter, first, _ = head.groups()
    words, facts = [], _Facts()
    for word in line[head.end() :].split():
        if not facts.take(word):
            words.append(word)
    letter = letter or facts.letter
    priority = _PRIORITIES.get(letter, "low") if letter else "normal"
    # A line with nothing but facts is a title.
    title = " ".join(words) or line[head.end() :]
    return shared.make_task(
        where,
        {},
        (),
        title=title,
        status="completed" if is_done else "pending",
        done=first,
        tags=facts.tags + facts.projects[1:],
        priority=priority,
        due=facts.due,
        key=facts.key,
        after=tuple(facts.after),
        project=facts.projects[0] if facts.projects else None,
    )


class _Facts:
    """The facts about a task, collected from the words of its line."""

    def __init__(self) -> None:
        self.projects: list[str] = []
        self.tags: list[str] = []
        self.after: list[str] = []
        self.due: str | None = None
        self.letter = self.key = ""

    def take(self, word: str) -> bool:
        """Record a word that is a fact, and return True; return False for a word of the title."""
        key, colon, value = word.partition(":")
        if re.fullmatch(r"\+\S*\w\S*", word):
            self.projects.append(word[1:])
        elif re.fullmatch(r"@\S*\w\S*", word):
            self.tags.append(word[1:])
        elif colon and key.lower() == "due" and (day := cleaning.clean_day(value)):
            self.due = day
        elif key == "pri" and re.fullmatch("[A-Z]", value):
            self.letter = value
        elif key == "id" and value:
            self.key = value
        elif key in ("dep", "p", "after") and value:
            self.after += value.split(",")
        else:
            return False
        return True


def write(entries: Sequence[Entry]) -> shared.Written:
    """Write one file with all tasks, without descriptions and notes."""
    tasks, notes = shared.take(entries, "task", "todo.txt")
    lost = sum(bool(one.description or one.comments) for one in tasks)
    if lost:
        notes = (*notes, f"Left out, because todo.txt has no place for it: descriptions and notes of {lost} tasks.")
    return shared.Written({FILE: "".join(f"{_write(one)}\n" for one in tasks).encode()}, notes)


def _write(task: TaskEntry) -> str:
    is_done = task.status in ("completed", "cancelled")
    letter = _LETTERS.get(task.priority) or ("C" if re.match(_HEADING, task.title) else None)
    parts = [
        "x" if is_done else f"({letter})" if letter else "",
        task.completed_at[:10] if is_done and task.completed_at else "",
        task.title.replace("\n", " "),
        f"pri:{letter}" if is_done and letter else "",
        f"+{task.project}" if task.project else "",
        *(f"@{tag}" for tag in task.tags),
        f"due:{task.due}" if task.due else "",
        f"id:{task.key}" if task.key else "",
        f"dep:{','.join(task.after)}" if task.after else "",
    ]
    return " ".join(filter(None, parts))
