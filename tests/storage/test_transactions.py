"""Transactions: all or nothing, a single snapshot for a reader, and an index in step with the items."""

from pathlib import Path

import pytest

from satchel.errors import StoreFailed
from satchel.model import PromptDraft, PromptPatch, PromptQuery, Scope
from satchel.services import projects, prompts
from satchel.storage import projects as project_rows
from satchel.storage.database import Database, Violation, open_database
from satchel.storage.sqlite_file import WriteLock
from tests.faults.injection import SQLITE_FAULTS, inject_sqlite

SCOPE = Scope()


def test_a_block_that_raises_leaves_nothing(database: Database) -> None:
    projects.require(database, SCOPE)
    with pytest.raises(RuntimeError), database.write() as tx:
        prompts.add(tx, SCOPE, PromptDraft(title="T", content="x", tags=["t"]))
        raise RuntimeError
    with database.write() as tx:
        assert prompts.list_counted(tx, SCOPE, PromptQuery(), limit=1, offset=0).total == 0
        assert prompts.list_tags(tx, SCOPE) == []
        prompts.add(tx, SCOPE, PromptDraft(title="T", content="x"))


def test_a_reader_sees_one_moment(database: Database) -> None:
    projects.require(database, SCOPE)
    with database.read() as reading:
        assert prompts.list_counted(reading, SCOPE, PromptQuery(), limit=1, offset=0).total == 0
        with database.write() as writing:
            prompts.add(writing, SCOPE, PromptDraft(title="T", content="x"))
        assert prompts.list_counted(reading, SCOPE, PromptQuery(), limit=1, offset=0).total == 0
    with database.read() as reading:
        assert prompts.list_counted(reading, SCOPE, PromptQuery(), limit=1, offset=0).total == 1


def test_a_clash_names_its_constraint_on_both_engines(database: Database) -> None:
    with database.write() as tx:
        project_rows.add(tx, "p")
    with pytest.raises(Violation) as clash, database.write() as tx:
        sql = "insert into projects (id, name, created_at, updated_at) values ('x', 'p', '', '')"
        tx.run(sql)
    assert clash.value.constraint == "projects_name"


def test_numbers_never_return(database: Database) -> None:
    projects.require(database, SCOPE)
    with database.write() as tx:
        first = prompts.add(tx, SCOPE, PromptDraft(title="A", content="x"))
        prompts.delete(tx, SCOPE, first.id)
    with database.write() as tx:
        assert prompts.add(tx, SCOPE, PromptDraft(title="B", content="x")).number > first.number


def test_every_update_is_later_than_the_one_before_whatever_the_clock_says(database: Database) -> None:
    projects.require(database, SCOPE)
    with database.write() as tx:
        tx.now = "2099-01-01T00:00:00.000000Z"  # written while the clock was wrong
        prompt = prompts.add(tx, SCOPE, PromptDraft(title="A", content="x"))
    times = [prompt.updated_at]
    for again in range(3):
        with database.write() as tx:
            times.append(prompts.update(tx, SCOPE, prompt.id, PromptPatch(content=f"y{again}")).updated_at)
    assert times == [f"2099-01-01T00:00:00.00000{tick}Z" for tick in range(4)]


def test_a_store_that_is_removed_or_replaced_while_open_takes_no_more_writes(tmp_path: Path) -> None:
    file = tmp_path / "s.db"
    database = open_database(str(file))
    projects.require(database, SCOPE)
    file.unlink()
    for _ in range(2):
        with pytest.raises(StoreFailed, match="removed or replaced"), database.write() as tx:
            prompts.add(tx, SCOPE, PromptDraft(title="T", content="x"))
        with pytest.raises(StoreFailed, match="removed or replaced"), database.read() as tx:
            prompts.list_counted(tx, SCOPE, PromptQuery(), limit=1, offset=0)
        file.write_bytes(b"another file")


def test_all_names_of_a_file_share_one_lock(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to("s.db")
    first = open_database(str(tmp_path / "s.db"))
    second = open_database(str(tmp_path / "link.db"))
    for database in (first, second):
        projects.require(database, SCOPE)
    assert [path.name for path in tmp_path.glob("*-gate")] == ["s.db-gate"]
    first.close()
    second.close()


def test_a_writer_does_not_wait_for_ever(tmp_path: Path) -> None:
    held, waiting = WriteLock(str(tmp_path / "s.db")), WriteLock(str(tmp_path / "s.db"))
    with held.hold(), pytest.raises(StoreFailed, match="held the write lock"), waiting.hold(timeout=0.1):
        pass
    # A writer that gave up has left the queue, and blocks no other writer.
    with waiting.hold():
        pass
    with held.hold():
        pass


@pytest.mark.parametrize("way", ["read", "write"])
def test_a_connection_that_cannot_roll_back_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    injector = inject_sqlite(monkeypatch)
    database = open_database(str(tmp_path / "s.db"))
    projects.require(database, SCOPE)
    # The transaction begins, and then its rollback fails.
    with injector.armed(2, SQLITE_FAULTS["I/O error"]), pytest.raises(RuntimeError), getattr(database, way)():
        raise RuntimeError
    assert injector.has_fired
    with database.write() as tx:
        prompts.add(tx, SCOPE, PromptDraft(title="T", content="x"))
    with database.read() as tx:
        assert prompts.list_counted(tx, SCOPE, PromptQuery(), limit=1, offset=0).total == 1
    database.close()


def test_a_list_of_any_length_is_a_parameter(database: Database) -> None:
    with database.write() as tx:
        before = len(tx.all("select name from settings"))
        for number in range(120):
            tx.run("insert into settings values (:name, :value)", name=f"n{number:03}", value=str(number))
    for size in (1, 50, 51, 110):
        names = [f"n{number:03}" for number in range(size)]
        with database.read() as tx:
            inside = tx.all("select name from settings where name in :names order by name", names=names)
            [[outside]] = tx.all("select count(*) from settings where name not in :names", names=names)
        assert [name for (name,) in inside] == names
        assert outside == before + 120 - size
