"""Documents: the tools that add, list, read, update and delete them, and how answers describe one."""

from typing import Any

from msgspec import UNSET

from satchel.contracts.content import encode_document, format_count, format_minute
from satchel.contracts.contract import Body, Context, Reply
from satchel.contracts.satchel import answers, texts, tools
from satchel.contracts.satchel.answers import decode_cursor
from satchel.contracts.satchel.methods import GeneratedPage, read_page
from satchel.contracts.satchel.texts import Reading
from satchel.contracts.satchel.tools import DocumentAnswer
from satchel.errors import WrongArgument
from satchel.model import Document, DocumentDraft, DocumentPatch, uri_of
from satchel.protocol import cursors
from satchel.services import documents, layers, links, lookup
from satchel.services.rules import check_shown


def add_resources(context: Context, args: tools.AddResources) -> Body:
    def add(entry: tools.NewDocument) -> tuple[DocumentAnswer, str, list[str]]:
        document, notes = _add(context, entry)
        row = make_row(document, is_echo=True)
        return row, format_row(row), notes

    reply = answers.add_all(context, "resources", args.resources, args.key, add)
    return answers.add_notes(reply, texts.describe_new_links(context, [one.content for one in args.resources]))


def add_resource(context: Context, args: tools.AddResource) -> Body:
    document, notes = _add(context, args)
    row, notes = make_row(document, is_echo=True), notes + texts.describe_new_links(context, [args.content])
    return answers.reply_echo(context, "Added to", format_row(row), notes, resource=row)


def list_resources(context: Context, args: tools.ListResources) -> Body:
    where = answers.list_everywhere(context, args.project)
    last = decode_cursor(args.cursor, *(("r", "y") if where is None else ("b",)))
    number = int(last[1]) if last else None
    if where is None:
        after = layers.Position(number, is_personal=last is not None and last[0] == "y")
        found, has_more = layers.list_documents(
            context.tx, context.scope, args.query or "", limit=args.limit, after=after
        )
    else:
        found, has_more = documents.list_everywhere(
            context.tx, where, args.query or "", limit=args.limit, after=number or 0
        )
    rows = [make_row(one, (where or {}).get(one.project, "")) for one in found]
    rows, found, has_more = answers.fit_page(rows, found, has_more=has_more)
    name = "b" if where is not None else "y" if has_more and found[-1].layer else "r"
    return answers.reply_page(
        context,
        "documents",
        [format_row(row) for row in rows],
        where=context.scope.project if where is None else None,
        next_cursor=cursors.encode_cursor(name, found[-1].number) if has_more else None,
        is_narrowed=bool(args.query),
        is_continued=last is not None,
        notes=answers.describe_everywhere(where) if last is None else (),
        resources=rows,
    )


def read_resource(context: Context, args: tools.ReadResource) -> Body:
    named = args.project or lookup.split_project(args.resource)[0]
    context, reference = answers.follow(context, args.resource)
    page = read_page(context, reference.strip())
    if page is not None:
        return _reply_page(context, reference.strip(), page, _read_part(page.text, page.mime_type, args))
    document = layers.find_document(context.tx, context.scope, reference)
    if isinstance(document.content, bytes):
        if args.lines or args.heading:
            raise WrongArgument("lines" if args.lines else "heading", "contentEncoding", value=document.mime_type)
        return _reply_binary(context, document)
    assert document.content is not None, "it was read whole"
    read = _read_part(document.content, document.mime_type, args)
    answer = _describe(context, document, read)
    uri = uri_of("document", document.name, document.layer or context.scope.project) if named else document.uri
    link = texts.make_link(uri, document.name, document.mime_type, document.size)
    return texts.reply_text(context, read, _format_facts(answer, read), link, resource=answer)


def update_resource(context: Context, args: tools.UpdateResource) -> Body:
    context, reference = answers.follow(context, args.resource)
    seen = layers.find_document(context.tx, context.scope, reference, to_change=True)
    successor = answers.none_if_empty(args.replaced_by)
    patch = DocumentPatch(
        name=args.name if args.name is UNSET else documents.make_name(args.name) or args.name,
        content=args.content,
        mime_type=args.mime_type,
        description=args.description,
        expires=answers.none_if_empty(args.expires),
        replaced_by=layers.find_replacement(context.tx, context.scope, seen, successor),
    )
    document = documents.update(context.tx, context.scope, seen.name, patch, args.expected_version or None)
    row, done = make_row(document, is_echo=True), "Unchanged in" if document.version == seen.version else "Updated in"
    notes = _describe_renaming(context, seen, document)
    if isinstance(document.content, str) and isinstance(seen.content, str):
        notes += texts.describe_missing(context, [(context.scope.project, document.content, seen.content)])
    return answers.reply_echo(context, done, format_row(row), notes, resource=row)


def _describe_renaming(context: Context, before: Document, after: Document) -> list[str]:
    """Say that a document was renamed, and which items still link to its old name or include it."""
    if after.name == before.name:
        return []
    notes = [f"{before.name} was renamed to {after.name}."]
    if linking := links.referrers(context.tx, context.scope, "document", before, context.here):
        named = ", ".join(one.reference for one in linking)
        notes.append(f"Correct the items that still refer to {before.name}: {named}.")
    return notes


def _add(context: Context, new: tools.NewDocument | tools.AddResource) -> tuple[Document, list[str]]:
    """Add a document; return it, and a note if its name differs from the given one."""
    given, uri = new.name.strip(), (new.uri or "").strip()
    name = documents.make_name(given) or given  # the rule about names refuses this one
    check_shown("document", "uri", uri)
    draft = DocumentDraft(
        name=name,
        uri=uri or uri_of("document", name),
        content=new.content,
        mime_type=(new.mime_type or "").strip() or documents.guess_type(name),
        description=(new.description or "").strip() or None,
    )
    document = documents.add(context.tx, context.scope, draft)
    if given == name:
        return document, []
    from satchel.contracts.satchel.guesses import shorten_name  # needed only after such a name

    return document, [f"'{shorten_name(given)}' is named {name}: names can have letters, digits, - _ and . only."]


def _read_part(text: str, mime_type: str, args: tools.ReadResource) -> Reading:
    has_headings = texts.can_have_headings(mime_type)
    return texts.read_part(text, args.lines, args.heading, is_whole=args.whole is True, has_headings=has_headings)


def make_row(document: Document, project: str = "", *, is_echo: bool = False) -> DocumentAnswer:
    """Return the row that describes a document in a list or an echo of a change; `project` is for lists of all."""
    return DocumentAnswer(
        name=document.name,
        layer=document.layer,
        project=project,
        size=document.size,
        version=document.version if is_echo else 0,
        uri=_other_uri(document),
        mime_type=None if document.mime_type == documents.guess_type(document.name) else document.mime_type,
        description=answers.shorten(document.description) if document.description and not is_echo else None,
        expires=document.expires,
        replaced_by=document.replaced_by,
    )


def format_row(row: DocumentAnswer) -> str:
    """Return a row as a line."""
    facts = [row.uri, format_count(row.size or 0, "byte"), row.mime_type]
    facts.append(f"version {row.version}" if row.version else None)
    facts += answers.describe_age(row, tells_future=bool(row.version))
    facts.append(f"from {row.layer}" if row.layer else None)
    about = f": {row.description}" if row.description else ""
    return f"- {row.name} ({', '.join(filter(None, facts))}){f' @{row.project}' if row.project else ''}{about}"


def _reply_binary(context: Context, document: Document) -> Reply:
    """Answer with bytes: image or audio content, which clients show, or an embedded resource.

    Only the content has the bytes: a model that is shown the structured answer cannot read them from base64.
    """
    answer = _describe(context, document, None)
    encoded = encode_document(document)
    kind = document.mime_type.partition("/")[0].lower()
    block: dict[str, Any] = {"type": "resource", "resource": encoded}
    if kind == "image" or (kind == "audio" and context.revision.has_audio):
        block = {"type": kind, "data": encoded["blob"], "mimeType": document.mime_type}
    reply = answers.reply(context, _format_facts(answer, None), resource=answer)
    return Reply([*reply.content, block], reply.structured)  # some clients show only text blocks


def _reply_page(context: Context, uri: str, page: GeneratedPage, read: Reading) -> Reply:
    """Answer with a page behind a satchel:// URI."""
    size = len(page.text.encode())
    answer = DocumentAnswer(
        name=uri, mime_type=page.mime_type, size=size, version=page.version, text=read.text, **read.members
    )
    link = texts.make_link(uri, uri, page.mime_type, size)
    facts = _format_facts(answer, read)
    return texts.reply_text(context, read, facts, link, project=page.project, resource=answer)


def _describe(context: Context, document: Document, read: Reading | None) -> DocumentAnswer:
    members: dict[str, Any] = {"name": document.name, "layer": document.layer, "version": document.version}
    members |= {"expires": document.expires, "replaced_by": document.replaced_by}
    members |= {"text": read.text, **read.members} if read else {}
    if read and read.is_part:
        return DocumentAnswer(**members)
    linked, linked_from = texts.find_links(context, "document", document)
    return DocumentAnswer(
        **members,
        mime_type=document.mime_type,
        size=document.size,
        uri=_other_uri(document),
        description=document.description,
        created=format_minute(document.created_at),
        updated=format_minute(document.updated_at),
        links=linked,
        linked_from=linked_from,
    )


def _other_uri(document: Document) -> str | None:
    return None if document.uri == uri_of("document", document.name) else document.uri


def _format_facts(answer: DocumentAnswer, read: Reading | None) -> str:
    lines = [f"uri: {answer.uri}"] if answer.uri else []
    lines += [f"description: {answer.description}"] if answer.description else []
    size = f"{format_count(answer.size or 0, 'byte')} of {answer.mime_type}" if answer.mime_type else ""
    return texts.format_facts("document", answer, read, lines, size)
