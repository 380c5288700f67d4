"""Templates of `llm`: YAML files with `prompt`, `system` and `$variables`."""

from collections.abc import Iterator, Mapping, Sequence

from satchel.exchange import cleaning, templates
from satchel.exchange.entries import Entry, Found, PromptEntry, Unreadable
from satchel.exchange.formats import shared
from satchel.exchange.sources import SourceFile
from satchel.yaml_reader import WrongYaml, read_yaml, write_yaml

_FIELDS = {"prompt", "system", "model", "options", "defaults", "fragments", "system_fragments", "schema_object"}
_FIELDS |= {"extract", "extract_last", "tools", "functions", "attachments", "attachment_types", "name", "schema"}
_KNOWN = ("prompt", "system", "defaults")
_MAX_YAML = 4 * 1024 * 1024  # characters


def recognise(file: SourceFile) -> bool:
    """Recognise YAML with a prompt or a system prompt, and no fields that `llm` does not have."""
    if file.extension not in ("yaml", "yml"):
        return False
    try:
        value = _read(file)
    except Unreadable:
        return False
    has_text = any(isinstance(value.get(key), str) for key in ("prompt", "system"))
    return has_text and {*value} <= _FIELDS | {"description", "title", "tags"}


def _read(file: SourceFile) -> shared.Fields:
    if len(file.text) > _MAX_YAML:
        raise Unreadable(f"it has more than {_MAX_YAML} characters")
    try:
        value = read_yaml(file.text)
    except WrongYaml as wrong:
        raise Unreadable(str(wrong)) from None
    if isinstance(value, str):
        return {"prompt": value}
    return value if isinstance(value, Mapping) else {}


def read(file: SourceFile) -> Iterator[Found]:
    """Read a prompt; its system prompt comes first."""
    fields = _read(file)
    system, prompt = fields.get("system"), fields.get("prompt")
    texts = [one.strip("\n") for one in (system, prompt) if isinstance(one, str) and one.strip()]
    if not texts:
        raise Unreadable("a template of llm has a prompt, or a system prompt")
    given = fields.get("defaults")
    defaults = given if isinstance(given, Mapping) else {}
    yield shared.make_prompt(
        file.shown,
        shared.text_of(fields, "name") or file.name.rpartition(".")[0],
        templates.convert(
            "\n\n".join(texts), lambda text: shared.set_defaults(templates.read_string_template(text), defaults)
        ),
        fields,
        known=_KNOWN,
    )


def write(entries: Sequence[Entry]) -> shared.Written:
    """Write a file for each prompt."""
    return shared.write_prompts(entries, "a template of llm", "{}.yaml", _write)


def _write(prompt: PromptEntry) -> str:
    pieces = [
        templates.Text(one.text.replace("$", "$$")) if isinstance(one, templates.Text) else one
        for one in shared.take_apart(prompt)
    ]
    text = templates.write_with(pieces, lambda one: "${" + one.name + "}")
    defaults = {
        one.name: one.default for one in pieces if isinstance(one, templates.Variable) and one.default is not None
    }
    kept = cleaning.split_fields(prompt.description)[1]
    more = {key: value for key, value in kept.items() if key in _FIELDS}
    return write_yaml({**more, "prompt": text, **({"defaults": defaults} if defaults else {})})
