"""MCP's own methods: prompts, documents and pages behind satchel:// URIs, completion; changes as clients see them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import quote, unquote

from msgspec import Struct

from satchel.contracts.content import BATCH, PageRows, encode_arguments, encode_document, join_lines, without_nulls
from satchel.contracts.contract import Context, Result
from satchel.contracts.satchel.answers import describe_age, follow, mark_layer, may_read
from satchel.contracts.satchel.app import read_app_resource
from satchel.contracts.satchel.errors import TemplateFailed, WrongValue
from satchel.contracts.satchel.skills import answer_skills_get, answer_skills_list, read_skill_file
from satchel.contracts.satchel.task_answers import HIDDEN_BLOCKER, format_task, list_blockers
from satchel.contracts.satchel.templates import (
    START_TASK,
    LibraryTemplate,
    fill_in,
    fill_messages,
    find_prompt,
    history_key,
    read_template,
)
from satchel.errors import Forbidden, NotFound
from satchel.model import Argument, Document, Prompt, PromptHeader, Scope, StoreChange, Task, TaskQuery, uri_of
from satchel.protocol import INVALID_PARAMS, ClientChange, ProtocolError, invalid_params
from satchel.protocol.codec import encode
from satchel.protocol.cursors import NUMBER, decode_cursor, encode_cursor, refuse_cursor
from satchel.services import completion, documents, layers, lookup, projects, tasks, templates
from satchel.services.completion import Completion

PAGE = 500
Listed = TypeVar("Listed", PromptHeader, Document)

# Stored prompts come first, in order of creation, then those of the personal project, then those of libraries. A
# cursor names the group and the last prompt: a stored prompt by its number, a library's prompt by its position.
_CURSOR = f"(stored|personal|library) {NUMBER}"

START_ENTRY: Result = {
    "name": START_TASK,
    "description": "Start a task: its description, its blockers, its documents.",
    "arguments": [{"name": "task", "description": "#4 or its title", "required": True}],
}


def answer_prompts_list(context: Context, params: dict[str, Any]) -> Result:
    """Answer prompts/list: the prompt that starts a task, then stored, personal and library prompts."""
    page, after, start = PageRows(), layers.Position(), 0
    if params.get("cursor") is not None:
        source, number = decode_cursor(params["cursor"], _CURSOR)
        after, start = layers.Position(int(number), source == "personal"), int(number)
        if source == "library":
            if start >= len(context.libraries.catalog.view):
                raise invalid_params("Unknown cursor")
            return _list_libraries(context, page, start)
    elif may_read(context, "task"):
        page.add(START_ENTRY)

    def describe(one: PromptHeader) -> Result | None:
        if one.name == START_TASK and may_read(context, "task"):
            return None
        # The title is omitted, because some clients use it as the name of the prompt and fail at its spaces.
        return _entry(one.name, mark_layer(one.description or one.title, one.layer), one.arguments)

    cursor = _list_stored(context, page, layers.list_headers, describe, after, "stored")
    if cursor is not None:
        return {"prompts": page.rows, "nextCursor": cursor}
    return _list_libraries(context, page, start=0)


def answer_prompts_get(context: Context, params: dict[str, Any]) -> Result:
    """Answer prompts/get."""
    name, given = params["name"], params["arguments"]
    if name == START_TASK and may_read(context, "task"):
        with context.read() as opened:
            return _start_task(opened, given)
    context, short = follow(context, name)
    with _quote(name, short):
        found, messages, _ = fill_in(context, short, given, fill_messages)
    if isinstance(found, LibraryTemplate):
        description = found.description
    else:
        age = ", ".join(describe_age(found))
        description = (found.description or found.title) + (f" ({age})" if age else "")
    return without_nulls({"description": description, "messages": [_message(*one) for one in messages]})


def _list_stored(
    context: Context,
    page: PageRows,
    read: Callable[..., tuple[Sequence[Listed], bool]],
    describe: Callable[[Listed], Result | None],
    after: layers.Position,
    source: str,
) -> str | None:
    """Add stored items to a page, personal ones last; return the cursor of the next page, or None if there is none."""
    has_more, end = True, PAGE + len(page.rows)
    while has_more and len(page.rows) < end:
        limit = min(BATCH, end - len(page.rows))
        found, has_more = read(context.tx, context.scope, limit=limit, after=after)
        for one in found:
            entry = describe(one)
            if entry is not None and not page.add(entry):
                return encode_cursor("personal" if after.is_personal else source, after.key)
            after = layers.position_of(one)
    return encode_cursor("personal" if after.is_personal else source, after.key) if has_more else None


def _list_libraries(context: Context, page: PageRows, start: int) -> Result:
    templates, end = context.libraries.catalog.view, start + PAGE
    for place, (name, prompt) in enumerate(templates[start:end], start):
        if not page.add(_entry(name, prompt.description, prompt.arguments)):
            return {"prompts": page.rows, "nextCursor": encode_cursor("library", place)}
    if end < len(templates):
        return {"prompts": page.rows, "nextCursor": encode_cursor("library", end)}
    return {"prompts": page.rows}


@contextmanager
def _quote(reference: str, short: str) -> Iterator[None]:
    """Quote a reference as the call gave it, if the prompt that it names is not found in its project."""
    try:
        yield
    except NotFound as missing:
        if missing.kind != "prompt" or missing.key != short:
            raise
        raise NotFound("prompt", reference, missing.scope, near=missing.near, why=missing.why) from missing


def _start_task(context: Context, given: dict[str, str]) -> Result:
    if not given.get("task", "").strip():
        raise WrongValue("The prompt needs a value for task.", "Give the number of a task.", "task")
    task = tasks.find(context.tx, context.scope, given["task"])
    return {
        "description": f"Start task #{task.number}",
        "messages": [_message("user", write_start_page(context, task))],
    }


def _message(role: str, text: str) -> Result:
    return {"role": role, "content": {"type": "text", "text": text}}


def _entry(name: str, description: str | None, arguments: tuple[Argument, ...]) -> Result:
    entry = without_nulls({"name": name, "description": description})
    if arguments:  # one client skips prompts with an empty list
        entry["arguments"] = encode_arguments(arguments)
    return entry


# -- documents ------------------------------------------------------------------------------------------------------


def answer_documents_list(context: Context, params: dict[str, Any]) -> Result:
    """Answer resources/list."""
    page, after = PageRows(), layers.Position()
    if params.get("cursor") is not None:
        source, number = decode_cursor(params["cursor"], f"(documents|personal) {NUMBER}")
        after = layers.Position(int(number), source == "personal")

    def describe(one: Document) -> Result:
        described = {"uri": one.uri, "name": one.name, "description": mark_layer(one.description, one.layer)}
        return without_nulls({**described, "mimeType": one.mime_type, "size": one.size})

    cursor = _list_stored(context, page, layers.list_all_documents, describe, after, "documents")
    return {"resources": page.rows, **({} if cursor is None else {"nextCursor": cursor})}


def answer_templates_list(_context: Context, params: dict[str, Any]) -> Result:
    """Answer resources/templates/list."""
    refuse_cursor(params.get("cursor"))
    return {"resourceTemplates": TEMPLATES}


def answer_documents_read(context: Context, params: dict[str, Any]) -> Result:
    """Answer resources/read: a document, a page behind a satchel:// URI, the app, or a file of a skill."""
    uri: str = params["uri"]
    ours = read_app_resource(uri)
    if ours is None:
        ours = read_skill_file(context, uri)
    if ours is not None:
        return {"contents": [ours]}
    try:
        there, short = follow(context, uri)
        page = read_page(there, short)
        if page is not None:
            return {"contents": [{"uri": uri, "mimeType": page.mime_type, "text": page.text}]}
        if short == uri:
            return {"contents": [encode_document(layers.get_document_by_uri(context.tx, context.scope, uri))]}
        found = layers.find_document(there.tx, there.scope, short)  # a link has the name of the document
        return {"contents": [{**encode_document(found), "uri": uri}]}
    except (NotFound, Forbidden, TemplateFailed) as missing:
        text = f"Resource '{uri}' not found in project '{context.scope.project}'"
        near = _find_elsewhere(context, missing)
        text += f", but elsewhere: {' or '.join(near)}" if near else ""
        raise ProtocolError(INVALID_PARAMS, text, {"uri": uri, **({"near": near} if near else {})}) from missing


def _find_elsewhere(context: Context, missing: Exception) -> list[str]:
    """Return the links to items of other projects that a URI may mean."""
    if not isinstance(missing, NotFound) or missing.kind not in layers.KINDS:
        return []
    found = lookup.find_elsewhere(context.tx, missing.scope, [missing.kind], missing.key)
    return [reference for reference, _ in found]


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
    """Complete the value of an argument: from declared values, earlier values, and what the argument's name implies."""
    if name == START_TASK and may_read(context, "task"):
        if argument != "task":
            raise invalid_params(f"Prompt '{name}' has no argument {argument}")
        return completion.task_references(context.tx, context.scope, text)
    context, short = follow(context, name)
    with _quote(name, short):
        found = find_prompt(context, short)
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


# -- pages behind satchel:// URIs, made when they are read ------------------------------------------------------------

PROMPT_URI, TASK_URI, PROJECT_URI = "satchel://prompt/", "satchel://task/", "satchel://project/"

MARKDOWN, JSON = "text/markdown", "application/json"

TEMPLATES = [
    {"uriTemplate": uri, "name": name, "description": description, "mimeType": mime_type}
    for uri, name, description, mime_type in (
        (PROMPT_URI + "{name}", "prompt", "A prompt of the current project, or of a library, as stored.", MARKDOWN),
        (TASK_URI + "{number}", "task", "One of your tasks, with its blockers and documents.", MARKDOWN),
        (PROJECT_URI + "{name}", "project", "A project at a glance: its documents, its open tasks.", JSON),
    )
]

_MOST = 20  # documents on a page, and tasks
_TOOLS_OF_PROJECT = ("read_resource", "list_resources", "get_prompt", "add_tasks")  # in the order of their use


def quote_prompt_uri(name: str) -> str:
    """Return the URI of a prompt."""
    return PROMPT_URI + quote(name, safe=":")


class GeneratedPage(Struct, frozen=True):
    """A page that is generated when it is read."""

    mime_type: str
    text: str
    project: str
    version: int = 0  # the version of the prompt or task; 0 for other pages


def read_page(context: Context, uri: str) -> GeneratedPage | None:
    """Return the page that a URI names; None if there is no such page.

    Raises:
        NotFound, Forbidden: there is no such prompt, task or project in this scope.
        TemplateFailed: the file of the prompt cannot be read.
    """
    prefix = next((prefix for prefix in (PROMPT_URI, TASK_URI, PROJECT_URI) if uri.startswith(prefix)), None)
    name = "" if prefix is None else unquote(uri.removeprefix(prefix))  # invalid UTF-8 becomes U+FFFD, as in no name
    if not name.strip() or "\0" in name:  # no store accepts NUL, not even in a search
        return None
    if prefix == PROMPT_URI:
        found = find_prompt(context, name)
        version = found.version if isinstance(found, Prompt) else 0
        return GeneratedPage(MARKDOWN, read_template(context, found), context.scope.project, version)
    if prefix == TASK_URI:
        task = tasks.find(context.tx, context.scope, name)
        project = task.project or context.scope.project
        return GeneratedPage(MARKDOWN, write_task_page(context, task), project, task.version)
    return GeneratedPage(JSON, write_project_page(context.within(name)), name)


def write_task_page(context: Context, task: Task) -> str:
    """Return a task in Markdown: all its fields, its blockers and subtasks, and the documents of its project."""
    facts = {
        "Status": task.status if task.status != "pending" else "ready" if task.is_ready else "blocked",
        "Priority": task.priority,
        "Due": task.due,
        "Project": task.project,
        "Tags": ", ".join(task.tags),
    }
    lines = [f"- {name}: {fact}" for name, fact in facts.items() if fact]
    page = [f"# Task #{task.number}: {join_lines(task.title)}", "\n".join(lines)]
    if task.description is not None:
        page.append(task.description)
    lines = [format_task(one) for one in tasks.list_some(context.tx, context.scope, task.blocked_by[:_MOST])]
    if task.waits_elsewhere:
        lines.append(HIDDEN_BLOCKER)
    if lines:
        page.append("## To be done first\n\n" + "\n".join(f"- {line}" for line in lines))
    children = tasks.list_subtasks(context.tx, context.scope, task.number)[:_MOST] if task.subtasks else []
    if children:
        lines = [format_task(one) for one in children] + (["..."] if task.subtasks > len(children) else [])
        page.append("## Subtasks\n\n" + "\n".join(f"- {line}" for line in lines))
    documents = _list_documents(context, task.project)
    if documents:
        page.append(f"## Documents of project {task.project}\n\n" + "\n".join(documents))
    return "\n\n".join(page) + "\n"


def write_start_page(context: Context, task: Task) -> str:
    """Return a task as the first message of a conversation about it, with the tools that the caller may use."""
    page = ["Work on this task.", write_task_page(context, task).rstrip()]
    if blockers := list_blockers(task):
        page.append(f"Open blockers: {', '.join(blockers)}. Finish them first, or tell me why work can begin anyway.")
    if "read_resource" in context.tools:
        page.append("Read the documents that matter with read_resource.")
    tools = ", ".join(tool for tool in _TOOLS_OF_PROJECT if tool in context.tools)
    if tools and task.project not in (None, context.scope.project):
        page.append(f'Its project is not the current one: pass project: "{task.project}" to {tools}.')
    done = f"call complete_task with task {task.number}" if "complete_task" in context.tools else "tell me"
    more = "; note what comes up with add_tasks" if "add_tasks" in context.tools else ""
    page.append(f"When it is done, {done}{more}.")
    return "\n\n".join(page) + "\n"


def write_project_page(context: Context) -> str:
    """Return the current project in JSON: its size, its first documents and its first open tasks."""
    held = projects.count_current(context.tx, context.scope)
    open_tasks, has_more = tasks.list_page(
        context.tx, context.scope, TaskQuery(filter="pending", project=context.scope.project), limit=_MOST
    )
    found, _ = documents.list_page(context.tx, context.scope, limit=_MOST)
    value = {
        "name": context.scope.project,
        "counts": {"prompts": held.prompts, "documents": held.documents},
        "documents": [{"name": one.name, "uri": _name_uri(context, one, context.scope.project)} for one in found],
        "open_tasks": [format_task(task) for task in open_tasks],
        "has_more_tasks": has_more,
    }
    return encode(value).decode()


def _list_documents(context: Context, project: str | None) -> list[str]:
    if project is None:
        return []
    try:
        found, _ = documents.list_page(context.tx, projects.enter(context.scope, project), limit=_MOST)
    except NotFound:
        return []
    return [f"- {one.name}: {_name_uri(context, one, project)}" for one in found]


def _name_uri(context: Context, document: Document, project: str) -> str:
    """Return the URI of a document, or its link if it is in another project than the caller's."""
    return document.uri if project == context.here else uri_of("document", document.name, project)


# -- changes ----------------------------------------------------------------------------------------------------------


def translate_change(change: StoreChange, scope: Scope) -> list[ClientChange]:
    """Translate a change of the store or of libraries into changes for clients."""
    name = change.key or ""
    if change.what == "libraries":
        return [ClientChange("prompts")]
    if change.what == "template":  # a client may have subscribed to either spelling of its URI
        return [ClientChange("resource", uri) for uri in sorted({quote_prompt_uri(name), PROMPT_URI + name})]
    # Tasks and projects can be read from every project; prompts and documents, from their own one or if it is personal.
    overview = [] if change.project is None else [ClientChange("resource", PROJECT_URI + change.project)]
    if change.what == "task":
        return [ClientChange("resource", TASK_URI + name), *overview]
    if change.what == "project":
        return overview
    is_read_here = change.project in (scope.project, scope.personal)
    if change.what in ("prompts", "documents"):
        return [ClientChange("prompts" if change.what == "prompts" else "resources")] if is_read_here else []
    short = quote_prompt_uri(name) if change.what == "prompt" else name
    long = _add_project(short, change.project or "")
    return [ClientChange("resource", uri) for uri in ([short] if is_read_here else []) + long]


def _add_project(uri: str, project: str) -> list[str]:
    """Return the link with its project to an item that has a `satchel://` URI."""
    kind = next((one for one in layers.KINDS if uri.startswith(uri_of(one, ""))), None)
    return [] if kind is None else [uri_of(kind, uri.removeprefix(uri_of(kind, "")), project)]


METHODS: dict[str, Callable[[Context, dict[str, Any]], Result]] = {
    "prompts/list": answer_prompts_list,
    "prompts/get": answer_prompts_get,
    "resources/list": answer_documents_list,
    "resources/templates/list": answer_templates_list,
    "resources/read": answer_documents_read,
    "completion/complete": answer_completion,
    "skills/list": answer_skills_list,
    "skills/get": answer_skills_get,
}
