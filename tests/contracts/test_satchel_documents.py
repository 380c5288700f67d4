"""The tools for documents of the contract satchel, on both engines: each success and each failure, replies whole."""

import base64

from tests.support.satchel import MINUTE, Like, deleted, missing, ok, refusal, result_of, text, wrong
from tests.support.stdio import Client, plain
from tests.support.variants import both_engines


def test_a_document_is_added_read_changed_and_deleted(client: Client) -> None:
    given = {"name": "notes.md", "content": "# Grüß", "description": "Of the day"}
    row = {"name": "notes.md", "size": 8, "version": 1}
    assert result_of(client, "add_resource", given) == {
        "content": [{"type": "text", "text": "Added to project 'default':\n- notes.md (8 bytes, version 1)"}],
        "structuredContent": {"project": "default", "resource": row},
        "isError": False,
    }
    whole = {**row, "mime_type": "text/markdown", "created": MINUTE, "updated": MINUTE}
    for reference in ("notes.md", " notes.md ", "satchel://resource/notes.md"):
        read = result_of(client, "read_resource", {"resource": reference})
        assert read["structuredContent"] == {
            "project": "default",
            "resource": {**whole, "description": "Of the day", "text": "# Grüß"},
        }
        times = f"updated {MINUTE}, created {MINUTE}"
        assert [one["text"] for one in read["content"]] == [
            "# Grüß",
            Like(rf"\[document notes.md, version 1, 8 bytes of text/markdown, {times}\]\ndescription: Of the day"),
        ]
    assert text(client, "list_resources") == "- notes.md (8 bytes): Of the day"
    listed = {"name": "notes.md", "size": 8, "description": "Of the day"}
    assert ok(client, "list_resources") == {"project": "default", "resources": [listed]}
    changed = result_of(client, "update_resource", {"resource": "notes.md", "description": "", "content": ""})
    assert changed == {
        "content": [{"type": "text", "text": "Updated in project 'default':\n- notes.md (0 bytes, version 2)"}],
        "structuredContent": {"project": "default", "resource": {**row, "size": 0, "version": 2}},
        "isError": False,
    }
    assert ok(client, "read_resource", resource="notes.md")["resource"] == {
        **whole,
        "size": 0,
        "version": 2,
        "text": "",
    }
    assert ok(client, "delete", items=["satchel://resource/notes.md"]) == {
        "project": "default",
        "deleted": [{"kind": "document", "item": "notes.md"}],
    }
    gone = deleted("Document 'notes.md'", "notes.md")
    assert refusal(client, "read_resource", resource="notes.md") == gone
    assert refusal(client, "update_resource", resource="notes.md", content="x") == gone


def test_an_image_is_read_as_an_image(client: Client) -> None:
    data = bytes(range(256))
    blob = base64.b64encode(data).decode()
    added = ok(client, "add_resource", name="logo", content=blob, mime_type="image/png", uri="file:///logo.png")
    row = {"name": "logo", "size": 256, "version": 1, "uri": "file:///logo.png", "mime_type": "image/png"}
    assert added["resource"] == row
    read = result_of(client, "read_resource", {"resource": "logo"})
    assert read["structuredContent"]["resource"] == {**row, "created": MINUTE, "updated": MINUTE}
    times = f"updated {MINUTE}, created {MINUTE}"
    assert read["content"] == [
        {
            "type": "text",
            "text": Like(rf"\[document logo, version 1, 256 bytes of image/png, {times}\]\nuri: file:///logo.png"),
        },
        {"type": "image", "data": blob, "mimeType": "image/png"},
    ]
    encoded = wrong("content must be base64, which the type image/png needs.", "content")
    for content in ("not base64", "QQ", "QR==", "Ä"):
        assert refusal(client, "add_resource", name="x", content=content, mime_type="image/png") == encoded
        assert refusal(client, "update_resource", resource="logo", content=content) == encoded
    assert refusal(client, "update_resource", resource="logo", mime_type="text/plain") == wrong(
        "Changing the MIME type from binary to text needs new content.", "content", "Give content too."
    )
    assert ok(client, "update_resource", resource="logo", mime_type="text/plain", content="hi")["resource"]["size"] == 2


def test_other_bytes_are_embedded_and_have_no_lines(client: Client) -> None:
    ok(client, "add_resource", name="paper.pdf", content="QUJD")
    uri = "satchel://resource/paper.pdf"
    _, block = result_of(client, "read_resource", {"resource": "paper.pdf"})["content"]
    assert block == {"type": "resource", "resource": {"uri": uri, "mimeType": "application/pdf", "blob": "QUJD"}}
    assert refusal(client, "read_resource", resource="paper.pdf", lines="1") == wrong(
        "A document of type application/pdf has no lines.", "lines", "Read it without lines."
    )
    assert refusal(client, "read_resource", resource="paper.pdf", heading="x")["argument"] == "heading"


def test_names_and_uris_of_documents_are_their_own(client: Client) -> None:
    ok(client, "add_resource", name="a", content="x", uri="doc:a")
    assert refusal(client, "add_resource", name="a", content="x") == {
        "code": "already_exists",
        "message": "A document with the name 'a' already exists in project 'default'.",
        "hint": "Choose another name, or update the document.",
    }
    assert refusal(client, "add_resource", name="b", content="x", uri="doc:a") == {
        "code": "already_exists",
        "message": "A document with the uri 'doc:a' already exists in project 'default' (document 'a').",
        "hint": "Choose another uri, or update the document.",
    }
    ok(client, "add_resource", name="a", content="y", uri="doc:a", project="garden")
    assert ok(client, "read_resource", resource="a", project="garden")["resource"]["text"] == "y"
    assert ok(client, "read_resource", resource="a")["resource"]["text"] == "x"


def test_generated_pages_are_read_too(client: Client) -> None:
    ok(client, "add_prompt", title="Hello", content="Wörld")
    ok(client, "add_task", title="Dig", project="garden")
    for uri, project, version in [
        ("satchel://prompt/hello", "default", 1),
        ("satchel://prompt/desk:plain", "default", 0),
        ("satchel://task/1", "garden", 1),
        ("satchel://project/garden", "garden", 0),
    ]:
        [page] = plain(client.request("resources/read", {"uri": uri})["result"])["contents"]
        size = len(page["text"].encode())
        about = f", version {version}" if version else ""
        resource = {"name": uri, "mime_type": page["mimeType"], "size": size}
        resource |= {"version": version} if version else {}
        assert result_of(client, "read_resource", {"resource": f" {uri} "}) == {
            "content": [
                {"type": "text", "text": page["text"]},
                {"type": "text", "text": f"[document {uri}{about}, {size} bytes of {page['mimeType']}]"},
            ],
            "structuredContent": {"project": project, "resource": {**resource, "text": page["text"]}},
            "isError": False,
        }
    ok(client, "add_prompt", title="There", content="x", project="garden")
    there = ok(client, "read_resource", resource="satchel://prompt/there", project="garden")
    assert (there["project"], there["resource"]["text"]) == ("garden", "x")


def test_a_page_that_cannot_be_generated_is_reported(client: Client) -> None:
    ok(client, "add_prompt", title="Hello", content="x")
    everything = "Use list_tasks with status all to see what there is."
    assert refusal(client, "read_resource", resource="satchel://prompt/helo") == missing(
        "Prompt 'helo' does not exist in project 'default'.", "Did you mean hello?", "hello"
    )
    assert refusal(client, "read_resource", resource="satchel://task/9") == missing(
        "Task 9 does not exist.", everything
    )
    assert refusal(client, "read_resource", resource="satchel://project/gardn") == missing(
        "Project 'gardn' does not exist.", "Did you mean garden?", "garden"
    )
    for uri in ("satchel://task/", "satchel://prompt/%20", "satchel://project/%00", "satchel://nothing/1"):
        assert refusal(client, "read_resource", resource=uri) == missing(
            f"Document '{uri}' does not exist in project 'default'.", "Use list_resources to see what there is."
        )


@both_engines
def test_a_document_is_renamed_and_every_way_back_knows_it(client: Client) -> None:
    ok(client, "add_resources", resources=[{"name": "a.md", "content": "one"}, {"name": "b.png", "content": "QUJD"}])
    ok(client, "add_tasks", lines=["Read\n  satchel://resource/a.md"])
    ok(client, "add_resource", name="far", content="x", uri="file:///far")
    assert refusal(client, "update_resource", resource="a.md", name="far")["code"] == "already_exists"
    assert ok(client, "update_resource", resource="a.md", name="c d.md", content="two") == {
        "project": "default",
        "resource": {"name": "c-d.md", "size": 3, "version": 2},
        "notes": ["a.md was renamed to c-d.md.", "Correct the items that still refer to a.md: #1."],
    }
    assert ok(client, "search", query="c-d")["hits"][0]["reference"] == "c-d.md"
    assert refusal(client, "read_resource", resource="a.md")["code"] == "not_found"
    assert text(client, "history", item="c-d.md", version=2, against=1).startswith(
        "--- version 1\n+++ version 2\n-name: a.md"
    )
    kept = ok(client, "update_resource", resource="far", name="near")["resource"]
    assert (kept["name"], kept["uri"]) == ("near", "file:///far")
    restored = ok(client, "restore", item="c-d.md")["restored"]
    assert (restored["item"], restored["version"]) == ("a.md", 3)
    assert ok(client, "get_task", task=1)["task"]["links"] == ["satchel://resource/a.md"]
    ok(client, "update_resource", resource="a.md", name="e.md")
    ok(client, "add_resource", name="a.md", content="new")
    answer = ok(client, "restore", item="e.md", version=1)
    assert answer["restored"]["item"] == "e.md"
    assert answer["notes"] == ["The name a.md is taken; the document keeps the name e.md."]
