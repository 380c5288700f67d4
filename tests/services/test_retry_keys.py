"""Retry keys: for a week, the same user gets the first answer again for the same input."""

import pytest

from satchel import clock
from satchel.errors import KeyReused, StoreConflict
from satchel.model import Scope, TaskDraft
from satchel.services import history, restoring, retry_keys, tasks
from satchel.storage.database import Database, Tx

ADA = Scope(user="00000000-0000-4000-8000-00000000000a")
BOB = Scope(user="00000000-0000-4000-8000-00000000000b")


def remember(tx: Tx, scope: Scope, key: str, answer: bytes = b"answer", tool: str = "add_tasks") -> None:
    retry_keys.remember(tx, scope, tool, key, "digest", answer)


def recall(tx: Tx, scope: Scope, key: str, tool: str = "add_tasks") -> bytes | None:
    return retry_keys.recall(tx, scope, tool, key, "digest")


def test_an_answer_is_recalled_by_its_user_tool_and_key_alone(database: Database) -> None:
    with database.write() as tx:
        assert recall(tx, ADA, "k") is None
        remember(tx, ADA, "k", b"\x00bytes")
        remember(tx, ADA, "k", b"other tool", tool="add_prompts")
        remember(tx, BOB, "k", b"of bob")
    with database.read() as tx:
        assert recall(tx, ADA, "k") == b"\x00bytes"
        assert recall(tx, ADA, "k", tool="add_prompts") == b"other tool"
        assert recall(tx, BOB, "k") == b"of bob"
        assert recall(tx, BOB, "K") is None


def test_other_input_with_the_same_key_is_refused(database: Database) -> None:
    with database.write() as tx:
        remember(tx, ADA, "k")
        with pytest.raises(KeyReused) as refused:
            retry_keys.recall(tx, ADA, "add_tasks", "k", "another")
    assert refused.value.key == "k"


def test_a_key_is_free_again_after_a_week(database: Database) -> None:
    with database.write() as tx:
        remember(tx, ADA, "old")
        remember(tx, BOB, "old")
        long_ago = clock.days_before(tx.now, retry_keys.KEPT_DAYS + 1)
        tx.run("update retry_keys set at = :at", at=long_ago)
        assert recall(tx, ADA, "old") is None
        remember(tx, ADA, "old", b"new")
        assert recall(tx, ADA, "old") == b"new"
        assert tx.all("select owner from retry_keys where at = :at", at=long_ago) == [(BOB.user,)]


def test_the_oldest_of_many_keys_are_removed(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry_keys, "MOST", 3)
    for key in "abcde":
        with database.write() as tx:
            remember(tx, ADA, key)
            remember(tx, BOB, f"of bob {key}") if key == "a" else None
    with database.read() as tx:
        assert [key for key in "abcde" if recall(tx, ADA, key)] == ["c", "d", "e"]
        assert recall(tx, BOB, "of bob a") is not None


def test_the_slower_of_two_concurrent_calls_is_retried(database: Database) -> None:
    with database.write() as tx:
        remember(tx, ADA, "k")
    with pytest.raises(StoreConflict), database.write() as tx:
        remember(tx, ADA, "k")


@pytest.mark.parametrize("is_purged", [True, False])
def test_answers_that_may_quote_permanently_removed_items_are_deleted(database: Database, is_purged: bool) -> None:
    with database.write(ADA) as tx:
        task = tasks.add(tx, ADA, TaskDraft(title="Secret"))
        remember(tx, ADA, "k", b"Secret")
    if is_purged:
        with database.write(ADA) as tx:
            restoring.purge(tx, ADA, f"#{task.number}")
    else:
        with database.write(ADA) as tx:
            tasks.delete(tx, ADA, task.number)
        with database.write(ADA) as tx:
            restoring.restore(tx, ADA, f"#{task.number}")
            assert recall(tx, ADA, "k") == b"Secret"
        with database.write(ADA) as tx:
            tasks.delete(tx, ADA, task.number)
        with database.write(ADA) as tx:
            remember(tx, ADA, "later", b"of others")
        history.prune(database, empty_trash=True)
    with database.read(ADA) as tx:
        assert recall(tx, ADA, "k") is None
        assert recall(tx, ADA, "later") == (None if is_purged else b"of others")


def test_a_digest_tells_inputs_and_scopes_apart() -> None:
    some = Scope(user=ADA.user, projects=("a", "b"))
    digests = {
        retry_keys.digest(ADA, b"ab"),
        retry_keys.digest(ADA, b"a", b"b"),
        retry_keys.digest(ADA, b"b", b"a"),
        retry_keys.digest(Scope(user=ADA.user, project="other"), b"ab"),
        retry_keys.digest(some, b"ab"),
    }
    assert len(digests) == 5
    assert retry_keys.digest(some, b"ab") == retry_keys.digest(Scope(user=ADA.user, projects=("b", "a")), b"ab")
