"""Rules for prompts, in the three contracts that have them."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.model.machine import NAMES, PICKS, PLACES, QUERIES, TAGS, TEXTS, TITLES, USERS, Machine, fold
from tests.model.past import Thing

WAYS = st.sampled_from(["prompt-store", "mcpkg", "satchel", "many"])
LIMITS = st.sampled_from([1, 2, 10])


class PromptRules(Machine):
    """Calls of users about prompts."""

    @rule(user=USERS, way=WAYS, place=PLACES, title=TITLES, name=NAMES, text=TEXTS, tags=TAGS)
    def add_prompt(self, user: str, way: str, place: str, title: str, name: str, text: str, tags: list[str]) -> None:
        given: dict[str, Any] = {"title": title, "content": text, "tags": tags}
        if way == "prompt-store":
            found = self.ask(way, "add_prompt", user, place, **given)
        elif way == "mcpkg":
            given = {"name": name, "content": text}
            found = self.ask(way, "create_prompt", user, place, **given)
        elif way == "satchel":
            found = self.ask(way, "add_prompt", user, **given, project=place)
        else:
            found = self.ask("satchel", "add_prompts", user, prompts=[given], project=place)
        project = self.project(place)
        if project is None:
            self.expect(found, "missing")
            return
        state = {"description": None, "arguments": (), "tags": (), **given}
        state |= {"tags": tuple(sorted(given.get("tags", ()))), "title": given.get("title", name).strip()}
        others = [one.state for one in self.past.live("prompt", project)]
        if any(state["title"] == one["title"] or given.get("name") == one["name"] for one in others):
            self.expect(found, "taken")
            return
        answer = self.expect(found, "ok")
        thing = self.add(user, "prompt", project, None, state)
        if way == "prompt-store":
            assert (answer["id"], answer["title"]) == (thing.id, state["title"])

    @rule(user=USERS, way=WAYS, pick=PICKS, title=TITLES, text=TEXTS, tags=st.none() | TAGS, stale=st.booleans())
    def update_prompt(
        self, user: str, way: str, pick: int, title: str, text: str, tags: list[str] | None, stale: bool
    ) -> None:
        thing = self.choose("prompt", pick)
        if thing is None:
            return
        place = self.place_of(thing)
        changed: dict[str, Any] = {"title": title, "content": text, "tags": tags}
        target: Thing | None = thing if thing.is_live else None
        kind = "ok"
        if way == "prompt-store":
            found = self.ask(way, "update_prompt", user, place, id=thing.id, **changed)
        elif way == "mcpkg":
            changed = {"content": text, "description": title.strip()}
            found = self.ask(way, "update_prompt", user, place, name=thing.name, **changed)
            target = self.named("prompt", place, thing.name)
        else:
            expected = thing.version + (5 if stale else 0)
            key = thing.name if thing.is_live else thing.id
            found = self.ask(
                "satchel", "update_prompt", user, prompt=key, **changed, expected_version=expected, project=place
            )
            kind = "conflict" if stale else "ok"
        changed = {key: value for key, value in changed.items() if value is not None}
        if "tags" in changed:
            changed["tags"] = tuple(sorted(changed["tags"]))
        if "title" in changed:
            changed["title"] = title.strip()
        if target is None:
            self.expect(found, "missing")
            return
        others = [one.state["title"] for one in self.past.live("prompt", thing.project) if one.key != target.key]
        if kind == "ok" and changed.get("title") in others:
            kind = "taken"
        if kind == "conflict" and changed.get("title") in others:
            assert found[0] in ("conflict", "taken")
            return
        self.expect(found, kind)
        if kind == "ok":
            self.edit(user, target, **changed)

    @rule(user=USERS, way=WAYS, pick=PICKS)
    def delete_prompt(self, user: str, way: str, pick: int) -> None:
        thing = self.choose("prompt", pick)
        if thing is None or pick % 2:
            return
        place, target = self.place_of(thing), thing if thing.is_live else None
        if way == "prompt-store":
            found = self.ask(way, "delete_prompt", user, place, id=thing.id)
        elif way == "mcpkg":
            found = self.ask(way, "delete_prompt", user, place, name=thing.name)
            target = self.named("prompt", place, thing.name)
        else:
            key = thing.name if thing.is_live else thing.id
            found = self.ask("satchel", "delete", user, items=[f"satchel://prompt/{key}"], project=place)
        self.expect(found, "ok" if target else "missing")
        if target is not None:
            self.delete(user, target)

    @rule(user=USERS, way=st.sampled_from(["prompt-store", "mcpkg", "satchel", "render", "method"]), pick=PICKS)
    def get_prompt(self, user: str, way: str, pick: int) -> None:
        thing = self.choose("prompt", pick)
        if thing is None:
            return
        place, target = self.place_of(thing), thing if thing.is_live else None
        key = thing.name if thing.is_live else thing.id
        read: tuple[Any, ...]
        wanted: tuple[str, ...]
        if way == "prompt-store":
            found = self.ask(way, "get_prompt", user, place, id=thing.id)
            read = (found[1].get("title"), found[1].get("content"), tuple(found[1].get("tags", ())))
            wanted = ("title", "content", "tags")
        elif way in ("mcpkg", "method"):
            target = self.named("prompt", place, thing.name)
            found = self.ask("satchel" if way == "method" else way, "prompts/get", user, place, name=thing.name)
            read = (found[1]["messages"][0]["content"]["text"],) if found[0] == "ok" else ()
            wanted = ("content",)
        elif way == "render":
            found = self.ask("satchel", "render_prompt", user, prompt=key, project=place)
            read, wanted = (found[1].get("text"),), ("content",)
        else:
            found = self.ask("satchel", "get_prompt", user, prompt=key, whole=True, project=place)
            row = found[1].get("prompt", {})
            read, wanted = (row.get("content"), row.get("version")), ("content",)
        self.expect(found, "ok" if target else "missing")
        if target is not None:
            state = tuple(target.state[name] for name in wanted)
            assert read[: len(state)] == state
            assert read[len(state) :] in ((), (target.version,))

    @rule(user=USERS, place=PLACES, limit=LIMITS, offset=st.integers(0, 3))
    def list_prompts(self, user: str, place: str, limit: int, offset: int) -> None:
        found = self.ask("prompt-store", "list_prompts", user, place, limit=limit, offset=offset)
        self.expect_page(found, place, self.newest_first("prompt", place), limit, offset)

    @rule(user=USERS, place=PLACES, query=QUERIES, limit=LIMITS)
    def search_prompts(self, user: str, place: str, query: str, limit: int) -> None:
        found = self.ask("prompt-store", "search_prompts", user, place, query=query, limit=limit)
        self.expect_page(found, place, [one for one in self.newest_first("prompt", place) if has(one, query)], limit, 0)

    @rule(user=USERS, place=PLACES, tags=TAGS, limit=LIMITS)
    def filter_by_tags(self, user: str, place: str, tags: list[str], limit: int) -> None:
        tags = tags or ["z"]
        found = self.ask("prompt-store", "filter_by_tags", user, place, tags=tags, limit=limit)
        tagged = [one for one in self.newest_first("prompt", place) if set(tags) & set(one.state["tags"])]
        self.expect_page(found, place, tagged, limit, 0)

    def expect_page(self, found: Any, place: str, hits: list[Thing], limit: int, offset: int) -> None:
        """Compare the ids, the total and `has_more` of a page."""
        if self.project(place) is None:
            self.expect(found, "missing")
            return
        answer = self.expect(found, "ok")
        shown = hits[offset : offset + limit]
        assert [row["id"] for row in answer["prompts"]] == [one.id for one in shown]
        assert (answer["total"], answer["has_more"]) == (len(hits), offset + len(shown) < len(hits))

    @rule(user=USERS, way=st.sampled_from(["prompt-store", "satchel"]), place=PLACES)
    def list_tags(self, user: str, way: str, place: str) -> None:
        found = self.ask(way, "list_tags", user, place, **({"project": place} if way == "satchel" else {}))
        if self.project(place) is None:
            self.expect(found, "missing")
            return
        counts: dict[str, int] = {}
        for one in self.past.live("prompt", self.project(place)):
            counts |= {tag: counts.get(tag, 0) + 1 for tag in one.state["tags"]}
        rows = self.expect(found, "ok")["tags"]
        assert [(row["name"], row.get("prompt_count", row.get("prompts"))) for row in rows] == sorted(counts.items())

    @rule(user=USERS, place=PLACES, query=st.none() | QUERIES, tags=TAGS, match=st.sampled_from(["any", "all"]))
    def list_prompts_of_satchel(self, user: str, place: str, query: str | None, tags: list[str], match: str) -> None:
        found = self.ask("satchel", "list_prompts", user, query=query, tags=tags, match=match, project=place)
        if self.project(place) is None:
            self.expect(found, "missing")
            return
        combine = all if match == "all" else any
        hits = [
            one.name
            for one in self.newest_first("prompt", place)
            if has(one, query or "") and (not tags or combine(tag in one.state["tags"] for tag in tags))
        ]
        assert [row["name"] for row in self.expect(found, "ok")["prompts"]] == hits

    @rule(user=USERS, way=st.sampled_from(["mcpkg", "satchel"]), place=PLACES)
    def list_prompts_by_method(self, user: str, way: str, place: str) -> None:
        found = self.ask(way, "prompts/list", user, place)
        if self.project(place) is None:
            assert found[0] == "missing"
            return
        names = [row["name"] for row in self.expect(found, "ok")["prompts"] if row["name"] != "start-task"]
        assert names == [one.name for one in self.in_order("prompt", place)]

    @rule(user=USERS, place=PLACES)
    def complete_names(self, user: str, place: str) -> None:
        reference = {"type": "ref/resource", "uri": "satchel://prompt/{name}"}
        argument = {"name": "name", "value": "te"}
        found = self.ask("satchel", "completion/complete", user, place, ref=reference, argument=argument)
        if self.project(place) is None:
            assert found[0] == "missing"
            return
        names = {one.name for one in self.past.live("prompt", self.project(place))}
        values = self.expect(found, "ok")["completion"]["values"]
        assert {name for name in names if name.startswith("te")} <= set(values) <= names

    @rule(user=USERS, place=PLACES)
    def list_skills(self, user: str, place: str) -> None:
        uri = "skill://satchel/using-satchel/SKILL.md"
        found = self.ask("satchel", "skills/list", user, place)
        if self.project(place) is None:
            assert found[0] == "missing"
            return
        skills = {skill["uri"]: skill for skill in self.expect(found, "ok")["skills"]}
        one = self.ask("satchel", "skills/get", user, place, uri=uri)
        assert self.expect(one, "ok")["skill"] == skills[uri]


def has(thing: Thing, query: str) -> bool:
    """Return whether a search for a text finds a prompt."""
    return fold(query) in fold(thing.state["title"]) or fold(query) in fold(thing.state["content"])
