"""Prompt files of VS Code: `NAME.prompt.md`, with variables like `${input:name:placeholder}` and `${selection}`."""

import re
from collections.abc import Iterator, Sequence

from satchel.exchange import cleaning, templates
from satchel.exchange.entries import Entry, Found, PromptEntry
from satchel.exchange.formats import shared
from satchel.exchange.sources import SourceFile
from satchel.yaml_reader import write_front_matter

_INPUT = r"\$\{input:([^:{}]+)(?::([^{}]*))?\}|\$\{(selection|selectedText|file|fileBasename|fileDirname|"
_INPUT += r"fileBasenameNoExtension|workspaceFolder|workspaceFolderBasename)\}"


def recognise(file: SourceFile) -> bool:
    """Recognise a file that ends with `.prompt.md`."""
    return file.name.lower().endswith(".prompt.md")


def read(file: SourceFile) -> Iterator[Found]:
    """Read a prompt; inputs, and variables that VS Code fills in, become arguments."""
    fields = file.fields or {}
    yield shared.make_prompt(
        file.shown,
        shared.text_of(fields, "name") or re.sub(r"(?i)(?:\.prompt)?\.md$", "", file.name),
        templates.convert(shared.trim(file.body), _read_text),
        fields,
    )


def _read_text(text: str) -> list[templates.Piece]:
    pieces: list[templates.Piece] = []
    for one in templates.split(text, _INPUT):
        if isinstance(one, str):
            pieces.append(templates.Text(one))
        elif one[3]:
            pieces.append(templates.Variable(one[3], f"What VS Code calls {one[0]}", is_optional=True))
        else:
            pieces.append(templates.Variable(templates.make_argument_name(one[1]), (one[2] or one[1]).strip()))
    return templates.require_variables(pieces)


def write(entries: Sequence[Entry]) -> shared.Written:
    """Write a file for each prompt."""
    return shared.write_prompts(entries, "a prompt file of VS Code", "{}.prompt.md", _write)


def _write(prompt: PromptEntry) -> str:
    labels = {one.name: one.description or "" for one in prompt.arguments}

    def write_variable(variable: templates.Variable) -> str:
        label = re.sub(r"[{}:\n]+", " ", labels.get(variable.name, "")).strip()
        return "${input:" + variable.name + (f":{label}" if label else "") + "}"

    text = templates.write_with(shared.take_apart(prompt), write_variable)
    description, kept = cleaning.split_fields(prompt.description)
    return write_front_matter({"description": description or prompt.title, **kept}, "\n" + shared.end_line(text))
