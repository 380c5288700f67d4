"""`satchel resource`: add, list, show, edit, delete and search resources, the documents of a project."""

import re
import sys
from base64 import b64decode, b64encode
from typing import Any

import click

from satchel.cli import content as contents
from satchel.cli import items, moving
from satchel.cli.lists import page_options, show_list, show_notes
from satchel.cli.printing import show_content, to_json
from satchel.cli.store import Session, command
from satchel.errors import WrongArgument
from satchel.services import mime_types, rules

_COLUMNS = ("NAME", "URI", "TYPE", "BYTES", "DESCRIPTION", "FROM")
_URI = r"[A-Za-z][A-Za-z0-9+.-]*:\S+"


@click.group()
def cli() -> None:
    """Add, list, show, edit and delete resources: named documents with a URI, text or binary.

    REF is a name or a URI.
    """


@cli.command(epilog=contents.HELP)
@click.argument("name")
@click.argument("rest", metavar="[URI] [CONTENT]", nargs=-1)
@click.option("--uri", "uri", metavar="URI", help="Its URI; else satchel://resource/NAME.")
@click.option("--mime-type", metavar="TYPE", help="Its type; else by the name of the file, or of the document.")
@click.option("--description", metavar="TEXT", help="What it is, in a line.")
@command(needs_project=False)
def add(
    session: Session, name: str, rest: tuple[str, ...], uri: str | None, mime_type: str | None, description: str | None
) -> None:
    """Add a resource. A single word like file:///x.md after NAME is its URI; anything else is its content."""
    first_uri, content = _split(rest, uri)
    raw = contents.read(content)
    kind = mime_type or guess_type(name, content, raw)
    answer = session.call(
        "add_resource",
        name=name,
        content=_encode(raw, kind),
        uri=uri or first_uri,
        mime_type=kind,
        description=description,
    )
    row = answer.value["resource"]
    size = "1 byte" if row["size"] == 1 else f"{row['size']} bytes"
    text = f"Added resource '{row['name']}' ({kind}, {size}) to project '{answer.value['project']}'."
    session.say(text, answer.value)
    if not session.as_json:
        show_notes(answer.notes)


@cli.command("list")
@click.option("--search", "query", metavar="TEXT", help="Only with this text in name, URI or description.")
@command(needs_project=False, reads=True)
@page_options
def list_(session: Session, query: str | None, page: Any) -> None:
    """List resources, the oldest first."""
    _show_page(session, query, page)


@cli.command()
@click.argument("query", metavar="TEXT")
@command(needs_project=False, reads=True)
@page_options
def search(session: Session, query: str, page: Any) -> None:
    """List resources with a text in name, URI or description. `satchel search` finds words in their contents."""
    _show_page(session, query, page)


@cli.command()
@click.argument("ref")
@click.option("--lines", metavar="A-B", help="Only these lines, as 10-40.")
@click.option("--heading", metavar="TEXT", help="Only the section with this heading.")
@command(needs_project=False, reads=True)
def show(session: Session, ref: str, lines: str | None, heading: str | None) -> None:
    """Print the content of a resource, byte for byte; with --json what there is to know about it."""
    is_part = lines is not None or heading is not None
    answer = session.call("read_resource", resource=ref, lines=lines, heading=heading, whole=None if is_part else True)
    document = answer.value["resource"]
    if session.as_json:
        click.echo(to_json(answer.value))
    elif "text" in document:
        show_content(document["text"])
    elif sys.stdout.isatty():
        raise click.ClickException(f"'{ref}' is binary ({document['mime_type']}); send it to a file: … > FILE")
    else:
        click.echo(_find_bytes(answer.content), nl=False)


@cli.command(epilog=contents.HELP)
@click.argument("ref")
@click.argument("content", required=False)
@click.option("--mime-type", metavar="TYPE", help="Another type.")
@click.option("--description", metavar="TEXT", help="Another description; '' takes it away.")
@click.option("--version", "version", type=click.IntRange(1), metavar="N", help="Only if this is still its version.")
@command(needs_project=False)
def edit(
    session: Session,
    ref: str,
    content: str | None,
    mime_type: str | None,
    description: str | None,
    version: int | None,
) -> None:
    """Change a resource: what is given of it, or its text in the editor."""
    patch = {"mime_type": mime_type, "description": description}
    if content is not None or (mime_type is None and description is None):
        old = session.call("read_resource", resource=ref, whole=True).value["resource"]
        if content is None and "text" not in old:
            raise click.UsageError(f"'{ref}' is binary; give its new content as @FILE or - for stdin.")
        raw = contents.read(content, editing=None if content is not None else old["text"])
        patch["content"] = _encode(raw, mime_type or old["mime_type"])
    answer = session.call("update_resource", resource=ref, **patch, expected_version=version)
    name, project = answer.value["resource"]["name"], answer.value["project"]
    session.say(f"Changed resource '{name}' in project '{project}'.", answer.value)


def guess_type(name: str, content: str | None, raw: bytes) -> str:
    """Return the MIME type by the name of the file, else of the document, else by whether its bytes are a text."""
    is_file = content is not None and content.startswith("@") and not content.startswith("@@")
    is_text = rules.is_storable(contents.decode(raw))
    return mime_types.guess_with_content(str(content) if is_file else name, is_text=is_text)


def _split(rest: tuple[str, ...], uri: str | None) -> tuple[str | None, str | None]:
    """The URI and the content among the words after NAME."""
    if len(rest) > (2 if uri is None else 1):
        raise click.UsageError(f"Got unexpected extra argument ({rest[-1]}). Put CONTENT with spaces into quotes.")
    if len(rest) == 2:
        return rest[0], rest[1]
    if len(rest) == 1 and uri is None and re.fullmatch(_URI, rest[0]):
        return rest[0], None
    return None, rest[0] if rest else None


def _encode(raw: bytes, mime_type: str) -> str:
    """A content as the tools take it: a text, or base64 for a type that is none.

    Raises:
        WrongArgument: it is no text, though its type says so.
    """
    if not rules.is_text(mime_type):
        return b64encode(raw).decode()
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise WrongArgument("content", "contentEncoding", value=mime_type, kind="resource") from None


def _find_bytes(content: list[dict[str, Any]]) -> bytes:
    """The bytes of a binary document, which only the content of an answer has."""
    for block in content:
        encoded = block.get("data") or block.get("resource", {}).get("blob")
        if encoded is not None:
            return b64decode(encoded)
    return b""


def _show_page(session: Session, query: str | None, page: Any) -> None:
    answer = session.list("list_resources", "resources", page, query=query)
    rows = [
        [
            one["name"],
            one.get("uri") or f"satchel://resource/{one['name']}",
            one.get("mime_type") or mime_types.guess(one["name"]),
            str(one["size"]),
            one.get("description", ""),
            one.get("from", ""),
        ]
        for one in answer.value["resources"]
    ]
    project = answer.value["project"]
    empty = f"No resources match in project '{project}'. Show all with: satchel resource list -p {project}"
    if not query:
        empty = f"No resources in project '{project}' yet. Add one: satchel resource add notes.md 'What I know.'"
    show_list(session, answer, _COLUMNS, rows, empty=empty)


items.add_commands(cli, "resource")
moving.add_commands(cli, "resource")
