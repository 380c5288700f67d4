"""Skills: a folder with `SKILL.md`, whose front matter has a name and a description."""

import os
from collections.abc import Iterator, Sequence

from satchel.exchange import cleaning
from satchel.exchange.entries import Entry, Found
from satchel.exchange.formats.claude_commands import read_arguments, write_prompt
from satchel.exchange.formats.shared import (
    Format,
    PromptFacts,
    Written,
    add_notes,
    make_document,
    make_prompt,
    take,
    text_of,
    trim,
    write_each,
)
from satchel.exchange.sources import SourceFile

_KNOWN = ("name", "description", "title", "tags", "arguments")
TAG = "skill"
_DEPTH = 4  # folders above a file in which its skill may be


def recognise(file: SourceFile) -> bool:
    """The file SKILL.md, and what lies beside and below it."""
    return file.name == "SKILL.md" or is_part(file)


def is_part(file: SourceFile) -> bool:
    """Whether a file belongs to a skill, whatever is in it."""
    return _find_skill(file) is not None


def _find_skill(file: SourceFile) -> str | None:
    """The folder of the skill that another file belongs to."""
    folder = os.path.dirname(file.path)
    for _ in range(_DEPTH):
        if os.path.isfile(os.path.join(folder, "SKILL.md")):
            return folder
        if not os.path.basename(folder):
            return None
        folder = os.path.dirname(folder)
    return None


def read(file: SourceFile) -> Iterator[Found]:
    """A prompt with the tag `skill`; other files of the folder are documents, named after it."""
    skill = None if file.name == "SKILL.md" else _find_skill(file)
    if skill is not None:
        path = os.path.relpath(file.path, skill)
        yield make_document(file, f"{os.path.basename(skill)}/{path}", f"{path} of skill {os.path.basename(skill)}")
        return
    fields = file.fields or {}
    default = file.folders[-1] if file.folders and file.name == "SKILL.md" else file.stem
    template = read_arguments(trim(file.body), fields)
    facts = PromptFacts(
        name=text_of(fields, "name") or default,
        title=text_of(fields, "title"),
        description=text_of(fields, "description"),
        tags=[*cleaning.list_texts(fields.get("tags")), TAG],
        template=template,
        fields=fields,
        known=(*_KNOWN, "argument-hint") if template.arguments else _KNOWN,
    )
    yield make_prompt(file.shown, facts)


def write(entries: Sequence[Entry]) -> Written:
    """A folder for each prompt."""
    prompts, notes = take(entries, "prompt", "a skill")
    written = write_each(prompts, lambda name: f"{name}/SKILL.md", lambda one: write_prompt(one, one.name))
    return add_notes(written, notes)


FORMAT = Format(
    name="skills",
    title="skills (SKILL.md)",
    kinds=("prompt",),  # that it can write
    recognise=recognise,
    read=read,
    write=write,
    extensions=("md",),
)
