"""What the modules of formats share: the value of a format, and entries made of fields of others."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from satchel.exchange import cleaning
from satchel.exchange.entries import DocumentEntry, Entry, Found, Kind, Problem, PromptEntry, TaskEntry, Unreadable
from satchel.exchange.folder import name_files, read_document
from satchel.exchange.sources import SourceFile
from satchel.exchange.templates import NotTemplate, Piece, Template, Text, read_jinja
from satchel.services import resources, rules

Fields = Mapping[str, Any]

_LONGEST_NAME = 200  # characters of the name of a document


class Written(Struct, frozen=True):
    """The files of an export by their paths, in order, and what they could not hold."""

    files: dict[str, bytes]
    notes: tuple[str, ...] = ()


class Format(Struct, frozen=True, kw_only=True):
    """How one tool keeps prompts, documents or tasks in files."""

    name: str
    title: str
    kinds: tuple[Kind, ...]
    recognise: Callable[[SourceFile], bool]
    read: Callable[[SourceFile], Iterable[Found]]
    write: Callable[[Sequence[Entry]], Written] | None = None
    extensions: tuple[str, ...] = ()  # of the files that are read where the format is named; empty: all
    file: str = ""  # the name of the one file that it writes; empty: it writes a folder


class PromptFacts(Struct, frozen=True, kw_only=True):
    """What a file says about a prompt, before it is made to fit the store."""

    name: str
    title: str = ""
    description: str = ""
    tags: object = ()
    template: Template
    fields: Fields = {}  # of which those not in `known` are kept in the description
    known: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def make_prompt(where: str, facts: PromptFacts) -> Found:
    """A prompt that the store takes, or what is wrong with it."""
    content = facts.template.content
    if not content.strip():
        return Problem(where, "it has no text")
    name = cleaning.clean_name(facts.name)
    title, notes = cleaning.clean_title(facts.title or cleaning.make_title(facts.name) or name)
    tags, more = cleaning.clean_tags(facts.tags)
    description, lost = cleaning.keep_fields(facts.description, facts.fields, facts.known)
    return PromptEntry(
        name=name or None,
        title=title or name,
        content=content,
        description=description,
        tags=tags,
        arguments=facts.template.arguments,
        where=where,
        notes=(*facts.notes, *notes, *more, *lost, *facts.template.notes),
    )


def make_document(file: SourceFile, path: str, description: str) -> DocumentEntry:
    """Return a document with the whole file as its content, and a name made from a path.

    Raises:
        Unreadable: no name can be made.
    """
    name = resources.make_name(path)
    if len(name) > _LONGEST_NAME:
        name = resources.make_name(f"{file.stem[:100]}.{file.extension}")
    if not name:
        raise Unreadable("no name can be made of its file name")
    return read_document(name, file.data, {"description": description[:1000]}, file.shown)


def plain(text: str) -> Template:
    """A text that is no template."""
    return Template(text)


def trim(body: str) -> str:
    """The text of a Markdown file without the blank lines around it."""
    return body.strip("\r\n").rstrip()


def clean_task(entry: TaskEntry) -> Found:
    """A task that the store takes, or what is wrong with it."""
    title, notes = cleaning.clean_title(entry.title, rules.MAX_TASK_TITLE)
    if not title:
        return Problem(entry.where, "it has no title")
    description, more = cleaning.clean_description((entry.description or "").strip())
    tags, lost = cleaning.clean_tags(entry.tags)
    project = entry.project and (cleaning.clean_name(entry.project) or None)
    made = replace(entry, title=title, description=description, tags=tags, project=project)
    return replace(made, notes=(*entry.notes, *notes, *more, *lost))


def join_parts(*parts: tuple[str, object]) -> str:
    """Parts of a description below each other, each after the first under its heading; empty ones are left out."""
    texts = []
    for heading, value in parts:
        text = value.strip() if isinstance(value, str) else ""
        if text:
            texts.append(f"## {heading}\n\n{text}" if heading else text)
    return "\n\n".join(texts)


def read_json(file: SourceFile) -> Any:
    """The JSON value of a file.

    Raises:
        Unreadable: it is none.
    """
    try:
        return json.loads(file.text)
    except ValueError as error:
        raise Unreadable(f"it is no JSON: {error}") from None
    except RecursionError:
        raise Unreadable("its JSON is nested too deep") from None


def read_json_lines(file: SourceFile) -> Iterator[tuple[str, Any]]:
    """The JSON value of each line with its place; a broken line is a Problem."""
    for number, line in enumerate(file.text.split("\n"), 1):
        if not line.strip():
            continue
        where = f"{file.shown}:{number}"
        try:
            yield where, json.loads(line)
        except ValueError as error:
            yield where, Problem(where, f"it is no JSON: {error}")
        except RecursionError:
            yield where, Problem(where, "its JSON is nested too deep")


def guess_json(file: SourceFile) -> Any:
    """The JSON value of a file that may be some JSON; None where it is none, or another kind of file."""
    if file.extension not in ("json", "jsonl", "data", "txt", "") or file.text.lstrip()[:1] not in ("[", "{"):
        return None
    try:
        return read_json(file)
    except Unreadable:
        return None


def list_mappings(value: object) -> list[Fields]:
    """The mappings of a list; of anything else, none."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def get_list(fields: Fields, key: str) -> list[Any]:
    """A list in a field; empty where it is none."""
    value = fields.get(key)
    return value if isinstance(value, list) else []


def text_of(fields: Fields, *keys: str) -> str:
    """The first of some fields that has a text."""
    return next((text for key in keys if (text := cleaning.to_text(fields.get(key)))), "")


# -- writing ----------------------------------------------------------------------------------------------------


def take(entries: Sequence[Entry], kind: Kind, title: str) -> tuple[list[Any], tuple[str, ...]]:
    """The entries of the kind that a format holds, and a note about the others."""
    found = [one for one in entries if one.kind == kind]
    left = len(entries) - len(found)
    notes = (f"Left out, because {title} has no place for it: {left} of other kinds.",) if left else ()
    return found, notes


def take_apart(prompt: PromptEntry) -> list[Piece]:
    """The pieces of a prompt.

    Raises:
        NotTemplate: it is a template with more than plain variables and conditions.
    """
    if not prompt.arguments:
        return [Text(prompt.content)]
    try:
        return read_jinja(prompt.content)
    except NotTemplate as reason:
        if not str(reason):  # it declares arguments, and uses none
            return [Text(prompt.content)]
        raise


def write_each(
    prompts: Sequence[PromptEntry], path: Callable[[str], str], write: Callable[[PromptEntry], str]
) -> Written:
    """One file for each prompt; those that cannot be written are told. The path is made of a name that is safe."""
    names = name_files("", [str(prompt.name) for prompt in prompts])
    files: dict[str, bytes] = {}
    notes: list[str] = []
    for prompt in prompts:
        try:
            files[path(names[str(prompt.name)].lstrip("/"))] = write(prompt).encode()
        except NotTemplate as reason:
            notes.append(f"Left out prompt '{prompt.label}': {reason}.")
    return Written(files, tuple(notes))


def add_notes(written: Written, notes: tuple[str, ...]) -> Written:
    """The same with notes in front."""
    return Written(written.files, (*notes, *written.notes))


def end_line(text: str) -> str:
    """A text that ends with one line break, as files do."""
    return text.rstrip("\n") + "\n"
