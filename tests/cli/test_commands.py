"""The commands on the store: what they print, what they keep, how they end."""

import json
import os
import re
from functools import partial
from pathlib import Path

import pytest

from satchel import config
from satchel.storage.database import open_database
from tests.cli.conftest import Command as Command
from tests.support.command import done, failed, value
from tests.support.command import run as run_command
from tests.support.terminal import on_terminal


def test_projects_are_made_listed_renamed_and_deleted(satchel: Command) -> None:
    assert done(satchel("project", "list")) == ""
    assert done(satchel("project", "create", "one")) == "Created project 'one'.\n"
    assert value(satchel("project", "create", "two", "--json")) == {"project": "two", "added": True}
    assert "Choose another" in failed(satchel("project", "create", "one"), 5)
    assert done(satchel("project", "rename", "one", "three")) == "Renamed project 'one' to 'three'.\n"
    assert "two" in failed(satchel("project", "rename", "three", "two"), 5)
    assert "Did you mean 'three'?" in failed(satchel("project", "rename", "thre", "four"), 3)
    assert value(satchel("project", "list", "--json"))["projects"] == [
        {"name": "three", "prompts": 0, "documents": 0, "open_tasks": 0},
        {"name": "two", "prompts": 0, "documents": 0, "open_tasks": 0},
    ]
    assert done(satchel("project", "delete", "two")) == (
        "Deleted project 'two'.\nBring it back within 30 days with: satchel restore satchel://project/two\n"
    )
    assert "Make it with: satchel project create missing" in failed(satchel("project", "delete", "missing"), 3)
    satchel("task", "add", "Weed", "-p", "three")
    assert done(satchel("project", "list")) == "three\t0\t0\t1\n"
    made = satchel("project", "create", "THREE")
    assert (done(made), made.stderr.decode()) == (
        "Created project 'THREE'.\n",
        "Project 'three' exists too: upper and lower case differ in names.\n",
    )


def test_a_project_that_is_not_empty_is_deleted_only_after_confirmation(satchel: Command) -> None:
    satchel("project", "create", "full")
    satchel("prompt", "add", "One", "text", "-p", "full")
    satchel("document", "add", "doc", "x:doc", "text", "-p", "full")
    satchel("task", "add", "T", "-p", "full")
    assert failed(satchel("project", "delete", "full"), 1) == (
        "satchel: Project 'full' holds 1 prompt, 1 document, 1 task. Its tasks stay, in no project. Delete it? "
        "Not done: there is no terminal to ask on. Add --yes to do it.\n"
    )
    assert "full" in done(satchel("project", "list"))
    done(satchel("project", "delete", "full", "--yes"))
    assert done(satchel("project", "list")) == ""


def test_prompts_are_added_shown_edited_and_deleted(satchel: Command, tmp_path: Path) -> None:
    (tmp_path / "review.md").write_text("# Review\n{{ as it is }}\n")
    said = done(satchel("prompt", "add", "Code Review", "@review.md", "-t", "B", "-t", "a", "--description", "Careful"))
    assert said == "Added prompt 'code-review' to project 'default'.\n"
    assert done(satchel("prompt", "show", "code-review")) == "# Review\n{{ as it is }}\n"
    shown = value(satchel("prompt", "show", "Code Review", "--json"))
    assert shown == {
        "project": "default",
        "prompt": {
            "name": "code-review",
            "title": "Code Review",
            "version": 1,
            "description": "Careful",
            "tags": ["a", "b"],
            "uses": 1,
            "last_used": shown["prompt"]["last_used"],
            "created": shown["prompt"]["created"],
            "updated": shown["prompt"]["created"],
            "content": "# Review\n{{ as it is }}\n",
        },
    }
    satchel("prompt", "delete", "code-review")
    id = value(satchel("trash", "list", "--json"))["trash"][0]["id"]
    satchel("undo", "--yes")
    assert done(satchel("prompt", "show", id.upper())) == shown["prompt"]["content"]
    done(satchel("prompt", "edit", "code-review", "-", input="Another text, ü".encode()))
    done(satchel("prompt", "edit", "code-review", "--title", "Closer Review", "--no-tags", "--description", ""))
    edited = value(satchel("prompt", "show", "code-review", "--json"))["prompt"]
    assert (edited["title"], edited["content"], edited["version"]) == ("Closer Review", "Another text, ü", 5)
    assert "tags" not in edited and "description" not in edited
    satchel("prompt", "add", "Second", "@@plain")
    assert done(satchel("prompt", "show", "second")) == "@plain"
    assert "is not in project" in failed(satchel("prompt", "delete", "second", "third"), 3)
    assert done(satchel("prompt", "delete", "second", "Closer Review")) == (
        "Deleted prompt 'second', 'code-review' from project 'default'.\n"
        "Bring one of them back within 30 days with: satchel restore NAME -p default\n"
    )
    assert value(satchel("prompt", "list", "--json")) == {"project": "default", "prompts": []}


def test_errors_come_with_a_remedy(satchel: Command, tmp_path: Path) -> None:
    satchel("prompt", "add", "Code Review", "x")
    assert "Did you mean 'code-review'?" in failed(satchel("prompt", "show", "code-reviw"), 3)
    assert "satchel prompt list" in failed(satchel("prompt", "show", "nowhere near"), 3)
    assert "Choose another" in failed(satchel("prompt", "add", "Code Review", "x"), 5)
    assert "project create missing" in failed(satchel("prompt", "list", "-p", "missing"), 3)
    assert "must not be empty" in failed(satchel("prompt", "add", "T", " \n"), 2)
    assert "cannot be a tag" in failed(satchel("prompt", "add", "T", "x", "-t", "a b"), 2)
    assert "at most 200" in failed(satchel("prompt", "add", "t" * 201, "x"), 2)
    assert "cannot read nope.md" in failed(satchel("prompt", "add", "T", "@nope.md"), 1)
    assert "@FILE" in failed(satchel("prompt", "add", "T"), 2)
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    assert "UTF-8" in failed(satchel("prompt", "add", "T", "@binary"), 2)
    (tmp_path / "nul").write_bytes(b"a\0b")
    failed(satchel("prompt", "add", "T", "@nul"), 2)
    failed(satchel("prompt", "nope"), 2)
    error = json.loads(failed(satchel("prompt", "show", "code-reviw", "--json"), 3))
    assert error == {
        "error": {
            "code": "not_found",
            "message": "Prompt 'code-reviw' does not exist in project 'default'.",
            "hint": "Did you mean 'code-review'? List them with: satchel prompt list -p default",
            "near": ["code-review"],
        }
    }
    assert len(value(satchel("prompt", "list", "--json"))["prompts"]) == 1


def test_resources_are_added_shown_edited_and_deleted(satchel: Command, tmp_path: Path) -> None:
    data = os.urandom(100_000)
    (tmp_path / "logo.png").write_bytes(data)
    added = value(satchel("document", "add", "logo", "file:///logo.png", "@logo.png", "--json"))
    facts = {"name": "logo", "size": 100_000, "version": 1, "uri": "file:///logo.png", "mime_type": "image/png"}
    assert added == {"project": "default", "resource": facts}
    assert satchel("document", "show", "logo").stdout == data
    done(satchel("document", "add", "notes", "file:///notes.md", "-", "--mime-type", "text/markdown", input=b"# Hi"))
    assert done(satchel("document", "list")) == (
        "logo\tfile:///logo.png\timage/png\t100000\t\t\nnotes\tfile:///notes.md\ttext/markdown\t4\t\t\n"
    )
    listed = value(satchel("document", "list", "--json"))
    assert [one["name"] for one in listed["resources"]] == ["logo", "notes"]
    done(satchel("document", "edit", "notes", "other", "--description", "d"))
    assert "document 'memo'" in done(satchel("document", "edit", "notes", "--name", "memo"))
    done(satchel("document", "edit", "memo", "--name", "notes"))
    assert value(satchel("document", "show", "notes", "--json"))["resource"]["text"] == "other"
    assert "needs new content" in failed(satchel("document", "edit", "notes", "--mime-type", "image/png"), 2)
    assert "document 'logo'" in failed(satchel("document", "add", "x", "file:///logo.png", "y"), 5)
    assert "already" in failed(satchel("document", "add", "logo", "file:///other", "y"), 5)
    assert "must begin with a scheme, such as file:, and have no spaces" in failed(
        satchel("document", "add", "x", "docs/api.md", "y"), 2
    )
    assert "must look like text/markdown" in failed(
        satchel("document", "add", "x", "a:b", "y", "--mime-type", "png"), 2
    )
    assert "Did you mean 'notes'?" in failed(satchel("document", "show", "note"), 3)
    failed(satchel("document", "delete", "logo", "nope"), 3)
    done(satchel("document", "delete", "logo", "notes"))
    assert done(satchel("document", "list")) == ""


def write_editor(folder: Path, script: str) -> str:
    editor = folder / "editor"
    editor.write_text(f'#!/bin/sh\n{script} "$1"\n')
    editor.chmod(0o755)
    return str(editor)


def test_the_editor_is_asked_where_there_is_a_terminal(satchel: Command, store: str, tmp_path: Path) -> None:
    editor = write_editor(tmp_path, "printf 'written in the editor' >")
    environment = {"EDITOR": editor, "SATCHEL_DATABASE": store, "SATCHEL_HOME": str(tmp_path)}
    assert on_terminal("prompt", "add", "Edited", environment=environment)[0] == 0
    assert done(satchel("prompt", "show", "edited")) == "written in the editor"


def test_the_editor_changes_nothing_by_itself(satchel: Command, store: str, tmp_path: Path) -> None:
    content = "\ufeffa\r\nb\r\nlast"
    done(satchel("prompt", "add", "T", "-", input=content.encode()))
    environment = {"SATCHEL_DATABASE": store, "SATCHEL_HOME": str(tmp_path)}
    editor = write_editor(tmp_path, "printf '\\377' >")
    status, told = on_terminal("prompt", "edit", "t", environment=environment | {"EDITOR": editor})
    assert (status, satchel("prompt", "show", "t").stdout) == (2, content.encode()) and "Traceback" not in told
    editor = write_editor(tmp_path, "sed -i s/b/B/")
    assert on_terminal("prompt", "edit", "t", environment=environment | {"EDITOR": editor})[0] == 0
    assert satchel("prompt", "show", "t").stdout == content.replace("b", "B").encode()


def test_arguments_that_are_no_utf_8_are_refused_without_a_traceback(satchel: Command) -> None:
    bad = os.fsdecode(b"\xff")
    for words in (
        ("project", "create", bad),
        ("project", "delete", bad),
        ("prompt", "add", "t", "x", "-t", bad),
        ("prompt", "show", bad),
        ("prompt", "list", "-p", bad),
        ("document", "add", "n", "x:q", "x", "--description", bad),
        ("document", "show", bad, "--json"),
        ("task", "done", bad),
        ("task", "list", "--user", bad),
        ("log", bad),
        ("log", "--by", bad),
        ("log", "--since", bad),
        ("diff", bad),
        ("restore", bad, "--json"),
        ("purge", bad, "--yes"),
        ("serve", "-c", "mcpkg", "-p", bad),
    ):
        process = satchel(*words)
        assert process.returncode in (2, 3) and b"Traceback" not in process.stderr, (words, process.stderr)


def test_a_store_that_another_program_changed_says_what_to_do(satchel: Command, store: str) -> None:
    database = open_database(store)
    with database.write() as tx:
        tx.run("alter table tasks rename to tasks_elsewhere")
    database.close()
    text = failed(satchel("task", "list"), 1)
    assert re.search(r"^satchel: .*tasks.*Another program changed the store: restore a backup of it\.", text, re.S)


def test_the_default_home_is_that_of_platformdirs(monkeypatch: pytest.MonkeyPatch) -> None:
    import platformdirs

    for variable in ("/elsewhere", None):
        if variable:
            monkeypatch.setenv("XDG_DATA_HOME", variable)
        else:
            monkeypatch.delenv("XDG_DATA_HOME", raising=False)
        assert config._default_home() == platformdirs.user_data_dir("satchel", appauthor=False)


def test_flags_override_the_environment_which_overrides_the_file(tmp_path: Path) -> None:

    (tmp_path / "satchel.toml").write_text('database = "file.db"\nproject = "of-file"\n')
    home = {"SATCHEL_HOME": str(tmp_path)}
    assert config.load({}, home).database == "file.db"
    assert config.load({}, home | {"SATCHEL_PROJECT": "of-env"}).project == "of-env"
    assert config.load({"project": "of-flag"}, home | {"SATCHEL_PROJECT": "of-env"}).project == "of-flag"
    served = config.load({"transport": "http"}, home | {"SATCHEL_PROJECT": "of-env"})
    assert (served.project, served.why_project) == ("of-file", "the settings file")
    assert config.load({}, {"SATCHEL_HOME": str(tmp_path / "none")}).database == str(tmp_path / "none" / "satchel.db")
    (tmp_path / "satchel.toml").write_text("colour = 5\n")
    with pytest.raises(config.SettingsError, match="there is no setting 'colour'"):
        config.load({}, home)


def test_several_tasks_are_finished_or_deleted_together_or_none(satchel: Command) -> None:
    for title in ("  Buy milk ", "Call mom", "Third"):
        satchel("task", "add", title)
    assert done(satchel("task", "done", "1", "Call mom")) == "Done: task 1: Buy milk\nDone: task 2: Call mom\n"
    assert "not among your tasks" in failed(satchel("task", "delete", "2", "99"), 3)
    every = [line.split("\t")[:3] for line in done(satchel("task", "list", "--status", "all")).splitlines()]
    assert every == [["3", "", "Third"], ["2", "done", "Call mom"], ["1", "done", "Buy milk"]]
    assert done(satchel("task", "delete", "2", "3")) == (
        "Deleted task 2, 3.\nBring one of them back within 30 days with: satchel restore '#NUMBER'\n"
    )
    for _ in range(2):
        satchel("task", "add", "Twice")
    several = "several tasks are called 'Twice': #4, #5. Name one by its number."
    assert several in failed(satchel("task", "show", "Twice"), 2)
    for words, status in ((("show", "9" * 40), 3), (("show", "x"), 3), (("add", "  "), 2), (("edit", "1"), 2)):
        failed(satchel("task", *words), status)


def test_contracts_are_listed_and_shown(tmp_path: Path) -> None:
    run = partial(run_command, environment={"SATCHEL_HOME": str(tmp_path)})
    names = [line.split("\t")[0] for line in done(run("contract", "list")).splitlines()]
    assert names == [one["name"] for one in value(run("contract", "list", "--json"))["contracts"]]
    assert {"prompt-store", "mcpkg", "todo", "tasks"} <= set(names)
    assert value(run("contract", "show", "todo", "add_task"))["title"] == "add_task"
    shown = value(run("contract", "show", "tasks"))
    assert done(run("contract", "show", "tasks", "--output", str(tmp_path / "schemas"))) == ""
    files = [json.loads((tmp_path / "schemas" / f"{one['title']}.json").read_text()) for one in shown]
    assert len(files) == 5 and files == shown
    (tmp_path / "file").touch()
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        assert f"cannot write into {place}: " in failed(run("contract", "show", "tasks", "--output", str(place)), 1)
    assert "Did you mean todo?" in failed(run("contract", "show", "tod"), 2)
    assert "Did you mean 'add_task'?" in failed(run("contract", "show", "todo", "add_tasks"), 3)
