"""Three users change a store in every way there is, and a plain dictionary of the past agrees after each step."""

import shutil
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule, run_state_machine_as_test

from satchel.errors import Refused
from satchel.model import Scope, uri_of
from satchel.services import projects, restoring
from satchel.services.restoring import Restored
from satchel.storage.database import Database, open_database
from tests.history.machine import PICKS, PLACES, USERS
from tests.history.past import MustRefuse, Thing
from tests.history.store import write
from tests.history.task_changes import TaskChanges
from tests.history.text_changes import TextChanges
from tests.support.postgres import PostgresServer, ReusedDatabase
from tests.support.roles import two_roles
from tests.support.soak import amount

KINDS = st.sampled_from(["prompt", "prompt", "document", "task", "task", "project"])


class Changes(TextChanges, TaskChanges):
    """Everything that changes a store; here what is done to whole projects and to the past."""

    open_to_purge: Callable[[], Database] | None = None  # as the owner, where the store is used as another role

    @rule(user=USERS, name=PLACES)
    def add_project(self, user: str, name: str) -> None:
        self.make_project(user, name)

    @rule(user=USERS, pick=PICKS, name=PLACES)
    def rename_project(self, user: str, pick: int, name: str) -> None:
        thing, scope = self.choose("project", pick, user)
        if thing is None or not thing.is_live:
            return
        is_done = self.ways.act(scope, lambda tx: projects.rename(tx, thing.name, name))
        assert is_done is (self.project(name) in (None, thing.number))
        if is_done:
            self.expect_edit(is_done, user, "", thing, name=name)

    @rule(user=USERS, pick=PICKS)
    def delete_project(self, user: str, pick: int) -> None:
        thing, scope = self.choose("project", pick, user)
        if thing is None or not thing.is_live or thing.name == "default":  # the next write would restore it
            return
        is_done = self.ways.act(scope, lambda tx: projects.delete(tx, thing.name))
        self.expect_deletion(is_done, user, "", thing)

    @rule(user=USERS, way=st.sampled_from(["", "satchel"]), kind=KINDS, pick=PICKS, back=st.integers(0, 6))
    def restore(self, user: str, way: str, kind: str, pick: int, back: int) -> None:
        """Restore the version before the last change, or one some versions back, which may not be there."""
        thing, scope, reference = self.refer(kind, pick, user)
        if thing is None:
            return
        version = max(thing.version - back, 1) if back else None
        done: list[Restored] = []
        if way:
            is_done = self.ways.call(way, scope, "restore", item=reference, version=version)
        else:
            is_done = self.ways.act(scope, lambda tx: done.append(restoring.restore(tx, scope, reference, version)))
        past = self.past.begin(user, way)
        target = past.things[thing.key]
        try:
            if thing.owner not in (None, user):
                raise MustRefuse("it belongs to another user")
            is_changed = past.restore(target, version)
        except MustRefuse as refusal:
            assert not is_done, refusal
            return
        assert is_done
        assert [(one.is_changed, one.item.version) for one in done[-1:]] in ([], [(is_changed, target.version)])
        if is_changed:
            self.past = past

    @rule(user=USERS)
    def undo(self, user: str) -> None:
        scope = Scope(user=user)
        past = self.past.begin(user)
        is_changed, refusal = False, None
        try:
            is_changed = past.undo(user)
        except MustRefuse as found:
            refusal = found
        if self.project("default") is not None and not any(one.name == "default" for one in past.live("project")):
            return  # the next write would restore it
        is_done = self.ways.act(scope, lambda tx: restoring.undo(tx, scope))
        assert is_done is (refusal is None), refusal
        if is_done and is_changed:
            self.past = past

    @rule(user=USERS, kind=KINDS, pick=PICKS)
    def purge(self, user: str, kind: str, pick: int) -> None:
        thing, scope, reference = self.refer(kind, pick, user)
        if thing is None or pick % 3:  # less often than the rest, so that there is a past to speak of
            return
        database = self.open_to_purge() if self.open_to_purge else self.database
        try:
            write(database, scope, lambda tx: restoring.purge(tx, scope, reference))
            is_done = True
        except Refused:
            is_done = False
        if self.open_to_purge:
            database.close()
        past = self.past.begin(user)
        assert is_done is (thing.owner in (None, user))
        if is_done:
            past.purge(past.things[thing.key], is_named=kind != "task" and thing.is_live)
            self.past = past

    def refer(self, kind: str, pick: int, user: str) -> tuple[Thing | None, Scope, str]:
        """One of the items that references can name: one that exists by its URI, one that was deleted by its id."""
        thing, scope = self.choose(kind, pick, user)
        names = [one.name for one in self.past.live("project")]
        if thing is None or not names or (thing.is_live and not self.past.is_visible(thing)):
            return None, scope, ""
        if not thing.is_live:
            return thing, Scope(user=user, project=names[0]), f"#{thing.number}" if kind == "task" else thing.id
        return thing, scope, uri_of(kind, thing.name.removeprefix("#"))


def check_everything(
    fresh: Callable[[], Database],
    monkeypatch: pytest.MonkeyPatch,
    examples: int,
    open_to_purge: Callable[[], Database] | None = None,
) -> None:
    class OnThisStore(Changes):
        pass

    OnThisStore.fresh, OnThisStore.monkeypatch = staticmethod(fresh), monkeypatch
    OnThisStore.open_to_purge = staticmethod(open_to_purge) if open_to_purge else None
    size = settings(
        max_examples=amount(examples, 200), stateful_step_count=amount(30, 60), phases=(Phase.explicit, Phase.generate)
    )
    run_state_machine_as_test(OnThisStore, settings=size)


def test_the_past_agrees_on_sqlite(sqlite_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fresh() -> Database:
        for file in tmp_path.glob("s.db*"):
            file.unlink()
        return open_database(str(shutil.copy(sqlite_template, tmp_path / "s.db")))

    check_everything(fresh, monkeypatch, 10)


@pytest.mark.soak
def test_the_past_agrees_on_postgres(reused_database: ReusedDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    check_everything(lambda: open_database(reused_database.emptied()), monkeypatch, 10)


def test_the_past_agrees_as_a_role_that_owns_nothing(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, app = two_roles(postgres)
    admin = postgres.url(str(psycopg.conninfo.conninfo_to_dict(owner)["dbname"]))

    def fresh() -> Database:
        with psycopg.connect(admin, autocommit=True) as connection:
            tables = connection.execute("select tablename from pg_tables where schemaname = 'public'").fetchall()
            names = ", ".join(name for (name,) in tables if name != "satchel_schema")
            connection.execute(f"truncate {names} restart identity".encode())
        return open_database(app)

    check_everything(fresh, monkeypatch, 4, lambda: open_database(owner))
