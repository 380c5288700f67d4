"""What the URIs of our own mean, for the method that reads and the tool that does."""

from msgspec import Struct

from satchel.contracts.contract import Context
from satchel.contracts.satchel import documents
from satchel.contracts.satchel.rendering import stored_or_library, template_of
from satchel.contracts.satchel.tasks import meant
from satchel.contracts.satchel.uris import PROJECT_URI, PROMPT_URI, TASK_URI, named_by
from satchel.model import Prompt


class Document(Struct, frozen=True):
    """A page that nobody wrote: it is made when it is read."""

    mime_type: str
    text: str
    project: str
    version: int = 0  # of the prompt or task; 0 for what has none


def document(context: Context, uri: str) -> Document | None:
    """What a URI of ours means; None where it is none of ours.

    Raises:
        NotFound, Forbidden: there is no such prompt, task or project, or not for this context.scope.
        Unrenderable: the file of the prompt cannot be read.
    """
    kind = next((kind for kind in (PROMPT_URI, TASK_URI, PROJECT_URI) if uri.startswith(kind)), None)
    name = named_by(uri, kind) if kind is not None else ""
    if not name.strip() or "\0" in name:  # which no store takes
        return None
    if kind == PROMPT_URI:
        found = stored_or_library(context, name)
        version = found.version if isinstance(found, Prompt) else 0
        return Document("text/markdown", template_of(context, found), context.scope.project, version)
    if kind == TASK_URI:
        task = meant(context, name)
        text = documents.task_document(context, task)
        return Document("text/markdown", text, task.project or context.scope.project, task.version)
    return Document("application/json", documents.project_document(context.within(name)), name)
