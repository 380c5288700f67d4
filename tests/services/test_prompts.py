"""Prompts with arguments, pages of prompts, and what somebody may have meant."""

from typing import Any

import pytest

from satchel.errors import Taken, VersionConflict, WrongArgument
from satchel.model import Argument, PromptDraft, PromptPatch, PromptQuery, Scope, StoreChange
from satchel.services import lookup, projects, prompts
from satchel.storage import prompts as rows
from satchel.storage.database import Database

HERE = Scope()
TOPIC = Argument("topic", "What it is about", True, ("Rust", "Go"))
TONE = Argument("tone", None, False)


@pytest.fixture
def filled(database: Database) -> Database:
    """Return a store with some prompts, and another project with the like."""
    projects.require(database, HERE)
    with database.write() as tx:
        projects.add(tx, "other")
        for title, content, tags in (
            ("Alpha", "the needle", ["a"]),
            ("Beta", "hay and NEEDLE", ["a", "b"]),
            ("Gamma", "only hay", ["b"]),
            ("Delta needle", "x", ["a", "b", "c"]),
            ("Plain", "nothing", []),
        ):
            for scope in (HERE, Scope(project="other")):
                prompts.add(tx, scope, PromptDraft(title=title, content=content, tags=tags, description=f"{title}!"))
    return database


def titles(database: Database, **wanted: Any) -> list[str]:
    """Return the titles on a page, which are the same with a position and with an offset."""
    with database.read() as tx:
        found, _ = prompts.list_page(tx, HERE, PromptQuery(**wanted), limit=20)
        counted = prompts.list_counted(tx, HERE, PromptQuery(**wanted), limit=20, offset=0)
    assert (counted.items, counted.total) == (found, len(found))
    return [prompt.title for prompt in found]


@pytest.mark.parametrize(("few", "newest"), [(300, 200), (0, 0), (300, 2), (0, 1), (0, 2)])
def test_a_page_combines_text_and_tags(
    filled: Database, few: int, newest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "_FEW", few)
    monkeypatch.setattr(rows, "_NEWEST", newest)
    assert titles(filled) == titles(filled, text="") == ["Plain", "Delta needle", "Gamma", "Beta", "Alpha"]
    assert titles(filled, text="Needle") == ["Delta needle", "Beta", "Alpha"]
    assert titles(filled, text="needle", tags=["B"]) == ["Delta needle", "Beta"]
    assert titles(filled, text="needle", tags=["b", "c"], needs_all_tags=True) == ["Delta needle"]
    assert titles(filled, text="needle", tags=["c", "a"]) == ["Delta needle", "Beta", "Alpha"]
    assert titles(filled, text="ha", tags=["b"]) == ["Gamma", "Beta"]
    assert titles(filled, tags=["a"]) == ["Delta needle", "Beta", "Alpha"]
    assert titles(filled, tags=["a", "b"], needs_all_tags=True) == ["Delta needle", "Beta"]
    assert titles(filled, tags=["a", "nothing"]) == ["Delta needle", "Beta", "Alpha"]
    assert titles(filled, tags=["a", "nothing"], needs_all_tags=True) == titles(filled, tags=["é"]) == []
    assert titles(filled, text="needle", tags=["a", "é"], needs_all_tags=True) == []


def test_a_prompt_keeps_its_arguments(database: Database) -> None:
    projects.require(database, HERE)
    with database.write() as tx:
        prompt = prompts.add(
            tx, HERE, PromptDraft(title="T", content="About {{ topic }}", arguments=[TOPIC, TONE], name="Mine")
        )
        assert (prompt.name, prompt.arguments) == ("Mine", (TOPIC, TONE))
        assert prompts.get_by_name(tx, HERE, "Mine") == prompt
        assert prompts.update(tx, HERE, prompt.id, PromptPatch(title="U")).arguments == (TOPIC, TONE)
        tx.changes.clear()
        assert prompts.update(tx, HERE, prompt.id, PromptPatch(arguments=[TONE])).arguments == (TONE,)
        assert StoreChange("prompts", HERE.project) in tx.changes
        assert prompts.update(tx, HERE, prompt.id, PromptPatch(arguments=())).arguments == ()


def test_a_name_that_is_given_must_be_free_and_a_name(database: Database) -> None:
    projects.require(database, HERE)
    with database.write() as tx:
        prompts.add(tx, HERE, PromptDraft(title="T", content="x", name="mine"))
        with pytest.raises(Taken) as taken:
            prompts.add(tx, HERE, PromptDraft(title="U", content="x", name="mine"))
        assert (taken.value.field, taken.value.key) == ("name", "mine")
        with pytest.raises(WrongArgument):
            prompts.add(tx, HERE, PromptDraft(title="U", content="x", name="a b"))
    with pytest.raises(Taken) as taken, database.write() as tx:
        prompts.add(tx, HERE, PromptDraft(title="T", content="x", name="other"))
    assert taken.value.field == "title"


def test_a_template_is_shorter_than_a_text(database: Database) -> None:
    projects.require(database, HERE)
    long, fitting = "é" * (32 * 1024) + "x", "é" * (32 * 1024)
    with database.write() as tx:
        literal = prompts.add(tx, HERE, PromptDraft(title="Literal", content=long))
        template = prompts.add(tx, HERE, PromptDraft(title="Template", content=fitting, arguments=[TOPIC]))
    for refused in (
        lambda tx: prompts.add(tx, HERE, PromptDraft(title="U", content=long, arguments=[TOPIC])),
        lambda tx: prompts.update(tx, HERE, literal.id, PromptPatch(arguments=[TOPIC])),
        lambda tx: prompts.update(tx, HERE, template.id, PromptPatch(content=long)),
    ):
        with pytest.raises(WrongArgument) as wrong, database.write() as tx:
            refused(tx)
        assert (wrong.value.rule, wrong.value.limit) == ("maxBytes", 64 * 1024)
    with database.write() as tx:
        prompts.update(tx, HERE, template.id, PromptPatch(content=long, arguments=()))
        assert prompts.get(tx, HERE, literal.id).arguments == ()


def test_near_gives_the_names_that_were_meant(filled: Database) -> None:
    with filled.write() as tx:
        for number in range(200):  # so that the newest are others
            prompts.add(tx, HERE, PromptDraft(title=f"Filler {number}", content="x"))

        def suggest(reference: str) -> list[str]:
            return [name for _, name, _ in lookup.suggest(tx, HERE, "prompt", reference)]

        assert suggest("delta-nedle")[0] == suggest("Delta Needle")[0] == "delta-needle"
        assert suggest("gama")[0] == "gamma"
        assert suggest("qqqqqqq") == suggest("") == []
        assert len(suggest("filler-1000")) == 3


def test_an_update_that_changes_nothing_makes_no_version(database: Database) -> None:
    projects.require(database, HERE)
    with database.write() as tx:
        before = prompts.add(tx, HERE, PromptDraft(title="T", content="x", tags=["a"], description="d"))
        same = PromptPatch(title=" T ", content="x", tags=["A"], description="d", arguments=[])
        assert prompts.update(tx, HERE, before.id, same) == before == prompts.get(tx, HERE, before.id)
        renewed = prompts.update(tx, HERE, before.id, same, renews_time=True)
        assert renewed == prompts.get(tx, HERE, before.id)
        assert (renewed.version, renewed.updated_at > before.updated_at) == (1, True)
        with pytest.raises(VersionConflict):
            prompts.update(tx, HERE, before.id, same, 7)
