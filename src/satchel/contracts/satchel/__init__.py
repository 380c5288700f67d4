"""The `satchel` contract, our own: prompts, resources, tasks and libraries together, in one vocabulary.

prompts          the tools for prompts
prompt_methods   prompts/list and prompts/get
rendering        finds prompts, stored and of libraries, and fills them in
resources        the tools and methods for documents
tasks            the tools for tasks
projects         the tool for projects
pages            the pages behind satchel:// URIs
completions      completion/complete
failures         errors: their codes, sentences and hints
cursors          where the next page of a tool that lists begins
shared           arguments, answers and schemas that several of these use
"""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from satchel.contracts.contract import Body, Context, Contract, Tool
from satchel.contracts.satchel import projects, prompts, resources, tasks
from satchel.contracts.satchel.completions import answer_completion
from satchel.contracts.satchel.failures import FAILURES, AmbiguousTitle, UnknownName
from satchel.contracts.satchel.pages import PROJECT_URI, PROMPT_URI, TASK_URI, quote_prompt_uri
from satchel.contracts.satchel.prompt_methods import answer_prompts_get, answer_prompts_list
from satchel.contracts.schema import Schema
from satchel.errors import NotFound
from satchel.model import Scope, StoreChange
from satchel.protocol import ClientChange
from satchel.services import projects as all_projects
from satchel.services.suggestions import closest_names


def _tool(
    run: Callable[[Context, Any], Body],
    description: str,
    input: type[Struct],
    output_schema: Schema,
    toolset: str = "",
    *,
    writes: bool = False,
    destroys: bool = False,
    repeats: bool = False,
    at_least_one: tuple[str, ...] = (),
) -> Tool:
    """A row of the table; the tool has the name of its function, and a title made from it."""
    return Tool(
        run.__name__,
        description,
        input,
        _with_suggestions(run),
        title=run.__name__.replace("_", " ").capitalize(),
        writes=writes,
        toolset=toolset,
        at_least_one=at_least_one,
        output_schema=output_schema,
        annotations={
            "readOnlyHint": not writes,
            "destructiveHint": destroys,
            "idempotentHint": repeats or not writes,
            "openWorldHint": False,
        },
    )


def _with_suggestions(run: Callable[[Context, Any], Body]) -> Callable[[Context, Any], Body]:
    """Have a tool suggest projects with similar names, and refer only to tools that the caller may use."""

    def run_with_suggestions(context: Context, arguments: Any) -> Body:
        try:
            return run(context, arguments)
        except NotFound as missing:
            if isinstance(missing, AmbiguousTitle) or (isinstance(missing, UnknownName) and missing.suggestions):
                raise
            if missing.kind != "project":
                if f"list_{missing.kind}s" in context.tools:
                    raise
                raise UnknownName(missing, (), hint="Look at what was named once more.") from missing
            known = [project.name for project, _ in all_projects.list_all(context.tx, context.scope)]
            raise UnknownName(missing, closest_names(missing.key, known)) from missing

    return run_with_suggestions


_CONTENTS = {  # by toolset: what it stores, and what to look for there
    "prompts": ("prompts", "a saved prompt"),
    "resources": ("documents (resources)", "a project document"),
    "tasks": ("tasks", "what to do next (list_tasks: ready)"),
}


def write_instructions(tools: Sequence[Tool]) -> str:
    """What a model should know before it calls any of these tools."""
    contents = [_CONTENTS[one] for one in dict.fromkeys(tool.toolset for tool in tools if tool.toolset)]
    stored, sought = [stored for stored, _ in contents], [sought for _, sought in contents]
    text = (
        f"Satchel keeps the user's {_enumerate(stored, ' and ')} across projects. Look here before asking the user for "
        f"{_enumerate(sought, ', or ' if len(sought) > 2 else ' or ')}. Names in errors under `near` are what was "
        "probably meant."
    )
    updates = any(tool.name.startswith("update_") for tool in tools)
    return f"{text} Pass expected_version from what you read when you update." if updates else text


def _enumerate(names: list[str], last: str) -> str:
    """Names in a row, with a word before the last."""
    return last.join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


def translate_change(change: StoreChange, scope: Scope) -> list[ClientChange]:
    """A change of the store, or of libraries, as clients see it."""
    name = change.key or ""
    if change.what == "libraries":
        return [ClientChange("prompts")]
    if change.what == "template":  # a client may have subscribed to either spelling of its URI
        return [ClientChange("resource", uri) for uri in sorted({quote_prompt_uri(name), PROMPT_URI + name})]
    # Tasks and projects can be read from every project, prompts and resources only from their own.
    overview = [] if change.project is None else [ClientChange("resource", PROJECT_URI + change.project)]
    if change.what == "task":
        return [ClientChange("resource", TASK_URI + name), *overview]
    if change.what == "project":
        return overview
    if change.project != scope.project:
        return []
    if change.what == "prompts":
        return [ClientChange("prompts")]
    if change.what == "resources":
        return [ClientChange("resources")]
    return [ClientChange("resource", quote_prompt_uri(name) if change.what == "prompt" else name)]


CONTRACT = Contract(
    name="satchel",
    server_name="satchel",
    capabilities={
        "tools": {"listChanged": False},
        "prompts": {"listChanged": True},
        "resources": {"subscribe": True, "listChanged": True},
        "completions": {},
    },
    instructions=write_instructions,
    reads_libraries=True,
    finds_project=True,
    acts_as_user=True,
    translate_change=translate_change,
    tools=(
        _tool(
            prompts.add_prompt,
            "Save a prompt for later use",
            prompts.AddPrompt,
            prompts.ONE_PROMPT,
            "prompts",
            writes=True,
        ),
        _tool(
            prompts.list_prompts,
            "Find saved and library prompts, newest first, without their content",
            prompts.ListPrompts,
            prompts.PROMPT_PAGE,
            "prompts",
        ),
        _tool(
            prompts.get_prompt,
            "Read a prompt as saved, with the arguments it takes",
            prompts.GetPrompt,
            prompts.ONE_PROMPT,
            "prompts",
        ),
        _tool(
            prompts.render_prompt,
            "Fill in a saved or library prompt and get the text to follow",
            prompts.RenderPrompt,
            prompts.RENDERED_PROMPT,
            "prompts",
        ),
        _tool(
            prompts.update_prompt,
            "Change the given fields of a prompt; empty clears",
            prompts.UpdatePrompt,
            prompts.ONE_PROMPT,
            "prompts",
            writes=True,
            destroys=True,
            repeats=True,
            at_least_one=("title", "content", "description", "tags", "arguments"),
        ),
        _tool(
            prompts.delete_prompt,
            "Delete a prompt for good",
            prompts.DeletePrompt,
            prompts.DELETED_PROMPT,
            "prompts",
            writes=True,
            destroys=True,
        ),
        _tool(prompts.list_tags, "Tags of prompts with counts", prompts.ListTags, prompts.TAG_LIST, "prompts"),
        _tool(
            resources.add_resource,
            "Save a document with the project",
            resources.AddResource,
            resources.ONE_RESOURCE,
            "resources",
            writes=True,
        ),
        _tool(
            resources.list_resources,
            "Find documents of the project",
            resources.ListResources,
            resources.RESOURCE_PAGE,
            "resources",
        ),
        _tool(resources.read_resource, "Read a document", resources.ReadResource, resources.ONE_RESOURCE, "resources"),
        _tool(
            resources.update_resource,
            "Change the given fields of a document; empty clears",
            resources.UpdateResource,
            resources.ONE_RESOURCE,
            "resources",
            writes=True,
            destroys=True,
            repeats=True,
            at_least_one=("content", "mime_type", "description"),
        ),
        _tool(
            resources.delete_resource,
            "Delete a document for good",
            resources.DeleteResource,
            resources.DELETED_RESOURCE,
            "resources",
            writes=True,
            destroys=True,
        ),
        _tool(
            tasks.add_task, "Note something to do, now or later", tasks.AddTask, tasks.ONE_TASK, "tasks", writes=True
        ),
        _tool(
            tasks.list_tasks,
            "Find tasks; by default what can be done now, most urgent first",
            tasks.ListTasks,
            tasks.TASK_PAGE,
            "tasks",
        ),
        _tool(
            tasks.update_task,
            "Change the given fields of a task; empty clears",
            tasks.UpdateTask,
            tasks.ONE_TASK,
            "tasks",
            writes=True,
            destroys=True,
            repeats=True,
            at_least_one=("title", "description", "status", "tags", "priority", "due", "blocked_by", "project"),
        ),
        _tool(
            tasks.complete_task,
            "Mark a task as done",
            tasks.CompleteTask,
            tasks.ONE_TASK,
            "tasks",
            writes=True,
            repeats=True,
        ),
        _tool(
            tasks.delete_task,
            "Delete a task for good",
            tasks.DeleteTask,
            tasks.DELETED_TASK,
            "tasks",
            writes=True,
            destroys=True,
        ),
        _tool(projects.list_projects, "Projects, and which is current", projects.ListProjects, projects.PROJECT_LIST),
    ),
    methods={
        "prompts/list": answer_prompts_list,
        "prompts/get": answer_prompts_get,
        "resources/list": resources.answer_resources_list,
        "resources/templates/list": resources.answer_templates_list,
        "resources/read": resources.answer_resources_read,
        "completion/complete": answer_completion,
    },
    failures=FAILURES,
)
