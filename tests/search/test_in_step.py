"""The word index matches the items after every kind of change; purged items leave no words."""

from collections.abc import Callable
from pathlib import Path

import pytest

from satchel.errors import NotFound, StoreFailed
from satchel.model import DocumentDraft, DocumentPatch, PromptDraft, PromptPatch, Scope, TaskDraft, TaskPatch
from satchel.services import documents, history, layers, projects, prompts, restoring, tasks
from satchel.services.search import SearchQuery, search
from satchel.storage.database import Database, Tx, open_database
from satchel.storage.search import index_all

ADA = Scope(user="550e8400-e29b-41d4-a716-446655440000")
SHED = Scope(user=ADA.user, project="shed")

_ITEMS = """
    select s.kind, s.project, s.owner, s.within, i.prompt, i.document, i.task, i.name_key, i.title_key, i.words
    from search_items i join search_spaces s on s.number = i.space
    order by s.kind, i.prompt, i.document, i.task
"""
_WORDS = """
    select s.kind, s.project, s.owner, s.within, w.word from search_words w join search_spaces s on s.number = w.space
    order by s.kind, s.project, s.owner, s.within, w.word
"""


class Undone(Exception):
    """Ends a transaction that must leave nothing."""


def check(database: Database) -> None:
    """Clean the words, and compare the index with a rebuilt one, which is rolled back."""
    history.clean_words(database)
    with pytest.raises(Undone), database.write(ADA) as tx:
        kept = {(row[:-1], frozenset(row[-1].split())) for row in tx.all(_ITEMS)}
        words = tx.all(_WORDS)
        for table in ("search_items", "search_words", "search_spaces"):
            sql = f"delete from {table}"
            tx.run(sql)
        index_all(tx)
        assert kept == {(row[:-1], frozenset(row[-1].split())) for row in tx.all(_ITEMS)}
        assert words == tx.all(_WORDS)
        raise Undone


def found(database: Database, query: str, scope: Scope = ADA) -> list[str]:
    with database.read(scope) as tx:
        return sorted(hit.reference for hit in search(tx, scope, SearchQuery(text=query))[0])


@pytest.fixture
def filled(database: Database) -> Database:
    projects.require(database, ADA)
    with database.write(ADA) as tx:
        projects.add(tx, "shed")
        prompts.add(tx, ADA, PromptDraft(title="Walrus", content="tusks and whiskers", tags=["arctic"]))
        prompts.add(tx, ADA, PromptDraft(title="Seal", content="whiskers only"))
        documents.add(tx, ADA, DocumentDraft(name="notes", uri="x:notes", content="whiskers noted", description="sea"))
        tasks.add(tx, ADA, TaskDraft(title="Feed walrus", description="with mussels", tags=["daily"]))
        tasks.add(tx, ADA, TaskDraft(title="Clean shed", project="shed", description="sawdust"))
        prompts.add(tx, SHED, PromptDraft(title="Saw", content="sawdust everywhere"))
    return database


def walrus(tx: Tx) -> str:
    return layers.find_prompt(tx, ADA, "walrus").id


WAYS: dict[str, tuple[Callable[[Tx], object], list[tuple[str, list[str]]]]] = {
    "added": (lambda tx: prompts.add(tx, ADA, PromptDraft(title="Orca", content="fins")), [("fins", ["orca"])]),
    "updated": (
        lambda tx: prompts.update(tx, ADA, walrus(tx), PromptPatch(content="flippers", title="Walruses")),
        [("tusks", []), ("flippers", ["walrus"]), ("walruses", ["#1", "walrus"])],
    ),
    "tagged": (
        lambda tx: prompts.update(tx, ADA, walrus(tx), PromptPatch(tags=["polar"])),
        [("arctic", []), ("polar", ["walrus"])],
    ),
    "deleted": (lambda tx: prompts.delete(tx, ADA, walrus(tx)), [("tusks", []), ("whiskers", ["notes", "seal"])]),
    "document changed": (
        lambda tx: documents.update(tx, ADA, "notes", DocumentPatch(content="plankton")),
        [("plankton", ["notes"]), ("whiskers", ["seal", "walrus"])],
    ),
    "document deleted": (lambda tx: documents.delete(tx, ADA, "notes"), [("noted", [])]),
    "task changed": (
        lambda tx: tasks.update(tx, ADA, 1, TaskPatch(description="with clams")),
        [("clams", ["#1"]), ("mussels", [])],
    ),
    "task moved": (lambda tx: tasks.update(tx, ADA, 1, TaskPatch(project="shed")), [("mussels", ["#1"])]),
    "task completed": (lambda tx: tasks.complete(tx, ADA, 1), [("mussels", ["#1"])]),
    "task deleted": (lambda tx: tasks.delete(tx, ADA, 1), [("mussels", [])]),
    "project deleted": (lambda tx: projects.delete(tx, "shed"), [("sawdust", ["#2"])]),
    "project renamed": (lambda tx: projects.rename(tx, "shed", "barn"), [("sawdust", ["#2"])]),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_index_follows(filled: Database, way: str) -> None:
    act, expected = WAYS[way]
    with filled.write(ADA) as tx:
        act(tx)
    assert [(query, found(filled, query)) for query, _ in expected] == expected
    check(filled)


def test_rolled_back_changes_are_not_in_the_index(filled: Database) -> None:
    for act, _ in WAYS.values():
        with pytest.raises(Undone), filled.write(ADA) as tx:
            act(tx)
            raise Undone
    assert found(filled, "tusks") == ["walrus"]
    check(filled)


def test_restored_items_are_found_again(filled: Database) -> None:
    with filled.write(ADA) as tx:
        prompts.update(tx, ADA, walrus(tx), PromptPatch(content="flippers"))
        prompts.delete(tx, ADA, walrus(tx))
        tasks.delete(tx, ADA, 1)
        projects.delete(tx, "shed")
    for reference in ("satchel://prompt/walrus", "#1", "satchel://project/shed"):
        with filled.write(ADA) as tx:
            restoring.restore(tx, ADA, reference)
    assert (found(filled, "flippers"), found(filled, "mussels"), found(filled, "sawdust", SHED)) == (
        ["walrus"],
        ["#1"],
        ["#2", "saw"],
    )
    with filled.write(ADA) as tx:
        restoring.restore(tx, ADA, "walrus", 1)
    assert found(filled, "tusks") == ["walrus"]
    check(filled)


@pytest.mark.parametrize("is_deleted_first", [True, False])
def test_a_purge_leaves_no_word_behind(filled: Database, is_deleted_first: bool) -> None:
    with filled.write(ADA) as tx:
        prompts.update(tx, ADA, walrus(tx), PromptPatch(content="zygomatic tusks"))
        prompts.update(tx, ADA, walrus(tx), PromptPatch(content="plain tusks"))
        if is_deleted_first:
            prompts.delete(tx, ADA, walrus(tx))
    with filled.write(ADA) as tx:
        restoring.purge(tx, ADA, "walrus")
        restoring.purge(tx, ADA, "#1")
    history.clean_words(filled)
    for table in ("search_items", "search_words"):
        with filled.read(ADA) as tx:
            sql = f"select * from {table}"
            text = str(tx.all(sql))
        for word in ("walrus", "zygomatic", "tusks", "plain", "arctic", "mussels", "daily"):
            assert word not in text
    check(filled)


def test_a_purge_leaves_no_word_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "satchel.db"
    database = open_database(str(path))
    projects.require(database, ADA)
    with database.write(ADA) as tx:
        prompts.add(tx, ADA, PromptDraft(title="Secret", content="zygomatic"))
        prompts.add(tx, ADA, PromptDraft(title="Other", content="plain"))
    with database.write(ADA) as tx:
        restoring.purge(tx, ADA, "secret")
    history.clean_words(database)
    database.scrub()
    database.close()
    assert b"zygomatic" not in path.read_bytes()


def test_a_clean_up_merges_the_segments_of_the_index(tmp_path: Path) -> None:
    database = open_database(str(tmp_path / "satchel.db"))
    projects.require(database, ADA)
    for number in range(6):
        with database.write(ADA) as tx:
            prompts.add(tx, ADA, PromptDraft(title=f"Walrus {number}", content="tusks"))
    counts = []
    for _ in range(2):
        with database.read() as tx:
            counts += tx.all("select count(distinct segid) > 1 from search_index_idx")
        history.clean_words(database)
    assert counts == [(1,), (0,)]
    assert len(found(database, "walrus")) == 6
    database.close()


def test_tasks_of_a_project_that_is_removed_for_good_stay_findable(filled: Database) -> None:
    with filled.write(ADA) as tx:
        projects.delete(tx, "shed")
    with filled.write(ADA) as tx:
        restoring.purge(tx, ADA, "satchel://project/shed")
    assert found(filled, "sawdust") == ["#2"]
    with filled.write(ADA) as tx:
        tasks.update(tx, ADA, 2, TaskPatch(title="Clean barn"))
        restoring.purge(tx, ADA, "#2")
    history.clean_words(filled)
    with filled.read(ADA) as tx:
        assert tx.all("select word from search_words where word in :words", words=["sawdust", "clean", "barn"]) == []


def test_an_index_row_without_an_item_is_reported_as_damage(database: Database) -> None:
    with database.write(ADA) as tx:
        projects.add(tx, ADA.project)
        prompts.add(tx, ADA, PromptDraft(title="Needle", content="in the hay"))
        tx.run("update search_items set prompt = null")
    damage = "a row of the index of words in the store cannot be read"
    with pytest.raises(StoreFailed, match=damage), database.read(ADA) as tx:
        search(tx, ADA, SearchQuery(text="needle"))
    with pytest.raises(NotFound), database.read(ADA) as tx:
        layers.find_prompt(tx, ADA, "NEEDLE!")
