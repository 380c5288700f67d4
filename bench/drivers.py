"""The tools of each rival for the same jobs: add, get, list, update, complete, search and render.

Items are numbered from 1 in the order of their addition; `text(number)` is the content of an item. `get` reads one item
by its id and returns all of it.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from bench import texts

VERBS = ("add", "get", "list", "update", "search", "complete", "render")
TEMPLATE = "Review {{ change }} for {{ reader | default('the team') }}: what could go wrong, and how would we notice?"
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


class Conversation(Protocol):
    """The part of a client that a driver needs, over stdio or HTTP."""

    def call(self, tool: str, arguments: dict[str, Any]) -> tuple[float, Any]:
        """Call a tool; return the milliseconds and the result."""
        ...


@dataclass(frozen=True)
class Vocabulary:
    """A rival's tools: for each verb the name of the tool, and its arguments for an item (its number, its id)."""

    verbs: dict[str, tuple[str, Callable[[int, str], dict[str, Any]]]]
    find_id: Callable[[int, Any], str] = lambda number, result: str(number)  # noqa: ARG005
    first: tuple[str, dict[str, Any]] | None = None  # a call before all others
    template: tuple[str, dict[str, Any]] | None = None  # a call that saves what `render` renders


@dataclass
class Driver:
    """A conversation with a rival in the words of its tools."""

    client: Conversation
    vocabulary: Vocabulary
    ids: list[str] = field(default_factory=list)

    def prepare(self) -> None:
        """Make the first call that a new store needs."""
        if self.vocabulary.first:
            self.client.call(*self.vocabulary.first)

    def save_template(self) -> None:
        """Save the template of `render`; parts that weigh memory do not, because saving it starts the worker."""
        if self.vocabulary.template:
            self.client.call(*self.vocabulary.template)

    def can(self, verb: str) -> bool:
        """Return whether the rival has a tool for a verb."""
        return verb in self.vocabulary.verbs

    def add(self) -> float:
        """Add the next item; return the milliseconds."""
        number = len(self.ids) + 1
        taken, result = self._call("add", number, "")
        self.ids.append(self.vocabulary.find_id(number, result))
        return taken

    def do(self, verb: str, number: int) -> float:
        """Call the tool of a verb for an item; return the milliseconds."""
        if verb == "add":
            return self.add()
        return self._call(verb, number, self.ids[number - 1])[0]

    def _call(self, verb: str, number: int, id: str) -> tuple[float, Any]:
        tool, arguments = self.vocabulary.verbs[verb]
        return self.client.call(tool, arguments(number, id))


def title(number: int) -> str:
    """Return the title of an item."""
    return f"Item {number} {texts.word(number)}"


def text(number: int) -> str:
    """Return the content of an item: some 200 characters."""
    return texts.sentence(number)


def find_structured(key: str) -> Callable[[int, Any], str]:
    """Read the id of an added item from the structured answer."""
    return lambda _, result: str(result["structuredContent"][key])


SAME_TOOLS = Vocabulary(
    {
        "add": ("add_prompt", lambda n, _: {"title": title(n), "content": text(n), "tags": ["bench"]}),
        "get": ("get_prompt", lambda _, id: {"id": id}),
    },
    find_structured("id"),
)
PROMPT_STORE = Vocabulary(
    {
        **SAME_TOOLS.verbs,
        "list": ("list_prompts", lambda *_: {"limit": 20}),
        "update": ("update_prompt", lambda n, id: {"id": id, "title": title(n), "content": f"New: {text(n)}"}),
        "search": ("search_prompts", lambda n, _: {"query": texts.word(n)}),
    },
    find_structured("id"),
)
SATCHEL = Vocabulary(
    {
        "add": ("add_task", lambda n, _: {"title": title(n), "description": text(n)}),
        "get": ("get_task", lambda _, id: {"task": f"#{id}"}),
        "list": ("list_tasks", lambda *_: {}),
        "update": ("update_task", lambda n, id: {"task": f"#{id}", "description": f"New: {text(n)}"}),
        "search": ("search", lambda n, _: {"query": texts.word(n)}),
        "complete": ("complete_task", lambda _, id: {"task": f"#{id}"}),
        "render": ("get_prompt", lambda n, _: {"prompt": "a-template", "arguments": {"change": title(n)}}),
    },
    template=("add_prompt", {"title": "A template", "content": TEMPLATE}),
)
KAZUPH = Vocabulary(
    {
        "add": (
            "add_tasks_to_request",
            lambda n, _: {"requestId": "req-1", "tasks": [{"title": title(n), "description": text(n)}]},
        ),
        "get": ("open_task_details", lambda _, id: {"taskId": id}),
        "list": ("list_requests", lambda *_: {}),
        "update": (
            "update_task",
            lambda n, id: {"requestId": "req-1", "taskId": id, "title": title(n), "description": f"New: {text(n)}"},
        ),
        "complete": ("mark_task_done", lambda _, id: {"requestId": "req-1", "taskId": id}),
    },
    find_id=lambda n, _: f"task-{n + 1}",  # the request itself has the first
    first=("request_planning", {"originalRequest": "All", "tasks": [{"title": "First", "description": "First"}]}),
)
SERVER_MEMORY = Vocabulary(
    {
        "add": (
            "create_entities",
            lambda n, _: {"entities": [{"name": title(n), "entityType": "task", "observations": [text(n)]}]},
        ),
        "get": ("open_nodes", lambda n, _: {"names": [title(n)]}),
        "list": ("read_graph", lambda *_: {}),
        "update": (
            "add_observations",
            lambda n, _: {"observations": [{"entityName": title(n), "contents": [f"New: {text(n)}"]}]},
        ),
        "search": ("search_nodes", lambda n, _: {"query": texts.word(n)}),
    }
)
BACKLOG = Vocabulary(
    {
        "add": ("task_create", lambda n, _: {"title": title(n), "description": text(n)}),
        "get": ("task_view", lambda _, id: {"id": id}),
        "list": ("task_list", lambda *_: {"limit": 20}),
        "update": ("task_edit", lambda n, id: {"id": id, "description": f"New: {text(n)}"}),
        "search": ("task_search", lambda n, _: {"query": texts.word(n), "limit": 20}),
        "complete": ("task_edit", lambda _, id: {"id": id, "status": "Done"}),
    },
    find_id=lambda n, _: f"task-{n}",
)
SHRIMP = Vocabulary(
    {
        "add": (
            "split_tasks",
            lambda n, _: {
                "updateMode": "append",
                "tasksRaw": json.dumps(
                    [
                        {
                            "name": title(n),
                            "description": text(n),
                            "implementationGuide": text(n),
                            "verificationCriteria": "It is there.",
                            "dependencies": [],
                            "relatedFiles": [],
                        }
                    ]
                ),
            },
        ),
        "get": ("get_task_detail", lambda _, id: {"taskId": id}),
        "list": ("list_tasks", lambda *_: {"status": "all"}),
        "update": ("update_task", lambda n, id: {"taskId": id, "description": f"New: {text(n)}"}),
        "search": ("query_task", lambda n, _: {"query": texts.word(n), "pageSize": 20}),
    },
    find_id=lambda _, result: UUID.findall(result["content"][0]["text"])[-1],
)
BASIC_MEMORY = Vocabulary(
    {
        "add": ("write_note", lambda n, _: {"title": f"Item {n}", "content": text(n), "directory": "notes"}),
        "get": ("read_note", lambda _, id: {"identifier": id}),
        "list": ("list_directory", lambda *_: {"dir_name": "/notes", "page_size": 20}),
        "update": ("edit_note", lambda _, id: {"identifier": id, "operation": "append", "content": "More of it."}),
        "search": ("search_notes", lambda n, _: {"query": texts.word(n), "search_type": "text", "page_size": 20}),
    },
    find_id=lambda n, _: f"notes/item-{n}",
)


def taskwarrior_mcp() -> Vocabulary:
    """Return the vocabulary of taskwarrior-mcp, whose tools take one object."""

    def words(tool: str, arguments: Callable[[int, str], dict[str, Any]]) -> Any:
        return f"taskwarrior_{tool}", lambda n, id: {"params": arguments(n, id)}

    return Vocabulary(
        {
            "add": words("add", lambda n, _: {"description": f"{title(n)} {text(n)}"}),
            "get": words("get", lambda _, id: {"task_id": id}),
            "list": words("list", lambda *_: {"limit": 20}),
            "update": words("modify", lambda n, id: {"task_id": id, "description": f"New: {text(n)}"}),
            "search": words("list", lambda n, _: {"filter": texts.word(n), "limit": 20}),
            "complete": words("complete", lambda _, id: {"task_id": id}),
        }
    )


def task_master(root: str) -> Vocabulary:
    """Return the vocabulary of task-master-ai; without a language model it updates only the status."""
    return Vocabulary(
        {
            "add": ("add_task", lambda n, _: {"projectRoot": root, "title": title(n), "description": text(n)}),
            "get": ("get_task", lambda _, id: {"projectRoot": root, "id": id}),
            "list": ("get_tasks", lambda *_: {"projectRoot": root}),
            "complete": ("set_task_status", lambda _, id: {"projectRoot": root, "id": id, "status": "done"}),
        }
    )
