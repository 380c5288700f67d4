"""`satchel database`: migrating, letting a role in, looking and copying; and the other commands as such a role."""

from pathlib import Path

import psycopg
import pytest

from satchel.storage import schema
from tests.cli.test_backup import Satchel, satchel
from tests.support.command import done, failed, value
from tests.support.postgres import PostgresServer
from tests.support.roles import role_of, two_roles
from tests.support.schemas import schema_of, set_schema
from tests.support.variants import each_engine

__all__ = ["each_engine", "satchel"]


ADA = "550e8400-e29b-41d4-a716-446655440000"


@pytest.fixture
def store(empty_store: str) -> str:
    """The address of a new store without a schema."""
    return empty_store


def test_a_store_is_made_migrated_and_left_as_it_is(satchel: Satchel, store: str) -> None:
    made = value(satchel(store, "database", "migrate", "--json"))
    assert made == {"from": 0, "schema": schema.NUMBER, "role": None, "notes": []}
    assert done(satchel(store, "database", "migrate")) == f"The store has schema {schema.NUMBER}, the newest.\n"


@pytest.mark.parametrize("number", [schema.NUMBER - 1, 99])
def test_a_store_of_another_schema_is_shown_and_refused_with_what_to_do(
    satchel: Satchel, store: str, number: int
) -> None:
    done(satchel(store, "database", "migrate"))
    set_schema(store, number)
    found = value(satchel(store, "database", "status", "--json"))
    assert (found["schema"], found["newest"]) == (number, schema.NUMBER)
    assert set(found["counts"].values()) == {None}
    what_to_do = "Dump it with the Satchel that wrote it" if number < schema.NUMBER else "Upgrade this one, or dump"
    assert what_to_do in done(satchel(store, "database", "status"))
    for command in (["database", "migrate"], ["prompt", "list"], ["dump"]):
        said = failed(satchel(store, *command))
        assert f"has schema {number}, " in said and what_to_do in said and said.count("\n") == 1, command
    assert schema_of(store) == number


def test_a_status_creates_no_store(satchel: Satchel, tmp_path: Path, postgres: PostgresServer) -> None:
    assert "mysql:// is neither" in failed(satchel("mysql://x", "database", "status"))
    assert "no store" in failed(satchel(str(tmp_path / "s.db"), "database", "status"))
    assert not (tmp_path / "s.db").exists()
    store = postgres.fresh()
    assert "not visible" in done(satchel(store, "database", "status"))
    with psycopg.connect(store) as connection:
        assert connection.execute("select tablename from pg_tables where schemaname = 'public'").fetchall() == []


def test_the_password_is_not_shown(satchel: Satchel, postgres: PostgresServer) -> None:
    store = postgres.fresh().replace("satchel@", "satchel:hunter2@")
    for arguments in (["status"], ["status", "--json"], ["migrate"]):
        assert "hunter2" not in done(satchel(store, "database", *arguments))
    gone = store.replace("/t", "/no_such_t")
    assert "hunter2" not in failed(satchel(gone, "database", "status"))


def test_granting_access_to_a_role_can_be_repeated(satchel: Satchel, postgres: PostgresServer) -> None:
    owner, app = postgres.fresh_for_two()
    role = role_of(app)
    for before in (0, schema.NUMBER):
        said = value(satchel(owner, "database", "migrate", "--role", role, "--json"))
        assert said == {"from": before, "schema": schema.NUMBER, "role": role, "notes": []}
    with psycopg.connect(owner) as connection:  # what was granted by hand goes again
        connection.execute(f"grant all on tokens to {role}".encode())
    done(satchel(owner, "database", "migrate", "--role", role))
    with psycopg.connect(app) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("delete from tokens")


def test_a_role_with_a_hostile_name_is_only_a_name(satchel: Satchel, postgres: PostgresServer) -> None:
    owner, _ = two_roles(postgres)
    name = 'a"; drop table tasks; --'
    assert "no role" in failed(satchel(owner, "database", "migrate", "--role", name))
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as connection:
        connection.execute('create role "a""; drop table tasks; --" login')
    assert "may use the store" in done(satchel(owner, "database", "migrate", "--role", name))
    assert value(satchel(owner, "database", "status", "--json"))["counts"]["tasks"] == 0


def test_roles_that_row_level_security_does_not_restrict_are_refused(
    satchel: Satchel, postgres: PostgresServer
) -> None:
    owner, app = two_roles(postgres)
    for role in (role_of(owner), "satchel"):
        assert "owns nothing" in failed(satchel(owner, "database", "migrate", "--role", role))
    assert f"as role {role_of(owner)}" in failed(satchel(app, "database", "migrate", "--role", role_of(app)))


def test_a_right_to_create_tables_is_pointed_out(satchel: Satchel, postgres: PostgresServer) -> None:
    owner, app = postgres.fresh_for_two()
    with psycopg.connect(owner) as connection:
        connection.execute("grant create on schema public to public")
    said = done(satchel(owner, "database", "migrate", "--role", role_of(app)))
    assert "Note: " in said and "revoke create on schema public" in said


def test_a_file_has_no_roles(satchel: Satchel, tmp_path: Path) -> None:
    assert "no roles" in failed(satchel(str(tmp_path / "s.db"), "database", "migrate", "--role", "x"))
    assert not (tmp_path / "s.db").exists()


def test_the_commands_work_as_a_role_that_owns_nothing(satchel: Satchel, postgres: PostgresServer) -> None:
    _, app = two_roles(postgres)
    ada = ("--user", ADA)
    done(satchel(app, "project", "create", "p"))
    done(satchel(app, "prompt", "add", "T", "needle", "-t", "x", "-p", "p"))
    assert done(satchel(app, "prompt", "list", "--search", "NEEDLE", "-p", "p")).startswith("t\tT\tx\t")
    assert "Did you mean 't'" in failed(satchel(app, "prompt", "show", "tt", "-p", "p"), 3)
    done(satchel(app, "document", "add", "r", "x:r", "text", "-p", "p"))
    assert done(satchel(app, "project", "list")) == "p\t1\t1\t0\n"
    number = str(value(satchel(app, "task", "add", "Mine", "-p", "p", "--json"))["task"]["number"])
    done(satchel(app, "task", "edit", number, "Ours"))
    assert done(satchel(app, "task", "list")).startswith(f"{number}\t\tOurs\t")
    assert done(satchel(app, "task", "list", *ada)) == ""
    assert "not among your tasks" in failed(satchel(app, "task", "show", number, *ada), 3)
    assert "not among your tasks" in failed(satchel(app, "task", "delete", number, *ada), 3)
    done(satchel(app, "task", "done", number))
    done(satchel(app, "task", "delete", number))
    status = value(satchel(app, "database", "status", "--json"))
    assert status["row_security"] is True
    assert status["counts"] == {"projects": 1, "prompts": 1, "documents": 1, "tasks": None}


def test_commands_for_the_owner_only_explain_themselves(satchel: Satchel, postgres: PostgresServer) -> None:
    owner, app = two_roles(postgres)
    done(satchel(app, "prompt", "add", "Tea", "Boil"))
    made = value(satchel(owner, "token", "create", "--user", ADA, "--json"))
    done(satchel(owner, "dump", "whole.jsonl"))
    for words in (
        *(("token", "create", "--user", ADA), ("token", "create"), ("token", "revoke", made["id"])),
        *(("log", "--all"), ("log", "--all", "--format", "jsonl"), ("history", "size")),
        *(("purge", "tea", "--yes"), ("trash", "empty", "--yes"), ("dump",), ("load", "whole.jsonl")),
    ):
        assert "owner's address" in failed(satchel(app, *words)), words
    assert value(satchel(app, "token", "list", "--json")) == value(satchel(owner, "token", "list", "--json"))
    assert "added prompt 'tea', version 1" in done(satchel(app, "log"))


def test_a_backup_that_cannot_be_made_leaves_nothing(satchel: Satchel, tmp_path: Path) -> None:
    store = str(tmp_path / "s.db")
    assert "no store" in failed(satchel(store, "backup", str(tmp_path / "copy.db")))
    (tmp_path / "text").write_text("not a database, " * 100)
    failed(satchel(str(tmp_path / "text"), "backup", str(tmp_path / "copy.db")))
    done(satchel(store, "database", "migrate"))
    assert "No such file" in failed(satchel(store, "backup", str(tmp_path / "missing" / "copy.db")))
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith("copy")]
