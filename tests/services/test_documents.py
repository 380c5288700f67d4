"""Pages of documents, finding one by name or URI, and what a write makes."""

import pytest

from satchel.errors import NotFound
from satchel.model import Document, DocumentDraft, DocumentPatch, Scope
from satchel.services import copying, documents, history, lookup, projects, restoring
from satchel.storage.database import Database

HERE = Scope()


@pytest.fixture
def filled(database: Database) -> Database:
    """Return a store with some documents, and another project with the like."""
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


def test_pages_go_on_behind_a_number(filled: Database) -> None:
    with filled.read() as tx:
        first, has_more = documents.list_page(tx, HERE, limit=2)
        second, has_yet_more = documents.list_page(tx, HERE, limit=2, after=first[-1].number)
        assert [*first, *second] == documents.list_all(tx, HERE)
    assert (has_more, has_yet_more) == (True, False)


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


def test_a_resource_is_found_by_name_or_uri(filled: Database) -> None:
    with filled.read() as tx:
        assert documents.find(tx, HERE, "logo") == documents.find(tx, HERE, "file:///img/LOGO.png")
        assert documents.find(tx, HERE, "LOGO") == documents.find(tx, HERE, "satchel://resource/logo")
        with pytest.raises(NotFound):
            documents.find(tx, HERE, "LOGOS")
        for reference, names in (("LOGO", ["logo"]), ("file:///img/logo.jpg", ["logo"]), ("nothing at all", [])):
            assert [name for _, name, _ in lookup.suggest(tx, HERE, "document", reference)] == names


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


def test_a_change_that_changes_nothing_makes_no_version(filled: Database) -> None:
    with filled.write() as tx:
        before = documents.get_by_name(tx, HERE, "readme")
        patch = DocumentPatch(content="text", mime_type="text/plain", description="Über alles")
        assert documents.update(tx, HERE, "readme", patch) == before
        assert len(history.list_versions(tx, HERE, "readme", limit=9)[1]) == 1
        after = documents.update(tx, HERE, "readme", DocumentPatch(content="text\n"))
        assert (after.version, after.size) == (2, 5)
        assert after == documents.get_by_name(tx, HERE, "readme")
