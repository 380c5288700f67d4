"""Prompts and resources as MCP has them: what a person chooses, and what a client reads."""

from typing import Any, NoReturn

from satchel.contracts.contract import Context, Result
from satchel.contracts.documents import contents, described
from satchel.contracts.satchel import documents
from satchel.contracts.satchel.failures import Missed, Several, Unrenderable, said_of
from satchel.contracts.satchel.reading import document
from satchel.contracts.satchel.rendering import START_TASK, rendered, stored_or_library
from satchel.contracts.satchel.tasks import meant as task_meant
from satchel.contracts.satchel.uris import PROJECT_URI, PROMPT_URI, TASK_URI
from satchel.errors import Forbidden, NotFound, Refused, WrongArgument
from satchel.model import Argument
from satchel.protocol import INVALID_PARAMS, ProtocolError, invalid_params
from satchel.protocol.pages import decode_cursor, encode_cursor, refuse_cursor
from satchel.services import prompts, resources

PAGE = 500

TEMPLATES = [
    {
        "uriTemplate": f"{PROMPT_URI}{{name}}",
        "name": "prompt",
        "description": "A prompt of the current project, or of a library, as it is kept.",
        "mimeType": "text/markdown",
    },
    {
        "uriTemplate": f"{TASK_URI}{{number}}",
        "name": "task",
        "description": "A task of yours, with what it needs.",
        "mimeType": "text/markdown",
    },
    {
        "uriTemplate": f"{PROJECT_URI}{{name}}",
        "name": "project",
        "description": "A project at a glance: its documents, its open tasks.",
        "mimeType": "application/json",
    },
]


# -- prompts ----------------------------------------------------------------------------------------------------


def list_prompts(context: Context, params: dict[str, Any]) -> Result:
    """Stored prompts in order of creation, then those of libraries; behind a negative place, libraries only."""
    place = None if params.get("cursor") is None else decode_cursor(params["cursor"])
    if place == 0:
        raise invalid_params("Unknown cursor")
    starts = starts_tasks(context)
    listed: list[Result] = [START_ENTRY] if starts and place is None else []
    if place is None or place > 0:
        try:
            found, has_more = prompts.list_headers(context.tx, context.scope, limit=PAGE, after=place or 0)
        except (NotFound, Forbidden) as missing:
            unavailable(missing)
        # No title: some clients call a prompt by it, and stumble over its spaces.
        listed += [
            entry(one.name, one.description or one.title, one.arguments)
            for one in found
            if not starts or one.name != START_TASK
        ]
        if has_more:
            return {"prompts": listed, "nextCursor": encode_cursor(found[-1].number)}
        place = -1
    start = -1 - place
    shelf = context.libraries.catalog.view
    if start and start >= len(shelf):
        raise invalid_params("Unknown cursor")
    listed += [entry(name, prompt.description, prompt.arguments) for name, prompt in shelf[start : start + PAGE]]
    if start + PAGE < len(shelf):
        return {"prompts": listed, "nextCursor": encode_cursor(-1 - start - PAGE)}
    return {"prompts": listed}


def get_prompt(context: Context, params: dict[str, Any]) -> Result:
    name, given = params["name"], params["arguments"]
    try:
        if name == START_TASK and starts_tasks(context):
            return started(context, given)
        found = stored_or_library(context, name)
        text = rendered(context, found, given)
    except (NotFound, Forbidden) as missing:
        unavailable(missing)
    except WrongArgument as wrong:
        raise invalid_params(f"Missing required argument: {wrong.field}") from None
    except Unrenderable as failed:
        raise invalid_params(failed.message) from None
    about = found[2].description if isinstance(found, tuple) else found.description or found.title
    return described({"messages": [message(text)]}, about)


def starts_tasks(context: Context) -> bool:
    """Whether there is a prompt to begin a task with: where there are tasks."""
    return "list_tasks" in context.tools


def started(context: Context, given: dict[str, str]) -> Result:
    if not given.get("task", "").strip():
        raise invalid_params("Missing required argument: task")
    task = task_meant(context, given["task"])
    text = documents.start_document(context, task, context.tools)
    return {"description": f"Start task #{task.number}", "messages": [message(text)]}


def message(text: str) -> Result:
    return {"role": "user", "content": {"type": "text", "text": text}}


def entry(name: str, description: str | None, arguments: tuple[Argument, ...]) -> Result:
    listed = described({"name": name}, description)
    if arguments:  # one client passes over prompts with an empty list
        listed["arguments"] = [
            described({"name": one.name, "required": one.is_required}, one.description) for one in arguments
        ]
    return listed


START_ENTRY: Result = {
    "name": START_TASK,
    "description": "Begin a task: what it is about, what it waits for, the documents at hand.",
    "arguments": [{"name": "task", "description": "Number or UUID of a task", "required": True}],
}


# -- resources --------------------------------------------------------------------------------------------------


def list_resources(context: Context, params: dict[str, Any]) -> Result:
    after = 0 if params.get("cursor") is None else decode_cursor(params["cursor"])
    if after <= 0 and params.get("cursor") is not None:
        raise invalid_params("Unknown cursor")
    try:
        found, has_more = resources.list_page(context.tx, context.scope, limit=PAGE, after=after)
    except (NotFound, Forbidden) as missing:
        unavailable(missing)
    entries = [
        described({"uri": one.uri, "name": one.name, "mimeType": one.mime_type, "size": one.size}, one.description)
        for one in found
    ]
    return {"resources": entries, "nextCursor": encode_cursor(found[-1].number)} if has_more else {"resources": entries}


def list_templates(_context: Context, params: dict[str, Any]) -> Result:
    refuse_cursor(params.get("cursor"))
    return {"resourceTemplates": TEMPLATES}


def read_resource(context: Context, params: dict[str, Any]) -> Result:
    uri: str = params["uri"]
    try:
        return {"contents": [read(context, uri)]}
    except (NotFound, Forbidden, Unrenderable) as missing:
        text = f"Resource '{uri}' not found in project '{context.scope.project}'"
        raise ProtocolError(INVALID_PARAMS, text, {"uri": uri}) from missing


def read(context: Context, uri: str) -> Result:
    """A resource of the project, or what a URI of ours means."""
    try:
        return contents(resources.get_by_uri(context.tx, context.scope, uri))
    except NotFound:
        found = document(context, uri)
        if found is None:
            raise
        return {"uri": uri, "mimeType": found.mime_type, "text": found.text}


def unavailable(missing: Refused) -> NoReturn:
    """Say by a JSON-RPC error that something is not there."""
    assert isinstance(missing, NotFound | Forbidden)
    if isinstance(missing, Forbidden):
        raise ProtocolError(INVALID_PARAMS, f"{missing.kind.capitalize()} '{missing.key}' is not open here") from None
    near = list(missing.near) if isinstance(missing, Missed | Several) else []
    data: Result = {"name": missing.key, **({"near": near} if near else {})}
    text = f"{missing.kind.capitalize()} '{missing.key}' not found"
    raise ProtocolError(INVALID_PARAMS, said_of(missing) if isinstance(missing, Several) else text, data) from None
