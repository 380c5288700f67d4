"""The base of the model test: two engines, the model of their content, and the kinds of failures."""

from collections import Counter
from collections.abc import Callable
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize

from satchel.model import Author, Scope
from satchel.storage.database import Tx
from tests.model import agreement
from tests.model.engines import Engines
from tests.model.past import Past, State, Thing
from tests.support.runners import ADA, BOB, CYD, body_of, has_failed

PLACES = st.sampled_from(["default", "default", "web", "ops"])
USERS = st.sampled_from([ADA, BOB, CYD])
PICKS = st.integers(0, 11)
TITLES = st.sampled_from(["Tea", "tea", "Tea!", "Straße", "茶", "Long " * 20 + "end"])
NAMES = st.sampled_from(["tea", "tea-2", "x.y", "plan.md"])
TAGS = st.sampled_from([[], ["a"], ["b", "a"], ["c"]])
TEXTS = st.sampled_from(["needle", "a Needle in the hay", "ÄÖÜ straße", "x" * 700, "one\ntwo\nthree", "🍵 50%_"])
QUERIES = st.sampled_from(["needle", "NEEDLE", "STRASSE", "%", "_", "🍵", "e", "xx", "three", "tea", '"', "no such"])


class Machine(RuleBasedStateMachine):
    """Runs rules: each is one call of one user on both engines, whose result the model predicts."""

    engines: ClassVar[Engines]
    called: ClassVar[Counter[tuple[str, str]]]

    @initialize()
    def begin(self) -> None:
        self.engines.empty()
        self.past = Past()
        past = self.past.begin(ADA)
        number, id = self.engines.newest("project")
        past.add(Thing("project", number, id, number, None), {"name": "default"})
        self.past = past
        self.claimed: set[int] = set()  # the numbers of tasks
        self.put_first()

    def put_first(self) -> None:
        """Add some items of each kind, so that most steps have an item to work on."""

    def teardown(self) -> None:
        if hasattr(self, "past"):
            for database in self.engines.databases:
                agreement.check(database, self.past)

    # -- calls ---------------------------------------------------------------------------------------------------

    def ask(self, contract: str, name: str, user: str, place: str = "default", /, **given: Any) -> tuple[str, Any]:
        """Call a tool or a method without the arguments that are None; return the kind of outcome, and the answer."""
        self.called[contract, name] += 1
        self.contract = contract
        arguments = {key: value for key, value in given.items() if value is not None}
        if contract == "todo":
            arguments["user_id"] = user
        result = self.engines.call(contract, name, arguments, Scope(user=user, project=place))
        if "/" in name:
            return ("missing" if has_failed(result) else "ok"), result
        return kind_of(contract, result), body_of(result)

    def act(self, user: str, place: str, act: Callable[[Tx], object], *, as_owner: bool = False) -> bool:
        """Run a function of the services; return False if they refused it."""
        self.contract = ""
        return self.engines.act(Scope(user=user, project=place, author=Author(user=user)), act, as_owner=as_owner)

    def expect(self, found: tuple[str, Any], kind: str) -> Any:
        """Check the kind of outcome of a call, and return the answer."""
        assert found[0] == kind, (found, kind)
        return found[1]

    # -- looking -------------------------------------------------------------------------------------------------

    def project(self, name: str) -> int | None:
        """Return the number of a project."""
        return next((one.number for one in self.past.live("project") if one.name == name), None)

    def place_of(self, thing: Thing) -> str:
        """Return the name of the project of an item."""
        return self.past.things["project", thing.project or 1].name

    def choose(self, kind: str, pick: int) -> Thing | None:
        """Choose an item of a kind, deleted or not."""
        known = sorted((one for one in self.past.things.values() if one.kind == kind), key=lambda one: one.number)
        return known[pick % len(known)] if known else None

    def named(self, kind: str, place: str, name: str) -> Thing | None:
        """Return the existing item of a project with a name."""
        return next((one for one in self.past.live(kind, self.project(place) or -1) if one.name == name), None)

    def newest_first(self, kind: str, place: str) -> list[Thing]:
        """Return the items of a project, last changed first."""
        found = self.past.live(kind, self.project(place) or -1)
        return sorted(found, key=lambda one: (one.versions[one.version].transaction, one.number), reverse=True)

    def in_order(self, kind: str, place: str) -> list[Thing]:
        """Return the items of a project in order of creation."""
        return sorted(self.past.live(kind, self.project(place) or -1), key=lambda one: one.number)

    # -- changing ------------------------------------------------------------------------------------------------

    def edit(self, user: str, thing: Thing, **changed: Any) -> Thing:
        """Change an item of the model."""
        past = self.past.begin(user, self.contract)
        past.edit(past.things[thing.key], **changed)
        self.past = past
        return past.things[thing.key]

    def delete(self, user: str, thing: Thing) -> None:
        """Delete an item of the model; contracts without a trash remove it for good."""
        past = self.past.begin(user, self.contract)
        (past.remove if self.contract in ("prompt-store", "todo") else past.delete)(past.things[thing.key])
        self.past = past

    def add(self, user: str, kind: str, project: int | None, owner: str | None, state: State) -> Thing:
        """Add the last added item of the store to the model."""
        number, id = self.engines.newest(kind)
        past = self.past.begin(user, self.contract)
        if kind == "prompt" and "name" not in state:
            state = {**state, "name": self.engines.name_of(kind, id)}
        thing = Thing(kind, number, id, number if kind == "project" else project, owner)
        past.add(thing, state)
        self.past = past
        return thing


def kind_of(contract: str, result: dict[str, Any]) -> str:
    """Return the kind of outcome of a call, in one vocabulary for all contracts."""
    if not has_failed(result):
        return "ok"
    said = body_of(result)
    if contract == "satchel":
        return _SATCHEL[said["error"]["code"]]
    text = said if isinstance(said, str) else str(said)
    return next(kind for part, kind in _PARTS if part in text)


_SATCHEL = {"not_found": "missing", "already_exists": "taken", "conflict": "conflict", "invalid_argument": "wrong"}
_PARTS = (
    ("DUPLICATE_TITLE", "taken"),
    ("NOT_FOUND", "missing"),
    ("already exists in project", "taken"),
    ("already belongs to", "taken"),
    ("does not exist", "missing"),
    ("Task not found", "missing"),
    ("You don't have permission", "forbidden"),
)


def fold(text: str) -> str:
    """Return a text as searches compare it."""
    return text.casefold()
