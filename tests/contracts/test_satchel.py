"""The tools of the contract satchel over real stdio, on both engines: each success and each failure, replies whole."""

from collections.abc import Callable
from typing import Any

from satchel.contracts import load
from satchel.services import projects
from satchel.storage.database import Database
from tests.support.satchel import (
    HINT,
    Like,
    answered,
    deleted,
    missing,
    ok,
    refusal,
    result_of,
    task_id,
    text,
    wrong,
)
from tests.support.stdio import NEWEST, OLDEST, Client

NO_CURSOR = {
    "code": "invalid_argument",
    "message": "cursor is not valid here: use next_cursor from the previous page.",
    "argument": "cursor",
    "hint": "Leave it out to get the first page.",
}
AGAIN = Like(
    r"Changed by satchel-tests 1 at [^ ]+Z: (content \(1 line\)|title)\. "
    r"Read it again, then repeat the update with the new version\."
)


# -- names ------------------------------------------------------------------------------------------------------


def test_a_mistyped_name_gets_the_nearest_suggestion(client: Client) -> None:
    ok(client, "add_prompt", title="Code review", content="x")
    ok(client, "add_prompt", title="Code preview", content="x")
    error = refusal(client, "get_prompt", prompt="Code reviw")
    assert error == missing(
        "Prompt 'Code reviw' does not exist in project 'default'.",
        "Did you mean code-review or code-preview?",
        "code-review",
        "code-preview",
    )
    assert refusal(client, "render_prompt", prompt="desk:leter")["near"][0] == "desk:letter"
    assert refusal(client, "update_prompt", prompt="code-reviev", title="x")["near"][0] == "code-review"
    ok(client, "add_resource", name="style-guide", content="x")
    assert refusal(client, "read_resource", resource="stile-guide") == missing(
        "Document 'stile-guide' does not exist in project 'default'.", "Did you mean style-guide?", "style-guide"
    )
    ok(client, "add_task", title="Water the roses")
    assert refusal(client, "complete_task", task="Water the rose") == missing(
        "Task Water the rose does not exist.", "Did you mean #1 Water the roses?", "#1"
    )
    assert refusal(client, "list_tags", project="gardn") == missing(
        "Project 'gardn' does not exist.", "Did you mean garden?", "garden"
    )


# -- versions ---------------------------------------------------------------------------------------------------


def test_a_lost_update_is_refused(client: Client) -> None:
    ok(client, "add_prompt", title="P", content="1")
    ok(client, "add_resource", name="r", content="1")
    ok(client, "add_task", title="T")
    for tool, reference, change, what in [
        ("update_prompt", {"prompt": "P"}, {"content": "2"}, "Prompt 'p'"),
        ("update_resource", {"resource": "r"}, {"content": "2"}, "Document 'r'"),
        ("update_task", {"task": "#1"}, {"title": "2"}, "Task 1"),
    ]:
        ok(client, tool, {**reference, **change, "expected_version": 1})
        expected = {"code": "conflict", "message": f"{what} has version 2, not 1.", "hint": AGAIN, "version": 2}
        assert refusal(client, tool, {**reference, **change, "expected_version": 1}) == expected
        assert refusal(client, tool, {**reference, **change, "expected_version": 2**53 + 1})["code"] == "conflict"
        ok(client, tool, {**reference, **dict.fromkeys(change, "3")})  # without expected_version
        ok(client, tool, {**reference, **change, "expected_version": 3})
        error = refusal(client, tool, {**reference, **change, "expected_version": 0})
        assert error["message"] == "expected_version must be at least 1."


# -- tasks ------------------------------------------------------------------------------------------------------


def test_a_task_is_added_changed_completed_and_deleted(client: Client) -> None:
    task = {
        "number": 1,
        "title": "Plant tulips",
        "priority": "high",
        "version": 1,
        "tags": ["outside"],
        "due": "2026-11-30",
    }
    added = result_of(
        client,
        "add_task",
        {
            "title": "Plant tulips",
            "description": "Along the wall",
            "project": "garden",
            "tags": ["Outside"],
            "priority": "High",
            "due": "2026-11-30",
        },
    )
    line = "#1 Plant tulips !high due:2026-11-30 +outside"
    assert added == {
        "content": [{"type": "text", "text": f"Added {line}, version 1"}],
        "structuredContent": {"project": "garden", "task": task},
        "isError": False,
    }
    row = {name: value for name, value in task.items() if name != "version"} | {"project": "garden"}
    assert ok(client, "list_tasks") == {"project": "default", "tasks": [row]}
    assert text(client, "list_tasks") == f"{line} @garden"
    changed = ok(
        client, "update_task", task=1, description="", tags=[], due="", to="", priority="NORMAL", title="Plant"
    )
    task = {"number": 1, "title": "Plant", "project": None, "version": 2}
    assert changed == {"project": "default", "task": task, "notes": ["#1 moved from garden to no project."]}
    done = {**task, "status": "completed", "version": 3}
    for said, more in (("Completed", {}), ("Already completed", {"already_completed": True})):
        completed = result_of(client, "complete_task", {"task": "#1"})
        assert completed["structuredContent"] == {"project": "default", "task": done, **more}
        assert completed["content"][0]["text"] == f"{said} #1 [x] Plant (in no project), version 3"
    assert ok(client, "update_task", task="1", status="pending")["task"] == {**task, "version": 4}
    assert result_of(client, "delete", {"items": ["satchel://task/1"]}) == {
        "content": [{"type": "text", "text": "Deleted #1 Plant"}],
        "structuredContent": {"project": "default", "deleted": [{"kind": "task", "item": "#1", "title": "Plant"}]},
        "isError": False,
    }
    gone = deleted("Task #1", "#1")
    assert refusal(client, "complete_task", task=1) == gone
    assert refusal(client, "update_task", task=1, title="x") == gone


def test_a_task_is_found_by_number_id_or_title(client: Client, store: str) -> None:
    ok(client, "add_task", title="First")
    id: Any = task_id(store, 1)
    ok(client, "add_task", title="Same")
    ok(client, "add_task", title="Same")
    for reference in (1, "1", "#1", " #1 ", id, id.upper(), "First", "satchel://task/1"):
        assert ok(client, "update_task", task=reference, priority="low")["task"]["number"] == 1, reference
    several = wrong("Several tasks have the title 'Same': #2 and #3.", None, "Use the number of one, such as #2.")
    assert refusal(client, "complete_task", task="Same") == {**several, "near": ["#2", "#3"]}
    assert refusal(client, "add_task", title="x", blocked_by=["Same"]) == {**several, "near": ["#2", "#3"]}
    for _ in range(2):
        ok(client, "add_task", title="Same")
    error = refusal(client, "complete_task", task=" Same ")
    assert (error["message"], error["near"]) == (
        "Several tasks have the title 'Same': #2, #3, #4 and more.",
        ["#2", "#3", "#4"],
    )
    for reference in (99, "#99", 2**63, -1, "１", "00000000-0000-4000-8000-000000000000"):
        # No task with a similar number is suggested.
        nothing = missing(f"Task {reference} does not exist.", "Use list_tasks with status all to see what there is.")
        assert refusal(client, "complete_task", task=reference) == nothing
    for reference in ("", " "):
        empty = wrong("task must not be empty.", "task", "Give task: #4 or its title.")
        assert refusal(client, "complete_task", task=reference) == empty
    for reference in (1.5, True, None, {"number": 1}):
        error = refusal(client, "complete_task", task=reference)
        assert error == wrong("task must name a task.", "task"), reference


def test_a_value_that_can_only_mean_one_of_the_right_type_is_taken(client: Client) -> None:
    ok(client, "add_tasks", lines="First +a\n    indented")
    ok(client, "add_task", title=["Second"], tags="b", blocked_by="#1")
    ok(client, "update_task", task=["#1"], expected_version="1", priority=["high"])
    assert ok(client, "list_tasks", limit="1", status="all", tags="a")["tasks"][0]["priority"] == "high"
    assert "tags" not in ok(client, "update_task", task=2, tags="", blocked_by="")["task"]
    assert ok(client, "claim_task", task=["#1"], minutes="5", release="False")["holder"]
    assert ok(client, "claim_task", task=1, release="true")["released"] is True
    assert ok(client, "update_items", items="#1", tags="+c", dry_run="true")["dry_run"] is True
    ok(client, "add_prompts", prompts={"title": "Tea", "content": "Brew {{ leaf }} for {{ who }}", "tags": "t"})
    ok(client, "update_prompt", prompt=["tea"], arguments=["leaf", "who?"])
    assert ok(client, "get_prompt", prompt="tea")["prompt"]["arguments"] == [{"name": "leaf"}, {"name": "who"}]
    ok(client, "add_resource", name="2026", content="x")
    assert ok(client, "read_resource", resource=2026)["resource"]["text"] == "x"
    ok(client, "edit_text", item=["tea"], edits={"old": "Brew", "new": "Steep", "all": "true"})
    assert ok(client, "delete", where=[{"tags": "t"}])["deleted"] == [{"kind": "prompt", "item": "tea"}]
    assert refusal(client, "add_prompts", prompts={"title": "x", "content": "y", "tag": "z"})["near"] == ["tags"]


def test_a_line_stays_a_line(client: Client, store: str, serve: Callable[..., Client]) -> None:
    # Other contracts accept such titles; ours does not.
    serve("tasks", store, NEWEST).call("add_task", {"title": "One\r\ntwo\u2028three", "description": "a\nb"})
    serve("prompt-store", store, NEWEST).call("add_prompt", {"title": "One\ntwo", "content": "x"})
    ok(client, "update_task", task=1, to="default")
    assert text(client, "list_tasks") == "#1 One two three"
    assert text(client, "list_prompts", query="one") == "- one-two"
    assert text(client, "complete_task", task=1) == "Completed #1 [x] One two three, version 3"
    assert text(client, "delete", items=["#1"]) == "Deleted #1 One two three"


# -- wrong arguments --------------------------------------------------------------------------------------------

DECLARED = 'For example {"name": "who", "required": true}.'
QUOTES = "Put it into quotes."
NEW = {"title": "x", "content": "x"}
# A tool, arguments, and the error: its message, argument and hint. Each sentence occurs once; tests/attacks checks
# the bound of every argument.
WRONG: list[tuple[Any, ...]] = [
    ("add_prompt", {}, "title is missing.", "title", "Give title: a short line for people."),
    ("add_prompt", {"title": 1, "content": "x"}, "title must be a text.", "title", QUOTES),
    ("add_prompt", {"title": "  ", "content": "x"}, "title must not be empty.", "title"),
    ("add_prompt", {"title": "x" * 201, "content": "x"}, "title can have at most 200 characters.", "title",
     "Shorten it."),
    ("add_prompt", {**NEW, "content": "ä" * (2**21 + 1)}, "content can have at most 4194304 bytes.", "content"),
    ("add_prompt", {**NEW, "name": "lib:x"}, "name can have letters, digits, - _ and . only.", "name"),
    ("add_prompt", {**NEW, "tags": ["a b"]}, "tags[0]: a tag has 1 to 50 letters, digits, - and _.", "tags"),
    ("add_prompt", {**NEW, "tags": True}, "tags must be a list.", "tags", 'For example ["one", "two"].'),
    ("add_prompt", {**NEW, "tags": [1]}, "tags[0] must be a text.", "tags", QUOTES),
    ("add_prompt", {**NEW, "tags": ["a"] * 101}, "tags can have at most 100 entries.", "tags"),
    *(
        (
            "add_prompt",
            {**NEW, "arguments": [{"name": "a"}, {"name": name}]},
            "arguments[1].name can have letters, digits and _ only, must not begin with a digit, "
            "and cannot be a Jinja2 keyword.",
            "arguments",
            "Use a name like user_name, not 2nd or if.",
        )
        for name in ("", "1a", "a-b", "é", "if", "True")
    ),
    *(
        ("add_prompt", {**NEW, "arguments": given}, message, "arguments", hint)
        for given, message, hint in [
            (True, "arguments must be a list.", f"For example [{DECLARED[12:-1]}]."),
            (
                {"who": "Ann"},
                "Unknown argument: arguments[0].who. Nothing was done.",
                "Arguments[0] has name, description, required, values, open.",
            ),
            ([5], "arguments[0] must be an object.", DECLARED),
            (
                [{"name": "a", "required": "yes"}],
                "arguments[0].required must be true or false.",
                "For example true.",
            ),
            ([{"name": "a", "values": ["x", 1]}], "arguments[0].values[1] must be a text.", QUOTES),
            ([{"name": "a", "\x00": 1}], "Unknown argument: arguments[0].?. Nothing was done.", HINT),
            ([{"name": None}], "arguments[0] must be an object with name.", DECLARED),
            ([{"name": "a"}, {"name": "a"}], "arguments[1] has the same name as another entry.", HINT),
        ]
    ),
    ("render_prompt", {"prompt": "x", "arguments": ["who"]}, "arguments must be an object.", "arguments",
     'For example {"who": "Ann"}.'),
    ("render_prompt", {"prompt": "x", "arguments": {"k" * 500: {}}}, f"arguments.{'k' * 90}... must be a text.",
     "arguments", QUOTES),
    ("add_prompt", {**NEW, "name": "start-task"}, "name cannot be start-task: the server has a prompt of that name.",
     "name", "Choose another, or leave it out: one is made from the title."),
    ("list_prompts", {"limit": 0}, "limit must be at least 1.", "limit"),
    ("list_prompts", {"limit": 2**70}, "limit must be at most 200.", "limit",
     "Ask for fewer; use next_cursor to get the rest."),
    ("list_prompts", {"limit": "five"}, "limit must be a whole number.", "limit", "For example 20."),
    ("complete_task", {"task": [1, 2]}, "task takes one value, and this is a list of 2.", "task",
     "Make a call for each. Several tasks can be changed with update_items."),
    ("list_prompts", {"match": "some"}, "match must be one of any, all.", "match",
     "Choose one of them, or leave match out."),
    ("update_task", {"task": 1, "status": "in_progress"}, "A task is in progress while it is claimed.", "status",
     "Use claim_task."),
    ("update_task", {"task": 1, "status": "done"}, "status must be one of pending, review, completed, cancelled.",
     "status", "Choose one of them, or leave status out."),
    ("update_resource", {"resource": "x"}, "There is nothing to update.", "content",
     "Give one of content, name, mime_type, description, expires, replaced_by."),
    ("add_resource", {"name": "/?/.md", "content": "x"}, "name can have letters, digits, - _ and . only.", "name"),
    ("add_resource", {"name": "a", "content": "x", "uri": "no scheme"},
     "uri must begin with a scheme, such as file:, and have no spaces.", "uri"),
    ("add_resource", {"name": "a", "content": "x", "mime_type": "text"}, "mime_type must look like text/markdown.",
     "mime_type"),
    ("get_prompt", {"prompt": " \n"}, "prompt must not be empty.", "prompt",
     "Give prompt: the name, title or id of a prompt."),
    ("read_resource", {"resource": ""}, "resource must not be empty.", "resource",
     "Give resource: the name or URI of a document."),
    ("add_task", {"title": "x", "blocked_by": ["1", " "]}, "blocked_by[1] must not be empty.", "blocked_by",
     "Give blocked_by: tasks as #4 or by title, or an empty list."),
    ("add_task", {"title": "x", "blocked_by": [1.5]}, "blocked_by[0] must name a task.",
     "blocked_by", 'For example "#4", or its title.'),
    ("add_task", {"title": "x", "blocked_by": True}, "blocked_by must be a list of tasks.",
     "blocked_by", 'For example ["#4", "#7"].'),
    ("add_task", {"title": "x", "due": "2026-02-30"}, "due must be a day like 2026-11-30.", "due",
     "Write a day that exists as YYYY-MM-DD, not in words and without a time."),
]  # fmt: skip


def test_wrong_arguments_are_said_one_by_one(client: Client) -> None:
    for tool, arguments, *expected in WRONG:
        assert refusal(client, tool, arguments) == wrong(*expected), (tool, str(arguments)[:200])
    assert {tool.name for tool in load("satchel").tools} >= {tool for tool, *_ in WRONG}
    for tool, key in [("list_prompts", "prompts"), ("list_resources", "resources"), ("list_tasks", "tasks")]:
        assert [one for one in ok(client, tool)[key] if "desk:" not in one["name" if key != "tasks" else "title"]] == []


def test_a_cursor_leads_to_the_next_page_of_its_list_only(client: Client) -> None:
    for number in range(2):
        ok(client, "add_prompt", title=f"p{number}", content="x")
        ok(client, "add_resource", name=f"r{number}", content="x")
        for status in ("pending", "completed"):
            ok(client, "add_task", title=f"{status} {number}")
    ok(client, "complete_task", task="completed 0")
    ok(client, "complete_task", task="completed 1")
    lists: list[tuple[str, dict[str, Any]]] = [
        ("list_prompts", {}),
        ("list_resources", {}),
        *[("list_tasks", {"status": status}) for status in ("ready", "completed", "all")],
    ]
    cursors = [ok(client, tool, **more, limit=1)["next_cursor"] for tool, more in lists]
    for place, (tool, more) in enumerate(lists):
        for of, cursor in enumerate(cursors):
            if of != place:
                assert refusal(client, tool, **more, cursor=cursor) == NO_CURSOR, (tool, of)
        assert refusal(client, tool, **more, cursor=cursors[place][:-4]) == NO_CURSOR
        assert len(cursors[place]) < 100
        assert len(ok(client, tool, **more, cursor=cursors[place], limit=1).popitem()[1]) >= 1


def test_an_empty_last_page_does_not_claim_that_there_is_nothing(client: Client) -> None:
    for number in range(2):
        ok(client, "add_resource", name=f"r{number}", content="x")
        ok(client, "add_prompt", title=f"p{number}", content="x", tags=["t"])
        ok(client, "add_task", title=f"t{number}")
    behind = {
        "list_prompts": {"tags": ["t"]},
        "list_resources": {},
        "list_tasks": {},
    }
    for tool, more in behind.items():
        more["cursor"] = ok(client, tool, **more, limit=1)["next_cursor"]
    ok(client, "delete", items=["p0", "r1"])
    ok(client, "complete_task", task="t1")
    assert text(client, "list_prompts", **behind["list_prompts"]) == "No more prompts."
    assert text(client, "list_resources", **behind["list_resources"]) == "No more documents."
    assert text(client, "list_tasks", **behind["list_tasks"]) == "No more ready tasks."
    assert ok(client, "list_tasks", **behind["list_tasks"]) == {"project": "default", "tasks": []}


def test_an_empty_first_page_explains_itself(client: Client) -> None:
    assert text(client, "list_resources") == "No documents in project 'default'."
    assert text(client, "list_tasks") == "No ready tasks."
    assert text(client, "list_tasks", status="all") == "No tasks."
    assert text(client, "list_tasks", project="garden") == "No ready tasks in project 'garden'."
    assert text(client, "list_tasks", project="garden", tags=["t"]) == (
        "No ready tasks in project 'garden' match.\nNo task has the tag 't'."
    )
    assert text(client, "list_prompts", tags=["t"]) == (
        "No prompts in project 'default' match.\nNo prompt has the tag 't'."
    )


def test_a_filter_by_a_tag_that_nothing_has_says_so(client: Client) -> None:
    ok(client, "add_prompts", prompts=[{"title": "P", "content": "x", "tags": ["review", "docs"]}])
    ok(client, "add_tasks", lines=["[x] Done +review", "A +docs", "B +docs @garden"])
    for tool, what in (("list_prompts", "prompt"), ("list_tasks", "task")):
        found = ok(client, tool, tags=["+Docs"])
        assert (len(found[f"{what}s"]) > 0, "notes" in found) == (True, False)
        assert "notes" not in ok(client, tool, tags=["review", "docs"])
        assert ok(client, tool, tags=["reviews", "docs", "zzz"])["notes"] == [
            f"No {what} has the tag 'reviews'. Did you mean review?",
            f"No {what} has the tag 'zzz'.",
        ]
    assert ok(client, "list_tasks", tags=["review"], project="garden")["notes"] == [
        "No task has the tag 'review'.",
        "Tags in use: docs.",
    ]


def test_null_arguments_count_as_absent(client: Client) -> None:
    nothing = {"name": None, "description": None, "tags": None, "arguments": None, "project": None}
    assert ok(client, "add_prompt", title="x", content="y", **nothing)["prompt"]["name"] == "x"
    assert ok(client, "list_tasks", status=None, limit=None, cursor=None)["tasks"] == []
    assert refusal(client, "add_prompt", title=None, content="x") == wrong("title must be a text.", "title")


def test_the_oldest_clients_get_the_texts(store: str, serve: Callable[..., Client]) -> None:
    client = serve("satchel", store, OLDEST)
    params = {"name": "add_prompt", "arguments": {"title": "Hello", "content": "World"}}
    assert answered(client, "tools/call", params)["result"] == {
        "content": [{"type": "text", "text": "Added to project 'default':\n- hello version 1"}],
        "isError": False,
    }
    failed = answered(client, "tools/call", {"name": "get_prompt", "arguments": {"prompt": "x"}})["result"]
    said = "not_found: Prompt 'x' does not exist in project 'default'. Use list_prompts to see what there is."
    assert failed == {"content": [{"type": "text", "text": said}], "isError": True}


# -- projects ---------------------------------------------------------------------------------------------------


def test_projects_are_listed_with_the_current_one_and_why(client: Client) -> None:
    ok(client, "add_prompt", title="x", content="y", project="garden")
    ok(client, "add_task", title="Weed", project="garden")
    result = result_of(client, "list_projects", {})
    assert result == {
        "content": [
            {
                "type": "text",
                "text": "The current project is 'default' (the default).\n"
                "- default: 0 prompts, 0 documents, 0 open tasks\n"
                "- garden: 1 prompt, 0 documents, 1 open task",
            }
        ],
        "structuredContent": {
            "project": "default",
            "why": "the default",
            "projects": [
                {"name": "default", "prompts": 0, "documents": 0, "open_tasks": 0},
                {"name": "garden", "prompts": 1, "documents": 0, "open_tasks": 1},
            ],
        },
        "isError": False,
    }


def test_a_project_that_goes_while_it_is_served(database: Database, client: Client) -> None:
    ok(client, "add_prompt", title="x", content="y", project="garden")
    ok(client, "add_task", title="weed", project="garden")
    with database.write() as tx:
        projects.delete(tx, "garden")
    gone = missing(
        "Project 'garden' is in the trash.", "Use restore with item satchel://project/garden to bring it back."
    )
    for tool, arguments in [
        ("get_prompt", {"prompt": "x"}),
        ("update_prompt", {"prompt": "x", "title": "z"}),
        ("add_resource", {"name": "a", "content": "b"}),
        ("list_resources", {}),
        ("list_tasks", {}),
    ]:
        assert refusal(client, tool, {**arguments, "project": "garden"}) == gone, tool
    assert ok(client, "list_tasks")["tasks"][0]["title"] == "weed"  # a task belongs to the user and stays
    with database.write() as tx:
        projects.delete(tx, "default")
    assert refusal(client, "list_prompts")["message"] == "Project 'default' is in the trash."
    assert result_of(client, "list_projects", {}) == {
        "content": [{"type": "text", "text": "There is no project 'default' (the default, which names no project)."}],
        "structuredContent": {"project": "default", "why": "the default, which names no project", "projects": []},
        "isError": False,
    }
    assert ok(client, "add_task", title="x")["project"] == "default"  # the first write restores it
    assert ok(client, "list_prompts")["project"] == "default"
