"""Documents: the tools and MCP methods for the documents of a project."""

from collections.abc import Sequence
from typing import Any

from msgspec import UNSET

from satchel.contracts.content import BATCH, PageRows, count_fitting, encode_document, with_description
from satchel.contracts.contract import Body, Context, Reply, Result
from satchel.contracts.satchel import answers, document_answers, texts
from satchel.contracts.satchel.answers import answer_once, decode_cursor
from satchel.contracts.satchel.app import read_app_resource
from satchel.contracts.satchel.deleting import delete_one
from satchel.contracts.satchel.errors import TemplateFailed, UnknownName, name_in_errors, name_place, suggest
from satchel.contracts.satchel.pages import TEMPLATES, GeneratedPage, read_page
from satchel.contracts.satchel.tools import (
    AddResource,
    AddResources,
    ListResources,
    NewDocument,
    OneResource,
    ReadResource,
    UpdateResource,
)
from satchel.errors import Forbidden, NotFound, WrongArgument
from satchel.model import Document, DocumentDraft, DocumentPatch
from satchel.protocol import INVALID_PARAMS, ProtocolError, cursors
from satchel.services import documents, layers, mime_types, projects
from satchel.services.rules import check_shown

PAGE = 500  # entries of resources/list


def add_resources(context: Context, args: AddResources) -> Body:
    context = context.within(args.project)

    def add_all() -> Reply:
        answers.check_number("resources", args.resources)
        projects.current(context.tx, context.scope)  # before the first document: no place is to blame
        rows, notes = [], []
        for index, entry in enumerate(args.resources):
            with name_place(f"resources[{index}]"):
                document = documents.add(context.tx, context.scope, _read_draft(entry))
            notes += _describe_name(entry.name, document)
            rows.append(document_answers.echo_document(document))
            answers.report_progress(context, index + 1, len(args.resources))
        text = f"Added to project '{context.scope.project}':\n" + "\n".join(map(document_answers.format_row, rows))
        return answers.reply(text, {"project": context.scope.project, "resources": rows}, notes=notes)

    return answer_once(context, "add_resources", args.key, {"resources": args.resources}, add_all)


def add_resource(context: Context, args: AddResource) -> Body:
    context = context.within(args.project)
    document = documents.add(context.tx, context.scope, _read_draft(args))
    return _reply_echo("Added to", context, document, _describe_name(args.name, document))


def list_resources(context: Context, args: ListResources) -> Body:
    context = context.within(args.project)
    last = decode_cursor(args.cursor, "r", "y")
    after = layers.Position(int(last[1]), last[0] == "y") if last else layers.Position()
    found, has_more = layers.list_documents(context.tx, context.scope, args.query or "", limit=args.limit, after=after)
    rows = [document_answers.list_document(one) for one in found]
    fitting = count_fitting(rows)
    rows, found, has_more = rows[:fitting], found[:fitting], has_more or fitting < len(found)
    return answers.reply_page(
        "resources",
        context.scope.project,
        [document_answers.format_row(row) for row in rows],
        {"project": context.scope.project, "resources": rows},
        next_cursor=cursors.encode_cursor("y" if found[-1].layer else "r", found[-1].number) if has_more else None,
        is_narrowed=bool(args.query),
        is_continued=last is not None,
    )


def read_resource(context: Context, args: ReadResource) -> Body:
    context = context.within(args.project)
    uri = args.resource.strip()
    page = _read_own_page(context, uri)
    if page is not None:
        return document_answers.reply_page(uri, page, _read_part(page.text, page.mime_type, args))
    document = find_readable(context, args.resource)
    if isinstance(document.content, str):
        read = _read_part(document.content, document.mime_type, args)
        return document_answers.reply_document(context, document, read)
    if args.lines or args.heading:
        raise WrongArgument("lines" if args.lines else "heading", "contentEncoding", value=document.mime_type)
    return document_answers.reply_binary(context, document)


def update_resource(context: Context, args: UpdateResource) -> Body:
    context = context.within(args.project)
    seen = find_document(context, args.resource)
    with name_in_errors(seen.name):
        document = documents.update(
            context.tx,
            context.scope,
            seen.name,
            DocumentPatch(content=args.content, mime_type=args.mime_type, description=args.description),
            expected_version=None if args.expected_version is UNSET else args.expected_version,
        )
    return _reply_echo("Updated in", context, document)


def delete_resource(context: Context, args: OneResource) -> Body:
    context = context.within(args.project)
    document = find_document(context, args.resource)
    text = f"Deleted document '{document.name}' from project '{context.scope.project}'."
    return delete_one(context, document, context.scope.project, document.name, text)


# -- parts of tools ---------------------------------------------------------------------------------------------


def _read_draft(new: NewDocument | AddResource) -> DocumentDraft:
    given, uri = new.name.strip(), (new.uri or "").strip()
    name = documents.make_name(given) or given  # which the rule about names refuses
    check_shown("document", "uri", uri)
    return DocumentDraft(
        name=name,
        uri=uri or document_answers.URI + name,
        content=new.content,
        mime_type=(new.mime_type or "").strip() or mime_types.guess(name),
        description=(new.description or "").strip() or None,
    )


def _describe_name(given: str, document: Document) -> list[str]:
    """A note where a document has another name than the one it was given."""
    if given.strip() == document.name:
        return []
    from satchel.contracts.satchel.unknown_arguments import shorten_name  # only after this

    return [f"'{shorten_name(given.strip())}' is named {document.name}: names have letters, digits, - _ and . only."]


def _read_part(text: str, mime_type: str, args: ReadResource) -> texts.Reading:
    has_headings = texts.can_have_headings(mime_type)
    return texts.read_part(text, args.lines, args.heading, is_whole=args.whole is True, has_headings=has_headings)


def _reply_echo(done: str, context: Context, document: Document, notes: Sequence[str] = ()) -> Body:
    row = document_answers.echo_document(document)
    text = f"{done} project '{context.scope.project}':\n{document_answers.format_row(row)}"
    return answers.reply(text, {"project": context.scope.project, "resource": row}, notes=notes)


# -- methods ----------------------------------------------------------------------------------------------------

_LISTED = f"(documents|personal) {cursors.NUMBER}"  # cursors of resources/list


def answer_documents_list(context: Context, params: dict[str, Any]) -> Result:
    """Answer resources/list."""
    cursor = params.get("cursor")
    after = layers.Position()
    if cursor is not None:
        source, number = cursors.decode_cursor(cursor, _LISTED)
        after = layers.Position(int(number), source == "personal")
    page, has_more = PageRows(), True
    while has_more and len(page.rows) < PAGE:
        found, has_more = layers.list_documents(context.tx, context.scope, limit=BATCH, after=after)
        for one in found:
            if not page.add(_describe_entry(one)):
                return {"resources": page.rows, "nextCursor": _encode_position(after)}
            after = layers.position_of(one)
    result: Result = {"resources": page.rows}
    return {**result, "nextCursor": _encode_position(after)} if has_more else result


def _encode_position(after: layers.Position) -> str:
    return cursors.encode_cursor("personal" if after.is_personal else "documents", after.key)


def _describe_entry(one: Document) -> Result:
    entry = {"uri": one.uri, "name": one.name, "mimeType": one.mime_type, "size": one.size}
    return with_description(entry, answers.mark_layer(one.description, one.layer))


def answer_templates_list(_context: Context, params: dict[str, Any]) -> Result:
    """Answer resources/templates/list."""
    cursors.refuse_cursor(params.get("cursor"))
    return {"resourceTemplates": TEMPLATES}


def answer_documents_read(context: Context, params: dict[str, Any]) -> Result:
    """Answer resources/read: a document of the project, or a page behind a satchel:// URI."""
    uri: str = params["uri"]
    ours = read_app_resource(uri)
    if ours is None and uri.startswith("skill://"):
        from satchel.contracts.satchel.skills import read_skill_file  # most clients ask for no skills

        ours = read_skill_file(context, uri)
    if ours is not None:
        return {"contents": [ours]}
    try:
        return {"contents": [_read(context, uri)]}
    except (NotFound, Forbidden, TemplateFailed) as missing:
        text = f"Resource '{uri}' not found in project '{context.scope.project}'"
        raise ProtocolError(INVALID_PARAMS, text, {"uri": uri}) from missing


def _read(context: Context, uri: str) -> Result:
    page = _read_own_page(context, uri)
    if page is not None:
        return {"uri": uri, "mimeType": page.mime_type, "text": page.text}
    return encode_document(layers.get_document_by_uri(context.tx, context.scope, uri))


def _read_own_page(context: Context, uri: str) -> GeneratedPage | None:
    """The page behind one of our own URIs; None for any other URI, and for one that only a document has.

    Such documents were added before our URIs were reserved.

    Raises:
        NotFound, Forbidden, TemplateFailed: as `read_page`.
    """
    try:
        return read_page(context, uri)
    except (NotFound, Forbidden):
        try:
            layers.get_document_by_uri(context.tx, context.scope, uri)
        except NotFound:
            pass
        else:
            return None
        raise


# -- lookups ----------------------------------------------------------------------------------------------------


def find_readable(context: Context, reference: str) -> Document:
    """The document with a name or URI, of the project or of the personal one.

    Raises:
        UnknownName: there is none; it suggests similar names.
    """
    try:
        return layers.find_document(context.tx, context.scope, reference)
    except NotFound as missing:
        if missing.kind != "document":
            raise
        near = layers.suggest(context.tx, context.scope, documents.suggest, reference)
        raise UnknownName(missing, near) from missing


def find_document(context: Context, reference: str) -> Document:
    """The document of the project with a name or URI, which is changed next.

    Raises:
        UnknownName: there is none; it suggests similar names.
    """
    try:
        return documents.find(context.tx, context.scope, reference)
    except NotFound as missing:
        if missing.kind != "document":
            raise

        def look(later: Context, missing: NotFound) -> UnknownName:
            return UnknownName(missing, documents.suggest(later.tx, context.scope, reference))

        raise suggest(context, missing, look) from missing
