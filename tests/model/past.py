"""The model: the history, trash and items that a store must have after each change, kept without a database.

It has the rules for deleting, restoring and undoing, but no deltas, tables or locks.
"""

import copy
from dataclasses import dataclass, field
from os.path import splitext
from typing import Any

Key = tuple[str, int]  # kind and number
State = dict[str, Any]

# Fields that keep their present value when an old version is restored.
KEPT = {"prompt": ("name",), "document": ("uri",), "task": (), "project": ()}


class MustRefuse(Exception):
    """The store must refuse this call, and change nothing."""


@dataclass
class Version:
    """One change of one item."""

    action: str
    state: State | None  # None for a deletion
    project: int | None
    transaction: int
    undoes: tuple[Key, int] | None = None


@dataclass
class Thing:
    """A prompt, resource, task or project with all its versions."""

    kind: str
    number: int
    id: str
    project: int | None
    owner: str | None
    versions: dict[int, Version] = field(default_factory=dict)
    is_live: bool = True

    @property
    def key(self) -> Key:
        return self.kind, self.number

    @property
    def version(self) -> int:
        return max(self.versions)

    @property
    def state(self) -> State:
        """The present state, or the state at the deletion."""
        state = self.versions[self.version if self.is_live else self.version - 1].state
        assert state is not None
        return state

    @property
    def name(self) -> str:
        return f"#{self.number}" if self.kind == "task" else str(self.state["name"])


@dataclass
class Transaction:
    """The user of a transaction, and its changes in order."""

    user: str
    contract: str
    changes: list[tuple[Key, int]] = field(default_factory=list)


class Past:
    """All items, deleted or not, by kind and number."""

    def __init__(self) -> None:
        self.things: dict[Key, Thing] = {}
        self.removed: dict[tuple[Key, int], Thing] = {}  # removed for good; the key is the deletion
        self.transactions: list[Transaction] = []
        self._undoing: tuple[Key, int] | None = None
        self._is_restoring = False

    def begin(self, user: str, contract: str = "") -> "Past":
        """Return a copy in which the next transaction has begun; the original stays valid if the store refuses."""
        copied = copy.deepcopy(self)
        copied._is_restoring, copied._undoing = False, None
        copied.transactions.append(Transaction(user, contract))
        return copied

    # -- looking -------------------------------------------------------------------------------------------------

    def live(self, kind: str, project: int | None = None) -> list[Thing]:
        """Return the existing items of a kind, in a project or in all projects."""
        return [
            one
            for one in self.things.values()
            if one.kind == kind and self.is_visible(one) and (project is None or one.project == project)
        ]

    def is_visible(self, thing: Thing) -> bool:
        if thing.kind in ("prompt", "document"):
            return thing.is_live and self.things["project", thing.project or 0].is_live
        return thing.is_live

    def trashed(self, kind: str, project: int | None, name: str) -> list[Thing]:
        """Return the deleted items with a name, last deleted first."""
        found = [
            one
            for one in self.things.values()
            if one.kind == kind
            and not one.is_live
            and one.name == name
            and (kind == "project" or one.project == project)
        ]
        return sorted(found, key=lambda one: (one.versions[one.version].transaction, one.number), reverse=True)

    # -- changing ------------------------------------------------------------------------------------------------

    def add(self, thing: Thing, state: State) -> None:
        """Add an item; its versions continue after those of deleted items with its name."""
        self.things[thing.key] = thing
        others = self.trashed(thing.kind, thing.project, state["name"]) if thing.kind != "task" else []
        self._record(thing, "add", state, version=1 + max((one.version for one in others), default=0))

    def edit(self, thing: Thing, **changed: Any) -> None:
        state = {**thing.state, **changed}
        if state != thing.state or thing.kind == "project":  # only projects get a version without a change
            self._record(thing, name_update(thing.state, state), state)

    def move(self, thing: Thing, project: int | None, **changed: Any) -> None:
        if project == thing.project:
            self.edit(thing, **changed)
        else:
            thing.project = project
            state = {**thing.state, **changed}
            self._record(thing, "move" if state == thing.state else "update", state)

    def delete(self, thing: Thing) -> None:
        self._record(thing, "delete", None)
        thing.is_live = False

    def remove(self, thing: Thing) -> None:
        """Delete an item for good; only the fact of its deletion remains."""
        self.delete(thing)
        self.removed[thing.key, thing.version] = self.things.pop(thing.key)

    def purge(self, thing: Thing, *, is_named: bool) -> None:
        """Remove an item with its history, or a project with its content; if `is_named`, also deleted namesakes."""
        gone = [thing, *(self.trashed(thing.kind, thing.project, thing.name) if is_named else [])]
        if thing.is_live:
            self.delete(thing)
        for one in gone:
            self.things.pop(one.key, None)
            if one.kind == "project":
                for inner in [*self.things.values()]:
                    if inner.project == one.number:
                        if inner.kind == "task":
                            inner.project = None
                        else:
                            self.things.pop(inner.key)

    def restore(self, thing: Thing, version: int | None) -> bool:
        """Restore a version, or a deleted item; return whether anything changed."""
        self._is_restoring = True
        if thing.is_live:
            others = self.trashed(thing.kind, thing.project, thing.name) if thing.kind != "task" else []
            if version is None and others and thing.versions[thing.version].action == "add":
                self._bring_back(others[0])
                return True
            if version is None:
                version = self._before_last_change(thing)
            return self._put(thing, self._find_version(thing, version))
        last = thing.version - 1
        self._bring_back(thing)
        if version not in (None, last):
            self._put(thing, self._find_version(thing, version))
        return True

    def undo(self, user: str) -> bool:
        """Undo the last transaction of a user that is neither undone nor an undo; return whether there was one."""
        self._is_restoring = True
        for number in range(len(self.transactions) - 2, -1, -1):
            one = self.transactions[number]
            changes = [
                (key, version)
                for key, version in one.changes
                if key in self.things and not self._at(key, version).undoes
            ]
            if one.user != user or not changes or number in self._taken_back():
                continue
            changes.reverse()
            for change in sorted(changes, key=lambda change: self._at(*change).action != "delete"):
                self._take_back(number, change)
            return True
        return False

    # -- rules ---------------------------------------------------------------------------------------------------

    def _take_back(self, transaction: int, change: tuple[Key, int]) -> None:
        (kind, _), version = change
        thing = self.things[change[0]]
        if kind in ("prompt", "document") and not self.things["project", thing.project or 0].is_live:
            raise MustRefuse("its project was deleted")
        later = [one for number, one in thing.versions.items() if number > version and one.undoes is None]
        if {one.transaction for one in later} - self._taken_back():
            raise MustRefuse("something was changed since")
        self._undoing = change
        if not thing.is_live:
            if self._at(*change).action != "delete":
                raise MustRefuse("it was deleted")
            self._bring_back(thing)
            return
        older = [number for number in thing.versions if number < version]
        if not older or thing.versions[max(older)].action == "delete":
            self.delete(thing)
        else:
            self._put(thing, thing.versions[max(older)], is_always=transaction not in self._taken_back())

    def _bring_back(self, thing: Thing) -> None:
        if thing.kind in ("prompt", "document") and not self.things["project", thing.project or 0].is_live:
            raise MustRefuse("its project was deleted")
        state = dict(thing.state)
        if thing.kind != "task":
            others = self.live(thing.kind, None if thing.kind == "project" else thing.project)
            state["name"] = first_free(state["name"], [one.state["name"] for one in others], "{}-{}{}")
            if thing.kind == "prompt":
                state["title"] = first_free(state["title"], [one.state["title"] for one in others], "{} ({})")
            if thing.kind == "document":
                state["uri"] = first_free(state["uri"], [one.state["uri"] for one in others], "{}-{}")
        thing.is_live = True
        self._record(thing, "restore", state)
        self.refuse_circle(thing)

    def _put(self, thing: Thing, old: Version | None, *, is_always: bool = False) -> bool:
        if old is None:
            return False
        assert old.state is not None
        wanted = {**old.state, **{name: thing.state[name] for name in KEPT[thing.kind]}}
        project = thing.project
        others = self.live("document", thing.project) if thing.kind == "document" else []
        if any(one.name == wanted["name"] for one in others):
            wanted["name"] = thing.name  # another one has the old name by now
        if thing.kind == "task":
            left = [number for number in wanted["blocked_by"] if ("task", number) in self.things]
            purged = [number for number in thing.state["blocked_by"] if ("task", number) not in self.things]
            wanted["blocked_by"] = sorted({*left, *purged})
            if old.project != project:
                project = old.project if self.is_project(old.project) else None
        if wanted == thing.state and project == thing.project and not is_always:
            return False
        for unique in ("title",) if thing.kind == "prompt" else ("name",) if thing.kind == "project" else ():
            others = self.live(thing.kind, None if thing.kind == "project" else thing.project)
            if any(one.state[unique] == wanted[unique] for one in others if one is not thing):
                raise MustRefuse(f"the {unique} is taken")
        thing.project = project
        self._record(thing, "restore", wanted)
        self.refuse_circle(thing)
        return True

    def _before_last_change(self, thing: Thing) -> int | None:
        own = sorted(thing.versions, reverse=True)
        if thing.versions[own[0]].action == "restore":
            return None
        return own[1] if len(own) > 1 else None

    def _find_version(self, thing: Thing, version: int | None) -> Version | None:
        """Return a version of an item, or of a deleted item with its name."""
        others = self.trashed(thing.kind, thing.project, thing.name) if thing.kind != "task" else []
        for one in (thing, *others):
            found = one.versions.get(version or 0)
            if version is None or (found is not None and found.state is not None):
                return found
        raise MustRefuse("there is no such version")

    def block(self, thing: Thing, blockers: list[int], project: int | None) -> None:
        """Move a task and replace its blockers; deleted blockers stay."""
        deleted = [
            number
            for number in thing.state["blocked_by"]
            if ("task", number) in self.things and not self.things["task", number].is_live
        ]
        self.move(thing, project, blocked_by=sorted({*blockers, *deleted}))

    def live_blockers(self, thing: Thing) -> list[int]:
        """Return the existing blockers of a task."""
        return [number for number in thing.state["blocked_by"] if self.is_live(number)]

    def is_live(self, task: int) -> bool:
        return ("task", task) in self.things and self.things["task", task].is_live

    def refuse_circle(self, thing: Thing) -> None:
        if thing.kind != "task":
            return
        seen: set[int] = set()
        ahead = self.live_blockers(thing)
        while ahead:
            number = ahead.pop()
            if number == thing.number:
                raise MustRefuse("it would block itself")
            if number not in seen:
                seen.add(number)
                ahead += self.live_blockers(self.things["task", number])

    def is_project(self, number: int | None) -> bool:
        found = self.things.get(("project", number or 0))
        return found is not None and found.is_live

    def _at(self, key: Key, version: int) -> Version:
        return self.things[key].versions[version]

    def _taken_back(self) -> set[int]:
        """Return the transactions with an undone change, if the change and its undo are both still known."""
        undone = [one.undoes for thing in self.things.values() for one in thing.versions.values() if one.undoes]
        return {self._at(*change).transaction for change in undone if change[0] in self.things}

    def _record(self, thing: Thing, action: str, state: State | None, version: int | None = None) -> None:
        if action in ("update", "move") and self._is_restoring:
            action = "restore"
        version = version or thing.version + 1
        number = len(self.transactions) - 1
        thing.versions[version] = Version(action, state, thing.project, number, self._undoing)
        self.transactions[number].changes.append((thing.key, version))


def name_update(before: State, after: State) -> str:
    """Return the action in history: complete, cancel or reopen if the status of a task changed, otherwise update."""
    old, new = ((state.get("completed_at") is not None, state.get("is_cancelled")) for state in (before, after))
    if new == old:
        return "update"
    return "cancel" if new[1] else "complete" if new[0] else "reopen"


def first_free(wanted: str, taken: list[str], pattern: str) -> str:
    """Return a name, or the first numbered variant that is not taken."""
    stem, end = splitext(wanted) if pattern.count("{}") == 3 else (wanted, "")
    names = [wanted, *(pattern.format(stem, count, end) for count in range(2, 10))]
    return next(name for name in names if name not in taken)
