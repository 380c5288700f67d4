"""`satchel resource`: add, list, show, edit and delete resources."""

import sys
from collections.abc import Callable
from typing import Any

import click

from satchel.cli import content as contents
from satchel.cli.store import Session, as_json, command, fields
from satchel.errors import WrongArgument
from satchel.model import Resource
from satchel.services import resources, rules


@click.group()
def cli() -> None:
    """Add, list, show, edit and delete resources: named documents with a URI, text or binary."""


@cli.command(epilog=contents.HELP)
@click.argument("name")
@click.argument("uri")
@click.argument("content", required=False)
@click.option("--mime-type", metavar="TYPE", help="Its type; else told by the name of the file, else text/plain.")
@click.option("--description", help="What it is, in a line.")
@command()
def add(
    session: Session, name: str, uri: str, content: str | None, mime_type: str | None, description: str | None
) -> None:
    """Add a resource."""
    rules.check_name("resource", name)
    rules.check_text("uri", uri)
    rules.check_uri(uri)
    raw = contents.read(content)
    kind = guessed(content, raw) if mime_type is None else mime_type
    with session.write() as tx:
        resource = resources.add(
            tx, session.scope, name=name, uri=uri, content=given(raw), mime_type=kind, description=description
        )
    size = "1 byte" if resource.size == 1 else f"{resource.size} bytes"
    told = f"Added resource '{name}' ({kind}, {size}) to project '{session.scope.project}'."
    session.say(told, head(session, resource))


@cli.command("list")
@command()
def list_(session: Session) -> None:
    """List resources, the oldest first."""
    with session.read() as tx:
        found = resources.listed(tx, session.scope)
    rows = [(one.name, one.uri, one.mime_type, str(one.size)) for one in found]
    value = {"resources": [fields(one, "content") for one in found], "total": len(found)}
    session.table(("NAME", "URI", "TYPE", "BYTES"), rows, value)


@cli.command()
@click.argument("name")
@command()
def show(session: Session, name: str) -> None:
    """Print the content of a resource, byte for byte; with --json everything about it."""
    with session.read() as tx:
        resource = resources.named(tx, session.scope, name)
    if session.as_json:
        click.echo(as_json({**head(session, resource), "content": resource.content}))  # bytes come out as base64
    elif isinstance(resource.content, str):
        contents.show(resource.content)
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
    changes: dict[str, Any] = {}
    if mime_type is not None:
        changes["mime_type"] = mime_type
    if description is not None:
        rules.check_text("description", description)
        changes["description"] = description
    if content is not None or not changes:
        changes["content"] = given(contents.read(content, editing=editable(session, name)))
    with session.write() as tx:
        resource = resources.update(tx, session.scope, name, **changes)
    session.say(f"Changed resource '{name}' in project '{session.scope.project}'.", head(session, resource))


@cli.command()
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@command()
def delete(session: Session, names: tuple[str, ...]) -> None:
    """Delete resources for good: all that are named, or none."""
    with session.write() as tx:
        for name in dict.fromkeys(names):
            resources.delete(tx, session.scope, name)
    told = ", ".join(f"'{name}'" for name in dict.fromkeys(names))
    session.say(
        f"Deleted resource {told} from project '{session.scope.project}'.", {"deleted": list(dict.fromkeys(names))}
    )


def head(session: Session, resource: Resource) -> dict[str, Any]:
    """Everything about a resource but its content."""
    return {"project": session.scope.project, **fields(resource, "content")}


def given(content: bytes) -> Callable[[str], str | bytes]:
    """A content as its MIME type will have it."""
    return lambda mime_type: contents.text(content) if rules.is_text(mime_type) else content


def guessed(content: str | None, raw: bytes) -> str:
    """The MIME type that the name of a file tells, else what its bytes look like."""
    if content is None or not content.startswith("@") or content.startswith("@@"):
        return "text/plain"
    import mimetypes  # only for files

    types = mimetypes.MimeTypes()  # our own copy: the machine's tables would make it differ from place to place
    types.add_type("text/markdown", ".md")
    types.add_type("application/yaml", ".yaml")
    types.add_type("application/yaml", ".yml")
    types.add_type("application/toml", ".toml")
    told, compression = types.guess_type(content[1:])
    if compression is not None:
        kinds = {"gzip": "application/gzip", "bzip2": "application/x-bzip2", "xz": "application/x-xz"}
        return kinds.get(compression, "application/octet-stream")
    if told is not None:
        return told
    try:
        contents.text(raw)
    except WrongArgument:
        return "application/octet-stream"
    return "text/plain"


def editable(session: Session, name: str) -> str:
    """The text that the editor starts with."""
    with session.read() as tx:
        resource = resources.named(tx, session.scope, name)
    if not isinstance(resource.content, str):
        raise click.UsageError(f"'{name}' is binary; give its new content as @FILE or - for stdin.")
    return resource.content
