"""Rules for items of any kind in the contract satchel: editing, tagging, deleting, restoring, finding and history."""

from hypothesis import strategies as st
from hypothesis.stateful import rule

from satchel.model import uri_of
from satchel.services import projects, restoring
from tests.model.document_rules import DocumentRules
from tests.model.machine import PICKS, PLACES, USERS
from tests.model.past import MustRefuse, Thing
from tests.model.prompt_rules import PromptRules
from tests.model.task_rules import TaskRules
from tests.support.runners import ADA, BOB

KINDS = st.sampled_from(["prompt", "document", "task"])


class Rules(PromptRules, DocumentRules, TaskRules):
    """The rules for all tools and methods of the contracts."""

    def put_first(self) -> None:
        self.add_project(user=ADA, name="web")
        for place, title, way in (
            ("default", "Tea", "satchel"),
            ("default", "Straße", "many"),
            ("web", "Tea", "prompt-store"),
        ):
            self.add_prompt(user=ADA, way=way, place=place, title=title, name="tea", text="needle", tags=["a"])
        self.add_resource(user=BOB, way="mcpkg", place="default", name="plan.md", text="one\ntwo\nthree")
        for user, way in ((ADA, "satchel"), (ADA, "todo"), (BOB, "tasks")):
            self.add_task(user=user, way=way, title="Tea", place="default", pick=0)

    def pick_item(self, kind: str, pick: int, user: str) -> Thing | None:
        """Return an item of a kind that a user can see, deleted ones too."""
        thing = self.choose(kind, pick)
        return thing if thing is not None and thing.owner in (None, user) else None

    @rule(user=USERS, kind=KINDS, pick=PICKS, old=st.sampled_from(["needle", "two", "absent"]))
    def edit_text(self, user: str, kind: str, pick: int, old: str) -> None:
        thing = self.pick_item(kind, pick, user)
        if thing is None or not thing.is_live:
            return
        edits = [{"old": old, "new": "pin"}]
        found = self.ask(
            "satchel", "edit_text", user, item=reference_of(thing), edits=edits, project=self.place_of(thing)
        )
        part = "description" if kind == "task" else "content"
        text = thing.state[part] or ""
        if text.count(old) != 1:
            self.expect(found, "wrong")
            return
        edited = self.edit(user, thing, **{part: text.replace(old, "pin")})
        assert self.expect(found, "ok")["version"] == edited.version

    @rule(user=USERS, kind=st.sampled_from(["prompt", "task"]), pick=PICKS, tag=st.sampled_from(["+new", "-a"]))
    def update_items(self, user: str, kind: str, pick: int, tag: str) -> None:
        thing = self.pick_item(kind, pick, user)
        if thing is None or not thing.is_live:
            return
        place = self.place_of(thing)
        found = self.ask("satchel", "update_items", user, items=[reference_of(thing)], tags=[tag], project=place)
        tags = set(thing.state["tags"]) | {tag[1:]} if tag[0] == "+" else set(thing.state["tags"]) - {tag[1:]}
        [row] = self.expect(found, "ok")["items"]
        edited = self.edit(user, thing, tags=tuple(sorted(tags)))
        assert (row["version"], tuple(row.get("tags", ()))) == (edited.version, edited.state["tags"])

    @rule(user=USERS, kind=KINDS, pick=PICKS)
    def delete_items(self, user: str, kind: str, pick: int) -> None:
        thing = self.pick_item(kind, pick, user)
        if thing is None or not thing.is_live or pick % 2:
            return
        found = self.ask("satchel", "delete", user, items=[reference_of(thing)], project=self.place_of(thing))
        self.expect(found, "ok")
        self.claimed -= {thing.number} if kind == "task" else set()
        self.delete(user, thing)

    @rule(user=USERS, kind=KINDS, pick=PICKS, back=st.integers(0, 3))
    def restore(self, user: str, kind: str, pick: int, back: int) -> None:
        thing = self.pick_item(kind, pick, user)
        if thing is None:
            return
        version = max(thing.version - back, 1) if back else None
        item = reference_of(thing) if thing.is_live else f"#{thing.number}" if kind == "task" else thing.id
        found = self.ask("satchel", "restore", user, item=item, version=version, project=self.place_of(thing))
        past = self.past.begin(user, self.contract)
        target = past.things[thing.key]
        try:
            is_changed = past.restore(target, version)
        except MustRefuse as refusal:
            assert found[0] != "ok", refusal
            return
        told = self.expect(found, "ok")["restored"]
        assert (told["version"], told["changed"]) == (target.version, is_changed)
        if is_changed:
            self.past = past
            if kind == "task" and target.state["completed_at"]:
                self.claimed.discard(thing.number)

    # -- changes of projects and history by the command line and the page -------------------------------------------

    @rule(user=USERS, pick=PICKS, name=PLACES)
    def rename_project(self, user: str, pick: int, name: str) -> None:
        thing = self.choose("project", pick)
        if thing is None or thing.name == "default":  # the next write would restore it
            return
        is_done = self.act(user, "default", lambda tx: projects.rename(tx, thing.name, name))
        assert is_done is (self.project(name) in (None, thing.number))
        if is_done:
            self.edit(user, thing, name=name)

    @rule(user=USERS, pick=PICKS)
    def delete_and_restore_project(self, user: str, pick: int) -> None:
        thing = self.choose("project", pick)
        if thing is None or thing.name == "default":
            return
        assert self.act(user, "default", lambda tx: projects.delete(tx, thing.name))
        self.delete(user, thing)
        assert self.project(thing.name) is None
        self.restore_projects(user)

    def restore_projects(self, user: str) -> None:
        """Restore the projects that are deleted, so that every item can be found."""
        for thing in [one for one in self.past.things.values() if one.kind == "project" and not one.is_live]:
            id = thing.id
            assert self.act(user, "default", lambda tx: restoring.restore(tx, tx.scope, id))  # noqa: B023
            past = self.past.begin(user)
            past.restore(past.things[thing.key], None)
            self.past = past

    @rule(user=USERS)
    def undo(self, user: str) -> None:
        is_done = self.act(user, "default", lambda tx: restoring.undo(tx, tx.scope))
        past = self.past.begin(user)
        try:
            is_changed = past.undo(user)
        except MustRefuse as refusal:
            assert not is_done, refusal
            return
        assert is_done
        if is_changed:
            self.past = past
            self.restore_projects(user)
            self.claimed &= self.engines.claimed()

    @rule(user=USERS, kind=KINDS, pick=PICKS)
    def purge(self, user: str, kind: str, pick: int) -> None:
        thing = self.choose(kind, pick)
        if thing is None or pick % 3:  # less often than other calls, so that enough history remains
            return
        reference = reference_of(thing) if thing.is_live else f"#{thing.number}" if kind == "task" else thing.id
        is_done = self.act(
            user, self.place_of(thing), lambda tx: restoring.purge(tx, tx.scope, reference), as_owner=True
        )
        assert is_done is (thing.owner in (None, user))
        if is_done:
            past = self.past.begin(user)
            past.purge(past.things[thing.key], is_named=kind != "task" and thing.is_live)
            self.past = past
            self.claimed -= {thing.number} if kind == "task" else set()

    @rule(user=USERS, kind=KINDS, pick=PICKS)
    def history(self, user: str, kind: str, pick: int) -> None:
        thing = self.pick_item(kind, pick, user)
        if thing is None or not thing.is_live:
            return
        found = self.ask("satchel", "history", user, item=reference_of(thing), project=self.place_of(thing))
        versions = [(row["version"], row["action"]) for row in self.expect(found, "ok")["versions"]]
        own = [(number, thing.versions[number].action) for number in sorted(thing.versions, reverse=True)]
        assert versions[: len(own)] == own[: len(versions)]

    @rule(user=USERS, place=PLACES)
    def search(self, user: str, place: str) -> None:
        found = self.ask("satchel", "search", user, query="needle", project=place, limit=50)
        project = self.project(place)
        if project is None:
            self.expect(found, "missing")
            return
        visible = [
            one
            for one in self.past.things.values()
            if self.past.is_visible(one) and one.owner in (None, user) and one.kind != "project"
        ]
        shown = {row["reference"] for row in self.expect(found, "ok")["hits"]}
        assert shown <= {one.name for one in visible} | {reference_of(one) for one in visible}
        for one in visible:
            text = one.state["description" if one.kind == "task" else "content"] or ""
            if one.kind != "task" and one.project == project and "needle" in text.casefold().split():
                assert shown & {one.name, reference_of(one)}, one

    @rule(user=USERS, place=PLACES)
    def catch_up(self, user: str, place: str) -> None:
        found = self.ask("satchel", "catch_up", user, project=place)
        project = self.project(place)
        if project is None:
            self.expect(found, "missing")
            return
        told = self.expect(found, "ok")
        counts = (told.get("prompts", 0), told.get("documents", 0), told.get("open_tasks", 0))
        is_open = [one for one in self.own(user) if one.project == project and not one.state["completed_at"]]
        assert counts[:2] == (len(self.past.live("prompt", project)), len(self.past.live("document", project)))
        assert counts[2] == len(is_open)


def reference_of(thing: Thing) -> str:
    """Return an unambiguous reference to an item."""
    return uri_of(thing.kind, thing.name.removeprefix("#"))
