"""The `mcpkg` contract: the prompts and resources of one project, and six tools to manage them."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from satchel.contracts.content import BATCH, collect, encode_document, without_nulls
from satchel.contracts.contract import Body, Context, Contract, Method, Result, Tool
from satchel.contracts.schema import UNSTORABLE
from satchel.errors import AnswerTooLarge, NotFound, QuotaExceeded, Taken, WrongArgument
from satchel.model import DocumentDraft, DocumentPatch, PromptDraft, PromptPatch
from satchel.protocol import INTERNAL_ERROR, INVALID_PARAMS, ProtocolError
from satchel.protocol.cursors import refuse_cursor
from satchel.services import documents, prompts, rules

# -- inputs -----------------------------------------------------------------------------------------------------
# The document publishes no bounds; the services check names, URIs, types and contents.


class CreatePrompt(Struct):
    name: Annotated[str, Meta(description="Prompt name (alphanumeric, hyphens, underscores, dots)")]
    content: Annotated[str, Meta(description="Prompt text content")]
    description: Annotated[str, Meta(description="Optional description")] | UnsetType = UNSET


class UpdatePrompt(Struct):
    name: Annotated[str, Meta(description="Prompt name")]
    content: Annotated[str, Meta(description="New prompt content (optional)")] | UnsetType = UNSET
    description: Annotated[str, Meta(description="New description (optional)")] | UnsetType = UNSET


class DeletePrompt(Struct):
    name: Annotated[str, Meta(description="Prompt name")]


class CreateResource(Struct):
    name: Annotated[str, Meta(description="Resource name (alphanumeric, hyphens, underscores, dots)")]
    uri: Annotated[str, Meta(description="Resource URI")]
    content: Annotated[str, Meta(description="Resource content (text or base64 for binary)")]
    mime_type: Annotated[str, Meta(description="MIME type (optional, defaults to text/plain)")] | UnsetType = UNSET
    description: Annotated[str, Meta(description="Optional description")] | UnsetType = UNSET


class UpdateResource(Struct):
    name: Annotated[str, Meta(description="Resource name")]
    content: Annotated[str, Meta(description="New resource content (optional)")] | UnsetType = UNSET
    mime_type: Annotated[str, Meta(description="New MIME type (optional)")] | UnsetType = UNSET
    description: Annotated[str, Meta(description="New description (optional)")] | UnsetType = UNSET


class DeleteResource(Struct):
    name: Annotated[str, Meta(description="Resource name")]


# -- methods ----------------------------------------------------------------------------------------------------


def list_prompts(context: Context, params: dict[str, Any]) -> Result:
    refuse_cursor(params.get("cursor"))
    batches = prompts.iterate_headers(context.tx, context.scope, size=BATCH)
    found = collect(batches, lambda one: len(one.name) + len(one.description or ""), "prompts/list")
    return {"prompts": [without_nulls({"name": one.name, "description": one.description}) for one in found]}


def get_prompt(context: Context, params: dict[str, Any]) -> Result:
    prompt = prompts.get_by_name(context.tx, context.scope, params["name"])
    content = {"type": "text", "text": prompt.content}
    return without_nulls({"description": prompt.description, "messages": [{"role": "user", "content": content}]})


def list_resources(context: Context, params: dict[str, Any]) -> Result:
    refuse_cursor(params.get("cursor"))
    batches = documents.iterate_all(context.tx, context.scope, size=BATCH)
    found = collect(batches, lambda one: len(one.uri) + len(one.description or ""), "resources/list")
    entries = [
        without_nulls({"uri": one.uri, "name": one.name, "description": one.description, "mimeType": one.mime_type})
        for one in found
    ]
    return {"resources": entries}


def list_resource_templates(_context: Context, params: dict[str, Any]) -> Result:
    # The document omits this method, but it belongs to the capability "resources", and clients call it.
    refuse_cursor(params.get("cursor"))
    return {"resourceTemplates": []}


def read_resource(context: Context, params: dict[str, Any]) -> Result:
    return {"contents": [encode_document(documents.get_by_uri(context.tx, context.scope, params["uri"]))]}


# -- tools ------------------------------------------------------------------------------------------------------


def create_prompt(context: Context, args: CreatePrompt) -> Body:
    draft = PromptDraft(name=args.name, content=args.content, description=args.description or None)
    prompts.add(context.tx, context.scope, draft)
    return f"Created prompt '{args.name}' in project '{context.scope.project}'"


def update_prompt(context: Context, args: UpdatePrompt) -> Body:
    rules.clean_name("prompt", args.name)
    description = args.description if args.description is UNSET else args.description or None
    patch = rules.clean("prompt", PromptPatch(content=args.content, description=description))
    with name_in_errors(args.name):
        id = prompts.get_by_name(context.tx, context.scope, args.name).id
        prompts.update(context.tx, context.scope, id, patch)
    return f"Updated prompt '{args.name}' in project '{context.scope.project}'"


def delete_prompt(context: Context, args: DeletePrompt) -> Body:
    rules.clean_name("prompt", args.name)
    with name_in_errors(args.name):
        prompts.delete(context.tx, context.scope, prompts.get_by_name(context.tx, context.scope, args.name).id)
    return f"Deleted prompt '{args.name}' from project '{context.scope.project}'"


def create_resource(context: Context, args: CreateResource) -> Body:
    documents.add(
        context.tx,
        context.scope,
        DocumentDraft(
            name=args.name,
            uri=args.uri,
            content=args.content,
            mime_type="text/plain" if args.mime_type is UNSET else args.mime_type,
            description=args.description or None,
        ),
    )
    return f"Created resource '{args.name}' in project '{context.scope.project}'"


def update_resource(context: Context, args: UpdateResource) -> Body:
    patch = DocumentPatch(content=args.content, mime_type=args.mime_type, description=args.description)
    documents.update(context.tx, context.scope, args.name, patch)
    return f"Updated resource '{args.name}' in project '{context.scope.project}'"


def delete_resource(context: Context, args: DeleteResource) -> Body:
    documents.delete(context.tx, context.scope, args.name)
    return f"Deleted resource '{args.name}' from project '{context.scope.project}'"


def _name_kind(kind: str) -> str:
    return "Resource" if kind == "document" else kind.capitalize()


@contextmanager
def name_in_errors(name: str) -> Iterator[None]:
    """Put the prompt's name into errors, even if the prompt was deleted after its id was found."""
    try:
        yield
    except NotFound as missing:
        if missing.kind == "prompt":
            raise NotFound("prompt", name, missing.scope) from missing
        raise


# -- failures ---------------------------------------------------------------------------------------------------


def protocol_error(missing: NotFound) -> ProtocolError:
    """Return the JSON-RPC error that a method raises for a missing item."""
    project = missing.scope.project
    if missing.kind == "project":
        return ProtocolError(INTERNAL_ERROR, f"Error: Project '{project}' does not exist")
    text = f"{_name_kind(missing.kind)} '{missing.key}' not found in project '{project}'"
    return ProtocolError(INVALID_PARAMS, text)


def explain_not_found(missing: NotFound) -> Body:
    if missing.kind == "project":
        return f"Error: Project '{missing.key}' does not exist"
    return f"Error: {_name_kind(missing.kind)} '{missing.key}' does not exist in project '{missing.scope.project}'"


def explain_taken(clash: Taken) -> Body:
    project = clash.scope.project
    if clash.field == "uri":
        return f"Error: URI '{clash.key}' already belongs to resource '{clash.holder}' in project '{project}'"
    return f"Error: {_name_kind(clash.kind)} '{clash.key}' already exists in project '{project}'"


def describe_wrong_argument(wrong: WrongArgument) -> str:
    if wrong.rule == "required":
        return f"Missing required argument: {wrong.field}"
    if wrong.rule == "anyOf" and isinstance(wrong.limit, tuple):
        *names, last = wrong.limit
        return f"Nothing to update: give {', '.join(names)} or {last}"
    if wrong.rule == "dependentRequired" and isinstance(wrong.limit, tuple):
        return "Changing the MIME type from {} to {} needs new content".format(*wrong.limit)
    if wrong.is_unstorable:
        return f"Invalid argument '{wrong.field}': {UNSTORABLE}"
    if wrong.rule == "contentEncoding":
        return f"Content is not valid base64, which MIME type '{wrong.value}' needs"
    if wrong.rule == "maxBytes":
        return f"Content must be at most {wrong.limit} bytes"
    if wrong.field == "name" and wrong.rule == "pattern":
        name = f"{_name_kind(wrong.kind or '')} name '{wrong.value}'"
        return f"{name} contains invalid characters. Allowed: a-z, A-Z, 0-9, -, _, ."
    if wrong.field == "name" and wrong.rule in ("minLength", "maxLength"):
        return f"{_name_kind(wrong.kind or '')} name must be 1-255 characters"
    if wrong.field == "content" and wrong.rule == "minLength":
        return "Prompt content must not be empty"
    if wrong.field == "description" and wrong.rule == "maxLength":
        return f"Description must be at most {wrong.limit} characters"
    if wrong.field == "name" and wrong.rule == "reserved":
        return f"{_name_kind(wrong.kind or '')} name '{wrong.value}' must not be a UUID"
    if wrong.field == "uri" and wrong.rule in ("format", "reserved"):
        return f"Invalid URI '{wrong.value}'"
    if wrong.field == "mime_type" and wrong.rule == "format":
        return f"Invalid MIME type '{wrong.value}'"
    return f"Invalid argument '{wrong.field}': must be a string"


def describe_too_large(large: AnswerTooLarge) -> str:
    what, is_list, _ = large.what.partition("/list")
    less = f": keep fewer {what} in a project, or shorter descriptions" if is_list else ""
    return f"Error: The answer has more than {large.limit} bytes{less}"


_write = partial(Tool, transaction="write")

CONTRACT = Contract(
    name="mcpkg",
    server_name="mcpkg",
    capabilities={
        "prompts": {"listChanged": False},
        "resources": {"listChanged": False},
        "tools": {"listChanged": False},
    },
    methods={
        "prompts/list": Method(list_prompts),
        "prompts/get": Method(get_prompt),
        "resources/list": Method(list_resources),
        "resources/templates/list": Method(list_resource_templates),
        "resources/read": Method(read_resource),
    },
    tools=(
        _write("create_prompt", "Create a new prompt in the selected project", CreatePrompt, create_prompt),
        _write(
            "update_prompt",
            "Update an existing prompt's content or description",
            UpdatePrompt,
            update_prompt,
            at_least_one=("content", "description"),
        ),
        _write("delete_prompt", "Delete a prompt from the selected project", DeletePrompt, delete_prompt),
        _write("create_resource", "Create a new resource in the selected project", CreateResource, create_resource),
        _write(
            "update_resource",
            "Update an existing resource's content or metadata",
            UpdateResource,
            update_resource,
            at_least_one=("content", "mime_type", "description"),
        ),
        _write("delete_resource", "Delete a resource from the selected project", DeleteResource, delete_resource),
    ),
    failures={
        WrongArgument: lambda wrong: f"Error: {describe_wrong_argument(wrong)}",
        NotFound: explain_not_found,
        Taken: explain_taken,
        AnswerTooLarge: describe_too_large,
        QuotaExceeded: lambda full: f"Error: {full.explanation}",
        Exception: lambda _: "Error: Unable to complete request. Please try again.",
    },
    method_failures={
        NotFound: protocol_error,
        AnswerTooLarge: lambda large: ProtocolError(INVALID_PARAMS, describe_too_large(large)),
    },
    failure_schema=lambda _: {"type": "string", "pattern": "^Error: "},
)
