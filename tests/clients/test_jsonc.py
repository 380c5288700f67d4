"""One member of a JSON document with comments is set or removed; everything else stays as it is, byte for byte."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.clients.jsonc import WrongSyntax, load, parse, remove_member, set_member
from tests.clients.documents import KEYS, VALUES, json_texts

ENTRY = {"command": "/opt/satchel", "args": ["serve"]}
PATH = ("mcpServers", "satchel")


def values(draw: st.DrawFn) -> tuple[Any, str]:
    value = draw(st.dictionaries(KEYS, VALUES, max_size=4))
    return value, draw(json_texts(value))


pairs = st.composite(values)()


@given(VALUES.flatmap(lambda value: st.tuples(st.just(value), json_texts(value))))
def test_a_document_is_read_as_what_it_was_written_from(pair: tuple[Any, str]) -> None:
    value, text = pair
    assert load(text) == value


@given(pairs, KEYS, VALUES)
def test_setting_a_member_changes_this_member_only(pair: tuple[Any, str], key: str, new: Any) -> None:
    value, text = pair
    after = set_member(text, (key,), new)
    assert load(after) == {**value, key: new}
    assert comments(text) <= comments(after) or key in value  # a value that goes takes its own comments along
    assert set_member(after, (key,), new) == after


@given(pairs, KEYS)
def test_removing_a_member_removes_this_member_only(pair: tuple[Any, str], key: str) -> None:
    value, text = pair
    after = remove_member(text, (key,))
    assert load(after) == {name: one for name, one in value.items() if name != key}
    if key not in value:
        assert after == text


@given(st.text(alphabet='{}[]",:/*\n \\tru1e-.', max_size=40))
def test_any_text_is_read_or_refused_with_a_place_in_it(text: str) -> None:
    try:
        parse(text)
    except WrongSyntax as error:
        lines = text.split("\n")
        assert 1 <= error.line <= len(lines)
        assert 1 <= error.column <= len(lines[error.line - 1]) + 1


@given(st.text(alphabet='{}[]",: \n1ae\\', max_size=30))
def test_what_json_accepts_is_accepted_and_means_the_same(text: str) -> None:
    try:
        value = json.loads(text)
    except ValueError:
        return
    assert load(text) == value


def comments(text: str) -> set[str]:
    """Return the comments of a document, found by replacing its strings first."""
    bare = re.sub(r'"(?:[^"\\\n]|\\.)*"|(//[^\r\n]*|/\*.*?\*/)', lambda found: found.group(1) or '""', text, flags=re.S)
    return set(re.findall(r"//[^\r\n]*|/\*.*?\*/", bare, re.S))


BEFORE = """\
{
    // my servers
    "mcpServers": {
        "files": { "command": "npx", "args": ["-y"] }, // keep
        /* last */ "git": {
            "command": "uvx",
        }, // trailing comma, as I like it
        // "old": {}
    },
    "theme": "dark" // at night
}
"""
AFTER = """\
{
    // my servers
    "mcpServers": {
        "files": { "command": "npx", "args": ["-y"] }, // keep
        /* last */ "git": {
            "command": "uvx",
        }, // trailing comma, as I like it
        "satchel": {
            "command": "/opt/satchel",
            "args": [
                "serve"
            ]
        },
        // "old": {}
    },
    "theme": "dark" // at night
}
"""


def test_an_entry_is_added_in_the_style_of_the_document_and_removed_without_a_trace() -> None:
    assert set_member(BEFORE, PATH, ENTRY) == AFTER
    assert remove_member(AFTER, PATH) == BEFORE


def test_the_style_of_a_document_is_kept() -> None:
    for before, after in [
        ("", '{\n  "s": {\n    "x": 1\n  }\n}\n'),
        ("// mine\n", '// mine\n{\n  "s": {\n    "x": 1\n  }\n}\n'),
        ("{}", '{\n  "s": {\n    "x": 1\n  }\n}'),
        ("{}\n", '{\n  "s": {\n    "x": 1\n  }\n}\n'),
        ('{"a":1}', '{"a":1, "s": {"x": 1}}'),
        ('{"a":1,}', '{"a":1, "s": {"x": 1},}'),
        ('{"s":{}}', '{"s":{"x": 1}}'),
        ('{\r\n\t"a": 1\r\n}\r\n', '{\r\n\t"a": 1,\r\n\t"s": {\r\n\t\t"x": 1\r\n\t}\r\n}\r\n'),
        ('\ufeff{\n  "a": 1\n}', '\ufeff{\n  "a": 1,\n  "s": {\n    "x": 1\n  }\n}'),
        ('{\n  "a": 1 // one\n}', '{\n  "a": 1, // one\n  "s": {\n    "x": 1\n  }\n}'),
        ('{\n  "s": {\n    // none yet\n  }\n}', '{\n  "s": {\n    // none yet\n    "x": 1\n  }\n}'),
        ('{\n  "s": { "x": 2 }\n}', '{\n  "s": { "x": 1 }\n}'),
    ]:
        assert set_member(before, ("s", "x"), 1) == after


def test_a_broken_document_is_refused_with_line_and_column() -> None:
    for text, message in [
        ('{\n  "a": 1\n  "b": 2\n}', "line 3, column 3: there should be a comma or }"),
        ("{'a': 1}", "line 1, column 2: there should be a name in double quotes, or }"),
        ('{"a": tru}', "line 1, column 7: there should be a value, not 't'"),
        ('{"a": 1', "line 1, column 8: there should be a comma or }"),
        ('{"a"', "line 1, column 5: there should be a colon after the name"),
        (
            '{"a": "x\n"}',
            "line 1, column 7: a string does not end on its line, or has a character that must be escaped",
        ),
        ("{} {}", "line 1, column 4: there is something after the end of the document"),
        ("{ /* ", "line 1, column 3: a comment does not end"),
        ('{"s": 1, "s": 2}', 'line 1, column 10: "s" is there a second time, after line 1'),
        ('{"s": []}', 'line 1, column 7: "s" should be an object'),
        ('["s"]', "line 1, column 1: the document should be an object"),
        ("[" * 300, "line 1, column 202: it is nested more than 200 levels deep"),
        ("1" * 5000, "line 1, column 1: the number is too long"),
    ]:
        with pytest.raises(WrongSyntax) as refused:
            set_member(text, ("s", "x"), 1)
        assert str(refused.value) == message
