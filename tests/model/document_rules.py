"""Rules for documents, in the two contracts that have them, and for their projects."""

from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.model.machine import NAMES, PICKS, PLACES, QUERIES, TEXTS, USERS, Machine, fold

WAYS = st.sampled_from(["mcpkg", "satchel", "many"])


class DocumentRules(Machine):
    """Calls of users about documents and projects."""

    @rule(user=USERS, name=st.sampled_from(["web", "ops", "default"]))
    def add_project(self, user: str, name: str) -> None:
        found = self.ask("satchel", "add_project", user, name=name)
        if self.project(name) is not None:
            self.expect(found, "taken")
            return
        self.expect(found, "ok")
        self.add(user, "project", None, None, {"name": name})

    @rule(user=USERS)
    def list_projects(self, user: str) -> None:
        answer = self.expect(self.ask("satchel", "list_projects", user), "ok")
        names = [row["name"] if isinstance(row, dict) else row for row in answer["projects"]]
        assert sorted(names) == sorted(one.name for one in self.past.live("project"))

    @rule(user=USERS, way=WAYS, place=PLACES, name=NAMES, text=TEXTS)
    def add_resource(self, user: str, way: str, place: str, name: str, text: str) -> None:
        uri = f"doc:{name[:3]}"
        given = {"name": name, "uri": uri, "content": text, "mime_type": "text/plain"}
        if way == "mcpkg":
            found = self.ask(way, "create_resource", user, place, **given)
        elif way == "satchel":
            found = self.ask(way, "add_resource", user, **given, project=place)
        else:
            found = self.ask("satchel", "add_resources", user, resources=[given], project=place)
        project = self.project(place)
        if project is None:
            self.expect(found, "missing")
            return
        others = [one.state for one in self.past.live("document", project)]
        if any(name == one["name"] or uri == one["uri"] for one in others):
            self.expect(found, "taken")
            return
        self.expect(found, "ok")
        self.add(user, "document", project, None, {**given, "description": None})

    @rule(user=USERS, way=st.sampled_from(["mcpkg", "satchel"]), pick=PICKS, text=TEXTS)
    def update_resource(self, user: str, way: str, pick: int, text: str) -> None:
        thing = self.choose("document", pick)
        if thing is None:
            return
        place = self.place_of(thing)
        target = self.named("document", place, thing.name)
        if way == "mcpkg":
            found = self.ask(way, "update_resource", user, place, name=thing.name, content=text)
        else:
            target, key = (thing, thing.name) if thing.is_live else (None, f"no-{thing.id}")
            found = self.ask(way, "update_resource", user, resource=key, content=text, project=place)
        self.expect(found, "ok" if target else "missing")
        if target is not None:
            self.edit(user, target, content=text)

    @rule(user=USERS, place=PLACES, line=st.sampled_from(["Ask Bob: needle", "ask  BOB: needle", "needle"]))
    def remember(self, user: str, place: str, line: str) -> None:
        found = self.ask("satchel", "remember", user, text=line, project=place)
        project = self.project(place)
        if project is None:
            self.expect(found, "missing")
            return
        answer, memory = self.expect(found, "ok"), self.named("document", place, "memory.md")
        before = memory.state["content"] if memory else ""
        text = " ".join(line.lower().split())
        is_known = any(one == text or one.endswith(f" proofs: {text}") for one in before.lower().splitlines())
        assert answer["added"] is not is_known
        if is_known:
            return
        content = f"{before}{'' if before.endswith(chr(10)) or not before else chr(10)}- {answer['line']}\n"
        given = {"name": "memory.md", "uri": "satchel://resource/memory.md", "mime_type": "text/markdown"}
        if memory is None:
            self.add(user, "document", project, None, {**given, "content": content, "description": None})
        else:
            self.edit(user, memory, content=content)

    @rule(user=USERS, pick=PICKS, name=NAMES)
    def rename_resource(self, user: str, pick: int, name: str) -> None:
        thing = self.choose("document", pick)
        if thing is None or not thing.is_live:
            return
        place = self.place_of(thing)
        found = self.ask("satchel", "update_resource", user, resource=thing.name, name=name, project=place)
        others = [one.name for one in self.past.live("document", thing.project) if one is not thing]
        self.expect(found, "taken" if name in others else "ok")
        if name not in others:
            is_own = thing.state["uri"] == f"satchel://resource/{thing.name}"
            self.edit(user, thing, name=name, **({"uri": f"satchel://resource/{name}"} if is_own else {}))

    @rule(user=USERS, way=st.sampled_from(["mcpkg", "satchel"]), pick=PICKS)
    def delete_resource(self, user: str, way: str, pick: int) -> None:
        thing = self.choose("document", pick)
        if thing is None or pick % 2:
            return
        place = self.place_of(thing)
        target = self.named("document", place, thing.name)
        if way == "mcpkg":
            found = self.ask(way, "delete_resource", user, place, name=thing.name)
        else:
            target, key = (thing, thing.name) if thing.is_live else (None, f"no-{thing.id}")
            found = self.ask(way, "delete", user, items=[f"satchel://resource/{key}"], project=place)
        self.expect(found, "ok" if target else "missing")
        if target is not None:
            self.delete(user, target)

    @rule(user=USERS, way=st.sampled_from(["mcpkg", "satchel", "method"]), pick=PICKS)
    def read_resource(self, user: str, way: str, pick: int) -> None:
        thing = self.choose("document", pick)
        if thing is None:
            return
        place = self.place_of(thing)
        if way == "satchel":
            key = thing.name if thing.is_live else f"no-{thing.id}"
            found = self.ask(way, "read_resource", user, resource=key, whole=True, project=place)
            self.expect(found, "ok" if thing.is_live else "missing")
            if thing.is_live:
                row = found[1]["resource"]
                assert (row["text"], row["version"]) == (thing.state["content"], thing.version)
            return
        uri = thing.state["uri"]
        target = next((one for one in self.past.live("document", thing.project) if one.state["uri"] == uri), None)
        found = self.ask("mcpkg" if way == "mcpkg" else "satchel", "resources/read", user, place, uri=uri)
        self.expect(found, "ok" if target else "missing")
        if target is not None:
            assert [one["text"] for one in found[1]["contents"]] == [target.state["content"]]

    @rule(user=USERS, way=st.sampled_from(["mcpkg", "satchel"]), place=PLACES)
    def list_documents_by_method(self, user: str, way: str, place: str) -> None:
        found = self.ask(way, "resources/list", user, place)
        if self.project(place) is None:
            assert found[0] == "missing"
            return
        rows, schemes = self.expect(found, "ok")["resources"], ("doc:", "satchel://resource/")
        uris = [row["uri"] for row in rows if row["uri"].startswith(schemes)]
        assert uris == [one.state["uri"] for one in self.in_order("document", place)]
        self.expect(self.ask(way, "resources/templates/list", user, place), "ok")

    @rule(user=USERS, place=PLACES, query=st.none() | QUERIES)
    def list_resources(self, user: str, place: str, query: str | None) -> None:
        found = self.ask("satchel", "list_resources", user, query=query, project=place)
        if self.project(place) is None:
            self.expect(found, "missing")
            return
        hits = [
            one.name
            for one in self.in_order("document", place)
            if any(fold(query or "") in fold(one.state[part] or "") for part in ("name", "uri", "description"))
        ]
        assert sorted(row["name"] for row in self.expect(found, "ok")["resources"]) == sorted(hits)
