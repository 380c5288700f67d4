"""Tasks as cards in columns: ready, in progress, blocked, done."""

from satchel.model import TaskDetails, TaskQuery
from satchel.page import tasks as task_pages
from satchel.page.visit import Answer, Shown, Visit, link
from satchel.services import projects, tasks

COLUMNS = (("ready", "Ready"), ("progress", "In progress"), ("blocked", "Blocked"), ("done", "Done"))
_MOST = 200  # open tasks on a board
_DONE = 20


def show(visit: Visit) -> Answer:
    """The board of a project, or of all of them."""
    project = visit.path.get("project")
    with visit.read() as tx:
        if project is not None:
            projects.get(tx, visit.scope, project)
        query = TaskQuery(filter="pending", project=project)
        open_tasks, has_more = tasks.list_page(tx, visit.scope, query, limit=_MOST)
        done, _ = tasks.list_page(tx, visit.scope, TaskQuery(filter="completed", project=project), limit=_DONE)
        names = projects.list_names(tx, visit.scope)
    cards: dict[str, list[TaskDetails]] = {column: [] for column, _ in COLUMNS}
    for task in open_tasks:
        cards["progress" if task.claim else "ready" if task.is_ready else "blocked"].append(task)
    cards["done"] = list(done)
    values = {"columns": COLUMNS, "cards": cards, "has_more": has_more, "names": names, "wanted": project or ""}
    return Shown("board.html", values)


def move(visit: Visit) -> Answer:
    """Move cards to another column, or give them another priority."""
    numbers = [
        int(one) for one in visit.form.get("task", ())[:_MOST] if one.isascii() and one.isdigit() and len(one) < 16
    ]
    return task_pages.move(visit, numbers, link("board"))
