"""The `twig` contract: prompts from live libraries on disk, listed and filled in."""

from typing import Any

from msgspec import Raw

from satchel.contracts.contract import Context, Contract, Result
from satchel.library.catalog import ContentMissing, Libraries, Library
from satchel.library.manifest import LibraryPrompt
from satchel.library.render import RenderFailed
from satchel.model import Argument
from satchel.protocol import METHOD_NOT_FOUND, ClientChange, ProtocolError, invalid_params
from satchel.protocol.codec import encode
from satchel.protocol.pages import page

PAGE = 500

# -- methods ----------------------------------------------------------------------------------------------------


def list_prompts(context: Context, params: dict[str, Any]) -> Result:
    prompts, cursor = page(context.libraries.entries(entry), params.get("cursor"), PAGE)
    listed: Result = {"prompts": prompts}
    return listed if cursor is None else {**listed, "nextCursor": cursor}


def get_prompt(context: Context, params: dict[str, Any]) -> Result:
    found = context.libraries.find(params["name"])
    if found is None:
        data = {"details": f"Prompt not found: {params['name']}"}
        raise ProtocolError(METHOD_NOT_FOUND, "Method not found", data)
    library, prompt = found
    text = rendered(context.libraries, library, prompt, given(prompt, params["arguments"]))
    messages = [{"role": "user", "content": {"type": "text", "text": text}}]
    return described({"messages": messages}, prompt.description)


def given(prompt: LibraryPrompt, arguments: dict[str, str]) -> dict[str, str]:
    """The declared arguments of those given."""
    for argument in prompt.arguments:
        if argument.is_required and argument.name not in arguments:
            raise invalid_params(f"Missing required argument: {argument.name}")
    return {one.name: arguments[one.name] for one in prompt.arguments if one.name in arguments}


def rendered(libraries: Libraries, library: Library, prompt: LibraryPrompt, values: dict[str, str]) -> str:
    try:
        return libraries.renderer.render(libraries.template(library, prompt), values)
    except ContentMissing:
        file = f"{library.folder}/prompts/{prompt.key}.md"
        raise invalid_params(f"Prompt content file not found: {file}") from None
    except RenderFailed as failure:
        place = "" if failure.line is None else f" at line {failure.line}"
        raise invalid_params(f"Error rendering prompt template{place}: {failure.what}") from None


# -- shapes -----------------------------------------------------------------------------------------------------


def entry(name: str, prompt: LibraryPrompt) -> Raw:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {one.name: described({"type": "string"}, one.description) for one in prompt.arguments},
    }
    required = [one.name for one in prompt.arguments if one.is_required]
    if required:
        schema["required"] = required
    listed = described({"name": name, "inputSchema": schema}, prompt.description)
    if prompt.arguments:
        listed["arguments"] = [argument(one) for one in prompt.arguments]
    return Raw(encode(listed))


def argument(one: Argument) -> dict[str, Any]:
    return described({"name": one.name, "required": one.is_required}, one.description)


def described(value: dict[str, Any], description: str | None) -> dict[str, Any]:
    return {**value, "description": description} if description is not None else value


CONTRACT = Contract(
    name="twig",
    server_name="twig",
    capabilities={"prompts": {"listChanged": True}},
    reads_store=False,
    reads_libraries=True,
    uses_project=False,
    changes=lambda changed, _scope: [ClientChange("prompts")] if changed.what == "libraries" else [],
    methods={"prompts/list": list_prompts, "prompts/get": get_prompt},
)
