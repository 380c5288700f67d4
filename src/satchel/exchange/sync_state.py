"""What a folder and a project had in common after the last sync: a digest of every item, in a file in the folder."""

import hashlib
import json
import os

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from satchel.exchange import folder, prompt_file, sources, writing
from satchel.exchange.entries import DocumentEntry, Entry, PromptEntry, TaskEntry, Unreadable

FILE = ".satchel-sync.json"
VERSION = 1


class SyncState(Struct, kw_only=True):
    """The digests of items by kind and key: prompts and documents by name, tasks by number."""

    project: str  # its id: a project of the same name in another store is another one
    user: str
    prompts: dict[str, str] = field(default_factory=dict)
    documents: dict[str, str] = field(default_factory=dict)
    tasks: dict[str, str] = field(default_factory=dict)


def load(root: str, project: str, user: str) -> tuple[SyncState, bool]:
    """The state of a folder, and whether there was one of this project; the tasks are those of one user.

    Raises:
        Unreadable: the file is broken.
    """
    empty = SyncState(project=project, user=user)
    path = os.path.join(root, FILE)
    if not os.path.lexists(path):
        return empty, False
    try:
        value = json.loads(sources.decode(sources.read_bytes(path)))
    except (ValueError, RecursionError):
        value = None
    parts = [value.get(part) for part in ("prompts", "documents", "tasks")] if isinstance(value, dict) else [None]
    if not isinstance(value, dict) or not all(isinstance(part, dict) for part in parts):
        raise Unreadable(f"{path} is broken. Remove it to begin anew: then items that differ are kept twice")
    if value.get("version") != VERSION:
        raise Unreadable(f"{path} is of another version of Satchel")
    if value.get("project") != project:
        return empty, False
    texts = [{str(key): str(one) for key, one in part.items()} for part in parts if isinstance(part, dict)]
    found = SyncState(project=project, user=user, prompts=texts[0], documents=texts[1], tasks=texts[2])
    return (found if value.get("user") == user else replace(found, tasks={})), True


def save(root: str, state: SyncState) -> None:
    """Write the state of a folder.

    Raises:
        Unreadable: it cannot be written.
    """
    value = {"version": VERSION, **asdict(state)}
    writing.write_file(root, FILE, (json.dumps(value, indent=1, sort_keys=True) + "\n").encode())


def digest(entry: Entry) -> str:
    """A digest of everything that a sync compares. Notes on tasks are only added, and not compared."""
    if isinstance(entry, PromptEntry):
        data = prompt_file.write_prompt_file(entry, f"prompts/{entry.name}.md")
    elif isinstance(entry, DocumentEntry):
        facts = [entry.name, entry.uri, entry.mime_type, entry.description, isinstance(entry.content, str)]
        data = json.dumps(facts).encode() + b"\n" + folder.to_bytes(entry)
    else:
        data = _write_task(entry)
    return hashlib.sha256(data).hexdigest()[:32]


def _write_task(task: TaskEntry) -> bytes:
    facts = [task.title, task.description, task.status, task.priority, task.due, task.tags, sorted(task.after)]
    return json.dumps(facts).encode()
