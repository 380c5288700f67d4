"""How answers describe a prompt: a short row in lists and echoes, and the whole where one is read."""

from typing import Any

from msgspec import Struct, field

from satchel.contracts.content import join_lines
from satchel.contracts.contract import Context
from satchel.contracts.satchel import answers
from satchel.contracts.satchel.reading import Reading, find_links, format_links, format_time
from satchel.contracts.satchel.rendering import FoundPrompt
from satchel.library.manifest import LibraryPrompt
from satchel.model import Argument, Prompt, PromptSummary
from satchel.services.prompts import make_name


class PromptRow(Struct, omit_defaults=True):
    """A prompt in a list, or as the echo of a change; what is empty is left out, and a title that is the name."""

    name: str
    title: str | None = None
    version: int | None = None  # in echoes
    description: str | None = None
    tags: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()  # their names, optional ones with a question mark
    layer: str = field(default="", name="from")  # the personal project


class ArgumentAnswer(Struct, omit_defaults=True):
    """An argument of a prompt in an answer."""

    name: str
    description: str | None = None
    required: bool = False
    values: tuple[str, ...] = ()
    open: bool = False


class PromptAnswer(Struct, omit_defaults=True, kw_only=True):
    """A whole prompt; empty members are left out."""

    name: str
    layer: str = field(default="", name="from")  # the personal project
    title: str | None = None
    version: int | None = None  # library prompts have none: they change on disk
    description: str | None = None
    tags: tuple[str, ...] = ()
    arguments: tuple[ArgumentAnswer, ...] = ()
    created: str | None = None
    updated: str | None = None
    lines: str = ""
    of: int = 0
    outline: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    linked_from: tuple[str, ...] = ()
    content: str = ""


# -- rows -------------------------------------------------------------------------------------------------------


def echo_prompt(prompt: Prompt) -> PromptRow:
    """A prompt that was just written."""
    return PromptRow(
        prompt.name,
        None if prompt.title == prompt.name else prompt.title,
        version=prompt.version,
        tags=prompt.tags,
        arguments=_name_arguments(prompt.arguments),
    )


def list_prompt(prompt: PromptSummary) -> PromptRow:
    """A stored prompt in a list."""
    return PromptRow(
        prompt.name,
        None if prompt.title == prompt.name else prompt.title,
        description=answers.shorten(prompt.description) if prompt.description else None,
        tags=prompt.tags,
        arguments=_name_arguments(prompt.arguments),
        layer=prompt.layer,
    )


def list_library_prompt(name: str, prompt: LibraryPrompt) -> PromptRow:
    """A prompt of a library in a list."""
    about = answers.shorten(prompt.description) if prompt.description else None
    return PromptRow(name, description=about, arguments=_name_arguments(prompt.arguments))


def format_row(row: PromptRow) -> str:
    """A row as a line."""
    title = row.title if row.title and make_name(row.title) != row.name else None  # else the name says as much
    about = " - ".join(join_lines(one) for one in (title, row.description) if one)
    facts = (
        f"[{', '.join(row.tags)}]" if row.tags else "",
        f"({', '.join(row.arguments)})" if row.arguments else "",
        f"version {row.version}" if row.version else "",
        f"from {row.layer}" if row.layer else "",
    )
    return " ".join([f"- {row.name}{': ' if about else ''}{about}", *filter(None, facts)])


def _name_arguments(arguments: tuple[Argument, ...]) -> tuple[str, ...]:
    return tuple(one.name if one.is_required else f"{one.name}?" for one in arguments)


# -- whole prompts ----------------------------------------------------------------------------------------------


def describe_prompt(context: Context, found: FoundPrompt, reading: Reading) -> PromptAnswer:
    """A prompt of the store or of a library, with what is read of its content."""
    stored = found if isinstance(found, Prompt) else None
    if reading.is_part:
        version = stored.version if stored else None
        layer = stored.layer if stored else ""
        return PromptAnswer(name=found.name, layer=layer, version=version, content=reading.text, **reading.members)
    linked, linked_from = find_links(context, "prompt", stored) if stored else ((), ())
    return PromptAnswer(
        name=found.name,
        layer=stored.layer if stored else "",
        title=stored.title if stored else None,
        version=stored.version if stored else None,
        description=found.description,
        tags=stored.tags if stored else (),
        arguments=tuple(
            ArgumentAnswer(one.name, one.description, one.is_required, one.values, one.is_open)
            for one in found.arguments
        ),
        created=format_time(stored.created_at) if stored else None,
        updated=format_time(stored.updated_at) if stored else None,
        links=linked,
        linked_from=linked_from,
        content=reading.text,
        **reading.members,
    )


def name_rendered(found: FoundPrompt) -> dict[str, Any]:
    """Which prompt was filled in."""
    layer = found.layer if isinstance(found, Prompt) else ""
    return {"name": found.name, **({"from": layer} if layer else {})}


def format_facts(prompt: PromptAnswer, reading: Reading) -> str:
    """What the content of a prompt does not say about it."""
    head = [f"prompt {prompt.name}", *([f"from {prompt.layer}"] if prompt.layer else [])]
    if prompt.version is not None:
        head.append(f"version {prompt.version}")
    if prompt.updated is not None:
        head += [f"updated {prompt.updated}", f"created {prompt.created}"]
    lines = [f"[{', '.join(head)}]"]
    if prompt.title is not None and make_name(prompt.title) != prompt.name:
        lines.append(f"title: {join_lines(prompt.title)}")
    if prompt.description:
        lines.append(f"description: {prompt.description}")
    if prompt.tags:
        lines.append(f"tags: {', '.join(prompt.tags)}")
    if prompt.arguments:
        lines.append(f"arguments: {'; '.join(map(_format_argument, prompt.arguments))}")
    return "\n".join([*lines, *format_links(prompt.links, prompt.linked_from), *reading.facts])


def _format_argument(one: ArgumentAnswer) -> str:
    name = one.name if one.required else f"{one.name}?"
    values = f" = {' | '.join([*one.values, *(['...'] if one.open else [])])}" if one.values else ""
    return f"{name}{values}{f' ({join_lines(one.description)})' if one.description else ''}"
