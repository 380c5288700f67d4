"""Projects: list, add, rename, set who reviews their tasks, delete."""

from satchel.errors import SatchelError
from satchel.model import Reviewer
from satchel.page import words
from satchel.page.visit import MOST_COUNTED, Answer, Redirect, Shown, Visit, link
from satchel.services import projects


def show(visit: Visit, error: str = "", name: str = "") -> Answer:
    """Show every project that the caller may enter."""
    with visit.read() as tx:
        found = projects.list_all(tx, visit.scope, MOST_COUNTED + 1)
        open_tasks = projects.count_open_tasks(tx, visit.scope)
    return Shown("projects.html", {"found": found, "open_tasks": open_tasks, "error": error, "name": name})


def add(visit: Visit) -> Answer:
    """Add a project."""
    name = visit.field("name").strip()
    try:
        projects.check_unlimited(visit.scope, name)
        visit.write(lambda tx: projects.add(tx, name))
    except SatchelError as error:
        return show(visit, words.explain(error), name)
    return Redirect(link("p", name, "prompts"), f"Added project {name}.", can_undo=True)


def rename(visit: Visit) -> Answer:
    """Rename a project."""
    old, new = visit.path["project"], visit.field("name").strip()
    projects.check_unlimited(visit.scope, old)
    visit.write(lambda tx: projects.rename(tx, old, new))
    return Redirect(link("projects"), f"Project {old} is called {new} now.", can_undo=True)


def set_review(visit: Visit) -> Answer:
    """Set who must accept the tasks that agents complete in a project."""
    name = visit.path["project"]
    review: Reviewer | None = "people" if visit.field("review") else None
    projects.check_unlimited(visit.scope, name)
    visit.write(lambda tx: projects.set_review(tx, name, review))
    said = "People review the tasks that agents complete" if review else "Agents complete tasks without review"
    return Redirect(link("projects"), f"{said} in project {name}.", can_undo=True)


def delete(visit: Visit) -> Answer:
    """Move a project with its prompts and documents to the trash; its tasks stay, in no project."""
    name = visit.path["project"]
    projects.check_unlimited(visit.scope, name)
    visit.write(lambda tx: projects.delete(tx, name))
    said = f"Project {name} is in the trash. Its tasks are in no project now."
    return Redirect(link("projects"), said, can_undo=True)
