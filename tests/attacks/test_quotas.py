"""A user with a token keeps only so many items and bytes, also when several of their calls write at once."""

import json
import random
import string
from typing import Any

import pytest

from satchel.errors import QuotaExceeded
from satchel.model import Author, PromptDraft, PromptPatch, Quota, Scope, TaskDraft
from satchel.services import projects, prompts, tasks
from satchel.storage import users
from satchel.storage.database import Database, open_database
from tests.attacks.floods import make_token
from tests.support.in_process_http import WebInProcess
from tests.support.threads import in_threads
from tests.support.web import JSON, call, request

GREEDY = "550e8400-e29b-41d4-a716-446655440000"
FULL = "You may keep at most 1 items, deleted and replaced ones included until they expire"
ADDS: dict[str, tuple[str, dict[str, Any]]] = {
    "prompt-store": ("add_prompt", {"title": "{}", "content": "x"}),
    "mcpkg": ("create_prompt", {"name": "{}", "content": "x"}),
    "todo": ("add_task", {"user_id": GREEDY, "title": "{}"}),
    "tasks": ("add_task", {"title": "{}"}),
    "satchel": ("add_tasks", {"lines": ["{}"]}),
}
TOLD: dict[str, Any] = {
    "prompt-store": {"error": {"code": "INVALID_INPUT", "message": FULL}},
    "mcpkg": f"Error: {FULL}",
    "todo": {"success": False, "task": None, "message": FULL},
    "tasks": {
        "success": False,
        "error": FULL,
        "code": "VALIDATION_ERROR",
        "details": {"field": "items", "constraint": "maximum", "limit": 1},
    },
    "satchel": (
        f"forbidden: lines[0]: {FULL}. Ask the operator of the server to purge deleted items or to raise the limit."
    ),
}


def random_text(size: int) -> str:
    """Return a text that cannot be compressed."""
    return "".join(random.choices(string.ascii_letters + string.digits, k=size))


def scope_of(user: str, quota: Quota | None) -> Scope:
    return Scope(project="default", user=user, author=Author(user=user), quota=quota)


@pytest.mark.parametrize("contract", ADDS)
def test_every_contract_reports_that_a_quota_is_exceeded(store: str, contract: str) -> None:
    greedy = make_token(store, GREEDY)
    tool, arguments = ADDS[contract]

    def add(name: str) -> Any:
        headers, body = call(tool, json.loads(json.dumps(arguments).replace("{}", name)))
        return server.ask("POST", f"/mcp/{contract}", [*headers, greedy.header], body).json["result"]

    with WebInProcess("-d", store, "--auth", "token", "--user-items", "1") as server:
        assert add("one")["isError"] is False
        refused = add("two")
        assert refused["isError"] is True
        text = refused["content"][0]["text"]
        assert (json.loads(text) if text.startswith("{") else text) == TOLD[contract]
        quiet = make_token(store)
        other = server.ask("POST", "/mcp/tool/add_task", [JSON, quiet.header], b'{"title": "mine"}')
        assert other.status == 200
    database = open_database(store)
    with database.read() as tx:
        assert tx.one("select count(*) from prompts where name = 'two' or title = 'two'") == (0,)
        assert tx.one("select count(*) from tasks where title = 'two'") == (0,)
    database.close()


def test_the_quota_of_bytes_includes_old_versions(database: Database) -> None:
    projects.require(database, Scope(project="default"))
    ada = scope_of(GREEDY, Quota(bytes=1_000_000))
    with database.write(ada) as tx:
        prompt = prompts.add(tx, ada, PromptDraft(title="a", content=random_text(600_000)))
    with pytest.raises(QuotaExceeded) as refused, database.write(ada) as tx:
        prompts.update(tx, ada, prompt.id, PromptPatch(content=random_text(600_000)))  # what is replaced is kept
    assert (refused.value.what, refused.value.limit) == ("bytes", 1_000_000)
    with database.write(ada) as tx:
        prompts.delete(tx, ada, prompt.id)
    with pytest.raises(QuotaExceeded), database.write(ada) as tx:
        prompts.add(tx, ada, PromptDraft(title="b", content="x" * 600_000))
    with database.read(ada) as tx:
        assert tx.one("select count(*) from prompts where deleted_at is null") == (0,)
        items, size = users.read_usage(tx, GREEDY)
        assert items == 1 and 600_000 < size < 601_000


def test_concurrent_calls_succeed_exactly_up_to_the_quota(store: str) -> None:
    ada = scope_of(GREEDY, Quota(items=5))
    database = open_database(store)
    outcomes: list[bool] = []

    def add(number: int) -> None:
        try:
            with database.write(ada) as tx:
                tasks.add(tx, ada, TaskDraft(title=f"{number}"))
            outcomes.append(True)
        except QuotaExceeded:
            outcomes.append(False)

    in_threads(add, range(12))
    with database.read(ada) as tx:
        assert tx.one("select count(*) from tasks") == (5,)
    database.close()
    assert sorted(outcomes) == [False] * 7 + [True] * 5


def test_pruned_history_no_longer_counts(database: Database) -> None:
    ada = scope_of(GREEDY, None)
    with database.write(ada) as tx:
        for number in range(3):
            tasks.add(tx, ada, TaskDraft(title=f"{number}", description="x" * 1000))
    with database.write(ada) as tx:
        items, size = users.read_usage(tx, GREEDY)
        assert items == 3 and size > 3000
    with database.write(ada) as tx:
        tx.run("delete from revisions where item in (select min(number) from tasks)")
        assert users.read_usage(tx, GREEDY) == (2, size // 3 * 2)


def test_the_local_user_has_no_quota(store: str) -> None:
    with WebInProcess("-d", store, "--user-items", "1", "--user-megabytes", "1") as server, server.connect() as wire:
        for number in range(5):
            body = json.dumps({"title": f"{number}"}).encode()
            wire.send(request("POST", "/mcp/tool/add_task", [JSON], body))
            assert wire.read().status == 200
