"""Searching in prompt-store: literal, case-folded, with snippets as decided; hostile queries over real stdio."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from satchel.contracts.prompt_store import format_snippet
from satchel.model import PromptDraft, PromptQuery, Scope
from satchel.services import excerpts, projects, prompts
from satchel.storage.database import Database
from tests.support.soak import amount
from tests.support.stdio import Server

TEXTS = {
    "Percent": "100% of _all_ things; 50%_off",
    "Quotes": "She said \"yes\" and 'no'; it's `fine`",
    "Operators": 'a AND b OR (c NOT d) NEAR/3 "e" * ^f col:x {y} +z -w',
    "Backslash": r"C:\path\to\new \% \_ \\",
    "Emoji": "bags 🎒 and flags 🇨🇭 and families 👩‍👩‍👧",
    "Umlaute": "Straße, ÄRGER, İstanbul, ﬁne ΣΊΣΥΦΟΣ",
    "Lines": "first line\r\nsecond\tline\n\n\n  third",
    "Nonsense": "ab\ufffe b\uffffc \ufffd\ufffe\uffff",
    "z": "Q",
}
QUERIES = [
    *("%", "_", "%_", "100%", "_all_", "50%_off", '"', "'", '"yes"', "it's", "`fine`", "''", '""', '"""'),
    *("AND", "a AND b", "OR (", "NOT d)", "NEAR/3", "*", "^f", "col:x", "{y}", "+z", "-w", "(", ")", "a*", "b OR"),
    *("\\", r"\p", r"C:\path", r"\%", r"\_", r"\\", "🎒", "🇨", "👩‍👩‍👧", "\u200d", "flags 🇨🇭"),
    *("straße", "STRASSE", "strasse", "ärger", "ÄRGER", "i̇stanbul", "ISTANBUL", "fine", "ﬁne", "σίσυφος", "σίσυφοσ"),
    *("q", "Q", "z", "line\r\nsecond", "\n\n\n", "second\tline", "  third", " ", "  ", "\t", "e", "qq", "zz", "ab"),
    *("\ufffd", "ab\ufffe", "ab\uffff", "b\ufffdc", "\ufffe\uffff\ufffd"),
    *("'; drop table prompts; --", "\x01", "\x7f", "\ufffd", "\u0000".replace("\0", "nul"), "x" * 1000),
]


def found(client: Server, query: str) -> dict[str, Any]:
    result = client.call("search_prompts", query=query, limit=100)
    assert result["isError"] is False, result
    page: dict[str, Any] = json.loads(result["content"][0]["text"])
    return page


def test_every_query_is_literal_text(store: str, serve: Callable[..., Server]) -> None:
    client = serve("prompt-store", store)
    for title, content in TEXTS.items():
        client.call("add_prompt", title=title, content=content)
    for query in QUERIES:
        page = found(client, query)
        expected = [
            title
            for title, content in reversed(TEXTS.items())
            if query.casefold() in title.casefold() or query.casefold() in content.casefold()
        ]
        assert [prompt["title"] for prompt in page["prompts"]] == expected, query
        assert page["total"] == len(expected) and page["query"] == query


def test_an_empty_query_lists_everything(store: str, serve: Callable[..., Server]) -> None:
    client = serve("prompt-store", store)
    for title in "ABC":
        client.call("add_prompt", title=title, content="x")
    page = found(client, "")
    assert [prompt["title"] for prompt in page["prompts"]] == ["C", "B", "A"]
    assert page["query"] == "" and page["total"] == 3


# -- against the plain definition, in-process on both engines -----------------------------------------------------

ALPHABET = st.sampled_from('aAbBcßSsİiﬁ"%_\\*() \t\nΣσ🎒é\ufffd\ufffe\uffff')
SCOPE = Scope()


def decided_snippet(content: str, query: str) -> str:
    """The snippet as decided, straightforwardly from the whole content."""
    full = re.sub(r"\s+", " ", content)
    position = content.casefold().find(query.casefold()) if query else -1
    if position < 0:
        return full[:200] + ("..." if len(full) > 200 else "")
    start = excerpts.unfolded_offset(content, position)
    end = excerpts.unfolded_offset(content, position + len(query.casefold()) - 1) + 1
    before = re.sub(r"\s+", " ", content[:start])
    left = len(before) - (bool(before) and before[-1] == " " and content[start].isspace())
    hit = len(re.sub(r"\s+", " ", content[start:end]))
    first = max(0, min(left - max(0, 200 - hit) // 2, len(full) - 200))
    return ("..." if first > 0 else "") + full[first : first + 200] + ("..." if first + 200 < len(full) else "")


@settings(max_examples=amount(20, 60))
@given(
    contents=st.lists(st.text(ALPHABET, min_size=1, max_size=40).filter(str.strip), min_size=1, max_size=6),
    queries=st.lists(st.text(ALPHABET, max_size=5), min_size=1, max_size=8),
)
def test_search_agrees_with_plain_substring_search(database: Database, contents: list[str], queries: list[str]) -> None:
    projects.require(database, SCOPE)
    with database.write() as tx:
        tx.run("delete from prompts")
        for number, content in enumerate(contents):
            prompts.add(tx, SCOPE, PromptDraft(title=f"{number}:{content[::-1]}", content=content))
    for query in queries:
        with database.read() as tx:
            page = prompts.list_counted(tx, SCOPE, PromptQuery(text=query), limit=100, offset=0)
        expected = [
            number
            for number, content in enumerate(contents)
            if query.casefold() in content.casefold() or query.casefold() in f"{number}:{content[::-1]}".casefold()
        ]
        assert sorted(int(item.title.split(":")[0]) for item in page.items) == expected
        for item in page.items:
            content = contents[int(item.title.split(":")[0])]
            assert format_snippet(item.excerpt) == decided_snippet(content, query)


SPACED = st.lists(
    st.sampled_from(["word", " ", "\n\n  ", "needle", "ß", " " * 700, "x" * 150, "ﬁ", "\t"]), min_size=1, max_size=40
)


@settings(max_examples=amount(30, 80))
@given(pieces=SPACED, query=st.sampled_from(["needle", "NEEDLE ", "ss", " ", "word\n", "xneedle", "fi"]))
def test_snippets_of_long_texts_are_as_decided(database: Database, pieces: list[str], query: str) -> None:
    content = "".join(pieces)
    if not content.strip():
        return
    projects.require(database, SCOPE)
    with database.write() as tx:
        tx.run("delete from prompts")
        prompts.add(tx, SCOPE, PromptDraft(title="T", content=content))
        page = prompts.list_counted(tx, SCOPE, PromptQuery(text=query), limit=1, offset=0)
        everything = prompts.list_counted(tx, SCOPE, PromptQuery(), limit=1, offset=0)
    assert format_snippet(everything.items[0].excerpt) == decided_snippet(content, "")
    if page.items:
        assert format_snippet(page.items[0].excerpt) == decided_snippet(content, query)


@pytest.mark.parametrize("count", [1500])
def test_many_hits_come_in_order_and_are_all_counted(database: Database, count: int) -> None:
    projects.require(database, SCOPE)
    with database.write() as tx:
        for number in range(count):
            prompts.add(tx, SCOPE, PromptDraft(title=f"T{number}", content="common text", tags=["common"]))
        for query in ("common", "co", "t1499"):
            page = prompts.list_counted(tx, SCOPE, PromptQuery(text=query), limit=3, offset=0)
            hits = [number for number in range(count) if query in f"t{number} common text"]
            assert page.total == len(hits)
            assert [item.title for item in page.items] == [f"T{number}" for number in reversed(hits)][:3]
        deep = prompts.list_counted(tx, SCOPE, PromptQuery(tags=["common"]), limit=2, offset=count - 2)
        assert [item.title for item in deep.items] == ["T1", "T0"]
