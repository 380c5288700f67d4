"""The personal layer over any two projects: own items come first, then the personal ones that they do not hide."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from satchel.errors import NotFound
from satchel.model import DocumentDraft, PromptDraft, PromptQuery, Scope
from satchel.services import documents, layers, projects, prompts, search
from satchel.storage.database import Database, Tx, open_database
from tests.support.soak import amount

UPPER, LOWER = Scope(project="web", personal="personal"), Scope(project="personal")
Fill = Callable[[list[str], list[str]], Database]
NAMES = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)


@pytest.fixture
def filled(store: str) -> Iterator[Fill]:
    """Yield a function that empties a store, and adds prompts and documents with some names to two projects."""
    database = open_database(store)

    def fill(upper: list[str], lower: list[str]) -> Database:
        with database.write() as tx:
            for project, _ in projects.list_all(tx):
                projects.delete(tx, project.name)
            for scope, names in ((UPPER, upper), (LOWER, lower)):
                projects.add(tx, scope.project)
                for name in names:
                    prompts.add(tx, scope, PromptDraft(title=f"Word {name}", name=name, content="word"))
                    draft = DocumentDraft(name=name, uri=f"doc:{name}", content="word")
                    documents.add(tx, scope, draft)
        return database

    yield fill
    database.close()


def walk(read: Callable[..., tuple[tuple[Any, ...], bool]]) -> list[tuple[str, str]]:
    """Return the names and layers of all items, read page by page; check that only a single page may be empty."""
    after, has_more = layers.Position(), True
    found: list[tuple[str, str]] = []
    while has_more:
        page, has_more = read(after=after)
        assert page or not has_more
        found += [(one.name, one.layer) for one in page]
        after = layers.position_of(page[-1]) if page else after
    return found


@settings(max_examples=amount(15, 150), deadline=None)
@given(upper=NAMES, lower=NAMES, limit=st.integers(1, 9))
def check_lists(filled: Fill, upper: list[str], lower: list[str], limit: int) -> None:
    database = filled(upper, lower)
    own = [(name, "") for name in upper]
    rest = [(name, "personal") for name in lower if name not in upper]
    with database.read() as tx:
        for text in ("", "word"):
            listed = walk(partial(layers.list_prompts, tx, UPPER, PromptQuery(text=text), limit=limit))
            assert listed == [*own[::-1], *rest[::-1]]
        assert walk(partial(layers.list_headers, tx, UPPER, limit=limit)) == [*own, *rest]
        for text in ("", "doc"):
            listed = walk(partial(layers.list_documents, tx, UPPER, text, limit=limit))
            assert listed == [*own, *rest]
        check_lookups(tx, {**dict(rest), **dict(own)})
        for text in ("word", '"word"'):
            hits, _ = search.search(tx, UPPER, search.SearchQuery(text=text, kinds=["prompt"], limit=50))
            both = [*own, *((name, "personal") for name in lower)]  # hidden ones, too: their links tell them apart
            assert sorted((one.title, one.layer) for one in hits) == sorted((f"Word {one}", two) for one, two in both)
            assert len({one.reference for one in hits}) == len(hits)
            if text == '"word"':
                assert [one.layer for one in hits] == sorted(one.layer for one in hits)


def check_lookups(tx: Tx, expected: dict[str, str]) -> None:
    """Check that every listed item is found by each of its names, and no other item."""
    for name in "abcdefgh":
        for find, references in (
            (layers.find_prompt, (name, f"Word {name}", f"satchel://prompt/{name}", f"WORD-{name}")),
            (layers.find_document, (name, name.upper(), f"doc:{name}", f"satchel://resource/{name}")),
            (layers.get_document_by_uri, (f"doc:{name}",)),
        ):
            for reference in references:
                if name in expected:
                    found: Any = find(tx, UPPER, reference)
                    assert (found.name, found.layer) == (name, expected[name]), reference
                else:
                    with pytest.raises(NotFound):
                        find(tx, UPPER, reference)


def test_a_list_is_the_project_and_what_it_does_not_hide(filled: Fill) -> None:
    check_lists(filled)


def test_a_scope_without_the_layer_or_that_may_not_enter_it_reads_the_project_only(filled: Fill) -> None:
    database = filled(["a"], ["b"])
    for scope in (Scope(project="web"), Scope(project="web", personal="personal", projects=("web",)), LOWER):
        with database.read(scope) as tx:
            assert layers.find_personal(tx, scope) is None
            found, _ = layers.list_headers(tx, scope, limit=9, after=layers.Position())
            assert [one.layer for one in found] == [""]
    with database.write() as tx:
        projects.delete(tx, "personal")
    with database.read(UPPER) as tx:
        assert layers.find_personal(tx, UPPER) is None


def test_a_project_whose_every_name_is_hidden_ends(filled: Fill) -> None:
    names = [f"n{number}" for number in range(60)]
    database = filled(names, names)
    with database.read() as tx:
        found, has_more = layers.list_documents(tx, UPPER, limit=60, after=layers.Position())
        assert (len(found), has_more) == (60, False)
        assert layers.list_documents(tx, UPPER, limit=1, after=layers.Position(is_personal=True)) == ((), False)
        assert layers.list_tags(tx, UPPER) == []
