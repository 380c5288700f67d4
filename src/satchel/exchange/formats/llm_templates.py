"""Templates of `llm`: YAML files with `prompt`, `system` and `$variables`."""

from collections.abc import Iterator, Mapping, Sequence

from satchel.exchange import cleaning, front_matter
from satchel.exchange.entries import Entry, Found, PromptEntry, Unreadable
from satchel.exchange.formats.shared import (
    Fields,
    Format,
    PromptFacts,
    Written,
    add_notes,
    make_prompt,
    take,
    take_apart,
    text_of,
    write_each,
)
from satchel.exchange.sources import SourceFile
from satchel.exchange.templates import Piece, Text, Variable, convert, read_string_template, write_with

_FIELDS = {"prompt", "system", "model", "options", "defaults", "fragments", "system_fragments", "schema_object"}
_FIELDS |= {"extract", "extract_last", "tools", "functions", "attachments", "attachment_types", "name", "schema"}
_KNOWN = ("prompt", "system", "defaults", "name", "description", "title", "tags")
_MAX_YAML = 4 * 1024 * 1024  # characters


def recognise(file: SourceFile) -> bool:
    """A YAML file with a prompt or a system prompt, and only fields that a template has."""
    if file.extension not in ("yaml", "yml"):
        return False
    try:
        value = _read(file)
    except Unreadable:
        return False
    has_text = any(isinstance(value.get(key), str) for key in ("prompt", "system"))
    return has_text and {*value} <= _FIELDS | {*_KNOWN}


def _read(file: SourceFile) -> Fields:
    value = front_matter.read_document(file.text, _MAX_YAML)
    if isinstance(value, str):
        return {"prompt": value}
    return value if isinstance(value, Mapping) else {}


def read(file: SourceFile) -> Iterator[Found]:
    """A prompt; a system prompt stands above the other one."""
    fields = _read(file)
    system, prompt = fields.get("system"), fields.get("prompt")
    texts = [one.strip("\n") for one in (system, prompt) if isinstance(one, str) and one.strip()]
    if not texts:
        raise Unreadable("a template of llm has a prompt, or a system prompt")
    given = fields.get("defaults")
    defaults = given if isinstance(given, Mapping) else {}
    facts = PromptFacts(
        name=text_of(fields, "name") or file.name.rpartition(".")[0],
        title=text_of(fields, "title"),
        description=text_of(fields, "description"),
        tags=fields.get("tags"),
        template=convert("\n\n".join(texts), lambda text: _read_text(text, defaults)),
        fields=fields,
        known=_KNOWN,
    )
    yield make_prompt(file.shown, facts)


def _read_text(text: str, defaults: Fields) -> list[Piece]:
    pieces: list[Piece] = []
    for piece in read_string_template(text):
        if isinstance(piece, Variable):
            default = cleaning.to_text(defaults.get(piece.label)) or None
            piece = Variable(piece.name, piece.label, default)
        pieces.append(piece)
    return pieces


def write(entries: Sequence[Entry]) -> Written:
    """A file for each prompt."""
    prompts, notes = take(entries, "prompt", "a template of llm")
    return add_notes(write_each(prompts, lambda name: f"{name}.yaml", _write), notes)


def _write(prompt: PromptEntry) -> str:
    pieces = take_apart(prompt)
    if any(isinstance(one, Variable) for one in pieces):
        pieces = [Text(one.text.replace("$", "$$")) if isinstance(one, Text) else one for one in pieces]
    elif "$" in prompt.content:
        pieces = [Text(prompt.content.replace("$", "$$"))]
    text = write_with(pieces, lambda one: "${" + one.name + "}")
    defaults = {one.name: one.default for one in pieces if isinstance(one, Variable) and one.default is not None}
    kept = cleaning.split_fields(prompt.description)[1]
    more = {key: value for key, value in kept.items() if key in _FIELDS}
    head = front_matter.write({**more, "prompt": text, "defaults": defaults})
    return head.removeprefix("---\n").removesuffix("---\n")


FORMAT = Format(
    name="llm",
    title="templates of llm (YAML)",
    kinds=("prompt",),
    recognise=recognise,
    read=read,
    write=write,
    extensions=("yaml", "yml"),
)
