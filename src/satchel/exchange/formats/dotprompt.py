"""dotprompt: `NAME.prompt`, front matter with a Picoschema of the input, and Handlebars."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from satchel.exchange import cleaning, front_matter
from satchel.exchange.entries import Entry, Found, PromptEntry
from satchel.exchange.formats.shared import (
    Fields,
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
from satchel.exchange.templates import Piece, Variable, convert, read_handlebars, write_handlebars
from satchel.model import Argument, can_be_argument
from satchel.services.rules import MAX_VALUE, MAX_VALUES

_KNOWN = ("name", "description", "title", "tags", "input", "variant")


def recognise(file: SourceFile) -> bool:
    """A file that ends with `.prompt`."""
    return file.extension == "prompt"


def read(file: SourceFile) -> Iterator[Found]:
    """A prompt; a variant, as in `greet.formal.prompt`, is part of its name."""
    fields = file.fields or {}
    given = fields.get("input")
    input_ = given if isinstance(given, Mapping) else {}
    defaults = input_.get("default")
    defaults = defaults if isinstance(defaults, Mapping) else {}
    variant = text_of(fields, "variant")
    name = text_of(fields, "name") or file.name.removesuffix(".prompt").lstrip("_")
    facts = PromptFacts(
        name="-".join(re.split(r"[./]", name)) + (f"-{variant}" if variant and not name.endswith(variant) else ""),
        title=text_of(fields, "title"),
        description=text_of(fields, "description"),
        tags=fields.get("tags"),
        template=convert(
            trim(file.body), lambda text: _read_text(text, defaults), read_schema(input_.get("schema"), defaults)
        ),
        fields=fields,
        known=_KNOWN,
    )
    yield make_prompt(file.shown, facts)


def _read_text(text: str, defaults: Fields) -> list[Piece]:
    known = {name: default for name, value in defaults.items() if (default := cleaning.to_text(value))}
    return [
        Variable(piece.name, default=known[piece.name])
        if isinstance(piece, Variable) and piece.name in known
        else piece
        for piece in read_handlebars(text)
    ]


def read_schema(schema: object, defaults: Fields) -> list[Argument]:
    """The arguments that a Picoschema, or a JSON Schema, declares."""
    if not isinstance(schema, Mapping):
        return []
    properties = schema.get("properties")
    if schema.get("type") == "object" and isinstance(properties, Mapping):
        required = schema.get("required")
        needed = {str(one) for one in required} if isinstance(required, list) else set()
        found = [_read_property(str(name), one, str(name) in needed) for name, one in properties.items()]
    else:
        found = [_read_pico(str(key), value) for key, value in schema.items()]
    return [
        Argument(one.name, one.description, one.is_required and one.name not in defaults, one.values)
        for one in found
        if can_be_argument(one.name)
    ]


def _read_property(name: str, value: object, is_required: bool) -> Argument:
    fields = value if isinstance(value, Mapping) else {}
    return Argument(name, text_of(fields, "description") or None, is_required, _read_values(fields.get("enum")))


def _read_pico(key: str, value: object) -> Argument:
    """`name?: string, what it is`; `tone?(enum, how it sounds): [warm, cold]`."""
    found = re.fullmatch(r"([^?(]+)(\?)?\s*(?:\((\w+)(?:,\s*(.*))?\))?", key.strip())
    if found is None:
        return Argument("", None, False)
    description = found[4] or (value.partition(",")[2] if isinstance(value, str) else "")
    values = _read_values(value) if found[3] == "enum" else ()
    return Argument(found[1].strip(), description.strip() or None, found[2] is None, values)


def _read_values(given: object) -> tuple[str, ...]:
    values = [cleaning.to_text(one) for one in given] if isinstance(given, list) else []
    kept = [one for one in values if one and len(one) <= MAX_VALUE]
    return tuple(dict.fromkeys(kept)) if len(kept) <= MAX_VALUES else ()


def write(entries: Sequence[Entry]) -> Written:
    """A file for each prompt."""
    prompts, notes = take(entries, "prompt", "dotprompt")
    return add_notes(write_each(prompts, lambda name: f"{name}.prompt", _write), notes)


def _write(prompt: PromptEntry) -> str:
    pieces = take_apart(prompt)
    description, kept = cleaning.split_fields(prompt.description)
    defaults = {one.name: one.default for one in pieces if isinstance(one, Variable) and one.default is not None}
    schema: dict[str, Any] = {}
    for one in prompt.arguments:
        key = one.name if one.is_required or one.name in defaults else f"{one.name}?"
        if one.values and not one.is_open:
            key += f"(enum, {one.description})" if one.description else "(enum)"
            schema[key] = list(one.values)
        else:
            schema[key] = f"string, {one.description}" if one.description else "string"
    fields = {"description": description or None, **kept, "input": {"schema": schema, "default": defaults}}
    if not defaults:
        del fields["input"]["default"]  # type: ignore[union-attr]
    if not schema:
        del fields["input"]
    text = write_handlebars(pieces)
    has_fields = any(value for value in fields.values())
    return (front_matter.write(fields) + "\n" if has_fields else "") + end_line(text)


FORMAT = Format(
    name="dotprompt",
    title="dotprompt (.prompt)",
    kinds=("prompt",),
    recognise=recognise,
    read=read,
    write=write,
    extensions=("prompt",),
)
