"""dotprompt: `NAME.prompt`, front matter with a Picoschema of the input, and Handlebars."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from satchel.exchange import cleaning
from satchel.exchange.entries import Entry, Found, PromptEntry
from satchel.exchange.formats import shared
from satchel.exchange.sources import SourceFile
from satchel.exchange.templates import Variable, convert, read_handlebars, write_handlebars
from satchel.model import Argument, can_be_argument
from satchel.services.rules import MAX_VALUE, MAX_VALUES
from satchel.yaml_reader import write_front_matter


def recognise(file: SourceFile) -> bool:
    """Recognise a file that ends with `.prompt`."""
    return file.extension == "prompt"


def read(file: SourceFile) -> Iterator[Found]:
    """Read a prompt; a variant is part of its name, as in `greet.formal.prompt`."""
    fields = file.fields or {}
    given = fields.get("input")
    input_ = given if isinstance(given, Mapping) else {}
    defaults = input_.get("default")
    defaults = defaults if isinstance(defaults, Mapping) else {}
    variant = shared.text_of(fields, "variant")
    name = shared.text_of(fields, "name") or file.name.removesuffix(".prompt").lstrip("_")
    yield shared.make_prompt(
        file.shown,
        "-".join(re.split(r"[./]", name)) + (f"-{variant}" if variant and not name.endswith(variant) else ""),
        convert(
            shared.trim(file.body),
            lambda text: shared.set_defaults(read_handlebars(text), defaults),
            read_schema(input_.get("schema"), defaults),
        ),
        fields,
        known=("input", "variant"),
    )


def read_schema(schema: object, defaults: shared.Fields) -> list[Argument]:
    """Return the arguments that a Picoschema or a JSON Schema declares."""
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
    return Argument(name, shared.text_of(fields, "description") or None, is_required, _read_values(fields.get("enum")))


def _read_pico(key: str, value: object) -> Argument:
    """Read a field such as `name?: string, who it is` or `tone?(enum, how it sounds): [warm, cold]`."""
    found = re.fullmatch(r"([^?(]+)(?:(\?)\s*)?(?:\((\w+)(?:,(.*))?\))?", key.strip())
    if found is None:
        return Argument("", None, False)
    description = found[4] or (value.partition(",")[2] if isinstance(value, str) else "")
    values = _read_values(value) if found[3] == "enum" else ()
    return Argument(found[1].strip(), description.strip() or None, found[2] is None, values)


def _read_values(given: object) -> tuple[str, ...]:
    values = [cleaning.to_text(one) for one in given] if isinstance(given, list) else []
    kept = [one for one in values if one and len(one) <= MAX_VALUE]
    return tuple(dict.fromkeys(kept)) if len(kept) <= MAX_VALUES else ()


def write(entries: Sequence[Entry]) -> shared.Written:
    """Write a file for each prompt."""
    return shared.write_prompts(entries, "dotprompt", "{}.prompt", _write)


def _write(prompt: PromptEntry) -> str:
    pieces = shared.take_apart(prompt)
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
    return (write_front_matter(fields) + "\n" if has_fields else "") + shared.end_line(text)
