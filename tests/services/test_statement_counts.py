"""The number of statements of a tool for one item, without BEGIN, COMMIT and settings of the connection."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from satchel.model import Scope
from satchel.services import projects
from satchel.storage.database import Database
from satchel.storage.sqlite import SqliteTx
from tests.support.runners import ADA, Runners

HERE = Scope(user=ADA)

Send = Callable[..., list[str]]
Count = Callable[..., int]


@pytest.fixture
def send(database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[Send]:
    """Yield a function that calls a tool and returns its statements: `send("satchel", "get_task", task="#1")`."""
    with database.write() as tx:
        projects.add(tx, "default")
    runners = Runners(database)
    sent: list[str] = []
    execute = SqliteTx.execute

    def spy(tx: SqliteTx, sql: str, values: dict[str, object]) -> list[tuple[Any, ...]]:
        sent.append(sql)
        return execute(tx, sql, values)

    monkeypatch.setattr(SqliteTx, "execute", spy)

    def call(contract: str, tool: str, **arguments: Any) -> list[str]:
        sent.clear()
        result = runners.call(contract, tool, arguments, HERE)
        assert result["isError"] is False, result
        return [" ".join(sql.split()) for sql in sent]

    yield call
    runners.close()


@pytest.fixture
def count(send: Send) -> Count:
    """Return a function that calls a tool and returns the number of its statements."""
    return lambda contract, tool, **arguments: len(send(contract, tool, **arguments))


def test_a_task_is_read_once_by_each_tool(count: Count) -> None:
    for number in range(1, 10):
        count("satchel", "add_task", title=f"Task {number}", description="text", tags=["a"])
    # One statement of each call looks for tasks that were taken over from the caller.
    updates: list[tuple[dict[str, Any], int]] = [
        ({"title": "Other"}, 11),
        ({"description": "Other"}, 11),
        ({"tags": ["+b"]}, 11),
        ({"priority": "high", "due": "2027-01-01"}, 7),
        ({"blocked_by": ["2"]}, 10),
        ({"status": "completed"}, 10),
        ({"status": "completed"}, 3),
    ]
    for change, most in updates:
        assert count("satchel", "update_task", task="1", **change) <= most, change
    assert count("satchel", "complete_task", task="3") <= 10
    assert count("satchel", "complete_task", task="3") <= 3
    assert count("satchel", "claim_task", task="4") <= 9
    assert count("satchel", "claim_task", task="4", release=True) <= 5
    assert count("satchel", "get_task", task="4") <= 7
    assert count("satchel", "list_tasks") <= 4
    assert count("satchel", "add_task", title="Another", tags=["a"]) <= 9


def test_a_search_without_hits_suggests_titles_without_searching_again(send: Send) -> None:
    send("satchel", "add_prompt", title="Release checklist", content="x")
    send("satchel", "add_task", title="Water the plants")
    sent = send("satchel", "search", query="unknownword walrus elephant")
    assert sum("from search_spaces where owner" in sql for sql in sent) == 5  # the search, and four texts to compare
    assert len(sent) <= 130


def test_tasks_that_are_added_together_read_their_project_once(count: Count) -> None:
    few, many = (count("satchel", "add_tasks", lines=[f"Task {one}" for one in range(size)]) for size in (10, 30))
    assert many - few <= 20 * 5


def test_the_contracts_for_tasks_alone_read_a_task_once(count: Count) -> None:
    for _ in range(2):  # the first call also adds the author and the space of the index
        added = count("tasks", "add_task", title="Task")
    assert added <= 6
    assert count("tasks", "update_task", task_id=1, title="Other") <= 10
    assert count("tasks", "complete_task", task_id=1) <= 7


def test_a_document_is_read_once_by_each_tool(count: Count) -> None:
    count("satchel", "add_resource", name="first.md", content="text")  # adds the author and the space of the index
    assert count("satchel", "add_resource", name="a.md", content="text") <= 6
    assert count("satchel", "update_resource", resource="a.md", content="other") <= 8
    assert count("satchel", "update_resource", resource="a.md", content="other") <= 2
    assert count("satchel", "read_resource", resource="a.md") <= 3
    assert count("satchel", "delete", items=["a.md"]) <= 8
    few, many = (
        count("satchel", "add_resources", resources=[{"name": f"{size}-{one}", "content": "x"} for one in range(size)])
        for size in (10, 30)
    )
    assert many - few <= 20 * 5


def test_prompts_that_are_added_together_read_their_project_once(send: Send) -> None:
    send("satchel", "add_prompt", title="First", content="x")
    entries = [{"title": f"Number {number}", "content": "x"} for number in range(200)]
    statements = send("satchel", "add_prompts", prompts=entries)

    assert len([sql for sql in statements if " from projects where name = " in sql]) == 1


def test_a_prompt_is_added_without_reading_anything(send: Send) -> None:
    send("prompt-store", "add_prompt", title="First", content="x", tags=["a"])
    statements = send("prompt-store", "add_prompt", title="Second", content="x", tags=["a"])

    assert [sql for sql in statements if not sql.startswith("insert into ")] == []


def test_a_prompt_is_read_once(count: Count) -> None:
    count("satchel", "add_prompt", title="Tea", content="x", tags=["a"])
    assert count("satchel", "get_prompt", prompt="tea") <= 4  # its links, its labels, and the count of uses
    assert count("satchel", "get_prompt", prompt="tea", arguments={}) <= 2
    assert count("satchel", "list_prompts") <= 4


def test_an_item_is_found_once_by_history_and_restore(count: Count) -> None:
    for content in ("one", "two", "three"):
        count("mcpkg", "create_prompt" if content == "one" else "update_prompt", name="tea", content=content)
    assert count("satchel", "history", item="tea") <= 5
    assert count("satchel", "history", item="tea", version=1) <= 5
    assert count("satchel", "history", item="tea", version=2, against=1) <= 7
    assert count("satchel", "restore", item="tea") <= 20
    count("satchel", "delete", items=["tea"])
    assert count("satchel", "restore", item="tea") <= 19


def test_any_number_of_exact_names_is_one_statement(count: Count) -> None:
    for number in range(40):
        count("satchel", "add_prompt", title=f"Prompt {number}", content="text")
    # Everything but the lookup runs once per item, so eleven items cost eleven times as much, without the lookup.
    one = count("satchel", "update_items", items=["prompt-0"], tags=["+a"])
    many = count("satchel", "update_items", items=[f"prompt-{number}" for number in range(1, 12)], tags=["+a"])
    assert many - 11 * one <= -10


def test_prompts_that_are_deleted_together_leave_the_indexes_together(send: Send) -> None:
    for number in range(40):
        send("satchel", "add_prompt", title=f"Prompt {number}", content="text", tags=["a"])
    few = send("satchel", "delete", items=[f"prompt-{number}" for number in range(10)])
    many = send("satchel", "delete", items=[f"prompt-{number}" for number in range(10, 40)])

    assert len(many) - len(few) <= 20 * 4
    assert len([sql for sql in many if sql.startswith("delete from search_items")]) == 1
    assert len([sql for sql in many if sql.startswith("delete from prompt_texts")]) == 1
