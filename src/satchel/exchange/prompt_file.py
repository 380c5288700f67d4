"""A prompt as a Markdown file: front matter, then its text and one line break."""

from msgspec.structs import replace

from satchel.errors import Refused
from satchel.exchange import front_matter, sources
from satchel.exchange.entries import PromptEntry, Unreadable
from satchel.model import Argument
from satchel.services import rules


def write_prompt(prompt: PromptEntry, **more: object) -> str:
    """A prompt with front matter; one line break is added at the end of its text."""
    fields = {**more, "title": prompt.title, "description": prompt.description, "tags": list(prompt.tags)}
    arguments = [_write_argument(one) for one in prompt.arguments]
    return front_matter.write({**fields, "arguments": arguments}) + prompt.content + "\n"


def _write_argument(argument: Argument) -> dict[str, object]:
    fields: dict[str, object] = {"name": argument.name}
    fields |= {} if argument.description is None else {"description": argument.description}
    fields |= {} if argument.is_required else {"required": False}
    fields |= {"values": list(argument.values)} if argument.values else {}
    return fields | ({"open": True} if argument.is_open else {})


def write_prompt_file(prompt: PromptEntry, path: str) -> bytes:
    """The file of a prompt; it says its name where the path does not."""
    stem = path.rpartition("/")[2].removesuffix(".md")
    name = None if stem == prompt.name else prompt.name
    if _read_body(prompt.content + "\n") == prompt.content:
        return write_prompt(prompt, name=name).encode()
    # A text that ends with a lone carriage return, which would be read as a line break of Windows.
    return write_prompt(replace(prompt, content=""), name=name, text=prompt.content).encode()


def read_prompt_file(path: str, data: bytes, where: str) -> PromptEntry:
    """A prompt, from its file.

    Raises:
        Unreadable: it is none.
    """
    text = sources.decode(data)
    fields, body = front_matter.split(text)
    if fields is None:
        fields, body = {}, text
    stem = path.rpartition("/")[2].removesuffix(".md")
    name = fields.get("name")
    title, description, tags = fields.get("title"), fields.get("description"), fields.get("tags")
    name = stem if name is None else str(name)
    content = str(fields["text"]) if fields.get("text") and not body.strip() else _read_body(body)
    entry = PromptEntry(
        name=name,
        title=name if title is None else str(title),
        content=content,
        description=None if description is None else str(description) or None,
        tags=tuple(str(one) for one in tags) if isinstance(tags, list) else tuple(str(tags).split()) if tags else (),
        arguments=tuple(read_arguments(fields.get("arguments"))),
        where=where,
    )
    return clean_prompt(entry)


def _read_body(body: str) -> str:
    """The text of a prompt: what follows the front matter, without the line break that every file ends with."""
    return body[:-2] if body.endswith("\r\n") else body.removesuffix("\n")


def read_arguments(given: object) -> list[Argument]:
    """The arguments of a prompt exactly as `export` writes them; a plain text is the name of one.

    Raises:
        Unreadable: they are no list of arguments.
    """
    if given is None:
        return []
    if not isinstance(given, list):
        raise Unreadable("its arguments must be a list")
    return [_read_argument(one) for one in given]


def _read_argument(given: object) -> Argument:
    if not isinstance(given, dict):
        return Argument(str(given), None, True)
    description, values = given.get("description"), given.get("values")
    return Argument(
        str(given.get("name", "")),
        None if description is None else str(description),
        given.get("required") is not False,
        tuple(str(one) for one in values) if isinstance(values, list) else (),
        is_open=given.get("open") is True,
    )


def clean_prompt(entry: PromptEntry) -> PromptEntry:
    """A prompt as the store keeps it.

    Raises:
        Unreadable: a value breaks a rule.
    """
    try:
        rules.clean_name("prompt", entry.name or "")
        return replace(
            entry,
            title=rules.clean_title("prompt", entry.title),
            content=rules.clean_prompt_content("prompt", entry.content),
            description=None if entry.description is None else rules.clean_description("prompt", entry.description),
            tags=tuple(rules.clean_tags("prompt", entry.tags)),
            arguments=tuple(rules.clean_arguments("prompt", entry.arguments)),
        )
    except Refused as refused:
        raise Unreadable(explain(refused)) from None


def explain(refused: Refused) -> str:
    """Why the store does not take a value."""
    field, rule = getattr(refused, "field", ""), getattr(refused, "rule", "")
    limit = getattr(refused, "limit", "")
    words = {
        "minLength": f"its {field} is empty",
        "maxLength": f"its {field} has more than {limit} characters",
        "maxBytes": f"its {field} has more than {limit} bytes",
        "maxItems": f"it has more than {limit} {field}",
        "hidden": f"its {field} has a character that does not show: {getattr(refused, 'value', '')}",
        "type": f"its {field} has NUL or half a character in it, which no store keeps",
        "pattern": f"its {field} cannot be {getattr(refused, 'value', '')!r}",
        "format": f"its {field} cannot be {getattr(refused, 'value', '')!r}",
    }
    return words.get(rule) or f"the store does not take it: {refused}"
