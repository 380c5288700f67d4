"""JSON Lines of Satchel: an item in each line, with its `kind`. Bytes are in base64."""

import base64
import binascii
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from satchel.exchange import cleaning, folder
from satchel.exchange.entries import DocumentEntry, Entry, Found, NoteEntry, Problem, PromptEntry, TaskEntry, Unreadable
from satchel.exchange.formats import shared
from satchel.exchange.sources import SourceFile

FILE = "satchel.jsonl"


def recognise(file: SourceFile) -> bool:
    """Recognise JSON Lines that begin with one of Satchel's kinds."""
    return file.extension == "jsonl" and _is_item(shared.read_first_line(file))


def _is_item(value: object) -> bool:
    return isinstance(value, Mapping) and value.get("kind") in ("prompt", "document", "task")


def read(file: SourceFile) -> Iterator[Found]:
    """Read the item of each line."""
    for where, row in shared.read_json_lines(file):
        if isinstance(row, Problem):
            yield row
        elif not _is_item(row):
            yield Problem(where, "it has no kind: prompt, document or task")
        else:
            try:
                yield _READERS[row["kind"]](row, where)
            except Unreadable as wrong:
                yield Problem(where, str(wrong))
            except (TypeError, ValueError) as error:
                yield Problem(where, f"it is not valid: {error}")


def _text(row: shared.Fields, key: str, default: str = "") -> str:
    value = row.get(key, default)
    if not isinstance(value, str):
        raise Unreadable(f"its {key} must be a text")
    return value


def _read_prompt(row: shared.Fields, where: str) -> Entry:
    return PromptEntry(
        name=_text(row, "name"),
        title=_text(row, "title", _text(row, "name")),
        content=_text(row, "content"),
        description=_text(row, "description") or None,
        tags=tuple(str(one) for one in shared.get_list(row, "tags")),
        arguments=tuple(folder.read_arguments(row.get("arguments"))),
        **folder.read_age(row),
        is_constant=not row.get("arguments") and row.get("template") is True,
        project=_project(row),
        where=where,
    )


def _read_document(row: shared.Fields, where: str) -> Entry:
    if "base64" in row:
        try:
            data = base64.b64decode(_text(row, "base64"), validate=True)
        except binascii.Error:
            raise Unreadable("its base64 is not valid") from None
    else:
        data = _text(row, "content").encode("utf-8", "surrogatepass")
    made = folder.read_document(_text(row, "name"), data, row, where)
    return replace(made, project=_project(row))


def _read_task(row: shared.Fields, where: str) -> Entry:
    notes = [NoteEntry(_text(one, "text"), _text(one, "at")) for one in shared.list_mappings(row.get("notes"))]
    due, done = _text(row, "due"), _text(row, "completed_at")
    return TaskEntry(
        title=_text(row, "title"),
        description=_text(row, "description") or None,
        status=_text(row, "status", "pending"),  # type: ignore[arg-type]
        priority=_text(row, "priority", "normal"),  # type: ignore[arg-type]
        due=due or None,
        tags=tuple(str(one) for one in shared.get_list(row, "tags")),
        completed_at=cleaning.clean_moment(done) if done else None,
        key=cleaning.to_text(row.get("id")),
        after=tuple(cleaning.to_text(one) for one in shared.get_list(row, "after")),
        parent=cleaning.to_text(row.get("parent")),
        comments=tuple(notes),
        project=_project(row),
        where=where,
    )


def _project(row: shared.Fields) -> str | None:
    value = row.get("project")
    return cleaning.clean_name(value) if isinstance(value, str) else None


_READERS = {"prompt": _read_prompt, "document": _read_document, "task": _read_task}


def write(entries: Sequence[Entry]) -> shared.Written:
    """Write a line for each entry."""
    used = {key for one in entries if isinstance(one, TaskEntry) for key in one.others}
    tasks = [one for one in entries if isinstance(one, TaskEntry)]
    labels = {task.key: place for place, task in enumerate(tasks, 1) if task.key in used}
    lines = [json.dumps(_write(one, labels), ensure_ascii=False) for one in entries]
    return shared.Written({FILE: "".join(f"{line}\n" for line in lines).encode()})


def _write(entry: Entry, labels: Mapping[str, int]) -> dict[str, Any]:
    row: dict[str, Any] = {"kind": entry.kind}
    row |= {} if entry.project is None else {"project": entry.project}
    row |= {} if isinstance(entry, TaskEntry) else folder.write_age(entry)
    if isinstance(entry, PromptEntry):
        row |= {"name": entry.name, "title": entry.title, "description": entry.description, "tags": list(entry.tags)}
        row |= {"template": True} if entry.is_constant else {}
        row |= {"labels": dict(entry.labels)} if entry.labels else {}
        row |= {"arguments": [folder.write_argument(one) for one in entry.arguments], "content": entry.content}
    elif isinstance(entry, DocumentEntry):
        row |= {"name": entry.name, "uri": entry.uri, "mime_type": entry.mime_type, "description": entry.description}
        is_text = isinstance(entry.content, str)
        row["content" if is_text else "base64"] = (
            entry.content if isinstance(entry.content, str) else base64.b64encode(entry.content).decode()
        )
        return {key: value for key, value in row.items() if value is not None}
    else:
        row |= {"id": labels.get(entry.key), "title": entry.title, "description": entry.description}
        row |= {"status": entry.status, "priority": entry.priority, "due": entry.due, "tags": list(entry.tags)}
        row |= {"completed_at": entry.completed_at, "after": [labels[one] for one in entry.after if one in labels]}
        row |= {"parent": labels.get(entry.parent)}
        row["notes"] = [{"at": one.at, "text": one.text} for one in entry.comments]
    return {key: value for key, value in row.items() if value is not None and value != []}
