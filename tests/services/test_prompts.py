"""Prompts with arguments, pages of prompts, suggestions for mistyped names, and names made from titles."""

from typing import Any

import pytest

from satchel.errors import Taken, WrongArgument
from satchel.model import Argument, PromptDraft, PromptPatch, PromptQuery, Scope, StoreChange
from satchel.services import copying, lookup, projects, prompts, restoring
from satchel.services.prompts import make_name
from satchel.storage import prompts as rows
from satchel.storage.database import Database

HERE = Scope()
TOPIC = Argument("topic", "What it is about", True, ("Rust", "Go"))
TONE = Argument("tone", None, False)


@pytest.fixture
def filled(database: Database) -> Database:
    """Return a store with some prompts, and similar ones in another project."""
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
    """Return the titles on a page, after checking that a position and an offset give the same page."""
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
        for number in range(200):  # so that other prompts are the newest
            prompts.add(tx, HERE, PromptDraft(title=f"Filler {number}", content="x"))

        def suggest(reference: str) -> list[str]:
            return [name for _, name, _ in lookup.suggest(tx, HERE, "prompt", reference)]

        assert suggest("delta-nedle")[0] == suggest("Delta Needle")[0] == "delta-needle"
        assert suggest("gama")[0] == "gamma"
        assert suggest("qqqqqqq") == suggest("") == []
        assert len(suggest("filler-1000")) == 3


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("École", "ecole"),
        ("Code Review Assistant", "code-review-assistant"),
        ("  --Hello,   World!--  ", "hello-world"),
        ("Straße", "strasse"),
        ("ﬁne ½", "fine-1-2"),
        ("日本語", ""),
        ("C++ & Rust", "c-rust"),
        ("İstanbul", "istanbul"),
        ("x" * 80, "x" * 60),
        ("🎒", ""),
        ("1️⃣2", "12"),
        ("𝐇ello", "Hello"),
    ],
)
def test_a_title_becomes_a_make_name(title: str, expected: str) -> None:
    assert make_name(title) == expected


def test_a_taken_name_gets_a_number_and_then_hex_digits(database: Database) -> None:
    projects.require(database, HERE)
    with database.write() as tx:
        added = [prompts.add(tx, HERE, PromptDraft(title="Hello" + "!" * count, content="x")) for count in range(11)]
        unnamed = prompts.add(tx, HERE, PromptDraft(title="日本語", content="x"))
    assert unnamed.name == f"prompt-{unnamed.id[:8]}"
    names = [prompt.name for prompt in added]
    assert names[:9] == ["hello", *(f"hello-{number}" for number in range(2, 10))]
    assert names[9:] == [f"hello-{prompt.id[:8]}" for prompt in added[9:]]


def test_the_name_stays_when_the_title_changes(database: Database) -> None:
    projects.require(database, HERE)
    with database.write() as tx:
        prompt = prompts.add(tx, HERE, PromptDraft(title="First", content="x"))
        renamed = prompts.update(tx, HERE, prompt.id, PromptPatch(title="Second", content="x"))
    assert (renamed.name, renamed.title, renamed.version) == ("first", "Second", 2)


def test_a_prompt_added_by_name_alone_has_its_name_as_title_cut_to_the_bound_of_a_title(database: Database) -> None:
    projects.require(database, HERE)
    with database.write() as tx:
        added = [prompts.add(tx, HERE, PromptDraft(name="n" * 254 + end, content="x")) for end in "abc"]
        assert [prompt.title for prompt in added] == ["n" * 200, "n" * 196 + " (2)", "n" * 196 + " (3)"]
        projects.add(tx, "other")
        assert copying.copy(tx, HERE, added[1], "other")[0].title == added[1].title


@pytest.mark.parametrize(
    ("name", "next_name"),
    [
        ("s.md", "s-2.md"),
        ("v1.2", "v1.2-2"),
        (".env", ".env-2"),
        ("n" * 255, "n" * 253 + "-2"),
        ("n" * 252 + ".md", "n" * 250 + "-2.md"),
    ],
)
def test_a_number_stands_before_the_extension_and_counts_within_the_bound(
    database: Database, name: str, next_name: str
) -> None:
    projects.require(database, HERE)
    with database.write() as tx:
        projects.add(tx, "other")
        first = prompts.add(tx, HERE, PromptDraft(name=name, title="First", content="x"))
        copying.copy(tx, HERE, first, "other")
        copy = copying.copy(tx, HERE, first, "other")[0]
        assert (copy.name, copy.title) == (next_name, "First (2)")
        prompts.delete(tx, HERE, first.id)
        prompts.add(tx, HERE, PromptDraft(name=name, title="First", content="y"))
    with database.write() as tx:
        restoring.restore(tx, HERE, first.id)
        restored = prompts.get(tx, HERE, first.id)
        assert (restored.name, restored.title, restored.content) == (next_name, "First (2)", "x")
