"""Opening a store: a missing one is created, an old one migrated, another program's refused and left unchanged."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from satchel.errors import StoreUnusable
from satchel.model import PromptDraft, PromptQuery, Scope
from satchel.services import projects, prompts
from satchel.storage import schema
from satchel.storage.database import open_database
from satchel.storage.schema.migration import Statements
from tests.support.postgres import PostgresServer
from tests.support.schemas import ask


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_store_is_private_from_the_first_moment(tmp_path: Path) -> None:
    file = tmp_path / "home" / "satchel.db"
    old = os.umask(0)
    try:
        database = open_database(str(file))
        with database.write() as tx:
            tx.run("insert into settings values ('a', 'b')")
        made = sorted(path.name for path in file.parent.iterdir())
        assert made == ["satchel.db", "satchel.db-gate", "satchel.db-shm", "satchel.db-wal"]
        assert {mode(path) for path in file.parent.iterdir()} == {0o600}
        assert mode(file.parent) == 0o700
        database.close()
    finally:
        os.umask(old)


def test_the_database_is_durable_and_strict(tmp_path: Path) -> None:
    database = open_database(str(tmp_path / "s.db"))
    with database.write() as tx:
        assert tx.one("pragma journal_mode") == ("wal",)
        assert tx.one("pragma synchronous") == (2,)
        assert tx.one("pragma foreign_keys") == (1,)
    with database.read() as tx:
        assert tx.one("pragma query_only") == (1,)
        with pytest.raises(Exception, match="readonly"):
            tx.run("insert into settings values ('a', 'b')")
    database.close()


@pytest.mark.parametrize(
    "content", [b"not a database, " * 100, b"SQLite format 3\0" + b"\xff" * 5000, b"x"], ids=["text", "broken", "byte"]
)
def test_a_file_that_is_not_a_database_is_refused_and_left_unchanged(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "s.db"
    file.write_bytes(content)
    with pytest.raises(StoreUnusable, match=r"damaged or no database.*left as it is"):
        open_database(str(file))
    assert file.read_bytes() == content


def test_a_database_of_another_program_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "s.db"
    ask(str(file), "create table theirs (x)")
    before = file.read_bytes()
    with pytest.raises(StoreUnusable, match="another program"):
        open_database(str(file))
    assert file.read_bytes() == before


def test_a_path_that_is_not_a_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (str(tmp_path), str(tmp_path / "fifo"), "/dev/null"):
        with pytest.raises(StoreUnusable, match="is not a file"):
            open_database(path)
    assert not Path("/dev/null-gate").exists()


def test_a_store_whose_tables_are_gone_is_refused_with_a_clear_text(store: str) -> None:
    open_database(store).close()
    ask(store, "drop table projects cascade" if store.startswith("postgresql") else "drop table projects")
    with pytest.raises(StoreUnusable, match="projects"):
        open_database(store)


def test_an_empty_file_is_a_new_store(tmp_path: Path) -> None:
    (tmp_path / "s.db").touch()
    open_database(str(tmp_path / "s.db")).close()


def test_a_store_in_another_journal_mode_is_taken_back_to_wal(tmp_path: Path) -> None:
    file = tmp_path / "s.db"
    open_database(str(file)).close()
    ask(str(file), "pragma journal_mode = delete")
    database = open_database(str(file))
    with database.write() as tx:
        assert tx.one("pragma journal_mode") == ("wal",)
    database.close()


def test_a_schema_that_cannot_be_made_leaves_nothing_and_is_made_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "s.db"
    broken = Statements(both="select no_such_function();")
    monkeypatch.setattr(schema, "SCHEMA", (*schema.SCHEMA, broken))
    with pytest.raises(StoreUnusable):
        open_database(str(file))
    assert ask(str(file), "select count(*) from sqlite_schema") == [(0,)]
    monkeypatch.undo()
    open_database(str(file)).close()


def test_several_processes_open_one_new_store_at_once(store: str) -> None:
    code = "import sys; from satchel.storage.database import open_database as o; d = o(sys.argv[1]); d.close()"
    processes = [subprocess.Popen([sys.executable, "-c", code, store], stderr=subprocess.PIPE) for _ in range(4)]
    for process in processes:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors


def test_an_unreachable_postgres_is_refused_without_showing_the_password(postgres: PostgresServer) -> None:
    with pytest.raises(StoreUnusable) as refusal:
        open_database(f"postgresql://satchel:hunter2@/missing?host={postgres.folder}")
    assert "hunter2" not in str(refusal.value) and "missing" in str(refusal.value)


def test_an_unreadable_address_is_refused_without_showing_the_password() -> None:
    for address in ("postgresql://u:se%cret@localhost/db", "postgresql://u:secret@[::1/db"):
        with pytest.raises(StoreUnusable) as refusal:
            open_database(address)
        assert "cret" not in str(refusal.value)


def test_a_database_that_is_not_utf_8_is_refused(postgres: PostgresServer) -> None:
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as connection:
        connection.execute("create database ascii encoding 'SQL_ASCII' template template0")
    with pytest.raises(StoreUnusable, match="SQL_ASCII"):
        open_database(postgres.url("ascii"))


def test_a_store_without_pg_trgm_works_all_the_same(postgres: PostgresServer) -> None:
    store = postgres.fresh()
    with psycopg.connect(store, autocommit=True) as connection:
        connection.execute("create role plain login nosuperuser")
        connection.execute("grant create, usage on schema public to plain")
        connection.execute("revoke create on database " + store.split("/")[3].split("?")[0] + " from public")
    database = open_database(store.replace("satchel@", "plain@"))
    projects.require(database, Scope())
    with database.write() as tx:
        assert tx.all("select 1 from pg_extension where extname = 'pg_trgm'") == []
        prompts.add(tx, Scope(), PromptDraft(title="T", content="needle"))
        assert prompts.list_counted(tx, Scope(), PromptQuery(text="NEEDLE"), limit=1, offset=0).total == 1
    database.close()
