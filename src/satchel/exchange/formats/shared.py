"""Functions that the formats share, and the description of a format."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from satchel.exchange import cleaning
from satchel.exchange.entries import DocumentEntry, Entry, Found, Kind, Problem, PromptEntry, TaskEntry, Unreadable
from satchel.exchange.folder import name_files, read_document
from satchel.exchange.sources import SourceFile
from satchel.exchange.templates import NotTemplate, Piece, Template, Text, Variable, read_jinja
from satchel.model import TaskStatus
from satchel.services import documents, rules

Fields = Mapping[str, Any]

_USUAL = ("name", "title", "description", "tags")  # fields of nearly every format
_LONGEST_NAME = 200  # characters of a document's name


class Written(Struct, frozen=True):
    """The files of an export by path, in order, and notes on values that they cannot hold."""

    files: dict[str, bytes]
    notes: tuple[str, ...] = ()


class Format(Struct, frozen=True):
    """A file format for prompts, documents or tasks; its module reads it, and most modules also write it."""

    name: str
    kinds: tuple[Kind, ...]  # the kinds that it writes, or else reads
    module: Any  # it has `recognise(file)` and `read(file)`
    extensions: tuple[str, ...]  # of the files to read if the user names the format

    @property
    def write(self) -> Callable[[Sequence[Entry]], Written] | None:
        """The function that writes entries; None if Satchel does not write this format."""
        return getattr(self.module, "write", None)

    @property
    def file(self) -> str:
        """The name of the single file that the format writes; empty if it writes a folder."""
        return getattr(self.module, "FILE", "")


def make_prompt(
    where: str,
    name: str,
    template: Template,
    fields: Fields,
    *,
    title: str | None = None,
    description: str | None = None,
    tags: object = None,
    known: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
) -> Found:
    """Return a prompt that the store accepts, or a Problem.

    Title, description and tags come from the fields unless they are given. Fields that are neither usual nor `known`
    are kept in the description.
    """
    if not template.content.strip():
        return Problem(where, "it has no text")
    cleaned = cleaning.clean_name(name)
    given = text_of(fields, "title") if title is None else title
    title, more = cleaning.clean_title(given or cleaning.make_title(name) or cleaned)
    kept, lost_tags = cleaning.clean_tags(fields.get("tags") if tags is None else tags)
    text = text_of(fields, "description") if description is None else description
    described, lost = cleaning.keep_fields(text, fields, (*_USUAL, *known))
    return PromptEntry(
        name=cleaned or None,
        title=title or cleaned,
        content=template.content,
        description=described,
        tags=kept,
        arguments=template.arguments,
        where=where,
        notes=(*notes, *more, *lost_tags, *lost, *template.notes),
    )


def make_document(file: SourceFile, path: str, description: str) -> DocumentEntry:
    """Return a document with the whole file as its content, and a name made from a path."""
    name = documents.make_name(path)
    if len(name) > _LONGEST_NAME:
        name = documents.make_name(f"{file.stem[:100]}.{file.extension}")
    if not name:
        raise Unreadable("no name can be made from its file name")
    return read_document(name, file.data, {"description": description[:1000]}, file.shown)


def trim(body: str) -> str:
    """Return the text of a Markdown file without the blank lines around it."""
    return body.strip("\r\n").rstrip()


def make_task(
    where: str,
    fields: Fields,
    known: Sequence[str],
    *,
    title: str,
    text: str = "",
    status: TaskStatus = "pending",
    done: object = None,
    tags: Sequence[str] = (),
    notes: Sequence[str] = (),
    **more: Any,
) -> Found:
    """Return a task that the store accepts, or a Problem.

    Fields that are not `known` are kept in its description, after the text. `done` is the time of completion.
    """
    title, cut = cleaning.clean_title(title, rules.MAX_TASK_TITLE)
    if not title:
        return Problem(where, "it has no title")
    description, lost = cleaning.keep_fields(text, fields, known)
    kept, lost_tags = cleaning.clean_tags(tags)
    made = TaskEntry(title=title, description=description, status=status, tags=kept, where=where, **more)
    project = made.project and (cleaning.clean_name(made.project) or None)
    completed = None if status in ("pending", "review") else cleaning.clean_moment(done)
    return replace(made, project=project, completed_at=completed, notes=(*notes, *cut, *lost, *lost_tags))


def read_first_line(file: SourceFile) -> Any:
    """Return the JSON value of the first line of a file; None if there is none."""
    return next(read_json_lines(file), (None, None))[1]


def join_parts(*parts: tuple[str, object]) -> str:
    """Join the parts of a description that are not empty, each below its heading."""
    texts = []
    for heading, value in parts:
        text = value.strip() if isinstance(value, str) else ""
        if text:
            texts.append(f"## {heading}\n\n{text}" if heading else text)
    return "\n\n".join(texts)


def read_json(file: SourceFile) -> Any:
    """Return the JSON value of a file."""
    try:
        return json.loads(file.text)
    except ValueError as error:
        raise Unreadable(f"it is not JSON: {error}") from None
    except RecursionError:
        raise Unreadable("its JSON is nested too deep") from None


def read_json_lines(file: SourceFile) -> Iterator[tuple[str, Any]]:
    """Yield the JSON value of each line with its place; a broken line is a Problem."""
    for number, line in enumerate(file.text.split("\n"), 1):
        if not line.strip():
            continue
        where = f"{file.shown}:{number}"
        try:
            yield where, json.loads(line)
        except ValueError as error:
            yield where, Problem(where, f"it is not JSON: {error}")
        except RecursionError:
            yield where, Problem(where, "its JSON is nested too deep")


def guess_json(file: SourceFile) -> Any:
    """Return the JSON value of a file that may be JSON, or None."""
    if file.extension not in ("json", "jsonl", "data", "txt", "") or file.text.lstrip()[:1] not in ("[", "{"):
        return None
    try:
        return read_json(file)
    except Unreadable:
        return None


def list_mappings(value: object) -> list[Fields]:
    """Return the mappings in a list, and an empty list for anything else."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def get_list(fields: Fields, key: str) -> list[Any]:
    """Return the list in a field; empty if there is none."""
    value = fields.get(key)
    return value if isinstance(value, list) else []


def text_of(fields: Fields, *keys: str) -> str:
    """Return the text of the first of the named fields that has a text."""
    return next((text for key in keys if (text := cleaning.to_text(fields.get(key)))), "")


# -- writing ----------------------------------------------------------------------------------------------------


def take(entries: Sequence[Entry], kind: Kind, title: str) -> tuple[list[Any], tuple[str, ...]]:
    """Return the entries of `kind`, the only one that a format supports, and a note on the others."""
    found = [one for one in entries if one.kind == kind]
    left = len(entries) - len(found)
    notes = (f"Left out, because {title} has no place for it: {left} of other kinds.",) if left else ()
    return found, notes


def set_defaults(pieces: Sequence[Piece], defaults: Fields) -> list[Piece]:
    """Give variables the defaults that a file declares by their names, or by their labels in the text."""
    return [
        replace(one, default=one.default or text_of(defaults, one.label, one.name) or None)
        if isinstance(one, Variable)
        else one
        for one in pieces
    ]


def take_apart(prompt: PromptEntry) -> list[Piece]:
    """Return the pieces of a prompt's template.

    Raises:
        NotTemplate: the template has more than variables and conditions.
    """
    if not prompt.arguments:
        return [Text(prompt.content)]
    try:
        return read_jinja(prompt.content)
    except NotTemplate as reason:
        if not str(reason):  # it declares arguments without using any
            return [Text(prompt.content)]
        raise


def write_prompts(entries: Sequence[Entry], title: str, path: str, write: Callable[[PromptEntry], str]) -> Written:
    """Return a file for each prompt, whose safe name replaces {} in `path`, and notes on omissions."""
    prompts, notes = take(entries, "prompt", title)
    names = name_files("", [str(prompt.name) for prompt in prompts])
    files: dict[str, bytes] = {}
    for prompt in prompts:
        try:
            files[path.format(names[str(prompt.name)].lstrip("/"))] = write(prompt).encode()
        except NotTemplate as reason:
            notes = (*notes, f"Left out prompt '{prompt.label}': {reason}.")
    return Written(files, notes)


def end_line(text: str) -> str:
    """Return a text with exactly one line break at its end."""
    return text.rstrip("\n") + "\n"
