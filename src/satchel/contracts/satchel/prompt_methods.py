"""Prompts as MCP offers them to people: `prompts/list` and `prompts/get`, and the prompt that starts a task."""

from typing import Any

from satchel.contracts.content import encode_arguments, with_description
from satchel.contracts.contract import Context, Result
from satchel.contracts.satchel.pages import write_start_page
from satchel.contracts.satchel.rendering import START_TASK, LibraryTemplate, fill_in, find_prompt
from satchel.contracts.satchel.tasks import find_task
from satchel.model import Argument
from satchel.protocol import invalid_params
from satchel.protocol.cursors import NUMBER, decode_cursor, encode_cursor
from satchel.services import prompts

PAGE = 500

# Stored prompts, in order of creation, come before those of libraries. A cursor says in which of the two it points, and
# behind which prompt: a stored one by its number, one of a library by its position.
_CURSOR = f"(stored|library) {NUMBER}"

START_ENTRY: Result = {
    "name": START_TASK,
    "description": "Begin a task: what it is about, what it waits for, the documents at hand.",
    "arguments": [{"name": "task", "description": "Number or UUID of a task", "required": True}],
}


def answer_prompts_list(context: Context, params: dict[str, Any]) -> Result:
    """Answer prompts/list: the prompt that starts a task, stored prompts, then those of libraries."""
    cursor = params.get("cursor")
    if cursor is None:
        return _list_stored(context, [START_ENTRY] if offers_start_task(context) else [], after=0)
    source, number = decode_cursor(cursor, _CURSOR)
    if source == "stored":
        return _list_stored(context, [], after=int(number))
    if int(number) >= len(context.libraries.catalog.view):
        raise invalid_params("Unknown cursor")
    return _list_libraries(context, [], start=int(number))


def answer_prompts_get(context: Context, params: dict[str, Any]) -> Result:
    """Answer prompts/get."""
    name, given = params["name"], params["arguments"]
    if name == START_TASK and offers_start_task(context):
        return _start_task(context, given)
    found = find_prompt(context, name)
    text = fill_in(context, found, given)
    description = found.description if isinstance(found, LibraryTemplate) else found.description or found.title
    return with_description({"messages": [_user_message(text)]}, description)


def offers_start_task(context: Context) -> bool:
    """Whether there is a prompt that starts a task: only where tasks are served."""
    return "list_tasks" in context.tools


def _list_stored(context: Context, entries: list[Result], after: int) -> Result:
    found, has_more = prompts.list_headers(context.tx, context.scope, limit=PAGE, after=after)
    # The title is left out: some clients use it as the name of the prompt and fail at its spaces.
    entries += [
        _entry(one.name, one.description or one.title, one.arguments)
        for one in found
        if one.name != START_TASK or not offers_start_task(context)
    ]
    if has_more:
        return {"prompts": entries, "nextCursor": encode_cursor("stored", found[-1].number)}
    return _list_libraries(context, entries, start=0)


def _list_libraries(context: Context, entries: list[Result], start: int) -> Result:
    templates, end = context.libraries.catalog.view, start + PAGE
    entries += [_entry(name, prompt.description, prompt.arguments) for name, prompt in templates[start:end]]
    if end < len(templates):
        return {"prompts": entries, "nextCursor": encode_cursor("library", end)}
    return {"prompts": entries}


def _start_task(context: Context, given: dict[str, str]) -> Result:
    if not given.get("task", "").strip():
        raise invalid_params("Missing required argument: task")
    task = find_task(context, given["task"])
    return {"description": f"Start task #{task.number}", "messages": [_user_message(write_start_page(context, task))]}


def _user_message(text: str) -> Result:
    return {"role": "user", "content": {"type": "text", "text": text}}


def _entry(name: str, description: str | None, arguments: tuple[Argument, ...]) -> Result:
    entry = with_description({"name": name}, description)
    if arguments:  # one client passes over prompts with an empty list
        entry["arguments"] = encode_arguments(arguments)
    return entry
