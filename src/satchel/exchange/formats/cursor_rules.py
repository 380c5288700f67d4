"""Rules of Cursor: `NAME.mdc` with `description`, `globs` and `alwaysApply`, and the older file `.cursorrules`."""

from collections.abc import Iterator, Sequence

from satchel.exchange import cleaning
from satchel.exchange.entries import Entry, Found, PromptEntry
from satchel.exchange.formats import shared
from satchel.exchange.sources import SourceFile
from satchel.exchange.templates import Template
from satchel.yaml_reader import write_front_matter

TAG = "rule"


def recognise(file: SourceFile) -> bool:
    """Recognise a file that ends with `.mdc`, or is called `.cursorrules`."""
    return file.extension == "mdc" or file.name == ".cursorrules"


def read(file: SourceFile) -> Iterator[Found]:
    """Read a prompt with the tag `rule`; the description names the files to which the rule applies."""
    fields = file.fields or {}
    yield shared.make_prompt(
        file.shown,
        file.name.removesuffix(".mdc").lstrip("."),
        Template(shared.trim(file.body)),
        fields,
        tags=[*cleaning.list_texts(fields.get("tags")), TAG],
    )


def write(entries: Sequence[Entry]) -> shared.Written:
    """Write a file for each prompt without arguments."""
    prompts, notes = shared.take(entries, "prompt", "a rule of Cursor")
    templates = sum(bool(one.arguments) for one in prompts)
    if templates:
        notes = (*notes, f"Left out, because a rule of Cursor has no arguments: {templates} prompts.")
    plain = [one for one in prompts if not one.arguments]
    written = shared.write_prompts(plain, "a rule of Cursor", "{}.mdc", _write)
    return shared.Written(written.files, (*notes, *written.notes))


def _write(prompt: PromptEntry) -> str:
    description, kept = cleaning.split_fields(prompt.description)
    fields = {"description": description or prompt.title, "globs": kept.pop("globs", ""), **kept}
    fields.setdefault("alwaysApply", "false")
    # Cursor writes fields without quotes.
    lines = "\n".join(f"{key}: {value}".rstrip() for key, value in fields.items() if "\n" not in value)
    head = f"---\n{lines}\n---\n" if "\n" not in description else write_front_matter(fields)
    return head + "\n" + shared.end_line(prompt.content)
