"""Prompts filled in: stored and of libraries, by tool and by method, with the values remembered for the next time."""

from satchel.contracts.contract import Context
from satchel.contracts.satchel.failures import Missed, Unrenderable
from satchel.errors import NotFound, WrongArgument
from satchel.library.catalog import ContentMissing, Library
from satchel.library.manifest import LibraryPrompt
from satchel.library.render import RenderFailed
from satchel.model import Argument, Prompt, Scope
from satchel.services import argument_history, prompts
from satchel.services.suggestions import closest_names

_MEND = "Ask the user to mend the file in the library."

START_TASK = "start-task"  # a prompt of our own

FromLibrary = tuple[str, Library, LibraryPrompt]
Found = Prompt | FromLibrary


def stored_or_library(context: Context, reference: str) -> Found:
    """The prompt that is meant, wherever it is; a near miss is told.

    Raises:
        Missed: there is none.
    """
    found = of_library(context, reference)
    if found is not None:
        return found
    try:
        return prompts.find(context.tx, context.scope, reference)
    except NotFound as missing:
        if missing.kind != "prompt":
            raise
        shelf = closest_names(reference, (name for name, _ in context.libraries.catalog.view))
        near = (*prompts.suggest(context.tx, context.scope, reference), *shelf)
        raise Missed(missing, near[:3]) from missing


def of_library(context: Context, reference: str) -> FromLibrary | None:
    """The prompt of a library that is meant; its name goes before the title of one in the store."""
    name = reference.strip()
    found = context.libraries.find(name)
    return None if found is None else (name, *found)


def key_of(found: Found) -> str:
    """The name of a prompt."""
    return found.name if isinstance(found, Prompt) else found[0]


def arguments_of(found: Found) -> tuple[Argument, ...]:
    """What a prompt wants to be told."""
    return found.arguments if isinstance(found, Prompt) else found[2].arguments


def memory_of(found: Found, scope: Scope) -> str:
    """The name under which the values of a prompt's arguments are remembered.

    Those of a library are the same wherever it is used, except to a scope that may not know what was said elsewhere.
    """
    return found[0] if isinstance(found, tuple) and scope.projects is None else f"{scope.project}/{key_of(found)}"


def rendered(context: Context, found: Found, given: dict[str, str]) -> str:
    """The text of a prompt, its arguments filled in. What nobody declared is ignored.

    Raises:
        WrongArgument: a required argument is missing.
        Unrenderable: the template is broken, or asks for too much.
    """
    arguments = arguments_of(found)
    missing = tuple(one.name for one in arguments if one.is_required and one.name not in given)
    if missing:
        raise WrongArgument(missing[0], "required", limit=missing, kind="argument")
    known = {one.name: given[one.name] for one in arguments if one.name in given}
    text = _text(context, found, known)
    memory = memory_of(found, context.scope)
    if known and not context.scope.is_read_only and argument_history.has_new(context.tx, context.scope, memory, known):
        context.after_commit(lambda tx: argument_history.remember(tx, context.scope, memory, known))
    return text


def template_of(context: Context, found: Found) -> str:
    """The text of a prompt as it is kept.

    Raises:
        Unrenderable: its file is missing from its library, too large, or no text.
    """
    if isinstance(found, Prompt):
        return found.content
    name, library, prompt = found
    try:
        return context.libraries.template(library, prompt)
    except ContentMissing:
        raise Unrenderable(f"The file of prompt '{name}' is missing.", _MEND) from None
    except RenderFailed as failure:
        raise Unrenderable(f"The file of prompt '{name}' cannot be read: {failure.what}.", _MEND) from None


def _text(context: Context, found: Found, known: dict[str, str]) -> str:
    template = template_of(context, found)
    if isinstance(found, Prompt) and not found.arguments:
        return template
    try:
        return context.libraries.renderer.render(template, known)
    except RenderFailed as failure:
        place = "" if failure.line is None else f" at line {failure.line}"
        message = f"Prompt '{key_of(found)}' cannot be filled in{place}: {failure.what}."
        mend = "Mend its content with update_prompt."
        mend = mend if "update_prompt" in context.tools else "Ask the user to mend its content."
        hint = mend if isinstance(found, Prompt) else _MEND
        raise Unrenderable(message, hint) from None
