"""Values that users gave to the arguments of prompts go with the prompt, whatever removes it, for all users."""

import pytest

from satchel.model import Argument, PromptDraft, Scope
from satchel.services import history, layers, projects, prompts, restoring, templates
from satchel.storage.database import Database, open_database
from tests.support.postgres import PostgresServer
from tests.support.roles import two_roles

ADA = Scope(user="6f0a2f5e-9c1c-4a6e-8a51-0d8f8f3c2b11")
EVE = Scope(user="0f0a2f5e-9c1c-4a6e-8a51-0d8f8f3c2b12")


def give(database: Database, *keys: str) -> None:
    """Give a value of two users to an argument of each prompt."""
    for scope in (ADA, EVE):
        with database.write(scope) as tx:
            for key in keys:
                templates.remember_values(tx, scope, key, {"code": "a secret"})


def kept(database: Database) -> list[str]:
    """Return the prompts that have values of both users."""
    found = []
    for scope in (ADA, EVE):
        with database.read(scope) as tx:
            found.append(
                [prompt for (prompt,) in tx.all("select distinct prompt from argument_values order by prompt")]
            )
    assert found[0] == found[1]
    return found[0]


def add(database: Database, project: str, *titles: str) -> None:
    with database.write(ADA) as tx:
        if not projects.exists(database, project):
            projects.add(tx, project)
        for title in titles:
            draft = PromptDraft(title=title, content="{{ code }}", arguments=(Argument("code", None, True),))
            prompts.add(tx, Scope(project=project, user=ADA.user), draft)


def forget(database: Database) -> None:
    """Delete, purge, rename and remove, and see what is left."""
    add(database, "p", "One", "Two", "Three")
    add(database, "p0", "One")
    add(database, "q", "One")
    give(database, "p/one", "p/two", "p/three", "p0/one", "q/one")
    within = Scope(project="p", user=ADA.user)
    with database.write(within) as tx:
        prompts.delete(tx, within, layers.find_prompt(tx, within, "one").id)
    assert kept(database) == ["p/three", "p/two", "p0/one", "q/one"]
    with database.write(within) as tx:
        projects.rename(tx, "p", "r")
    assert kept(database) == ["p0/one", "q/one", "r/three", "r/two"]
    with database.write(within) as tx:
        projects.delete(tx, "r")
    assert kept(database) == ["p0/one", "q/one"]


def test_values_go_when_their_prompt_is_deleted_and_follow_a_renamed_project(database: Database) -> None:
    forget(database)
    with database.write(ADA) as tx:
        restoring.purge(tx, Scope(project="q", user=ADA.user), "one")
    assert kept(database) == ["p0/one"]


def test_an_application_role_forgets_the_values_of_all_users(postgres: PostgresServer) -> None:
    _, app = two_roles(postgres)
    database = open_database(app)
    forget(database)
    give(database, "none/none")
    assert history.forget_values(database, None) == 2
    assert kept(database) == ["p0/one", "q/one"]
    database.close()


def test_upkeep_removes_what_was_left_behind(database: Database) -> None:
    add(database, "p", "One")
    give(database, "p/one", "p/none", "none/one", "lib:there", "lib:gone", "odd", "")
    assert history.forget_values(database, None) == 8  # which libraries there are is not known
    assert kept(database) == ["lib:gone", "lib:there", "p/one"]
    assert history.forget_values(database, ["lib:there"]) == 0  # it may come back
    for scope in (ADA, EVE):
        with database.write(scope) as tx:
            tx.run(
                "update argument_values set used_at = :long_ago where owner = :owner", long_ago="2020", owner=scope.user
            )
    assert history.forget_values(database, ["lib:there"]) == 2
    assert kept(database) == ["lib:there", "p/one"]


@pytest.mark.parametrize("days", [0, 30])
def test_an_emptied_trash_leaves_no_value(database: Database, days: int) -> None:
    add(database, "p", "One")
    give(database, "p/one")
    with database.write(ADA) as tx:
        projects.delete(tx, "p")
    history.prune(database, empty_trash=True)
    assert kept(database) == []
