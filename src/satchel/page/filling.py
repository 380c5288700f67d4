"""Filling in a prompt, stored or of a library: a form for its arguments, and the result beside it."""

from collections.abc import Callable, Sequence

from satchel.errors import NotFound
from satchel.library.catalog import ContentMissing
from satchel.library.render import Parts, RenderFailed
from satchel.model import Argument, Prompt
from satchel.page.visit import Answer, Shown, Visit
from satchel.services import prompts, templates
from satchel.storage.database import Tx

_BUTTON = ":fill"  # the name of the button's field, which no argument can have
_KNOWN = 10  # suggested values of an argument


def show(visit: Visit) -> Answer:
    """Show the form, filled with the sent values or those in the address, and the prompt that they make."""
    with visit.read() as tx:
        prompt = prompts.get_by_name(tx, visit.scope, visit.path["name"])
        key = templates.key_within(visit.scope.project, prompt.name)
        parts: Parts | RenderFailed
        try:
            parts = templates.collect_for(tx, visit.scope, prompt)
        except RenderFailed as failure:
            parts = failure
        known = {one.name: templates.recall_values(tx, visit.scope, key, one.name)[:_KNOWN] for one in prompt.arguments}
    values = _read_values(visit, prompt.arguments)
    used = {name: value for name, value in values.items() if value}
    result, problem = prompt.content, ""
    if isinstance(parts, RenderFailed):
        problem = parts.what
    elif prompt.is_template:
        render = visit.server.libraries.renderer.render
        result, problem = _explain(lambda: render(prompt.content, used, None, parts))
    missing = [one.name for one in prompt.arguments if one.is_required and not values[one.name]]
    if visit.field(_BUTTON) and not missing and not problem and not visit.is_read_only:
        visit.write(lambda tx: _record_use(tx, visit, prompt, key, used))
    shown = {"prompt": prompt, "values": values, "known": known, "result": result, "problem": problem}
    return Shown("fill.html", shown | {"missing": missing})


def _record_use(tx: Tx, visit: Visit, prompt: Prompt, key: str, used: dict[str, str]) -> None:
    templates.remember_values(tx, visit.scope, key, used)
    prompts.count_use(tx, prompt)


def _read_values(visit: Visit, arguments: Sequence[Argument]) -> dict[str, str]:
    """Return the value of each argument, from the form or, if none was sent, the address; empty if there is none."""
    return {one.name: visit.field(one.name, "" if visit.form else visit.query.get(one.name, "")) for one in arguments}


def _explain(render: Callable[[], str]) -> tuple[str, str]:
    """Return the text that `render` makes, and an empty problem; or an empty text, and the template's problem."""
    try:
        return render(), ""
    except RenderFailed as failure:
        where = "" if failure.line is None else f"Line {failure.line}: "
        return "", f"{where}{failure.what}"


# -- libraries ----------------------------------------------------------------------------------------------------


def show_libraries(visit: Visit) -> Answer:
    """Show every library, its prompts and its problems."""
    catalog = visit.server.libraries.catalog
    problems = [
        *catalog.problems,
        *(one.below(library.folder) for library in catalog.libraries for one in library.problems),
    ]
    return Shown("libraries.html", {"libraries": catalog.libraries, "problems": problems})


def show_template(visit: Visit) -> Answer:
    """Show one prompt of a library, filled in with the values from the form or the address."""
    name = f"{visit.path['library']}:{visit.path['name']}"
    found = visit.server.libraries.find(name)
    if found is None:
        raise NotFound("prompt", name, visit.scope)
    library, prompt = found
    try:
        template, problem = visit.server.libraries.read(library, prompt).text, ""
    except ContentMissing:
        template, problem = "", "Its file is missing."
    except RenderFailed as failure:
        template, problem = "", failure.what
    values = _read_values(visit, prompt.arguments)
    result = template
    if not problem:
        used = {name: value for name, value in values.items() if value}
        result, problem = _explain(lambda: visit.server.libraries.render(library, prompt, used))
    missing = [one.name for one in prompt.arguments if one.is_required and not values[one.name]]
    shown = {"name": name, "library": library, "prompt": prompt, "template": template, "values": values}
    return Shown("library_prompt.html", shown | {"result": result, "problem": problem, "missing": missing, "known": {}})
