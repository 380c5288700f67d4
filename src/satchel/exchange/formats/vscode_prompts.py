"""Prompt files of VS Code: `NAME.prompt.md`, with variables like `${input:name:placeholder}` and `${selection}`."""

import re
from collections.abc import Iterator, Sequence

from satchel.exchange import cleaning, front_matter
from satchel.exchange.entries import Entry, Found, PromptEntry
from satchel.exchange.formats.shared import (
    Format,
    PromptFacts,
    Written,
    add_notes,
    end_line,
    make_prompt,
    take,
    take_apart,
    text_of,
    trim,
    write_each,
)
from satchel.exchange.sources import SourceFile
from satchel.exchange.templates import NotTemplate, Piece, Text, Variable, convert, make_argument_name, write_with

_KNOWN = ("name", "description", "title", "tags")
_INPUT = r"\$\{input:([^:{}]+)(?::([^{}]*))?\}|\$\{(selection|selectedText|file|fileBasename|fileDirname|"
_INPUT += r"fileBasenameNoExtension|workspaceFolder|workspaceFolderBasename)\}"


def recognise(file: SourceFile) -> bool:
    """A file that ends with `.prompt.md`."""
    return file.name.lower().endswith(".prompt.md")


def read(file: SourceFile) -> Iterator[Found]:
    """A prompt; inputs, and what VS Code fills in by itself, become arguments."""
    fields = file.fields or {}
    facts = PromptFacts(
        name=text_of(fields, "name") or re.sub(r"(?i)(?:\.prompt)?\.md$", "", file.name),
        title=text_of(fields, "title"),
        description=text_of(fields, "description"),
        tags=fields.get("tags"),
        template=convert(trim(file.body), _read_text),
        fields=fields,
        known=_KNOWN,
    )
    yield make_prompt(file.shown, facts)


def _read_text(text: str) -> list[Piece]:
    pieces: list[Piece] = []
    end = 0
    for one in re.finditer(_INPUT, text):
        pieces += [Text(text[end : one.start()])] if one.start() > end else []
        end = one.end()
        if one[3]:
            pieces.append(Variable(one[3], f"What VS Code calls {one[0]}", is_optional=True))
        else:
            pieces.append(Variable(make_argument_name(one[1]), (one[2] or one[1]).strip()))
    if not pieces:
        raise NotTemplate("")
    return [*pieces, Text(text[end:])] if end < len(text) else pieces


def write(entries: Sequence[Entry]) -> Written:
    """A file for each prompt."""
    prompts, notes = take(entries, "prompt", "a prompt file of VS Code")
    return add_notes(write_each(prompts, lambda name: f"{name}.prompt.md", _write), notes)


def _write(prompt: PromptEntry) -> str:
    labels = {one.name: one.description or "" for one in prompt.arguments}

    def write_variable(variable: Variable) -> str:
        label = re.sub(r"[{}:\n]+", " ", labels.get(variable.name, "")).strip()
        return "${input:" + variable.name + (f":{label}" if label else "") + "}"

    text = write_with(take_apart(prompt), write_variable)
    description, kept = cleaning.split_fields(prompt.description)
    return front_matter.write({"description": description or prompt.title, **kept}) + "\n" + end_line(text)


FORMAT = Format(
    name="vscode-prompts",
    title="VS Code prompt files (.prompt.md)",
    kinds=("prompt",),
    recognise=recognise,
    read=read,
    write=write,
    extensions=("md",),
)
