"""A search reads nothing of projects and users that the caller may not see, and reveals nothing about them."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import errors

from satchel.model import PromptDraft, Scope, TaskDraft
from satchel.services import projects, prompts, tasks
from satchel.services.search import SearchQuery, search
from satchel.storage.database import Database, open_database
from tests.support.postgres import PostgresServer
from tests.support.roles import become, two_roles

ADA, BOB = "550e8400-e29b-41d4-a716-446655440000", "11111111-2222-4333-8444-555555555555"
OPEN = Scope(user=ADA, project="pub", projects=("pub",))
EVERYWHERE = Scope(user=ADA, project="pub")
SECRET = "zygomatic"


def fill(database: Database, count: int = 30) -> None:
    with database.write() as tx:
        projects.add(tx, "pub")
        projects.add(tx, "priv")
        for number in range(count):
            there = Scope(user=ADA, project="priv")
            prompts.add(tx, there, PromptDraft(title=f"Secret {number}", content=f"{SECRET} words"))
            prompts.add(tx, EVERYWHERE, PromptDraft(title=f"Plain {number}", content="ordinary words"))
        tasks.add(tx, EVERYWHERE, TaskDraft(title=f"{SECRET} of Ada in priv", project="priv"))
        tasks.add(tx, EVERYWHERE, TaskDraft(title="Ordinary of Ada in pub", project="pub"))
        tasks.add(tx, Scope(user=BOB), TaskDraft(title=f"{SECRET} of Bob"))


def found(database: Database, scope: Scope, query: str) -> list[str]:
    with database.read(scope) as tx:
        return [hit.title for hit in search(tx, scope, SearchQuery(text=query))[0]]


def test_a_search_finds_only_items_that_the_caller_may_see(database: Database) -> None:
    fill(database)
    for query in (SECRET, "zygomatik", "zygo matic", f'"{SECRET}"', "secret", "bob", "priv"):
        assert found(database, OPEN, query) == []
    assert found(database, EVERYWHERE, SECRET) == [f"{SECRET} of Ada in priv"]
    assert found(database, OPEN, "ordinary ada") == ["Ordinary of Ada in pub", *found(database, OPEN, "ordinary")[1:]]


# -- row-level security -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def roles(postgres: PostgresServer) -> tuple[str, str]:
    owner, app = two_roles(postgres)
    database = open_database(owner)
    fill(database)
    database.close()
    return owner, app


@pytest.fixture
def app(roles: tuple[str, str]) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(roles[1]) as connection:
        yield connection
        connection.rollback()


def test_the_functions_search_only_spaces_that_are_open(roles: tuple[str, str], app: psycopg.Connection[Any]) -> None:
    with psycopg.connect(roles[0]) as owner:
        spaces = [number for (number,) in owner.execute("select number from search_spaces").fetchall()]

    def count(user: str, allowed: str) -> int:
        become(app, user, allowed)
        levels = list("abcdefgh")
        words, prefixes = [SECRET] * 8, [True] * 8
        sql = "select coalesce(sum(total), 0) from satchel_find_words(%s, %s, %s, %s, 100)"
        [[total]] = app.execute(sql, [spaces, levels, words, prefixes]).fetchall()
        sql = "select cardinality(satchel_find_together(%s, %s, %s, %s, 100))"
        assert app.execute(sql, [spaces, levels, [SECRET], [False]]).fetchall() == [(total,)]
        return int(total)

    assert [count(ADA, "*"), count(ADA, "pub"), count(BOB, "pub"), count(BOB, "priv"), count("", "")] == [
        31,
        0,
        0,  # Bob's own task is in no project
        30,
        0,
    ]


def test_a_word_is_never_read_as_an_operator(app: psycopg.Connection[Any], roles: tuple[str, str]) -> None:
    with psycopg.connect(roles[0]) as owner:
        [[priv]] = owner.execute(
            "select s.number from search_spaces s join projects p on p.number = s.project where p.name = 'priv'"
        ).fetchall()
        spaces = [number for (number,) in owner.execute("select number from search_spaces").fetchall()]
    become(app, BOB, "pub")
    for word in (f"x' | '{priv}.g.{SECRET}", f"x'' | '{priv}.g.{SECRET}", f"\\' | '{priv}.g.{SECRET}", "' | !x"):
        sql = "select coalesce(sum(total), 0) from satchel_find_words(%s, %s, %s, %s, 100)"
        assert app.execute(sql, [spaces, ["a"], [word], [False]]).fetchall() == [(0,)]


OUT_OF_BOUNDS = [
    "insert into search_spaces (kind, project) select 'prompt', min(project) - 1 from search_spaces",
    f"insert into search_spaces (kind, owner, within) values ('task', '{BOB}', 77)",
    "insert into search_words values (:secret, 'x')",
    "insert into search_items (space, prompt, name_key, title_key, words) values (:secret, 1, '', '', '')",
    "update search_items set space = :secret",
    "update search_words set space = :secret",
]


def test_no_row_is_added_to_a_foreign_space(roles: tuple[str, str], app: psycopg.Connection[Any]) -> None:
    with psycopg.connect(roles[0]) as owner:
        [[secret]] = owner.execute(
            "select s.number from search_spaces s join projects p on p.number = s.project where p.name = 'priv'"
        ).fetchall()
    for sql in OUT_OF_BOUNDS:
        become(app, ADA, "pub")
        with pytest.raises(errors.InsufficientPrivilege, match="row-level security"):
            app.execute(sql.replace(":secret", str(secret)).encode())
        app.rollback()
