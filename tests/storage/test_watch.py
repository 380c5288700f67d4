"""Watching: a change that any process commits arrives within a second; a rolled-back one never does; none is lost."""

import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import psycopg
import pytest

from satchel.errors import StoreFailed
from satchel.model import Author, DocumentDraft, DocumentPatch, PromptDraft, PromptPatch, Scope, StoreChange
from satchel.services import documents, projects, prompts
from satchel.services.history import prune
from satchel.storage import changes as store_changes
from satchel.storage import postgres as postgres_engine
from satchel.storage.changes import encode
from satchel.storage.database import Database, Tx, open_database
from tests.support.postgres import PostgresServer
from tests.support.process import PATIENCE, eventually
from tests.support.roles import two_roles

SCOPE = Scope()
EVERYTHING = StoreChange("everything")


# Writers of the same user may wait for each other at the row that counts their usage.
ADA = Scope(author=Author(user="ada"))


class Ear:
    """The received changes, in order."""

    def __init__(self) -> None:
        self._heard: queue.Queue[StoreChange] = queue.Queue()

    def __call__(self, changes: list[StoreChange]) -> None:
        for change in changes:
            self._heard.put(change)

    def next(self, count: int, patience: float = PATIENCE) -> list[StoreChange]:
        """Return the next `count` changes; each must arrive within `patience` seconds."""
        return [self._heard.get(timeout=patience) for _ in range(count)]

    def until(self, wanted: StoreChange, patience: float = PATIENCE) -> list[StoreChange]:
        """Return all changes up to one that must arrive."""
        heard: list[StoreChange] = []
        deadline = time.monotonic() + patience
        while wanted not in heard:
            heard.append(self._heard.get(timeout=max(0.0, deadline - time.monotonic())))
        return heard

    @property
    def is_empty(self) -> bool:
        return self._heard.empty()


@pytest.fixture
def ear(database: Database) -> Ear:
    projects.require(database, SCOPE)
    ear = Ear()
    database.watch(ear)
    return ear


def all_of(project: str) -> list[StoreChange]:
    return [StoreChange("project", project), StoreChange("prompts", project), StoreChange("documents", project)]


def test_each_change_names_what_it_changed(store: str, database: Database, ear: Ear) -> None:
    listed, held = StoreChange("prompts", "default"), StoreChange("project", "default")
    named, document = StoreChange("prompt", "default", key="t"), StoreChange("document", "default", key="x:r")
    documented = StoreChange("documents", "default")
    other = open_database(store)
    with other.write() as tx:
        prompt = prompts.add(tx, SCOPE, PromptDraft(title="T", content="text"))
    assert ear.next(3) == [listed, held, named]
    draft = DocumentDraft(name="r", uri="x:r", content="text")
    changes: list[tuple[Callable[[Tx], object], list[StoreChange]]] = [
        (lambda tx: prompts.update(tx, SCOPE, prompt.id, PromptPatch(content="other text")), [named]),
        (lambda tx: prompts.update(tx, SCOPE, prompt.id, PromptPatch(title="U")), [listed, named]),
        (lambda tx: prompts.delete(tx, SCOPE, prompt.id), [listed, held, named]),
        (lambda tx: documents.add(tx, SCOPE, draft), [held, documented, document]),
        (lambda tx: documents.update(tx, SCOPE, "r", DocumentPatch(content="more")), [documented, document]),
        (lambda tx: documents.delete(tx, SCOPE, "r"), [held, documented, document]),
        (lambda tx: projects.add(tx, "p"), all_of("p")),
        (lambda tx: projects.rename(tx, "p", "q"), all_of("p") + all_of("q")),
        (lambda tx: projects.delete(tx, "q"), all_of("q")),
    ]
    for change, expected in changes:
        with other.write() as tx:
            change(tx)
        assert set(ear.next(len(expected))) == set(expected)
    assert ear.is_empty
    other.close()


def test_a_change_is_heard_by_every_listener(store: str, database: Database, ear: Ear) -> None:
    other, second = open_database(store), Ear()
    other.watch(second)
    for title in range(10):
        with other.write() as tx:
            prompts.add(tx, SCOPE, PromptDraft(title=str(title), content="x"))
        assert ear.next(1) == second.next(1)  # the process that made the change receives it too
    other.close()


def test_changes_before_watching_are_not_announced(store: str) -> None:
    database, ear = open_database(store), Ear()
    projects.require(database, SCOPE)
    with database.write() as tx:
        prompts.add(tx, SCOPE, PromptDraft(title="Before", content="x"))
    database.watch(ear)
    with database.write() as tx:
        projects.add(tx, "after")
    assert ear.next(3) == all_of("after")
    assert ear.is_empty
    database.close()


def test_what_is_undone_is_never_heard(database: Database, ear: Ear) -> None:
    for _ in range(3):
        with pytest.raises(RuntimeError), database.write() as tx:
            prompts.add(tx, SCOPE, PromptDraft(title="Undone", content="x"))
            raise RuntimeError
    with database.write() as tx:
        projects.add(tx, "last")
    assert ear.next(3) == all_of("last")
    assert ear.is_empty


MANY = """
import sys
from satchel.model import StoreChange
from satchel.storage.database import open_database
database = open_database(sys.argv[1])
for number in range(int(sys.argv[2])):
    with database.write() as tx:
        tx.changed(StoreChange("prompt", "p", key=str(number)))
with database.write() as tx:
    tx.changed(StoreChange("task", owner="the last"))
database.close()
"""


def test_quick_changes_of_another_process_are_announced_singly_or_as_everything(
    store: str, database: Database, ear: Ear
) -> None:
    subprocess.run([sys.executable, "-c", MANY, store, "300"], check=True, timeout=PATIENCE)
    heard = ear.until(StoreChange("task", owner="the last"))
    expected = [StoreChange("prompt", "p", key=str(number)) for number in range(300)]
    assert heard[:-1] == expected or EVERYTHING in heard


def test_a_listener_that_fails_hears_the_next_change(database: Database) -> None:
    ear = Ear()

    def heard(changes: list[StoreChange]) -> None:
        ear(changes)
        raise RuntimeError("the listener's own mistake")

    database.watch(heard)
    for name in ("a", "b"):
        with database.write() as tx:
            projects.add(tx, name)
        assert ear.next(3) == all_of(name)


def test_words_of_a_newer_satchel_are_everything(database: Database, ear: Ear) -> None:
    with database.write() as tx:
        tx.run("insert into changes (what) values (:told)", told='[["a thing of tomorrow", 1]]')
    assert ear.next(1) == [EVERYTHING]
    with database.write() as tx:
        projects.add(tx, "p")
    assert ear.next(3) == all_of("p")


def test_a_long_transaction_elsewhere_delays_nobody(store: str, database: Database, ear: Ear) -> None:
    """Hold a reader open on SQLite, and on PostgreSQL a writer with its own changes to announce."""
    other = open_database(store)
    opened, leave = threading.Event(), threading.Event()

    def stay() -> None:
        with other.write() if store.startswith("postgresql") else other.read() as tx:
            if store.startswith("postgresql"):
                projects.add(tx, "long")
            tx.all("select * from projects")
            opened.set()
            leave.wait(2 * PATIENCE)

    staying = threading.Thread(target=stay)
    staying.start()
    assert opened.wait(PATIENCE)
    with database.write(ADA) as tx:
        projects.add(tx, "short")
    try:
        assert ear.next(3) == all_of("short")
    finally:
        leave.set()
        staying.join()
        other.close()


def test_starting_to_watch_waits_for_no_writer(store: str, database: Database) -> None:
    projects.require(database, SCOPE)
    other, ear = open_database(store), Ear()
    with database.write() as tx:
        projects.add(tx, "held")
        other.watch(ear)  # raises an error if it waits for a lock until the time-out
    assert ear.next(3) == all_of("held")
    other.close()


def test_after_closing_nothing_is_heard_and_no_thread_stays(store: str) -> None:
    before = set(threading.enumerate())
    database, other, ear = open_database(store), open_database(store), Ear()
    database.watch(ear)
    database.close()
    with other.write() as tx:
        projects.add(tx, "p")
    other.close()
    time.sleep(0.3)
    assert ear.is_empty

    def left() -> set[threading.Thread]:
        return {thread for thread in set(threading.enumerate()) - before if thread.name == "satchel-watch"}

    assert eventually(lambda: not left()), left()


def test_a_process_that_watches_ends_when_it_is_done(store: str) -> None:
    code = "import sys; from satchel.storage.database import open_database as o; o(sys.argv[1]).watch(print)"
    subprocess.run([sys.executable, "-c", code, store], check=True, timeout=PATIENCE, capture_output=True)


# -- PostgreSQL -------------------------------------------------------------------------------------------------


@pytest.mark.soak
def test_on_postgres_a_restarted_server_is_watched_again_and_announces_everything() -> None:
    postgres = PostgresServer()
    try:
        database, ear = open_database(postgres.fresh()), Ear()
        database.watch(ear)
        postgres.stop()
        time.sleep(1.2)  # long enough for a failed attempt
        postgres.start()
        assert ear.next(1) == [EVERYTHING]
        add_when_it_answers(database)
        assert ear.next(3) == all_of("p")
        database.close()
    finally:
        postgres.close()


def add_when_it_answers(database: Database) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            with database.write() as tx:
                projects.add(tx, "p")
            return
        except StoreFailed:
            assert time.monotonic() < deadline


def test_on_postgres_each_is_heard_once_in_whatever_order_transactions_end(address: str, opened: Database) -> None:
    ear = Ear()
    opened.watch(ear)
    add = "insert into changes (what) values (%s)"
    changes = [StoreChange("prompt", "p", key=str(number)) for number in range(4)]
    writers = [psycopg.connect(address) for _ in changes]
    for writer, change in zip(writers, changes, strict=True):
        writer.execute(add, [encode([change])])
    for place in (2, 0, 3, 1):
        writers[place].commit()
        writers[place].close()
        assert ear.next(1) == [changes[place]]
    assert ear.is_empty


def test_on_postgres_old_changes_are_removed(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_engine, "_CHANGES_KEPT", 10)
    owner, app = two_roles(postgres)
    for store in (owner, app):
        database = open_database(store)
        for key in range(30):
            with database.write() as tx:
                tx.changed(StoreChange("prompt", "p", key=str(key)))

        def count_pruned() -> int:
            prune(database)  # noqa: B023
            with database.read() as tx:  # noqa: B023
                return len(tx.all("select number from changes"))

        assert eventually(lambda: 0 < count_pruned() <= 10)
        database.close()


def test_on_postgres_a_late_poll_announces_everything(opened: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_changes, "_LATE", -1.0)  # every poll is late
    ear = Ear()
    opened.watch(ear)
    assert ear.next(1) == [EVERYTHING]


# -- SQLite -----------------------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "s.db"


@pytest.fixture
def watched(file: Path) -> Iterator[tuple[Database, Ear]]:
    database, ear = open_database(str(file)), Ear()
    projects.require(database, SCOPE)
    database.watch(ear)
    yield database, ear
    database.close()


def test_on_sqlite_a_pruned_log_is_everything(file: Path, watched: tuple[Database, Ear]) -> None:
    database, ear = watched
    with database.write() as tx:  # as if the process had been stopped during a thousand transactions
        tx.many("insert into changes (what) values (:what)", [{"what": "[]"}] * 1500)
        tx.run("delete from changes where number <= 1400")
    assert ear.next(1) == [EVERYTHING]
    with database.write() as tx:
        projects.add(tx, "p")
    assert ear.next(3) == all_of("p")


@pytest.mark.soak
def test_on_sqlite_the_log_stays_short(file: Path, watched: tuple[Database, Ear]) -> None:
    subprocess.run([sys.executable, "-c", MANY, str(file), "2000"], check=True, timeout=PATIENCE)
    with watched[0].read() as tx:
        [[rows]] = tx.all("select count(*) from changes")
    assert 1024 <= rows <= 1024 + 256
    # The watcher keeps no read transaction open; otherwise, the write-ahead log could never restart.
    assert Path(f"{file}-wal").stat().st_size < 8 * 1024 * 1024


def test_on_sqlite_an_older_copy_restored_over_the_file_is_everything(
    file: Path, tmp_path: Path, watched: tuple[Database, Ear]
) -> None:
    database, ear = watched
    copy = apsw.Connection(str(tmp_path / "copy.db"))
    live = apsw.Connection(str(file))
    with copy.backup("main", live, "main") as copying:
        copying.step(-1)
    for name in ("a", "b"):
        with database.write() as tx:
            projects.add(tx, name)
        ear.next(3)
    with live.backup("main", copy, "main") as copying:
        copying.step(-1)
    copy.close()
    live.close()
    assert ear.next(1) == [EVERYTHING]
    with database.write() as tx:
        projects.add(tx, "c")
    assert ear.next(3) == all_of("c")


def test_on_sqlite_a_file_that_is_moved_away_and_back_is_watched_again(
    file: Path, watched: tuple[Database, Ear], capfd: pytest.CaptureFixture[str]
) -> None:
    database, ear = watched
    away = file.with_name("away.db")
    said = ""

    def is_told() -> bool:
        nonlocal said
        said += capfd.readouterr().err
        return "removed or replaced" in said

    file.rename(away)
    assert eventually(is_told)
    time.sleep(0.5)
    assert (said + capfd.readouterr().err).count("removed or replaced") == 1, "told once, not ten times a second"
    away.rename(file)
    with database.write() as tx:
        projects.add(tx, "p")
    assert ear.next(3) == all_of("p")


def test_on_sqlite_the_last_to_close_leaves_only_the_file_even_when_it_watched(file: Path) -> None:
    database = open_database(str(file))
    database.watch(Ear())
    with database.write() as tx:
        projects.add(tx, "p")
    database.close()
    assert not Path(f"{file}-wal").exists()
