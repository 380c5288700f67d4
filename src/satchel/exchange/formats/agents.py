"""Agents of Claude Code: Markdown files in `.claude/agents`, each with a system prompt."""

from collections.abc import Iterator, Sequence

from satchel.exchange import cleaning
from satchel.exchange.entries import Entry, Found
from satchel.exchange.formats import shared
from satchel.exchange.formats.claude_commands import write_prompt
from satchel.exchange.sources import SourceFile
from satchel.exchange.templates import Template

TAG = "agent"


def recognise(file: SourceFile) -> bool:
    """Recognise Markdown in a folder `agents` with a name and a description, or anywhere with tools and a model."""
    if file.extension != "md" or file.name == "SKILL.md" or file.name.endswith(".prompt.md") or file.fields is None:
        return False
    has_names = "name" in file.fields and "description" in file.fields
    is_in_folder = file.folders[-1:] == ("agents",) or (".claude" in file.folders and "agents" in file.folders)
    return has_names and (is_in_folder or ("tools" in file.fields and "model" in file.fields))


def read(file: SourceFile) -> Iterator[Found]:
    """Read a prompt with the tag `agent`."""
    fields = file.fields or {}
    yield shared.make_prompt(
        file.shown,
        shared.text_of(fields, "name") or file.stem,
        Template(shared.trim(file.body)),
        fields,
        tags=[*cleaning.list_texts(fields.get("tags")), TAG],
    )


def write(entries: Sequence[Entry]) -> shared.Written:
    """Write a file for each prompt."""
    return shared.write_prompts(entries, "an agent of Claude Code", "{}.md", lambda one: write_prompt(one, one.name))
