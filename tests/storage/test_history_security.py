"""History in raw SQL, as a role that owns nothing: others' rows are invisible, and no revision is changed."""

from typing import Any

import psycopg
import pytest

from satchel.model import PromptDraft, PromptPatch, Scope, TaskDraft, TaskPatch
from satchel.services import layers, projects, prompts, tasks
from satchel.storage.database import open_database
from tests.support.postgres import PostgresServer
from tests.support.roles import become, refuse, two_roles

ADA, BOB = "550e8400-e29b-41d4-a716-446655440000", "11111111-2222-4333-8444-555555555555"
HISTORY = ("revisions", "revision_states")
OLD, FUTURE = "2000-01-01T00:00:00.000000Z", "2999-01-01T00:00:00.000000Z"


@pytest.fixture(scope="module")
def roles(postgres: PostgresServer) -> tuple[str, str]:
    """Return the addresses of a store with some history, for its owner and for the application role."""
    return make_store(postgres)


def make_store(postgres: PostgresServer) -> tuple[str, str]:
    """Return a store in which Ada and Bob changed and deleted tasks, and prompts of projects a and b."""
    owner, app = two_roles(postgres)
    database = open_database(owner)
    for user, name in ((ADA, "a"), (BOB, "b")):
        scope = Scope(user=user, project=name)
        with database.write(scope) as tx:
            projects.add(tx, name)
            for title in ("Kept", "Deleted"):
                prompt = prompts.add(tx, scope, PromptDraft(title=title, content=f"one of {name}"))
                prompts.update(tx, scope, prompt.id, PromptPatch(content=f"two of {name}"))
                task = tasks.add(tx, scope, TaskDraft(title=f"{title} by {user}", project=name))
                tasks.update(tx, scope, task.number, TaskPatch(title=f"{title} again by {user}"))
            prompts.delete(tx, scope, prompt.id)
            tasks.delete(tx, scope, task.number)
    database.close()
    return owner, app


def seen(connection: psycopg.Connection[Any], table: str) -> set[tuple[str, str | None, str | None]]:
    """Return kind, owner and project of all rows that a connection sees in a table of history."""
    where = "revisions join revision_states on revision = number" if table == "revision_states" else table
    sql = f"select kind, owner, (select name from projects where number = project) from {where}"
    return set(connection.execute(sql.encode()).fetchall())


def test_a_user_sees_the_history_of_no_other_users_tasks(app: psycopg.Connection[Any]) -> None:
    for table in HISTORY:
        for user, other in ((ADA, BOB), (BOB, ADA)):
            become(app, user)
            found = seen(app, table)
            assert {owner for kind, owner, _ in found if kind == "task"} == {user}
            assert {project for kind, _, project in found if kind == "prompt"} == {"a", "b"}
            assert other not in str(app.execute(f"select * from {table}".encode()).fetchall())
        become(app, "")
        assert all(kind != "task" for kind, *_ in seen(app, table))


def test_a_scope_with_projects_sees_their_history_only(app: psycopg.Connection[Any]) -> None:
    for table in HISTORY:
        become(app, ADA, "a")
        assert {(kind, project) for kind, _, project in seen(app, table)} >= {("task", "a"), ("prompt", "a")}
        assert {project for *_, project in seen(app, table)} == {"a"}
        for projects_ in ("b", "", "c"):
            become(app, ADA, projects_)
            assert {project for kind, _, project in seen(app, table) if kind != "task"} == {*projects_} & {"b"}
            assert "task" not in {kind for kind, *_ in seen(app, table)}


OF_OTHERS = [
    f"insert into revisions (kind, item, version, action, at, owner) values ('task', 1, 99, 'add', '', '{BOB}')",
    "insert into revisions (kind, item, version, action, at) values ('task', 1, 99, 'add', '')",
    "insert into revisions (kind, item, version, action, at, project) values ('prompt', 1, 99, 'add', '', :b)",
    "insert into revisions (kind, item, version, action, at) values ('prompt', 1, 99, 'add', '')",
    "insert into revision_states select :hidden, 'x'",
]


def test_no_row_can_be_added_to_the_history_of_others(roles: tuple[str, str], app: psycopg.Connection[Any]) -> None:
    with psycopg.connect(roles[0]) as owner:
        [[b]] = owner.execute("select number from projects where name = 'b'").fetchall()
        newest = "select max(number) from revisions where owner = %s and action <> 'delete'"
        [[hidden]] = owner.execute(newest, [BOB]).fetchall()
    for sql in OF_OTHERS:
        refuse(app, sql.replace(":b", str(b)).replace(":hidden", str(hidden)), ADA, "a")


def prune(connection: psycopg.Connection[Any], history: str, versions: int, trash: str) -> int:
    """Run all steps of pruning in the transaction of a test; return the number of removed rows."""
    removed = position = 0
    while rows := connection.execute(
        "select reached, removed from satchel_prune(%s, %s, %s, %s, 10)", [history, versions, trash, position]
    ).fetchall():
        [(position, count)] = rows
        removed += count
    return removed


def count(connection: psycopg.Connection[Any]) -> dict[str, int]:
    """Count the revisions, and the deleted prompts and tasks."""
    [(revisions, trash)] = connection.execute("""
        select (select count(*) from revisions), (select count(*) from prompts where deleted_at is not null)
            + (select count(*) from tasks where deleted_at is not null)
    """).fetchall()
    return {"revisions": revisions, "trash": trash}


def test_the_function_for_pruning_removes_only_what_its_rules_allow(postgres: PostgresServer) -> None:
    """It prunes for all users, whoever calls it, and keeps young versions and the newest of each item."""
    roles = make_store(postgres)
    with psycopg.connect(roles[0]) as owner, psycopg.connect(roles[1]) as app:
        before = count(owner)
        assert prune(app, OLD, 1, OLD) == 0
        assert prune(app, FUTURE, 20, OLD) == 0
        become(app, ADA, "a")
        removed = prune(app, FUTURE, 1, OLD)
        app.commit()
        after = count(owner)
        # Each item keeps its newest readable version; a deleted item also keeps its deletion.
        sql = "select kind, version, action, count(*) from revisions group by 1, 2, 3 order by 1, 2"
        assert owner.execute(sql).fetchall() == [
            ("project", 1, "add", 2),
            *(("prompt", 2, "update", 4), ("prompt", 3, "delete", 2)),
            *(("task", 2, "update", 4), ("task", 3, "delete", 2)),
        ]
        assert (before["revisions"] - after["revisions"], removed, after["trash"]) == (8, 8, before["trash"])
        assert prune(app, OLD, 1, FUTURE) > 0
        app.commit()
        assert count(owner)["trash"] == 0
        assert owner.execute("select count(*) from revisions where action = 'delete'").fetchall() == [(0,)]
        kept = owner.execute("select title from prompts union all select title from tasks").fetchall()
        assert sorted(title for (title,) in kept) == sorted(
            ["Kept", "Kept", f"Kept again by {ADA}", f"Kept again by {BOB}"]
        )


def test_the_application_role_removes_an_item_for_good_with_its_history(postgres: PostgresServer) -> None:
    owner, app = make_store(postgres)
    scope = Scope(user=ADA, project="a", projects=("a",))
    database = open_database(app)
    with database.write(scope) as tx:
        prompt, [task, *_] = layers.find_prompt(tx, scope, "kept"), tasks.list_all(tx, scope)
        prompts.delete(tx, scope, prompt.id, permanently=True)
        tasks.delete(tx, scope, task.number, permanently=True)
    database.close()
    with psycopg.connect(owner) as connection:
        for kind, number in (("prompt", prompt.number), ("task", task.number)):
            sql = "select action, state from revisions left join revision_states on revision = number"
            where = " where kind = %s and item = %s"
            assert connection.execute((sql + where).encode(), [kind, number]).fetchall() == [("delete", None)]
        words = "select word from search_words where word = 'kept'"
        assert connection.execute(words).fetchall() == [("kept",)] * 2  # Bob's prompt and task still have the word
