"""Rules of Cursor: `NAME.mdc` with `description`, `globs` and `alwaysApply`, and the older file `.cursorrules`."""

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
    plain,
    take,
    text_of,
    trim,
    write_each,
)
from satchel.exchange.sources import SourceFile

_KNOWN = ("description", "title", "tags", "name")
TAG = "rule"


def recognise(file: SourceFile) -> bool:
    """A file that ends with `.mdc`, or `.cursorrules`."""
    return file.extension == "mdc" or file.name == ".cursorrules"


def read(file: SourceFile) -> Iterator[Found]:
    """A prompt with the tag `rule`; the files that the rule is for stand in its description."""
    fields = file.fields or {}
    facts = PromptFacts(
        name=file.name.removesuffix(".mdc").lstrip("."),
        title=text_of(fields, "title"),
        description=text_of(fields, "description"),
        tags=[*cleaning.list_texts(fields.get("tags")), TAG],
        template=plain(trim(file.body)),
        fields=fields,
        known=_KNOWN,
    )
    yield make_prompt(file.shown, facts)


def write(entries: Sequence[Entry]) -> Written:
    """A file for each prompt without arguments."""
    prompts, notes = take(entries, "prompt", "a rule of Cursor")
    templates = sum(bool(one.arguments) for one in prompts)
    if templates:
        notes = (*notes, f"Left out, because a rule of Cursor has no arguments: {templates} prompts.")
    plain_ones = [one for one in prompts if not one.arguments]
    return add_notes(write_each(plain_ones, lambda name: f"{name}.mdc", _write), notes)


def _write(prompt: PromptEntry) -> str:
    description, kept = cleaning.split_fields(prompt.description)
    fields = {"description": description or prompt.title, "globs": kept.pop("globs", ""), **kept}
    fields.setdefault("alwaysApply", "false")
    # As Cursor writes them, without quotes.
    lines = "\n".join(f"{key}: {value}".rstrip() for key, value in fields.items() if "\n" not in value)
    head = f"---\n{lines}\n---\n" if "\n" not in description else front_matter.write(fields)
    return head + "\n" + end_line(prompt.content)


FORMAT = Format(
    name="cursor-rules",
    title="Cursor rules (.mdc)",
    kinds=("prompt",),
    recognise=recognise,
    read=read,
    write=write,
    extensions=("mdc", "cursorrules"),
)
