"""A conversation for each contract: lists, writes, reads of what was written, and refused calls."""

import json
import re
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "libraries"
USER = "550e8400-e29b-41d4-a716-446655440000"
URI = "file:///Grüße/notes.md"

Step = tuple[str, dict[str, Any]]


def call(tool: str, **arguments: Any) -> Step:
    return "tools/call", {"name": tool, "arguments": arguments}


COMPLETION = {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": ""}}

LAST_TASK = "LAST_TASK"  # stands for the id of the last task that the tools of todo answered with

# Every tool of todo and tasks succeeds and fails: the clients check the answers against the schemas that they listed.
# By contract: each step, and how it ends: well, as a failure of the tool, or with the code of an error.
STEPS: dict[str, list[tuple[Step, str | int]]] = {
    "prompt-store": [
        (("tools/list", {}), "ok"),
        (call("add_prompt", title="École", content="two\r\nlines\u2028👋", tags=["a"]), "ok"),
        (call("list_prompts"), "ok"),
        (call("add_prompt", title="École", content="x"), "failed"),
        (call("nope"), -32602),
        (("prompts/list", {}), -32601),
    ],
    "mcpkg": [
        (("tools/list", {}), "ok"),
        (call("create_prompt", name="greeting", content="Hello {{ name }}"), "ok"),
        (call("create_resource", name="notes", uri=URI, content="# Notes\r\n", mime_type="text/markdown"), "ok"),
        (("prompts/list", {}), "ok"),
        (("prompts/get", {"name": "greeting"}), "ok"),
        (("resources/list", {}), "ok"),
        (("resources/read", {"uri": URI}), "ok"),
        (("resources/read", {"uri": "file:///nope"}), -32602),
        (("prompts/get", {"name": "nope"}), -32602),
        (call("delete_prompt", name="nope"), "failed"),
        (call("nope"), -32602),
        (("completion/complete", COMPLETION), -32601),
    ],
    "twig": [
        (("prompts/list", {}), "ok"),
        (("prompts/get", {"name": "everyday:commit_message", "arguments": {"diff": "{{ 7 * 7 }}"}}), "ok"),
        (("prompts/get", {"name": "everyday:commit_message"}), -32602),
        (("prompts/get", {"name": "everyday:nope"}), -32601),
        (("tools/list", {}), -32601),
    ],
    "todo": [
        (("tools/list", {}), "ok"),
        (call("add_task", user_id=USER, title="Buy milk"), "ok"),
        (call("list_tasks", user_id=USER), "ok"),
        (call("complete_task", user_id=USER, task_id=USER), "failed"),
        (call("update_task", user_id=USER, task_id=LAST_TASK, title="Buy oat milk"), "ok"),
        (call("update_task", user_id=USER, task_id=LAST_TASK, title=" "), "failed"),
        (call("complete_task", user_id=USER, task_id=LAST_TASK), "ok"),
        (call("list_tasks", user_id=USER, include_completed="yes"), "failed"),
        (call("delete_task", user_id=USER, task_id=LAST_TASK), "ok"),
        (call("delete_task", user_id=USER, task_id=LAST_TASK), "failed"),
        (call("add_task", user_id=URI, title="x"), "failed"),
        (call("nope"), -32602),
        (("prompts/list", {}), -32601),
    ],
    "tasks": [
        (("tools/list", {}), "ok"),
        (call("add_task", title="Buy milk", description=None), "ok"),
        (call("list_tasks", status="pending"), "ok"),
        (call("delete_task", task_id=99), "failed"),
        (call("update_task", task_id=2, description="Of oats"), "ok"),
        (call("update_task", task_id=2), "failed"),
        (call("complete_task", task_id=2), "ok"),
        (call("complete_task", task_id=2), "ok"),
        (call("complete_task", task_id="2"), "failed"),
        (call("list_tasks", status="done"), "failed"),
        (call("add_task", title="a\0b"), "failed"),
        (call("delete_task", task_id=2), "ok"),
        (call("nope"), -32602),
        (("resources/list", {}), -32601),
    ],
}

SATCHEL: list[Step] = [
    ("tools/list", {}),
    call("add_prompt", title="Tea", content="Boil {{ what }}", arguments=[{"name": "what", "required": True}]),
    call("render_prompt", prompt="tea", arguments={"what": "water"}),
    call("get_prompt", prompt="te"),
    call("add_task", title=""),
    ("prompts/list", {}),
    ("prompts/get", {"name": "tea", "arguments": {"what": "water"}}),
    ("resources/templates/list", {}),
    ("resources/read", {"uri": "satchel://prompt/tea"}),
    ("completion/complete", {"ref": {"type": "ref/prompt", "name": "tea"}, "argument": {"name": "x", "value": ""}}),
]
CONVERSATIONS = {"satchel": SATCHEL, **{contract: [step for step, _ in steps] for contract, steps in STEPS.items()}}


def fill_in(params: dict[str, Any], last: str) -> dict[str, Any]:
    """Return the parameters of a step, with the id of the last task."""
    filled: dict[str, Any] = json.loads(json.dumps(params).replace(LAST_TASK, last))
    return filled


def last_task(result: dict[str, Any] | None) -> str | None:
    """Return the id of the task in an answer; the text has it in every revision."""
    found = re.search(r'"task": ?\{"id": ?"([^"]+)"', json.dumps(result).replace("\\", ""))
    return found[1] if found else None
