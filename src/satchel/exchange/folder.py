"""The folder of a project, which `export` writes, `import` reads, and `sync` keeps up to date.

satchel.json       the kind of the folder
prompts/NAME.md    one prompt each: front matter, then its text and one line break
documents/NAME     one document each, byte for byte
documents.json     MIME type, URI and description, unless they are derived from the document's name
tasks.md           the tasks
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from satchel.exchange import sources, task_file
from satchel.exchange.entries import DocumentEntry, Entry, Found, Problem, PromptEntry, TaskEntry, Unreadable
from satchel.model import Argument
from satchel.services import rules
from satchel.services.documents import guess_type
from satchel.yaml_reader import find_fault, write_front_matter

PROMPTS, DOCUMENTS, DETAILS, TASKS = "prompts", "documents", "documents.json", "tasks.md"
VERSION = 1

Details = dict[str, dict[str, Any]]  # by the document's name

_LONGEST_FILE = 200  # characters of a name in a file name
_RESERVED = {"con", "prn", "aux", "nul", *(f"com{n}" for n in range(1, 10)), *(f"lpt{n}" for n in range(1, 10))}
_CONFLICT_LINES = ("<<<<<<<", "=======", ">>>>>>>")
CONFLICT = "it contains conflict markers of git. Resolve the conflict, and remove the markers"


class ReadFile(Struct, frozen=True):
    """A file of a folder as it was read."""

    path: str  # below the folder, with /
    data: bytes


# -- writing ----------------------------------------------------------------------------------------------------


def write_marker(project: str | None) -> bytes:
    """Return the marker file of a project's folder or, if `project` is None, of a whole store's folder."""
    value: dict[str, object] = {"satchel": "store" if project is None else "project", "version": VERSION}
    return (json.dumps(value | ({"project": project} if project else {}), indent=2) + "\n").encode()


def write(entries: Sequence[Entry], project: str) -> dict[str, bytes]:
    """Return the files of a project by path."""
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
        used = {key for task in tasks for key in task.others}
        labels = {task.key: place for place, task in enumerate(tasks, 1) if task.key in used}
        files[TASKS] = task_file.write(tasks, labels).encode()
    return files


def write_details(documents: Sequence[DocumentEntry], paths: Mapping[str, str], kept: Details | None = None) -> bytes:
    """Return the file with `kept` and the details that documents' names do not imply; empty if there are none."""
    details = {one.name: found for one in documents if (found := _find_details(one, paths[one.name]))} | (kept or {})
    return (json.dumps(details, ensure_ascii=False, indent=2, sort_keys=True) + "\n").encode() if details else b""


def _find_details(document: DocumentEntry, path: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if path.rpartition("/")[2] != document.name:
        found["file"] = path.rpartition("/")[2]
    if document.mime_type != guess_type(document.name):
        found["mime_type"] = document.mime_type
    if document.uri not in ("", rules.make_own_uri(document.name)):
        found["uri"] = document.uri
    found |= {"description": document.description} if document.description else {}
    return found | write_age(document)


def write_age(entry: PromptEntry | DocumentEntry) -> dict[str, str]:
    """Return the last valid day and the replacement of an entry, without those that it lacks."""
    fields = {"expires": entry.expires, "replaced_by": entry.replaced_by}
    return {name: value for name, value in fields.items() if value}


def read_age(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Read the members that `write_age` wrote; YAML reads a day as a date."""
    return {name: str(fields[name]) if fields.get(name) else None for name in ("expires", "replaced_by")}


def to_bytes(document: DocumentEntry) -> bytes:
    """Return the content of a document as bytes."""
    return document.content.encode() if isinstance(document.content, str) else document.content


def name_files(folder: str, names: Sequence[str], ending: str = "") -> dict[str, str]:
    """Return a path for each name, safe on every system and unique even where upper and lower case are the same."""
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


def write_prompt(prompt: PromptEntry, **more: object) -> str:
    """Return a prompt as front matter and text; one line break is added after the text."""
    fields = {**more, "title": prompt.title, "description": prompt.description, "tags": list(prompt.tags)}
    arguments = [write_argument(one) for one in prompt.arguments]
    constant = {"template": True} if prompt.is_constant else {}
    fields |= {**write_age(prompt), "arguments": arguments, **constant}
    return write_front_matter(fields) + prompt.content + "\n"


def write_argument(argument: Argument) -> dict[str, object]:
    """Return an argument in the form that `read_arguments` accepts; leave out what has its default value."""
    fields: dict[str, object] = {"name": argument.name}
    fields |= {} if argument.description is None else {"description": argument.description}
    fields |= {} if argument.is_required else {"required": False}
    fields |= {"values": list(argument.values)} if argument.values else {}
    return fields | ({"open": True} if argument.is_open else {})


def write_prompt_file(prompt: PromptEntry, path: str) -> bytes:
    """Return the file of a prompt; it contains the prompt's name only if the path does not."""
    stem = path.rpartition("/")[2].removesuffix(".md")
    name = None if stem == prompt.name else prompt.name
    # A final carriage return would be read as part of a Windows line end, and conflict markers would be refused.
    if _read_body(prompt.content + "\n") == prompt.content and not has_conflict(prompt.content):
        return write_prompt(prompt, name=name).encode()
    return write_prompt(replace(prompt, content=""), name=name, text=prompt.content).encode()


# -- reading ----------------------------------------------------------------------------------------------------


def read_marker(data: bytes) -> tuple[str, str | None]:
    """Return the kind of a folder, `project` or `store`, and the name of its project.

    Raises:
        Unreadable: the folder is not Satchel's, or a newer version wrote it.
    """
    try:
        value = json.loads(sources.decode(data))
    except (ValueError, RecursionError):
        raise Unreadable(f"{sources.MARKER} is not JSON") from None
    kind = value.get("satchel") if isinstance(value, dict) else None
    if kind not in ("project", "store"):
        raise Unreadable(f"{sources.MARKER} does not say that this is a folder of Satchel")
    version = value.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise Unreadable(f"a newer Satchel wrote the folder (format {version}; this one reads format {VERSION})")
    project = value.get("project")
    return kind, project if isinstance(project, str) else None


def read_files(root: str, shown: str) -> Iterator[tuple[Found, ReadFile]]:
    """Yield every entry of a project's folder with its file; a Problem with a subfolder has the subfolder's path."""
    yield from _read_part(root, shown, PROMPTS, ".md", read_prompt_file)
    try:
        details = read_details(root)
    except Unreadable as wrong:
        yield Problem(os.path.join(shown, DETAILS), str(wrong)), ReadFile(DETAILS, b"")
    else:
        names = {str(one.get("file")): name for name, one in details.items() if one.get("file")}

        def read_one(path: str, data: bytes, where: str) -> DocumentEntry:
            last = path.rpartition("/")[2]
            name = names.get(last, last)
            return read_document(name, data, details.get(name, {}), where)

        yield from _read_part(root, shown, DOCUMENTS, "", read_one)
    yield from _read_tasks(root, shown)


def _read_part(
    root: str, shown: str, part: str, ending: str, read: Callable[[str, bytes, str], Entry]
) -> Iterator[tuple[Found, ReadFile]]:
    try:
        paths = list_files(root, part, ending)
    except Unreadable as wrong:
        yield Problem(os.path.join(shown, part), str(wrong)), ReadFile(part, b"")
        return
    for path in paths:
        where, data = os.path.join(shown, *path.split("/")), b""
        try:
            data = sources.read_bytes(os.path.join(root, *path.split("/")))
            yield read(path, data, where), ReadFile(path, data)
        except Unreadable as wrong:
            yield Problem(where, str(wrong)), ReadFile(path, data)


def _read_tasks(root: str, shown: str) -> Iterator[tuple[Found, ReadFile]]:
    if not os.path.lexists(os.path.join(root, TASKS)):
        return
    where = os.path.join(shown, TASKS)
    try:
        file = ReadFile(TASKS, sources.read_bytes(os.path.join(root, TASKS)))
        text = sources.decode(file.data)
        if has_conflict(text):
            raise Unreadable(CONFLICT)
    except Unreadable as wrong:
        yield Problem(where, str(wrong)), ReadFile(TASKS, b"")
        return
    for task in task_file.read(text, where):
        yield task, file


def list_files(root: str, folder: str, ending: str = "") -> list[str]:
    """Return the sorted paths in a part of the folder, except hidden files and editors' backup copies."""
    where = os.path.join(root, folder)
    if not os.path.lexists(where):
        return []
    if os.path.islink(where):
        raise Unreadable("it is a symbolic link, and links are not followed")
    try:
        names = sorted(os.listdir(where))
    except OSError as error:
        raise Unreadable(f"it cannot be read: {error.strerror}") from None
    return [
        f"{folder}/{name}"
        for name in names
        if name.endswith(ending) and not name.startswith(".") and not name.endswith(("~", ".swp", ".tmp"))
    ]


def read_details(root: str) -> Details:
    """Return the details of documents by name, from the file beside them."""
    path = os.path.join(root, DETAILS)
    if not os.path.lexists(path):
        return {}
    try:
        value = json.loads(sources.decode(sources.read_bytes(path)))
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"it is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise Unreadable("it must be an object whose keys are names of documents")
    return {name: one for name, one in value.items() if isinstance(one, dict)}


def read_document(name: str, data: bytes, details: Mapping[str, Any], where: str) -> DocumentEntry:
    """Make a document from its bytes and its details."""
    guess = guess_type(name)
    mime_type = str(details.get("mime_type") or guess)
    if "mime_type" not in details and rules.is_text(guess) and not _is_text(data):
        mime_type = "application/octet-stream"
    return DocumentEntry(
        name=name,
        content=data.decode() if rules.is_text(mime_type) and _is_text(data) else data,
        mime_type=mime_type,
        uri=str(details.get("uri") or rules.make_own_uri(name)),
        description=str(details.get("description") or "") or None,
        **read_age(details),
        where=where,
    )


def _is_text(data: bytes) -> bool:
    try:
        return rules.is_storable(data.decode())
    except UnicodeDecodeError:
        return False


def read_prompt_file(path: str, data: bytes, where: str) -> PromptEntry:
    """Return the prompt in a file.

    Raises:
        Unreadable: the file is not text, has conflict markers, or has front matter without an end.
    """
    text = sources.decode(data)
    if has_conflict(text):
        raise Unreadable(CONFLICT)
    if fault := find_fault(text):
        raise Unreadable(fault)
    fields, body = sources.read_front_matter(text)
    fields = fields or {}
    stem = path.rpartition("/")[2].removesuffix(".md")
    given, title = fields.get("name"), fields.get("title")
    description, tags = fields.get("description"), fields.get("tags")
    name = stem if given is None else str(given)
    return PromptEntry(
        name=name,
        title=name if title is None else str(title),
        content=str(fields["text"]) if fields.get("text") and not body.strip() else _read_body(body),
        description=None if description is None else str(description) or None,
        tags=tuple(str(one) for one in tags) if isinstance(tags, list) else tuple(str(tags).split()) if tags else (),
        arguments=tuple(read_arguments(fields.get("arguments"))),
        **read_age(fields),
        is_constant=not fields.get("arguments") and fields.get("template") is True,
        where=where,
    )


def has_conflict(text: str) -> bool:
    """Return whether a text has the three conflict markers of git."""
    left = list(_CONFLICT_LINES)
    for line in text.split("\n"):
        if left and line.startswith(left[0]) and line[7:8] in ("", " ", "\r"):
            left.pop(0)
    return not left


def _read_body(body: str) -> str:
    """Return the text after the front matter, without the final line break that every file has."""
    return body[:-2] if body.endswith("\r\n") else body.removesuffix("\n")


def read_arguments(given: object) -> list[Argument]:
    """Return the arguments of a prompt as `export` writes them; a plain text counts as an argument's name."""
    if given is None:
        return []
    if not isinstance(given, list):
        raise Unreadable("its arguments must be a list")
    return [_read_argument(one) for one in given]


def _read_argument(given: object) -> Argument:
    if not isinstance(given, dict):
        return Argument(str(given), None, True)
    description, values = given.get("description"), given.get("values")
    return Argument(
        str(given.get("name", "")),
        None if description is None else str(description),
        given.get("required") is not False,
        tuple(str(one) for one in values) if isinstance(values, list) else (),
        is_open=given.get("open") is True,
    )
