"""A scope limited to some projects cannot enter another."""

import pytest

from satchel.errors import Forbidden, NotFound
from satchel.model import PromptDraft, PromptQuery, Scope
from satchel.services import documents, layers, projects, prompts
from satchel.storage.database import Database


def test_a_confined_scope_enters_only_its_projects(database: Database) -> None:
    with database.write() as tx:
        for name in ("open", "closed"):
            projects.add(tx, name)
            prompts.add(tx, Scope(project=name), PromptDraft(title="T", content="x"))
    with database.read() as tx:
        inside = Scope(project="open", projects=("open",))
        assert prompts.list_page(tx, inside, PromptQuery(), limit=5)[0][0].title == "T"
        assert projects.get(tx, inside, "open") == projects.current(tx, inside)
        for name in ("closed", "nowhere"):
            outside = Scope(project=name, projects=("open", "gone"))
            for look in (
                lambda scope: prompts.list_page(tx, scope, PromptQuery(), limit=5),
                lambda scope: prompts.list_headers(tx, scope, limit=5),
                lambda scope: layers.find_prompt(tx, scope, "t"),
                lambda scope: documents.list_page(tx, scope, limit=5),
                lambda scope: projects.get(tx, inside, scope.project),
            ):
                with pytest.raises(Forbidden):
                    look(outside)
        with pytest.raises(NotFound):
            projects.get(tx, Scope(projects=("gone",)), "gone")


def test_a_confined_scope_lists_only_its_projects(database: Database) -> None:
    with database.write() as tx:
        for name in ("a", "b", "c"):
            projects.add(tx, name)
        for scope, names in (
            (None, ["a", "b", "c"]),
            (Scope(), ["a", "b", "c"]),
            (Scope(projects=("c", "a", "x")), ["a", "c"]),
            (Scope(projects=()), []),
        ):
            assert [project.name for project, _ in projects.list_all(tx, scope)] == names
