"""`satchel search` and `satchel catch-up`: find items by words, and see recent work."""

import re
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import click

from satchel.cli.examples import Command
from satchel.cli.output import count
from satchel.cli.session import Session, command, project_option
from satchel.clients import hooks
from satchel.clients.table import BY_NAME, CLIENTS
from satchel.log import escape_line
from satchel.model import ALL_PROJECTS

_MOST = 50  # the limit of hits in one answer of the tool
_BRIEF = 400  # tokens
_MORE = "For more, call the tool catch_up of the MCP server satchel."
_COMMANDS = {  # the commands that do what these tools do
    "list_tasks": "satchel task list",
    "list_tasks with status completed": "satchel task list --status completed",
    "list_tasks with status cancelled": "satchel task list --status cancelled",
    "list_tasks with status in_progress": "satchel task list --status in-progress",
    "list_tasks with due overdue": "satchel task list --due overdue",
    "list_tasks with due today": "satchel task list --due today",
    "history": "satchel log",
    "read_resource memory.md": "satchel document show memory.md",
    "list_prompts and list_resources mark them": "satchel prompt list and satchel document list mark them",
}
_KINDS = ("prompt", "document", "task")
_HOOKED = [client.name for client in CLIENTS if client.hook is not None]


@click.command(cls=Command)
@click.argument("words", nargs=-1, required=True)
@click.option("--kind", "-k", type=click.Choice(_KINDS), help="Only items of this kind.")
@click.option("--limit", default=10, show_default=True, type=click.IntRange(1, _MOST), help="How many at most.")
@project_option("Only in this project; all: in every project.")
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
            hit.get("from") or hit.get("project", ""),
        ]
        for hit in answer.value["hits"]
    ]
    empty = f"Nothing was found in project '{answer.value['project']}'. Try fewer words, or another project with -p."
    if wanted == ALL_PROJECTS:
        empty = "Nothing was found in any project. Try fewer words."
    if near := answer.value.get("near"):
        empty += f" Nearest titles and tags: {', '.join(near)}."
    columns = ("REFERENCE", "KIND", "TITLE", "TEXT", "FROM")
    session.show_list(answer, columns, rows, empty=empty, more="a higher --limit" if limit < _MOST else "a word")


@click.command(cls=Command)
@click.option("--since", metavar="TIME", help="Changes since 2h, 3d, yesterday, monday, a day or a UTC time.")
@click.option(
    "--brief", is_flag=True, help="At most 400 tokens, for the hooks of clients; nothing for an empty project."
)
@click.option(
    "--hook", type=click.Choice(_HOOKED), metavar="CLIENT", help="--brief in the form that a client's hooks read."
)
@command(as_user=True, reads=True)
def catch_up(session: Session, since: str | None, brief: bool, hook: str | None) -> None:
    """Show recent changes, claimed tasks and tasks ready to start in the project."""
    answer = session.call("catch_up", since=since)
    if (brief or hook) and not session.as_json:
        text = _write_brief(answer.value)
        click.echo(text if hook is None else hooks.write_answer(BY_NAME[hook], text), nl=False)
        return
    text = re.sub("(?m)^(and .*: )(.+)$", lambda line: line[1] + _COMMANDS.get(line[2], line[2]), answer.text)
    session.say(text.replace("\nLater: catch_up with since ", "\nLater: satchel catch-up --since "), answer.value)


def _write_brief(value: dict[str, Any]) -> str:
    """Return the most important lines of the answer, for models; an empty text for an empty project."""
    held = [
        count(value[key], key[:-1].replace("_", " ")) for key in ("prompts", "documents", "open_tasks") if key in value
    ]
    memory = _list_memories(value)
    if not held and not memory:
        return ""
    parts = [
        [f"Satchel: project '{value['project']}' ({value['why']}): {', '.join(held) or 'empty'}"],
        memory,
        ["In progress:", *(f"{_name_task(task)} ({task.get('holder', '')})" for task in value.get("in_progress", ()))],
        ["Ready:", *map(_name_task, value.get("ready", ()))],
        [f"Completed {value['period']}:", *value.get("completed", ())],
    ]
    lines, room = [], _BRIEF - _count_tokens(_MORE)
    for part in parts:
        fitting = _take_fitting([escape_line(line) for line in part], room)
        if part is parts[0] or fitting[1:]:  # a title alone says nothing
            lines += fitting
            room -= sum(map(_count_tokens, fitting))
    return "".join(f"{line}\n" for line in [*lines, _MORE])


def _list_memories(value: dict[str, Any]) -> list[str]:
    """Return the newest lines of both memories, the project's first, that fit into half of the brief answer."""
    lines = [f"(personal) {line}" for line in value.get("personal_memory", ())] + value.get("memory", [])
    kept = _take_fitting(lines[::-1], _BRIEF // 2)
    return ["Remembered:", *kept] if kept else []


def _take_fitting(lines: Sequence[str], room: int) -> list[str]:
    """Return the first lines that fit into a number of tokens."""
    sizes = accumulate(map(_count_tokens, lines))
    return [line for line, size in zip(lines, sizes, strict=True) if size <= room]


def _count_tokens(line: str) -> int:
    """Estimate the tokens of a line, with a margin: a common word or a group of three digits is one token."""
    return len(re.findall(r"[A-Za-z]{1,6}|[0-9]{1,3}|[^\sA-Za-z0-9]", line)) + 1


def _name_task(task: dict[str, Any]) -> str:
    facts = [task["title"], task.get("priority", ""), f"due {task['due']}" if task.get("due") else ""]
    return f"#{task['number']} {', '.join(filter(None, facts))}"
