"""MCP's own methods: prompts and documents, listed and read, the prompt that starts a task, and completion."""

from typing import Any

from satchel.contracts.content import BATCH, PageRows, encode_arguments, encode_document, with_description
from satchel.contracts.contract import Context, Result
from satchel.contracts.satchel.answers import mark_layer
from satchel.contracts.satchel.app import read_app_resource
from satchel.contracts.satchel.errors import TemplateFailed, WrongValue
from satchel.contracts.satchel.pages import PROJECT_URI, PROMPT_URI, TASK_URI, TEMPLATES, read_page, write_start_page
from satchel.contracts.satchel.tasks import find_task
from satchel.contracts.satchel.templates import (
    START_TASK,
    LibraryTemplate,
    fill_in,
    fill_messages,
    find_prompt,
    history_key,
)
from satchel.errors import Forbidden, NotFound
from satchel.model import Argument
from satchel.protocol import INVALID_PARAMS, ProtocolError, invalid_params
from satchel.protocol.cursors import NUMBER, decode_cursor, encode_cursor, refuse_cursor
from satchel.services import completion, layers, templates
from satchel.services.completion import Completion

PAGE = 500

# Stored prompts, in order of creation, come first, then those of the personal project, then those of libraries. A
# cursor says in which of these it points, and behind which prompt: a stored one by its number, one of a library by its
# position.
_CURSOR = f"(stored|personal|library) {NUMBER}"

START_ENTRY: Result = {
    "name": START_TASK,
    "description": "Begin a task: what it is about, what it waits for, the documents at hand.",
    "arguments": [{"name": "task", "description": "Number or UUID of a task", "required": True}],
}


def answer_prompts_list(context: Context, params: dict[str, Any]) -> Result:
    """Answer prompts/list: the prompt that starts a task, stored prompts, personal ones, then those of libraries."""
    cursor = params.get("cursor")
    if cursor is None:
        entries = [START_ENTRY] if offers_start_task(context) else []
        return _list_stored(context, entries, layers.Position())
    source, number = decode_cursor(cursor, _CURSOR)
    if source != "library":
        return _list_stored(context, [], layers.Position(int(number), source == "personal"))
    if int(number) >= len(context.libraries.catalog.view):
        raise invalid_params("Unknown cursor")
    return _list_libraries(context, PageRows(), start=int(number))


def answer_prompts_get(context: Context, params: dict[str, Any]) -> Result:
    """Answer prompts/get."""
    name, given = params["name"], params["arguments"]
    if name == START_TASK and offers_start_task(context):
        with context.read() as opened:
            return _start_task(opened, given)
    found, messages, _ = fill_in(context, name, given, fill_messages)
    description = found.description if isinstance(found, LibraryTemplate) else found.description or found.title
    return with_description({"messages": [_message(*one) for one in messages]}, description)


def offers_start_task(context: Context) -> bool:
    """Whether there is a prompt that starts a task: only where tasks are served."""
    return "list_tasks" in context.tools


def _list_stored(context: Context, entries: list[Result], after: layers.Position) -> Result:
    page, has_more = PageRows(), True
    for entry in entries:
        page.add(entry)
    end = PAGE + len(entries)
    while has_more and len(page.rows) < end:
        limit = min(BATCH, end - len(page.rows))
        found, has_more = layers.list_headers(context.tx, context.scope, limit=limit, after=after)
        for one in found:
            is_hidden = one.name == START_TASK and offers_start_task(context)
            # The title is left out: some clients use it as the name of the prompt and fail at its spaces.
            about = mark_layer(one.description or one.title, one.layer)
            if not is_hidden and not page.add(_entry(one.name, about, one.arguments)):
                return {"prompts": page.rows, "nextCursor": _encode_position(after)}
            after = layers.position_of(one)
    if has_more:
        return {"prompts": page.rows, "nextCursor": _encode_position(after)}
    return _list_libraries(context, page, start=0)


def _encode_position(after: layers.Position, source: str = "stored") -> str:
    return encode_cursor("personal" if after.is_personal else source, after.key)


def _list_libraries(context: Context, page: PageRows, start: int) -> Result:
    templates, end = context.libraries.catalog.view, start + PAGE
    for place, (name, prompt) in enumerate(templates[start:end], start):
        if not page.add(_entry(name, prompt.description, prompt.arguments)):
            return {"prompts": page.rows, "nextCursor": encode_cursor("library", place)}
    if end < len(templates):
        return {"prompts": page.rows, "nextCursor": encode_cursor("library", end)}
    return {"prompts": page.rows}


def _start_task(context: Context, given: dict[str, str]) -> Result:
    if not given.get("task", "").strip():
        raise WrongValue("The prompt needs a value for task.", "Give the number of a task.", "task")
    task = find_task(context, given["task"])
    return {
        "description": f"Start task #{task.number}",
        "messages": [_message("user", write_start_page(context, task))],
    }


def _message(role: str, text: str) -> Result:
    return {"role": role, "content": {"type": "text", "text": text}}


def _entry(name: str, description: str | None, arguments: tuple[Argument, ...]) -> Result:
    entry = with_description({"name": name}, description)
    if arguments:  # one client passes over prompts with an empty list
        entry["arguments"] = encode_arguments(arguments)
    return entry


# -- documents ------------------------------------------------------------------------------------------------------


def answer_documents_list(context: Context, params: dict[str, Any]) -> Result:
    """Answer resources/list."""
    cursor, after = params.get("cursor"), layers.Position()
    if cursor is not None:
        source, number = decode_cursor(cursor, f"(documents|personal) {NUMBER}")
        after = layers.Position(int(number), source == "personal")
    page, has_more = PageRows(), True
    while has_more and len(page.rows) < PAGE:
        found, has_more = layers.list_documents(context.tx, context.scope, limit=BATCH, after=after)
        for one in found:
            entry = {"uri": one.uri, "name": one.name, "mimeType": one.mime_type, "size": one.size}
            if not page.add(with_description(entry, mark_layer(one.description, one.layer))):
                return {"resources": page.rows, "nextCursor": _encode_position(after, "documents")}
            after = layers.position_of(one)
    if has_more:
        return {"resources": page.rows, "nextCursor": _encode_position(after, "documents")}
    return {"resources": page.rows}


def answer_templates_list(_context: Context, params: dict[str, Any]) -> Result:
    """Answer resources/templates/list."""
    refuse_cursor(params.get("cursor"))
    return {"resourceTemplates": TEMPLATES}


def answer_documents_read(context: Context, params: dict[str, Any]) -> Result:
    """Answer resources/read: a document, a page behind a satchel:// URI, the app, or a file of a skill."""
    uri: str = params["uri"]
    ours = read_app_resource(uri)
    if ours is None and uri.startswith("skill://"):
        from satchel.contracts.satchel.skills import read_skill_file  # most clients ask for no skills

        ours = read_skill_file(context, uri)
    if ours is not None:
        return {"contents": [ours]}
    try:
        page = read_page(context, uri)
        if page is not None:
            return {"contents": [{"uri": uri, "mimeType": page.mime_type, "text": page.text}]}
        return {"contents": [encode_document(layers.get_document_by_uri(context.tx, context.scope, uri))]}
    except (NotFound, Forbidden, TemplateFailed) as missing:
        text = f"Resource '{uri}' not found in project '{context.scope.project}'"
        raise ProtocolError(INVALID_PARAMS, text, {"uri": uri}) from missing


# -- completion/complete --------------------------------------------------------------------------------------------


def answer_completion(context: Context, params: dict[str, Any]) -> Result:
    """Answer completion/complete."""
    reference, argument, text = params["ref"], params["argument"]["name"], params["argument"]["value"]
    if reference["type"] == "ref/resource":
        found = _complete_template(context, reference["uri"], argument, text)
    else:
        found = _complete_prompt(context, reference["name"], argument, text)
    return {"completion": {"values": list(found.values), "hasMore": found.has_more}}


def _complete_template(context: Context, uri: str, argument: str, text: str) -> Completion:
    if (uri, argument) == (f"{PROMPT_URI}{{name}}", "name"):
        stored = completion.prompt_names(context.tx, context.scope, text)
        return completion.merge(stored, completion.match((name for name, _ in context.libraries.catalog.view), text))
    if (uri, argument) == (f"{TASK_URI}{{number}}", "number"):
        return completion.open_tasks(context.tx, context.scope, text)
    if (uri, argument) == (f"{PROJECT_URI}{{name}}", "name"):
        return completion.projects(context.tx, context.scope, text)
    raise invalid_params(f"There is no resource template {uri} with an argument {argument}")


def _complete_prompt(context: Context, name: str, argument: str, text: str) -> Completion:
    """Complete the value of an argument: declared values, those given before, then those that its name implies."""
    if name == START_TASK and offers_start_task(context):
        if argument != "task":
            raise invalid_params(f"Prompt '{name}' has no argument {argument}")
        return completion.open_tasks(context.tx, context.scope, text)
    found = find_prompt(context, name)
    declared = next((one for one in found.arguments if one.name == argument), None)
    if declared is None:
        raise invalid_params(f"Prompt '{name}' has no argument {argument}")
    used = templates.recall_values(context.tx, context.scope, history_key(found, context.scope), argument, text)
    if argument == "project" and context.scope.projects is not None:
        used = tuple(name for name in used if name in context.scope.projects)
    known = completion.merge(completion.match(declared.values, text), Completion(used, False))
    if argument == "project":
        return completion.merge(known, completion.projects(context.tx, context.scope, text))
    if argument in ("tag", "tags"):
        return completion.merge(known, completion.prompt_tags(context.tx, context.scope, text))
    return known
