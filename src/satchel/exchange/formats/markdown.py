"""Markdown files with front matter, a common form of prompts: title, description, tags, arguments."""

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from satchel.errors import WrongArgument
from satchel.exchange import cleaning
from satchel.exchange.entries import Entry, Found, PromptEntry
from satchel.exchange.folder import read_age, write_prompt
from satchel.exchange.formats import shared
from satchel.exchange.sources import SourceFile
from satchel.exchange.templates import NotTemplate, Template, convert, read_braces, read_jinja
from satchel.model import Argument, can_be_argument
from satchel.services.rules import MAX_TEMPLATE_BYTES, clean_day

_ARGUMENTS = ("arguments", "variables", "inputs", "parameters", "params", "args")
_TAGS = ("tags", "tag", "keywords", "labels", "category", "categories")
_KNOWN = ("id", "slug", "summary", *_ARGUMENTS, *_TAGS)
# Files that repositories contain for people or for all agents; without front matter, they are not prompts.
_NO_PROMPTS = {"readme", "license", "contributing", "changelog", "agents", "claude", "gemini", "code_of_conduct"}
_NO_PROMPTS |= {"security", "todo", "index", "copilot-instructions"}


def recognise(file: SourceFile) -> bool:
    """Recognise Markdown with front matter, or any whose name has no other meaning in repositories."""
    if file.extension not in ("md", "markdown"):
        return False
    return file.fields is not None or file.stem.casefold() not in _NO_PROMPTS


def read(file: SourceFile) -> Iterator[Found]:
    """Read a prompt. Declared arguments or plain `{{names}}` make its text a template."""
    fields = file.fields or {}
    text = shared.trim(file.body)
    fault = file.parts[2]
    heading = re.match(r"#\s+(\S.*)", text) if file.fields is None else None
    title = shared.text_of(fields, "title") or (heading[1].rstrip().rstrip("#").rstrip() if heading else "")
    age = {name: value for name, value in read_age(fields).items() if value and (name != "expires" or _is_day(value))}
    made = shared.make_prompt(
        file.shown,
        shared.text_of(fields, "name", "slug", "id") or file.name.rpartition(".")[0],
        _read_template(text, fields),
        fields,
        title=title or shared.text_of(fields, "name"),
        description=shared.text_of(fields, "description", "summary"),
        tags=[one for key in _TAGS for one in cleaning.list_texts(fields.get(key))],
        known=(*_KNOWN, *age),
        notes=(f"Its front matter was read line by line: {fault}.",) if fault else (),
    )
    yield replace(made, **age) if isinstance(made, PromptEntry) else made


def _is_day(text: str) -> bool:
    try:
        return bool(clean_day("expires", "prompt", text))
    except WrongArgument:
        return False


def _read_template(text: str, fields: shared.Fields) -> Template:
    declared = read_arguments(next((fields[key] for key in _ARGUMENTS if fields.get(key)), None))
    if not declared:
        return convert(text, read_braces)
    try:
        read_jinja(text)
    except NotTemplate:
        if "{%" in text and len(text.encode()) <= MAX_TEMPLATE_BYTES:
            return Template(text, tuple(declared))  # declared arguments make it a template
        return convert(text, read_braces, declared)
    return convert(text, read_jinja, declared)


def read_arguments(given: object) -> list[Argument]:
    """Return arguments from a list of names or mappings, or from a mapping of names to descriptions or mappings."""
    found: list[tuple[str, object]] = []
    if isinstance(given, Mapping):
        found = [(str(name), value) for name, value in given.items()]
    elif isinstance(given, list):
        for one in given:
            is_mapping = isinstance(one, Mapping)
            found.append(
                (shared.text_of(one, "name", "key", "id"), one) if is_mapping else (cleaning.to_text(one), None)
            )
    elif isinstance(given, str):
        found = [(one, None) for one in cleaning.list_texts(given)]
    made = {name: _read_argument(name, value) for name, value in found if can_be_argument(name)}
    return list(made.values())


def _read_argument(name: str, value: object) -> Argument:
    if not isinstance(value, Mapping):
        return Argument(name, cleaning.to_text(value) or None, True)
    is_optional = value.get("required") is False or value.get("optional") is True or "default" in value
    given = value.get("values", value.get("enum", value.get("options", value.get("choices"))))
    values = tuple(dict.fromkeys(cleaning.list_texts(given))) if isinstance(given, list) else ()
    return Argument(
        name, shared.text_of(value, "description") or None, not is_optional, values, is_open=value.get("open") is True
    )


def write(entries: Sequence[Entry]) -> shared.Written:
    """Write a file for each prompt."""
    return shared.write_prompts(entries, "a Markdown file with front matter", "{}.md", write_prompt)
