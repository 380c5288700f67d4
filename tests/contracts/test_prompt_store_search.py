"""Searching in prompt-store: literal, case-folded, with snippets as decided; hostile queries over real stdio."""

import json
import re
import unicodedata
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from satchel.contracts.prompt_store import format_snippet
from satchel.model import PromptDraft, PromptQuery, Scope
from satchel.services import projects, prompts, texts
from satchel.storage.database import Database
from tests.support.soak import amount
from tests.support.stdio import Client
from tests.support.variants import both_engines

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
    *("", "q", "Q", "z", "line\r\nsecond", "\n\n\n", "second\tline", "  third", " ", "  ", "\t", "e", "qq", "zz", "ab"),
    *("\ufffd", "ab\ufffe", "ab\uffff", "b\ufffdc", "\ufffe\uffff\ufffd"),
    *("'; drop table prompts; --", "\x01", "\x7f", "\ufffd", "\u0000".replace("\0", "nul"), "x" * 1000),
]


def found(client: Client, query: str) -> dict[str, Any]:
    result = client.call("search_prompts", query=query, limit=100)
    assert result["isError"] is False, result
    page: dict[str, Any] = json.loads(result["content"][0]["text"])
    return page


@both_engines
def test_every_query_is_literal_text(store: str, serve: Callable[..., Client]) -> None:
    client = serve("prompt-store", store)
    for title, content in TEXTS.items():
        client.call("add_prompt", title=title, content=content)
    for query in QUERIES:
        page = found(client, query)
        expected = [
            title
            for title, content in reversed(TEXTS.items())
            if fold(query) in fold(title) or fold(query) in fold(content)
        ]
        assert [prompt["title"] for prompt in page["prompts"]] == expected, query
        assert page["total"] == len(expected) and page["query"] == query


@both_engines
def test_composed_and_decomposed_letters_are_the_same(store: str, serve: Callable[..., Client]) -> None:
    client = serve("prompt-store", store)
    composed, decomposed, other = "Café ǅ 한국", "Cafe\u0301 ǅ \u1112\u1161\u11ab국", "Cafe"
    for title, content in ((composed, "x"), (decomposed, "y"), ("C", composed), ("D", decomposed), ("E", other)):
        client.call("add_prompt", title=title, content=f"{content} and so on")
    for query in ("café", "CAFE\u0301", "É ǆ 한", "e\u0301 ǆ \u1112\u1161\u11ab"):
        page = found(client, query)
        assert page["query"] == query  # as the caller wrote it
        assert [prompt["title"] for prompt in page["prompts"]] == ["D", "C", decomposed, composed]
        assert page["prompts"][0]["snippet"] == f"{decomposed} and so on"  # as it is stored
    assert found(client, "cafe")["total"] == 1
    assert found(client, "\u0301")["total"] == 0


# -- against the plain definition, in-process on both engines -----------------------------------------------------

ALPHABET = st.sampled_from('aAbBcßSsİiﬁ"%_\\*() \t\nΣσ🎒éeE\u0301\u0323\u1112\u1161\u11ab\ufffd\ufffe\uffff')
SCOPE = Scope()


def fold(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


def decided_snippet(content: str, query: str) -> str:
    """Return the snippet that the decision defines, computed in a simple way from the whole content."""
    full = re.sub(r"\s+", " ", content)
    position = fold(content).find(fold(query)) if query else -1
    if position < 0:
        return at_words(full, 0, 200, hit=(0, 0))
    start, _ = texts.unfold_offset(content, position)
    _, end = texts.unfold_offset(content, position + len(fold(query)) - 1)
    assert fold(query) in fold(content[start:end]) and len(fold(content[:start])) <= position
    before = re.sub(r"\s+", " ", content[:start])
    left = len(before) - (bool(before) and before[-1] == " " and content[start].isspace())
    hit = len(re.sub(r"\s+", " ", content[start:end]))
    first = max(0, min(left - max(0, 200 - hit) // 2, len(full) - 200))
    return at_words(full, first, first + 200, hit=(left, left + hit if hit <= 200 else left))


def at_words(full: str, first: int, last: int, hit: tuple[int, int]) -> str:
    """Return a window of a text; move an end within a word to the next space if that is near and outside the hit."""
    if splits_word(full, first):
        near = range(first + 1, min(first + 20, hit[0]) + 1)
        first = next((one for one in near if full[one - 1] == " "), first)
    if splits_word(full, last):
        near = range(last - 1, max(last - 20, hit[1]) - 1, -1)
        last = next((one for one in near if full[one] == " "), last)
    return ("..." if first > 0 else "") + full[first:last] + ("..." if last < len(full) else "")


def splits_word(full: str, offset: int) -> bool:
    return 0 < offset < len(full) and " " not in full[offset - 1 : offset + 1]


@both_engines
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
            if fold(query) in fold(content) or fold(query) in fold(f"{number}:{content[::-1]}")
        ]
        assert sorted(int(item.title.split(":")[0]) for item in page.items) == expected
        for item in page.items:
            content = contents[int(item.title.split(":")[0])]
            assert format_snippet(item.excerpt) == decided_snippet(content, query)


SPACED = st.lists(
    st.sampled_from(["word", " ", "\n\n  ", "needle", "ß", "e\u0301", " " * 700, "x" * 150, "ﬁ", "\t"]),
    min_size=1,
    max_size=40,
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


def test_a_snippet_ends_at_a_word(store: str, serve: Callable[..., Client]) -> None:
    client = serve("prompt-store", store)
    sentence = "the quick brown fox jumps over the lazy dog "  # 44 characters
    contents = {
        "Words": sentence * 10,
        "Lines": sentence.replace(" ", "\n\n") * 10,
        "Fits": "x" * 200,
        "One word": "x" * 201,
        "Late space": "x" * 180 + " " + "y" * 100,
        "Early space": "x" * 179 + " " + "y" * 100,
        "Space at the end": "word " * 100,
        "Hit": "x" * 150 + " " + sentence * 5 + "NEEDLE " + sentence * 5,
        "Hit in a word": "x" * 300 + "NEEDLE" + "x" * 300,
    }
    for title, content in contents.items():
        client.call("add_prompt", title=title, content=content)
    listed = json.loads(client.call("list_prompts", limit=100)["content"][0]["text"])["prompts"]
    shown = {prompt["title"]: prompt["snippet"] for prompt in listed}
    words = sentence * 4 + "the quick brown fox..."
    assert {title: shown[title] for title in list(contents)[:7]} == {
        "Words": words,
        "Lines": words,
        "Fits": "x" * 200,
        "One word": "x" * 200 + "...",
        "Late space": "x" * 180 + "...",
        "Early space": "x" * 179 + " " + "y" * 20 + "...",
        "Space at the end": "word " * 40 + "...",
    }
    hits = {prompt["title"]: prompt["snippet"] for prompt in found(client, "needle")["prompts"]}
    assert hits == {
        "Hit": f"...lazy dog {sentence * 2}NEEDLE {sentence * 2}the...",
        "Hit in a word": "..." + "x" * 97 + "NEEDLE" + "x" * 97 + "...",
    }


def test_many_hits_come_in_order_and_are_all_counted(database: Database) -> None:
    count = 1500
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
