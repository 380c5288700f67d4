"""What work with texts costs a model: tokens of the calls and of their answers, on either face."""

import json
from typing import Any

import pytest
from rs_bpe.bpe import openai

from tests.support.satchel import ok, result_of
from tests.support.stdio import Client

WORDS = [
    "one",
    "of",
    "the",
    "many",
    "words",
    "that",
    "a",
    "prompt",
    "of",
    "a",
    "real",
    "user",
    "has",
    "in",
    "its",
    "paragraphs",
]


def count(value: Any) -> int:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return len(openai.o200k_base().encode(text))


def cost(client: Client, tool: str, **arguments: Any) -> tuple[int, int]:
    """The tokens of a call and its answer, where a model sees the texts of it, and where it sees the value."""
    result = result_of(client, tool, arguments)
    assert result["isError"] is False, result
    asked = count({"name": tool, "arguments": arguments})
    texts = sum(count(one["text"]) for one in result["content"] if one["type"] == "text")
    return asked + texts, asked + count(result["structuredContent"])


def paragraphs(number: int) -> str:
    return "\n\n".join(" ".join(WORDS[(one + word) % len(WORDS)] for word in range(100)) for one in range(number))


@pytest.mark.parametrize("kind", ["prompt", "resource"])
def test_a_sentence_of_a_long_text_is_changed_cheaply(client: Client, kind: str) -> None:
    sentence = "Never answer in more than three sentences, and never in French."
    content = f"{paragraphs(10)}\n\n{sentence}\n\n{paragraphs(10)}"
    named = {"title": "Rules"} if kind == "prompt" else {"name": "rules"}
    ok(client, f"add_{kind}", {**named, "content": content})
    edit = {"old": sentence, "new": "Never answer in more than five sentences, and only in English."}
    assert max(cost(client, "edit_text", item="rules", edits=[edit], expected_version=1)) <= 130


def test_a_passage_of_a_large_document_is_read_and_changed_cheaply(client: Client) -> None:
    parts = [f"## Chapter {number}\n\n{paragraphs(4)}\n\n" for number in range(30)]
    content = "# Handbook\n\n" + "".join(parts)
    assert len(content) > 50_000
    ok(client, "add_resource", name="handbook.md", content=content)
    assert max(cost(client, "read_resource", resource="handbook.md")) <= 900
    assert max(cost(client, "read_resource", resource="handbook.md", lines="40-41")) <= 200
    edit = {"old": "## Chapter 17", "new": "## Chapter seventeen"}
    assert max(cost(client, "edit_text", item="handbook.md", edits=[edit])) <= 110


def test_rows_and_echoes_are_short(client: Client) -> None:
    description = "What it is for, in a sentence of the usual length, as people write them."
    arguments = [{"name": "who", "required": True, "description": "To whom", "values": ["a", "b"]}]
    entry = {"content": "Hi {{ who }}", "description": description, "tags": ["mail", "work"], "arguments": arguments}
    ok(client, "add_prompts", prompts=[{"title": f"Prompt number {number}", **entry} for number in range(29)])
    asked = count({"name": "list_prompts", "arguments": {}})
    # With a description of 15 words each; the names, tags and arguments alone are half of it.
    assert max(cost(client, "list_prompts")) - asked <= 29 * 55
    update = {"prompt": "prompt-number-3", "tags": ["+late"], "description": description * 3}
    asked = count({"name": "update_prompt", "arguments": update})
    assert max(cost(client, "update_prompt", **update)) - asked <= 80
    ok(client, "add_resources", resources=[{"name": f"page-{number}.md", "content": "x"} for number in range(29)])
    assert max(cost(client, "list_resources")) <= 500
    update = {"resource": "page-3.md", "content": "y" * 100, "description": description}
    asked = count({"name": "update_resource", "arguments": update})
    assert max(cost(client, "update_resource", **update)) - asked <= 60
