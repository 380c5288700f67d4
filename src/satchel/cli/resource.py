"""`satchel resource`: add, list, show, edit and delete resources."""

import sys
from typing import Any

import click
from msgspec.structs import replace

from satchel.cli import content as contents
from satchel.cli import moving
from satchel.cli.printing import show_content, to_json
from satchel.cli.store import Session, command, fields, given, say_deleted
from satchel.model import Resource, ResourceDraft, ResourcePatch
from satchel.services import resources, rules


@click.group()
def cli() -> None:
    """Add, list, show, edit and delete resources: named documents with a URI, text or binary."""


@cli.command(epilog=contents.HELP)
@click.argument("name")
@click.argument("uri")
@click.argument("content", required=False)
@click.option("--mime-type", metavar="TYPE", help="Its type; else guessed from the name of the file, else text/plain.")
@click.option("--description", help="What it is, in a line.")
@command()
def add(
    session: Session, name: str, uri: str, content: str | None, mime_type: str | None, description: str | None
) -> None:
    """Add a resource."""
    raw = contents.read(content)
    kind = guess_type(content, raw) if mime_type is None else mime_type
    draft = ResourceDraft(name=name, uri=uri, content=raw, mime_type=kind, description=description)
    with session.write() as tx:
        resource = resources.add(tx, session.scope, draft)
    size = "1 byte" if resource.size == 1 else f"{resource.size} bytes"
    text = f"Added resource '{name}' ({kind}, {size}) to project '{session.scope.project}'."
    session.say(text, describe(session, resource))


@cli.command("list")
@command(reads=True)
def list_(session: Session) -> None:
    """List resources, the oldest first."""
    with session.read() as tx:
        found = resources.list_all(tx, session.scope)
    rows = [(one.name, one.uri, one.mime_type, str(one.size)) for one in found]
    value = {"resources": [fields(one, "content") for one in found], "total": len(found)}
    session.table(("NAME", "URI", "TYPE", "BYTES"), rows, value)


@cli.command()
@click.argument("name")
@command(reads=True)
def show(session: Session, name: str) -> None:
    """Print the content of a resource, byte for byte; with --json everything about it."""
    with session.read() as tx:
        resource = resources.get_by_name(tx, session.scope, name)
    if session.as_json:
        click.echo(to_json({**describe(session, resource), "content": resource.content}))  # bytes come out as base64
    elif isinstance(resource.content, str):
        show_content(resource.content)
    elif sys.stdout.isatty():
        raise click.ClickException(f"'{name}' is binary ({resource.mime_type}); send it to a file: … > FILE")
    else:
        click.echo(resource.content, nl=False)


@cli.command(epilog=contents.HELP)
@click.argument("name")
@click.argument("content", required=False)
@click.option("--mime-type", metavar="TYPE", help="Another type.")
@click.option("--description", help="Another description; '' takes it away.")
@command()
def edit(session: Session, name: str, content: str | None, mime_type: str | None, description: str | None) -> None:
    """Change a resource: what is given of it, or its text in the editor."""
    patch = ResourcePatch(mime_type=given(mime_type), description=given(description))
    if content is not None or patch == ResourcePatch():
        editing = None if content is not None else read_text(session, name)
        patch = replace(patch, content=contents.read(content, editing=editing))
    with session.write() as tx:
        resource = resources.update(tx, session.scope, name, patch)
    session.say(f"Changed resource '{name}' in project '{session.scope.project}'.", describe(session, resource))


@cli.command()
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@command()
def delete(session: Session, names: tuple[str, ...]) -> None:
    """Delete resources: all that are named, or none. `satchel restore` brings them back."""
    deleted = list(dict.fromkeys(names))
    with session.write() as tx:
        for name in deleted:
            resources.delete(tx, session.scope, name)
    quoted = ", ".join(f"'{name}'" for name in deleted)
    text = f"Deleted resource {quoted} from project '{session.scope.project}'."
    say_deleted(session, text, "resource", deleted, {"deleted": deleted})


def describe(session: Session, resource: Resource) -> dict[str, Any]:
    """Everything about a resource but its content."""
    return {"project": session.scope.project, **fields(resource, "content")}


def guess_type(content: str | None, raw: bytes) -> str:
    """The MIME type by the name of the file, else by whether its bytes are a text."""
    if content is None or not content.startswith("@") or content.startswith("@@"):
        return "text/plain"
    import mimetypes  # only for files

    types = mimetypes.MimeTypes()  # without the machine's own tables, which differ between machines
    types.add_type("text/markdown", ".md")
    types.add_type("application/yaml", ".yaml")
    types.add_type("application/yaml", ".yml")
    types.add_type("application/toml", ".toml")
    guess, compression = types.guess_type(content[1:])
    if compression is not None:
        kinds = {"gzip": "application/gzip", "bzip2": "application/x-bzip2", "xz": "application/x-xz"}
        return kinds.get(compression, "application/octet-stream")
    if guess is not None:
        return guess
    return "text/plain" if rules.is_storable(contents.decode(raw)) else "application/octet-stream"


def read_text(session: Session, name: str) -> str:
    """The text that the editor starts with."""
    with session.read() as tx:
        resource = resources.get_by_name(tx, session.scope, name)
    if not isinstance(resource.content, str):
        raise click.UsageError(f"'{name}' is binary; give its new content as @FILE or - for stdin.")
    return resource.content


moving.add_commands(cli, "resource")
