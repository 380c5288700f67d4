"""The `twig` contract: prompts from live libraries on disk, listed and filled in."""

from typing import Any

from msgspec import Raw

from satchel.contracts.content import encode_arguments, without_nulls
from satchel.contracts.contract import Context, Contract, Method, Result
from satchel.errors import AnswerTooLarge
from satchel.library.catalog import ContentMissing, Library
from satchel.library.manifest import LibraryPrompt
from satchel.library.render import RenderFailed
from satchel.protocol import METHOD_NOT_FOUND, ClientChange, ProtocolError, invalid_params
from satchel.protocol.codec import encode
from satchel.protocol.cursors import page

PAGE = 500


def list_prompts(context: Context, params: dict[str, Any]) -> Result:
    prompts, cursor = page(context.libraries.entries(encode_entry), params.get("cursor"), PAGE)
    result: Result = {"prompts": prompts}
    return result if cursor is None else {**result, "nextCursor": cursor}


def get_prompt(context: Context, params: dict[str, Any]) -> Result:
    found = context.libraries.find(params["name"])
    if found is None:
        data = {"details": f"Prompt not found: {params['name']}"}
        raise ProtocolError(METHOD_NOT_FOUND, "Method not found", data)
    library, prompt = found
    text = render(context, library, prompt, select_arguments(prompt, params["arguments"]))
    messages = [{"role": "user", "content": {"type": "text", "text": text}}]
    return without_nulls({"description": prompt.description, "messages": messages})


def select_arguments(prompt: LibraryPrompt, arguments: dict[str, str]) -> dict[str, str]:
    """Return the values of declared arguments, and ignore any others."""
    for argument in prompt.arguments:
        if argument.is_required and argument.name not in arguments:
            raise invalid_params(f"Missing required argument: {argument.name}")
    return {one.name: arguments[one.name] for one in prompt.arguments if one.name in arguments}


def render(context: Context, library: Library, prompt: LibraryPrompt, values: dict[str, str]) -> str:
    try:
        return context.libraries.render(library, prompt, values, context.work)
    except ContentMissing:
        file = context.libraries.describe_file(library, prompt)
        raise invalid_params(f"Prompt content file not found: {file}") from None
    except RenderFailed as failure:
        line = "" if failure.line is None else f" at line {failure.line}"
        raise invalid_params(f"Error rendering prompt template{line}: {failure.what}") from None


def encode_entry(name: str, prompt: LibraryPrompt) -> Raw:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            one.name: without_nulls({"type": "string", "description": one.description}) for one in prompt.arguments
        },
    }
    required = [one.name for one in prompt.arguments if one.is_required]
    if required:
        schema["required"] = required
    entry = without_nulls({"name": name, "description": prompt.description, "inputSchema": schema})
    if prompt.arguments:
        entry["arguments"] = encode_arguments(prompt.arguments)
    return Raw(encode(entry))


CONTRACT = Contract(
    name="twig",
    server_name="twig",
    capabilities={"prompts": {"listChanged": True}},
    reads_store=False,
    reads_libraries=True,
    uses_project=False,
    translate_change=lambda change, _scope: [ClientChange("prompts")] if change.what == "libraries" else [],
    methods={"prompts/list": Method(list_prompts), "prompts/get": Method(get_prompt)},
    method_failures={
        AnswerTooLarge: lambda large: invalid_params(f"{PAGE} prompts have more than {large.limit} bytes in a list")
    },
)
