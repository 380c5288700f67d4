"""Pages behind `satchel://` URIs: prompts, tasks and projects as Markdown or JSON, made when they are read."""

import re

from msgspec import Struct

from satchel.contracts.content import join_lines
from satchel.contracts.contract import Context
from satchel.contracts.satchel.task_answers import HIDDEN_BLOCKER, format_task, list_blockers
from satchel.contracts.satchel.tasks import find_task
from satchel.contracts.satchel.templates import find_prompt, read_template
from satchel.errors import NotFound
from satchel.model import Prompt, Task, TaskQuery
from satchel.protocol.codec import encode
from satchel.services import documents, projects, tasks

PROMPT_URI, TASK_URI, PROJECT_URI = "satchel://prompt/", "satchel://task/", "satchel://project/"

MARKDOWN, JSON = "text/markdown", "application/json"

TEMPLATES = [
    {"uriTemplate": uri, "name": name, "description": description, "mimeType": mime_type}
    for uri, name, description, mime_type in (
        (PROMPT_URI + "{name}", "prompt", "A prompt of the current project, or of a library, as it is kept.", MARKDOWN),
        (TASK_URI + "{number}", "task", "A task of yours, with what it needs.", MARKDOWN),
        (PROJECT_URI + "{name}", "project", "A project at a glance: its documents, its open tasks.", JSON),
    )
]

_MOST = 20  # documents and tasks that a page names
_TOOLS_OF_PROJECT = ("read_resource", "list_resources", "get_prompt", "add_tasks")  # in the order of their use

# -- URIs -------------------------------------------------------------------------------------------------------
# Quoted here rather than by urllib.parse, which takes 12 ms to import.

_UNQUOTED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:")


def quote_prompt_uri(name: str) -> str:
    """The URI of a prompt."""
    return PROMPT_URI + "".join(chr(byte) if byte in _UNQUOTED else f"%{byte:02X}" for byte in name.encode())


def unquote_name(uri: str, prefix: str) -> str:
    """The name in a URI behind its prefix; invalid UTF-8 becomes U+FFFD, which no name has."""
    name = uri[len(prefix) :].encode()
    return re.sub(rb"%([0-9A-Fa-f]{2})", lambda found: bytes([int(found[1], 16)]), name).decode("utf-8", "replace")


# -- reading ----------------------------------------------------------------------------------------------------


class GeneratedPage(Struct, frozen=True):
    """A page as it is at the moment of reading."""

    mime_type: str
    text: str
    project: str
    version: int = 0  # of the prompt or task; 0 for what has none


def read_page(context: Context, uri: str) -> GeneratedPage | None:
    """The page behind a URI; None if the URI is not one of a page.

    Raises:
        NotFound, Forbidden: there is no such prompt, task or project in this scope.
        TemplateFailed: the file of the prompt cannot be read.
    """
    prefix = next((prefix for prefix in (PROMPT_URI, TASK_URI, PROJECT_URI) if uri.startswith(prefix)), None)
    name = "" if prefix is None else unquote_name(uri, prefix)
    if not name.strip() or "\0" in name:  # no store accepts NUL, not even in a search
        return None
    if prefix == PROMPT_URI:
        found = find_prompt(context, name)
        version = found.version if isinstance(found, Prompt) else 0
        return GeneratedPage(MARKDOWN, read_template(context, found), context.scope.project, version)
    if prefix == TASK_URI:
        task = find_task(context, name)
        project = task.project or context.scope.project
        return GeneratedPage(MARKDOWN, write_task_page(context, task), project, task.version)
    return GeneratedPage(JSON, write_project_page(context.within(name)), name)


# -- writing ----------------------------------------------------------------------------------------------------


def write_task_page(context: Context, task: Task) -> str:
    """A task in Markdown: all its fields, the tasks that block it, and the documents of its project."""
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
    lines = [format_task(one) for number in task.blocked_by[:_MOST] if (one := _find_blocker(context, number))]
    if task.waits_elsewhere:
        lines.append(HIDDEN_BLOCKER)
    if lines:
        page.append("## To be done first\n\n" + "\n".join(f"- {line}" for line in lines))
    documents = _list_documents(context, task.project)
    if documents:
        page.append(f"## Documents of project {task.project}\n\n" + "\n".join(documents))
    return "\n\n".join(page) + "\n"


def write_start_page(context: Context, task: Task) -> str:
    """A task as the first message of a conversation about it, with the tools that the caller may use for it."""
    page = ["Work on this task.", write_task_page(context, task).rstrip()]
    if blockers := list_blockers(task):
        page.append(f"It waits for {', '.join(blockers)}: see to that first, or tell me why it can begin anyway.")
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
    """The current project in JSON: how much it holds, its first documents and open tasks."""
    held = projects.count_current(context.tx, context.scope)
    open_tasks, has_more = tasks.list_page(
        context.tx, context.scope, TaskQuery(filter="pending", project=context.scope.project), limit=_MOST
    )
    found, _ = documents.list_page(context.tx, context.scope, limit=_MOST)
    value = {
        "name": context.scope.project,
        "counts": {"prompts": held.prompts, "documents": held.documents},
        "documents": [{"name": one.name, "uri": one.uri} for one in found],
        "open_tasks": [format_task(task) for task in open_tasks],
        "has_more_tasks": has_more,
    }
    return encode(value).decode()


def _find_blocker(context: Context, number: int) -> Task | None:
    try:
        return tasks.find(context.tx, context.scope, number)
    except NotFound:
        return None


def _list_documents(context: Context, project: str | None) -> list[str]:
    if project is None:
        return []
    try:
        found, _ = documents.list_page(context.tx, projects.enter(context.scope, project), limit=_MOST)
    except NotFound:
        return []
    return [f"- {one.name}: {one.uri}" for one in found]
