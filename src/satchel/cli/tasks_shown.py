"""How commands show tasks: a row of a table, and a sentence about one that was changed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from satchel.cli.lists import show_notes
from satchel.cli.store import Session
from satchel.cli.tables import fold

if TYPE_CHECKING:
    from satchel.cli.calls import Answer

COLUMNS = ("NO", "STATUS", "TITLE", "PRIORITY", "DUE", "TAGS", "AFTER", "PROJECT")


class _Reference(click.types.StringParamType):
    """The reference to a task that a person typed; a number goes without its #."""

    name = "ref"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(super().convert(value, param, ctx))
        digits = text.removeprefix("#")
        return digits if digits.isascii() and digits.isdigit() else text


TASK = _Reference()

Row = dict[str, Any]  # a task in an answer


def list_cells(value: dict[str, Any]) -> list[list[str]]:
    """The cells of the tasks of an answer, in the order of COLUMNS."""
    return [
        [
            str(task["number"]),
            name_status(task),
            task["title"],
            task.get("priority", ""),
            task.get("due", ""),
            ", ".join(task.get("tags", ())),
            ", ".join(list_blockers(task)),
            task.get("project", value["project"]) or "",
        ]
        for task in value["tasks"]
    ]


def name_status(task: Row) -> str:
    """The state of a task as commands call it; empty where it is open."""
    names = {"pending": "", "completed": "done", "in_progress": "in progress"}
    status: str = task.get("status", "pending")
    return names.get(status, status)


def list_blockers(task: Row) -> list[str]:
    """The open tasks that block a task."""
    return [f"#{number}" for number in task.get("blocked_by", ())] + (
        ["a task elsewhere"] if task.get("blocked_elsewhere") else []
    )


def show_task(session: Session, sentence: str, answer: "Answer") -> None:
    """Print a sentence about the task of an answer, and what became ready by it."""
    show_changed(session, [sentence.format(**answer.value["task"])], answer)


def show_changed(session: Session, sentences: Sequence[str], answer: "Answer") -> None:
    """Print sentences about changed tasks, and what became ready by that."""
    ready = [f"Ready now: task {one['number']}: {one['title']}" for one in answer.value.get("ready", ())]
    session.say("\n".join([*sentences, *ready]), answer.value)
    if not session.as_json:
        show_notes(answer.notes)


def format_whole(answer: "Answer") -> str:
    """A task with all that there is to know about it, for people; no wider than their terminal."""
    task: Row = answer.value["task"]
    state = name_status(task) or (
        "waiting" if any(one.get("status", "pending") not in _CLOSED for one in task.get("blocked_by", ())) else "open"
    )
    facts = [
        state,
        f"{task['priority']} priority" if "priority" in task else "",
        f"due {task['due']}" if task.get("due") else "",
        f"tags {', '.join(task['tags'])}" if task.get("tags") else "",
        f"project {task.get('project', answer.value['project'])}"
        if task.get("project", "") is not None
        else "no project",
        f"claimed by {task['holder']} until {task['until']}" if task.get("holder") else "",
    ]
    times = [f"created {task['created']}", f"updated {task['updated']}", f"version {task['version']}"]
    times += [f"{name_status(task)} {task['completed']}"] if task.get("completed") else ["not done"]
    notes = [f"{one['at']} {one['by']}: {one['text']}" for one in task.get("notes", ())]
    if older := task.get("older_notes"):
        notes.insert(0, f"({older} older left out)")
    parts = [
        f"{task['number']}  {task['title']}\n{', '.join(filter(None, facts))}\n{', '.join(times)}",
        task.get("description") or "",
        _format_list("After", [_format_neighbour(one) for one in task.get("blocked_by", ())]),
        _format_list("Blocks", [_format_neighbour(one) for one in task.get("blocks", ())]),
        _format_list("Notes", notes),
        _format_list("Links", task.get("links", ())),
        _format_list("Linked from", task.get("linked_from", ())),
    ]
    return fold("\n\n".join(filter(None, parts)))


_CLOSED = ("completed", "cancelled")


def _format_list(title: str, lines: Sequence[str]) -> str:
    return "\n".join([f"{title}:", *(f"- {line}" for line in lines)]) if lines else ""


def _format_neighbour(task: Row) -> str:
    state = name_status(task)
    return f"#{task['number']} {task['title']}{f' ({state})' if state else ''}"
