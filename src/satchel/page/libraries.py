"""Libraries on disk: read-only, with their problems, and their prompts filled in."""

from collections.abc import Mapping

from satchel.errors import NotFound
from satchel.library.catalog import ContentMissing
from satchel.library.render import RenderFailed
from satchel.page.filling import explain, read_values
from satchel.page.visit import Answer, Shown, Visit


def show_list(visit: Visit) -> Answer:
    """Show every library, its prompts and its problems."""
    catalog = visit.server.libraries.catalog
    problems = [
        *catalog.problems,
        *(one.below(library.folder) for library in catalog.libraries for one in library.problems),
    ]
    return Shown("libraries.html", {"libraries": catalog.libraries, "problems": problems})


def show(visit: Visit) -> Answer:
    """Show one prompt of a library."""
    return _show(visit, visit.query)


def fill(visit: Visit) -> Answer:
    """Show one prompt of a library, filled in."""
    return _show(visit, {name: visit.field(name) for name in visit.form})


def _show(visit: Visit, given: Mapping[str, str]) -> Shown:
    name = f"{visit.path['library']}:{visit.path['name']}"
    found = visit.server.libraries.find(name)
    if found is None:
        raise NotFound("prompt", name, visit.scope)
    library, prompt = found
    try:
        template, problem = visit.server.libraries.template(library, prompt), ""
    except ContentMissing:
        template, problem = "", "Its file is missing."
    except RenderFailed as failure:
        template, problem = "", failure.what
    values = read_values(prompt.arguments, given)
    result = template
    if not problem:
        used = {name: value for name, value in values.items() if value}
        result, problem = explain(lambda: visit.server.libraries.render(library, prompt, used))
    missing = [one.name for one in prompt.arguments if one.is_required and not values[one.name]]
    shown = {"name": name, "library": library, "prompt": prompt, "template": template, "values": values}
    return Shown("library_prompt.html", shown | {"result": result, "problem": problem, "missing": missing, "known": {}})
