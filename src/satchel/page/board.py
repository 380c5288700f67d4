"""Tasks as cards in columns: ready, in progress, blocked, done."""

from satchel.page import tasks as task_pages
from satchel.page.visit import Answer, Shown, Visit, link
from satchel.services import projects, tasks

_MOST = 200  # open tasks on a board
_DONE = 20


def show(visit: Visit) -> Answer:
    """Show the board of a project, or of every project."""
    project = visit.path.get("project")
    with visit.read() as tx:
        board = tasks.list_board(tx, visit.scope, project, most_open=_MOST, most_done=_DONE)
        names = projects.list_names(tx, visit.scope)
    values = {"columns": tasks.BOARD, "cards": board.cards, "has_more": board.has_more, "names": names}
    return Shown("board.html", {**values, "wanted": project or ""})


def move(visit: Visit) -> Answer:
    """Move cards to another column, or give them another priority."""
    numbers = [
        int(one) for one in visit.form.get("task", ())[:_MOST] if one.isascii() and one.isdigit() and len(one) < 16
    ]
    return task_pages.move(visit, numbers, link("board"))
