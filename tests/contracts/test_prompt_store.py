"""The prompt-store contract to the letter: whole replies over real stdio, both engines, newest and oldest revision.

prompt_store.json beside this file has the messages of the document, and changes only with it.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from satchel import __version__
from satchel.storage.database import Database
from tests.support.stdio import Client
from tests.support.variants import oldest_too

PRINTED = json.loads((Path(__file__).parent / "prompt_store.json").read_text())["tools"]
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
NOBODY = "550e8400-e29b-41d4-a716-446655440000"


@pytest.fixture
def client(revision: str, store: str, serve: Callable[..., Client]) -> Client:
    return serve("prompt-store", store, revision)


def body(result: dict[str, Any], client: Client, *, is_error: bool = False) -> Any:
    """Return the body of a tool result, after checking everything around it."""
    [content] = result["content"]
    said = json.loads(content["text"])
    expected: dict[str, Any] = {"content": [{"type": "text", "text": content["text"]}], "isError": is_error}
    if client.revision is None or client.revision >= "2025-06-18":
        expected["structuredContent"] = said
    assert result == expected
    compact = json.dumps(said, separators=(",", ":"), ensure_ascii=False).replace("\u2028", "\\u2028")
    assert content["text"] == compact
    return said


def ask(client: Client, tool: str, arguments: dict[str, Any] | None = None, **more: Any) -> Any:
    """Return a successful answer."""
    return body(client.call(tool, arguments, **more), client)


def refused(client: Client, tool: str, arguments: dict[str, Any] | None = None, **more: Any) -> Any:
    """Return a refusal: code and message."""
    said = body(client.call(tool, arguments, **more), client, is_error=True)
    assert set(said) == {"error"} and set(said["error"]) == {"code", "message"}
    return said["error"]


def add(client: Client, title: str, content: str = "Some content", tags: list[str] | None = None) -> str:
    """Add a prompt, and return its id."""
    arguments = {"title": title, "content": content} | ({} if tags is None else {"tags": tags})
    said = ask(client, "add_prompt", arguments)
    assert said == {"id": said["id"], "title": title.strip(), "created_at": said["created_at"]}
    assert UUID.fullmatch(said["id"]) and TIME.fullmatch(said["created_at"])
    id: str = said["id"]
    return id


def titles(page: dict[str, Any]) -> list[str]:
    return [prompt["title"] for prompt in page["prompts"]]


# -- the offer -------------------------------------------------------------------------------------------------


def test_the_server_introduces_itself_by_discover(store: str, serve: Callable[..., Client]) -> None:
    answer = serve("prompt-store", store).request("server/discover")
    assert answer["result"] == {
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {"listChanged": False}},
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "prompt-store", "version": __version__}},
        "ttlMs": 0,
        "cacheScope": "private",
    }


def test_the_server_introduces_itself_by_initialize(store: str, serve: Callable[..., Client]) -> None:
    server = serve("prompt-store", store)
    answer = server.initialize("2024-11-05")
    assert answer["result"] == {
        "protocolVersion": "2024-11-05",
        "capabilities": {"tools": {"listChanged": False}},
        "serverInfo": {"name": "prompt-store", "version": __version__},
    }


def test_eight_tools_are_listed_as_printed(client: Client) -> None:
    result = client.request("tools/list")["result"]
    printed = [
        {"name": name, "description": tool["description"], "inputSchema": tool["inputSchema"]}
        for name, tool in PRINTED.items()
    ]
    assert json.dumps(result["tools"]) == json.dumps(printed)  # in the same order


def test_nothing_but_tools_is_offered(client: Client) -> None:
    for method in ("prompts/list", "resources/list", "completion/complete", "logging/setLevel", "nope"):
        assert client.request(method, {})["error"] == {"code": -32601, "message": "Method not found"}


def test_an_unknown_tool_is_a_protocol_error(client: Client) -> None:
    answer = client.request("tools/call", {"name": "nope", "arguments": {}})
    assert answer["error"] == {"code": -32602, "message": "Unknown tool: nope"}


# -- the printed replies ----------------------------------------------------------------------------------------


def same_form(said: Any, printed: Any) -> bool:
    """Return whether a reply has the keys and types of the printed one, in its order, at every level."""
    if isinstance(printed, dict):
        return (
            isinstance(said, dict)
            and list(said) == list(printed)
            and all(same_form(said[key], printed[key]) for key in printed)
        )
    if isinstance(printed, list):
        return isinstance(said, list) and all(same_form(item, printed[0]) for item in said)
    if isinstance(printed, str) and re.match(r"\d{4}-\d\d-\d\dT", printed):
        return bool(TIME.fullmatch(said))
    if isinstance(printed, str) and UUID.fullmatch(printed):
        return bool(UUID.fullmatch(said))
    return type(said) is type(printed)


@oldest_too
def test_every_success_has_the_printed_form(client: Client) -> None:
    content = "You are a code reviewer. Analyze the following code for bugs."
    said = ask(client, "add_prompt", title="Code Review Assistant", content=content, tags=["coding", "review"])
    id = said["id"]
    replies = {
        "add_prompt": said,
        "list_prompts": ask(client, "list_prompts"),
        "get_prompt": ask(client, "get_prompt", id=id),
        "update_prompt": ask(client, "update_prompt", id=id, title="Code Review Assistant v2", content=content),
        "search_prompts": ask(client, "search_prompts", query="review"),
        "filter_by_tags": ask(client, "filter_by_tags", tags=["coding", "review"]),
        "list_tags": ask(client, "list_tags"),
        "delete_prompt": ask(client, "delete_prompt", id=id),
    }
    assert replies.keys() == PRINTED.keys()
    for name, reply in replies.items():
        assert same_form(reply, PRINTED[name]["success"]), (name, reply)


def test_every_printed_error_is_said_as_printed(client: Client) -> None:
    add(client, "Taken")
    other = add(client, "Other")
    said = {
        "add_prompt": [
            refused(client, "add_prompt", title="Taken", content="x"),
            refused(client, "add_prompt", title="", content="x"),
            refused(client, "add_prompt", title="New", content="x", tags=["invalid tag!"]),
        ],
        "get_prompt": [refused(client, "get_prompt", id=NOBODY)],
        "update_prompt": [
            refused(client, "update_prompt", id=NOBODY, title="x", content="x"),
            refused(client, "update_prompt", id=other, title="Taken", content="x"),
        ],
        "delete_prompt": [refused(client, "delete_prompt", id=NOBODY)],
    }
    for name, errors in said.items():
        assert [{"error": error} for error in errors] == PRINTED[name]["errors"]


# -- adding, getting, updating, deleting ------------------------------------------------------------------------


def test_a_prompt_comes_back_as_it_went_in(client: Client) -> None:
    content = '  Leading and trailing space stay. "Quotes", \\ back\\slashes, {{ braces }}, emoji 🎒, \u2028, tab\t\n'
    id = add(client, "  École 🎒  ", content, ["Zeta", "alpha", "ZETA", "b_1-x"])
    said = ask(client, "get_prompt", id=id)
    assert said == {
        "id": id,
        "title": "École 🎒",
        "content": content,
        "tags": ["alpha", "b_1-x", "zeta"],
        "created_at": said["created_at"],
        "updated_at": said["created_at"],
    }


def test_ids_are_found_in_either_case_and_returned_in_lower_case(client: Client) -> None:
    id = add(client, "One")
    assert ask(client, "get_prompt", id=id.upper())["id"] == id
    assert ask(client, "delete_prompt", id=id.upper()) == {"deleted": True, "id": id}


def test_a_malformed_id_is_not_found(client: Client) -> None:
    expected = {"code": "NOT_FOUND", "message": "Prompt not found"}
    for bad in ("", "1", "x" * 36, f"{{{NOBODY}}}", "urn:uuid:" + NOBODY, NOBODY.replace("-", ""), NOBODY + "\n"):
        assert refused(client, "get_prompt", id=bad) == expected
        assert refused(client, "delete_prompt", id=bad) == expected
        assert refused(client, "update_prompt", id=bad, title="t", content="c") == expected


def test_titles_are_unique_to_the_letter_after_trimming(client: Client) -> None:
    add(client, "Title")
    add(client, "title")
    add(client, "Title.")
    assert refused(client, "add_prompt", title="\tTitle\n", content="x")["code"] == "DUPLICATE_TITLE"
    assert ask(client, "list_prompts")["total"] == 3


def test_an_update_changes_title_content_and_time_and_keeps_the_rest(client: Client) -> None:
    id = add(client, "Old", "old", ["kept"])
    before = ask(client, "get_prompt", id=id)
    said = ask(client, "update_prompt", id=id, title=" New ", content="new")
    after = ask(client, "get_prompt", id=id)
    assert said == {"id": id, "title": "New", "updated_at": after["updated_at"]}
    assert after == before | {"title": "New", "content": "new", "updated_at": after["updated_at"]}
    assert after["updated_at"] >= before["updated_at"]


def test_an_update_without_tags_keeps_them_and_an_empty_list_clears_them(client: Client) -> None:
    id = add(client, "One", "x", ["a", "b"])
    ask(client, "update_prompt", id=id, title="One", content="x", tags=None)
    assert ask(client, "get_prompt", id=id)["tags"] == ["a", "b"]
    ask(client, "update_prompt", id=id, title="One", content="x", tags=["C", "b"])
    assert ask(client, "get_prompt", id=id)["tags"] == ["b", "c"]
    ask(client, "update_prompt", id=id, title="One", content="x", tags=[])
    assert ask(client, "get_prompt", id=id)["tags"] == []
    assert ask(client, "list_tags") == {"tags": [], "total": 0}


def test_an_update_that_changes_nothing_still_renews_the_time(client: Client) -> None:
    id = add(client, "One", "x")
    add(client, "Two", "x")
    ask(client, "update_prompt", id=id, title="One", content="x")
    assert [one["title"] for one in ask(client, "list_prompts")["prompts"]] == ["One", "Two"]  # the last updated first


def test_nothing_of_a_refused_update_remains(client: Client) -> None:
    add(client, "Taken")
    id = add(client, "Mine", "kept", ["kept"])
    before = ask(client, "get_prompt", id=id)
    refused(client, "update_prompt", id=id, title="Taken", content="lost", tags=["lost"])
    refused(client, "update_prompt", id=id, title="Mine", content="lost", tags=["not ok"])
    assert ask(client, "get_prompt", id=id) == before
    assert ask(client, "search_prompts", query="lost")["total"] == 0


def test_a_deleted_prompt_is_gone_from_everywhere(client: Client, database: Database) -> None:
    id = add(client, "Going", "unmistakable", ["leaving"])
    assert ask(client, "delete_prompt", id=id) == {"deleted": True, "id": id}
    assert refused(client, "delete_prompt", id=id)["code"] == "NOT_FOUND"
    assert refused(client, "get_prompt", id=id)["code"] == "NOT_FOUND"
    assert ask(client, "list_prompts")["total"] == 0
    assert ask(client, "search_prompts", query="unmistakable")["total"] == 0
    assert ask(client, "filter_by_tags", tags=["leaving"])["total"] == 0
    assert ask(client, "list_tags")["total"] == 0
    with database.read() as tx:
        assert tx.all("select 1 from prompts") == tx.all("select 1 from search_words") == []
        assert tx.all("select action from revisions where kind = 'prompt'") == [("delete",)]
    add(client, "Going")


# -- lists ------------------------------------------------------------------------------------------------------


def test_lists_run_from_the_last_updated_and_page_through(client: Client) -> None:
    ids = [add(client, f"P{number}") for number in range(5)]
    ask(client, "update_prompt", id=ids[1], title="P1", content="again")
    first = ask(client, "list_prompts", limit=2)
    assert titles(first) == ["P1", "P4"]
    assert {key: first[key] for key in first if key != "prompts"} == {
        "total": 5,
        "limit": 2,
        "offset": 0,
        "has_more": True,
    }
    assert titles(ask(client, "list_prompts", limit=2, offset=2)) == ["P3", "P2"]
    last = ask(client, "list_prompts", limit=2, offset=4)
    assert titles(last) == ["P0"] and last["has_more"] is False
    exact = ask(client, "list_prompts", limit=5)
    assert exact["has_more"] is False and len(exact["prompts"]) == 5


def test_an_entry_of_a_list_is_whole(client: Client) -> None:
    id = add(client, "One", "line one\n\n\tline two", ["b", "a"])
    prompt = ask(client, "get_prompt", id=id)
    assert ask(client, "list_prompts") == {
        "prompts": [
            {
                "id": id,
                "title": "One",
                "snippet": "line one line two",
                "tags": ["a", "b"],
                "created_at": prompt["created_at"],
                "updated_at": prompt["updated_at"],
            }
        ],
        "total": 1,
        "limit": 10,
        "offset": 0,
        "has_more": False,
    }


def test_an_empty_store_lists_nothing(client: Client) -> None:
    expected = {"prompts": [], "total": 0, "limit": 10, "offset": 0, "has_more": False}
    assert ask(client, "list_prompts") == expected
    assert ask(client, "search_prompts", query="x") == expected | {"query": "x"}
    assert ask(client, "filter_by_tags", tags=["x"]) == expected | {"matched_tags": []}
    assert ask(client, "list_tags") == {"tags": [], "total": 0}


def test_an_offset_beyond_the_end_finds_nothing(client: Client) -> None:
    add(client, "One", "x", ["t"])
    lists = (("list_prompts", {}), ("search_prompts", {"query": "one"}), ("filter_by_tags", {"tags": ["t"]}))
    for tool, more in lists:
        for offset in (1, 2**53 + 1, 2**63, 2**64, 10**30):
            page = ask(client, tool, more, offset=offset)
            assert (page["prompts"], page["total"], page["offset"], page["has_more"]) == ([], 1, offset, False)


# -- tags -------------------------------------------------------------------------------------------------------


def test_a_filter_finds_prompts_with_any_of_the_tags(client: Client) -> None:
    add(client, "A", tags=["x"])
    add(client, "B", tags=["y", "x"])
    add(client, "C", tags=["z"])
    page = ask(client, "filter_by_tags", tags=["Y", "x", "X", "no such tag!", "y"])
    assert titles(page) == ["B", "A"]
    assert page["matched_tags"] == ["y", "x"] and page["total"] == 2
    assert titles(ask(client, "filter_by_tags", tags=["x"], limit=1, offset=1)) == ["A"]
    add(client, "K", tags=["k"])
    kelvin = ask(client, "filter_by_tags", tags=["\u212a"])
    assert (kelvin["total"], kelvin["matched_tags"]) == (0, [])


def test_tags_in_use_are_counted_and_sorted_by_code_point(client: Client) -> None:
    add(client, "A", tags=["b", "a-1", "a_1", "a1"])
    add(client, "B", tags=["B"])
    assert ask(client, "list_tags") == {
        "tags": [
            {"name": "a-1", "prompt_count": 1},
            {"name": "a1", "prompt_count": 1},
            {"name": "a_1", "prompt_count": 1},
            {"name": "b", "prompt_count": 2},
        ],
        "total": 4,
    }


# -- wrong arguments --------------------------------------------------------------------------------------------

TITLE = {"code": "INVALID_TITLE", "message": "Title must be 1-200 characters"}


def test_a_title_has_1_to_200_characters_after_trimming(client: Client) -> None:
    id = add(client, "Fine")
    for title in ("", "   ", "\n\t", "x" * 201, "é" * 201, " " + "x" * 201):
        assert refused(client, "add_prompt", title=title, content="x") == TITLE
        assert refused(client, "update_prompt", id=id, title=title, content="x") == TITLE
    add(client, "🎒" * 200)
    add(client, "   " + "x" * 200 + "   ")


def test_a_tag_of_other_characters_is_named(client: Client) -> None:
    for tag in ("invalid tag!", "a b", "ä", "tag\n", "\n", "tag\u2029", "a.b", "𝐚", " a", "x;drop"):
        expected = {
            "code": "INVALID_TAG",
            "message": f"Tag '{tag}' contains invalid characters. Use only letters, numbers, dash, and underscore.",
        }
        said = client.call("add_prompt", title="T", content="x", tags=["fine", tag])
        assert json.loads(said["content"][0]["text"]) == {"error": expected} and said["isError"] is True
    assert ask(client, "list_prompts")["total"] == 0


def test_a_tag_has_1_to_50_characters(client: Client) -> None:
    for tag in ("", "x" * 51, "a b" * 30):
        expected = {"code": "INVALID_TAG", "message": f"Tag '{tag}' must be 1-50 characters"}
        assert refused(client, "add_prompt", title="T", content="x", tags=[tag]) == expected
    add(client, "T", tags=["x" * 50])


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("add_prompt", {"content": "x"}, "title"),
    ("add_prompt", {"title": "x"}, "content"),
    ("add_prompt", {}, "title"),
    ("add_prompt", {"title": 5, "content": "x"}, "title"),
    ("add_prompt", {"title": None, "content": "x"}, "title"),
    ("add_prompt", {"title": "", "content": 5}, "content"),  # types before bounds
    ("add_prompt", {"title": 5}, "content"),  # missing before types
    ("add_prompt", {"title": "x\0y", "content": "x"}, "title"),
    ("add_prompt", {"title": "x", "content": "x\0y"}, "content"),
    ("add_prompt", {"title": "x", "content": ""}, "content"),
    ("add_prompt", {"title": "x", "content": " \n\t "}, "content"),
    ("add_prompt", {"title": "x", "content": "x", "tags": "a"}, "tags"),
    ("add_prompt", {"title": "x", "content": "x", "tags": [None]}, "tags[0]: must be of type string"),
    ("add_prompt", {"title": "x", "content": "x", "tags": ["ok", "a\0"]}, "tags[1]: contains NUL or half a character"),
    ("add_prompt", {"title": "x", "content": "x", "tags": [f"t{n}" for n in range(101)]}, "tags"),
    ("list_prompts", {"limit": 0}, "limit"),
    ("list_prompts", {"limit": 101}, "limit"),
    ("list_prompts", {"limit": 10**30}, "limit"),
    ("list_prompts", {"offset": -1}, "offset"),
    ("list_prompts", {"offset": "0"}, "offset"),
    ("list_prompts", {"limit": 0, "offset": -1}, "limit"),
    ("get_prompt", {}, "id"),
    ("get_prompt", {"id": 5}, "id"),
    ("get_prompt", {"id": "\0"}, "id"),
    ("update_prompt", {"title": "x", "content": "x"}, "id"),
    ("update_prompt", {"id": NOBODY, "content": "x"}, "title"),
    ("update_prompt", {"id": NOBODY, "title": "x"}, "content"),
    ("update_prompt", {"id": NOBODY, "title": "x", "content": " "}, "content"),
    ("update_prompt", {"id": NOBODY, "title": "x", "content": "x", "tags": 5}, "tags"),
    ("delete_prompt", {}, "id"),
    ("search_prompts", {}, "query"),
    ("search_prompts", {"query": None}, "query"),
    ("search_prompts", {"query": "\0"}, "query"),
    ("search_prompts", {"query": "x" * 1001}, "query"),
    ("search_prompts", {"query": "x", "limit": 101}, "limit"),
    ("search_prompts", {"query": "x", "offset": -1}, "offset"),
    ("filter_by_tags", {}, "tags"),
    ("filter_by_tags", {"tags": []}, "tags"),
    ("filter_by_tags", {"tags": "a"}, "tags"),
    ("filter_by_tags", {"tags": ["\0"]}, "tags[0]: contains NUL or half a character"),
    ("filter_by_tags", {"tags": ["x"] * 101}, "tags"),
]


def test_anything_else_that_is_wrong_is_invalid_input_naming_the_field(client: Client) -> None:
    for tool, arguments, field in WRONG:
        error = refused(client, tool, arguments)
        assert error["code"] == "INVALID_INPUT" and field in error["message"], (tool, arguments, error)
        assert not any(other in error["message"] for other in ("satchel", "/", "Traceback", "msgspec", "select")), error
    assert ask(client, "list_prompts")["total"] == 0


def test_unknown_arguments_are_ignored_and_null_counts_as_absent(client: Client) -> None:
    said = ask(client, "add_prompt", title="T", content="c", tags=None, colour="red", version=3)
    assert ask(client, "get_prompt", id=said["id"], more=[1])["tags"] == []
    assert ask(client, "list_prompts", limit=None, offset=None)["limit"] == 10


def test_content_has_at_most_4_mib_of_utf_8(client: Client) -> None:
    limit = 4 * 1024 * 1024
    assert refused(client, "add_prompt", title="Big", content="x" * (limit + 1))["code"] == "INVALID_INPUT"
    assert refused(client, "add_prompt", title="Big", content="é" * (limit // 2) + "x")["code"] == "INVALID_INPUT"
    content = "é" * (limit // 2 - 3) + "needle"
    id = add(client, "Big", content)
    assert ask(client, "get_prompt", id=id)["content"] == content
    page = ask(client, "search_prompts", query="NEEDLE")
    assert titles(page) == ["Big"]
    assert page["prompts"][0]["snippet"] == "..." + "é" * 194 + "needle"
    ask(client, "update_prompt", id=id, title="Big", content="small")
    assert ask(client, "search_prompts", query="NEEDLE")["total"] == 0


# -- projects ---------------------------------------------------------------------------------------------------


def test_a_project_deleted_while_serving_is_reported_as_missing(client: Client, database: Database) -> None:
    add(client, "One")
    with database.write() as tx:
        tx.run("delete from projects")
    expected = {"code": "NOT_FOUND", "message": "Project 'default' does not exist"}
    calls: dict[str, dict[str, Any]] = {
        "add_prompt": {"title": "T", "content": "c"},
        "list_prompts": {},
        "get_prompt": {"id": NOBODY},
        "update_prompt": {"id": NOBODY, "title": "T", "content": "c"},
        "delete_prompt": {"id": NOBODY},
        "search_prompts": {"query": "x"},
        "filter_by_tags": {"tags": ["x"]},
        "list_tags": {},
    }
    assert calls.keys() == PRINTED.keys()
    for tool, arguments in calls.items():
        assert refused(client, tool, arguments) == expected
