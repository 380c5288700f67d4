"""What clients see of the tools for documents."""

from functools import partial
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from satchel.contracts.satchel.tools import shared
from satchel.contracts.schema import hidden

# -- inputs -----------------------------------------------------------------------------------------------------

_REFERENCE = hidden(max_length=2000, is_blank_refused=True)

_NEW_RESOURCE = shared.object_with(
    ("name", "content"),
    name=shared.STRING,
    content=shared.STRING,
    uri=shared.STRING,
    mime_type=shared.STRING,
    description=shared.STRING,
)

Reference = Annotated[str, Meta(description="Name or URI", extra=_REFERENCE)]
Content = Annotated[str, Meta(description="Text; base64 for binary types", extra=hidden())]


class AddResources(Struct):
    resources: Annotated[
        list[dict[str, Any]],
        Meta(
            description="content is text, or base64; mime_type defaults by name",
            extra_json_schema={"items": _NEW_RESOURCE},
            extra=hidden(max_items=shared.MOST_ENTRIES),
        ),
    ]
    key: shared.Key | UnsetType = UNSET
    project: shared.Project | UnsetType = UNSET


class AddResource(Struct):
    name: Annotated[str, Meta(description="Letters, digits, - _ .", extra=shared.LINE)]
    content: Content
    uri: Annotated[str, Meta(description="Default: satchel://resource/NAME", extra=shared.LINE)] | UnsetType = UNSET
    mime_type: Annotated[str, Meta(description="Default: by the name", extra=shared.LINE)] | UnsetType = UNSET
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


class ReadResource(Struct):
    resource: Reference
    lines: shared.Lines | UnsetType = UNSET
    heading: shared.Heading | UnsetType = UNSET
    whole: shared.Whole | UnsetType = UNSET
    project: shared.Project | UnsetType = UNSET


class UpdateResource(Struct):
    resource: Reference
    content: Content | UnsetType = UNSET
    mime_type: shared.Text | UnsetType = UNSET
    description: shared.Text | UnsetType = UNSET
    expected_version: shared.Version | UnsetType = UNSET
    project: shared.Project | UnsetType = UNSET


# -- table -----------------------------------------------------------------------------------------------------

_ROW = shared.object_with(("name",), name=shared.STRING)
ONE_RESOURCE = shared.answer_with(resource=_ROW)
ADDED_RESOURCES = shared.answer_with(resources={"type": "array"})
RESOURCE_PAGE = shared.answer_with(resources=shared.array_of(_ROW), next_cursor=shared.STRING)
WHOLE_RESOURCE = shared.answer_with(resource=_ROW)
DELETED_RESOURCE = shared.answer_with(deleted=shared.STRING)

_tool = partial(shared.make_tool, "resources")

TOOLS = (
    _tool("resources:list_resources", "Find documents of the project", ListResources, RESOURCE_PAGE),
    _tool(
        "resources:read_resource",
        "Read a document, or of a long one its outline and parts",
        ReadResource,
        WHOLE_RESOURCE,
    ),
    _tool(
        "resources:add_resources",
        "Save documents with the project, all or none",
        AddResources,
        ADDED_RESOURCES,
        shared.ADDS,
    ),
    _tool(
        "resources:update_resource",
        "Change the given fields of a document; empty clears",
        UpdateResource,
        ONE_RESOURCE,
        shared.UPDATES,
        at_least_one=("content", "mime_type", "description"),
    ),
    _tool("resources:add_resource", "Save a document", AddResource, ONE_RESOURCE, shared.ADDS, is_listed=False),
    _tool(
        "resources:delete_resource",
        "Delete a document; restore brings it back",
        OneResource,
        DELETED_RESOURCE,
        shared.DELETES,
        is_listed=False,
    ),
)
