"""The `satchel` contract, our own: prompts, documents, tasks and libraries together, in one vocabulary.

`tools` is the table of the tools. The module of a tool's function is imported by its first call, so that a start
does not wait for it.

tools              the list of all tools: inputs, schemas of answers, descriptions
prompts            the tools for prompts, and how answers describe one
methods            MCP's own methods, the pages behind satchel:// URIs, and changes in the form for clients
templates          finds prompts of the store and of libraries, fills them in, and checks new ones
documents          the tools for documents, and how answers describe one
texts              parts of texts, outlines and links in answers
tasks              the tools for tasks
task_answers       how answers show tasks
search             the tool that searches items by words
items              the tools that change, edit or delete items of any kind
projects           the tools for projects: add_project, list_projects, catch_up
history            the tools that read and restore old versions
errors             errors: their codes, sentences and hints
guesses            suggestions for names that do not exist
skills             skills/list and skills/get
answers            shared by several tools: pages, retries, calls of many entries, notes
app                the app that hosts show for the tool show, and the icons
"""

from collections.abc import Sequence
from typing import Any, Literal

from satchel.contracts.contract import Context, Contract, Method, Result, Tool
from satchel.contracts.satchel.app import ICONS
from satchel.contracts.satchel.errors import FAILURES, METHOD_FAILURES
from satchel.contracts.satchel.tools import TOOLS
from satchel.errors import Refused
from satchel.model import Scope, StoreChange
from satchel.protocol import ClientChange

_ADVICE = (  # each piece of advice has the tool that it concerns
    ("search", "Search here before you ask the user."),
    ("edit_text", "Change texts with edit_text; do not send them whole."),
    ("claim_task", "Use claim_task before you work beside others."),
    ("update_items", "Pass the expected_version that you read."),
)


def write_instructions(tools: Sequence[Tool], _user: str | None) -> str:
    """Write the instructions for a model to read before it calls any of these tools."""
    names = {tool.name for tool in tools}
    *most, last = dict.fromkeys(tool.toolset for tool in tools if tool.toolset)
    contents = f"{', '.join(most)} and {last}" if most else last
    sentences = [
        f"Satchel keeps the user's {contents} by project, across sessions.",
        "Begin with catch_up.",
        "Name an item by #4, its name or its URI, like satchel://task/4; such a URI in a text is a link.",
        *(advice for tool, advice in _ADVICE if tool in names),
        "`near` in an error lists what you probably meant.",
    ]
    return " ".join(sentences)


# -- functions with imports at the time of the call ------------------------------------------------------------------


def _method(name: str, transaction: Literal["read"] | None = "read") -> Method:

    def run(context: Context, params: dict[str, Any]) -> Result:
        from satchel.contracts.satchel.methods import METHODS

        return METHODS[name](context, params)

    return Method(run, transaction)


def explain_missing(context: Context, error: Refused) -> Refused:
    from satchel.contracts.satchel import guesses

    return guesses.explain_missing(context, error)


def translate_change(change: StoreChange, scope: Scope) -> list[ClientChange]:
    from satchel.contracts.satchel import methods

    return methods.translate_change(change, scope)


UI, SKILLS = "io.modelcontextprotocol/ui", "io.modelcontextprotocol/skills"  # extensions of MCP

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
    explains_mistakes=True,
    converts_types=True,
    explain_missing=explain_missing,
    icons=ICONS,
    translate_change=translate_change,
    tools=TOOLS,
    methods={
        **{name: _method(name) for name in ("prompts/list", "resources/list", "resources/templates/list")},
        **{name: _method(name) for name in ("resources/read", "completion/complete", "skills/list", "skills/get")},
        "prompts/get": _method("prompts/get", transaction=None),
    },
    failures=FAILURES,
    method_failures=METHOD_FAILURES,
)
