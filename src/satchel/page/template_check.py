"""What the renderer says about a text that is being typed: whether it is a template, and with which arguments."""

from collections.abc import Sequence

from msgspec import Struct

from satchel.library.render import RenderFailed
from satchel.model import Argument, can_be_argument
from satchel.page import words
from satchel.page.visit import Visit

_MARKS = ("{{", "{%")
_LONGEST = 64 * 1024  # bytes of a template


class TemplateCheck(Struct, frozen=True):
    """A text as a template: its arguments, or why it is none."""

    arguments: tuple[Argument, ...] = ()
    problem: str = ""


def describe(visit: Visit, content: str, known: Sequence[Argument]) -> TemplateCheck:
    """The arguments that a text would have if it were saved, or what is wrong with it."""
    try:
        return TemplateCheck(find_arguments(visit, content, known))
    except RenderFailed as failure:
        return TemplateCheck(problem=words.explain(failure))


def find_arguments(visit: Visit, content: str, known: Sequence[Argument]) -> tuple[Argument, ...]:
    """The variables of a template as arguments: as the form describes them, else as they are known; none: plain text.

    Raises:
        RenderFailed: it cannot be parsed.
    """
    if not any(mark in content for mark in _MARKS) or len(content.encode()) > _LONGEST:
        return ()
    names = visit.server.libraries.renderer.check(content)
    if names.unusual:
        return ()
    found = [name for name in names.variables if name in names.empty or name in names.optional]
    before = {one.name: one for one in known}
    return tuple(
        _read_argument(visit, before.get(name, Argument(name, None, name not in names.optional)))
        for name in found
        if can_be_argument(name)
    )


def _read_argument(visit: Visit, argument: Argument) -> Argument:
    """An argument as the form describes it; as it is where the form says nothing about it."""
    field = f"argument.{argument.name}"
    if f"{field}.description" not in visit.form:
        return argument
    values = [value.strip() for value in visit.field(f"{field}.values").split(",")]
    return Argument(
        argument.name,
        visit.field(f"{field}.description").strip() or None,
        bool(visit.field(f"{field}.required")),
        tuple(value for value in values if value),
        bool(visit.field(f"{field}.open")),
    )
