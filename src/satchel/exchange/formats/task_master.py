"""Task Master: `tasks.json`, with tasks and subtasks in one list, or in a list for each tag."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from satchel.exchange import cleaning
from satchel.exchange.entries import Entry, Found, Problem, TaskEntry, Unreadable
from satchel.exchange.formats import shared
from satchel.exchange.sources import SourceFile

FILE = "tasks.json"
_KNOWN = (
    *("id", "title", "description", "details", "testStrategy", "status", "priority", "dependencies", "subtasks"),
    *("updatedAt", "createdAt", "parentId", "parentTaskId", "labels", "tags", "dueDate", "recommendedSubtasks"),
)
_MAIN = "master"
_MAX_SUBTASKS = 3  # levels


def recognise(file: SourceFile) -> bool:
    """Recognise JSON with a list `tasks`, or such lists by tag, whose tasks have an id, a title and a status."""
    lists = _find_lists(shared.guess_json(file))
    return any(
        "title" in one and "id" in one and ("status" in one or "dependencies" in one)
        for tasks in lists.values()
        for one in tasks[:5]
    )


def _find_lists(value: Any) -> dict[str, list[shared.Fields]]:
    if not isinstance(value, Mapping):
        return {}
    if isinstance(value.get("tasks"), list):
        return {_MAIN: shared.list_mappings(value["tasks"])}
    return {
        str(tag): shared.list_mappings(inner["tasks"])
        for tag, inner in value.items()
        if isinstance(inner, Mapping) and isinstance(inner.get("tasks"), list)
    }


def read(file: SourceFile) -> Iterator[Found]:
    """Read a task from each task and subtask; their list's tag becomes their tag, unless it is `master`."""
    lists = _find_lists(shared.read_json(file))
    if not lists:
        raise Unreadable("it has no list of tasks")
    for tag, tasks in lists.items():
        for task in tasks:
            yield from _read_task(f"{file.shown}, task {shared.text_of(task, 'id')}", task, tag, ())


def _read_task(where: str, task: shared.Fields, tag: str, parents: tuple[shared.Fields, ...]) -> Iterator[Found]:
    path = ".".join(shared.text_of(one, "id") for one in (*parents, task))
    after = [_resolve(one, parents) for one in shared.get_list(task, "dependencies")]
    text = shared.join_parts(
        ("", task.get("description")),
        ("Details", task.get("details")),
        ("Test strategy", task.get("testStrategy")),
    )
    tags = [*cleaning.list_texts(task.get("labels")), *cleaning.list_texts(task.get("tags"))]
    given = task.get("priority") or (parents[-1].get("priority") if parents else None)
    yield shared.make_task(
        where,
        task,
        _KNOWN,
        title=shared.text_of(task, "title"),
        text=text,
        status=cleaning.clean_status(task.get("status")),
        done=task.get("updatedAt"),
        tags=(*tags, *([] if tag == _MAIN else [tag]), *cleaning.status_tags(task.get("status"))),
        priority=cleaning.clean_priority(given),
        due=cleaning.clean_day(task.get("dueDate")),
        key=f"{tag}:{path}",
        after=tuple(f"{tag}:{one}" for one in after if one),
        parent=f"{tag}:{path.rpartition('.')[0]}" if parents else "",
    )
    inner = shared.list_mappings(task.get("subtasks"))
    if inner and len(parents) >= _MAX_SUBTASKS:
        yield Problem(where, f"its subtasks are nested more than {_MAX_SUBTASKS} levels deep and were left out")
        return
    for one in inner:
        yield from _read_task(f"{where}.{shared.text_of(one, 'id')}", one, tag, (*parents, task))


def _resolve(reference: object, parents: tuple[shared.Fields, ...]) -> str:
    """Return the path of the task that a dependency names; in a subtask, a plain number is a sibling."""
    text = cleaning.to_text(reference)
    if not parents or "." in text:
        return text
    path = ".".join(shared.text_of(one, "id") for one in parents)
    siblings = {shared.text_of(one, "id") for one in shared.list_mappings(parents[-1].get("subtasks"))}
    return f"{path}.{text}" if text in siblings else text


def write(entries: Sequence[Entry]) -> shared.Written:
    """Write one file with one list of tasks."""
    tasks, notes = shared.take(entries, "task", "Task Master")
    lost = sum(bool(one.comments) for one in tasks)
    if lost:
        notes = (*notes, f"Left out, because Task Master has no place for it: notes on {lost} tasks.")
    ids = {task.key: number for number, task in enumerate(tasks, 1) if task.key}
    rows = [_write(task, number, ids) for number, task in enumerate(tasks, 1)]
    text = json.dumps({_MAIN: {"tasks": rows}}, ensure_ascii=False, indent=2)
    return shared.Written({FILE: f"{text}\n".encode()}, notes)


def _write(task: TaskEntry, number: int, ids: Mapping[str, int]) -> dict[str, object]:
    return {
        "id": number,
        "title": task.title,
        "description": task.description or "",
        "details": "",
        "testStrategy": "",
        "status": {"completed": "done"}.get(task.status, task.status),
        "priority": {"urgent": "high", "normal": "medium"}.get(task.priority, task.priority),
        "dependencies": [ids[one] for one in task.after if one in ids],
        "subtasks": [],
        **({"labels": list(task.tags)} if task.tags else {}),
        **({"dueDate": task.due} if task.due else {}),
    }
