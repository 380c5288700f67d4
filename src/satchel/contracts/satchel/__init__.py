"""The `satchel` contract, our own: prompts, resources, tasks and libraries together, in one vocabulary.

prompts            the tools for prompts
prompt_changes     those of them that add, change and delete
prompt_methods     prompts/list, prompts/get and completion/complete
prompt_answers     how answers describe a prompt
rendering          finds prompts, stored and of libraries, and fills them in
proofs             templates proved when they are saved
resources          the tools and methods for documents
resource_answers   how answers describe a document
texts              the tool that edits a part of a text
reading            parts of a text that is read, and answers with one
tasks              the tools for tasks
tag_filters        the tags that a list is narrowed by
task_adding        the tool that adds many
task_changes       the tools that update and complete them
task_claims        the tool that claims them
task_answers       how answers show tasks
task_lookups       finds the tasks that arguments name
task_failures      errors of claims, and of calls with several entries
search             the tool that finds items by words
search_answers     what it does
items              the tools that change or delete several items of any kind
item_lookups       finds the items that arguments name
deleted_items      tells what is similar to a name that nothing has, or that it was deleted
deleting           deletes items, and tells what referred to them
projects           the tools for projects
catch_up           the tool that tells a new session where things stand
catch_up_answers   what it does
history            the tools that read what was, and restore it
history_answers    what these do
pages              the pages behind satchel:// URIs
bulk               calls with several entries
retries            calls with a key, which act once
failures           errors: their codes, sentences and hints
text_failures      those about texts
unknown_arguments  the error for arguments that a tool does not take
nearest            which argument or tool was meant by one that there is not
other_names        what models and other servers call our arguments and tools
cursors            where the next page of a tool that lists begins
place              tells of a current project that did not exist
show               the tool that shows tasks or prompts inside the chat
chat_app           the app that hosts show for it
skills             skills/list and skills/get
icons              the icons of the server and of its tools
shared             arguments, answers and schemas that several of these use
"""

from collections.abc import Iterable, Sequence
from typing import Any

from satchel.contracts.contract import Context, Contract, Result, Tool
from satchel.contracts.satchel import catch_up, history, items, projects, prompts, resources, search, show, tasks, texts
from satchel.contracts.satchel.chat_app import UI
from satchel.contracts.satchel.failures import METHOD_FAILURES
from satchel.contracts.satchel.icons import ICONS
from satchel.contracts.satchel.pages import PROJECT_URI, PROMPT_URI, TASK_URI, quote_prompt_uri
from satchel.contracts.satchel.prompt_methods import answer_completion, answer_prompts_get, answer_prompts_list
from satchel.contracts.satchel.task_failures import TASK_FAILURES
from satchel.contracts.satchel.text_failures import TEXT_FAILURES, TEXT_METHOD_FAILURES
from satchel.model import Scope, StoreChange
from satchel.protocol import ClientChange

_CONTENTS = {"prompts": "prompts", "resources": "documents", "tasks": "tasks"}  # by toolset
_ADVICE = (  # by the tool that it is about
    ("search", "Search here before you ask the user."),
    ("edit_text", "Change texts with edit_text; do not send them whole."),
    ("claim_task", "Use claim_task before you work beside others."),
    ("update_items", "Pass expected_version as you read it."),
)


def write_instructions(tools: Sequence[Tool], _user: str | None) -> str:
    """What a model should know before it calls any of these tools."""
    names = {tool.name for tool in tools}
    contents = [_CONTENTS[one] for one in dict.fromkeys(tool.toolset for tool in tools if tool.toolset)]
    sentences = [
        f"Satchel keeps the user's {_enumerate(contents)} by project, across sessions.",
        "Begin with catch_up.",
        "Name an item by #4, its name or its URI, like satchel://task/4; such a URI in a text is a link.",
        *(advice for tool, advice in _ADVICE if tool in names),
        "`near` in an error is what was probably meant.",
    ]
    return " ".join(sentences)


def _enumerate(names: list[str]) -> str:
    """Names in a row, with `and` before the last."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


def translate_change(change: StoreChange, scope: Scope) -> list[ClientChange]:
    """A change of the store, or of libraries, as clients see it."""
    name = change.key or ""
    if change.what == "libraries":
        return [ClientChange("prompts")]
    if change.what == "template":  # a client may have subscribed to either spelling of its URI
        return [ClientChange("resource", uri) for uri in sorted({quote_prompt_uri(name), PROMPT_URI + name})]
    # Tasks and projects can be read from every project, prompts and resources only from their own and the personal one.
    overview = [] if change.project is None else [ClientChange("resource", PROJECT_URI + change.project)]
    if change.what == "task":
        return [ClientChange("resource", TASK_URI + name), *overview]
    if change.what == "project":
        return overview
    if change.project not in (scope.project, scope.personal):
        return []
    if change.what == "prompts":
        return [ClientChange("prompts")]
    if change.what == "resources":
        return [ClientChange("resources")]
    return [ClientChange("resource", quote_prompt_uri(name) if change.what == "prompt" else name)]


# Imported with the first call: most clients ask for no skills.
SKILLS = "io.modelcontextprotocol/skills"


def answer_skills_list(context: Context, params: dict[str, Any]) -> Result:
    """Answer skills/list."""
    from satchel.contracts.satchel import skills

    return skills.answer_skills_list(context, params)


def answer_skills_get(context: Context, params: dict[str, Any]) -> Result:
    """Answer skills/get."""
    from satchel.contracts.satchel import skills

    return skills.answer_skills_get(context, params)


def explain_unknown_tool(name: str, served: Iterable[str]) -> str:
    """Which tool was probably meant."""
    from satchel.contracts.satchel import nearest  # only after a mistake

    return nearest.explain_unknown_tool(name, served)


CONTRACT = Contract(
    name="satchel",
    server_name="satchel",
    capabilities={
        "tools": {"listChanged": False},
        "prompts": {"listChanged": True},
        "resources": {"subscribe": True, "listChanged": True},
        "completions": {},
        "extensions": {UI: {}, SKILLS: {}},
    },
    instructions=write_instructions,
    reads_libraries=True,
    finds_project=True,
    reads_personal=True,
    acts_as_user=True,
    refuses_unknown=True,
    explain_unknown_tool=explain_unknown_tool,
    tells_reasons=True,
    icons=ICONS,
    translate_change=translate_change,
    tools=(
        *search.TOOLS,
        *catch_up.TOOLS,
        *projects.TOOLS,
        *prompts.TOOLS,
        *resources.TOOLS,
        *texts.TOOLS,
        *tasks.TOOLS,
        *items.TOOLS,
        *history.TOOLS,
        *show.TOOLS,
    ),
    methods={
        "prompts/list": answer_prompts_list,
        "prompts/get": answer_prompts_get,
        "resources/list": resources.answer_resources_list,
        "resources/templates/list": resources.answer_templates_list,
        "resources/read": resources.answer_resources_read,
        "completion/complete": answer_completion,
        "skills/list": answer_skills_list,
        "skills/get": answer_skills_get,
    },
    failures={**TEXT_FAILURES, **TASK_FAILURES},
    method_failures={**METHOD_FAILURES, **TEXT_METHOD_FAILURES},
)
