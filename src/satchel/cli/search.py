"""`satchel search` and `satchel catch-up`: find items by words, and see recent work."""

from collections.abc import Iterator
from typing import Any

import click

from satchel.cli.examples import Command
from satchel.cli.output import count
from satchel.cli.session import Session, command, project_option

_MOST = 50  # the limit of hits in one answer of the tool
_KINDS = ("prompt", "document", "task")


@click.command(cls=Command)
@click.argument("words", nargs=-1, required=True)
@click.option("--kind", "-k", type=click.Choice(_KINDS), help="Only items of this kind.")
@click.option("--limit", default=10, show_default=True, type=click.IntRange(1, _MOST), help="How many at most.")
@project_option("Only in this project.")
@command(in_project=False, as_user=True, reads=True)
def cli(session: Session, words: tuple[str, ...], kind: str | None, limit: int, wanted: str | None) -> None:
    """Find prompts, documents and tasks by WORDS, best first. Words in "quotes" are found literally."""
    query = " ".join(words)
    answer = session.call("search", query=query, kind=kind, limit=limit, project=wanted)
    rows = [
        [
            hit["reference"],
            hit["kind"],
            hit["title"],
            hit.get("text", "") if hit.get("line") is None else f"line {hit['line']}: {hit.get('text', '')}",
            hit.get("from", ""),
        ]
        for hit in answer.value["hits"]
    ]
    empty = f"Nothing was found in project '{answer.value['project']}'. Try fewer words, or another project with -p."
    columns = ("REFERENCE", "KIND", "TITLE", "TEXT", "FROM")
    session.show_list(answer, columns, rows, empty=empty, more="a higher --limit" if limit < _MOST else "a word")


@click.command(cls=Command)
@click.option("--since", metavar="TIME", help="Changes since 2h, 3d, yesterday, monday, a day or a UTC time.")
@command(as_user=True, reads=True)
def catch_up(session: Session, since: str | None) -> None:
    """Show recent changes, claimed tasks and tasks ready to start in the project."""
    answer = session.call("catch_up", since=since)
    session.say("\n\n".join("\n".join(lines) for lines in _write_parts(answer.value) if lines), answer.value)


def _write_parts(value: dict[str, Any]) -> Iterator[list[str]]:
    """Yield the parts of the answer as lines: projects, completed tasks, changes, notes, claims and ready tasks."""
    project = value["project"]
    held = [
        count(value[key], key[:-1].replace("_", " ")) for key in ("prompts", "documents", "open_tasks") if key in value
    ]
    place = f"Project '{project}' ({value['why']}): {', '.join(held) or 'empty'}"
    yield [place + (f"; tags {', '.join(value['tags'])}" if "tags" in value else "")]
    if "others" in value:
        names = [
            one["name"] + (f" ({count(one['changes'], 'change')})" if "changes" in one else "")
            for one in value["others"]
        ]
        yield [
            f"Other projects: {', '.join(names)}"
            + (f" and {value['more_others']} more" if "more_others" in value else "")
        ]
    period = value["period"]
    if "completed" in value:
        more = [f"- more: satchel task list --status completed -p {project}"] if value.get("more_completed") else []
        yield [f"Completed {period}:", *(f"- {row}" for row in value["completed"]), *more]
    if value["done"]:
        more = [f"- more: satchel log -p {project}"] if value.get("more_done") else []
        yield [f"Changes {period}:", *(f"- {row}" for row in value["done"]), *more]
    elif "completed" not in value:
        yield [f"Nothing was done {period}."]
    if "task_notes" in value:
        yield ["Notes on open tasks:", *(f"- {note}" for note in value["task_notes"])]
    if claimed := value.get("in_progress"):
        more = ["- more: satchel task list --status in-progress"] if value.get("more_in_progress") else []
        yield [
            "In progress:",
            *(f"- {_name_task(task)}, {task.get('holder', '')}".rstrip(", ") for task in claimed),
            *more,
        ]
    if reviewed := value.get("in_review"):
        yield ["In review:", *(f"- {one}" for one in reviewed)]
    if "expired_claims" in value:
        yield [
            "Claims that ran out:",
            *(f"- {_name_task(task)}, by {task['holder']} at {task['until']}" for task in value["expired_claims"]),
        ]
    if "ready" not in value:
        return
    ready = [f"- {_name_task(task)}" for task in value["ready"]]
    more = [f"- {value['more_ready']} more: satchel task ready -p {project}"] if "more_ready" in value else []
    if "ready_elsewhere" in value:
        more.append(f"- {value['ready_elsewhere']} more outside this project: satchel task ready")
    yield ["Ready:", *ready, *more] if ready else ["No task is ready in this project.", *more]


def _name_task(task: dict[str, Any]) -> str:
    facts = [task["title"], task.get("priority", ""), f"due {task['due']}" if task.get("due") else ""]
    return f"#{task['number']} {', '.join(filter(None, facts))}"
