"""Earlier values: stored for one user, newest first, and without needless writes."""

from satchel.model import Scope
from satchel.services import templates
from satchel.storage.database import Database

ADA = Scope(user="00000000-0000-4000-8000-00000000000a")
BOB = Scope(user="00000000-0000-4000-8000-00000000000b")


def test_values_are_recalled_newest_first(database: Database) -> None:
    for value in ("Rust", "Go", "rusty nails", "Trust"):
        with database.write() as tx:
            templates.remember_values(tx, ADA, "default/review", {"topic": value, "tone": "dry"})
    with database.read() as tx:
        assert templates.recall_values(tx, ADA, "default/review", "topic") == ("Trust", "rusty nails", "Go", "Rust")
        assert templates.recall_values(tx, ADA, "default/review", "topic", "RUS") == ("rusty nails", "Rust", "Trust")
        assert templates.recall_values(tx, ADA, "default/review", "tone") == ("dry",)
        assert templates.recall_values(tx, BOB, "default/review", "topic") == ()
        assert templates.recall_values(tx, ADA, "default/other", "topic") == ()


def test_only_new_values_are_written(database: Database) -> None:
    given = {"topic": "Rust", "tone": "dry"}
    with database.write() as tx:
        tx.now = "2026-01-01T00:00:00.000000Z"
        templates.remember_values(tx, ADA, "p", given)
    with database.write() as tx:
        tx.now = "2026-01-01T23:59:59.000000Z"
        assert not templates.has_new_values(tx, ADA, "p", given)
        assert templates.has_new_values(tx, ADA, "p", {**given, "topic": "Go"})
        assert templates.has_new_values(tx, BOB, "p", given)
        tx.now = "2026-01-02T00:00:00.000001Z"
        assert templates.has_new_values(tx, ADA, "p", given)
        templates.remember_values(tx, ADA, "p", given)
        assert not templates.has_new_values(tx, ADA, "p", given)


def test_empty_long_and_invalid_values_are_skipped(database: Database) -> None:
    odd = {"a": "", "b": "x" * 201, "c": "a\0b", "d": "\ud800"}
    with database.write() as tx:
        assert not templates.has_new_values(tx, ADA, "p", odd)
        templates.remember_values(tx, ADA, "p", {**odd, "e": "x" * 200})
    with database.read() as tx:
        recalled = [templates.recall_values(tx, ADA, "p", argument) for argument in "abcde"]
        assert recalled == [(), (), (), (), ("x" * 200,)]


def test_the_twenty_newest_are_kept(database: Database) -> None:
    for number in range(25):
        with database.write() as tx:
            templates.remember_values(tx, ADA, "p", {"a": f"v{number}", "b": "same"})
    with database.read() as tx:
        assert templates.recall_values(tx, ADA, "p", "a") == tuple(f"v{number}" for number in range(24, 4, -1))
        assert templates.recall_values(tx, ADA, "p", "b") == ("same",)
