"""What the renderer says about a text that is being typed: whether it is a template, and with which arguments."""

from msgspec import Struct

from satchel.library.render import RenderFailed
from satchel.model import Argument, Prompt, can_be_argument
from satchel.page.visit import Visit

_MARKS = ("{{", "{%")
_LONGEST = 64 * 1024  # bytes of a template


class TemplateCheck(Struct, frozen=True):
    """A text as a template: its arguments, or why it is none."""

    arguments: tuple[Argument, ...] = ()
    problem: str = ""


def describe(visit: Visit, content: str, prompt: Prompt | None) -> TemplateCheck:
    """The arguments that a text would have if it were saved, or what is wrong with it."""
    try:
        names = find_arguments(visit, content) or {}
    except RenderFailed as failure:
        where = "" if failure.line is None else f"Line {failure.line}: "
        return TemplateCheck(problem=f"{where}{failure.what}")
    known = {one.name: one for one in prompt.arguments} if prompt else {}
    return TemplateCheck(tuple(known.get(name, Argument(name, None, needed)) for name, needed in names.items()))


def find_arguments(visit: Visit, content: str) -> dict[str, bool] | None:
    """The variables of a template, each with whether it is needed; None for a plain text.

    Raises:
        RenderFailed: it cannot be parsed.
    """
    if not any(mark in content for mark in _MARKS) or len(content.encode()) > _LONGEST:
        return None
    names = visit.server.libraries.renderer.check(content)
    if names.unusual:
        return None
    found = [name for name in names.variables if name in names.empty or name in names.optional]
    return {name: name not in names.optional for name in found if can_be_argument(name)} or None
