"""Taskwarrior: the JSON of `task export`, a list or an object in each line."""

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from satchel.exchange import cleaning
from satchel.exchange.entries import Entry, Found, NoteEntry, Problem, TaskEntry
from satchel.exchange.formats import shared
from satchel.exchange.sources import SourceFile
from satchel.model import Priority, TaskStatus

FILE = "taskwarrior.json"
_STATUSES: dict[str, TaskStatus] = {"completed": "completed", "deleted": "cancelled"}
_PRIORITIES: dict[str, Priority] = {"H": "high", "M": "normal", "L": "low"}
_LETTERS = {"urgent": "H", "high": "H", "low": "L"}
_KNOWN = (
    *("id", "uuid", "description", "status", "entry", "modified", "end", "due", "priority", "project", "tags"),
    *("depends", "annotations", "urgency", "mask", "imask", "parent", "start"),
)


def recognise(file: SourceFile) -> bool:
    """Recognise tasks with a UUID, a description and a status."""
    if file.extension not in ("json", "jsonl", "data", "txt", "") or file.text.lstrip()[:1] not in ("[", "{"):
        return False
    value = shared.guess_json(file)
    first = shared.read_first_line(file) if value is None else next(iter(_as_list(value)), None)
    return isinstance(first, Mapping) and {"uuid", "description", "status"} <= {*first}


def read(file: SourceFile) -> Iterator[Found]:
    """Read the tasks; deleted tasks become cancelled, annotations become notes."""
    value = shared.guess_json(file)
    if value is not None:
        rows = [(f"{file.shown}, task {number}", one) for number, one in enumerate(_as_list(value), 1)]
    else:
        rows = list(shared.read_json_lines(file))
    for where, one in rows:
        if isinstance(one, Problem):
            yield one
        elif not isinstance(one, Mapping) or not shared.text_of(one, "description"):
            yield Problem(where, "it is not a task: it has no description")
        else:
            yield _read_task(where, one)


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _read_task(where: str, task: shared.Fields) -> Found:
    depends = task.get("depends")
    after = depends.split(",") if isinstance(depends, str) else [str(one) for one in shared.get_list(task, "depends")]
    status = shared.text_of(task, "status")
    notes = [] if status != "recurring" else ["It recurs; tasks in Satchel do not recur."]
    return shared.make_task(
        where,
        task,
        _KNOWN,
        title=shared.text_of(task, "description"),
        status=_STATUSES.get(status, "pending"),
        done=task.get("end"),
        tags=(*cleaning.list_texts(task.get("tags")), *cleaning.status_tags(status)),
        notes=notes,
        priority=_PRIORITIES.get(shared.text_of(task, "priority").upper(), "normal"),
        due=cleaning.clean_day(task.get("due")),
        key=shared.text_of(task, "uuid"),
        after=tuple(one.strip() for one in after if one.strip()),
        comments=tuple(
            NoteEntry(text, cleaning.clean_moment(one.get("entry")) or "")
            for one in shared.list_mappings(task.get("annotations"))
            if (text := shared.text_of(one, "description"))
        ),
        project=shared.text_of(task, "project") or None,
    )


def write(entries: Sequence[Entry]) -> shared.Written:
    """Write one file for `task import`."""
    tasks, notes = shared.take(entries, "task", "Taskwarrior")
    ids = {task.key: _make_uuid(task.key) for task in tasks if task.key}
    rows = [_write(task, ids) for task in tasks]
    text = "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n"
    return shared.Written({FILE: text.encode()}, notes)


def _make_uuid(key: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"satchel://task/{key}"))


def _write(task: TaskEntry, ids: Mapping[str, str]) -> dict[str, object]:
    row: dict[str, object] = {"description": " ".join(task.title.split())}
    row["status"] = {"completed": "completed", "cancelled": "deleted"}.get(task.status, "pending")
    row |= {"uuid": ids.get(task.key) or _make_uuid(f"{task.title}\n{task.description}")}
    row |= {"priority": _LETTERS[task.priority]} if task.priority in _LETTERS else {}
    row |= {"due": f"{task.due.replace('-', '')}T000000Z"} if task.due else {}
    row |= {"end": _write_moment(task.completed_at)} if task.completed_at else {}
    row |= {"project": task.project} if task.project else {}
    row |= {"tags": list(task.tags)} if task.tags else {}
    row |= {"depends": [ids[one] for one in task.after if one in ids]} if task.after else {}
    texts = [("", task.description)] if task.description else []
    texts += [(one.at, one.text) for one in task.comments]
    if texts:
        row["annotations"] = [
            {"entry": _write_moment(at) or "20000101T000000Z", "description": " ".join(text.split())}
            for at, text in texts
        ]
    return row


def _write_moment(moment: str) -> str:
    return moment[:19].replace("-", "").replace(":", "") + "Z" if moment else ""
