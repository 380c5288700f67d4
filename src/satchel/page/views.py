"""Every address of the page, as one table."""

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from satchel.page import activity, connect, documents, filling, home, projects, prompts, settings, tasks, versions
from satchel.page.visit import Answer, Visit


class View(Struct, frozen=True):
    """An address: a method, a path with named parts, and the function that answers."""

    method: Literal["GET", "POST"]
    path: str
    answer: Callable[[Visit], Answer]
    takes_files: bool = False  # the form may contain files


VIEWS = (
    View("GET", "/", home.show),
    View("GET", "/p/{project}/prompts", prompts.show_list),
    View("GET", "/p/{project}/prompts/new", prompts.show_new),
    View("POST", "/p/{project}/prompts/new", prompts.add),
    View("GET", "/p/{project}/prompts/{name}", prompts.show),
    View("GET", "/p/{project}/prompts/{name}/edit", prompts.show_edit),
    View("POST", "/p/{project}/prompts/{name}/edit", prompts.save),
    View("POST", "/p/{project}/prompts/{name}/delete", prompts.delete),
    View("POST", "/p/{project}/prompts/{name}/pin", prompts.pin),
    View("POST", "/p/{project}/prompts/{name}/label", prompts.label),
    View("GET", "/p/{project}/prompts/{name}/fill", filling.show),
    View("POST", "/p/{project}/prompts/{name}/fill", filling.show),
    View("GET", "/p/{project}/{kind}/{name}/versions", versions.show),
    View("POST", "/p/{project}/{kind}/{name}/restore", versions.restore),
    View("GET", "/p/{project}/documents", documents.show_list),
    View("GET", "/p/{project}/documents/new", documents.show_new),
    View("POST", "/p/{project}/documents/new", documents.add, takes_files=True),
    View("GET", "/p/{project}/documents/{name}", documents.show),
    View("GET", "/p/{project}/documents/{name}/raw", documents.download),
    View("GET", "/p/{project}/documents/{name}/edit", documents.show_edit),
    View("POST", "/p/{project}/documents/{name}/edit", documents.save),
    View("POST", "/p/{project}/documents/{name}/delete", documents.delete),
    View("GET", "/tasks", tasks.show_list),
    View("POST", "/tasks", tasks.add),
    View("GET", "/tasks/{number}", tasks.show),
    View("POST", "/tasks/{number}", tasks.save),
    View("POST", "/tasks/{number}/status", tasks.set_status),
    View("POST", "/tasks/{number}/notes", tasks.add_note),
    View("POST", "/tasks/{number}/delete", tasks.delete),
    View("GET", "/tasks/{number}/versions", versions.show),
    View("POST", "/tasks/{number}/restore", versions.restore),
    View("GET", "/board", tasks.show_board),
    View("GET", "/p/{project}/board", tasks.show_board),
    View("POST", "/board/move", tasks.move_cards),
    View("GET", "/libraries", filling.show_libraries),
    View("GET", "/libraries/{library}/{name}", filling.show_template),
    View("POST", "/libraries/{library}/{name}", filling.show_template),
    View("GET", "/activity", activity.show),
    View("POST", "/undo", activity.undo_change),
    View("GET", "/trash", activity.show_trash),
    View("POST", "/trash/restore", activity.restore),
    View("GET", "/projects", projects.show),
    View("POST", "/projects", projects.add),
    View("POST", "/projects/{project}/rename", projects.rename),
    View("POST", "/projects/{project}/review", projects.set_review),
    View("POST", "/projects/{project}/delete", projects.delete),
    View("GET", "/connect", connect.show),
    View("GET", "/settings", settings.show),
    View("POST", "/settings/tokens", settings.create_token),
    View("POST", "/settings/tokens/{id}/revoke", settings.revoke_token),
    View("POST", "/settings/sessions/{id}/end", settings.end_session),
)
