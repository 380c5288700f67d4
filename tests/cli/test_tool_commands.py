"""The commands on prompts, documents and tasks print with --json what the matching tool answers."""

import json
import re
import shlex
from collections.abc import Callable
from typing import Any

from rs_bpe.bpe import openai

from satchel.model import Holder, Scope, TaskPatch
from satchel.services import tasks, users
from satchel.storage.database import open_database
from tests.cli.conftest import Command
from tests.support.command import done, failed, value
from tests.support.stdio import NEWEST, Server
from tests.support.terminal import on_terminal

ADA = "6f0a2f5e-9c1c-4a6e-8a51-0d8f8f3c2b11"

# Commands that read, and the calls of tools that answer the same.
SAME: list[tuple[str, str, dict[str, Any]]] = [
    ("task list", "list_tasks", {"status": "pending"}),
    ("task list --status all", "list_tasks", {"status": "all"}),
    ("task list --limit 1", "list_tasks", {"status": "pending", "limit": 1}),
    ("task list --status in-progress", "list_tasks", {"status": "in_progress"}),
    ("task list --status done", "list_tasks", {"status": "completed"}),
    ("task list --status completed", "list_tasks", {"status": "completed"}),
    ("task list --status pending", "list_tasks", {"status": "pending"}),
    (
        "task list --tag docs --tag web --all-tags",
        "list_tasks",
        {"status": "pending", "tags": ["docs", "web"], "match": "all"},
    ),
    ("task list --tag nothing", "list_tasks", {"status": "pending", "tags": ["nothing"]}),
    ("task ready -p default", "list_tasks", {"project": "default"}),
    ("task list --status all --search SHIP", "list_tasks", {"status": "all", "query": "SHIP"}),
    ("task show '#1'", "get_task", {"task": "1"}),
    ("task show 'ship it'", "get_task", {"task": "ship it"}),
    ("task show 77", "get_task", {"task": "77"}),
    ("task show 'Ship itt'", "get_task", {"task": "Ship itt"}),
    ("task history 1", "history", {"item": "#1"}),
    ("prompt list", "list_prompts", {}),
    ("prompt list --tag greeting --search hello", "list_prompts", {"tags": ["greeting"], "query": "hello"}),
    ("prompt list --search hello --limit 1", "list_prompts", {"query": "hello", "limit": 1}),
    ("prompt tags", "list_tags", {}),
    ("prompt show greet", "get_prompt", {"prompt": "greet", "whole": True}),
    ("prompt show greet --lines 1", "get_prompt", {"prompt": "greet", "lines": "1"}),
    ("prompt show gret", "get_prompt", {"prompt": "gret", "whole": True}),
    ("prompt render greet name=Ada", "render_prompt", {"prompt": "greet", "arguments": {"name": "Ada"}}),
    ("prompt render greet", "render_prompt", {"prompt": "greet"}),
    ("prompt render greet nme=Ada", "render_prompt", {"prompt": "greet", "arguments": {"nme": "Ada"}}),
    ("prompt history greet --version 1", "history", {"item": "greet", "version": 1}),
    ("prompt list -p nowhere", "list_prompts", {"project": "nowhere"}),
    ("resource list", "list_resources", {}),
    ("resource list --search notes", "list_resources", {"query": "notes"}),
    ("resource show notes.md", "read_resource", {"resource": "notes.md", "whole": True}),
    ("resource show notes.md --heading Setup", "read_resource", {"resource": "notes.md", "heading": "Setup"}),
    ("resource show notes.md --heading Stup", "read_resource", {"resource": "notes.md", "heading": "Stup"}),
    ("resource show logo", "read_resource", {"resource": "logo"}),
    ("search hello", "search", {"query": "hello"}),
    ("project list", "list_projects", {}),
]


def fill(satchel: Command) -> None:
    for words in (
        "task add 'Write the docs' -t docs -t web --priority high --due 2026-12-01 --description 'All of them'",
        "task add 'Ship it' --after 1",
        "task add 'Buy milk'",
        "task done 3 --note Bought",
        "prompt add Greet 'hello {{ name }}' -t greeting --arg 'name:Who is greeted'",
        "prompt add Plain 'hello you'",
        "resource add notes.md '# Setup\ndo it\n# More\nlater'",
        "resource add logo x:logo @/dev/null --mime-type image/png",
    ):
        done(satchel(*shlex.split(words), SATCHEL_USER=ADA))


def test_json_is_the_answer_of_the_matching_tool(satchel: Command, store: str, serve: Callable[..., Server]) -> None:
    fill(satchel)
    agent = serve("satchel", store, NEWEST, "--user", ADA)
    for words, tool, arguments in SAME:
        process = satchel(*shlex.split(words), "--json", SATCHEL_USER=ADA)
        answer = agent.call(tool, arguments)
        printed = json.loads(process.stderr if process.returncode else process.stdout)
        wanted = answer["structuredContent"]
        if "error" in wanted:
            assert not re.search(r"[a-z]_[a-z]", printed["error"]["hint"]), "commands name commands, not tools"
            wanted["error"]["hint"] = printed["error"]["hint"]
        for name in ("uses", "last_used"):  # both calls count
            for one in (printed, wanted):
                one.get("prompt", {}).pop(name, None)
                for row in one.get("prompts", ()):
                    row.pop(name, None)
        assert printed == wanted, words
        assert (process.returncode != 0) == bool(answer.get("isError")), words


def test_a_task_has_all_that_the_tools_know(satchel: Command) -> None:
    done(satchel("project", "create", "web"))
    assert done(satchel("task", "add", "First", "-p", "web")) == "Added task 1: First\n"
    added = value(
        satchel(
            *("task", "add", "Second", "-t", "Docs", "--priority", "HIGH", "--due", "2026-12-01"),
            *("--after", "#1", "-p", "web", "--description", "More", "--json"),
        )
    )
    row = {"number": 2, "title": "Second", "priority": "high", "due": "2026-12-01", "tags": ["docs"], "blocked_by": [1]}
    assert added == {"project": "web", "task": {**row, "version": 1}}
    cells = done(satchel("task", "list", "--status", "all")).splitlines()[0].split("\t")
    assert cells == ["2", "", "Second", "high", "2026-12-01", "docs", "#1", "web"]
    assert done(satchel("task", "ready")).split("\t")[:3] == ["1", "", "First"]
    assert done(satchel("task", "done", "#1", "--note", "Easy")) == "Done: task 1: First\nReady now: task 2: Second\n"
    assert done(satchel("task", "reopen", "1")) == "Open again: task 1: First\n"
    assert done(satchel("task", "cancel", "First")) == "Cancelled: task 1: First\nReady now: task 2: Second\n"
    edited = satchel(
        "task", "edit", "2", "--tag", "+web", "--after", "-1", "--due", "", "--priority", "low", "-p", "web"
    )
    assert done(edited) == "Changed task 2: Second\n"
    assert done(satchel("task", "edit", "2", "Second")) == "Nothing changed in task 2: Second\n"
    assert done(satchel("task", "note", "2", "Half done")) == "Noted on task 2: Second\n"
    shown = value(satchel("task", "show", "2", "--json"))["task"]
    assert (shown["tags"], shown["priority"], shown["notes"][0]["text"]) == (["docs", "web"], "low", "Half done")
    assert "due" not in shown and "blocked_by" not in shown
    text = done(satchel("task", "show", "2"))
    assert text.startswith("2  Second\nopen, low priority, tags docs, web, project web\n")
    assert re.search(r"\n\nMore\n\nNotes:\n- \S+ a person with satchel \S+: Half done\n$", text)
    assert "Changes:\n- " in done(satchel("task", "show", "2", "--since", "1h"))
    assert "--note applies to one task only" in failed(satchel("task", "done", "1", "2", "--note", "x"), 2)
    assert "2026-13-01' is not a day" in failed(satchel("task", "edit", "2", "--due", "2026-13-01"), 2)
    assert "cannot wait for itself" in failed(satchel("task", "edit", "2", "--after", "2"), 2)
    assert "has version 2, not 1" in failed(satchel("task", "edit", "2", "New", "--version", "1"), 1)


def test_people_are_asked_before_they_change_what_an_agent_holds(
    satchel: Command, environment: dict[str, str], store: str
) -> None:
    for title in ("One", "Two", "Three"):
        done(satchel("task", "add", title, "-t", "x"))
    database = open_database(store)
    with database.read() as tx:
        scope = Scope(user=tx.value("select owner from tasks where number = 1"))

    def hold() -> None:
        with database.write(scope) as tx:
            for number in (1, 2):
                tasks.claim(tx, scope, number, Holder("cursor 3f2a", "k"), 30, takes_over=True)

    hold()
    refused = re.compile(
        r"satchel: task #[12] is held by cursor 3f2a until \S+Z\. Nothing was changed\. To do it anyway, add --yes\n"
    )
    changes = [
        *(("edit", "1", "New"), ("done", "1"), ("done", "3", "1"), ("cancel", "1"), ("delete", "1")),
        *(("delete", "--tag", "x"), ("move", "1", "--to", "default"), ("claim", "1")),
    ]
    for words in changes:
        assert refused.fullmatch(failed(satchel("task", *words), 1)), words
    assert json.loads(failed(satchel("task", "done", "1", "--json"), 1))["error"]["code"] == "claimed"
    status, shown = on_terminal("task", "done", "1", "2", answer="n\n", environment=environment)
    assert status == 1 and re.search(
        r"#1 is held by cursor 3f2a until \d\d:\d\d\. #2 is held by .* them anyway\?", shown
    )
    status, shown = on_terminal("task", "edit", "1", "New", answer="y\n", environment=environment)
    assert status == 0 and "Change it anyway?" in shown and "Changed task 1: New" in shown
    done(satchel("task", "note", "1", "A word to the agent"))  # needs no question
    held = satchel("task", "claim", "1", "--yes")
    assert done(held).startswith("Claimed until ") and b"It was held by cursor 3f2a until " in held.stderr
    assert done(satchel("task", "edit", "1", "Mine")) == "Changed task 1: Mine\n"
    assert done(satchel("task", "done", "1", "2", "--yes")).startswith("Done: task 1: Mine\nDone: task 2: Two\n")
    database.close()


def test_tasks_are_claimed_and_given_back(satchel: Command) -> None:
    nothing = failed(satchel("task", "claim"), 3)
    assert "no task is ready in project 'default': 0 blocked, 0 held by others. See the open tasks with" in nothing
    done(satchel("task", "add", "One"))
    assert re.match(
        r"Claimed until \S+, fence 1:\n1  One\nin progress, ", done(satchel("task", "claim", "--minutes", "5"))
    )
    assert done(satchel("task", "list", "--status", "in-progress")).split("\t")[1] == "in progress"
    assert done(satchel("task", "release", "1")) == "Released task 1: One\n"
    assert done(satchel("task", "release", "1")) == "Task 1 was not claimed: One\n"
    done(satchel("task", "done", "1"))
    assert "Open it again with: satchel task reopen 1" in failed(satchel("task", "claim", "1"), 1)


def test_prompts_are_filled_in_with_values_and_files(satchel: Command, tmp_path: Any) -> None:
    (tmp_path / "code.py").write_text("print('ü')\n")
    added = satchel(
        "prompt", "add", "Check", "Check {{ code }} {{ tone }}", "--arg", "code", "--arg", "tone?=hard|soft:How"
    )
    assert done(added) == "Added prompt 'check' to project 'default'.\n"
    assert value(satchel("prompt", "show", "check", "--json"))["prompt"]["arguments"] == [
        {"name": "code", "required": True},
        {"name": "tone", "description": "How", "values": ["hard", "soft"]},
    ]
    assert done(satchel("prompt", "render", "check", "code=@code.py", "tone=soft")) == "Check print('ü')\n soft"
    assert done(satchel("prompt", "render", "check", "code=-", input=b"in=put")) == "Check in=put "
    assert "needs a value for code. Give values as NAME=VALUE." in failed(satchel("prompt", "render", "check"), 2)
    assert "must be one of hard, soft" in failed(satchel("prompt", "render", "check", "code=x", "tone=x"), 2)
    assert "write NAME=VALUE" in failed(satchel("prompt", "render", "check", "code"), 2)
    assert "given twice" in failed(satchel("prompt", "render", "check", "code=1", "code=2"), 2)
    assert "cannot read none.py" in failed(satchel("prompt", "render", "check", "code=@none.py"), 1)
    found = satchel("prompt", "add", "Found", "Dear {{ who }}")
    assert "Arguments were declared from the template: who." in found.stderr.decode() and "update_prompt" not in str(
        found
    )
    labelled = done(satchel("prompt", "label", "found", "production"))
    assert labelled == "Label 'production' is on version 1 of prompt 'found' in project 'default'.\n"
    done(satchel("prompt", "edit", "found", "--plain"))
    done(satchel("prompt", "edit", "found", "Dear all"))
    assert done(satchel("prompt", "show", "found@production")) == "Dear {{ who }}"
    assert done(satchel("prompt", "render", "found@production", "who=Ann")) == "Dear Ann"
    assert "added [production]" in done(satchel("log", "found"))
    moved = done(satchel("prompt", "label", "found", "production", "--version", "2"))
    assert moved == "Label 'production' is on version 2 of prompt 'found' in project 'default'.\n"
    removed = done(satchel("prompt", "label", "found", "production", "--remove"))
    assert removed == "Removed label 'production' from prompt 'found' in project 'default'.\n"
    assert "has no label 'production'" in failed(satchel("prompt", "show", "found@production"), 3)
    done(satchel("restore", "found", "--version", "2"))
    assert done(satchel("prompt", "render", "found")) == "Dear {{ who }}"
    assert "leave it out" in failed(satchel("prompt", "edit", "found", "--plain", "--arg", "x"), 2)
    assert "declares no argument" in failed(satchel("prompt", "edit", "found", "--arg", "=x"), 2)
    assert "cannot be an argument" in failed(satchel("prompt", "edit", "found", "--arg", "2x"), 2)


def test_prompts_of_libraries_are_listed_shown_and_filled_in(satchel: Command, tmp_path: Any) -> None:
    done(satchel("library", "new", "everyday"))
    assert done(satchel("prompt", "list")).startswith("everyday:review\t")
    assert "{{ code }}" in done(satchel("prompt", "show", "everyday:review"))
    assert "print(1)" in done(satchel("prompt", "render", "everyday:review", "code=print(1)"))
    assert "Did you mean 'everyday:review'?" in failed(satchel("prompt", "render", "everyday:reviw"), 3)
    assert "belongs to a library: change its file on disk" in failed(
        satchel("prompt", "edit", "everyday:review", "x"), 2
    )


def test_what_the_personal_project_holds_is_listed_and_marked(satchel: Command) -> None:
    done(satchel("project", "create", "personal"))
    done(satchel("prompt", "add", "Mine", "hello {{ name }}", "-p", "personal"))
    done(satchel("document", "add", "notes.md", "What I know", "-p", "personal"))
    assert done(satchel("prompt", "list")).rstrip("\n").split("\t")[::5] == ["mine", "personal"]
    assert done(satchel("document", "list")).rstrip("\n").split("\t")[::5] == ["notes.md", "personal"]
    assert done(satchel("prompt", "render", "mine", "name=Ada")) == "hello Ada"
    assert done(satchel("prompt", "list", "--no-personal")) == ""


def test_a_list_that_is_cut_names_the_option_that_shows_more(satchel: Command) -> None:
    for number in range(1, 8):
        done(satchel("task", "add", f"Task {number}"))
    first = satchel("task", "list", "--limit", "3", "--json")
    assert [one["number"] for one in value(first)["tasks"]] == [1, 2, 3] and "next_cursor" in value(first)
    every = value(satchel("task", "list", "--all", "--limit", "1", "--json"))
    assert [one["number"] for one in every["tasks"]] == [1, 2, 3, 4, 5, 6, 7] and "next_cursor" not in every
    hint = satchel("task", "list", "--limit", "3").stderr.decode()
    assert hint == "There is more: add --all.\n"
    hint = satchel("search", "task", "--limit", "3").stderr.decode()
    assert hint == "There is more: add a higher --limit.\n"


def test_a_task_is_added_from_one_line(satchel: Command) -> None:
    done(satchel("task", "add", "First"))
    done(satchel("task", "add", "#12 crashes !high +x due:2026-12-01 after:1"))
    done(satchel("task", "add", "Learn \\+1"))
    over = ("--priority", "low", "-t", "y", "--due", "2027-01-01")
    done(satchel("task", "add", "Over !urgent +x due:2026-12-01", *over))
    said = b"'every:week' stays in the title; every: is not known, because tasks do not repeat.\n"
    assert satchel("task", "add", "Odd !low every:week").stderr == said
    assert done(satchel("task", "list")) == (
        "2\t\t#12 crashes\thigh\t2026-12-01\tx\t#1\tdefault\n1\t\tFirst\t\t\t\t\tdefault\n"
        "3\t\tLearn +1\t\t\t\t\tdefault\n4\t\tOver\tlow\t2027-01-01\ty\t\tdefault\n"
        "5\t\tOdd every:week\tlow\t\t\t\tdefault\n"
    )
    assert failed(satchel("task", "add", "Call @phone"), 3) == (
        "satchel: project 'phone' does not exist. Make it first, or write \\@phone to keep the word in the title.\n"
    )
    assert "leave [x] out, or keep it in the title: \\[x]" in failed(satchel("task", "add", "[x] Old"), 2)


def test_a_status_has_the_words_of_the_tools_too(satchel: Command) -> None:
    for title in ("Open", "Done"):
        done(satchel("task", "add", title))
    done(satchel("task", "done", "2"))
    done(satchel("task", "claim", "1"))
    for ours, theirs in (("open", "pending"), ("in-progress", "in_progress"), ("done", "completed")):
        listed = done(satchel("task", "list", "--status", ours))
        assert listed and done(satchel("task", "list", "--status", theirs)) == listed


def test_a_taken_name_and_a_large_file_say_what_to_do(satchel: Command, tmp_path: Any) -> None:
    done(satchel("prompt", "add", "Deploy it", "x"))
    assert failed(satchel("prompt", "add", "Deploy it", "y"), 5) == (
        "satchel: a prompt with the title 'Deploy it' already exists in project 'default'. "
        "Choose another, or change that one with: satchel prompt edit 'Deploy it' -p default\n"
    )
    (tmp_path / "big.txt").write_text("a" * 5_000_000)
    for words, what in (("document add big.txt", "the content of a document"), ("prompt add Big", "the content")):
        assert failed(satchel(*words.split(), "@big.txt"), 2) == (
            f"satchel: {what} can have at most 4 MiB (4,194,304 bytes), and this one has 5,000,000 bytes.\n"
        )


def test_a_list_longer_than_a_page_of_the_tool_is_listed_whole(satchel: Command, tmp_path: Any) -> None:
    (tmp_path / "todo.txt").write_text("".join(f"Task {number}\n" for number in range(230)))
    done(satchel("import", "todo.txt"))
    assert len(value(satchel("task", "list", "--limit", "215", "--json"))["tasks"]) == 215
    assert len(done(satchel("task", "list", "--all")).splitlines()) == 230


def test_an_empty_list_says_what_to_do_next(satchel: Command) -> None:
    done(satchel("database", "migrate"))
    assert satchel("project", "list").stderr.startswith(b"There are no projects yet. Create one with: satchel project")
    done(satchel("project", "create", "default"))
    for words, hint in (
        ("task list", "There are no open tasks. Add one with: satchel task add "),
        ("task list --status done", "No tasks match. Show all with: satchel task list --status all"),
        ("task list --due overdue", "No tasks match. Show all with: satchel task list --status all"),
        ("prompt list", "No prompts in project 'default' yet. Add one: satchel prompt add "),
        ("prompt list --search x", "No prompts match in project 'default'. Show all with: satchel prompt list -p"),
        ("document list", "No documents in project 'default' yet. Add one: satchel document add "),
        ("prompt tags", "No prompt has a tag. Tag one with: satchel prompt edit "),
        ("search nothing", "Nothing was found in project 'default'. Try fewer words"),
        ("trash list", "The trash of project 'default' is empty."),
        ("trash list --all", "The trash is empty."),
        ("token list", "There are no tokens. Create one with: satchel token create --name laptop"),
        ("library list", "There are no libraries. Make one with: satchel library new NAME"),
        ("log --since 2100-01-01", "No changes match. Those of all projects and users: satchel log --all"),
    ):
        listed = satchel(*words.split())
        assert done(listed) == "" and listed.stderr.decode().startswith(hint), words
        assert satchel(*words.split(), "--json").stderr == b"", words
    wrong = "satchel: 'soon' is not a range of due days: write overdue, today, week or <2026-12-01."
    assert wrong in failed(satchel("task", "list", "--due", "soon"), 2)


def test_a_resource_needs_no_uri(satchel: Command) -> None:
    assert done(satchel("document", "add", "notes.md", "What I know")) == (
        "Added document 'notes.md' (text/markdown, 11 bytes) to project 'default'.\n"
    )
    assert done(satchel("document", "list")).split("\t")[:3] == [
        "notes.md",
        "satchel://resource/notes.md",
        "text/markdown",
    ]
    assert done(satchel("document", "show", "satchel://resource/notes.md")) == "What I know"
    assert "@FILE" in failed(satchel("document", "add", "other", "file:///only-a-uri"), 2)
    done(satchel("document", "add", "third", "--uri", "x:y", "a:b"))
    assert done(satchel("document", "show", "x:y")) == "a:b"
    assert "unexpected extra argument" in failed(satchel("document", "add", "a", "b:b", "c", "d"), 2)


def test_catch_up_names_commands_and_no_tools(satchel: Command) -> None:
    for number in range(1, 8):
        done(satchel("task", "add", f"Task {number}", SATCHEL_USER=ADA))
    done(satchel("prompt", "add", "Greet", "hello", SATCHEL_USER=ADA))
    done(satchel("task", "claim", "1", SATCHEL_USER=ADA))
    shown = done(satchel("catch-up", SATCHEL_USER=ADA)).splitlines()
    assert shown[0] == "Project 'default' (the default): 1 prompt, 7 open tasks"
    assert shown[5] == "In progress:"
    assert re.fullmatch(r"#1 \[~\] Task 1 \(satchel [0-9a-f]{4} until \d\d:\d\d\)", shown[6])
    assert shown[7:-1] == [
        "Ready:",
        *(f"#{number} Task {number}" for number in range(2, 7)),
        "and 1 more: satchel task list",
    ]
    assert re.fullmatch(r"Later: satchel catch-up --since [A-Za-z0-9_=-]+", shown[-1])
    assert "Nothing was done" in done(satchel("catch-up", "--since", shown[-1].split()[-1], SATCHEL_USER=ADA))


def test_a_line_is_remembered_and_the_brief_answer_begins_with_it(satchel: Command) -> None:
    assert done(satchel("catch-up", "--brief", SATCHEL_USER=ADA)) == ""
    line = "Added to memory.md of project 'default': "
    assert done(satchel("remember", "Deploy with make release", SATCHEL_USER=ADA)).startswith(line)
    again = done(satchel("remember", "deploy with  MAKE release", SATCHEL_USER=ADA))
    assert again.startswith("Nothing was added, because memory.md of project 'default' has this line: ")
    done(satchel("remember", "Answer in German", "-p", "personal", SATCHEL_USER=ADA))
    done(satchel("task", "add", "Write the docs", "--priority", "high", SATCHEL_USER=ADA))
    for title in ("Claimed", "Old"):
        done(satchel("task", "add", title, SATCHEL_USER=ADA))
    done(satchel("task", "claim", "2", SATCHEL_USER=ADA))
    done(satchel("task", "done", "3", SATCHEL_USER=ADA))
    shown = done(satchel("catch-up", "--brief", SATCHEL_USER=ADA))
    day, time = r"\d{4}-\d\d-\d\d", r"\d\d:\d\d"
    assert re.fullmatch(
        r"Satchel: project 'default' \(the default\): 1 document, 2 open tasks\n"
        rf"Remembered:\n{day} a person: Deploy with make release\n\(personal\) {day} a person: Answer in German\n"
        r"In progress:\n#2 Claimed \(satchel [0-9a-f]{4}\)\n"
        r"Ready:\n#1 Write the docs, high\n"
        rf"Completed since {day}T{time}Z, the last 24 hours, because your last change is in them:\n"
        rf"{time} #3 Old by a person with satchel\n"
        r"For more, call the tool catch_up of the MCP server satchel\.\n",
        shown,
    )


def test_the_brief_answer_has_at_most_400_tokens(satchel: Command) -> None:
    for number in range(12):
        line = (
            f"{number}: see https://example.org/{number}/a?b=c#{number}; 日本語のテキスト, Größe 3.14, snake_case " * 2
        )
        done(satchel("remember", line, SATCHEL_USER=ADA))
        done(satchel("remember", line, "-p", "personal", SATCHEL_USER=ADA))
        done(satchel("task", "add", f"Задача {number}: {line}", "--due", "2026-12-01", SATCHEL_USER=ADA))
    for number in range(1, 4):
        done(satchel("task", "claim", str(number), SATCHEL_USER=ADA))
    shown = done(satchel("catch-up", "--brief", SATCHEL_USER=ADA))
    assert len(openai.o200k_base().encode(shown)) <= 400
    assert [line for line in shown.splitlines() if line.endswith(":")] == ["Remembered:", "In progress:"]


def test_items_are_deleted_by_tag_state_or_text_after_a_dry_run(satchel: Command) -> None:
    for title in ("Old +a", "Older +b", "New"):
        done(satchel("task", "add", title))
    done(satchel("task", "cancel", "2"))
    select = ("task", "delete", "--tag", "a", "--tag", "b", "--status", "cancelled")
    assert done(satchel(*select, "--dry-run")) == "Would have deleted task 2.\n"
    assert done(satchel(*select)).startswith("Deleted task 2.\n")
    for more in ([], ["--dry-run"]):
        none = satchel("task", "delete", "--search", "Older", *more)
        assert done(none) == "No tasks in project 'default' match.\n"
    assert "no task of project 'default' has the tag 'b'." in failed(satchel(*select), 2)
    done(satchel("task", "add", "Next", "--after", "3"))
    assert done(satchel("task", "delete", "3")).startswith("Deleted task 3.\nReady now: task 4: Next\n")
    done(satchel("prompt", "add", "Tea", "-", input=b"Brew it."))
    assert done(satchel("prompt", "delete", "--search", "brew")).startswith("Deleted prompt 'tea' from project")
    for wrong in (("task", "delete"), ("task", "delete", "1", "--status", "open")):
        assert "Give the tasks as REF, or select them" in failed(satchel(*wrong), 2)


def test_subtasks_and_reviews(satchel: Command, store: str) -> None:
    done(satchel("project", "create", "web"))
    said = "People review the tasks that agents complete in project 'web'.\n"
    assert done(satchel("project", "set", "web", "--review", "people")) == said
    done(satchel("task", "add", "Launch @web"))
    done(satchel("task", "add", "Build @web in:1"))
    done(satchel("task", "add", "Test", "--parent", "Launch"))
    assert done(satchel("task", "list")).splitlines() == [
        "1\t\tLaunch 0/2\t\t\t\t\tweb",
        "2\t\tBuild (in #1)\t\t\t\t\tweb",
        "3\t\tTest (in #1)\t\t\t\t\tdefault",
    ]
    assert "\n\nSubtasks:\n- #2 Build\n- #3 Test\n" in done(satchel("task", "show", "1"))
    assert "#1 → #3 → #1" in failed(satchel("task", "edit", "1", "--parent", "3"), 2)
    done(satchel("task", "edit", "3", "--parent", ""))
    assert done(satchel("task", "done", "2")) == "Done: task 2: Build\n"  # a person needs no review
    assert "task 2 does not wait for review: it is done" in failed(satchel("task", "accept", "2"), 1)
    database = open_database(store)
    with database.read() as tx:
        user = Scope(user=users.read_kept(tx))
    for command, sentence, state in [
        (["return", "1", "--note", "Where are the notes?"], "Returned task 1: Launch\n", "open"),
        (["accept", "1"], "Accepted task 1: Launch\n", "done"),
    ]:
        with database.write(user) as tx:
            tasks.update(tx, user, 1, TaskPatch(status="review"))
        assert done(satchel("task", "list", "--status", "review")) == "1\tin review\tLaunch 1/1\t\t\t\t\tweb\n"
        assert done(satchel("task", *command)) == sentence
        assert done(satchel("task", "show", "1")).split("\n")[1].startswith(state)
    database.close()
    assert "Where are the notes?" in done(satchel("task", "show", "1"))
