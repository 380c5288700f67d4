"""Values used before: remembered for one user, the newest first, and not written for nothing."""

from satchel.model import Scope
from satchel.services import argument_history as values
from satchel.storage.database import Database

ADA = Scope(user="00000000-0000-4000-8000-00000000000a")
BOB = Scope(user="00000000-0000-4000-8000-00000000000b")


def test_what_was_given_is_recalled_the_newest_first(database: Database) -> None:
    for value in ("Rust", "Go", "rusty nails", "Trust"):
        with database.write() as tx:
            values.remember(tx, ADA, "default/review", {"topic": value, "tone": "dry"})
    with database.read() as tx:
        assert values.recall(tx, ADA, "default/review", "topic") == ("Trust", "rusty nails", "Go", "Rust")
        assert values.recall(tx, ADA, "default/review", "topic", "RUS") == ("rusty nails", "Rust", "Trust")
        assert values.recall(tx, ADA, "default/review", "tone") == ("dry",)
        assert values.recall(tx, BOB, "default/review", "topic") == ()
        assert values.recall(tx, ADA, "default/other", "topic") == ()


def test_only_news_is_written(database: Database) -> None:
    given = {"topic": "Rust", "tone": "dry"}
    with database.write() as tx:
        tx.now = "2026-01-01T00:00:00.000000Z"
        values.remember(tx, ADA, "p", given)
    with database.write() as tx:
        tx.now = "2026-01-01T23:59:59.000000Z"
        assert not values.has_new(tx, ADA, "p", given)
        assert values.has_new(tx, ADA, "p", {**given, "topic": "Go"})
        assert values.has_new(tx, BOB, "p", given)
        tx.now = "2026-01-02T00:00:00.000001Z"
        assert values.has_new(tx, ADA, "p", given)
        values.remember(tx, ADA, "p", given)
        assert not values.has_new(tx, ADA, "p", given)


def test_what_is_empty_long_or_no_text_is_passed_over(database: Database) -> None:
    odd = {"a": "", "b": "x" * 201, "c": "a\0b", "d": "\ud800"}
    with database.write() as tx:
        assert not values.has_new(tx, ADA, "p", odd)
        values.remember(tx, ADA, "p", {**odd, "e": "x" * 200})
    with database.read() as tx:
        assert [values.recall(tx, ADA, "p", argument) for argument in "abcde"] == [(), (), (), (), ("x" * 200,)]


def test_the_twenty_newest_are_kept(database: Database) -> None:
    for number in range(25):
        with database.write() as tx:
            values.remember(tx, ADA, "p", {"a": f"v{number}", "b": "same"})
    with database.read() as tx:
        assert values.recall(tx, ADA, "p", "a") == tuple(f"v{number}" for number in range(24, 4, -1))
        assert values.recall(tx, ADA, "p", "b") == ("same",)
