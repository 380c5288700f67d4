"""A scope that is confined to some projects enters no other."""

import pytest

from satchel.errors import Forbidden, NotFound
from satchel.model import Scope
from satchel.services import projects, prompts, resources
from satchel.storage.database import Database


def test_a_confined_scope_enters_only_its_projects(database: Database) -> None:
    with database.write() as tx:
        for name in ("open", "closed"):
            projects.add(tx, name)
            prompts.add(tx, Scope(project=name), title="T", content="x")
    with database.read() as tx:
        inside = Scope(project="open", projects=("open",))
        assert prompts.page(tx, inside, limit=5)[0][0].title == "T"
        assert projects.named(tx, inside, "open") == projects.current(tx, inside)
        for name in ("closed", "nowhere"):
            outside = Scope(project=name, projects=("open", "gone"))
            for look in (
                lambda scope: prompts.page(tx, scope, limit=5),
                lambda scope: prompts.offered(tx, scope, limit=5),
                lambda scope: prompts.find(tx, scope, "t"),
                lambda scope: prompts.near(tx, scope, "t"),
                lambda scope: resources.page(tx, scope, limit=5),
                lambda scope: projects.named(tx, inside, scope.project),
            ):
                with pytest.raises(Forbidden):
                    look(outside)
        with pytest.raises(NotFound):
            projects.named(tx, Scope(projects=("gone",)), "gone")


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
            assert [project.name for project, _ in projects.listed(tx, scope)] == names
