"""beads: `issues.jsonl`, an issue in each line."""

import json
from collections.abc import Iterator, Mapping, Sequence

from satchel.exchange import cleaning
from satchel.exchange.entries import Entry, Found, NoteEntry, Problem, TaskEntry
from satchel.exchange.formats import shared
from satchel.exchange.sources import SourceFile
from satchel.model import Priority

FILE = "issues.jsonl"
_PRIORITIES: dict[int, Priority] = {0: "urgent", 1: "high", 2: "normal", 3: "low", 4: "low"}
_NUMBERS = {"urgent": 0, "high": 1, "normal": 2, "low": 3}
_KNOWN = (
    *("id", "title", "description", "design", "acceptance_criteria", "notes", "status", "priority", "issue_type"),
    *("labels", "created_at", "updated_at", "closed_at", "dependencies", "comments", "content_hash", "due_at"),
    *("type", "deleted_at", "deleted_by", "delete_reason", "original_type", "source_repo", "created_by", "owner"),
)
_BLOCKS = ("blocks", "")  # the kinds of links that block an issue


def recognise(file: SourceFile) -> bool:
    """Recognise JSON Lines that begin with an issue of beads."""
    return file.extension == "jsonl" and _is_issue(shared.read_first_line(file))


def _is_issue(value: object) -> bool:
    if not isinstance(value, Mapping) or not {"id", "title", "status"} <= {*value}:
        return False
    return "issue_type" in value or "priority" in value or "created_at" in value


def read(file: SourceFile) -> Iterator[Found]:
    """Read a task from each issue; comments become notes, the type becomes a tag, and deleted issues are skipped."""
    for where, issue in shared.read_json_lines(file):
        if isinstance(issue, Problem):
            yield issue
        elif not isinstance(issue, Mapping) or not shared.text_of(issue, "title"):
            yield Problem(where, "it is not an issue: it has no title")
        elif shared.text_of(issue, "status") == "tombstone":
            yield Problem(where, "the issue was deleted", is_harmless=True)
        else:
            yield _read_issue(where, issue)


def _read_issue(where: str, issue: shared.Fields) -> Found:
    kind = shared.text_of(issue, "issue_type", "type")
    links = shared.list_mappings(issue.get("dependencies"))
    parents = [shared.text_of(one, "depends_on_id") for one in links if shared.text_of(one, "type") == "parent-child"]
    text = shared.join_parts(
        ("", issue.get("description")),
        ("Design", issue.get("design")),
        ("Acceptance criteria", issue.get("acceptance_criteria")),
        ("Notes", issue.get("notes")),
        ("", f"Part of: {', '.join(parents[1:])}" if parents[1:] else ""),
    )
    number = issue.get("priority")
    tags = cleaning.list_texts(issue.get("labels"))
    priority = _PRIORITIES.get(number, "normal") if isinstance(number, int) else cleaning.clean_priority(number)
    return shared.make_task(
        where,
        issue,
        _KNOWN,
        title=shared.text_of(issue, "title"),
        text=text,
        status=cleaning.clean_status(issue.get("status")),
        done=issue.get("closed_at"),
        tags=(*tags, *([kind] if kind not in ("", "task") else []), *cleaning.status_tags(issue.get("status"))),
        priority=priority,
        due=cleaning.clean_day(issue.get("due_at")),
        key=shared.text_of(issue, "id"),
        after=tuple(shared.text_of(one, "depends_on_id") for one in links if shared.text_of(one, "type") in _BLOCKS),
        parent=next(iter(parents), ""),
        comments=tuple(
            NoteEntry(text, cleaning.clean_moment(one.get("created_at")) or "")
            for one in shared.list_mappings(issue.get("comments"))
            if (text := shared.text_of(one, "text", "body"))
        ),
    )


def write(entries: Sequence[Entry]) -> shared.Written:
    """Write one file with a line for each task."""
    tasks, notes = shared.take(entries, "task", "beads")
    ids = {task.key: f"bd-{number}" for number, task in enumerate(tasks, 1) if task.key}
    lines = [json.dumps(_write(task, f"bd-{number}", ids), ensure_ascii=False) for number, task in enumerate(tasks, 1)]
    return shared.Written({FILE: "".join(f"{line}\n" for line in lines).encode()}, notes)


def _write(task: TaskEntry, id: str, ids: Mapping[str, str]) -> dict[str, object]:
    row: dict[str, object] = {"id": id, "title": task.title}
    row |= {"description": task.description} if task.description else {}
    row |= {"status": "open" if task.status in ("pending", "review") else "closed", "priority": _NUMBERS[task.priority]}
    row |= {"issue_type": "task"}
    row |= {"closed_at": task.completed_at} if task.completed_at else {}
    row |= {"close_reason": "cancelled"} if task.status == "cancelled" else {}
    row |= {"labels": list(task.tags)} if task.tags else {}
    row |= {"due_at": task.due} if task.due else {}
    others = [(ids[one], "blocks") for one in task.after if one in ids]
    others += [(ids[task.parent], "parent-child")] if task.parent in ids else []
    if others:
        row["dependencies"] = [{"issue_id": id, "depends_on_id": one, "type": type} for one, type in others]
    if task.comments:
        row["comments"] = [{"issue_id": id, "text": one.text, "created_at": one.at} for one in task.comments]
    return row
