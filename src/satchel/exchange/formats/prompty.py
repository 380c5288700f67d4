"""Prompty: `NAME.prompty`, front matter with inputs, and a body with `system:` and `user:` lines in Jinja2."""

from collections.abc import Iterator, Mapping, Sequence

from satchel.exchange import cleaning, front_matter
from satchel.exchange.entries import Entry, Found, PromptEntry
from satchel.exchange.formats.dotprompt import read_schema
from satchel.exchange.formats.shared import (
    Fields,
    Format,
    PromptFacts,
    Written,
    add_notes,
    end_line,
    list_mappings,
    make_prompt,
    take,
    take_apart,
    text_of,
    trim,
    write_each,
)
from satchel.exchange.sources import SourceFile
from satchel.exchange.templates import Piece, Variable, convert, read_handlebars, read_jinja, write_ours
from satchel.model import Argument, can_be_argument

_KNOWN = ("name", "displayName", "description", "tags", "inputs", "sample", "template", "metadata", "title")


def recognise(file: SourceFile) -> bool:
    """A file that ends with `.prompty`."""
    return file.extension == "prompty"


def read(file: SourceFile) -> Iterator[Found]:
    """A prompt; its inputs are declared as arguments."""
    fields = file.fields or {}
    given = fields.get("metadata")
    metadata: Fields = given if isinstance(given, Mapping) else {}
    arguments, defaults = _read_inputs(fields)
    title = text_of(fields, "displayName", "title") or text_of(fields, "name")
    facts = PromptFacts(
        name=text_of(fields, "name") or file.name.removesuffix(".prompty"),
        title=title,
        description=text_of(fields, "description") or text_of(metadata, "description"),
        tags=[*cleaning.list_texts(fields.get("tags")), *cleaning.list_texts(metadata.get("tags"))],
        template=convert(trim(file.body), lambda text: _read_text(text, fields, defaults), arguments),
        fields={**{key: value for key, value in metadata.items() if key != "tags"}, **fields},
        known=_KNOWN,
    )
    yield make_prompt(file.shown, facts)


def _read_inputs(fields: Fields) -> tuple[list[Argument], dict[str, str]]:
    """The declared arguments, and the defaults of those that have one."""
    inputs = fields.get("inputs")
    sample = fields.get("sample")
    found: dict[str, object] = {}
    if isinstance(inputs, Mapping):
        found = dict(inputs)
    elif isinstance(inputs, list):
        found = {text_of(one, "name"): one for one in list_mappings(inputs)}
    elif isinstance(sample, Mapping):
        found = dict.fromkeys(sample)
    defaults: dict[str, str] = {}
    arguments = []
    for name, value in found.items():
        if not can_be_argument(name):
            continue
        facts: Fields = value if isinstance(value, Mapping) else {}
        default = cleaning.to_text(facts.get("default"))
        if default:
            defaults[name] = default
        is_required = facts.get("required") is not False and not default
        [made] = read_schema({"type": "object", "properties": {name: facts}}, {}) or [Argument(name, None, True)]
        arguments.append(Argument(name, made.description, is_required, made.values))
    return arguments, defaults


def _read_text(text: str, fields: Fields, defaults: Mapping[str, str]) -> list[Piece]:
    template = fields.get("template")
    engine = template.get("format", template.get("type")) if isinstance(template, Mapping) else template
    kind = engine.get("kind") if isinstance(engine, Mapping) else engine
    read_pieces = read_handlebars if kind in ("mustache", "handlebars") else read_jinja
    return [
        Variable(piece.name, default=defaults[piece.name])
        if isinstance(piece, Variable) and piece.default is None and piece.name in defaults
        else piece
        for piece in read_pieces(text)
    ]


def write(entries: Sequence[Entry]) -> Written:
    """A file for each prompt."""
    prompts, notes = take(entries, "prompt", "Prompty")
    return add_notes(write_each(prompts, lambda name: f"{name}.prompty", _write), notes)


def _write(prompt: PromptEntry) -> str:
    text = write_ours(take_apart(prompt)) if prompt.arguments else prompt.content
    description, kept = cleaning.split_fields(prompt.description)
    inputs = {}
    for one in prompt.arguments:
        facts: dict[str, object] = {"type": "string"}
        facts |= {"description": one.description} if one.description else {}
        facts |= {"enum": list(one.values)} if one.values and not one.is_open else {}
        facts |= {} if one.is_required else {"required": False}
        inputs[one.name] = facts
    fields = {"name": prompt.name, "displayName": prompt.title, "description": description or None}
    head = front_matter.write({**fields, "tags": list(prompt.tags), **kept, "inputs": inputs})
    return head + "\n" + end_line(text)


FORMAT = Format(
    name="prompty",
    title="Prompty (.prompty)",
    kinds=("prompt",),
    recognise=recognise,
    read=read,
    write=write,
    extensions=("prompty",),
)
