"""Tells a caller about a current project that did not exist: that it is empty, or that this call made it."""

from collections.abc import Sequence

from satchel.contracts.contract import Body, Context, Reply
from satchel.model import DEFAULT_PROJECT, ProjectCounts, Scope
from satchel.services import projects
from satchel.storage.database import Tx


def with_place(context: Context, body: Body) -> Body:
    """Return an answer that tells about the project of the call, if it did not exist before."""
    notes = describe_place(context)
    return add_notes(body, notes) if notes else body


def describe_place(context: Context) -> list[str]:
    """Return what a caller should know about the project of its transaction, if that did not exist before."""
    if not context.scope.makes and not context.scope.personal:
        return []
    tx = context.tx
    if DEFAULT_PROJECT in (tx.made_project, tx.absent_project):
        return []  # which everybody expects to be there
    personal = tx.scope.personal
    if personal and tx.made_project == personal:
        return [f"Project '{personal}' was made: its prompts and documents are read in every project."]
    if tx.made_project:
        return [f"Project '{tx.made_project}' was made for {tx.scope.why}."]
    if not tx.absent_project:
        return []
    if tx.absent_project == personal:
        return [f"Project '{personal}' is empty. What is saved in it is read in every project."]
    makes = "nothing made it yet" if tx.scope.is_read_only else "the first write makes it"
    note = f"Project '{tx.absent_project}' is empty; {makes} for {tx.scope.why}."
    held = _count_default(tx)
    return [note, *([f"Project '{DEFAULT_PROJECT}' holds {held}: name that project to read it."] if held else [])]


def add_notes(body: Body, notes: Sequence[str]) -> Body:
    """An answer with more notes."""
    if not isinstance(body, Reply) or not isinstance(body.structured, dict):
        return body
    content = [*body.content, {"type": "text", "text": "\n".join(notes)}]
    if body.content and body.content[0]["type"] == "text" and len(body.content) == 1:
        content = [{**body.content[0], "text": "\n".join([body.content[0]["text"], *notes])}]
    known = body.structured.get("notes", ())
    return Reply(content, {**body.structured, "notes": [*known, *notes]})


def _count_default(tx: Tx) -> str:
    """What the default project holds, in words; empty where it holds nothing."""
    found = projects.list_all(tx, Scope(projects=(DEFAULT_PROJECT,)))
    return _format_contents(found[0][1]) if found else ""


def _format_contents(held: ProjectCounts) -> str:
    counts = ((held.prompts, "prompt"), (held.resources, "document"))
    return " and ".join(f"{count} {what}{'' if count == 1 else 's'}" for count, what in counts if count)
