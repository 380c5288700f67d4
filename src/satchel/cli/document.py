"""`satchel document`: add, list, show, edit and delete documents; `satchel remember`: add a line to `memory.md`."""

import os
import re
import shlex
import sys
from base64 import b64decode, b64encode
from typing import Any

import click

from satchel.cli.completion import DOCUMENT
from satchel.cli.examples import Command, Group
from satchel.cli.items import CONTENT_HELP, add_commands, age_options, expected_version_option, read_content
from satchel.cli.output import count
from satchel.cli.session import Session, command, page_options
from satchel.errors import WrongArgument
from satchel.model import uri_of
from satchel.services import rules
from satchel.services.documents import guess_type

_COLUMNS = ("NAME", "URI", "TYPE", "BYTES", "DESCRIPTION", "FROM")
_URI = r"[A-Za-z][A-Za-z0-9+.-]*:\S+"


@click.group(cls=Group)
def cli() -> None:
    """Add, list, show, edit and delete documents: texts or binary files with a name and a URI.

    REF is a name or a URI.
    """


@cli.command(epilog=CONTENT_HELP)
@click.argument("name")
@click.argument("rest", metavar="[URI] [CONTENT]", nargs=-1)
@click.option("--uri", "uri", metavar="URI", help="Its URI.  [default: satchel://resource/NAME]")
@click.option(
    "--mime-type", metavar="TYPE", help="Its MIME type.  [default: from its name, else from that of the file]"
)
@click.option("--description", metavar="TEXT", help="A description in one line.")
@command()
def add(
    session: Session, name: str, rest: tuple[str, ...], uri: str | None, mime_type: str | None, description: str | None
) -> None:
    """Add a document. A single word like file:///x.md after NAME is its URI; anything else is its content."""
    if name.startswith("@") and not rest:
        again = shlex.join(["satchel", "document", "add", os.path.basename(name[1:]), name])
        raise click.UsageError(f"NAME is missing. Try '{again}'.")
    first_uri, content = _split(rest, uri)
    if first_uri and content is None and not sys.stdin.isatty():
        raise click.UsageError(
            f"{first_uri} was read as the URI, so CONTENT is missing. Give CONTENT as text, @FILE, or - for stdin."
        )
    raw = read_content(content)
    kind = mime_type or _guess_type(name, content, raw)
    answer = session.call(
        "add_resource",
        name=name,
        content=_encode(raw, kind),
        uri=uri or first_uri,
        mime_type=kind,
        description=description,
    )
    row = answer.value["resource"]
    size = count(row["size"], "byte")
    text = f"Added document '{row['name']}' ({kind}, {size}) to project '{answer.value['project']}'."
    session.say(text, answer)


@cli.command("list")
@click.option("--search", "query", metavar="TEXT", help="Only with this text in name, URI or description.")
@command(reads=True)
@page_options
def list_(session: Session, query: str | None, limit: int | None) -> None:
    """List documents, oldest first; with -p all, those of all projects. `satchel search` finds words in them."""
    answer = session.list("list_resources", "resources", limit, query=query, project=session.everywhere)
    rows = [
        [
            one["name"],
            one.get("uri") or uri_of("document", one["name"], one.get("project", "")),
            one.get("mime_type") or guess_type(one["name"]),
            str(one["size"]),
            one.get("description", ""),
            one.get("from") or one.get("project", ""),
        ]
        for one in answer.value["resources"]
    ]
    project = answer.value["project"]
    empty = f"No documents match in project '{project}'. Show all with: satchel document list -p {project}"
    if not query:
        empty = f"No documents in project '{project}' yet. Add one: satchel document add notes.md 'What I know.'"
    session.show_list(answer, _COLUMNS, rows, empty=empty)


@cli.command()
@click.argument("ref", type=DOCUMENT)
@click.option("--lines", metavar="A-B", help="Only these lines, such as 10-40.")
@click.option("--heading", metavar="TEXT", help="Only the section with this heading.")
@command(reads=True)
def show(session: Session, ref: str, lines: str | None, heading: str | None) -> None:
    """Print the content of a document, byte for byte; with --json everything about it."""
    is_part = lines is not None or heading is not None
    answer = session.call("read_resource", resource=ref, lines=lines, heading=heading, whole=None if is_part else True)
    document = answer.value["resource"]
    if session.as_json or "text" in document:
        session.show(document.get("text", ""), answer)
    elif sys.stdout.isatty():
        raise click.ClickException(f"'{ref}' is binary ({document['mime_type']}). Write it to a file with: … > FILE")
    else:
        click.echo(_find_bytes(answer.content), nl=False)


@cli.command(epilog=CONTENT_HELP)
@click.argument("ref", type=DOCUMENT)
@click.argument("content", required=False)
@click.option("--name", metavar="NAME", help="Rename it.")
@click.option("--mime-type", metavar="TYPE", help="Another type.")
@click.option("--description", metavar="TEXT", help="The new description; '' removes it.")
@age_options
@expected_version_option
@command()
def edit(
    session: Session,
    ref: str,
    content: str | None,
    name: str | None,
    mime_type: str | None,
    description: str | None,
    version: int | None,
    *,
    expires: str | None,
    replaced_by: str | None,
) -> None:
    """Change the given parts of a document, or its text in the editor."""
    ages = {"expires": expires, "replaced_by": replaced_by}
    patch = {"name": name, "mime_type": mime_type, "description": description, **ages}
    if content is not None or all(value is None for value in patch.values()):
        old = session.call("read_resource", resource=ref, whole=True).value["resource"]
        if content is None and "text" not in old:
            raise click.UsageError(f"'{ref}' is binary; give its new content as @FILE or - for stdin.")
        raw = read_content(content, editing=None if content is not None else old["text"])
        patch["content"] = _encode(raw, mime_type or old["mime_type"])
    answer = session.call("update_resource", resource=ref, **patch, expected_version=version)
    project = answer.value["project"]
    session.say(f"{answer.change} document '{answer.value['resource']['name']}' in project '{project}'.", answer)


def _guess_type(name: str, content: str | None, raw: bytes) -> str:
    """Guess the MIME type from the document's name, or else the file's name, or else the bytes."""
    file = content if content is not None and content.startswith("@") and not content.startswith("@@") else ""
    is_text = rules.is_storable(raw.decode(errors="surrogateescape"))
    return guess_type(name, file, is_text=is_text)


def _split(rest: tuple[str, ...], uri: str | None) -> tuple[str | None, str | None]:
    """Split the words after NAME into URI and content."""
    if len(rest) > (2 if uri is None else 1):
        raise click.UsageError(f"Got unexpected extra argument ({rest[-1]}). Put CONTENT with spaces into quotes.")
    if len(rest) == 2:
        return rest[0], rest[1]
    if len(rest) == 1 and uri is None and re.fullmatch(_URI, rest[0]):
        return rest[0], None
    return None, rest[0] if rest else None


def _encode(raw: bytes, mime_type: str) -> str:
    """Return content in the form that the tools accept: text, or base64 for a binary type.

    Raises:
        WrongArgument: the type is a text type, but the bytes are not UTF-8.
    """
    if not rules.is_text(mime_type):
        return b64encode(raw).decode()
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise WrongArgument("content", "contentEncoding", value=mime_type, kind="document") from None


def _find_bytes(content: list[dict[str, Any]]) -> bytes:
    """Return the bytes of a binary document, which are only in the content blocks of an answer."""
    for block in content:
        encoded = block.get("data") or block.get("resource", {}).get("blob")
        if encoded is not None:
            return b64decode(encoded)
    return b""


add_commands(cli, "document")


@click.command(cls=Command)
@click.argument("text")
@command(as_user=True)
def remember(session: Session, text: str) -> None:
    """Remember TEXT, one line, in the document memory.md of the project; agents read it when they catch up.

    The project personal is for what holds in all projects.
    """
    answer = session.call("remember", text=text)
    line, project = answer.value["line"], answer.value["project"]
    said = f"Added to memory.md of project '{project}': {line}"
    session.say(
        said
        if answer.value["added"]
        else f"Nothing was added, because memory.md of project '{project}' has this line: {line}",
        answer,
    )
