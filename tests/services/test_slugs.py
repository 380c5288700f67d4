"""Names made from titles, titles made from names, and what an item is called where its name is taken."""

import pytest

from satchel.model import PromptDraft, PromptPatch, Scope
from satchel.services import copying, projects, prompts, restoring
from satchel.services.prompts import make_name
from satchel.storage.database import Database

SCOPE = Scope()


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
    projects.require(database, SCOPE)
    with database.write() as tx:
        added = [prompts.add(tx, SCOPE, PromptDraft(title="Hello" + "!" * count, content="x")) for count in range(11)]
    names = [prompt.name for prompt in added]
    assert names[:9] == ["hello", *(f"hello-{number}" for number in range(2, 10))]
    assert names[9:] == [f"hello-{prompt.id[:8]}" for prompt in added[9:]]


def test_a_title_without_letters_is_named_by_its_id(database: Database) -> None:
    projects.require(database, SCOPE)
    with database.write() as tx:
        prompt = prompts.add(tx, SCOPE, PromptDraft(title="日本語", content="x"))
    assert prompt.name == f"prompt-{prompt.id[:8]}"


def test_the_name_stays_when_the_title_changes(database: Database) -> None:
    projects.require(database, SCOPE)
    with database.write() as tx:
        prompt = prompts.add(tx, SCOPE, PromptDraft(title="First", content="x"))
        renamed = prompts.update(tx, SCOPE, prompt.id, PromptPatch(title="Second", content="x"))
    assert (renamed.name, renamed.title, renamed.version) == ("first", "Second", 2)


def test_a_prompt_added_by_name_alone_has_its_name_as_title_cut_to_the_bound_of_a_title(database: Database) -> None:
    projects.require(database, SCOPE)
    with database.write() as tx:
        added = [prompts.add(tx, SCOPE, PromptDraft(name="n" * 254 + end, content="x")) for end in "abc"]
        assert [prompt.title for prompt in added] == ["n" * 200, "n" * 196 + " (2)", "n" * 196 + " (3)"]
        projects.add(tx, "other")
        assert copying.copy(tx, SCOPE, added[1], "other")[0].title == added[1].title


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
    projects.require(database, SCOPE)
    with database.write() as tx:
        projects.add(tx, "other")
        first = prompts.add(tx, SCOPE, PromptDraft(name=name, title="First", content="x"))
        copying.copy(tx, SCOPE, first, "other")
        copy = copying.copy(tx, SCOPE, first, "other")[0]
        assert (copy.name, copy.title) == (next_name, "First (2)")
        prompts.delete(tx, SCOPE, first.id)
        prompts.add(tx, SCOPE, PromptDraft(name=name, title="First", content="y"))
    with database.write() as tx:
        restoring.restore(tx, SCOPE, first.id)
        restored = prompts.get(tx, SCOPE, first.id)
        assert (restored.name, restored.title, restored.content) == (next_name, "First (2)", "x")
