"""The tools about resources: named documents of a project."""

from typing import Any

from msgspec import UNSET

from satchel.contracts.contract import Body, Context, Reply
from satchel.contracts.documents import contents
from satchel.contracts.satchel import answers, inputs
from satchel.contracts.satchel.answers import ResourceAnswer, counted, said
from satchel.contracts.satchel.cursors import cursor, place
from satchel.contracts.satchel.failures import Missed, called
from satchel.contracts.satchel.reading import Document, document
from satchel.errors import NotFound
from satchel.model import Resource, ResourceDraft, ResourcePatch
from satchel.services import resources


def add_resource(context: Context, args: inputs.AddResource) -> Body:
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
    return said(text, {"project": context.scope.project, "resource": answers.shown_resource(resource)})


def list_resources(context: Context, args: inputs.ListResources) -> Body:
    context = context.within(args.project)
    last = place(args.cursor, "r")
    found, has_more = resources.list_page(
        context.tx, context.scope, args.query or "", limit=args.limit, after=int(last[1]) if last else 0
    )
    structured: dict[str, Any] = {
        "project": context.scope.project,
        "resources": [answers.shown_resource(resource) for resource in found],
    }
    lines = [
        f"- {one.name} ({one.uri}, {counted(one.size, 'byte')}): {answers.short(one.description or one.mime_type)}"
        for one in found
    ]
    if has_more:
        structured["next_cursor"] = cursor("r", found[-1].number)
        lines.append("More with cursor " + structured["next_cursor"])
    nothing = answers.none_of(
        "resources", context.scope.project, is_narrowed=bool(args.query), is_continued=last is not None
    )
    return said("\n".join(lines) or nothing, structured)


def read_resource(context: Context, args: inputs.ReadResource) -> Body:
    context = context.within(args.project)
    try:
        resource = meant(context, args.resource)
    except Missed:
        found = document(context, args.resource.strip())
        if found is None:
            raise
        return shown(args.resource.strip(), found)
    answer = answers.shown_resource(resource)
    content = contents(resource)
    answer.text, answer.blob = content.get("text"), content.get("blob")
    structured = {"project": context.scope.project, "resource": answer}
    facts = answers.resource_facts(answer)
    if answer.text is not None:
        return said(answer.text, structured, facts)
    # Not every client shows an embedded resource, so a text stands beside it.
    return Reply([{"type": "text", "text": facts}, {"type": "resource", "resource": content}], structured)


def shown(uri: str, found: Document) -> Body:
    """A document that is made when it is read: called by its URI, of no version where there is none."""
    size = len(found.text.encode())
    answer = ResourceAnswer(uri, uri, found.mime_type, size, found.version, text=found.text)
    return said(found.text, {"project": found.project, "resource": answer}, answers.resource_facts(answer))


def update_resource(context: Context, args: inputs.UpdateResource) -> Body:
    context = context.within(args.project)
    seen = meant(context, args.resource)
    with called(seen.name):
        resource = resources.update(
            context.tx,
            context.scope,
            seen.name,
            ResourcePatch(content=args.content, mime_type=args.mime_type, description=args.description),
            expected_version=None if args.expected_version is UNSET else args.expected_version,
        )
    text = f"Updated resource '{resource.name}' in project '{context.scope.project}' to version {resource.version}."
    return said(text, {"project": context.scope.project, "resource": answers.shown_resource(resource)})


def delete_resource(context: Context, args: inputs.DeleteResource) -> Body:
    context = context.within(args.project)
    resource = meant(context, args.resource)
    resources.delete(context.tx, context.scope, resource.name)
    text = f"Deleted resource '{resource.name}' from project '{context.scope.project}'."
    return said(text, {"project": context.scope.project, "deleted": resource.name})


def meant(context: Context, reference: str) -> Resource:
    """The resource that is meant, by name or URI; a near miss is told."""
    try:
        return resources.find(context.tx, context.scope, reference)
    except NotFound as missing:
        if missing.kind != "resource":
            raise
        raise Missed(missing, resources.suggest(context.tx, context.scope, reference)) from missing
