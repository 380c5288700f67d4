"""Notes on tasks: who wrote what and when, and how long they stay."""

import pytest

from satchel.errors import WrongArgument
from satchel.model import Author, Retention, Scope, StoreChange, TaskDraft
from satchel.services import history, restoring, tasks
from satchel.storage.database import Database, Tx

ANN = Author(user="00000000-0000-4000-8000-00000000000a", client="claude-code", client_version="2", contract="satchel")
ADA = Scope(user=ANN.user, author=ANN)
BOB = Scope(user="00000000-0000-4000-8000-00000000000b")


def texts(tx: Tx, number: int, limit: int = 50) -> list[str]:
    return [note.text for note in tasks.list_notes(tx, ADA, number, limit)[0]]


def test_a_note_says_who_wrote_it_and_when_and_changes_no_version(database: Database) -> None:
    with database.write(ADA) as tx:
        number = tasks.add(tx, ADA, TaskDraft(title="One")).number
    with database.write(ADA) as tx:
        tasks.add_note(tx, ADA, number, "first\nline")
        now = tx.now
        assert tx.changes == {StoreChange("task", None, ADA.user, str(number)): None}
    with database.write(Scope(user=ADA.user)) as tx:
        tasks.add_note(tx, ADA, number, "second")
        [first, second], count = tasks.list_notes(tx, ADA, number, 50)
        assert (first.at, first.text, first.author) == (now, "first\nline", ANN)
        assert (second.text, second.author, count) == ("second", Author(user=ANN.user), 2)
        assert tasks.list_notes(tx, ADA, number, 1) == ([second], 2)
        assert tasks.find(tx, ADA, number).version == 1


def test_notes_go_when_their_task_is_removed_for_good(database: Database) -> None:
    with database.write(ADA) as tx:
        purged, emptied, kept = (tasks.add(tx, ADA, TaskDraft(title=title)).number for title in "abc")
        for number in (purged, emptied, kept):
            tasks.add_note(tx, ADA, number, f"of {number}")
        tasks.delete(tx, ADA, emptied)
    with database.write(ADA) as tx:
        restoring.purge(tx, ADA, f"#{purged}")
        assert (texts(tx, purged), texts(tx, emptied)) == ([], [f"of {emptied}"])
    database.retention = Retention(trash_days=0)
    history.prune(database, empty_trash=True)
    with database.read(ADA) as tx:
        assert (texts(tx, emptied), texts(tx, kept)) == ([], [f"of {kept}"])


@pytest.mark.parametrize(("text", "rule"), [("", "minLength"), (" \n", "minLength"), ("a\0", "type")])
def test_a_note_is_a_text(database: Database, text: str, rule: str) -> None:
    with database.write(ADA) as tx:
        number = tasks.add(tx, ADA, TaskDraft(title="One")).number
        with pytest.raises(WrongArgument) as refused:
            tasks.add_note(tx, ADA, number, text)
        assert (refused.value.field, refused.value.rule) == ("note", rule)


def test_a_note_and_the_number_of_notes_are_bounded(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "MAX_NOTES", 2)
    with database.write(ADA) as tx:
        number, other = (tasks.add(tx, ADA, TaskDraft(title=title)).number for title in ("One", "Two"))
        tasks.add_note(tx, ADA, number, "x" * 10_000)
        with pytest.raises(WrongArgument) as long:
            tasks.add_note(tx, ADA, number, "x" * 10_001)
        tasks.add_note(tx, ADA, number, "second")
        with pytest.raises(WrongArgument) as many:
            tasks.add_note(tx, ADA, number, "third")
        assert (long.value.rule, many.value.rule) == ("maxLength", "maxItems")
        tasks.add_note(tx, ADA, other, "first")
