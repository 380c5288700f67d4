"""Subtasks: parents, circles, deletion, restore and undo, and parents that a caller may not see."""

import pytest

from satchel.errors import NotFound, WrongArgument
from satchel.model import Author, Scope, Task, TaskDraft, TaskPatch
from satchel.services import history, projects, restoring, tasks
from satchel.storage.database import Database, Tx, open_database
from tests.support.postgres import PostgresServer
from tests.support.roles import two_roles
from tests.support.variants import both_engines

ADA = Scope(user="00000000-0000-4000-8000-00000000000a", author=Author(user="00000000-0000-4000-8000-00000000000a"))
BOB = Scope(user="00000000-0000-4000-8000-00000000000b")


def add(tx: Tx, title: str, parent: int | None = None, project: str | None = None) -> int:
    return tasks.add(tx, ADA, TaskDraft(title=title, parent=parent, project=project)).number


def face(task: Task) -> tuple[int | None, int, int]:
    return task.parent, task.subtasks_done, task.subtasks


@both_engines
def test_a_task_counts_its_subtasks_and_keeps_them_through_deletion_and_restore(database: Database) -> None:
    with database.write(ADA) as tx:
        launch = add(tx, "Launch")
        one, two = add(tx, "One", launch), add(tx, "Two", launch)
        tasks.complete(tx, ADA, one)
        tasks.update(tx, ADA, two, TaskPatch(status="cancelled"))
        add(tx, "Three", launch)
        assert [face(task) for task in tasks.list_some(tx, ADA, [launch, one])] == [(None, 2, 3), (launch, 0, 0)]
        assert [task.title for task in tasks.list_subtasks(tx, ADA, launch)] == ["One", "Two", "Three"]
    with database.write(ADA) as tx:
        tasks.delete(tx, ADA, launch)
        assert tasks.find(tx, ADA, one).parent is None
        with pytest.raises(NotFound), tx.savepoint():
            add(tx, "Four", launch)
        # A parent in the trash stays when the caller gives none.
        assert tasks.update(tx, ADA, one, TaskPatch(parent=None, title="First")).parent is None
    with database.write(ADA) as tx:
        tasks.restore(tx, ADA, launch)
        assert [face(task) for task in tasks.list_some(tx, ADA, [launch, one])] == [(None, 2, 3), (launch, 0, 0)]
    with database.write(ADA) as tx:
        assert tasks.update(tx, ADA, one, TaskPatch(parent=None)).parent is None
        assert face(tasks.find(tx, ADA, launch)) == (None, 1, 2)
    with database.write(ADA) as tx:
        restoring.undo(tx, ADA)
        assert tasks.find(tx, ADA, one).parent == launch
        restoring.restore(tx, ADA, f"#{one}", 1)
        assert tasks.find(tx, ADA, one).title == "One"
        restoring.purge(tx, ADA, f"#{launch}")
        assert tasks.find(tx, ADA, one).parent is None
        assert restoring.restore(tx, ADA, f"#{one}", 2).item.state.parent is None


@both_engines
def test_a_task_is_never_part_of_itself_and_the_error_names_the_circle(database: Database) -> None:
    with database.write() as tx:
        first = add(tx, "First")
        second = add(tx, "Second", first)
        third = add(tx, "Third", second)
        for parent, circle in ((first, (first, first)), (third, (first, third, second, first))):
            with pytest.raises(WrongArgument) as refused, tx.savepoint():
                tasks.update(tx, ADA, first, TaskPatch(parent=parent))
            assert (refused.value.field, refused.value.value) == ("parent", " → ".join(f"#{one}" for one in circle))
        for wrong in (0, 2**70, 999, tasks.add(tx, BOB, TaskDraft(title="Bob's")).number):
            with pytest.raises(NotFound), tx.savepoint():
                tasks.update(tx, ADA, first, TaskPatch(parent=wrong))
        # A restored task may have become part of itself meanwhile.
        tasks.delete(tx, ADA, second)
        tasks.update(tx, ADA, first, TaskPatch(parent=third))
        with pytest.raises(WrongArgument), tx.savepoint():
            tasks.restore(tx, ADA, second)
        assert tasks.find(tx, ADA, first).parent == third


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_a_caller_limited_to_some_projects_sees_only_their_parents_and_subtasks(
    engine: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> None:
    address = str(tmp_path_factory.mktemp("store") / "satchel.db")
    if engine == "postgres":
        postgres: PostgresServer = request.getfixturevalue("postgres")
        _, address = two_roles(postgres)
    database = open_database(address)
    limited = Scope(user=ADA.user, project="pub", projects=("pub",))
    with database.write(ADA) as tx:
        for name in ("pub", "priv"):
            projects.add(tx, name)
        hidden = add(tx, "Hidden", project="priv")
        seen = add(tx, "Seen", hidden, "pub")
        add(tx, "Part", seen, "pub")
        add(tx, "Hidden part", seen, "priv")
    with database.write(limited) as tx:
        assert face(tasks.find(tx, limited, seen)) == (None, 0, 1)
        assert [task.title for task in tasks.list_subtasks(tx, limited, seen)] == ["Part"]
        with pytest.raises(NotFound):
            tasks.add(tx, limited, TaskDraft(title="T", project="pub", parent=hidden))
        assert tasks.update(tx, limited, seen, TaskPatch(title="Saw", parent=None)).parent is None
        for version in (1, 2):
            assert history.read_version(tx, limited, f"#{seen}", version).state.parent is None
        restoring.restore(tx, limited, f"#{seen}", 1)
    with database.write(ADA) as tx:
        assert face(tasks.find(tx, ADA, seen)) == (hidden, 0, 2)
    database.close()
