"""Changes of tasks, through the services and through every contract that has them; those of others are refused."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule

from satchel.model import Scope, TaskDraft, TaskPatch
from satchel.services import tasks
from tests.history.machine import PICKS, PLACES, TAGS, TEXTS, TITLES, USERS, Machine
from tests.history.past import MustRefuse, Thing
from tests.history.store import read

WAYS = st.sampled_from(["", "todo", "tasks", "satchel"])


class TaskChanges(Machine):
    """What users do with tasks."""

    @rule(user=USERS, way=WAYS, title=TITLES, pick=PICKS, place=st.one_of(st.none(), PLACES))
    def add_task(self, user: str, way: str, title: str, pick: int, place: str | None) -> None:
        blocker, _ = self.choose("task", pick, user)
        blockers = [blocker.number] if blocker is not None and way in ("", "satchel") and pick % 2 else []
        scope = Scope(user=user)
        if way == "satchel":
            place = place or "default"
            is_done = self.ways.call(way, scope, "add_task", title=title, blocked_by=blockers, project=place)
        elif way:
            place = None
            is_done = self.ways.call(way, scope, "add_task", title=title)
        else:
            draft = TaskDraft(title=title, blocked_by=blockers, project=place, due="2027-01-01", priority="high")
            is_done = self.ways.act(scope, lambda tx: tasks.add(tx, scope, draft))
        past = self.past.begin(user, way)
        project = None if place is None else self.project(place)
        can_wait = all(self.may_change(past.things["task", number], user) for number in blockers)
        assert is_done is ((place is None or project is not None) and can_wait)
        if is_done:
            state: dict[str, Any] = {"title": title, "description": None, "tags": (), "blocked_by": blockers}
            state |= {"completed_at": None, "is_cancelled": False}
            more = {"due": None, "priority": "normal"} if way else {"due": "2027-01-01", "priority": "high"}
            past.add(self.newest("task", project, user), {**state, **more})
            self.past = past

    @rule(user=USERS, way=WAYS, pick=PICKS, title=TITLES, tags=TAGS, text=TEXTS)
    def edit_task(self, user: str, way: str, pick: int, title: str, tags: Any, text: str) -> None:
        thing, scope = self.choose("task", pick, user)
        if thing is None:
            return
        text = text[:500].strip()  # the contracts allow less than the store, and some trim it
        changed: dict[str, Any] = {"title": title}
        if way == "tasks":
            changed["description"] = text
        elif way != "todo":
            changed |= {"description": text, "tags": tags}
        if way:
            given = {name: list(value) if name == "tags" else value for name, value in changed.items()}
            is_done = self.ways.call(way, scope, "update_task", **task_key(way, thing), **given)
        else:
            patch = TaskPatch(title=title, description=text, tags=tags)
            is_done = self.ways.act(scope, lambda tx: tasks.update(tx, scope, thing.number, patch))
        self.expect_edit(is_done, user, way, thing, **changed)

    @rule(user=USERS, pick=PICKS, other=PICKS, place=st.one_of(st.none(), PLACES))
    def block_and_move_task(self, user: str, pick: int, other: int, place: str | None) -> None:
        thing, scope = self.choose("task", pick, user)
        blocker, _ = self.choose("task", other, user)
        if thing is None or blocker is None:
            return
        patch = TaskPatch(blocked_by=[blocker.number], project=place)
        is_done = self.ways.act(scope, lambda tx: tasks.update(tx, scope, thing.number, patch))
        past, project = self.past.begin(user), None if place is None else self.project(place)
        try:
            if not (self.may_change(thing, user) and self.may_change(blocker, user)):
                raise MustRefuse("there is no such task")
            if place is not None and project is None:
                raise MustRefuse("there is no such project")
            moved = past.things[thing.key]
            past.block(moved, [blocker.number], project)
            past.refuse_circle(moved)
        except MustRefuse as refusal:
            assert not is_done, refusal
            return
        assert is_done
        self.past = past

    @rule(user=USERS, way=WAYS, pick=PICKS)
    def complete_task(self, user: str, way: str, pick: int) -> None:
        thing, scope = self.choose("task", pick, user)
        if thing is None:
            return
        if way:
            is_done = self.ways.call(way, scope, "complete_task", **task_key(way, thing))
        else:
            is_done = self.ways.act(scope, lambda tx: tasks.complete(tx, scope, thing.number))
        assert is_done is self.may_change(thing, user)
        if is_done and (thing.state["completed_at"] is None or thing.state["is_cancelled"]):
            then = read(self.database, scope, lambda tx: tasks.find(tx, scope, thing.number)).completed_at
            self.expect_edit(is_done, user, way, thing, completed_at=then, is_cancelled=False)

    @rule(user=USERS, way=st.sampled_from(["", "satchel"]), pick=PICKS)
    def cancel_task(self, user: str, way: str, pick: int) -> None:
        thing, scope = self.choose("task", pick, user)
        if thing is None:
            return
        if way:
            is_done = self.ways.call(way, scope, "update_task", **task_key(way, thing), status="cancelled")
        else:
            patch = TaskPatch(status="cancelled")
            is_done = self.ways.act(scope, lambda tx: tasks.update(tx, scope, thing.number, patch))
        assert is_done is self.may_change(thing, user)
        if is_done:
            then = read(self.database, scope, lambda tx: tasks.find(tx, scope, thing.number)).completed_at
            self.expect_edit(is_done, user, way, thing, completed_at=then, is_cancelled=True)

    @rule(user=USERS, way=WAYS, pick=PICKS)
    def delete_task(self, user: str, way: str, pick: int) -> None:
        thing, scope = self.choose("task", pick, user)
        if thing is None:
            return
        if way:
            is_done = self.ways.call(way, scope, "delete_task", **task_key(way, thing))
        else:
            is_done = self.ways.act(scope, lambda tx: tasks.delete(tx, scope, thing.number))
        self.expect_deletion(is_done, user, way, thing)


def task_key(way: str, thing: Thing) -> dict[str, Any]:
    """Return the argument by which a contract names a task."""
    keys: dict[str, dict[str, Any]] = {"todo": {"task_id": thing.id}, "tasks": {"task_id": thing.number}}
    return keys.get(way, {"task": str(thing.number)})
