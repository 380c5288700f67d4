"""Backlog.md: a Markdown file for each task, `task-7 - Title.md`, in the folders of a backlog."""

import os
import re
from collections.abc import Iterator, Sequence

from satchel.exchange import cleaning
from satchel.exchange.entries import Entry, Found, NoteEntry, TaskEntry
from satchel.exchange.formats import shared
from satchel.exchange.sources import SourceFile
from satchel.yaml_reader import write_front_matter

_KNOWN = (
    *("id", "title", "status", "labels", "dependencies", "priority", "created_date", "updated_date", "due_date"),
    *("completed_date", "ordinal", "subtasks", "due", "onstatuschange", "type"),
)
_FILE = r"(?i)[a-z][\w]*-[\d.]+ - .*\.md"
_WORDS = {"pending": "To Do", "review": "To Do", "completed": "Done", "cancelled": "Done"}


def recognise(file: SourceFile) -> bool:
    """Recognise Markdown with the id, title and status of a task, and files in a backlog's `docs` and `decisions`."""
    if file.extension != "md" or file.fields is None:
        return False
    if _is_beside_tasks(file):
        return True
    has_fields = {"id", "title", "status"} <= {*file.fields}
    is_placed = re.fullmatch(_FILE, file.name) is not None or file.folders[-1:] in (("tasks",), ("completed",))
    return has_fields and is_placed and not {"docs", "decisions"} & {*file.folders[-2:]}


def read(file: SourceFile) -> Iterator[Found]:
    """Read a task: an archived one is cancelled, a draft gets the tag `draft`. Docs and decisions become documents."""
    fields = file.fields or {}
    if _is_beside_tasks(file):
        yield shared.make_document(file, file.name, shared.text_of(fields, "title"))
        return
    folders = file.folders[-2:]
    status = cleaning.clean_status(fields.get("status"))
    if "archive" in folders and status == "pending":
        status = "cancelled"
    if folders[-1:] == ("completed",):
        status = "completed"
    body = re.sub(r"<!--\s*(?:SECTION:\w+|AC|DOD):(?:BEGIN|END)\s*-->\n?", "", shared.trim(file.body))
    body = re.sub(r"\A## Description\s*\n+", "", body).strip()
    body, comments = _split_notes(body)
    yield shared.make_task(
        file.shown,
        fields,
        _KNOWN,
        title=shared.text_of(fields, "title"),
        text=body,
        status=status,
        done=fields.get("completed_date") or fields.get("updated_date"),
        tags=_list_tags(file, status),
        priority=cleaning.clean_priority(fields.get("priority")),
        due=cleaning.clean_day(fields.get("due_date") or fields.get("due")),
        key=shared.text_of(fields, "id").casefold(),
        after=tuple(one.casefold() for one in cleaning.list_texts(fields.get("dependencies"))),
        comments=comments,
    )


def _is_beside_tasks(file: SourceFile) -> bool:
    """Return whether a file lies in a folder `docs` or `decisions` beside the tasks of a backlog."""
    path = os.path.dirname(os.path.abspath(file.path))
    for _ in range(3):
        path, name = os.path.split(path)
        if name in ("docs", "decisions") and os.path.isdir(os.path.join(path, "tasks")):
            return os.path.basename(path) in ("backlog", ".backlog") or os.path.isfile(os.path.join(path, "config.yml"))
    return False


def _list_tags(file: SourceFile, status: str) -> list[str]:
    fields = file.fields or {}
    tags = cleaning.list_texts(fields.get("labels"))
    tags += cleaning.status_tags(fields.get("status")) if status == "pending" else []
    return tags + (["draft"] if file.folders[-1:] == ("drafts",) else [])


def _split_notes(body: str) -> tuple[str, tuple[NoteEntry, ...]]:
    """Split the implementation notes off a body, because they become a note on the task."""
    before, heading, notes = body.partition("\n## Implementation Notes\n")
    if not heading:
        return body, ()
    text, more, rest = notes.partition("\n## ")
    text = text.strip()
    return f"{before}{more}{rest}".strip(), (NoteEntry(text),) if text and len(text) < 10_000 else ()


def write(entries: Sequence[Entry]) -> shared.Written:
    """Write a file for each task."""
    tasks, notes = shared.take(entries, "task", "Backlog.md")
    ids = {task.key: number for number, task in enumerate(tasks, 1) if task.key}
    files: dict[str, bytes] = {}
    for number, task in enumerate(tasks, 1):
        stem = re.sub(r"[^A-Za-z0-9]+", "-", task.title).strip("-")[:80] or "task"
        folder = "archive/tasks" if task.status == "cancelled" else "tasks"
        files[f"{folder}/task-{number} - {stem}.md"] = _write(task, number, ids).encode()
    return shared.Written(files, notes)


def _write(task: TaskEntry, number: int, ids: dict[str, int]) -> str:
    description, kept = cleaning.split_fields(task.description)
    fields = {
        "id": f"task-{number}",
        "title": task.title,
        "status": _WORDS[task.status],
        "assignee": cleaning.list_texts(kept.pop("assignee", "")),
        "labels": list(task.tags),
        "dependencies": [f"task-{ids[one]}" for one in task.after if one in ids],
        "priority": {"urgent": "high", "normal": "medium"}.get(task.priority, task.priority),
        "due_date": task.due,
        **kept,
    }
    text = write_front_matter(fields) + f"\n## Description\n\n{description}"
    if task.comments:
        text = text.rstrip() + "\n\n## Implementation Notes\n\n" + "\n\n".join(one.text for one in task.comments)
    return shared.end_line(text)
