"""One valid call of every tool and every method of the contracts, on a store that was filled for these calls.

The tests of faults, fuzzing and read-only stores share them. A tool without a row fails a test.
"""

from pathlib import Path
from typing import Any

from satchel.contracts import load
from satchel.model import Scope
from satchel.storage.database import open_database
from tests.support.runners import ADA, BOB, STORED, Runners, has_failed

PLACE = Scope(user=ADA)
PROJECTS = ("default", "web", "ops")

_LONG = "# Plan\n\n## Goal\n\nShip in December.\n\n## Risks\n\nThe postmortem of October is not done.\n"

# Calls that fill the store: contract, tool, arguments, user. Task 1 blocks task 2, task 3 has notes, task 4 is Bob's.
_FILLING: tuple[tuple[str, str, dict[str, Any], str], ...] = (
    ("satchel", "add_project", {"name": "web"}, ADA),
    ("satchel", "add_project", {"name": "ops"}, ADA),
    (
        "satchel",
        "add_prompts",
        {
            "prompts": [
                {"title": "Code review", "content": "Review {{ language }} code.\nSee satchel://task/1", "tags": ["a"]},
                {"title": "Plain words", "content": "needle in the hay", "tags": ["a", "b"]},
                {"title": "Spare", "content": "to be deleted"},
            ]
        },
        ADA,
    ),
    ("satchel", "add_prompts", {"prompts": [{"title": "Elsewhere", "content": "needle"}], "project": "web"}, BOB),
    ("satchel", "update_prompt", {"prompt": "plain-words", "content": "another needle in the hay"}, ADA),
    (
        "satchel",
        "add_resources",
        {
            "resources": [
                {"name": "plan.md", "content": _LONG, "uri": "x:plan"},
                {"name": "dot.png", "content": "iVBORw0KGgo=", "mime_type": "image/png"},
                {"name": "old.txt", "content": "gone soon"},
            ]
        },
        ADA,
    ),
    (
        "satchel",
        "add_tasks",
        {"lines": ["First !high +a", "Second after:1\n  See satchel://resource/plan.md", "Third +b", "Fourth"]},
        ADA,
    ),
    ("todo", "add_task", {"user_id": BOB, "title": "Of Bob"}, BOB),
    ("satchel", "update_task", {"task": "3", "note": "a note", "title": "Third time"}, ADA),
    ("satchel", "delete", {"items": ["old.txt", "spare"]}, ADA),
    ("satchel", "get_prompt", {"prompt": "code-review", "arguments": {"language": "Go"}}, ADA),
)

# A valid call of each tool and method. Words in braces stand for ids of the filled store.
CALLS: dict[str, dict[str, dict[str, Any]]] = {
    "prompt-store": {
        "add_prompt": {"title": "New", "content": "text", "tags": ["a", "c"]},
        "list_prompts": {"limit": 2, "offset": 1},
        "get_prompt": {"id": "{prompt}"},
        "update_prompt": {"id": "{prompt}", "title": "Other", "content": "words", "tags": ["z"]},
        "delete_prompt": {"id": "{prompt}"},
        "search_prompts": {"query": "needle"},
        "filter_by_tags": {"tags": ["a"]},
        "list_tags": {},
    },
    "mcpkg": {
        "create_prompt": {"name": "fresh", "content": "text", "description": "words"},
        "update_prompt": {"name": "plain-words", "content": "changed", "description": ""},
        "delete_prompt": {"name": "plain-words"},
        "create_resource": {"name": "fresh.txt", "uri": "x:fresh", "content": "text"},
        "update_resource": {"name": "plan.md", "content": "changed"},
        "delete_resource": {"name": "plan.md"},
        "prompts/list": {},
        "prompts/get": {"name": "plain-words"},
        "resources/list": {},
        "resources/templates/list": {},
        "resources/read": {"uri": "x:plan"},
    },
    "todo": {
        "add_task": {"user_id": ADA, "title": "Tea"},
        "list_tasks": {"user_id": ADA, "include_completed": False},
        "complete_task": {"user_id": ADA, "task_id": "{task}"},
        "delete_task": {"user_id": ADA, "task_id": "{task}"},
        "update_task": {"user_id": ADA, "task_id": "{task}", "title": "Other"},
    },
    "tasks": {
        "add_task": {"title": "Tea", "description": "green"},
        "list_tasks": {"status": "pending"},
        "update_task": {"task_id": 1, "title": "Other", "description": None},
        "complete_task": {"task_id": 1},
        "delete_task": {"task_id": 1},
    },
    "satchel": {
        "search": {"query": "needle"},
        "catch_up": {"since": "3d"},
        "remember": {"text": "Deploy with make release"},
        "add_project": {"name": "shed"},
        "list_projects": {},
        "list_prompts": {"query": "needle", "tags": ["a"]},
        "get_prompt": {"prompt": "code-review", "arguments": {"language": "C"}},
        "add_prompts": {
            "prompts": [{"title": "One", "content": "satchel://task/2 {{ x }}"}, {"title": "Two", "content": "y"}],
            "key": "k-1",
        },
        "update_prompt": {"prompt": "plain-words", "title": "Renamed", "tags": ["+z"], "expected_version": 2},
        "add_prompt": {"title": "Single", "content": "text", "tags": ["q"]},
        "render_prompt": {"prompt": "code-review", "arguments": {"language": "Rust"}},
        "list_tags": {},
        "list_resources": {"query": "plan"},
        "read_resource": {"resource": "plan.md", "heading": "Goal"},
        "add_resources": {"resources": [{"name": "a.md", "content": "see satchel://prompt/plain-words"}], "key": "k-2"},
        "update_resource": {"resource": "plan.md", "description": "winter", "content": "short"},
        "add_resource": {"name": "b.md", "content": "text"},
        "edit_text": {"item": "plan.md", "edits": [{"old": "in December", "new": "in January"}], "append": "end"},
        "list_tasks": {"status": "all", "query": "t"},
        "show": {"query": "t"},
        "get_task": {"task": "2"},
        "add_tasks": {"lines": ["One +x", "Two after:1 @web"], "key": "k-3"},
        "update_task": {"task": "2", "tags": ["+n"], "blocked_by": ["+3"], "note": "hm", "project": "web"},
        "complete_task": {"task": "1", "note": "done"},
        "claim_task": {"minutes": 5},
        "add_task": {"title": "Alone", "blocked_by": ["1"], "tags": ["x"]},
        "update_items": {"items": ["plain-words", "3"], "to": "web"},
        "delete": {"items": ["plan.md", "1", "plain-words"]},
        "history": {"item": "plain-words", "version": 2, "against": 1},
        "restore": {"item": "old.txt"},
        "prompts/list": {},
        "prompts/get": {"name": "code-review", "arguments": {"language": "Zig"}},
        "resources/list": {},
        "resources/templates/list": {},
        "resources/read": {"uri": "satchel://task/2"},
        "completion/complete": {
            "ref": {"type": "ref/prompt", "name": "code-review"},
            "argument": {"name": "language", "value": ""},
        },
        "skills/list": {},
        "skills/get": {"uri": "skill://satchel/using-satchel/SKILL.md"},
    },
}
NAMES = [(contract, name) for contract, calls in CALLS.items() for name in calls]
WRITING = {(contract, tool.name) for contract in STORED for tool in load(contract).tools if tool.writes}


def fill(runners: Runners) -> None:
    """Fill an empty store with the items that the calls need."""
    from satchel.services import projects

    projects.require(runners.database, PLACE)
    for contract, tool, arguments, user in _FILLING:
        result = runners.call(contract, tool, arguments, Scope(user=user))
        assert not has_failed(result), result


def fill_store(path: Path | str) -> dict[str, str]:
    """Fill a store for the calls, with ADA as its local user, and close it; return its ids."""
    database = open_database(str(path))
    runners = Runners(database)
    fill(runners)
    ids = find_ids(runners)
    with database.write() as tx:
        tx.run("insert into settings values ('local_user', :user)", user=ADA)
    runners.close()
    database.close()
    return ids


def find_ids(runners: Runners) -> dict[str, str]:
    """Return the ids of the items that the calls name."""
    with runners.database.read(PLACE) as tx:
        prompt = tx.one("select id from prompts where name = 'plain-words'")
        task = tx.one("select id from tasks where number = 1")
    assert prompt is not None and task is not None
    return {"{prompt}": prompt[0], "{task}": task[0]}


def arguments_of(contract: str, name: str, ids: dict[str, str]) -> dict[str, Any]:
    """Return the arguments of a valid call, with the ids of this store."""
    given = CALLS[contract][name]
    return {key: ids.get(value, value) if isinstance(value, str) else value for key, value in given.items()}
