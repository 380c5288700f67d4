"""The tools about resources: named documents of a project."""

from typing import Any

from msgspec import UNSET

from satchel.contracts.contract import Body, Reply, Sources
from satchel.contracts.documents import contents, decoded
from satchel.contracts.own import answers, inputs
from satchel.contracts.own.answers import ResourceAnswer, counted, said
from satchel.contracts.own.cursors import cursor, place
from satchel.contracts.own.failures import Missed, called
from satchel.contracts.own.reading import Document, document
from satchel.contracts.own.where import within
from satchel.errors import NotFound
from satchel.model import Resource, Scope
from satchel.services import resources
from satchel.storage.database import Tx


def add_resource(sources: Sources, scope: Scope, args: inputs.AddResource) -> Body:
    scope = within(scope, args.project)
    resource = resources.add(
        sources.tx,
        scope,
        name=args.name,
        uri=args.uri or f"satchel://resource/{args.name}",
        content=lambda mime_type: decoded(args.content, mime_type),
        mime_type=args.mime_type or "text/plain",
        description=args.description or None,
    )
    text = f"Added resource '{resource.name}' ({resource.uri}) to project '{scope.project}'."
    return said(text, {"project": scope.project, "resource": answers.shown_resource(resource)})


def list_resources(sources: Sources, scope: Scope, args: inputs.ListResources) -> Body:
    scope = within(scope, args.project)
    last = place(args.cursor, "r")
    found, has_more = resources.page(
        sources.tx, scope, query=args.query or None, limit=args.limit, after=int(last[1]) if last else 0
    )
    structured: dict[str, Any] = {
        "project": scope.project,
        "resources": [answers.shown_resource(resource) for resource in found],
    }
    lines = [
        f"- {one.name} ({one.uri}, {counted(one.size, 'byte')}): {answers.short(one.description or one.mime_type)}"
        for one in found
    ]
    if has_more:
        structured["next_cursor"] = cursor("r", found[-1].number)
        lines.append("More with cursor " + structured["next_cursor"])
    nothing = answers.none_of("resources", scope.project, is_narrowed=bool(args.query), is_continued=last is not None)
    return said("\n".join(lines) or nothing, structured)


def read_resource(sources: Sources, scope: Scope, args: inputs.ReadResource) -> Body:
    scope = within(scope, args.project)
    try:
        resource = meant(sources.tx, scope, args.resource)
    except Missed:
        found = document(sources, scope, args.resource.strip())
        if found is None:
            raise
        return shown(args.resource.strip(), found)
    answer = answers.shown_resource(resource)
    content = contents(resource)
    answer.text, answer.blob = content.get("text"), content.get("blob")
    structured = {"project": scope.project, "resource": answer}
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


def update_resource(sources: Sources, scope: Scope, args: inputs.UpdateResource) -> Body:
    scope = within(scope, args.project)
    content = args.content
    seen = meant(sources.tx, scope, args.resource)
    with called(seen.name):
        resource = resources.update(
            sources.tx,
            scope,
            seen.name,
            content=UNSET if content is UNSET else lambda mime_type: decoded(content, mime_type),
            mime_type=args.mime_type,
            description=args.description,
            expected_version=None if args.expected_version is UNSET else args.expected_version,
        )
    text = f"Updated resource '{resource.name}' in project '{scope.project}' to version {resource.version}."
    return said(text, {"project": scope.project, "resource": answers.shown_resource(resource)})


def delete_resource(sources: Sources, scope: Scope, args: inputs.DeleteResource) -> Body:
    scope = within(scope, args.project)
    resource = meant(sources.tx, scope, args.resource)
    resources.delete(sources.tx, scope, resource.name)
    text = f"Deleted resource '{resource.name}' from project '{scope.project}'."
    return said(text, {"project": scope.project, "deleted": resource.name})


def meant(tx: Tx, scope: Scope, reference: str) -> Resource:
    """The resource that is meant, by name or URI; a near miss is told."""
    try:
        return resources.find(tx, scope, reference)
    except NotFound as missing:
        if missing.kind != "resource":
            raise
        raise Missed(missing, resources.near(tx, scope, reference)) from missing
