"""Updates with an expected version: of several with the same one, exactly one succeeds, even at the same time."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from satchel.errors import VersionConflict
from satchel.model import DocumentDraft, DocumentPatch, PromptDraft, PromptPatch, Scope, TaskDraft, TaskPatch
from satchel.services import documents, projects, prompts, tasks
from satchel.storage.database import Database, Tx

ADA = Scope(user="00000000-0000-4000-8000-00000000000a")

Update = Callable[[Tx, str, int | None], Any]


@pytest.fixture(params=["task", "prompt", "document"])
def update(request: pytest.FixtureRequest, database: Database) -> Update:
    """Return a function that changes the description of an item, which has version 1."""
    projects.require(database, ADA)
    with database.write() as tx:
        task = tasks.add(tx, ADA, TaskDraft(title="T"))
        prompt = prompts.add(tx, ADA, PromptDraft(title="P", content="x"))
        documents.add(tx, ADA, DocumentDraft(name="r", uri="x:r", content="text"))
    updates: dict[str, Update] = {
        "task": lambda tx, said, version: tasks.update(
            tx, ADA, task.number, TaskPatch(description=said, tags=[said]), expected_version=version
        ),
        "prompt": lambda tx, said, version: prompts.update(
            tx, ADA, prompt.id, PromptPatch(description=said, tags=[said]), expected_version=version
        ),
        "document": lambda tx, said, version: documents.update(
            tx, ADA, "r", DocumentPatch(description=said), expected_version=version
        ),
    }
    return updates[request.param]


def test_another_version_is_refused_and_changes_nothing(database: Database, update: Update) -> None:
    with database.write() as tx:
        assert update(tx, "first", 1).version == 2
    for expected in (1, 3):
        with pytest.raises(VersionConflict) as conflict, database.write() as tx:
            update(tx, "late", expected)
        assert (conflict.value.expected, conflict.value.actual) == (expected, 2)
    with database.write() as tx:
        last = update(tx, "last", 2)
    assert (last.version, last.description) == (3, "last")


def test_one_of_several_racing_updates_with_the_same_version_succeeds(database: Database, update: Update) -> None:
    for version in range(1, 6):
        start = threading.Barrier(4)
        outcomes: list[str] = []

        def race(name: str, start: threading.Barrier, outcomes: list[str], version: int) -> None:
            start.wait()
            try:
                with database.write() as tx:
                    update(tx, name, version)
                outcomes.append("done")
            except VersionConflict as conflict:
                assert (conflict.expected, conflict.actual) == (version, version + 1)
                outcomes.append("conflict")

        threads = [
            threading.Thread(target=race, args=(f"t{version}-{one}", start, outcomes, version)) for one in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes) == ["conflict"] * 3 + ["done"]
