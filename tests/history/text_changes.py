"""Changes of prompts and resources, through the services and through every contract that has them."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule

from satchel.model import UNSET, Argument, DocumentDraft, DocumentPatch, PromptDraft, PromptPatch, Scope
from satchel.services import documents, prompts
from tests.history.machine import NAMES, PICKS, PLACES, TAGS, TEXTS, TITLES, USERS, Machine
from tests.history.past import Thing

ARGUMENTS = st.sampled_from([(), (Argument("topic", "What about", True, ("tea",)),)])
PROMPT_CONTRACTS = st.sampled_from(["prompt-store", "mcpkg", "satchel"])
RESOURCE_WAYS = st.sampled_from(["", "mcpkg", "satchel"])
CONTENTS = st.one_of(TEXTS, st.binary(max_size=300))


class TextChanges(Machine):
    """What users do with prompts and resources."""

    @rule(user=USERS, place=PLACES, title=TITLES, content=TEXTS, tags=TAGS, arguments=ARGUMENTS)
    def add_prompt(self, user: str, place: str, title: str, content: str, tags: Any, arguments: Any) -> None:
        draft = PromptDraft(title=title, content=content, tags=tags, arguments=arguments)
        scope = Scope(user=user, project=place)
        is_done = self.ways.act(scope, lambda tx: prompts.add(tx, scope, draft))
        self.expect_prompt(is_done, scope, "", title=title, content=content, tags=tags, arguments=arguments)

    @rule(user=USERS, way=PROMPT_CONTRACTS, place=PLACES, title=TITLES, name=NAMES, content=TEXTS, tags=TAGS)
    def add_prompt_by_contract(
        self, user: str, way: str, place: str, title: str, name: str, content: str, tags: Any
    ) -> None:
        scope = Scope(user=user, project=place)
        if way == "mcpkg":
            title, tags = name, ()
            is_done = self.ways.call(way, scope, "create_prompt", name=name, content=content)
        else:
            is_done = self.ways.call(way, scope, "add_prompt", title=title, content=content, tags=list(tags))
        named = {"name": name} if way == "mcpkg" else {}
        self.expect_prompt(is_done, scope, way, title=title, content=content, tags=tags, **named)

    @rule(user=USERS, pick=PICKS, title=st.one_of(st.none(), TITLES), content=TEXTS, tags=TAGS, arguments=ARGUMENTS)
    def edit_prompt(self, user: str, pick: int, title: str | None, content: str, tags: Any, arguments: Any) -> None:
        thing, scope = self.choose("prompt", pick, user)
        if thing is None:
            return
        patch = PromptPatch(title=title or UNSET, content=content, tags=tags, arguments=arguments)
        is_done = self.ways.act(scope, lambda tx: prompts.update(tx, scope, thing.id, patch))
        changed = {"title": title} if title else {}
        self.expect_edit(is_done, user, "", thing, **changed, content=content, tags=tags, arguments=arguments)

    @rule(user=USERS, way=PROMPT_CONTRACTS, pick=PICKS, content=TEXTS)
    def edit_prompt_by_contract(self, user: str, way: str, pick: int, content: str) -> None:
        thing, scope = self.choose("prompt", pick, user)
        if thing is None or not self.past.is_visible(thing):
            return
        title = thing.state["title"] if way == "prompt-store" else None
        is_done = self.ways.call(way, scope, "update_prompt", **prompt_key(way, thing), title=title, content=content)
        self.expect_edit(is_done, user, way, thing, content=content)

    @rule(user=USERS, way=st.one_of(st.just(""), PROMPT_CONTRACTS), pick=PICKS)
    def delete_prompt(self, user: str, way: str, pick: int) -> None:
        thing, scope = self.choose("prompt", pick, user)
        if thing is None or (way and not self.past.is_visible(thing)):
            return
        if way:
            is_done = self.ways.call(way, scope, "delete_prompt", **prompt_key(way, thing))
        else:
            is_done = self.ways.act(scope, lambda tx: prompts.delete(tx, scope, thing.id))
        self.expect_deletion(is_done, user, way, thing)

    def expect_prompt(self, is_done: bool, scope: Scope, way: str, *, name: str | None = None, **given: Any) -> None:
        """Expect a new prompt, which is refused where its project is not there, or its title or given name is taken."""
        project = self.project(scope.project)
        past = self.past.begin(str(scope.user), way)
        others = [one.state for one in past.live("prompt", project)] if project else []
        is_taken = any(given["title"] == one["title"] or name == one["name"] for one in others)
        assert is_done is (project is not None and not is_taken)
        if not is_done:
            return
        thing = self.newest("prompt", project, None)
        with self.database.read(scope) as tx:
            made = prompts.get(tx, scope, thing.id).name
        assert made not in {one["name"] for one in others} and name in (None, made)
        past.add(thing, {"name": made, "description": None, "arguments": (), **given})
        self.past = past

    @rule(user=USERS, way=RESOURCE_WAYS, place=PLACES, name=NAMES, content=CONTENTS)
    def add_resource(self, user: str, way: str, place: str, name: str, content: str | bytes) -> None:
        scope, uri, mime_type = Scope(user=user, project=place), f"doc:{name[:3]}", "text/plain"
        if way:
            content = content if isinstance(content, str) else content.hex()
            tool = "create_resource" if way == "mcpkg" else "add_resource"
            is_done = self.ways.call(way, scope, tool, name=name, uri=uri, content=content)
        else:
            mime_type = mime_type if isinstance(content, str) else "image/png"
            draft = DocumentDraft(name=name, uri=uri, content=content, mime_type=mime_type)
            is_done = self.ways.act(scope, lambda tx: documents.add(tx, scope, draft))
        past, project = self.past.begin(user, way), self.project(place)
        others = [one.state for one in past.live("document", project)] if project else []
        is_taken = any(name == one["name"] or uri == one["uri"] for one in others)
        assert is_done is (project is not None and not is_taken)
        if is_done:
            state = {"name": name, "uri": uri, "mime_type": mime_type, "description": None, "content": content}
            past.add(self.newest("document", project, None), state)
            self.past = past

    @rule(user=USERS, way=RESOURCE_WAYS, pick=PICKS, content=TEXTS, data=st.binary(max_size=3000))
    def edit_resource(self, user: str, way: str, pick: int, content: str, data: bytes) -> None:
        thing, scope = self.choose("document", pick, user)
        if thing is None or not self.past.is_visible(thing):
            return
        new: str | bytes = content if isinstance(thing.state["content"], str) else data
        if way and isinstance(new, str):
            is_done = self.ways.call(way, scope, "update_resource", **resource_key(way, thing), content=new)
        else:
            way, patch = "", DocumentPatch(content=new)
            is_done = self.ways.act(scope, lambda tx: documents.update(tx, scope, thing.name, patch))
        self.expect_edit(is_done, user, way, thing, content=new)

    @rule(user=USERS, way=RESOURCE_WAYS, pick=PICKS)
    def delete_resource(self, user: str, way: str, pick: int) -> None:
        thing, scope = self.choose("document", pick, user)
        if thing is None or not self.past.is_visible(thing):
            return
        if way:
            is_done = self.ways.call(way, scope, "delete_resource", **resource_key(way, thing))
        else:
            is_done = self.ways.act(scope, lambda tx: documents.delete(tx, scope, thing.name))
        self.expect_deletion(is_done, user, way, thing)


def prompt_key(way: str, thing: Thing) -> dict[str, str]:
    """Return the argument by which a contract names a prompt."""
    return {"prompt-store": {"id": thing.id}, "mcpkg": {"name": thing.name}}.get(way, {"prompt": thing.name})


def resource_key(way: str, thing: Thing) -> dict[str, str]:
    """Return the argument by which a contract names a resource."""
    return {"name" if way == "mcpkg" else "resource": thing.name}
