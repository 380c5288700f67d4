"""Rules for tasks, in the three contracts that have them; tasks of other users count as missing."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.model.machine import PICKS, PLACES, QUERIES, TAGS, TEXTS, TITLES, USERS, Machine, fold
from tests.model.past import MustRefuse, Thing

WAYS = st.sampled_from(["todo", "tasks", "satchel"])
STATUSES = st.sampled_from(["ready", "pending", "in_progress", "completed", "cancelled", "all"])


class TaskRules(Machine):
    """Calls of users about tasks."""

    def own(self, user: str) -> list[Thing]:
        """Return the tasks of a user, newest first."""
        return sorted((one for one in self.past.live("task") if one.owner == user), key=lambda one: -one.number)

    def is_ready(self, thing: Thing) -> bool:
        blockers = [self.past.things["task", number] for number in self.past.live_blockers(thing)]
        return not thing.state["completed_at"] and all(one.state["completed_at"] for one in blockers)

    def status_of(self, thing: Thing) -> str:
        if thing.state["completed_at"]:
            return "cancelled" if thing.state["is_cancelled"] else "completed"
        return "in_progress" if thing.number in self.claimed else "pending"

    @rule(
        user=USERS, way=st.sampled_from(["todo", "tasks", "satchel", "lines"]), title=TITLES, place=PLACES, pick=PICKS
    )
    def add_task(self, user: str, way: str, title: str, place: str, pick: int) -> None:
        blockers: list[int] = []
        blocker = self.choose("task", pick) if pick % 2 and way in ("satchel", "lines") else None
        if blocker is not None:
            blockers = [blocker.number]
        if way == "lines":
            after = "".join(f" after:#{number}" for number in blockers)
            found = self.ask("satchel", "add_tasks", user, lines=[f"{title}{after}"], project=place)
        elif way == "satchel":
            found = self.ask(way, "add_task", user, title=title, blocked_by=list(map(str, blockers)), project=place)
        else:
            found = self.ask(way, "add_task", user, title=title)
        project = self.project(place) if way in ("satchel", "lines") else None
        is_refused = way in ("satchel", "lines") and project is None
        if is_refused or (blocker is not None and not (blocker.is_live and blocker.owner == user)):
            self.expect(found, "missing")
            return
        self.expect(found, "ok")
        state: dict[str, Any] = {"title": title.strip(), "description": None, "tags": (), "blocked_by": blockers}
        state |= {"completed_at": None, "is_cancelled": False, "due": None, "priority": "normal"}
        self.add(user, "task", project, user, state)

    def expect_own(self, found: tuple[str, Any], user: str, way: str, thing: Thing) -> bool:
        """Check that a call about a task succeeded exactly if the task is the user's; return whether it did."""
        if thing.is_live and thing.owner == user:
            self.expect(found, "ok")
            return True
        self.expect(found, "forbidden" if way == "todo" and thing.is_live else "missing")
        return False

    @rule(user=USERS, way=WAYS, pick=PICKS, title=TITLES, text=TEXTS, tags=TAGS)
    def update_task(self, user: str, way: str, pick: int, title: str, text: str, tags: list[str]) -> None:
        thing = self.choose("task", pick)
        if thing is None:
            return
        changed: dict[str, Any] = {"title": title}
        if way != "todo":
            changed["description"] = text
        if way == "satchel":
            changed["tags"] = tags
        found = self.ask(way, "update_task", user, **key_of(way, thing), **changed)
        if self.expect_own(found, user, way, thing):
            changed["title"] = title.strip()
            if "tags" in changed:
                changed["tags"] = tuple(sorted(tags))
            self.edit(user, thing, **changed)

    @rule(user=USERS, pick=PICKS, other=PICKS, place=PLACES)
    def block_and_move_task(self, user: str, pick: int, other: int, place: str) -> None:
        thing, blocker = self.choose("task", pick), self.choose("task", other)
        if thing is None or blocker is None:
            return
        found = self.ask("satchel", "update_task", user, task=key(thing), blocked_by=[key(blocker)], to=place)
        if any(not one.is_live or one.owner != user for one in (thing, blocker)) or self.project(place) is None:
            self.expect(found, "missing")
            return
        past = self.past.begin(user, self.contract)
        moved = past.things[thing.key]
        try:
            past.block(moved, [blocker.number], self.project(place))
            past.refuse_circle(moved)
        except MustRefuse:
            self.expect(found, "wrong")
            return
        self.expect(found, "ok")
        self.past = past

    @rule(user=USERS, way=WAYS, pick=PICKS)
    def complete_task(self, user: str, way: str, pick: int) -> None:
        thing = self.choose("task", pick)
        if thing is None:
            return
        found = self.ask(way, "complete_task", user, **key_of(way, thing))
        if not self.expect_own(found, user, way, thing):
            return
        # Only satchel distinguishes a cancelled task from a completed one.
        closed = ("completed",) if way == "satchel" else ("completed", "cancelled")
        if self.status_of(thing) not in closed:
            self.claimed.discard(thing.number)
            self.edit(user, thing, completed_at=self.engines.completed_at(thing.number), is_cancelled=False)

    @rule(user=USERS, pick=PICKS)
    def claim_task(self, user: str, pick: int) -> None:
        thing = self.choose("task", pick)
        if thing is None:
            return
        found = self.ask("satchel", "claim_task", user, task=key(thing))
        if not thing.is_live or thing.owner != user:
            self.expect(found, "missing")
        elif thing.state["completed_at"]:
            assert found[0] in ("wrong", "conflict")
        elif found[0] == "ok":
            assert found[1]["task"]["number"] == thing.number
            self.claimed.add(thing.number)
        else:
            assert not self.is_ready(thing), found

    @rule(user=USERS, way=st.sampled_from(["todo", "tasks", "satchel"]), pick=PICKS)
    def delete_task(self, user: str, way: str, pick: int) -> None:
        thing = self.choose("task", pick)
        if thing is None or pick % 2:
            return
        if way == "satchel":
            found = self.ask(way, "delete", user, items=[key(thing)])
        else:
            found = self.ask(way, "delete_task", user, **key_of(way, thing))
        if self.expect_own(found, user, way, thing):
            self.claimed.discard(thing.number)
            self.delete(user, thing)

    @rule(user=USERS, pick=PICKS)
    def get_task(self, user: str, pick: int) -> None:
        thing = self.choose("task", pick)
        if thing is None:
            return
        found = self.ask("satchel", "get_task", user, task=key(thing))
        if self.expect_own(found, user, "satchel", thing):
            row, state = found[1]["task"], thing.state
            said = (row["title"], row["version"], row["status"], row.get("description"), tuple(row.get("tags", ())))
            assert said == (state["title"], thing.version, self.status_of(thing), state["description"], state["tags"])
            assert sorted(one["number"] for one in row.get("blocked_by", [])) == self.past.live_blockers(thing)

    @rule(user=USERS, way=st.sampled_from(["todo", "tasks"]), is_open=st.booleans())
    def list_tasks(self, user: str, way: str, is_open: bool) -> None:
        expected = [one for one in self.own(user) if not (is_open and one.state["completed_at"])]
        if way == "todo":
            rows = self.expect(self.ask(way, "list_tasks", user, include_completed=not is_open), "ok")["tasks"]
            shown = [(row["id"], row["title"], row["completed"]) for row in rows]
            assert shown == [(one.id, one.state["title"], bool(one.state["completed_at"])) for one in expected]
        else:
            rows = self.expect(self.ask(way, "list_tasks", user, status="pending" if is_open else None), "ok")["data"]
            shown = [(row["id"], row["title"], row["status"] == "completed") for row in rows]
            assert shown == [(one.number, one.state["title"], bool(one.state["completed_at"])) for one in expected]

    @rule(user=USERS, status=STATUSES, query=st.none() | QUERIES, tags=TAGS, place=st.none() | PLACES)
    def list_tasks_of_satchel(
        self, user: str, status: str, query: str | None, tags: list[str], place: str | None
    ) -> None:
        found = self.ask("satchel", "list_tasks", user, status=status, query=query, tags=tags, project=place)
        if place is not None and self.project(place) is None:
            self.expect(found, "missing")
            return
        shown = sorted(row["number"] for row in self.expect(found, "ok")["tasks"])
        assert shown == sorted(
            one.number
            for one in self.own(user)
            if self.has_status(one, status)
            and (place is None or one.project == self.project(place))
            and (not tags or set(tags) & set(one.state["tags"]))
            and any(fold(query or "") in fold(one.state[part] or "") for part in ("title", "description"))
        )

    @rule(user=USERS, place=st.none() | PLACES)
    def show_tasks(self, user: str, place: str | None) -> None:
        found = self.ask("satchel", "show", user, project=place)
        if place is not None and self.project(place) is None:
            self.expect(found, "missing")
            return
        shown = sorted(row["number"] for row in self.expect(found, "ok")["tasks"])
        wanted = [one for one in self.own(user) if place is None or one.project == self.project(place)]
        assert shown == sorted(one.number for one in wanted if not one.state["completed_at"])

    def has_status(self, thing: Thing, status: str) -> bool:
        if status == "ready":
            return self.is_ready(thing)
        if status == "pending":
            return not thing.state["completed_at"]
        return status == "all" or self.status_of(thing) == status


def key(thing: Thing) -> str:
    """Return the reference to a task in the contract satchel."""
    return f"#{thing.number}"


def key_of(way: str, thing: Thing) -> dict[str, Any]:
    """Return the argument by which a contract names a task."""
    keys: dict[str, dict[str, Any]] = {"todo": {"task_id": thing.id}, "tasks": {"task_id": thing.number}}
    return keys.get(way, {"task": key(thing)})
