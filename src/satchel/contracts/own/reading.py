"""What the URIs of our own mean, for the method that reads and the tool that does."""

from msgspec import Struct

from satchel.contracts.contract import Sources
from satchel.contracts.own import documents
from satchel.contracts.own.rendering import stored_or_library, template_of
from satchel.contracts.own.tasks import meant
from satchel.contracts.own.uris import PROJECT_URI, PROMPT_URI, TASK_URI, named_by
from satchel.model import Prompt, Scope
from satchel.services import projects


class Document(Struct, frozen=True):
    """A page that nobody wrote: it is made when it is read."""

    mime_type: str
    text: str
    project: str
    version: int = 0  # of the prompt or task; 0 for what has none


def document(sources: Sources, scope: Scope, uri: str) -> Document | None:
    """What a URI of ours means; None where it is none of ours.

    Raises:
        NotFound, Forbidden: there is no such prompt, task or project, or not for this scope.
        Unrenderable: the file of the prompt cannot be read.
    """
    kind = next((kind for kind in (PROMPT_URI, TASK_URI, PROJECT_URI) if uri.startswith(kind)), None)
    name = named_by(uri, kind) if kind is not None else ""
    if not name.strip() or "\0" in name:  # which no store takes
        return None
    if kind == PROMPT_URI:
        found = stored_or_library(sources, scope, name)
        version = found.version if isinstance(found, Prompt) else 0
        return Document("text/markdown", template_of(sources, found), scope.project, version)
    if kind == TASK_URI:
        task = meant(sources.tx, scope, name)
        text = documents.task_document(sources.tx, scope, task)
        return Document("text/markdown", text, task.project or scope.project, task.version)
    return Document("application/json", documents.project_document(sources.tx, projects.entered(scope, name)), name)
