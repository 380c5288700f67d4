"""Prompty: `NAME.prompty`, front matter with inputs, and a body with `system:` and `user:` lines in Jinja2."""

from collections.abc import Iterator, Mapping, Sequence

from satchel.exchange import cleaning, templates
from satchel.exchange.entries import Entry, Found, PromptEntry
from satchel.exchange.formats import shared
from satchel.exchange.formats.dotprompt import read_schema
from satchel.exchange.sources import SourceFile
from satchel.model import Argument, can_be_argument
from satchel.yaml_reader import write_front_matter

_KNOWN = ("displayName", "inputs", "sample", "template", "metadata")


def recognise(file: SourceFile) -> bool:
    """Recognise a file that ends with `.prompty`."""
    return file.extension == "prompty"


def read(file: SourceFile) -> Iterator[Found]:
    """Read a prompt; its inputs become arguments."""
    fields = file.fields or {}
    given = fields.get("metadata")
    metadata: shared.Fields = given if isinstance(given, Mapping) else {}
    arguments, defaults = _read_inputs(fields)
    title = shared.text_of(fields, "displayName", "title") or shared.text_of(fields, "name")
    yield shared.make_prompt(
        file.shown,
        shared.text_of(fields, "name") or file.name.removesuffix(".prompty"),
        templates.convert(shared.trim(file.body), lambda text: _read_text(text, fields, defaults), arguments),
        {**{key: value for key, value in metadata.items() if key != "tags"}, **fields},
        title=title,
        description=shared.text_of(fields, "description") or shared.text_of(metadata, "description"),
        tags=[*cleaning.list_texts(fields.get("tags")), *cleaning.list_texts(metadata.get("tags"))],
        known=_KNOWN,
    )


def _read_inputs(fields: shared.Fields) -> tuple[list[Argument], dict[str, str]]:
    """Return the declared arguments, and their defaults."""
    inputs = fields.get("inputs")
    sample = fields.get("sample")
    found: dict[str, object] = {}
    if isinstance(inputs, Mapping):
        found = dict(inputs)
    elif isinstance(inputs, list):
        found = {shared.text_of(one, "name"): one for one in shared.list_mappings(inputs)}
    elif isinstance(sample, Mapping):
        found = dict.fromkeys(sample)
    defaults: dict[str, str] = {}
    arguments = []
    for name, value in found.items():
        if not can_be_argument(name):
            continue
        facts: shared.Fields = value if isinstance(value, Mapping) else {}
        default = cleaning.to_text(facts.get("default"))
        if default:
            defaults[name] = default
        is_required = facts.get("required") is not False and not default
        [made] = read_schema({"type": "object", "properties": {name: facts}}, {}) or [Argument(name, None, True)]
        arguments.append(Argument(name, made.description, is_required, made.values))
    return arguments, defaults


def _read_text(text: str, fields: shared.Fields, defaults: Mapping[str, str]) -> list[templates.Piece]:
    template = fields.get("template")
    engine = template.get("format", template.get("type")) if isinstance(template, Mapping) else template
    kind = engine.get("kind") if isinstance(engine, Mapping) else engine
    read_pieces = templates.read_handlebars if kind in ("mustache", "handlebars") else templates.read_jinja
    return shared.set_defaults(read_pieces(text), defaults)


def write(entries: Sequence[Entry]) -> shared.Written:
    """Write a file for each prompt."""
    return shared.write_prompts(entries, "Prompty", "{}.prompty", _write)


def _write(prompt: PromptEntry) -> str:
    text = templates.write_ours(shared.take_apart(prompt)) if prompt.arguments else prompt.content
    description, kept = cleaning.split_fields(prompt.description)
    inputs = {}
    for one in prompt.arguments:
        facts: dict[str, object] = {"type": "string"}
        facts |= {"description": one.description} if one.description else {}
        facts |= {"enum": list(one.values)} if one.values and not one.is_open else {}
        facts |= {} if one.is_required else {"required": False}
        inputs[one.name] = facts
    fields = {"name": prompt.name, "displayName": prompt.title, "description": description or None}
    head = write_front_matter({**fields, "tags": list(prompt.tags), **kept, "inputs": inputs})
    return head + "\n" + shared.end_line(text)
