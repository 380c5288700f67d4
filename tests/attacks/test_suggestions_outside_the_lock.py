"""Similar names are searched without the write lock."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from satchel.contracts import load
from satchel.contracts.runner import Runner
from satchel.library.catalog import Libraries
from satchel.model import DocumentDraft, PromptDraft, Scope, TaskDraft
from satchel.protocol.codec import encode
from satchel.services import documents, lookup, projects, prompts, tasks
from satchel.services.texts import closest_names
from satchel.storage.database import Database, Tx
from tests.attacks.worlds import ANN

ADA = Scope(project="default", user=ANN)
# Each of the tools that write, with a name that nothing has.
MISTAKES: dict[str, dict[str, Any]] = {
    "update_prompt": {"prompt": "cod-review", "content": "x"},
    "edit_text": {"item": "cod-review", "edits": [{"old": "a", "new": "b"}]},
    "update_resource": {"resource": "style-guid", "content": "x"},
    "update_task": {"task": "Buy mlk", "title": "x"},
    "complete_task": {"task": "Buy mlk"},
    "delete_items": {"items": ["cod-review"]},
    "restore": {"item": "cod-review"},
    "add_tasks": {"lines": ["x"], "project": "defalt"},
    "claim_task": {"task": "Buy mlk"},
}


@pytest.fixture
def runner(database: Database) -> Iterator[Runner]:
    projects.require(database, ADA)
    with database.write(ADA) as tx:
        prompts.add(tx, ADA, PromptDraft(title="Code review", content="x"))
        documents.add(tx, ADA, DocumentDraft(name="style-guide", uri="a:b", content="x"))
        tasks.add(tx, ADA, TaskDraft(title="Buy milk"))
    libraries = Libraries(())
    yield Runner(load("satchel"), database, lambda: libraries)
    libraries.renderer.close()


def test_no_tool_that_writes_looks_for_similar_names_in_its_transaction(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[bool] = []

    def watch(module: Any, name: str) -> None:
        original: Callable[..., Any] = getattr(module, name)

        def recorded(tx: Tx, *arguments: Any) -> Any:
            looked.append(tx.writes)
            return original(tx, *arguments)

        monkeypatch.setattr(module, name, recorded)

    for module, name in ((lookup, "find_by_words"), (lookup, "suggest_deleted"), (projects, "list_names")):
        watch(module, name)
    served = {name: arguments for name, arguments in MISTAKES.items() if name in runner.tools}
    assert len(served) > 5
    for name, arguments in served.items():
        looked.clear()
        result = runner.run_tool(name, arguments, ADA, lambda *_: None)
        assert result["isError"] is True
        assert looked and not any(looked), name
        assert b"not_found" in encode(result) and b"near" in encode(result), (name, encode(result))


def test_names_that_are_too_long_are_not_compared() -> None:
    some = [f"a name that was typed {number}" for number in range(100)]
    assert closest_names("x" * 100_000, some) == () and closest_names("x", ["x" * 100_000]) == ()
    assert closest_names("a name that was typed 12", some)[0] == "a name that was typed 12"
