"""Skills: a folder with `SKILL.md`, whose front matter has a name and a description."""

import os
from collections.abc import Iterator, Sequence

from satchel.exchange import cleaning
from satchel.exchange.entries import Entry, Found
from satchel.exchange.formats import shared
from satchel.exchange.formats.claude_commands import read_arguments, write_prompt
from satchel.exchange.sources import SourceFile

TAG = "skill"
_DEPTH = 4  # the maximum of folders between a file and its skill


def recognise(file: SourceFile) -> bool:
    """Recognise the file SKILL.md, and the files beside and below it."""
    return file.name == "SKILL.md" or is_part(file)


def is_part(file: SourceFile) -> bool:
    """Return whether a file belongs to a skill, regardless of its content."""
    return _find_skill(file) is not None


def _find_skill(file: SourceFile) -> str | None:
    """Return the folder of the skill to which a file other than SKILL.md belongs."""
    folder = os.path.dirname(file.path)
    for _ in range(_DEPTH):
        if os.path.isfile(os.path.join(folder, "SKILL.md")):
            return folder
        if not os.path.basename(folder):
            return None
        folder = os.path.dirname(folder)
    return None


def read(file: SourceFile) -> Iterator[Found]:
    """Read a prompt with the tag `skill`; other files of the folder become documents named after the prompt."""
    skill = None if file.name == "SKILL.md" else _find_skill(file)
    if skill is not None:
        path = os.path.relpath(file.path, skill)
        yield shared.make_document(
            file, f"{os.path.basename(skill)}/{path}", f"{path} of skill {os.path.basename(skill)}"
        )
        return
    fields = file.fields or {}
    default = file.folders[-1] if file.folders and file.name == "SKILL.md" else file.stem
    template = read_arguments(shared.trim(file.body), fields)
    yield shared.make_prompt(
        file.shown,
        shared.text_of(fields, "name") or default,
        template,
        fields,
        tags=[*cleaning.list_texts(fields.get("tags")), TAG],
        known=("arguments", "argument-hint") if template.arguments else ("arguments",),
    )


def write(entries: Sequence[Entry]) -> shared.Written:
    """Write a folder for each prompt."""
    return shared.write_prompts(entries, "a skill", "{}/SKILL.md", lambda one: write_prompt(one, one.name))
