"""YAML and front matter: ordinary YAML is read as people mean it, bombs are refused, and writing keeps every value."""

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from satchel.yaml_reader import (
    MAX_DEPTH,
    MAX_NODES,
    WrongYaml,
    read_front_matter,
    read_yaml,
    write_front_matter,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUES = st.recursive(
    st.one_of(
        TEXTS, st.booleans(), st.integers(-(10**17), 10**17), st.sampled_from(["on", "1.10", "2026-01-01", "a\nb"])
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=8,
)


def test_ordinary_yaml_is_read_and_only_plain_words_and_whole_numbers_are_no_texts() -> None:
    text = """\
# a comment
title: On
date: 2026-01-02
version: 1.10
zip: 00123
count: 3
quoted: '3'
flag: true
empty:
folded: >
  two
  lines
block: |-
  two
  lines
list:
  - one: 1
    two: [a, "b, c"]
"escaped \\u00e9": {inline: yes}
!!str tagged: !include x
"""
    assert read_yaml(text) == {
        "title": "On",
        "date": "2026-01-02",
        "version": "1.10",
        "zip": "00123",
        "count": 3,
        "quoted": "3",
        "flag": True,
        "empty": None,
        "folded": "two lines\n",
        "block": "two\nlines",
        "list": [{"one": 1, "two": ["a", "b, c"]}],
        "escaped é": {"inline": "yes"},
        "tagged": "x",
    }


def test_yaml_that_is_wrong_or_exceeds_a_bound_is_refused() -> None:
    for text, what, is_excessive in [
        ("a: 1\nb: 2\na: 3", "the YAML has the key a twice, again in line 3", False),
        ("a: &x [1]\nb: *x", "the YAML has the alias *x in line 2; write the value itself there", True),
        ("a: *x", "the YAML has the alias *x in line 1; write the value itself there", False),
        ("? [a]\n: 1", "the YAML has a key in line 1 that is a list or a mapping", False),
        ("a: [", "the YAML cannot be read in line 2: did not find expected node content", False),
        ("[" * 5000, f"the YAML is nested deeper than {MAX_DEPTH} levels", True),
        ("- x\n" * (MAX_NODES + 1), f"the YAML has more than {MAX_NODES} values", True),
    ]:
        with pytest.raises(WrongYaml) as refused:
            read_yaml(text)
        assert str(refused.value) == what and refused.value.is_excessive == is_excessive


@given(st.dictionaries(TEXTS, VALUES, max_size=4), TEXTS)
def test_front_matter_is_read_as_it_was_written_also_by_other_readers(fields: dict[str, Any], body: str) -> None:
    kept = {key: value for key, value in fields.items() if value not in ([], {})}
    text = write_front_matter(fields, body)
    assert read_front_matter(text) == (kept, body)
    assert (yaml.safe_load(text.removeprefix("---\n").removesuffix(f"---\n{body}")) or {}) == kept


def test_front_matter_is_written_as_people_write_it() -> None:
    fields = {"title": "Review: code", "description": None, "tags": ["a", "b, c"], "text": "one\ntwo"}
    arguments = {"arguments": [{"name": "code", "required": False}]}
    assert write_front_matter(fields | arguments, "Body\n") == (
        "---\ntitle: 'Review: code'\ntags: [a, 'b, c']\ntext: |-\n  one\n  two\n"
        "arguments:\n- name: code\n  required: false\n---\nBody\n"
    )
    assert write_front_matter({"name": "plain"}) == "---\nname: plain\n---\n"


def test_front_matter_that_is_nearly_yaml_is_read_only_if_asked_for() -> None:
    text = "---\na: [x] [y]\nb: c: d\nlist:\n  - 1\n  - 2\nglobs: *.ts\n---\nbody"
    with pytest.raises(WrongYaml):
        read_front_matter(text)
    expected = {"a": "[x] [y]", "b": "c: d", "list": [1, 2], "globs": "*.ts"}
    assert read_front_matter(text, is_lenient=True) == (expected, "body")
    for other in ("no front matter", "---\nnever ends\n", "---\njust text\n---\nbody", "--- x\na: b\n---\n"):
        assert read_front_matter(other, is_lenient=True) == (None, other)
    assert read_front_matter("---\n---\nbody") == ({}, "body")
    assert read_front_matter("---\r\na: b\r\n---\r\nbody") == ({"a": "b"}, "body")
    with pytest.raises(WrongYaml, match="in line 3"):
        read_front_matter("---\na: 1\nb: ]\n---\n")
