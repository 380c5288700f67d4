"""Names made from titles."""

import pytest

from satchel.model import PromptDraft, PromptPatch, Scope
from satchel.services import projects, prompts
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
