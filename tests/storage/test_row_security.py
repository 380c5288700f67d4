"""Row-level security: for a role that owns nothing, no SQL reaches other users' tasks or forbidden projects."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import errors

from satchel.auth import sessions
from satchel.errors import StoreFailed
from satchel.model import DocumentDraft, Identity, PromptDraft, PromptPatch, Scope
from satchel.services import documents, projects, prompts
from satchel.services.tasks import add_note
from satchel.storage.database import Database, open_database
from satchel.storage.postgres_schema import APPEND_ONLY, DATA, FUNCTIONS, READ_ONLY
from tests.support.postgres import PostgresServer
from tests.support.roles import become, refuse, role_of, two_roles

ADA, BOB = "550e8400-e29b-41d4-a716-446655440000", "11111111-2222-4333-8444-555555555555"
NOW = "2026-01-01T00:00:00.000000Z"
OWNED = ("tasks", "task_tags", "task_blocks", "task_texts", "argument_values", "task_claims", "retry_keys", "sessions")
SHARED = ("projects", "prompts", "prompt_tags", "prompt_labels", "prompt_texts", "documents", "links")
SAME_FOR_ALL = {"settings", "tokens", "authors", "changes", "satchel_schema"}  # the role does not change or delete them


@pytest.fixture(scope="module")
def roles(postgres: PostgresServer) -> tuple[str, str]:
    """Return the addresses, for both roles, of a store with tasks of Ada and Bob, and items of all kinds in a and b."""
    owner, app = two_roles(postgres)
    database = open_database(owner)
    with database.write() as tx:
        for name in ("a", "b"):
            projects.add(tx, name)
        for user in (ADA, BOB):
            sql = """
                insert into tasks (id, owner, title, created_at, updated_at, project)
                select :owner || '/' || number, :owner, 'T', :now, :now, number from projects order by number
            """
            tx.run(sql, owner=user, now=NOW)
            tx.run("insert into task_tags select number, owner, 't' from tasks where owner = :owner", owner=user)
            tx.run("insert into task_texts select number, owner, 't', '' from tasks where owner = :owner", owner=user)
            sql = """
                insert into task_blocks select min(number), max(number), owner from tasks where owner = :owner
                group by owner
            """
            tx.run(sql, owner=user)
            tx.run("insert into argument_values values (:owner, 'p', 'a', 'v', :now)", owner=user, now=NOW)
            tx.run("insert into task_claims select number, owner, 'h', 'k', '', 1 from tasks where owner = :o", o=user)
            tx.run("insert into retry_keys values (:owner, 't', 'k', 'd', '', :now)", owner=user, now=NOW)
            sessions.make_code(tx, Identity(user=user))
            scope = Scope(user=user)
            for (number,) in tx.all("select number from tasks where owner = :owner", owner=user):
                add_note(tx, scope, number, "A note")
        for name in ("a", "b"):
            scope = Scope(project=name)
            prompt = prompts.add(tx, scope, PromptDraft(title="T", content="hay", tags=["t"]))
            prompts.update(tx, scope, prompt.id, PromptPatch(content="needle satchel://task/1"))
            prompts.set_label(tx, scope, prompt, "production")
            for resource in ("r", "deleted"):
                documents.add(tx, scope, DocumentDraft(name=resource, uri=f"x:{resource}", content="text"))
            documents.delete(tx, scope, "deleted")
    database.close()
    return owner, app


@pytest.fixture
def database(roles: tuple[str, str]) -> Iterator[Database]:
    opened = open_database(roles[1])
    yield opened
    opened.close()


def fill_in(sql: str, numbers: dict[str, int]) -> str:
    for name, number in numbers.items():
        sql = sql.replace(name, str(number))
    return sql


def test_nothing_reaches_another_users_rows_even_without_a_where_clause(
    roles: tuple[str, str], app: psycopg.Connection[Any]
) -> None:
    for table in OWNED:
        with psycopg.connect(roles[0]) as owner:
            of_bob = owner.execute(f"select * from {table} where owner = '{BOB}' order by 1, 2").fetchall()
            both = owner.execute(f"select count(*) from {table}").fetchall()[0][0]
        become(app, ADA)
        assert {row[0] for row in app.execute(f"select owner from {table}").fetchall()} == {ADA}
        updated = app.execute(f"update {table} set owner = owner").rowcount
        assert updated == both - len(of_bob) > 0
        assert app.execute(f"delete from {table}").rowcount == updated
        become(app, BOB)
        assert app.execute(f"select * from {table} order by 1, 2").fetchall() == of_bob
        app.rollback()
        refuse(app, f"update {table} set owner = '{BOB}'", ADA)


ON_OTHERS = [
    f"insert into tasks (id, owner, title, created_at, updated_at) values ('x', '{BOB}', 'T', '', '')",
    "insert into tasks (id, owner, title, created_at, updated_at) values ('x', '', 'T', '', '')",
    f"insert into task_tags values (:mine, '{BOB}', 'x')",
    f"insert into task_tags values (:his, '{BOB}', 'x')",
    f"insert into task_tags values (:his, '{ADA}', 'x')",  # this would keep Bob from using the tag
    f"insert into task_texts values (:his, '{ADA}', 'x', '')",
    f"insert into task_blocks values (:his, :mine, '{ADA}')",
    f"insert into task_blocks values (:mine, :his, '{ADA}')",
    f"update task_tags set task = :his, owner = '{ADA}'",
    f"insert into argument_values values ('{BOB}', 'p', 'a', 'x', '')",
    f"insert into links (task, owner, part, to_kind, to_key) values (:his, '{ADA}', 'text', 'task', '1')",
    f"insert into links (task, owner, part, to_kind, to_key) values (:mine, '{BOB}', 'text', 'task', '1')",
    f"insert into task_claims values (:his, '{ADA}', 'h', 'k', '', 1) on conflict do nothing",
    f"insert into task_notes (task, owner, author, at, text) values (:his, '{ADA}', 1, '', 'x')",
    f"insert into task_notes (task, owner, author, at, text) values (:mine, '{BOB}', 1, '', 'x')",
    f"insert into retry_keys values ('{BOB}', 't', 'x', 'd', '', '')",
]


def test_no_row_can_refer_to_another_users_rows(roles: tuple[str, str], app: psycopg.Connection[Any]) -> None:
    with psycopg.connect(roles[0]) as owner:
        numbers = {
            name: owner.execute("select min(number) from tasks where owner = %s", [user]).fetchall()[0][0]
            for name, user in ((":mine", ADA), (":his", BOB))
        }
    for sql in ON_OTHERS:
        refuse(app, fill_in(sql, numbers), ADA)


def test_a_scope_with_projects_sees_only_those(app: psycopg.Connection[Any]) -> None:
    for table in SHARED:
        become(app, ADA)
        everything = app.execute(f"select count(*) from {table}").fetchall()[0][0]
        become(app, ADA, "a")
        own = app.execute(f"select count(*) from {table}").fetchall()[0][0]
        assert 2 * own == everything > 0
        assert app.execute(f"delete from {table}").rowcount == own
        become(app, ADA, "*")
        assert app.execute(f"select count(*) from {table}").fetchall()[0][0] == own
        become(app, ADA, "")
        assert app.execute(f"select * from {table}").fetchall() == []
        app.rollback()


OUT_OF_BOUNDS = [
    "insert into projects (id, name, created_at, updated_at) values ('x', 'c', '', '')",
    "update projects set name = 'c'",
    "insert into prompts (id, project, name, title, content, created_at, updated_at) "
    "values ('x', :b, 'x', 'x', 'x', '', '')",
    "update prompts set project = :b",
    "insert into prompt_tags values (:of_b, :b, 'x')",
    "insert into prompt_tags values (:of_b, :a, 'x')",
    "insert into prompt_labels values (:of_b, 'x', 1)",
    "update prompt_labels set prompt = :of_b",
    "insert into prompt_texts values (:of_b, 'x', 'x', 1)",
    "insert into prompt_texts values (:of_b, 'x', 'x', 1) on conflict (prompt) do update set title = 'x'",
    "update prompt_texts set prompt = :of_b",
    "update documents set project = :b",
    "insert into links (prompt, project, part, to_kind, to_key) values (:of_b, :b, 'text', 'task', '1')",
    "insert into links (prompt, project, part, to_kind, to_key) values (:of_b, :a, 'text', 'task', '1')",
    "update links set project = :b",
]


def test_no_row_can_be_added_to_a_foreign_project(roles: tuple[str, str], app: psycopg.Connection[Any]) -> None:
    with psycopg.connect(roles[0]) as owner:
        numbers = dict(owner.execute("select ':' || name, number from projects").fetchall())
        query = "select p.number from prompts p join projects on project = projects.number where projects.name = 'b'"
        numbers = {":of_b": owner.execute(query).fetchall()[0][0], **numbers}
    for sql in OUT_OF_BOUNDS:
        refuse(app, fill_in(sql, numbers), ADA, "a")


def test_without_settings_no_table_of_the_schema_shows_or_loses_a_row(
    roles: tuple[str, str], app: psycopg.Connection[Any]
) -> None:
    with psycopg.connect(roles[0]) as owner:
        sql = """
            select relname from pg_class
            where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'm', 'f')
        """  # tables, and everything else that shows rows
        tables = {name for (name,) in owner.execute(sql).fetchall()}
        assert tables > SAME_FOR_ALL
        for table in tables - SAME_FOR_ALL:
            assert owner.execute(f"select count(*) > 0 from {table}".encode()).fetchall() == [(True,)], table
    for table in tables - SAME_FOR_ALL:
        assert app.execute(f"select * from {table}".encode()).fetchall() == [], table
    for table in tables - SAME_FOR_ALL - {*APPEND_ONLY, *READ_ONLY}:
        assert app.execute(f"delete from {table}".encode()).rowcount == 0, table
    for table in SAME_FOR_ALL | {*APPEND_ONLY, *READ_ONLY}:
        # A view of several tables has no rows of its own.
        with pytest.raises((errors.InsufficientPrivilege, errors.ObjectNotInPrerequisiteState)):
            app.execute(f"delete from {table}".encode())
        app.rollback()


def owners(database: Database, scope: Scope | None) -> set[str]:
    with database.read(scope) as tx:
        return {owner for (owner,) in tx.all("select owner from tasks")}


def names(database: Database, scope: Scope | None) -> list[str]:
    with database.read(scope) as tx:
        return [name for (name,) in tx.all("select name from projects order by name")]


def test_settings_do_not_outlive_their_transaction_in_the_pool(database: Database) -> None:
    # The pool opens a second connection only if the first is in use, so these transactions share one.
    ada, bob = Scope(user=ADA, projects=("a",)), Scope(user=BOB, projects=("b",))
    for _ in range(3):
        assert owners(database, ada) == {ADA} and names(database, ada) == ["a"]
        with pytest.raises(RuntimeError), database.write(ada) as tx:
            tx.run("update tasks set title = 'changed'")
            raise RuntimeError
        with pytest.raises(StoreFailed), database.write(ada) as tx:
            tx.run("select pg_terminate_backend(pg_backend_pid())")
        assert owners(database, None) == set() and owners(database, Scope()) == set()
        assert owners(database, bob) == {BOB} and names(database, bob) == ["b"]
        assert names(database, Scope(projects=())) == []
    with database.read(ada) as tx:
        assert tx.all("select distinct title from tasks") == [("T",)]


def test_a_user_sees_their_own_notes(app: psycopg.Connection[Any]) -> None:
    become(app, ADA)
    assert app.execute("select owner, text from task_notes").fetchall() == [(ADA, "A note")] * 2


def test_the_function_reveals_only_whether_a_task_exists(database: Database) -> None:
    with database.read(Scope(user=ADA)) as tx:
        assert tx.is_task(f"{BOB}/1") and tx.is_task(f"{ADA}/1") and not tx.is_task("nobody's")


def test_the_search_function_returns_the_same_rows_as_the_policy(
    roles: tuple[str, str], app: psycopg.Connection[Any]
) -> None:
    with psycopg.connect(roles[0]) as owner:
        sql = "select projects.name, p.number, project from prompts p join projects on projects.number = project"
        of = {name: (prompt, project) for name, prompt, project in owner.execute(sql).fetchall()}

    def found(name: str, text: str) -> list[Any]:
        sql = "select number from satchel_prompts_containing(%s, %s)"
        return [number for (number,) in app.execute(sql, [of[name][1], text]).fetchall()]

    for text in ("needle", "ee"):
        for _ in range(2):  # the settings are null the first time, and '' the second
            assert found("a", text) == found("b", text) == []
            for allowed, names in (("*", "ab"), ("a", "a"), ("b,a", "ab"), ("b,c", "b"), ("c", ""), ("", "")):
                become(app, ADA, allowed)
                visible = {number for (number,) in app.execute("select number from prompts").fetchall()}
                assert {*found("a", text), *found("b", text)} == visible == {of[name][0] for name in names}
            app.commit()


FORBIDDEN = [
    "alter table tasks disable row level security",
    "alter table tasks no force row level security",
    "drop policy tasks_owner on tasks",
    "alter policy tasks_owner on tasks using (true)",
    "create policy all_of_them on tasks using (true)",
    "create table mine (x text)",
    "create function mine() returns int language sql as 'select 1'",
    "alter table prompt_texts disable row level security",
    "drop policy prompt_texts_allowed on prompt_texts",
    "alter function satchel_prompts_containing set search_path = pg_temp",
    "delete from settings",
    "drop table tasks",
    "truncate tasks",
    "insert into tokens (id, hash, owner, is_read_only, created_at) values ('x', 'x', 'x', 0, '')",
    "update tokens set revoked_at = null",
    "delete from tokens",
    "insert into satchel_schema values (99)",
    "delete from satchel_schema",
    "create or replace function satchel_is_task(wanted text) returns boolean language sql as 'select true'",
    "alter function satchel_prune set search_path = pg_temp",
    "alter function satchel_prune security invoker",
    "alter table revisions disable row level security",
    "drop policy revisions_visible on revisions",
    "alter policy revisions_visible on revisions using (true)",
    "set session authorization satchel",
    "set role satchel",
]


def test_the_role_cannot_turn_row_level_security_off(app: psycopg.Connection[Any]) -> None:
    for sql in FORBIDDEN:
        with pytest.raises(errors.InsufficientPrivilege):
            app.execute(sql.encode())
        app.rollback()


def test_a_session_without_row_security_gets_an_error_and_no_rows(app: psycopg.Connection[Any]) -> None:
    app.execute("set row_security = off")
    with pytest.raises(errors.InsufficientPrivilege, match="would be affected by row-level security"):
        app.execute("select * from tasks")


def test_a_temporary_view_is_not_run_as_the_owner(app: psycopg.Connection[Any]) -> None:
    """The functions that bypass row-level security run as the owner, and must not find a caller's own tables."""
    app.execute("create table pg_temp.seen (who text)")
    app.execute("grant all on pg_temp.seen to public")
    app.execute(
        "create function pg_temp.spy() returns text language plpgsql as "
        "$$ begin insert into pg_temp.seen values (current_user); return 'x'; end $$"
    )
    app.execute("create view pg_temp.tasks as select pg_temp.spy() as id")
    assert app.execute("select satchel_is_task('x')").fetchall() == [(False,)]
    for table in ("projects", "prompts", "prompt_texts"):
        columns = "1 as number, 1 as project, 1 as prompt, 'needle' as content, 'x' as title, 'x' as updated_at"
        app.execute(f"create view pg_temp.{table} as select pg_temp.spy() as name, {columns}".encode())
    app.execute("create function pg_temp.strpos(text, text) returns int language sql as 'select length(pg_temp.spy())'")
    app.execute("set search_path = pg_temp, public")
    become(app, ADA, "a")
    for text in ("needle", "ee"):
        sql = "select count(*) from generate_series(1, 9) as project, satchel_prompts_containing(project, %s)"
        assert app.execute(sql, [text]).fetchall() == [(1,)]
    assert app.execute("select * from pg_temp.seen").fetchall() == []


def test_the_rights_are_exactly_these(roles: tuple[str, str], app: psycopg.Connection[Any]) -> None:
    rights: dict[str, set[str]] = {}
    sql = "select table_name, privilege_type from information_schema.role_table_grants where grantee = current_user"
    for table, right in app.execute(sql).fetchall():
        rights.setdefault(table, set()).add(right)
    assert rights == {
        **{table: {"SELECT", "INSERT", "UPDATE", "DELETE"} for table in DATA},
        **{table: {"SELECT", "INSERT"} for table in APPEND_ONLY},
        **{table: {"SELECT"} for table in READ_ONLY},
    }
    with psycopg.connect(roles[0]) as owner:
        shown = "select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'v')"
        tables = owner.execute(shown).fetchall()
        known = {*DATA, *APPEND_ONLY, *READ_ONLY}
        assert {name for (name,) in tables} == known, "a new table belongs in DATA, APPEND_ONLY or READ_ONLY"
        definers = """
            select oid::regprocedure::text, proacl::text from pg_proc
            where prosecdef and prorettype <> 'trigger'::regtype
        """
        found = dict(owner.execute(definers).fetchall())
        assert found.keys() == {name.replace(", ", ",") for name in FUNCTIONS}
        names = [role_of(address) for address in roles]
        assert set(found.values()) == {f"{{{names[0]}=X/{names[0]},{names[1]}=X/{names[0]}}}"}
        # Without their own search path, functions would find a caller's temporary tables first.
        paths = (
            "select proname from pg_proc where prosecdef and proconfig::text !~ 'search_path=.*pg_temp' is not false"
        )
        assert owner.execute(paths).fetchall() == []
        triggers = "select distinct proacl::text from pg_proc where prosecdef and prorettype = 'trigger'::regtype"
        assert owner.execute(triggers).fetchall() == [(f"{{{names[0]}=X/{names[0]}}}",)]
