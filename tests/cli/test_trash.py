"""`satchel trash`, `purge` and `history size`: what was deleted, and what is gone for good."""

import json
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from satchel.errors import StoreFailed
from satchel.storage.database import Database
from satchel.storage.postgres import PostgresDatabase
from satchel.storage.sqlite import SqliteDatabase
from tests.cli.conftest import Command
from tests.support.command import done, failed, value
from tests.support.satchel import ID, TIME, ok
from tests.support.stdio import NEWEST, Server
from tests.support.terminal import on_terminal

ADA = "6f0a2f5e-9c1c-4a6e-8a51-0d8f8f3c2b11"
BOB = "11111111-2222-4333-8444-555555555555"
NOTHING = {"trash": [], "total": 0}


def files_with(text: bytes, store: str) -> list[str]:
    """Return the files of a store, the log and the shared memory too, in which a text is, in any case."""
    folder = Path(store).parent
    files = [file for file in folder.iterdir() if file.name.startswith(Path(store).name)]
    return [file.name for file in files if text.lower() in file.read_bytes().lower()]


def test_the_trash_lists_what_was_deleted(satchel: Command) -> None:
    assert done(satchel("trash", "list")) == "" and value(satchel("trash", "list", "--json")) == NOTHING
    satchel("project", "create", "other")
    satchel("prompt", "add", "Tea", "x")
    satchel("document", "add", "map", "x:map", "y", "-p", "other")
    satchel("task", "add", "Drink")
    satchel("prompt", "delete", "tea")
    satchel("document", "delete", "map", "-p", "other")
    satchel("task", "delete", "1")
    found = value(satchel("trash", "list", "--json"))
    times = {"deleted_at": TIME, "kept_until": TIME}
    task = {"kind": "task", "item": "#1", "title": "Drink", "id": ID, "project": "default", "version": 2, **times}
    tea = {"kind": "prompt", "item": "tea", "title": "Tea", "id": ID, "project": "default", "version": 2, **times}
    assert found == {"trash": [task, tea], "total": 2}
    assert done(satchel("trash", "list")).splitlines() == [
        "\t".join(
            [
                *(one["kind"], one["item"], one["title"], one["project"] or ""),
                *(f"{one[time][:19]}Z" for time in ("deleted_at", "kept_until")),
            ]
        )
        for one in found["trash"]
    ]
    satchel("project", "delete", "other", "--yes")
    every = value(satchel("trash", "list", "--all", "--json"))
    assert [(one["kind"], one["item"], one["project"]) for one in every["trash"]] == [
        ("project", "other", None),
        ("task", "#1", "default"),
        ("document", "map", None),
        ("prompt", "tea", "default"),
    ]
    assert value(satchel("trash", "list", "--json", SATCHEL_TRASH_DAYS="0")) == NOTHING
    assert "is not in project" in failed(satchel("prompt", "show", "tea", SATCHEL_TRASH_DAYS="0"), 3)


def test_the_trash_is_emptied_of_everything(satchel: Command, store: str) -> None:
    assert done(satchel("trash", "empty")).startswith("The trash is empty.\n")
    for user, title in ((ADA, "Hers"), (BOB, "His")):
        number = value(satchel("task", "add", title, "--json", SATCHEL_USER=user))["task"]["number"]
        satchel("task", "delete", str(number), SATCHEL_USER=user)
    satchel("project", "create", "other")
    satchel("prompt", "add", "Gone", "x", "-p", "other")
    satchel("project", "delete", "other", "--yes")
    satchel("prompt", "add", "Kept", "x")
    satchel("prompt", "edit", "kept", "y")
    assert "removes 3 deleted items of all projects and users" in failed(satchel("trash", "empty"), 1)
    emptied = value(satchel("trash", "empty", "--yes", "--json"))
    assert emptied["removed"] == 3
    assert (emptied["note"] is None) is not store.startswith("postgresql")
    assert value(satchel("trash", "list", "--all", "--json")) == NOTHING
    assert "is not among your tasks" in failed(satchel("restore", "1", SATCHEL_USER=ADA), 3)
    assert "does not exist" in failed(satchel("restore", "satchel://project/other"), 3)
    assert done(satchel("diff", "kept")) != ""
    assert len(value(satchel("prompt", "list", "--json"))["prompts"]) == 1


def test_purge_asks_and_takes_all_or_nothing(satchel: Command, store: str, tmp_path: Path) -> None:
    satchel("prompt", "add", "Tea", "green")
    satchel("prompt", "edit", "tea", "black")
    satchel("task", "add", "Drink", SATCHEL_USER=ADA)
    assert "--yes" in failed(satchel("purge", "tea"), 1)
    failed(satchel("purge", "tea", "made-up", "--yes"), 3)
    home = {"SATCHEL_DATABASE": store, "SATCHEL_HOME": str(tmp_path)}
    status, shown = on_terminal("purge", "tea", answer="n\n", environment=home)
    assert status == 1 and "This removes prompt 'tea' with all versions for good. Continue?" in shown
    assert value(satchel("log", "tea", "--json"))["versions"][0]["version"] == 2
    purged = value(satchel("purge", "tea", "satchel://prompt/tea", "1", "--yes", "--json", SATCHEL_USER=ADA))
    assert purged["purged"] == [{"kind": "prompt", "item": "tea"}, {"kind": "task", "item": "#1"}]
    for item in ("tea", "1"):
        for command in (("log",), ("restore",), ("diff",), ("purge", "--yes")):
            failed(satchel(*command, item, SATCHEL_USER=ADA), 3)
    assert value(satchel("trash", "list", "--all", "--json", SATCHEL_USER=ADA)) == NOTHING
    assert value(satchel("prompt", "add", "Tea", "new", "--json"))["prompt"]["name"] == "tea"
    left = [json.loads(line)["item"] for line in done(satchel("log", "--all", "--format", "jsonl")).splitlines()]
    assert left == ["default", "tea"]


@pytest.mark.parametrize("engine", ["postgres"])
def test_on_postgres_a_purge_says_what_vacuum_has_to_do(satchel: Command) -> None:
    satchel("prompt", "add", "Tea", "x")
    said = done(satchel("purge", "tea", "--yes"))
    assert said.startswith(
        "Removed prompt 'tea' for good.\nThe rows are gone; their bytes stay in the files of PostgreSQL"
    )
    assert "vacuum full prompts" in said


@pytest.mark.parametrize("is_deleted", [False, True])
def test_after_a_purge_no_file_of_the_store_has_a_text_of_it(
    satchel: Command, store: str, serve: Callable[..., Server], is_deleted: bool
) -> None:
    words = ("first", "second", "third", "title", "tag", "task", "map", "line", "note")
    secrets = [f"secret {word} of the tea" for word in words]
    agent = serve("satchel", store, NEWEST, "--user", ADA)
    padding = "The kettle is on. " * 500
    ok(agent, "add_prompt", title="Tea", content=f"{secrets[0]} {padding}", description=secrets[4])
    ok(agent, "update_prompt", prompt="tea", content=secrets[1])
    ok(agent, "update_prompt", prompt="tea", content=f"{padding} {secrets[2]}", title=secrets[3])
    ok(agent, "add_task", title=secrets[5], description=secrets[5])
    ok(agent, "add_tasks", lines=[secrets[7]], key="k")
    ok(agent, "complete_task", task="#2", note=secrets[8])
    ok(agent, "add_resource", name="map", content=secrets[6])
    ok(agent, "update_resource", resource="map", content="other")
    if is_deleted:
        ok(agent, "delete", items=["tea", "#1", "#2", "map"])
    assert any(files_with(secret.encode(), store) for secret in secrets)
    said = value(satchel("purge", "tea", "1", "2", "map", "--yes", "--json", SATCHEL_USER=ADA))
    assert len(said["purged"]) == 4
    assert {secret: files_with(secret.encode(), store) for secret in secrets} == {secret: [] for secret in secrets}
    assert files_with(b"kettle is on", store) == []
    ok(agent, "add_prompt", title="Tea", content="the agent goes on")
    assert done(satchel("prompt", "show", "tea")) == "the agent goes on"


def test_a_reader_that_keeps_old_pages_is_reported(satchel: Command, store: str) -> None:
    satchel("prompt", "add", "Tea", "a secret of the tea")
    reader = apsw.Connection(store, flags=apsw.SQLITE_OPEN_READONLY)
    reader.execute("begin; select * from prompts").fetchall()
    said = value(satchel("purge", "tea", "--yes", "--json"))
    assert said["note"] is not None and "processes" in said["note"]
    reader.close()
    satchel("prompt", "add", "Other", "x")
    done(satchel("purge", "other", "--yes"))
    assert files_with(b"a secret of the tea", store) == []


def test_bytes_that_cannot_be_removed_now_are_reported(
    satchel: Command, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Database) -> str:
        raise StoreFailed("disk full")

    satchel("prompt", "add", "Tea", "x")
    with monkeypatch.context() as patch:
        patch.setattr(SqliteDatabase, "scrub", fail)
        patch.setattr(PostgresDatabase, "scrub", fail)
        said = failed(satchel("purge", "tea", "--yes"), 1)
    assert said == (
        "satchel: Removed prompt 'tea' for good. But its bytes are still on the disk: disk full. "
        "Try again with: satchel trash empty\n"
    )
    failed(satchel("log", "tea"), 3)
    assert value(satchel("trash", "empty", "--json"))["removed"] == 0


def test_history_prints_its_size(satchel: Command, store: str) -> None:
    satchel("prompt", "add", "Tea", "green " * 1000)
    satchel("prompt", "edit", "tea", "black " * 1000)
    satchel("prompt", "add", "Gone", "x")
    satchel("prompt", "delete", "gone")
    size = value(satchel("history", "size", "--json"))
    is_file = not store.startswith("postgresql")
    assert size == {
        "changes": 5,
        "oldest": TIME,
        "old_versions": 1,
        "old_version_bytes": size["old_version_bytes"],
        "trash": {"prompt": 1},
        "bytes_on_disk": size["bytes_on_disk"],
        "store_bytes": size["store_bytes"],
        "trash_days": 30,
        "history_days": 90,
        "history_versions": 20,
    }
    assert 0 < size["old_version_bytes"] < 1000 < size["bytes_on_disk"]
    assert (size["store_bytes"] is not None) is is_file
    lines = done(satchel("history", "size", SATCHEL_HISTORY_DAYS="7")).splitlines()
    assert lines[:3] == [
        f"changes    5, since {size['oldest'][:10]}",
        f"versions   1 old ones in {size['old_version_bytes']} bytes",
        "trash      1 prompt",
    ]
    assert ("% of the store" in lines[3]) is is_file
    assert lines[4] == (
        "kept       every version for 7 days, the newest 20 of each item for longer, deleted items for 30 days"
    )
