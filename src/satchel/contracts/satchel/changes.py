"""Changes of the store and of libraries, as clients are told of them."""

from satchel.contracts.satchel.pages import PROJECT_URI, PROMPT_URI, TASK_URI, quote_prompt_uri
from satchel.model import Scope, StoreChange
from satchel.protocol import ClientChange


def translate_change(change: StoreChange, scope: Scope) -> list[ClientChange]:
    """A change of the store, or of libraries, as clients see it."""
    name = change.key or ""
    if change.what == "libraries":
        return [ClientChange("prompts")]
    if change.what == "template":  # a client may have subscribed to either spelling of its URI
        return [ClientChange("resource", uri) for uri in sorted({quote_prompt_uri(name), PROMPT_URI + name})]
    # Tasks and projects can be read from every project, prompts and documents only from their own and the personal one.
    overview = [] if change.project is None else [ClientChange("resource", PROJECT_URI + change.project)]
    if change.what == "task":
        return [ClientChange("resource", TASK_URI + name), *overview]
    if change.what == "project":
        return overview
    if change.project not in (scope.project, scope.personal):
        return []
    if change.what == "prompts":
        return [ClientChange("prompts")]
    if change.what == "documents":
        return [ClientChange("resources")]
    return [ClientChange("resource", quote_prompt_uri(name) if change.what == "prompt" else name)]
