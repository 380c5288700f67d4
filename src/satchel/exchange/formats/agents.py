"""Agents of Claude Code: Markdown files in `.claude/agents`, whose text is a system prompt."""

from collections.abc import Iterator, Sequence

from satchel.exchange import cleaning
from satchel.exchange.entries import Entry, Found
from satchel.exchange.formats.claude_commands import write_prompt
from satchel.exchange.formats.shared import (
    Format,
    PromptFacts,
    Written,
    add_notes,
    make_prompt,
    plain,
    take,
    text_of,
    trim,
    write_each,
)
from satchel.exchange.sources import SourceFile

_KNOWN = ("name", "description", "title", "tags")
TAG = "agent"


def recognise(file: SourceFile) -> bool:
    """A Markdown file in a folder `agents`, or one with a name, a description, and tools or a model."""
    if file.extension != "md" or file.name == "SKILL.md" or file.name.endswith(".prompt.md") or file.fields is None:
        return False
    has_names = "name" in file.fields and "description" in file.fields
    is_in_folder = file.folders[-1:] == ("agents",) or (".claude" in file.folders and "agents" in file.folders)
    return has_names and (is_in_folder or ("tools" in file.fields and "model" in file.fields))


def read(file: SourceFile) -> Iterator[Found]:
    """A prompt with the tag `agent`."""
    fields = file.fields or {}
    facts = PromptFacts(
        name=text_of(fields, "name") or file.stem,
        title=text_of(fields, "title"),
        description=text_of(fields, "description"),
        tags=[*cleaning.list_texts(fields.get("tags")), TAG],
        template=plain(trim(file.body)),
        fields=fields,
        known=_KNOWN,
    )
    yield make_prompt(file.shown, facts)


def write(entries: Sequence[Entry]) -> Written:
    """A file for each prompt."""
    prompts, notes = take(entries, "prompt", "an agent of Claude Code")
    return add_notes(write_each(prompts, lambda name: f"{name}.md", lambda one: write_prompt(one, one.name)), notes)


FORMAT = Format(
    name="claude-agents",
    title="Claude Code agents",
    kinds=("prompt",),
    recognise=recognise,
    read=read,
    write=write,
    extensions=("md",),
)
