"""History over HTTP: what a token opens, and no more; one that may only read restores nothing."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from satchel.auth import tokens
from satchel.model import PromptDraft, PromptPatch, Scope, TaskDraft, TaskPatch
from satchel.protocol.cursors import encode_cursor
from satchel.services import projects, prompts, tasks
from satchel.storage.database import open_database
from tests.support.in_process_http import HttpInProcess
from tests.support.satchel import ok, read_rows, refusal

ANN, BOB = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"


@dataclass
class World:
    """A server, the tokens for it, and the references to what some of them may not see."""

    server: HttpInProcess
    confined: str = ""  # Ann's, for the project `open`
    reading: str = ""  # Ann's, for reading
    free: str = ""  # Ann's, for everything
    of_bob: str = ""
    hidden: tuple[tuple[str, str], ...] = ()  # from the token for `open`, each with what does not exist of its form
    of_ann: tuple[tuple[str, str], ...] = ()  # from Bob


@pytest.fixture
def world(store: str) -> Iterator[World]:
    database = open_database(store)
    with database.write(Scope(user=ANN)) as tx:
        for name in ("default", "open", "secret"):
            projects.add(tx, name)
        prompt_ids = {}
        for name in ("open", "secret"):
            scope = Scope(user=ANN, project=name)
            for title in ("Plan", "Draft"):
                prompt = prompts.add(tx, scope, PromptDraft(title=f"{title} {name}", content="one"))
                prompts.update(tx, scope, prompt.id, PromptPatch(content="two"))
                prompt_ids[f"{title} {name}"] = prompt.id
            prompts.delete(tx, scope, prompt.id)
        scope = Scope(user=ANN)
        live = tasks.add(tx, scope, TaskDraft(title="Live", project="secret"))
        tasks.update(tx, scope, live.number, TaskPatch(title="Renamed"))
        deleted = tasks.add(tx, scope, TaskDraft(title="Deleted", project="secret"))
        tasks.delete(tx, scope, deleted.number)
        secrets = {
            "confined": tokens.create(tx, user=ANN, projects=["open"])[1],
            "reading": tokens.create(tx, user=ANN, is_read_only=True)[1],
            "free": tokens.create(tx, user=ANN)[1],
            "of_bob": tokens.create(tx, user=BOB)[1],
        }
    database.close()
    nobody = "00000000-0000-4000-8000-000000000000"
    of_ann = (
        *((f"#{task.number}", "#999") for task in (live, deleted)),
        *((f"satchel://task/{task.number}", "satchel://task/999") for task in (live, deleted)),
        *((task.id, nobody) for task in (live, deleted)),
    )
    hidden = (
        *of_ann,
        # As like the names of what the token opens, which are suggested.
        *(
            (name, name.replace("secret", "sacred"))
            for name in ("plan-secret", "draft-secret", "Plan secret", "secret")
        ),
        *((f"satchel://prompt/{name}-secret", f"satchel://prompt/{name}-sacred") for name in ("plan", "draft")),
        *((prompt_ids[title], nobody) for title in ("Plan secret", "Draft secret")),
        ("satchel://project/secret", "satchel://project/nothing"),
    )
    with HttpInProcess("--database", store, "--auth", "token") as server:
        yield World(server, **secrets, hidden=hidden, of_ann=of_ann)


@pytest.mark.parametrize("more", [{}, {"version": 1}])
@pytest.mark.parametrize("tool", ["history", "restore"])
def test_what_a_token_does_not_open_is_answered_like_what_does_not_exist(
    world: World, tool: str, more: dict[str, int]
) -> None:
    for token, references in ((world.confined, world.hidden), (world.of_bob, world.of_ann)):
        world.server.token = token
        for item, absent in references:
            answers = [str(refusal(world.server, tool, item=one, **more)).replace(one, "X") for one in (item, absent)]
            assert answers[0] == answers[1], item


def test_the_feed_tells_of_what_the_token_opens(world: World) -> None:
    def feed(token: str, **arguments: str) -> set[str]:
        world.server.token = token
        return {item for (item,) in read_rows(ok(world.server, "history", **arguments), "item")}

    assert feed(world.confined) == {"plan-open", "draft-open", "open"}
    assert not any(item.startswith("#") for item in feed(world.of_bob))
    for cursor in (encode_cursor("h", 10**17), encode_cursor("h", 9)):
        assert feed(world.confined, cursor=cursor) <= {"plan-open", "draft-open", "open"}
    for since in (encode_cursor("s", 1), encode_cursor("s", 10**17), "2000-01-01", "52w"):
        assert feed(world.confined, since=since) <= {"plan-open", "draft-open", "open"}
    for wrong in (encode_cursor("v", 3), encode_cursor("h", 10**30), encode_cursor("h", -1), "x", "h 3"):
        world.server.token = world.confined
        assert refusal(world.server, "history", cursor=wrong)["code"] == "invalid_argument"


def test_a_token_for_reading_reads_history_and_restores_nothing(world: World) -> None:
    world.server.token = world.free
    before = ok(world.server, "history")["changes"]
    world.server.token = world.reading
    assert ok(world.server, "history")["changes"] == before
    assert read_rows(ok(world.server, "history", item="#1"), "version") == [(2,), (1,)]
    statuses = set()
    for item in ("#1", "#2", "satchel://task/2", "#999", "nothing"):
        for arguments in ({"item": item}, {"item": item, "version": 1}):
            statuses.add(world.server.ask("tools/call", {"name": "restore", "arguments": arguments}).status)
    assert statuses == {403}
    world.server.token = world.free
    assert ok(world.server, "history")["changes"] == before


def test_a_confined_token_restores_where_it_may_write(world: World) -> None:
    world.server.token = world.confined
    assert ok(world.server, "restore", item="plan-open")["restored"]["version"] == 3
    assert ok(world.server, "restore", item="draft-open")["restored"]["version"] == 4
