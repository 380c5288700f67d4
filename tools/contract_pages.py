"""Render docs/reference/contracts/: a page for each contract, and a table of all."""

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import contract_errors
import contract_examples
from satchel.contracts import CONTRACTS, load
from satchel.contracts.content import MAX_ANSWER_BYTES
from satchel.contracts.contract import Contract, Tool
from satchel.contracts.schema import Field, fields_of
from satchel.errors import NotConfirmed
from satchel.library.manifest import MAX_ARGUMENTS
from satchel.model import JINJA2_WORDS, MAX_CONTENT_BYTES, MAX_DESCRIPTION
from satchel.protocol import MAX_MESSAGE_BYTES
from satchel.protocol.connection import MAX_BATCH
from satchel.protocol.questions import ANSWER_TIMEOUT
from satchel.services import rules, tasks

ROOT = Path(__file__).resolve().parents[1]
NOTE = "<!-- Made from the code by `make docs`. Do not edit. -->"

BOUNDS = {  # a JSON Schema keyword, or a rule that is not in the schema → how a page says it
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "maxBytes": "at most {} bytes",
    "pattern": "matches `{}`",
    "format": "format `{}`",
    "enum": "one of `{}`",
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
}

METHODS = {  # what a method does, whatever the contract
    "prompts/list": "Lists the prompts with their arguments.",
    "prompts/get": "Returns the prompt `name`, filled in with `arguments`.",
    "resources/list": "Lists the documents.",
    "resources/templates/list": "Lists the URI templates of the server.",
    "resources/read": "Returns the content of the document at `uri`.",
    "completion/complete": "Suggests values for an argument of a prompt or of a URI template.",
    "skills/list": "Lists the skills: Satchel's own, those of libraries, and prompts tagged `skill`.",
    "skills/get": "Returns one skill by the `uri` of its SKILL.md, with the digests of its files.",
}

WORDS = f"words of Jinja2 {' '.join(f'`{word}`' for word in JINJA2_WORDS)}"
STORE_BOUNDS = {  # what the store itself enforces, by kind of row; every contract that writes such rows is held by it
    "prompt": [
        ("name", f"1 to {rules.MAX_NAME} characters of `A-Z a-z 0-9 . _ -`; unique in its project"),
        ("title", f"1 to {rules.MAX_TITLE} characters after stripping; unique in its project"),
        ("content", f"not empty; at most {MAX_CONTENT_BYTES} bytes, {rules.MAX_TEMPLATE_BYTES} with arguments"),
        ("tags", f"at most {rules.MAX_TAGS}, each 1 to 50 characters of `A-Z a-z 0-9 _ -`, kept in lower case"),
        (
            "arguments",
            f"at most {rules.MAX_ARGUMENTS}, each name once: 1 to {rules.MAX_NAME} characters of `A-Z a-z 0-9 _`, not "
            f"beginning with a digit, none of the {WORDS}",
        ),
        ("values", f"of an argument: at most {rules.MAX_VALUES}, each at most {rules.MAX_VALUE} characters"),
    ],
    "document": [
        ("name", f"1 to {rules.MAX_NAME} characters of `A-Z a-z 0-9 . _ -`; unique in its project"),
        ("uri", f"a scheme, no white space or control characters; at most {rules.MAX_URI_BYTES} bytes; unique"),
        ("mime_type", f"`type/subtype` with optional parameters; at most {rules.MAX_NAME} characters"),
        (
            "content",
            f"at most {MAX_CONTENT_BYTES} bytes; base64, with or without white space, for types that are not text",
        ),
    ],
    "task": [
        ("tags", f"at most {rules.MAX_TAGS}, each 1 to 50 characters of `A-Z a-z 0-9 _ -`, kept in lower case"),
        ("due", "a day of the calendar, `YYYY-MM-DD`"),
        ("blocked_by", f"at most {rules.MAX_BLOCKERS} tasks; no circles"),
        ("note", f"1 to {MAX_DESCRIPTION} characters; at most {tasks.MAX_NOTES} of a task"),
        ("claim", f"1 to {rules.MAX_CLAIM_MINUTES} minutes from now"),
    ],
}
KINDS = {
    "satchel": ("prompt", "document", "task"),
    "prompt-store": ("prompt",),
    "mcpkg": ("prompt", "document"),
    "twig": (),
    "todo": (),
    "tasks": (),
}

ERROR_STYLES = {
    "satchel": '`{"error": {"code", "message", "hint", …}}` beside the text `code: message hint`',
    "prompt-store": '`{"error": {"code", "message"}}`',
    "mcpkg": "a text that begins with `Error: `; methods give JSON-RPC errors",
    "twig": "JSON-RPC errors",
    "todo": '`{"success": false, …, "message"}`, no code',
    "tasks": '`{"success": false, "error", "code", "details"}`',
}


# -- one contract -------------------------------------------------------------------------------------------------


def page(contract: Contract) -> str:
    """Return the page of one contract."""
    of_tools, of_methods = contract_errors.failures(contract.name)
    about = (sys.modules[CONTRACTS[contract.name]].__doc__ or "").strip().split("\n\n")[0]
    lines = [NOTE, f"# `{contract.name}`", "", about, "", *serving(contract), ""]
    in_order = sorted(contract.tools, key=lambda tool: not tool.is_listed)
    guide = contract_examples.write_guide(contract.name)
    lines += [guide] if guide else []
    lines += [line for tool in in_order for line in tool_section(contract, tool)]
    lines += methods_section(contract)
    lines += bounds_section(contract)
    lines += ["## Errors", "", f"Form: {ERROR_STYLES[contract.name]}. Texts are as the server sends them;"]
    lines += ["`ARGUMENT` is the name of an argument.", ""]
    if of_tools:
        lines += ["Of tools (a result with `isError: true`):", "", *error_table(of_tools), ""]
    if of_methods:
        lines += ["Of methods (JSON-RPC errors):", "", *error_table(of_methods), ""]
    return "\n".join(lines)


def serving(contract: Contract) -> list[str]:
    """Return how to serve a contract, and the facts that all its tools share."""
    lines = [
        f"- Serve it: `satchel serve --contract {contract.name}`; over HTTP at `/mcp/{contract.name}`.",
        f'- Server name: `"{contract.server_name}"`; capabilities: `{json.dumps(contract.capabilities)}`.',
        f"- {_describe_unknown(contract)}; "
        f"`null` counts as {'a value' if contract.is_strict else 'an absent argument'}.",
    ]
    if contract.converts_types:
        lines.append(
            '- `"5"` counts as 5, `"true"` as true, one entry as a list of it, and a list of one as its entry.'
        )
    if contract.explains_mistakes:
        lines.append("- An unknown tool is an error -32602 that lists the tools.")
        lines.append("- The message of a JSON-RPC error has the reason, and so has its `data.details`.")
    if contract.icons:
        lines.append("- Clients of revision 2025-11-25 and later receive icons of the server and its tools.")
    if NotConfirmed in contract.failures:
        lines.append(
            "- A call that changes much asks the user first by elicitation (form mode), if the client declared it: in "
            "revision 2026-07-28 by a result of type `input_required`, over stdio in 2025-06-18 and 2025-11-25 by "
            "`elicitation/create`. Other clients are not asked. A question expires after "
            f"{ANSWER_TIMEOUT / 60:.0f} minutes."
        )
    if any(field.schema["type"] == "integer" for tool in contract.tools for field in fields_of(tool.input)):
        lines.append("- A number without a fraction is an integer: `5.0` is `5`.")
    if any("outputSchema" in contract.describe_tool(tool) for tool in contract.tools):
        lines.append("- `tools/list` has the `outputSchema` of each tool; failures satisfy it too.")
    return lines


def _describe_unknown(contract: Contract) -> str:
    if contract.explains_mistakes:
        return "Unknown arguments are refused, nested ones too, with a suggestion"
    return "Unknown arguments are refused" if contract.is_strict else "Unknown arguments are ignored"


def tool_section(contract: Contract, tool: Tool) -> list[str]:
    """Return the section of a tool, with a row for each argument."""
    lines = [f"## {tool.name}", "", f"{tool.description.rstrip('.')}. {'Writes.' if tool.writes else 'Reads only.'}"]
    if not tool.is_listed:
        lines[-1] += " Not in `tools/list`, but callable."
    if tool.at_least_one:
        lines[-1] += f" Needs at least one of {', '.join(f'`{name}`' for name in tool.at_least_one)}."
    lines += [f"[JSON Schema]({contract.name}/{tool.name}.json).", ""]
    fields = fields_of(tool.input)
    if not fields:
        return [*lines, "No arguments.", ""]
    lines += ["| argument | type | required | default | published limits | other limits | meaning |"]
    lines += ["|---|---|---|---|---|---|---|", *(argument_row(field) for field in fields), ""]
    return lines


def argument_row(field: Field) -> str:
    """Return an argument as a row of a table."""
    schema = field.schema
    kind = schema["type"]
    if isinstance(kind, list):
        kind = " or ".join(kind)
    if kind == "array":
        kind = f"array of {schema['items'].get('type', 'value')}s"
    default = f"`{json.dumps(schema['default'])}`" if "default" in schema else ""
    published = [*_bounds(schema), *(f"each {bound}" for bound in _bounds(schema.get("items", {})))]
    hidden = [*_bounds({key: limit for key, limit in field.bounds.items() if key not in schema}), *_habits(field)]
    cells = [f"`{field.name}`", kind, "yes" if field.is_required else "no", default]
    cells += [", ".join(published), ", ".join(hidden), schema.get("description", "")]
    return f"| {' | '.join(cells)} |"


def _bounds(schema: dict[str, Any]) -> list[str]:
    def written(limit: Any) -> str:
        return limit if isinstance(limit, str) else json.dumps(limit)

    found = [words.format(written(schema[key])) for key, words in BOUNDS.items() if key in schema]
    return [re.sub(r"\b1 (character|item)s", r"1 \1", bound.replace("|", "\\|")) for bound in found]


def _habits(field: Field) -> list[str]:
    """Return how a value is prepared before its limits are checked."""
    rule = field.hidden
    habits = {
        "stripped of white space": rule.is_trimmed,
        "not empty or blank": rule.is_blank_refused,
        "an integer becomes its digits": rule.takes_numbers,
    }
    return [text for text, holds in habits.items() if holds]


def methods_section(contract: Contract) -> list[str]:
    """Return the MCP methods beside the tools."""
    if not contract.methods:
        return []
    rows = [f"| `{method}` | {METHODS[method]} |" for method in contract.methods]
    return ["## Methods", "", "| method | what it does |", "|---|---|", *rows, ""]


def bounds_section(contract: Contract) -> list[str]:
    """Return the limits of the store, beside those of the arguments."""
    lines = ["## Limits", "", f"- A message has at most {MAX_MESSAGE_BYTES} bytes, an answer {MAX_ANSWER_BYTES}."]
    lines += [f"- A batch (revision 2025-03-26 only) has at most {MAX_BATCH} messages."]
    lines += ["- A text has no NUL character and no half of a surrogate pair."]
    if contract.reads_libraries:
        lines += [
            f"- A template of a library has at most {rules.MAX_TEMPLATE_BYTES} bytes.",
            "- The key of a library's prompt consists of `A-Z a-z 0-9 _ . -`; it is listed as written.",
            "- The name of its argument consists of `A-Z a-z 0-9 _`, does not begin with a digit, and is none of the "
            f"{WORDS}.",
            f"- It has at most {MAX_ARGUMENTS} arguments. A prompt with an invalid key or argument, or without a "
            "regular file, is reported in the log and not listed; see [libraries](../../guides/libraries.md).",
        ]
    nouns = {"document": "resource"} if contract.name == "mcpkg" else {}
    rows = [
        f"| {nouns.get(kind, kind)} | `{field}` | {rule} |"
        for kind in KINDS[contract.name]
        for field, rule in STORE_BOUNDS[kind]
    ]
    if rows:
        lines += ["- The store enforces for every contract:", "", "| of a | field | limit |", "|---|---|---|"]
    return [*lines, *rows, ""]


def error_table(failures: Iterable[contract_errors.Failure]) -> list[str]:
    """Return errors with their reasons, and with codes if the contract has any."""
    failures = list(failures)
    has_codes = any(failure.code for failure in failures)
    lines = ["| code | text | when |", "|---|---|---|"] if has_codes else ["| text | when |", "|---|---|"]
    for failure in failures:
        cells = [f"`{failure.code}`"] if has_codes else []
        lines.append(f"| {' | '.join([*cells, _cell(failure.text), '; '.join(failure.reasons)])} |")
    return lines


def _cell(text: str) -> str:
    fence = "``" if "`" in text else "`"
    return f"{fence}{text}{fence}".replace("|", "\\|")


# -- all contracts ------------------------------------------------------------------------------------------------


def index() -> str:
    """Return the table of all contracts."""
    lines = [
        NOTE,
        "# The contracts",
        "",
        "A contract is one exact MCP surface: tools, methods, error texts. A connection is served one contract:",
        "`satchel serve --contract NAME` over stdio, `/mcp/NAME` over HTTP (`/mcp` serves that of `--contract`). All",
        "contracts share the store. Each page lists tools, methods, limits and errors; the folder beside it has the",
        "JSON Schema of every tool, which `satchel contract show NAME TOOL` prints too.",
        "",
        "| contract | server name | HTTP path | tools | methods | errors | document quoted in |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [index_row(load(name)) for name in CONTRACTS]
    lines += [
        "",
        "The tools of `tasks` also work without MCP: `POST /mcp/tool/NAME` takes the arguments as JSON and answers",
        "with the same envelope.",
        "",
        "## Errors that every contract shares",
        "",
        "| code | when |",
        "|---|---|",
        "| `-32700` | the message is not JSON |",
        "| `-32600` | the message is not a JSON-RPC 2.0 request, or is too long; a batch has too many messages |",
        "| `-32601` | the contract does not have this method |",
        "| `-32602` | a parameter is missing or has the wrong type; the tool does not exist |",
        "| `-32603` | an unexpected error in a method; the server's log has it |",
        "| `-32022` | the request names a revision of MCP that the server does not know |",
        "| `-32020` | over HTTP, a header and the message disagree |",
        "",
    ]
    return "\n".join(lines)


def index_row(contract: Contract) -> str:
    """Return a contract as a row of the table."""
    tools = ", ".join(f"`{tool.name}`" for tool in contract.tools if tool.is_listed) or "none"
    methods = ", ".join(f"`{method}`" for method in contract.methods) or "none"
    path = f"`/mcp/{contract.name}`" + (", and `/mcp` by default" if contract.name == "satchel" else "")
    quoted = ", ".join(f"[{name}](../../../tests/contracts/{name})" for name in quotations(contract.name))
    codes = sorted(
        {failure.code for failures in contract_errors.failures(contract.name) for failure in failures} - {""}
    )
    style = ERROR_STYLES[contract.name] + (f"; codes {', '.join(f'`{code}`' for code in codes)}" if codes else "")
    cells = [f"[`{contract.name}`]({contract.name}.md)", f"`{contract.server_name}`", path, tools, methods, style]
    return f"| {' | '.join([*cells, quoted])} |"


def quotations(name: str) -> list[str]:
    """Return the files of tests/contracts that quote a contract's document, or check against it."""
    stem = name.replace("-", "_")
    folder = ROOT / "tests" / "contracts"
    candidates = [f"{stem}.json", stem, "own" if name == "satchel" else "", f"test_{stem}.py"]
    return [one for one in candidates if one and (folder / one).exists()]
