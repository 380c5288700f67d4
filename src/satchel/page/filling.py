"""A prompt filled in: a form from its arguments, the result beside it."""

from collections.abc import Callable, Mapping, Sequence

from satchel.library.render import RenderFailed
from satchel.model import Argument
from satchel.page.visit import Answer, Shown, Visit
from satchel.services import prompts, templates

_BUTTON = ":fill"  # the field of the button, which no argument can be called
_KNOWN = 10  # values of an argument that are suggested


def show(visit: Visit) -> Answer:
    """Show the form with the values of the address."""
    return _show(visit.within(visit.path["project"]), visit.query)


def fill(visit: Visit) -> Answer:
    """Show the form with its result."""
    visit = visit.within(visit.path["project"])
    return _show(visit, {name: visit.field(name) for name in visit.form})


def _show(visit: Visit, given: Mapping[str, str]) -> Shown:
    with visit.read() as tx:
        prompt = prompts.get_by_name(tx, visit.scope, visit.path["name"])
        key = templates.key_within(visit.scope.project, prompt.name)
        known = {one.name: templates.recall_values(tx, visit.scope, key, one.name)[:_KNOWN] for one in prompt.arguments}
    values = read_values(prompt.arguments, given)
    result, problem = prompt.content, ""
    if prompt.arguments:
        result, problem = render(visit, prompt.content, {name: value for name, value in values.items() if value})
    missing = [one.name for one in prompt.arguments if one.is_required and not values[one.name]]
    if visit.field(_BUTTON) and not missing and not problem and not visit.is_read_only:
        used = {name: value for name, value in values.items() if value}
        visit.write(lambda tx: templates.remember_values(tx, visit.scope, key, used))
    shown = {"prompt": prompt, "values": values, "known": known, "result": result, "problem": problem}
    return Shown("fill.html", shown | {"missing": missing, "project": visit.scope.project})


def read_values(arguments: Sequence[Argument], given: Mapping[str, str]) -> dict[str, str]:
    """Return the value of each argument, empty if none was given."""
    return {one.name: given.get(one.name, "") for one in arguments}


def render(visit: Visit, template: str, values: Mapping[str, str]) -> tuple[str, str]:
    """Fill in a template; return the text and what is wrong with the template."""
    return explain(lambda: visit.server.libraries.renderer.render(template, dict(values)))


def explain(render: Callable[[], str]) -> tuple[str, str]:
    """Return what a render gives, and what is wrong with its template."""
    try:
        return render(), ""
    except RenderFailed as failure:
        where = "" if failure.line is None else f"Line {failure.line}: "
        return "", f"{where}{failure.what}"
