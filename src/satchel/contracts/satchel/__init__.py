"""The `satchel` contract, our own: prompts, resources, tasks and libraries together, in one vocabulary.

prompts          the tools for prompts
prompt_methods   prompts/list, prompts/get and completion/complete
rendering        finds prompts, stored and of libraries, and fills them in
resources        the tools and methods for documents
tasks            the tools for tasks
projects         the tool for projects
search           the tool that finds items by words
search_answers   what it does
history          the tools that read what was, and restore it
history_answers  what these do
pages            the pages behind satchel:// URIs
failures         errors: their codes, sentences and hints
cursors          where the next page of a tool that lists begins
shared           arguments, answers and schemas that several of these use
"""

from collections.abc import Sequence

from satchel.contracts.contract import Contract, Tool
from satchel.contracts.satchel import history, projects, prompts, resources, search, tasks
from satchel.contracts.satchel.failures import FAILURES, METHOD_FAILURES
from satchel.contracts.satchel.pages import PROJECT_URI, PROMPT_URI, TASK_URI, quote_prompt_uri
from satchel.contracts.satchel.prompt_methods import answer_completion, answer_prompts_get, answer_prompts_list
from satchel.model import Scope, StoreChange
from satchel.protocol import ClientChange

_CONTENTS = {  # by toolset: what it stores, and what to look for there
    "prompts": ("prompts", "a saved prompt"),
    "resources": ("documents (resources)", "a project document"),
    "tasks": ("tasks", "what to do next (list_tasks: ready)"),
}


def write_instructions(tools: Sequence[Tool], _user: str | None) -> str:
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
    tools=(*search.TOOLS, *prompts.TOOLS, *resources.TOOLS, *tasks.TOOLS, *projects.TOOLS, *history.TOOLS),
    methods={
        "prompts/list": answer_prompts_list,
        "prompts/get": answer_prompts_get,
        "resources/list": resources.answer_resources_list,
        "resources/templates/list": resources.answer_templates_list,
        "resources/read": resources.answer_resources_read,
        "completion/complete": answer_completion,
    },
    failures=FAILURES,
    method_failures=METHOD_FAILURES,
)
