"""`satchel backup` and `satchel restore FILE`: a checked copy, and a way back that loses nothing."""

import os
import random
import shlex
import shutil
import stat
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from satchel.errors import StoreGone
from satchel.model import PromptDraft, Scope
from satchel.services import projects, prompts
from satchel.storage import schema
from satchel.storage.backup import backup, restore
from satchel.storage.database import open_database
from tests.support import newer
from tests.support.command import done, failed, value
from tests.support.command import run as run_command
from tests.support.furnished import differences, everything, furnish
from tests.support.postgres import PostgresServer
from tests.support.process import eventually
from tests.support.schemas import set_schema
from tests.support.soak import amount
from tests.support.stdio import Server

Satchel = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture
def satchel(tmp_path: Path) -> Satchel:
    """Runs `satchel` on a store in an empty home."""

    def run(store: object, *arguments: str, input: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        environment = {"SATCHEL_HOME": str(tmp_path / "home"), "SATCHEL_DATABASE": str(store)}
        return run_command(*arguments, environment=environment, input=input, cwd=tmp_path)

    return run


def files(folder: Path) -> list[str]:
    """Return the files in a folder but those that SQLite and the lock keep beside a store."""
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(("-gate", "-wal", "-shm")))


@pytest.fixture
def live(tmp_path: Path) -> Path:
    """A furnished store."""
    furnish(str(tmp_path / "live.db"))
    return tmp_path / "live.db"


def test_a_backup_is_checked_private_and_reported(satchel: Satchel, tmp_path: Path, live: Path) -> None:
    file = tmp_path / "copy.db"
    old = os.umask(0)
    try:
        said = value(satchel(live, "backup", str(file), "--json"))
    finally:
        os.umask(old)
    counts = {"projects": 3, "prompts": 15, "documents": 2, "tasks": 4}
    assert said == {"file": str(file), "bytes": file.stat().st_size, "schema": schema.NUMBER, "counts": counts}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "already exists" in failed(satchel(live, "backup", str(file)))
    assert "already exists" in failed(satchel(live, "backup", str(live)))
    assert files(tmp_path) == ["copy.db", "home", "live.db"] or files(tmp_path) == ["copy.db", "live.db"]


def test_a_restore_drops_later_changes_and_keeps_the_old_store(satchel: Satchel, tmp_path: Path, live: Path) -> None:
    before = everything(str(live))
    done(satchel(live, "backup", "copy.db"))
    done(satchel(live, "prompt", "add", "Later", "text"))
    after = everything(str(live))
    said = value(satchel(live, "restore", str(tmp_path / "copy.db"), "--json"))
    assert differences(before, everything(str(live))) == []
    kept = Path(said["kept"])
    assert kept.name.startswith("live.db.before-") and stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert differences(after, everything(str(kept))) == []
    assert said == {"store": str(live), "file": str(tmp_path / "copy.db"), "rows": said["rows"], "kept": str(kept)}
    assert "Later" in done(satchel(kept, "prompt", "list")) and "Later" not in done(satchel(live, "prompt", "list"))


def test_a_store_that_is_not_there_is_made_from_a_backup(satchel: Satchel, tmp_path: Path, live: Path) -> None:
    done(satchel(live, "backup", "copy.db"))
    new = tmp_path / "folder" / "new.db"
    said = done(satchel(new, "restore", "./copy.db"))
    assert "kept" not in said and said.startswith(f"Restored the store {new} from ./copy.db: ")
    assert differences(everything(str(live)), everything(str(new))) == []
    assert stat.S_IMODE(new.stat().st_mode) == 0o600 and stat.S_IMODE(new.parent.stat().st_mode) == 0o700


def test_a_backup_can_be_restored_after_being_opened_but_not_after_being_changed(
    satchel: Satchel, tmp_path: Path, live: Path
) -> None:
    done(satchel(live, "user"))
    done(satchel(live, "backup", "copy.db"))
    done(satchel(tmp_path / "copy.db", "prompt", "list"))
    done(satchel(live, "restore", "./copy.db"))
    before = everything(str(live))
    done(satchel(tmp_path / "copy.db", "prompt", "add", "More", "text"))
    assert "--without-seal" in failed(satchel(live, "restore", "./copy.db"))
    assert everything(str(live)) == before
    done(satchel(live, "restore", "./copy.db", "--without-seal"))
    assert "More" in done(satchel(live, "prompt", "list"))


def test_a_damaged_store_is_replaced_and_kept(satchel: Satchel, tmp_path: Path, live: Path) -> None:
    before = everything(str(live))
    done(satchel(live, "backup", "copy.db"))
    for damage in (b"SQLite format 3\0" + b"\xff" * 5000, b"no database at all", b"", live.read_bytes()[:9000]):
        live.write_bytes(damage)
        said = value(satchel(live, "restore", "./copy.db", "--json"))
        assert differences(before, everything(str(live))) == []
        assert said["kept"] is None if not damage else Path(said["kept"]).read_bytes() == damage, damage[:20]


def test_a_log_of_a_store_that_was_removed_does_not_get_into_the_new_one(
    satchel: Satchel, tmp_path: Path, live: Path
) -> None:
    before = everything(str(live))
    done(satchel(live, "backup", "copy.db"))
    writer = apsw.Connection(str(live))
    writer.execute("pragma wal_autocheckpoint = 0; update prompts set content = 'from the log'")
    log = (tmp_path / "live.db-wal").read_bytes()
    writer.close()
    live.unlink()
    (tmp_path / "live.db-wal").write_bytes(log)
    done(satchel(live, "restore", "./copy.db"))
    assert differences(before, everything(str(live))) == []


def bad_files(copy: bytes, tmp_path: Path) -> dict[str, bytes]:
    """Files that are no sound backup."""
    open_database(str(tmp_path / "first.db")).close()
    theirs = apsw.Connection(str(tmp_path / "theirs.db"))
    theirs.execute("create table theirs (x); pragma user_version = 3")
    theirs.close()
    newer = bytearray(copy)
    newer[60:64] = (99).to_bytes(4, "big")
    return {
        "empty": b"",
        "cut off": copy[: len(copy) // 2],
        "cut off by a page": copy[:-4096],
        "only a header": copy[:100],
        "a text": b"not a database, " * 500,
        "another program's": (tmp_path / "theirs.db").read_bytes(),
        "newer": bytes(newer),
        "without a seal": (tmp_path / "first.db").read_bytes(),
        "half a dump": b'{"satchel_dump":1,"schema":%d,"made_at":"x"}\n[1]\n' % schema.NUMBER,
    }


def test_a_file_that_is_not_an_intact_backup_is_refused_before_any_change(
    satchel: Satchel, tmp_path: Path, live: Path
) -> None:
    done(satchel(live, "backup", "copy.db"))
    bad = bad_files((tmp_path / "copy.db").read_bytes(), tmp_path)
    before, rows = live.read_bytes(), everything(str(live))
    names = files(tmp_path)
    for name, content in bad.items():
        (tmp_path / "bad").write_bytes(content)
        said = failed(satchel(live, "restore", "./bad"))
        assert "Nothing was changed" in said, (name, said)
        (tmp_path / "bad").unlink()
        assert live.read_bytes() == before and files(tmp_path) == names, name
    for missing in ("./none", "/none/none", str(tmp_path)):
        failed(satchel(live, "restore", missing))
    assert everything(str(live)) == rows


def test_a_backup_with_any_damage_is_refused_or_restores_the_same(tmp_path: Path, live: Path) -> None:
    backup(str(live), str(tmp_path / "copy.db"))
    good = (tmp_path / "copy.db").read_bytes()
    before, rows = live.read_bytes(), everything(str(live))
    chance, refused = random.Random(15), 0
    for number in range(amount(100, 2000)):
        damaged = bytearray(good)
        place = chance.randrange(len(good)) if number % 3 else chance.randrange(4096)
        if number % 4 == 0:
            damaged = damaged[:place]
        elif number % 4 == 1:
            damaged[place : place + 512] = bytes(len(damaged[place : place + 512]))
        else:
            damaged[place] ^= 1 << chance.randrange(8)
        file, target = tmp_path / "bad.db", tmp_path / "target.db"
        file.write_bytes(damaged)
        try:
            restore(str(target), str(file))
        except Exception as error:
            assert type(error).__name__ in ("StoreUnusable", "StoreFailed"), (number, place, error)
            refused += 1
            assert not target.exists(), (number, place)
        else:
            assert differences(rows, everything(str(target))) == [], (number, place)
            target.unlink()
    assert live.read_bytes() == before
    assert refused > amount(30, 600)
    assert [name for name in files(tmp_path) if ".part" in name] == []


def test_an_old_backup_is_restored_and_migrated(
    satchel: Satchel, tmp_path: Path, live: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done(satchel(live, "backup", "copy.db"))
    monkeypatch.setattr(schema, "MIGRATIONS", (newer.MIGRATION,))
    done(satchel(live, "restore", "./copy.db"))
    status = value(satchel(live, "database", "status", "--json"))
    assert status["schema"] == schema.NUMBER + 1
    assert status["counts"] == {"projects": 2, "prompts": 12, "documents": 2, "tasks": 3}


def test_a_backup_and_a_copy_of_a_schema_that_this_satchel_does_not_know_are_refused(
    satchel: Satchel, tmp_path: Path, live: Path
) -> None:
    set_schema(str(live), 14)
    assert "has schema 14, and this Satchel migrates only" in failed(satchel(live, "backup", "copy.db"))
    shutil.copy(live, tmp_path / "old.db")
    said = failed(satchel(tmp_path / "new.db", "restore", "./old.db", "--without-seal"))
    assert "has schema 14, and this Satchel migrates only" in said and "Nothing was changed" in said
    assert not (tmp_path / "new.db").exists()


def test_a_file_with_foreign_triggers_views_or_tables_is_not_restored(
    satchel: Satchel, tmp_path: Path, live: Path
) -> None:
    before = everything(str(live))
    removed = "create trigger prompts_removed after delete on prompts begin select 1; end"
    for foreign, statement in (
        ("trigger evil", "create trigger evil after insert on prompts begin delete from prompts; end"),
        ("trigger evil", "create trigger evil after delete on settings begin delete from prompts; end"),
        ("view evil", "create view evil as select * from tokens"),
        ("table evil", "create table evil (x)"),
        ("trigger prompts_removed", f"drop trigger prompts_removed; {removed}"),
    ):
        shutil.copy(live, tmp_path / "evil.db")
        raw = apsw.Connection(str(tmp_path / "evil.db"))
        raw.execute(statement)
        raw.close()
        said = failed(satchel(live, "restore", "./evil.db", "--without-seal"))
        assert f"it has the {foreign}, which Satchel did not make" in said
        assert "Nothing was changed" in said and differences(before, everything(str(live))) == []


def test_statistics_and_an_index_of_the_operator_are_restored(satchel: Satchel, tmp_path: Path, live: Path) -> None:
    before = everything(str(live))
    raw = apsw.Connection(str(live))
    raw.execute("create index mine on prompts (updated_at); analyze")
    raw.close()
    done(satchel(live, "backup", "copy.db"))
    done(satchel(live, "restore", "./copy.db"))
    assert differences(before, everything(str(live))) == []


def test_a_running_server_notices_and_writes_nothing_into_either_store(satchel: Satchel, tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    with Server("--contract", "prompt-store", "--database", str(store)) as server:
        server.call("add_prompt", {"title": "Before", "content": "x"})
        done(satchel(store, "backup", "copy.db"))
        server.call("add_prompt", {"title": "After", "content": "x"})
        kept = value(satchel(store, "restore", "./copy.db", "--json"))["kept"]
        rows = everything(str(store))
        answer = server.call("add_prompt", {"title": "Lost", "content": "x"})
        assert answer["isError"] is True
        assert "start Satchel again" in server.stderr or eventually(lambda: "start Satchel again" in server.stderr)
        assert everything(str(store)) == rows
    assert everything(str(store)) == rows  # a server that ends moves no log of its own into the new store
    assert "After" in done(satchel(kept, "prompt", "list")) and "Lost" not in done(satchel(kept, "prompt", "list"))
    with Server("--contract", "prompt-store", "--database", str(store)) as server:
        assert server.call("add_prompt", {"title": "Next", "content": "x"})["isError"] is False


def test_a_backup_and_a_restore_among_writes_are_whole_and_lose_none(tmp_path: Path) -> None:
    store = str(tmp_path / "s.db")
    database = open_database(store)
    projects.require(database, Scope())
    acknowledged: list[str] = []
    has_ended = threading.Event()

    def write() -> None:
        try:
            for number in range(100_000):
                twins = [f"{twin}{number}" for twin in "VW"]
                with database.write() as tx:
                    for title in twins:
                        prompts.add(tx, Scope(), PromptDraft(title=title, content="x" * 1000))
                acknowledged.extend(twins)
        except StoreGone:
            has_ended.set()

    writing = threading.Thread(target=write)
    writing.start()
    assert eventually(lambda: len(acknowledged) > 20)
    backup(store, str(tmp_path / "copy.db"))
    before = len(acknowledged)
    assert eventually(lambda: len(acknowledged) > before)
    kept = restore(store, str(tmp_path / "copy.db")).kept
    writing.join()
    database.close()
    assert has_ended.is_set() and kept is not None
    rows = everything(str(tmp_path / "copy.db"))
    new = [line for line in everything(store) if b"backup_seal" not in line]
    assert new == [line for line in rows if b"backup_seal" not in line]
    for file in (store, kept):
        raw = apsw.Connection(file)
        assert raw.execute("pragma integrity_check").fetchall() == [("ok",)]
        titles = {str(title) for (title,) in raw.execute("select title from prompts")}
        raw.close()
        assert {f"V{title[1:]}" for title in titles} | {f"W{title[1:]}" for title in titles} == titles != set()
    assert titles == {*acknowledged}


def test_a_backup_is_named_by_a_path_and_any_other_name_is_an_item(
    satchel: Satchel, tmp_path: Path, live: Path
) -> None:
    done(satchel(live, "backup", "monday.db"))
    assert "satchel restore ./monday.db" in failed(satchel(live, "restore", "monday.db"))
    done(satchel(live, "prompt", "edit", "review", "changed"))
    (tmp_path / "review").write_text("a file that is no backup")
    assert "Restored prompt 'review'" in done(satchel(live, "restore", "review"))
    assert "Restored the store" in done(satchel(live, "restore", "./monday.db"))
    assert "Usage" in failed(satchel(live, "restore", "review", "--without-seal", "--version", "1"), 2)


def test_postgres_is_backed_up_as_a_dump_and_restored_into_a_new_database(
    satchel: Satchel, tmp_path: Path, postgres: PostgresServer
) -> None:
    store, new = postgres.fresh(), postgres.fresh()
    furnish(store)
    said = value(satchel(store, "backup", "copy", "--json"))
    counts = {"projects": 3, "prompts": 15, "documents": 2, "tasks": 4}
    assert said == {
        "file": "copy",
        "bytes": (tmp_path / "copy").stat().st_size,
        "schema": schema.NUMBER,
        "counts": counts,
    }
    assert stat.S_IMODE((tmp_path / "copy").stat().st_mode) == 0o600
    assert "not empty" in failed(satchel(store, "restore", "./copy"))
    done(satchel(new, "restore", "./copy"))
    assert differences(everything(store), everything(new)) == []
    done(satchel(tmp_path / "s.db", "restore", "./copy"))
    assert differences(everything(store), everything(str(tmp_path / "s.db"))) == []
    done(satchel(tmp_path / "s.db", "backup", "copy.db"))
    assert "satchel dump -d" in failed(satchel(new, "restore", "./copy.db"))


def test_the_printed_command_restores_a_backup_as_it_stands(tmp_path: Path, postgres: PostgresServer) -> None:
    home = {"SATCHEL_HOME": str(tmp_path / "home")}
    for store in (str(tmp_path / "one two.db"), postgres.fresh()):
        run_command("prompt", "add", "Kept", "x", "-d", store, environment=home)
        made = run_command("backup", "a copy", "-d", store, environment=home, cwd=tmp_path)
        command = done(made).splitlines()[1].partition(" with: ")[2]
        words = shlex.split(command)
        assert words[:3] == ["satchel", "restore", "./a copy"]
        run = run_command(*words[1:], environment=home, cwd=tmp_path)
        assert run.returncode == 0, run.stderr
        where = words[words.index("--database") + 1]
        shown = run_command("prompt", "show", "kept", "-d", where, environment=home, cwd=tmp_path)
        assert shown.stdout == b"x"
        (tmp_path / "a copy").unlink()
