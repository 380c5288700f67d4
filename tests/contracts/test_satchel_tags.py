"""Tags in letters of any script: saved, filtered, changed, searched and completed."""

from tests.support.satchel import ok, refusal, text
from tests.support.stdio import Client
from tests.support.variants import both_engines


@both_engines
def test_a_tag_in_any_script_is_found_by_its_own_text(client: Client) -> None:
    ok(client, "add_prompts", prompts=[{"title": "Route", "content": "Turn left.", "tags": ["Straße", "日本語"]}])
    ok(client, "add_tasks", lines=["Sweep +Straße +日本", "Learn +“x”"])

    assert ok(client, "list_tags") == {
        "project": "default",
        "tags": [{"name": "straße", "prompts": 1}, {"name": "日本語", "prompts": 1}],
    }
    for tag in ("straße", "Straße", "STRAßE", "日本語"):
        assert [one["name"] for one in ok(client, "list_prompts", tags=[tag])["prompts"]] == ["route"]
    assert text(client, "list_tasks", tags=["+straße", "日本"], match="all") == "#1 Sweep +straße +日本"
    assert text(client, "list_tasks", tags=["strase"]) == (
        "No ready tasks match.\nNo task has the tag 'strase'. Did you mean straße?"
    )
    for query in ("straße", "日本語"):
        assert "route" in [hit["reference"] for hit in ok(client, "search", query=query)["hits"]]

    ok(client, "update_task", task="1", tags=["-STRAßE", "+été"])
    assert text(client, "list_tasks", query="sweep") == "#1 Sweep +été +日本"
    assert refusal(client, "update_task", task="1", tags=["a b"])["message"] == (
        "tags[0]: a tag has 1 to 50 letters, digits, - and _."
    )
