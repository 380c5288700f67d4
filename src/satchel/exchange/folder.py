"""The folder of a project that `export` writes, `import` reads, and `sync` keeps.

satchel.json       what the folder is
prompts/NAME.md    a prompt each: front matter, then its text and one line break
documents/NAME     a document each, byte for byte
documents.json     what the name of a document does not say: MIME type, URI, description
tasks.md           the tasks
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from satchel.errors import Refused
from satchel.exchange import sources, task_file
from satchel.exchange.entries import DocumentEntry, Entry, Found, Problem, PromptEntry, TaskEntry, Unreadable
from satchel.exchange.prompt_file import explain, read_prompt_file, write_prompt_file
from satchel.services import mime_types, rules

PROMPTS, DOCUMENTS, DETAILS, TASKS = "prompts", "documents", "documents.json", "tasks.md"
VERSION = 1
URI = "satchel://resource/"

_LONGEST_FILE = 200  # characters of a name that is used as a file name
_RESERVED = {"con", "prn", "aux", "nul", *(f"com{n}" for n in range(1, 10)), *(f"lpt{n}" for n in range(1, 10))}


class ReadFile(Struct, frozen=True):
    """A file of a folder as it was read."""

    path: str  # below the folder, with /
    data: bytes


# -- writing ----------------------------------------------------------------------------------------------------


def write_marker(project: str | None) -> bytes:
    """The file that says what a folder is: a project, or with None a store of several."""
    value: dict[str, object] = {"satchel": "store" if project is None else "project", "version": VERSION}
    return (json.dumps(value | ({"project": project} if project else {}), indent=2) + "\n").encode()


def write(entries: Sequence[Entry], project: str) -> dict[str, bytes]:
    """The files of a project by path."""
    files: dict[str, bytes] = {sources.MARKER: write_marker(project)}
    prompts = [one for one in entries if isinstance(one, PromptEntry)]
    paths = name_files(PROMPTS, [str(one.name) for one in prompts], ".md")
    files |= {paths[str(one.name)]: write_prompt_file(one, paths[str(one.name)]) for one in prompts}
    documents = [one for one in entries if isinstance(one, DocumentEntry)]
    paths = name_files(DOCUMENTS, [one.name for one in documents])
    files |= {paths[one.name]: to_bytes(one) for one in documents}
    details = write_details(documents, paths)
    files |= {DETAILS: details} if details else {}
    tasks = [one for one in entries if isinstance(one, TaskEntry)]
    if tasks:
        files[TASKS] = write_tasks(tasks)
    return files


def write_tasks(tasks: Sequence[TaskEntry]) -> bytes:
    """The file of tasks; those that others wait for are numbered by their places."""
    used = {key for task in tasks for key in task.after}
    labels = {task.key: place for place, task in enumerate(tasks, 1) if task.key in used}
    return task_file.write(tasks, labels).encode()


def write_details(documents: Sequence[DocumentEntry], paths: Mapping[str, str]) -> bytes:
    """What the names of documents do not say, by name; empty where there is nothing."""
    details = {one.name: found for one in documents if (found := _find_details(one, paths[one.name]))}
    return (json.dumps(details, ensure_ascii=False, indent=2, sort_keys=True) + "\n").encode() if details else b""


def _find_details(document: DocumentEntry, path: str) -> dict[str, str]:
    found: dict[str, str] = {}
    if path.rpartition("/")[2] != document.name:
        found["file"] = path.rpartition("/")[2]
    if document.mime_type != mime_types.guess(document.name):
        found["mime_type"] = document.mime_type
    if document.uri not in ("", URI + document.name):
        found["uri"] = document.uri
    return found | ({"description": document.description} if document.description else {})


def to_bytes(document: DocumentEntry) -> bytes:
    """The content of a document."""
    return document.content.encode() if isinstance(document.content, str) else document.content


def name_files(folder: str, names: Sequence[str], ending: str = "") -> dict[str, str]:
    """A path for each name, different even where capital letters do not count, and safe on every system."""
    taken: set[str] = set()
    paths: dict[str, str] = {}
    for name in sorted(names):
        stem = name
        lower = name.casefold()
        is_safe = len(name) <= _LONGEST_FILE and name[0] != "." and name[-1] != "."
        is_safe = is_safe and lower.partition(".")[0] not in _RESERVED and not lower.endswith(".tmp")
        if not is_safe or f"{lower}{ending}" in taken:
            digest = hashlib.sha256(name.encode()).hexdigest()[:8]
            stem = f"{name.strip('.')[: _LONGEST_FILE - 10] or 'item'}~{digest}"
        taken.add(f"{stem.casefold()}{ending}")
        paths[name] = f"{folder}/{stem}{ending}"
    return paths


# -- reading ----------------------------------------------------------------------------------------------------


def read_marker(data: bytes) -> tuple[str, str | None]:
    """What a folder is, `project` or `store`, and the name of its project.

    Raises:
        Unreadable: it is none of ours, or of a newer version.
    """
    try:
        value = json.loads(sources.decode(data))
    except (ValueError, RecursionError):
        raise Unreadable(f"{sources.MARKER} is no JSON") from None
    kind = value.get("satchel") if isinstance(value, dict) else None
    if kind not in ("project", "store"):
        raise Unreadable(f"{sources.MARKER} does not say that this is a folder of Satchel")
    version = value.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise Unreadable(f"the folder is of a newer Satchel (version {version}, and this one knows {VERSION})")
    project = value.get("project")
    return kind, project if isinstance(project, str) else None


def read(root: str, shown: str) -> Iterator[Found]:
    """Every entry of the folder of a project."""
    for found, _ in read_files(root, shown):
        yield found


def read_files(root: str, shown: str) -> Iterator[tuple[Found, ReadFile | None]]:
    """Every entry of the folder of a project, with its file; a Problem may have none."""
    for path in list_files(root, PROMPTS, ".md"):
        yield _read_one(root, shown, path, _read_prompt)
    yield from _read_documents(root, shown)
    if os.path.lexists(os.path.join(root, TASKS)):
        where = os.path.join(shown, TASKS)
        try:
            file = ReadFile(TASKS, sources.read_bytes(os.path.join(root, TASKS)))
            text = sources.decode(file.data)
        except Unreadable as wrong:
            yield Problem(where, str(wrong)), ReadFile(TASKS, b"")
            return
        for task in task_file.read(text, where):
            yield task, file


def list_files(root: str, folder: str, ending: str = "") -> list[str]:
    """The paths of what lies in a part of the folder, sorted; hidden files and editors' copies are left out.

    Raises:
        Unreadable: the part cannot be read.
    """
    where = os.path.join(root, folder)
    if not os.path.lexists(where):
        return []
    if os.path.islink(where):
        raise Unreadable(f"{folder} is a symbolic link, and links are not followed")
    try:
        names = sorted(os.listdir(where))
    except OSError as error:
        raise Unreadable(f"{folder} cannot be read: {error.strerror}") from None
    return [
        f"{folder}/{name}"
        for name in names
        if name.endswith(ending) and not name.startswith(".") and not name.endswith(("~", ".swp", ".tmp"))
    ]


def _read_one(root: str, shown: str, path: str, read_file: Any) -> tuple[Found, ReadFile | None]:
    where = os.path.join(shown, *path.split("/"))
    try:
        file = ReadFile(path, sources.read_bytes(os.path.join(root, *path.split("/"))))
    except Unreadable as wrong:
        return Problem(where, str(wrong)), ReadFile(path, b"")
    try:
        return read_file(file, where), file
    except Unreadable as wrong:
        return Problem(where, str(wrong)), file


def _read_prompt(file: ReadFile, where: str) -> PromptEntry:
    return read_prompt_file(file.path, file.data, where)


def _read_documents(root: str, shown: str) -> Iterator[tuple[Found, ReadFile | None]]:
    try:
        details = read_details(root)
    except Unreadable as wrong:
        yield Problem(os.path.join(shown, DETAILS), str(wrong)), ReadFile(DETAILS, b"")
        return
    names = {str(one.get("file")): name for name, one in details.items() if one.get("file")}

    def read_file(file: ReadFile, where: str) -> DocumentEntry:
        last = file.path.rpartition("/")[2]
        name = names.get(last, last)
        return read_document(name, file.data, details.get(name, {}), where)

    for path in list_files(root, DOCUMENTS):
        yield _read_one(root, shown, path, read_file)


def read_details(root: str) -> dict[str, dict[str, Any]]:
    """What the file beside the documents says about them.

    Raises:
        Unreadable: it is broken.
    """
    path = os.path.join(root, DETAILS)
    if not os.path.lexists(path):
        return {}
    try:
        value = json.loads(sources.decode(sources.read_bytes(path)))
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"it is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise Unreadable("it must be an object with the names of documents")
    return {name: one for name, one in value.items() if isinstance(one, dict)}


def read_document(name: str, data: bytes, details: Mapping[str, Any], where: str) -> DocumentEntry:
    """A document, from its bytes and what is known about it.

    Raises:
        Unreadable: a value breaks a rule.
    """
    guess = mime_types.guess(name)
    mime_type = str(details.get("mime_type") or guess)
    if "mime_type" not in details and rules.is_text(guess) and not _is_text(data):
        mime_type = "application/octet-stream"
    try:
        return DocumentEntry(
            name=rules.clean_name("resource", name),
            content=rules.clean_content(rules.clean_mime_type("resource", mime_type), data),
            mime_type=mime_type,
            uri=rules.clean_uri("resource", str(details.get("uri") or URI + name)),
            description=rules.clean_description("resource", str(details.get("description") or "")),
            where=where,
        )
    except Refused as refused:
        raise Unreadable(explain(refused)) from None


def _is_text(data: bytes) -> bool:
    try:
        return rules.is_storable(data.decode())
    except UnicodeDecodeError:
        return False
