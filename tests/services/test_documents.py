"""Pages of resources, and finding one by name or URI."""

import pytest

from satchel.errors import NotFound
from satchel.model import DocumentDraft, Scope
from satchel.services import documents, projects
from satchel.storage.database import Database

HERE = Scope()


@pytest.fixture
def filled(database: Database) -> Database:
    """A store with some resources, and another project with the like."""
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
        assert documents.suggest(tx, HERE, "LOGO") == ("logo",)
        assert documents.suggest(tx, HERE, "file:///img/logo.jpg")[0] == "logo"
        assert documents.suggest(tx, HERE, "nothing at all") == ()


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
