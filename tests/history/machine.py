"""The ground of the model test: a store, the past, and what is expected of each kind of change."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant

from satchel.model import Scope
from satchel.services import projects
from satchel.storage.database import Database
from tests.history import agreement
from tests.history.past import MustRefuse, Past, Thing
from tests.history.store import ADA, BOB, CYD, read
from tests.history.ways import Ways

USERS = st.sampled_from([str(scope.user) for scope in (ADA, BOB, CYD)])
PLACES = st.sampled_from(["default", "other", "third"])
PICKS = st.integers(0, 11)
TITLES = st.sampled_from(["Tea", "tea", "Tea!", "Straße", "茶"])  # of which three make the same name
NAMES = st.sampled_from(["tea", "tea-2", "x.y"])
TAGS = st.sampled_from([(), ("a",), ("a", "b")])
_WORDS = st.sampled_from(["needle", "a Needle in the hay\n", "…", "x" * 3000, "\U0001f375"])
_ANY = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)
TEXTS = st.one_of(st.lists(_WORDS, min_size=1, max_size=6).map("".join), _ANY.map("x{}".format))


class Machine(RuleBasedStateMachine):
    """A store and the dictionary that it must agree with. Each rule is one transaction of one user."""

    fresh: Callable[[], Database]  # opens an empty store
    monkeypatch: pytest.MonkeyPatch

    @initialize()
    def open(self) -> None:
        self.database = type(self).fresh()
        self.ways = Ways(self.database, self.monkeypatch)
        self.past = Past()
        for name in ("default", "other"):
            self.make_project(str(ADA.user), name)

    def teardown(self) -> None:
        if hasattr(self, "database"):
            self.database.close()

    @invariant()
    def agrees(self) -> None:
        if hasattr(self, "past"):
            agreement.check(self.database, self.past)

    def make_project(self, user: str, name: str) -> None:
        is_done = self.ways.act(Scope(user=user), lambda tx: projects.add(tx, name))
        past = self.past.begin(user)
        assert is_done is (self.project(name) is None)
        if is_done:
            thing = self.newest("project", 0, None)
            thing.project = thing.number
            past.add(thing, {"name": name})
            self.past = past

    def project(self, name: str) -> int | None:
        """Return the number of a project."""
        return next((one.number for one in self.past.live("project") if one.name == name), None)

    def choose(self, kind: str, pick: int, user: str) -> tuple[Thing | None, Scope]:
        """Return one of the items of a kind, deleted ones too, and the user's scope in its project."""
        known = sorted((one for one in self.past.things.values() if one.kind == kind), key=lambda one: one.number)
        if not known:
            return None, Scope(user=user)
        thing = known[pick % len(known)]
        project = self.past.things.get(("project", thing.project or 0))
        is_inside = kind in ("prompt", "document") and project is not None
        return thing, Scope(user=user, project=project.name if is_inside and project else "default")

    def may_change(self, thing: Thing, user: str) -> bool:
        """Return whether an item exists for a user."""
        return self.past.is_visible(thing) and thing.owner in (None, user)

    def newest(self, kind: str, project: int | None, owner: str | None) -> Thing:
        """Return the item that was added last, as the store numbered it."""
        sql = f"select number, id from {kind}s order by number desc limit 1"
        row = read(self.database, Scope(user=owner), lambda tx: tx.one(sql))
        assert row is not None
        return Thing(kind, row[0], row[1], project, owner)

    def expect_edit(self, is_done: bool, user: str, way: str, thing: Thing, **changed: Any) -> None:
        """Expect a change of some fields, which is refused where the item is not there, or its title is taken."""
        past = self.past.begin(user, way)
        try:
            if not self.may_change(thing, user):
                raise MustRefuse("there is no such item")
            others = past.live("prompt", thing.project) if thing.kind == "prompt" else []
            if any(changed.get("title") == one.state["title"] for one in others if one.key != thing.key):
                raise MustRefuse("the title is taken")
            past.edit(past.things[thing.key], **changed)
        except MustRefuse as refusal:
            assert not is_done, refusal
            return
        assert is_done
        self.past = past

    def expect_deletion(self, is_done: bool, user: str, way: str, thing: Thing) -> None:
        """Expect a deletion, which is refused where the item is not there."""
        past = self.past.begin(user, way)
        assert is_done is self.may_change(thing, user)
        if is_done:
            past.delete(past.things[thing.key])
            self.past = past
