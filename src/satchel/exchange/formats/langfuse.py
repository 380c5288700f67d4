"""Langfuse: prompts from its API and its exports, in JSON or JSON Lines, with mustache variables."""

from collections.abc import Iterator, Mapping
from typing import Any

from satchel.exchange.entries import Found, Problem, Unreadable
from satchel.exchange.formats import shared
from satchel.exchange.sources import SourceFile
from satchel.exchange.templates import convert, read_braces

_KNOWN = (
    *("prompt", "type", "version", "id", "labels", "createdAt", "updatedAt", "created_at"),
    *("updated_at", "projectId", "project_id", "isActive", "is_active", "resolutionGraph", "createdBy", "config"),
)


def recognise(file: SourceFile) -> bool:
    """Recognise JSON with prompts that have a name, a text or messages, and a version, a type or labels."""
    if file.extension == "jsonl":
        return _is_prompt(shared.read_first_line(file))
    prompts = _list_prompts(shared.guess_json(file))
    return any(map(_is_prompt, prompts[:5]))


def _is_prompt(value: object) -> bool:
    if not isinstance(value, Mapping) or not isinstance(value.get("prompt"), str | list) or "name" not in value:
        return False
    return any(key in value for key in ("version", "labels", "type", "config"))


def _list_prompts(value: Any) -> list[shared.Fields]:
    if isinstance(value, Mapping):
        inner = next((value[key] for key in ("data", "prompts") if isinstance(value.get(key), list)), None)
        return shared.list_mappings(inner) if inner is not None else [value] if "prompt" in value else []
    return shared.list_mappings(value)


def read(file: SourceFile) -> Iterator[Found]:
    """Read a prompt for each name: the version with the label `production`, else the newest."""
    rows: list[tuple[str, shared.Fields]] = []
    is_lines = file.extension == "jsonl"
    for where, value in shared.read_json_lines(file) if is_lines else [(file.shown, shared.read_json(file))]:
        if isinstance(value, Problem):
            yield value
        else:
            rows += [(where, one) for one in _list_prompts(value)]
    if not rows:
        raise Unreadable("it has no prompts")
    chosen: dict[str, tuple[str, shared.Fields]] = {}
    counts: dict[str, int] = {}
    for place, (where, row) in enumerate(rows, 1):
        name = shared.text_of(row, "name")
        if not name or not isinstance(row.get("prompt"), str | list):
            yield Problem(f"{where}, prompt {place}", "it has no name, or no text")
            continue
        counts[name] = counts.get(name, 0) + 1
        if name not in chosen or _rank(row) > _rank(chosen[name][1]):
            chosen[name] = where, row
    for name, (where, row) in chosen.items():
        yield _read_prompt(f"{where}, prompt {name}", row, counts[name])


def _rank(row: shared.Fields) -> tuple[bool, int]:
    version = row.get("version")
    return "production" in shared.get_list(row, "labels"), version if isinstance(version, int) else 0


def _read_prompt(where: str, row: shared.Fields, versions: int) -> Found:
    text, notes = row["prompt"], []
    if versions > 1:
        notes.append(f"Version {row.get('version')} of {versions} versions is imported.")
    if isinstance(text, list):
        text, more = _join_messages(text)
        notes += more
    config = row.get("config")
    return shared.make_prompt(
        where,
        shared.text_of(row, "name").replace("/", "-"),
        convert(text, read_braces),
        {**(config if isinstance(config, Mapping) else {}), **row},
        title=shared.text_of(row, "name"),
        description=shared.text_of(row, "description"),
        tags=[
            *shared.get_list(row, "tags"),
            *(one for one in shared.get_list(row, "labels") if one not in ("latest", "production")),
        ],
        known=_KNOWN,
        notes=tuple(notes),
    )


def _join_messages(messages: list[Any]) -> tuple[str, list[str]]:
    """Join the messages of a chat into one text, each below its role; return it, and notes on omissions."""
    parts, lost = [], 0
    for one in shared.list_mappings(messages):
        if isinstance(one.get("content"), str):
            parts.append(f"{shared.text_of(one, 'role') or 'user'}:\n{one['content'].strip()}")
        elif one.get("type") == "placeholder" or "name" in one:
            lost += 1
    notes = [f"{lost} placeholders for messages are left out."] if lost else []
    return "\n\n".join(parts), notes
