"""Updates with an expected version: of several with the same one, exactly one succeeds, even at the same time."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from satchel.errors import VersionConflict
from satchel.model import DocumentDraft, DocumentPatch, PromptDraft, PromptPatch, Scope, TaskDraft, TaskPatch
from satchel.services import documents, projects, prompts, tasks
from satchel.storage.database import Database, Tx
from tests.support.threads import in_threads

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


def test_one_of_several_racing_updates_with_the_same_version_succeeds(database: Database, update: Update) -> None:
    start = threading.Barrier(4)
    outcomes: list[str] = []

    def race(name: str) -> None:
        for version in range(1, 6):
            start.wait()
            try:
                with database.write() as tx:
                    update(tx, f"{name}{version}", version)
                outcomes.append("done")
            except VersionConflict as conflict:
                assert (conflict.expected, conflict.actual) == (version, version + 1)
                outcomes.append("conflict")

    in_threads(race, "abcd")
    assert sorted(outcomes) == ["conflict"] * 15 + ["done"] * 5
