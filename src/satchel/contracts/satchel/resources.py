"""Resources: the tools and MCP methods for the documents of a project, and how answers describe one."""

from functools import partial
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from satchel.contracts.content import encode_resource, with_description
from satchel.contracts.contract import Body, Context, Reply, Result
from satchel.contracts.satchel import shared
from satchel.contracts.satchel.cursors import decode_cursor
from satchel.contracts.satchel.failures import TemplateFailed, UnknownName, name_in_errors
from satchel.contracts.satchel.pages import TEMPLATES, GeneratedPage, read_page
from satchel.contracts.schema import hidden
from satchel.errors import Forbidden, NotFound
from satchel.model import Resource, ResourceDraft, ResourcePatch
from satchel.protocol import INVALID_PARAMS, ProtocolError, cursors
from satchel.services import resources

PAGE = 500  # entries of resources/list

# -- inputs -----------------------------------------------------------------------------------------------------

_REFERENCE = hidden(max_length=2000, is_blank_refused=True)

Reference = Annotated[str, Meta(description="Name or URI", extra=_REFERENCE)]
Content = Annotated[str, Meta(description="Text; base64 for binary types", extra=hidden())]


class AddResource(Struct):
    name: Annotated[str, Meta(description="Letters, digits, - _ .", extra=shared.LINE)]
    content: Content
    uri: Annotated[str, Meta(description="Default: satchel://resource/NAME", extra=shared.LINE)] | UnsetType = UNSET
    mime_type: Annotated[str, Meta(description="Default: text/plain", extra=shared.LINE)] | UnsetType = UNSET
    description: shared.Text | UnsetType = UNSET
    project: shared.Project | UnsetType = UNSET


class ListResources(Struct):
    query: Annotated[str, Meta(description="Text in name, URI or description", extra=shared.QUERY)] | UnsetType = UNSET
    limit: shared.Limit = 50
    cursor: shared.Cursor | UnsetType = UNSET
    project: shared.Project | UnsetType = UNSET


class OneResource(Struct):
    resource: Reference
    project: shared.Project | UnsetType = UNSET


class UpdateResource(Struct):
    resource: Reference
    content: Content | UnsetType = UNSET
    mime_type: shared.Text | UnsetType = UNSET
    description: shared.Text | UnsetType = UNSET
    expected_version: shared.Version | UnsetType = UNSET
    project: shared.Project | UnsetType = UNSET


# -- tools ------------------------------------------------------------------------------------------------------


def add_resource(context: Context, args: AddResource) -> Body:
    context = context.within(args.project)
    resource = resources.add(
        context.tx,
        context.scope,
        ResourceDraft(
            name=args.name,
            uri=args.uri or f"satchel://resource/{args.name}",
            content=args.content,
            mime_type=args.mime_type or "text/plain",
            description=args.description or None,
        ),
    )
    text = f"Added resource '{resource.name}' ({resource.uri}) to project '{context.scope.project}'."
    return shared.reply(text, {"project": context.scope.project, "resource": describe_resource(resource)})


def list_resources(context: Context, args: ListResources) -> Body:
    context = context.within(args.project)
    last = decode_cursor(args.cursor, "r")
    found, has_more = resources.list_page(
        context.tx, context.scope, args.query or "", limit=args.limit, after=int(last[1]) if last else 0
    )
    return shared.reply_page(
        "resources",
        context.scope.project,
        [_format_entry(one) for one in found],
        {"project": context.scope.project, "resources": [describe_resource(one) for one in found]},
        next_cursor=cursors.encode_cursor("r", found[-1].number) if has_more else None,
        is_narrowed=bool(args.query),
        is_continued=last is not None,
    )


def read_resource(context: Context, args: OneResource) -> Body:
    context = context.within(args.project)
    try:
        resource = find_resource(context, args.resource)
    except UnknownName:
        found = read_page(context, args.resource.strip())
        if found is None:
            raise
        return _reply_page(args.resource.strip(), found)
    answer = describe_resource(resource)
    content = encode_resource(resource)
    answer.text, answer.blob = content.get("text"), content.get("blob")
    structured = {"project": context.scope.project, "resource": answer}
    facts = format_facts(answer)
    if answer.text is not None:
        return shared.reply(answer.text, structured, facts)
    # Some clients do not show embedded resources, so a text stands beside it.
    return Reply([{"type": "text", "text": facts}, {"type": "resource", "resource": content}], structured)


def update_resource(context: Context, args: UpdateResource) -> Body:
    context = context.within(args.project)
    seen = find_resource(context, args.resource)
    with name_in_errors(seen.name):
        resource = resources.update(
            context.tx,
            context.scope,
            seen.name,
            ResourcePatch(content=args.content, mime_type=args.mime_type, description=args.description),
            expected_version=None if args.expected_version is UNSET else args.expected_version,
        )
    text = f"Updated resource '{resource.name}' in project '{context.scope.project}' to version {resource.version}."
    return shared.reply(text, {"project": context.scope.project, "resource": describe_resource(resource)})


def delete_resource(context: Context, args: OneResource) -> Body:
    context = context.within(args.project)
    resource = find_resource(context, args.resource)
    resources.delete(context.tx, context.scope, resource.name)
    text = f"Deleted resource '{resource.name}' from project '{context.scope.project}'."
    return shared.reply(text, {"project": context.scope.project, "deleted": resource.name})


# -- methods ----------------------------------------------------------------------------------------------------

_LISTED = f"resources {cursors.NUMBER}"  # cursors of resources/list


def answer_resources_list(context: Context, params: dict[str, Any]) -> Result:
    """Answer resources/list."""
    cursor = params.get("cursor")
    after = 0 if cursor is None else int(cursors.decode_cursor(cursor, _LISTED)[0])
    found, has_more = resources.list_page(context.tx, context.scope, limit=PAGE, after=after)
    entries = [
        with_description(
            {"uri": one.uri, "name": one.name, "mimeType": one.mime_type, "size": one.size}, one.description
        )
        for one in found
    ]
    result: Result = {"resources": entries}
    return {**result, "nextCursor": cursors.encode_cursor("resources", found[-1].number)} if has_more else result


def answer_templates_list(_context: Context, params: dict[str, Any]) -> Result:
    """Answer resources/templates/list."""
    cursors.refuse_cursor(params.get("cursor"))
    return {"resourceTemplates": TEMPLATES}


def answer_resources_read(context: Context, params: dict[str, Any]) -> Result:
    """Answer resources/read: a resource of the project, or a page behind a satchel:// URI."""
    uri: str = params["uri"]
    try:
        return {"contents": [_read(context, uri)]}
    except (NotFound, Forbidden, TemplateFailed) as missing:
        text = f"Resource '{uri}' not found in project '{context.scope.project}'"
        raise ProtocolError(INVALID_PARAMS, text, {"uri": uri}) from missing


def _read(context: Context, uri: str) -> Result:
    try:
        return encode_resource(resources.get_by_uri(context.tx, context.scope, uri))
    except NotFound:
        page = read_page(context, uri)
        if page is None:
            raise
        return {"uri": uri, "mimeType": page.mime_type, "text": page.text}


# -- lookups ----------------------------------------------------------------------------------------------------


def find_resource(context: Context, reference: str) -> Resource:
    """The resource with a name or URI.

    Raises:
        UnknownName: there is none; it suggests similar names.
    """
    try:
        return resources.find(context.tx, context.scope, reference)
    except NotFound as missing:
        if missing.kind != "resource":
            raise
        raise UnknownName(missing, resources.suggest(context.tx, context.scope, reference)) from missing


# -- answers ----------------------------------------------------------------------------------------------------

RESOURCE = shared.object_with(
    ("name", "uri", "mime_type", "size", "version"),
    name=shared.STRING,
    uri=shared.STRING,
    version=shared.INTEGER,
    text=shared.STRING,
)
ONE_RESOURCE = shared.answer_with(resource=RESOURCE)
RESOURCE_PAGE = shared.answer_with(resources=shared.array_of(RESOURCE), next_cursor=shared.STRING)
DELETED_RESOURCE = shared.answer_with(deleted=shared.STRING)


class ResourceAnswer(Struct, omit_defaults=True):
    """A resource in an answer; empty members are left out."""

    name: str
    uri: str
    mime_type: str
    size: int
    version: int
    description: str | None = None
    text: str | None = None
    blob: str | None = None
    created_at: str | None = None
    updated_at: str | None = None


def describe_resource(resource: Resource) -> ResourceAnswer:
    return shared.copy_members(resource, ResourceAnswer)


def _format_entry(resource: Resource) -> str:
    size, about = shared.format_count(resource.size, "byte"), shared.shorten(resource.description or resource.mime_type)
    return f"- {resource.name} ({resource.uri}, {size}): {about}"


def format_facts(resource: ResourceAnswer) -> str:
    """What the text of a resource does not say about it."""
    version = f", version {resource.version}" if resource.version else ""
    return f"[resource {resource.name}{version}, {shared.format_count(resource.size, 'byte')} of {resource.mime_type}]"


def _reply_page(uri: str, page: GeneratedPage) -> Body:
    size = len(page.text.encode())
    answer = ResourceAnswer(uri, uri, page.mime_type, size, page.version, text=page.text)
    return shared.reply(page.text, {"project": page.project, "resource": answer}, format_facts(answer))


# -- table -----------------------------------------------------------------------------------------------------

_tool = partial(shared.make_tool, "resources")

TOOLS = (
    _tool(add_resource, "Save a document with the project", AddResource, ONE_RESOURCE, shared.ADDS),
    _tool(list_resources, "Find documents of the project", ListResources, RESOURCE_PAGE),
    _tool(read_resource, "Read a document", OneResource, ONE_RESOURCE),
    _tool(
        update_resource,
        "Change the given fields of a document; empty clears",
        UpdateResource,
        ONE_RESOURCE,
        shared.UPDATES,
        at_least_one=("content", "mime_type", "description"),
    ),
    _tool(delete_resource, "Delete a document; restore brings it back", OneResource, DELETED_RESOURCE, shared.DELETES),
)
