"""Rows inserted together equal rows inserted one by one, on both engines."""

from contextlib import nullcontext

import pytest

from satchel.errors import Taken
from satchel.model import PromptDraft, PromptPatch, PromptQuery, Scope
from satchel.services import projects, prompts
from satchel.services.search import SearchQuery, search
from satchel.storage.database import Database

HERE = Scope(project="default")


def add(database: Database, count: int) -> None:
    projects.require(database, HERE)
    with database.write(HERE) as tx, tx.gathering():
        for number in range(count):
            prompts.add(
                tx, HERE, PromptDraft(title=f"Title {number}", content=f"Zebra{number} walks; 'quoted' :title_1")
            )


def test_gathered_prompts_are_found_by_text_and_by_words(database: Database) -> None:
    add(database, 620)  # more rows than fit into one statement
    with database.read(HERE) as tx:
        page = prompts.list_counted(tx, HERE, PromptQuery(text="zebra61"), limit=20, offset=0)
        hits, _ = search(tx, HERE, SearchQuery(text="zebra617"))
    assert sorted(item.title for item in page.items) == [f"Title {number}" for number in (61, *range(610, 620))]
    assert hits[0].title == "Title 617"


def test_a_change_of_a_gathered_prompt_is_not_lost(database: Database) -> None:
    projects.require(database, HERE)
    with database.write(HERE) as tx, tx.gathering():
        prompt = prompts.add(tx, HERE, PromptDraft(title="One", content="first giraffe"))
        prompts.update(tx, HERE, prompt.id, PromptPatch(content="second elephant"))
        gone = prompts.add(tx, HERE, PromptDraft(title="Gone", content="third giraffe"))
        prompts.delete(tx, HERE, gone.id)
    with database.read(HERE) as tx:
        found = prompts.list_counted(tx, HERE, PromptQuery(text="elephant"), limit=20, offset=0)
        old = prompts.list_counted(tx, HERE, PromptQuery(text="giraffe"), limit=20, offset=0)
    assert ([item.title for item in found.items], old.total) == (["One"], 0)


def test_gathered_values_are_dropped_if_the_transaction_fails(database: Database) -> None:
    projects.require(database, HERE)
    try:
        with database.write(HERE) as tx, tx.gathering():
            prompts.add(tx, HERE, PromptDraft(title="One", content="walrus"))
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    with database.read(HERE) as tx:
        assert prompts.list_counted(tx, HERE, PromptQuery(text="walrus"), limit=20, offset=0).total == 0


def test_a_refused_block_is_undone_and_the_rest_of_its_transaction_is_kept(database: Database) -> None:
    projects.require(database, HERE)
    for gathers, word in ((True, "walrus"), (False, "ostrich")):
        with database.write(HERE) as tx, tx.gathering() if gathers else nullcontext():
            first = prompts.add(tx, HERE, PromptDraft(title=f"First {word}", content=word))
            with pytest.raises(Taken), tx.savepoint():
                prompts.add(tx, HERE, PromptDraft(title=f"Gone {word}", content=word))
                prompts.update(tx, HERE, first.id, PromptPatch(content="other"))  # this writes the gathered rows
                prompts.add(tx, HERE, PromptDraft(title=f"First {word}", content=word))
            with tx.savepoint():
                prompts.add(tx, HERE, PromptDraft(title=f"Last {word}", content=word))
        with database.read(HERE) as tx:
            found = prompts.list_counted(tx, HERE, PromptQuery(text=word), limit=20, offset=0)
            hits, _ = search(tx, HERE, SearchQuery(text=word))
        assert sorted(item.title for item in found.items) == [f"First {word}", f"Last {word}"]
        assert sorted(item.title for item in hits) == [f"First {word}", f"Last {word}"]
