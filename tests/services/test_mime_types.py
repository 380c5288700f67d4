"""MIME types by the ending of a name."""

import pytest

from satchel.services import documents, rules


@pytest.mark.parametrize(
    ("name", "mime_type"),
    [
        ("README.md", "text/markdown"),
        ("a.b.PY", "text/x-python"),
        ("app.ts", "text/x-typescript"),
        ("data.json", "application/json"),
        ("conf.yml", "application/yaml"),
        ("pyproject.toml", "application/toml"),
        ("table.csv", "text/csv"),
        ("icon.svg", "image/svg+xml"),
        ("shot.png", "image/png"),
        ("photo.JPG", "image/jpeg"),
        ("anim.gif", "image/gif"),
        ("pic.webp", "image/webp"),
        ("paper.pdf", "application/pdf"),
        ("notes", "text/plain"),
        ("md", "text/plain"),
        ("v1.2", "text/plain"),
        (".md", "text/markdown"),
        ("", "text/plain"),
    ],
)
def test_the_ending_of_a_name_says_what_it_is(name: str, mime_type: str) -> None:
    assert documents.guess_type(name) == mime_type


def test_every_type_is_one_and_code_is_text() -> None:
    for mime_type in documents._TYPES.values():
        assert rules.clean_mime_type("document", mime_type) == mime_type
    for ending in ("md", "py", "ts", "js", "json", "jsonl", "yaml", "toml", "csv", "svg", "sh", "sql", "xml", "html"):
        assert rules.is_text(documents.guess_type(f"x.{ending}")), ending
