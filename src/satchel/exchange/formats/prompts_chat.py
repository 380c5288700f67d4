"""prompts.chat: one CSV with the columns `act`, `prompt`, `for_devs`, `type` and `contributor`."""

import csv
import io
from collections.abc import Iterator, Sequence

from satchel.exchange import cleaning, templates
from satchel.exchange.entries import Entry, Found, Problem, PromptEntry, Unreadable
from satchel.exchange.formats import shared
from satchel.exchange.sources import MAX_FILE, SourceFile

FILE = "prompts.csv"
_COLUMNS = ("act", "prompt", "for_devs", "type", "contributor")
_TITLES = ("act", "title", "name")
_CONTENTS = ("prompt", "content", "text")
_KNOWN = (*_TITLES, *_CONTENTS, "for_devs", "type", "category")


def recognise(file: SourceFile) -> bool:
    """Recognise CSV whose header names a title and a prompt."""
    return file.extension == "csv" and _find_columns(_read_header(file)) is not None


def read(file: SourceFile) -> Iterator[Found]:
    """Read a prompt from each row; the store makes the prompt's name from its title."""
    columns = _find_columns(_read_header(file))
    if columns is None:
        raise Unreadable("its first line must name the columns act and prompt")
    before = csv.field_size_limit(MAX_FILE)  # the default is 131,072 characters
    try:
        rows = csv.DictReader(io.StringIO(file.text, newline=""), restkey="", delimiter=_delimiter(file))
        rows.fieldnames = [(name or "").strip().casefold() for name in rows.fieldnames or ()]
        for number, row in enumerate(rows, 2):
            yield _read_row(f"{file.shown}, row {number}", row, *columns)
    except csv.Error as error:
        yield Problem(file.shown, f"it is not CSV: {error}")
    finally:
        csv.field_size_limit(before)


def _read_header(file: SourceFile) -> list[str]:
    line = file.text.lstrip("\r\n").partition("\n")[0][:2000]
    try:
        found = next(csv.reader([line], delimiter=_delimiter(file)), [])
    except csv.Error:
        return []
    return [name.strip().casefold() for name in found]


def _delimiter(file: SourceFile) -> str:
    line = file.text.lstrip("\r\n").partition("\n")[0]
    return max(",;\t", key=line.count)


def _find_columns(header: Sequence[str]) -> tuple[str, str] | None:
    title = next((name for name in _TITLES if name in header), None)
    content = next((name for name in _CONTENTS if name in header), None)
    return None if title is None or content is None else (title, content)


def _read_row(where: str, row: dict[str, str | None], title: str, content: str) -> Found:
    text = row.get(content) or ""
    tags = cleaning.list_texts(row.get("tags") or "")
    tags += ["dev"] if (row.get("for_devs") or "").strip().casefold() == "true" else []
    kind = (row.get("type") or "").strip().casefold()
    tags += [kind] if kind not in ("", "text") else []
    tags += [row.get("category") or ""]
    given = (row.get(title) or "").strip()
    if not given:
        return Problem(where, "it has no title")
    return shared.make_prompt(
        where,
        "",
        _read_template(text),
        {key: value for key, value in row.items() if key},
        title=given,
        description=row.get("description") or "",
        tags=tags,
        known=_KNOWN,
    )


def _read_template(text: str) -> templates.Template:
    """Read a template with `${name}` as prompts.chat does, or else with `{{name}}` as `satchel prompt add` does."""
    template = templates.convert(text, templates.read_dollar_braces)
    if template.arguments:
        return template
    plain = templates.convert(text, templates.read_braces)
    return plain if plain.arguments else template


def write(entries: Sequence[Entry]) -> shared.Written:
    """Write one CSV of all prompts."""
    prompts, notes = shared.take(entries, "prompt", "prompts.chat")
    out = io.StringIO(newline="")
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(_COLUMNS)
    for prompt in prompts:
        try:
            rows.writerow(_write_row(prompt))
        except templates.NotTemplate as reason:
            notes = (*notes, f"Left out prompt '{prompt.label}': {reason}.")
    return shared.Written({FILE: out.getvalue().encode()}, notes)


def _write_row(prompt: PromptEntry) -> tuple[str, ...]:
    text = templates.write_with(shared.take_apart(prompt), _write_variable)
    fields = cleaning.split_fields(prompt.description)[1]
    kind = next((tag.upper() for tag in prompt.tags if tag in ("structured", "image", "video", "audio")), "TEXT")
    return prompt.title, text, str("dev" in prompt.tags).upper(), kind, fields.get("contributor", "")


def _write_variable(variable: templates.Variable) -> str:
    return "${" + variable.name + (f":{variable.default}" if variable.default else "") + "}"
