"""Use and age of prompts and documents: uses are counted, and what is expired or replaced says so and comes last."""

from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from satchel.clock import now
from satchel.services import projects
from satchel.storage.database import Database
from tests.contracts.conftest import ANN
from tests.support.satchel import MINUTE, ok, refusal, text
from tests.support.stdio import NEWEST, Client
from tests.support.variants import both_engines


def names(answer: dict[str, Any], kind: str = "prompts") -> list[str]:
    return [one["name"] for one in answer[kind]]


# -- use --------------------------------------------------------------------------------------------------------


@both_engines
def test_prompts_are_listed_by_use(store: str, database: Database, serve: Callable[..., Client]) -> None:
    with database.write() as tx:
        projects.add(tx, "personal")
    client = serve("satchel", store, NEWEST)
    for name, project in (("a", "default"), ("b", "default"), ("c", "default"), ("d", "default"), ("p", "personal")):
        ok(
            client,
            "add_prompt",
            title=name,
            content=f"{name} {{{{ x }}}}",
            tags=["t"] if name in "ac" else [],
            project=project,
        )
    before = [ok(client, "history", item="c"), ok(client, "list_prompts")]
    ok(client, "get_prompt", prompt="c")
    ok(client, "get_prompt", prompt="a", arguments={"x": "1"})
    ok(client, "render_prompt", prompt="a", arguments={"x": "1"})
    client.request("prompts/get", {"name": "c", "arguments": {"x": "1"}})
    ok(client, "get_prompt", prompt="c", lines="1")
    ok(client, "get_prompt", prompt="p")

    listed = ok(client, "list_prompts", sort="used")
    assert names(listed) == ["c", "a", "d", "b", "p"]
    assert [one.get("uses") for one in listed["prompts"]] == [3, 2, None, None, 1]
    assert listed["prompts"][0]["last_used"] == MINUTE
    paged, cursor = [], None
    while cursor is not None or not paged:
        page = ok(client, "list_prompts", sort="used", limit=2, **({"cursor": cursor} if cursor else {}))
        paged += names(page)
        cursor = page.get("next_cursor")
    assert paged == names(listed)
    assert names(ok(client, "list_prompts", sort="used", tags=["t"])) == ["c", "a"]
    assert names(ok(client, "list_prompts", sort="used", query="A {{")) == ["a"]
    assert text(client, "list_prompts", sort="used", limit=1).startswith("- c [t] (x) used 3 times\n")
    assert text(client, "get_prompt", prompt="a").endswith(f"\nused 2 times, last {listed['prompts'][1]['last_used']}")
    # A use is no change.
    after = ok(client, "list_prompts")
    assert names(after) == names(before[1]) and ok(client, "history", item="c") == before[0]
    assert refusal(client, "list_prompts", cursor=ok(client, "list_prompts", sort="used", limit=1)["next_cursor"])


def test_only_callers_who_may_write_count_uses(store: str, serve: Callable[..., Client]) -> None:
    client = serve("satchel", store, NEWEST)
    ok(client, "add_prompt", title="a", content="a")
    reader = serve("satchel", store, NEWEST, "--user", ANN, "--read-only")
    assert ok(reader, "get_prompt", prompt="a")["prompt"]["content"] == "a"
    assert ok(reader, "get_prompt", prompt="a", arguments={})["text"] == "a"
    assert "uses" not in ok(client, "get_prompt", prompt="a")["prompt"]
    other = serve("prompt-store", store, NEWEST)  # other contracts count no uses
    id = other.call("list_prompts", {})["structuredContent"]["prompts"][0]["id"]
    assert not other.call("get_prompt", {"id": id}).get("isError")
    assert ok(client, "get_prompt", prompt="a")["prompt"]["uses"] == 1


def test_a_busy_store_drops_the_use_and_answers(
    store: str, database: Database, serve: Callable[..., Client], monkeypatch: Any
) -> None:
    from satchel.contracts.satchel import templates

    monkeypatch.setattr(templates, "_LOCK_TIMEOUT", 0.05)
    client = serve("satchel", store, NEWEST)
    ok(client, "add_prompt", title="a", content="a")
    with database.write():
        assert ok(client, "get_prompt", prompt="a")["prompt"]["content"] == "a"
    assert "uses" not in ok(client, "list_prompts")["prompts"][0]


# -- age --------------------------------------------------------------------------------------------------------


@both_engines
def test_items_expire_and_are_replaced(store: str, serve: Callable[..., Client]) -> None:
    client = serve("satchel", store, NEWEST)
    for title in ("Tone", "Tone 2"):
        ok(client, "add_prompt", title=title, content=f"{title}: be warm")
    for name in ("old.md", "new.md"):
        ok(client, "add_resource", name=name, content=f"# {name}\nwarm words")

    changed = text(client, "update_prompt", prompt="tone", expires="2026-10-01", replaced_by="Tone 2")
    line = "- tone version 2 expired on 2026-10-01, replaced by tone-2"
    assert changed == f"Updated in project 'default':\n{line}"
    changed = text(
        client, "update_resource", resource="old.md", expires="2999-10-01", replaced_by="satchel://resource/new.md"
    )
    assert changed.endswith("- old.md (19 bytes, version 2, expires on 2999-10-01, replaced by new.md)")

    prompt = ok(client, "get_prompt", prompt="tone")["prompt"]
    assert (prompt["expires"], prompt["replaced_by"]) == ("2026-10-01", "tone-2")
    assert "\nexpired on 2026-10-01, replaced by tone-2" in text(client, "get_prompt", prompt="tone", lines="1")
    document = ok(client, "read_resource", resource="old.md")["resource"]
    assert (document["expires"], document["replaced_by"]) == ("2999-10-01", "new.md")
    assert "]\nexpires on 2999-10-01, replaced by new.md" in text(client, "read_resource", resource="old.md")
    assert "- old.md (19 bytes, replaced by new.md)" in text(client, "list_resources")
    assert line.replace(" version 2", " used 2 times") in text(client, "list_prompts")

    hits = ok(client, "search", query="warm")["hits"]
    assert {one["reference"] for one in hits[:2]} == {"tone-2", "new.md"}
    assert {one["reference"]: (one.get("expires"), one.get("replaced_by")) for one in hits[2:]} == {
        "tone": ("2026-10-01", "tone-2"),
        "old.md": ("2999-10-01", "new.md"),
    }
    assert "- prompt tone: Tone (expired on 2026-10-01, replaced by tone-2)\n" in text(client, "search", query="warm")

    literal = [one["reference"] for one in ok(client, "search", query='"warm"', limit=4)["hits"]]
    assert (literal[:2], literal[2:]) == (["tone-2", "new.md"], ["tone", "old.md"])
    assert len(ok(client, "search", query='"warm"', limit=3)["hits"]) == 3

    # History, restore and undo know both.
    ok(client, "update_prompt", prompt="tone", expires="", replaced_by="")
    assert "expires" not in ok(client, "list_prompts", query="Tone:")["prompts"][0]
    difference = ok(client, "history", item="tone", version=3, against=2)["diff"]
    assert difference.splitlines()[2:] == ["-expires: 2026-10-01", "-replaced_by: tone-2"]
    ok(client, "restore", item="tone")
    restored = next(one for one in ok(client, "list_prompts")["prompts"] if one["name"] == "tone")
    assert (restored["expires"], restored["replaced_by"]) == ("2026-10-01", "tone-2")
    ok(client, "update_resource", resource="old.md", expires="", replaced_by="")
    ok(client, "restore", item="old.md")
    assert ok(client, "read_resource", resource="old.md")["resource"]["replaced_by"] == "new.md"
    # The name stays when its item is deleted, and moves with a copy.
    ok(client, "delete", items=["tone-2"])
    assert ok(client, "get_prompt", prompt="tone")["prompt"]["replaced_by"] == "tone-2"
    ok(client, "add_project", name="other")
    ok(client, "update_items", items=["old.md"], to="other", copy=True)
    assert ok(client, "read_resource", resource="old.md", project="other")["resource"]["expires"] == "2999-10-01"


def test_wrong_days_and_replacements_are_refused(client: Client) -> None:
    ok(client, "add_prompt", title="Tone", content="x")
    ok(client, "add_prompt", title="Far", content="x", project="garden")
    ok(client, "add_resource", name="tone.md", content="x")
    day = {
        "code": "invalid_argument",
        "message": "expires must be a day like 2026-11-30.",
        "hint": "An empty text removes the day.",
        "argument": "expires",
    }
    own = {
        "code": "invalid_argument",
        "message": "tone cannot be replaced by itself.",
        "hint": "Name the item that replaces it; an empty text removes the name.",
        "argument": "replaced_by",
    }
    assert refusal(client, "update_prompt", prompt="tone", expires="soon") == day
    assert refusal(client, "update_resource", resource="tone.md", expires="2026-02-30") == day
    assert refusal(client, "update_prompt", prompt="tone", replaced_by="Tone") == own
    assert refusal(client, "update_prompt", prompt="tone", replaced_by="nothing")["code"] == "not_found"
    assert refusal(client, "update_prompt", prompt="tone", replaced_by="far")["code"] == "not_found"
    assert refusal(client, "update_resource", resource="tone.md", replaced_by="tone")["code"] == "not_found"


@both_engines
def test_catch_up_lists_what_is_out_of_date(store: str, serve: Callable[..., Client]) -> None:
    client = serve("satchel", store, NEWEST)
    today = date.fromisoformat(now()[:10])
    days = [(today - timedelta(days)).isoformat() for days in (1, 3, 30)]
    for number, day in enumerate(days):
        ok(client, "add_prompt", title=f"Prompt {number}", content="x")
        ok(client, "update_prompt", prompt=f"prompt-{number}", expires=day)
        ok(client, "add_resource", name=f"{number}.md", content="x")
        ok(client, "update_resource", resource=f"{number}.md", expires=day)
    ok(client, "add_prompt", title="Valid", content="x")
    ok(client, "update_prompt", prompt="valid", expires=today.isoformat())
    ok(client, "update_prompt", prompt="prompt-1", replaced_by="valid")
    ok(client, "add_resource", name="old.md", content="x")
    ok(client, "update_resource", resource="old.md", replaced_by="0.md")
    answer = ok(client, "catch_up", since="1h")
    assert answer["expired"] == [
        "document old.md replaced by 0.md",
        f"prompt prompt-0 expired on {days[0]}",
        f"document 0.md expired on {days[0]}",
        f"prompt prompt-1 expired on {days[1]}, replaced by valid",
        f"document 1.md expired on {days[1]}",
    ]
    assert answer["more_expired"] == 2
    lines = ["Out of date:", *(f"- {row}" for row in answer["expired"])]
    more = "and 2 more: list_prompts and list_resources mark them"
    assert "\n".join([*lines, more, f"Later: catch_up with since {answer['marker']}"]) in text(
        client, "catch_up", since="1h"
    )


def test_a_dump_keeps_uses_and_age(store: str, serve: Callable[..., Client], tmp_path: Path) -> None:
    from satchel.storage import dump

    client = serve("satchel", store, NEWEST)
    ok(client, "add_prompt", title="a", content="a")
    ok(client, "get_prompt", prompt="a")
    ok(client, "update_prompt", prompt="a", expires="2026-10-01")
    file, other = str(tmp_path / "d.gz"), str(tmp_path / "other.db")
    dump.dump_to_file(store, file)
    with open(file, "rb") as opened:
        dump.load(other, dump.Dump(opened))
    [row] = ok(serve("satchel", other, NEWEST), "list_prompts")["prompts"]
    assert (row["uses"], row["last_used"], row["expires"]) == (1, MINUTE, "2026-10-01")
