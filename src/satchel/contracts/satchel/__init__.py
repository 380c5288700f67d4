"""The `satchel` contract, our own: prompts, resources, tasks and libraries together, in one vocabulary.

inputs       what the tools take            answers      what they say, and its schemas
prompts, resources, tasks, projects         the tools
methods      prompts and resources of MCP   completions  what a half-typed argument may become
uris         the URIs of our own
rendering    prompts filled in              documents    tasks and projects as pages
failures     what goes wrong, in one shape  complaints   what is wrong with an argument
reading      what URIs of our own mean      cursors      where the next page begins
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from msgspec import Struct

from satchel.contracts.contract import Body, Context, Contract, Schema, Tool
from satchel.contracts.satchel import inputs
from satchel.contracts.satchel.answers import PROMPT, RESOURCE, TASK, in_project, many
from satchel.contracts.satchel.failures import FAILURES, SEE_LOG, UNABLE, Missed, Several, error
from satchel.contracts.satchel.uris import PROJECT_URI, PROMPT_URI, TASK_URI, prompt_uri
from satchel.errors import NotFound
from satchel.model import Scope, StoreChange
from satchel.protocol import ClientChange
from satchel.services import projects as all_projects
from satchel.services.suggestions import closest_names

_TEXT: Schema = {"type": "string"}
_COUNTED: Schema = {"type": "object", "required": ["name"]}


def later(path: str) -> Callable[..., Any]:
    """A function of one of the modules beside, imported when it is first called: a cold start waits for none."""
    module, name = path.split(".")

    def called(*arguments: Any) -> Any:
        return getattr(import_module(f"{__name__}.{module}"), name)(*arguments)

    return called


def tool(
    path: str,
    title: str,
    description: str,
    takes: type[Struct],
    gives: Schema,
    toolset: str = "",
    *,
    writes: bool = False,
    destroys: bool = False,
    repeats: bool = False,
    at_least_one: tuple[str, ...] = (),
) -> Tool:
    """A row of the table; named as its function."""
    run: Callable[..., Body] = later(path)
    return Tool(
        name=path.split(".")[1],
        title=title,
        description=description,
        input=takes,
        output=None,
        run=helped(run),
        writes=writes,
        toolset=toolset,
        at_least_one=at_least_one,
        output_schema=gives,
        annotations={
            "readOnlyHint": not writes,
            "destructiveHint": destroys,
            "idempotentHint": repeats or not writes,
            "openWorldHint": False,
        },
    )


def helped(run: Callable[..., Body]) -> Callable[..., Body]:
    """A tool that tells of a project that is not there which may have been meant, and points to no tool that is not."""

    def running(context: Context, arguments: Struct) -> Body:
        try:
            return run(context, arguments)
        except NotFound as missing:
            if isinstance(missing, Several) or (isinstance(missing, Missed) and missing.near):
                raise
            if missing.kind != "project":
                if f"list_{missing.kind}s" in context.tools:
                    raise
                raise Missed(missing, (), hint="Look at what was named once more.") from missing
            known = [project.name for project, _ in all_projects.list_all(context.tx, context.scope)]
            raise Missed(missing, closest_names(missing.key, known)) from missing

    return running


_KEPT = {  # by toolset: what it keeps, and what to look for there
    "prompts": ("prompts", "a saved prompt"),
    "resources": ("documents (resources)", "a project document"),
    "tasks": ("tasks", "what to do next (list_tasks: ready)"),
}


def instructions(tools: tuple[Tool, ...]) -> str:
    """What a model should know before it calls any of these tools."""
    sets = [_KEPT[one] for one in dict.fromkeys(tool.toolset for tool in tools if tool.toolset)]
    kept, sought = ([one[part] for one in sets] for part in (0, 1))
    text = (
        f"Satchel keeps the user's {enumerated(kept, ' and ')} across projects. Look here before asking the user for "
        f"{enumerated(sought, ', or ' if len(sought) > 2 else ' or ')}. Names in errors under `near` are what was "
        "probably meant."
    )
    updates = any(tool.name.startswith("update_") for tool in tools)
    return f"{text} Pass expected_version from what you read when you update." if updates else text


def enumerated(names: list[str], last: str) -> str:
    """Names in a row, with a word before the last."""
    return last.join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


def changes(changed: StoreChange, scope: Scope) -> list[ClientChange]:
    """A change of the store, or of libraries, as clients see it."""
    name = changed.key or ""
    if changed.what == "libraries":
        return [ClientChange("prompts")]
    if changed.what == "template":  # whichever way the letters of its library were written
        return [ClientChange("resource", uri) for uri in sorted({prompt_uri(name), PROMPT_URI + name})]
    # Tasks and projects are read from anywhere, all else in its own project only.
    glance = [] if changed.project is None else [ClientChange("resource", PROJECT_URI + changed.project)]
    if changed.what == "task":
        return [ClientChange("resource", TASK_URI + name), *glance]
    if changed.what == "project":
        return glance
    if changed.project != scope.project:
        return []
    if changed.what == "prompts":
        return [ClientChange("prompts")]
    if changed.what == "resources":
        return [ClientChange("resources")]
    return [ClientChange("resource", prompt_uri(name) if changed.what == "prompt" else name)]


CONTRACT = Contract(
    name="satchel",
    server_name="satchel",
    capabilities={
        "tools": {"listChanged": False},
        "prompts": {"listChanged": True},
        "resources": {"subscribe": True, "listChanged": True},
        "completions": {},
    },
    instructions=instructions,
    reads_libraries=True,
    finds_project=True,
    acts_as_user=True,
    changes=changes,
    tools=(
        tool(
            "prompts.add_prompt",
            "Add prompt",
            "Save a prompt for later use",
            inputs.AddPrompt,
            in_project(prompt=PROMPT),
            "prompts",
            writes=True,
        ),
        tool(
            "prompts.list_prompts",
            "List prompts",
            "Find saved and library prompts, newest first, without their content",
            inputs.ListPrompts,
            in_project("next_cursor", prompts=many(PROMPT), next_cursor=_TEXT),
            "prompts",
        ),
        tool(
            "prompts.get_prompt",
            "Get prompt",
            "Read a prompt as saved, with the arguments it takes",
            inputs.GetPrompt,
            in_project(prompt=PROMPT),
            "prompts",
        ),
        tool(
            "prompts.render_prompt",
            "Render prompt",
            "Fill in a saved or library prompt and get the text to follow",
            inputs.RenderPrompt,
            in_project(name=_TEXT, text=_TEXT),
            "prompts",
        ),
        tool(
            "prompts.update_prompt",
            "Update prompt",
            "Change the given fields of a prompt; empty clears",
            inputs.UpdatePrompt,
            in_project(prompt=PROMPT),
            "prompts",
            writes=True,
            destroys=True,
            repeats=True,
            at_least_one=("title", "content", "description", "tags", "arguments"),
        ),
        tool(
            "prompts.delete_prompt",
            "Delete prompt",
            "Delete a prompt for good",
            inputs.DeletePrompt,
            in_project(deleted=_TEXT),
            "prompts",
            writes=True,
            destroys=True,
        ),
        tool(
            "prompts.list_tags",
            "List tags",
            "Tags of prompts with counts",
            inputs.ListTags,
            in_project(tags=many(_COUNTED)),
            "prompts",
        ),
        tool(
            "resources.add_resource",
            "Add resource",
            "Save a document with the project",
            inputs.AddResource,
            in_project(resource=RESOURCE),
            "resources",
            writes=True,
        ),
        tool(
            "resources.list_resources",
            "List resources",
            "Find documents of the project",
            inputs.ListResources,
            in_project("next_cursor", resources=many(RESOURCE), next_cursor=_TEXT),
            "resources",
        ),
        tool(
            "resources.read_resource",
            "Read resource",
            "Read a document",
            inputs.ReadResource,
            in_project(resource=RESOURCE),
            "resources",
        ),
        tool(
            "resources.update_resource",
            "Update resource",
            "Change the given fields of a document; empty clears",
            inputs.UpdateResource,
            in_project(resource=RESOURCE),
            "resources",
            writes=True,
            destroys=True,
            repeats=True,
            at_least_one=("content", "mime_type", "description"),
        ),
        tool(
            "resources.delete_resource",
            "Delete resource",
            "Delete a document for good",
            inputs.DeleteResource,
            in_project(deleted=_TEXT),
            "resources",
            writes=True,
            destroys=True,
        ),
        tool(
            "tasks.add_task",
            "Add task",
            "Note something to do, now or later",
            inputs.AddTask,
            in_project(task=TASK),
            "tasks",
            writes=True,
        ),
        tool(
            "tasks.list_tasks",
            "List tasks",
            "Find tasks; by default what can be done now, most urgent first",
            inputs.ListTasks,
            in_project("next_cursor", tasks=many(TASK), next_cursor=_TEXT),
            "tasks",
        ),
        tool(
            "tasks.update_task",
            "Update task",
            "Change the given fields of a task; empty clears",
            inputs.UpdateTask,
            in_project(task=TASK),
            "tasks",
            writes=True,
            destroys=True,
            repeats=True,
            at_least_one=(
                "title",
                "description",
                "status",
                "tags",
                "priority",
                "due",
                "blocked_by",
                "project",
            ),
        ),
        tool(
            "tasks.complete_task",
            "Complete task",
            "Mark a task as done",
            inputs.CompleteTask,
            in_project(task=TASK),
            "tasks",
            writes=True,
            repeats=True,
        ),
        tool(
            "tasks.delete_task",
            "Delete task",
            "Delete a task for good",
            inputs.DeleteTask,
            in_project(deleted={"type": "integer"}),
            "tasks",
            writes=True,
            destroys=True,
        ),
        tool(
            "projects.list_projects",
            "List projects",
            "Projects, and which is current",
            inputs.ListProjects,
            in_project(why=_TEXT, projects=many(_COUNTED)),
        ),
    ),
    methods={
        "prompts/list": later("methods.list_prompts"),
        "prompts/get": later("methods.get_prompt"),
        "resources/list": later("methods.list_resources"),
        "resources/templates/list": later("methods.list_templates"),
        "resources/read": later("methods.read_resource"),
        "completion/complete": later("completions.complete"),
    },
    failures=FAILURES,
    apology=error("internal", UNABLE, SEE_LOG),
)
