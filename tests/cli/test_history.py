"""`satchel log`, `diff`, `restore` and `undo`: what changed, who did it, and back again."""

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from satchel import __version__
from satchel.model import Author, Scope, TaskDraft
from satchel.services import tasks
from satchel.storage.database import open_database
from tests.cli.conftest import Command
from tests.support.command import done, failed, value
from tests.support.command import run as run_command
from tests.support.satchel import TIME, Like, ok
from tests.support.stdio import CLIENT, NEWEST, Server
from tests.support.terminal import on_terminal

Serve = Callable[..., Server]


ADA = "6f0a2f5e-9c1c-4a6e-8a51-0d8f8f3c2b11"
BOB = "11111111-2222-4333-8444-555555555555"
SECOND = r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ"
BY_HAND = {
    "token": None,
    "client": "satchel",
    "client_version": "0.1.0",
    "contract": "cli",
    "caller": "person",
    "session": None,
}
BY_AGENT = {
    "token": None,
    "client": CLIENT["name"],
    "client_version": CLIENT["version"],
    "contract": "satchel",
    "caller": "model",
    "session": Like("[0-9a-f]{4}"),
}


def lines(process: subprocess.CompletedProcess[bytes]) -> list[list[str]]:
    """Return the cells of each line."""
    return [line.split("\t") for line in done(process).splitlines()]


def changed(process: subprocess.CompletedProcess[bytes]) -> list[str]:
    """Return the action in each line of the feed."""
    return [cells[3] for cells in lines(process)]


def add_task(store: str, user: str, title: str) -> None:
    """A task of no project, with a title that the tools refuse."""
    author = Author(user=user, client="satchel", client_version=__version__, contract="cli", caller="person")
    scope = Scope(user=user, author=author)
    database = open_database(store)
    with database.write(scope) as tx:
        tasks.add(tx, scope, TaskDraft(title=title))
    database.close()


def test_the_log_shows_authors_and_changes_also_as_json(satchel: Command, store: str, serve: Serve) -> None:
    agent = serve("satchel", store, NEWEST, "--user", ADA)
    ok(agent, "add_prompt", title="Tea", content="Boil")
    satchel("prompt", "edit", "tea", "Boil it", SATCHEL_USER=BOB)
    satchel("undo", "--yes", SATCHEL_USER=BOB)
    satchel("task", "add", "Drink", SATCHEL_USER=BOB)
    satchel("task", "add", "Mine", SATCHEL_USER=ADA)
    found = value(satchel("log", "--json", "--limit", "4", SATCHEL_USER=BOB))
    tea = {"kind": "prompt", "item": "tea", "title": "Tea", "project": "default"}
    drink = {"kind": "task", "item": "#1", "title": "Drink", "project": "default"}
    numbers = [entry["number"] for entry in found["changes"]]
    expected = [
        {"action": "add", "version": 1, "undoes": None, **BY_HAND, **drink, "user": BOB},
        {"action": "restore", "version": 3, "undoes": numbers[2], **BY_HAND, **tea, "user": BOB},
        {"action": "update", "version": 2, "undoes": None, **BY_HAND, **tea, "user": BOB},
        {"action": "add", "version": 1, "undoes": None, **BY_AGENT, **tea, "user": ADA},
    ]
    rows = [{"number": number, "at": TIME, **row} for number, row in zip(numbers, expected, strict=True)]
    assert found == {"has_more": True, "changes": rows}
    assert numbers == sorted(numbers, reverse=True)
    versions = value(satchel("log", "tea", "--json", SATCHEL_USER=BOB))
    fields: list[list[str]] = [["content (1 line)"], ["content (1 line)"], []]
    without = [
        {**{key: item for key, item in entry.items() if key not in tea}, "fields": changed}
        for entry, changed in zip(found["changes"][1:], fields, strict=True)
    ]
    assert versions == {"kind": "prompt", "item": "tea", "deleted": False, "versions": without, "has_more": False}


def test_the_log_is_one_line_for_each_change(satchel: Command, store: str, serve: Serve) -> None:
    agent = serve("satchel", store, NEWEST, "--user", ADA)
    ok(agent, "add_prompt", title="Tea", content="Boil")
    satchel("prompt", "delete", "tea", SATCHEL_USER=BOB)
    add_task(store, BOB, "Drink\ttea")
    shown = lines(satchel("log", "--limit", "3", SATCHEL_USER=BOB))
    assert [cells[1:] for cells in shown] == [
        ["you", "command line", "added task #1 'Drink tea', version 1"],
        ["you", "command line", "deleted prompt 'tea', version 2"],
        [ADA[:8], f"{CLIENT['name']} {CLIENT['version']} (satchel, model)", "added prompt 'tea', version 1"],
    ]
    assert all(re.fullmatch(SECOND, cells[0]) for cells in shown)


def test_the_log_is_narrowed_by_time_and_author(satchel: Command, store: str, serve: Serve) -> None:
    agent = serve("prompt-store", store, NEWEST, "--user", ADA)
    agent.call("add_prompt", {"title": "Tea", "content": "Boil"})
    satchel("prompt", "edit", "tea", "Boil it", SATCHEL_USER=BOB)

    def feed(*options: str) -> list[str]:
        return changed(satchel("log", *options, SATCHEL_USER=BOB))

    def versions(*options: str) -> list[str]:
        return [cells[0] for cells in lines(satchel("log", "tea", *options, SATCHEL_USER=BOB))]

    his, hers = "changed prompt 'tea', version 2", "added prompt 'tea', version 1"
    assert feed()[:2] == [his, hers] and versions() == ["2", "1"]
    for by in (BOB, BOB[:8].upper(), "you", "me", "person", "Cli", "satchel", f"a person with satchel {__version__}"):
        assert (feed("--by", by), versions("--by", by)) == ([his], ["2"]), by
    for by in (ADA, ADA[:9], "model", "prompt-store", CLIENT["name"]):
        assert (feed("--by", by), versions("--by", by)) == ([hers], ["1"]), by
    assert versions("--by", "") == ["2", "1"]
    for by in (BOB[:7], "%", "tea"):
        for item in ((), ("tea",)):
            told = failed(satchel("log", *item, "--by", by, SATCHEL_USER=BOB), 3)
            assert f"no change here is by '{by}'. Authors of changes here: a person with satchel {__version__}" in told
    for since in ("1h", "2w", "2020-01-01", "2020-01-01T12:00"):
        assert feed("--since", since)[:2] == [his, hers] and versions("--since", since) == ["2", "1"]
    for since in ("2999-01-01", "0m"):
        assert feed("--since", since) == [] and versions("--since", since) == []
    at = value(satchel("log", "tea", "--json", SATCHEL_USER=BOB))["versions"][0]["at"]
    assert feed("--since", at) == [his] and versions("--since", at) == ["2"]
    assert done(satchel("log", "--since", "yesterday")) == done(satchel("log", "--since", "2d ago"))
    assert "is not a time" in failed(satchel("log", "--since", "some day"), 2)


def test_the_audit_trail_has_all_projects_and_users_the_oldest_first(satchel: Command, store: str) -> None:
    satchel("project", "create", "other", SATCHEL_USER=ADA)
    satchel("prompt", "add", "Tea", "Boil", "-p", "other", SATCHEL_USER=BOB)
    add_task(store, ADA, "Secret\nof Ada")
    every = [json.loads(line) for line in done(satchel("log", "--all", "--format", "jsonl")).splitlines()]
    assert [(one["kind"], one["item"], one["project"], one["user"]) for one in every[-3:]] == [
        ("project", "other", "other", ADA),
        ("prompt", "tea", "other", BOB),
        ("task", "#1", None, ADA),
    ]
    assert [one["number"] for one in every] == sorted(one["number"] for one in every)
    keys = "number at action version undoes user token client client_version contract caller session"
    keys += " kind item title project"
    assert all(list(one) == keys.split() for one in every)
    same = value(satchel("log", "--all", "--json"))
    assert same == {"changes": every[::-1], "has_more": False}
    assert [cells[3:] for cells in lines(satchel("log", "--all", "--limit", "2"))] == [
        ["added task #1 'Secret of Ada', version 1", ""],
        ["added prompt 'tea', version 1", "other"],
    ]
    few = done(satchel("log", "--all", "--format", "jsonl", "--limit", "1", "--by", BOB)).splitlines()
    assert [json.loads(line) for line in few] == [every[-2]]
    assert "leave ITEM out" in failed(satchel("log", "tea", "--all"), 2)
    assert "--all" in failed(satchel("log", "--format", "jsonl"), 2)


def test_versions_are_compared(satchel: Command) -> None:
    satchel("prompt", "add", "Tea", "one\ntwo\nthree", "-t", "hot")
    satchel("prompt", "edit", "tea", "one\n2\nthree")
    satchel("prompt", "edit", "tea", "one\n2\n3", "--title", "Green tea")
    assert done(satchel("diff", "tea")) == (
        "--- version 2\n+++ version 3\n-title: Tea\n+title: Green tea\n@@ -2,2 +2,2 @@\n 2\n-three\n+3\n"
    )
    assert done(satchel("diff", "tea", "2")) == done(satchel("diff", "tea"))
    assert value(satchel("diff", "tea", "2", "1", "--json")) == {
        "kind": "prompt",
        "item": "tea",
        "from": 2,
        "to": 1,
        "diff": "--- version 2\n+++ version 1\n@@ -1,3 +1,3 @@\n one\n-2\n+two\n three",
    }
    same = satchel("diff", "tea", "3")
    assert (done(same), same.stderr.decode()) == ("", "Versions 3 and 3 of prompt 'tea' are the same.\n")
    satchel("prompt", "delete", "tea")
    assert done(satchel("diff", "tea")).startswith("--- version 2\n+++ version 3\n")
    satchel("task", "add", "Drink")
    alone = satchel("diff", "#1")
    assert (done(alone), alone.stderr.decode()) == ("", "There is only version 1 of task #1.\n")
    assert value(satchel("diff", "1", "--json"))["diff"] == ""


def test_a_difference_is_coloured_on_a_terminal_that_wants_colours(store: str, tmp_path: Path) -> None:
    home = {"SATCHEL_DATABASE": store, "SATCHEL_HOME": str(tmp_path)}
    for words in (["add", "Tea", "--", "--- one"], ["edit", "tea", "\x1b]0;two\x07\ttwo"]):
        done(run_command("prompt", *words, environment=home))
    status, shown = on_terminal("diff", "tea", environment=home)
    assert status == 0
    assert shown == (
        "\x1b[1m--- version 1\x1b[0m\n\x1b[1m+++ version 2\x1b[0m\n"
        "\x1b[36m@@ -1,1 +1,1 @@\x1b[0m\n"
        "\x1b[31m---- one\x1b[0m\n\x1b[32m+�]0;two�\ttwo\x1b[0m\n"
    )
    plain = "--- version 1\n+++ version 2\n@@ -1,1 +1,1 @@\n---- one\n+�]0;two�\ttwo\n"
    assert on_terminal("diff", "tea", environment=home | {"NO_COLOR": "1"}) == (0, plain)
    assert on_terminal("diff", "tea", environment=home | {"TERM": "dumb"}) == (0, plain)


def test_a_restore_is_reported_also_as_json(satchel: Command) -> None:
    satchel("prompt", "add", "Tea", "green")
    satchel("prompt", "edit", "tea", "black")
    told = {"kind": "prompt", "item": "tea", "title": "Tea", "project": "default"}
    first = value(satchel("restore", "tea", "--json"))
    assert first == {**told, "version": 3, "from_version": 1, "was_deleted": False, "changed": True, "notes": []}
    again = value(satchel("restore", "tea", "--version", "1", "--json"))
    assert again == {**first, "changed": False}
    assert done(satchel("restore", "tea", "--version", "1")) == (
        "Nothing to do: prompt 'tea' is the same as in version 1.\n"
    )
    satchel("prompt", "delete", "tea")
    satchel("prompt", "add", "Tea", "white")
    gone = value(satchel("trash", "list", "--json"))["trash"][0]["id"]
    back = value(satchel("restore", gone, "--json"))
    notes = ["The name tea is taken; the item is now called tea-2.", "The title Tea is taken; it is now Tea (2)."]
    facts = {"version": 5, "from_version": 3, "was_deleted": True, "changed": True, "notes": notes}
    assert back == {**told, "item": "tea-2", "title": "Tea (2)", **facts}
    satchel("prompt", "delete", "tea-2")
    assert done(satchel("restore", "tea-2")).splitlines() == [
        "Brought back prompt 'tea-2' as it was in version 5; it is version 7 now."
    ]


def test_deleting_a_project_prints_how_to_restore_it_whole(satchel: Command) -> None:
    satchel("project", "create", "demo")
    satchel("prompt", "add", "Tea", "Boil", "-p", "demo")
    said = done(satchel("project", "delete", "demo", "--yes"))
    assert said == (
        "Deleted project 'demo'.\nBring it back within 30 days with: satchel restore satchel://project/demo\n"
    )
    trashed = "project 'demo' is in the trash. Bring it back with: satchel restore satchel://project/demo"
    for words in (("prompt", "list"), ("prompt", "show", "tea"), ("log",), ("restore", "tea"), ("trash", "list")):
        assert trashed in failed(satchel(*words, "-p", "demo"), 3)
    assert trashed in failed(satchel("project", "rename", "demo", "x"), 3)
    assert done(satchel("restore", "satchel://project/demo", "-p", "demo")) == (
        "Brought back project 'demo' as it was in version 1; it is version 3 now.\n"
    )
    assert done(satchel("prompt", "show", "tea", "-p", "demo")) == "Boil"


def test_deleting_an_item_prints_how_to_restore_it(satchel: Command) -> None:
    satchel("prompt", "add", "Tea", "Boil")
    satchel("prompt", "add", "Coffee", "Grind")
    satchel("document", "add", "map", "x:map", "here")
    satchel("task", "add", "Drink")
    for words, command in (
        (("prompt", "delete", "tea"), "satchel restore tea -p default"),
        (("document", "delete", "map"), "satchel restore map -p default"),
        (("task", "delete", "1"), "satchel restore '#1'"),
    ):
        assert done(satchel(*words)).splitlines()[1:] == [f"Bring it back within 30 days with: {command}"]
        again = failed(satchel(*words), 3)
        assert f"is in the trash. Bring it back with: {command}" in again
    assert "Bring one of them back" not in done(satchel("prompt", "delete", "coffee", SATCHEL_TRASH_DAYS="0"))
    assert "trash_days is 0" in done(satchel("document", "add", "x", "x:x", "y")) + done(
        satchel("document", "delete", "x", SATCHEL_TRASH_DAYS="0")
    )


def test_undo_announces_its_changes_and_makes_them(satchel: Command) -> None:
    assert done(satchel("undo")) == "Nothing to undo.\n"
    assert value(satchel("undo", "--json")) == {"undone": []}
    satchel("prompt", "add", "Tea", "green")
    satchel("prompt", "edit", "tea", "black")
    satchel("task", "add", "Drink")
    satchel("task", "delete", "1")
    plan = failed(satchel("undo", "--last", "9"), 1)
    assert re.fullmatch(
        "satchel: This will\n"
        rf"  bring back task #1 'Drink', which was deleted {SECOND} \(command line\)\n"
        rf"  delete task #1 'Drink', which was added {SECOND} \(command line\)\n"
        rf"  put back prompt 'tea', which was changed {SECOND} \(command line\), version 2\n"
        rf"  delete prompt 'tea', which was added {SECOND} \(command line\)\n"
        "Do it\\? Not done: there is no terminal to ask on. Add --yes to do it.\n",
        plan,
    )
    assert done(satchel("undo", "--last", "3", "--yes")).splitlines() == [
        "Brought back task #1 'Drink'.",
        "Deleted task #1 'Drink'.",
        "Put back prompt 'tea'.",
    ]
    assert done(satchel("prompt", "show", "tea")) == "green"
    assert done(satchel("task", "list")) == ""
    [step] = value(satchel("undo", "--yes", "--json"))["undone"]
    assert (step["at"], [(one["action"], one["item"]) for one in step["changes"]]) == (TIME, [("add", "tea")])
    assert done(satchel("undo", "--yes")) == "Nothing to undo.\n"
    assert changed(satchel("log", "--limit", "1")) == ["deleted prompt 'tea', version 4 (undo)"]


def test_undo_asks_and_makes_no_change_that_it_did_not_show(store: str, tmp_path: Path, satchel: Command) -> None:
    home = {"SATCHEL_DATABASE": store, "SATCHEL_HOME": str(tmp_path), "SATCHEL_USER": ADA}
    satchel("prompt", "add", "Tea", "green", SATCHEL_USER=ADA)
    satchel("prompt", "edit", "tea", "black", SATCHEL_USER=ADA)
    status, shown = on_terminal("undo", answer="n\n", environment=home)
    assert status == 1 and "put back prompt 'tea'" in shown and "Do it? [y/N]: " in shown
    assert done(satchel("prompt", "show", "tea")) == "black"

    main, terminal = pty.openpty()
    command = [sys.executable, "-m", "satchel", "undo"]
    process = subprocess.Popen(
        command, stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | home
    )
    assert process.stderr is not None
    asked = b""
    while b"[y/N]" not in asked:
        asked += os.read(process.stderr.fileno(), 1000)
    satchel("prompt", "edit", "tea", "white", SATCHEL_USER=ADA)
    os.write(main, b"y\n")
    _, said = process.communicate()
    os.close(main)
    os.close(terminal)
    assert process.returncode == 1 and b"changed while you were asked; nothing was undone" in said
    assert done(satchel("prompt", "show", "tea")) == "white"
    status, shown = on_terminal("undo", answer="y\n", environment=home)
    assert status == 0 and shown.endswith("Put back prompt 'tea'.\n")


def test_the_deletion_of_the_current_project_can_be_undone(satchel: Command) -> None:
    satchel("project", "create", "demo")
    satchel("prompt", "add", "Tea", "Boil", SATCHEL_PROJECT="demo")
    satchel("project", "delete", "demo", "--yes", SATCHEL_PROJECT="demo")
    assert done(satchel("undo", "--yes", SATCHEL_PROJECT="demo")) == "Brought back project 'demo'.\n"
    assert done(satchel("prompt", "show", "tea", SATCHEL_PROJECT="demo")) == "Boil"


def test_an_import_of_several_transactions_is_undone_together_and_comes_back_whole(
    satchel: Command, tmp_path: Path
) -> None:
    rows = [f"Tea {number},Boil {number}" for number in range(1, 1003)]
    (tmp_path / "prompts.csv").write_text("\n".join(["act,prompt", *rows]))
    satchel("project", "create", "imp")
    done(satchel("import", "prompts.csv", "-p", "imp"))
    plan = failed(satchel("undo"), 1).splitlines()
    assert plan[:2] == ["satchel: This will", "  in project 'imp', not the current 'default': delete 1002 prompts"]
    assert plan[2].startswith("  delete prompt 'tea-1002', which was added ")
    assert plan[22:] == ["  and 982 more", "Do it? Not done: there is no terminal to ask on. Add --yes to do it."]
    said = done(satchel("undo", "--last", "2", "--yes")).splitlines()
    assert said[:4] == [
        "In project 'imp', not the current 'default': deleted 1002 prompts.",
        "Deleted 1 project.",
        "Deleted prompt 'tea-1002'.",
        "Deleted prompt 'tea-1001'.",
    ]
    assert said[22:] == ["and 983 more"]
    assert done(satchel("restore", "satchel://project/imp")) == (
        "Brought back project 'imp' as it was in version 1; it is version 3 now.\n"
    )
    assert done(satchel("prompt", "list", "-p", "imp", "--all")).count("\n") == 1002


def test_a_sync_of_several_transactions_is_undone_together(satchel: Command, tmp_path: Path) -> None:
    folder = tmp_path / "folder" / "prompts"
    folder.mkdir(parents=True)
    for number in range(1001):
        (folder / f"tea-{number}.md").write_text("Boil")
    done(satchel("sync", "folder", "--yes"))
    said = done(satchel("undo", "--yes")).splitlines()
    assert (said[0], said[-1]) == ("In project 'default': deleted 1001 prompts.", "and 981 more")
    assert done(satchel("prompt", "list")) == ""


def test_several_items_are_restored_or_none(satchel: Command) -> None:
    for title in ("One", "Two"):
        satchel("prompt", "add", title, "x")
    satchel("prompt", "delete", "one", "two")
    failed(satchel("restore", "one", "three"), 3)
    assert "Restore one ITEM with --version" in failed(satchel("restore", "one", "two", "--version", "1"), 2)
    assert "or one FILE, at a time" in failed(satchel("restore", "one", "./two"), 2)
    assert done(satchel("restore", "one", "two")).splitlines() == [
        "Brought back prompt 'one' as it was in version 1; it is version 3 now.",
        "Brought back prompt 'two' as it was in version 1; it is version 3 now.",
    ]
    again = value(satchel("restore", "one", "two", "--json"))["restored"]
    assert [(one["item"], one["changed"]) for one in again] == [("one", False), ("two", False)]


def test_a_reader_of_the_audit_trail_may_stop_early(satchel: Command, store: str, tmp_path: Path) -> None:
    for number in range(5):
        satchel("prompt", "add", f"Tea {number}", "x" * 100)
    shell = f"{sys.executable} -m satchel log --all --format jsonl | head -c 10"
    environment = os.environ | {"SATCHEL_DATABASE": store, "SATCHEL_HOME": str(tmp_path)}
    ended = subprocess.run(["sh", "-c", shell], env=environment, capture_output=True, check=True)
    assert (len(ended.stdout), ended.stderr) == (10, b"")


def test_a_restore_that_would_break_a_rule_changes_nothing(satchel: Command) -> None:
    satchel("prompt", "add", "Tea", "x")
    satchel("prompt", "edit", "tea", "--title", "Coffee")
    satchel("prompt", "add", "Tea", "y")
    assert "a prompt with the title 'Tea' already exists" in failed(satchel("restore", "tea", "--version", "1"), 5)
    assert value(satchel("prompt", "show", "tea", "--json"))["prompt"]["version"] == 2
    satchel("document", "add", "tea", "x:tea", "z")
    for words in (("log", "tea"), ("diff", "tea"), ("restore", "tea"), ("purge", "tea", "--yes")):
        said = failed(satchel(*words), 2)
        assert said == (
            "satchel: several items are called 'tea'. Name one of them: satchel://prompt/tea or satchel://resource/tea\n"
        )
    assert value(satchel("log", "satchel://resource/tea", "--json"))["kind"] == "document"
    assert value(satchel("restore", "satchel://prompt/tea", "--version", "2", "--json"))["changed"] is False


def test_undo_of_one_project_leaves_the_others_alone(satchel: Command) -> None:
    satchel("project", "create", "web")
    satchel("prompt", "add", "Here", "x", "-p", "web")
    satchel("prompt", "add", "Elsewhere", "x")
    assert done(satchel("undo", "-p", "web", "--yes")) == "Deleted prompt 'here'.\n"
    assert done(satchel("prompt", "show", "elsewhere")) == "x"
    assert "project 'wbe' does not exist. Did you mean 'web'?" in failed(satchel("undo", "-p", "wbe", "--yes"), 3)
