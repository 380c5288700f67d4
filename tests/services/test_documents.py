"""Documents: pages, finding one by name or URI, and writes."""

import pytest

from satchel.model import Document, DocumentDraft, Scope
from satchel.services import copying, documents, projects, restoring, rules
from satchel.storage.database import Database

HERE = Scope()


@pytest.fixture
def filled(database: Database) -> Database:
    """Return a store with some documents, and similar ones in another project."""
    projects.require(database, HERE)
    with database.write() as tx:
        projects.add(tx, "other")
        for name, uri, description in (
            ("readme", "file:///readme.md", "Über alles"),
            ("logo", "file:///img/LOGO.png", None),
            ("notes", "memo:notes", "of the readme"),
        ):
            for scope in (HERE, Scope(project="other")):
                documents.add(tx, scope, DocumentDraft(name=name, uri=uri, description=description, content="text"))
    return database


@pytest.mark.parametrize("batch", [500, 1])
def test_a_text_is_found_in_name_uri_and_description(
    filled: Database, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "_BATCH", batch)
    with filled.read() as tx:
        for query, names, has_more in (
            ("README", ["readme", "notes"], False),
            ("logo.PNG", ["logo"], False),
            ("ÜBER", ["readme"], False),
            ("%", [], False),
            ("e", ["readme", "logo"], True),
        ):
            found, is_more = documents.list_page(tx, HERE, query, limit=2)
            assert ([one.name for one in found], is_more) == (names, has_more)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("notes.md", "notes.md"),
        ("-a--b_.", "-a--b_."),
        (".env", ".env"),
        ("docs/API notes.md", "docs-API-notes.md"),
        ("../../etc/passwd", "etc-passwd"),
        ("./a\\b.tar.gz", "a-b.tar.gz"),
        ("Q3 / Größe & Café (new).md", "Q3-Grosse-Cafe-new.md"),
        ("a - b", "a-b"),
        ("Version 1. 2", "Version-1.-2"),
        ("日本.md", ""),
        ("???", ""),
    ],
)
def test_a_name_that_follows_the_rule_is_made_from_another(given: str, name: str) -> None:
    assert documents.make_name(given) == name


def test_a_uri_is_cut_by_bytes_to_make_room_for_its_number(filled: Database) -> None:
    uri = "memo:" + "ß" * 997  # 1,999 of 2,000 bytes
    with filled.write() as tx:
        first = documents.add(tx, HERE, DocumentDraft(name="long", uri=uri, content="text"))
        documents.add(tx, Scope(project="other"), DocumentDraft(name="taken", uri=uri, content="text"))
        copied, notes = copying.copy(tx, HERE, first, "other")
        assert isinstance(copied, Document)
        assert copied.uri == "memo:" + "ß" * 996 + "-2" and len(copied.uri.encode()) == 1999
        assert documents.get_by_uri(tx, Scope(project="other"), copied.uri).content == "text"
        assert len(notes) == 1
        documents.delete(tx, HERE, "long")
        documents.add(tx, HERE, DocumentDraft(name="new", uri=uri, content="text"))
        restoring.restore(tx, HERE, "long")
        assert documents.get_by_name(tx, HERE, "long").uri == copied.uri


def test_the_ending_of_a_name_says_what_it_is() -> None:
    for name, mime_type in {
        "README.md": "text/markdown",
        "a.b.PY": "text/x-python",
        "app.ts": "text/x-typescript",
        "icon.svg": "image/svg+xml",
        "photo.JPG": "image/jpeg",
        "paper.pdf": "application/pdf",
        ".md": "text/markdown",
        **dict.fromkeys(("notes", "md", "v1.2", ""), "text/plain"),
    }.items():
        assert documents.guess_type(name) == mime_type, name


def test_every_type_is_one_and_code_is_text() -> None:
    for mime_type in documents._TYPES.values():
        assert rules.clean_mime_type("document", mime_type) == mime_type
    for ending in ("md", "py", "ts", "js", "json", "jsonl", "yaml", "toml", "csv", "svg", "sh", "sql", "xml", "html"):
        assert rules.is_text(documents.guess_type(f"x.{ending}")), ending
