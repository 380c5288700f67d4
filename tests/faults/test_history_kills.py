"""Writers that are killed while they add, edit, delete and restore: history and items are never apart."""

import random
import subprocess
import sys
import threading
from pathlib import Path

import apsw
import pytest

from satchel.model import PromptQuery, uri_of
from satchel.services import history, lookup, projects, prompts, recording
from satchel.storage.database import Database, Tx, open_database
from tests.faults.history_writer import SCOPE, token_of
from tests.support.process import ROOT

KILLS = 60
WRITERS = 3
TABLES = {"prompt": "prompts", "document": "documents", "task": "tasks"}


@pytest.mark.soak
def test_history_and_items_are_never_apart_over_kills_of_several_writers(tmp_path: Path) -> None:
    store = str(tmp_path / "s.db")
    database = open_database(store)
    projects.require(database, SCOPE)
    dice = random.Random(11)
    acknowledged: dict[tuple[str, int, int], tuple[str, str]] = {}
    for round in range(KILLS):
        for line in run_and_kill(store, round, dice):
            kind, number, version, action, token = line.split()
            acknowledged[kind, int(number), int(version)] = (action, token)
        with database.read(SCOPE) as tx:
            check_tables(tx)
    assert {action for action, _ in acknowledged.values()} == {"add", "update", "delete", "restore"}
    with database.read(SCOPE) as tx:
        check_acknowledged(tx, acknowledged)
        check_every_version_is_readable(tx)
    check_index(database)
    database.close()
    raw = apsw.Connection(store)
    assert raw.execute("pragma integrity_check").fetchall() == [("ok",)]
    assert raw.execute("pragma foreign_key_check").fetchall() == []
    raw.execute("insert into prompt_index (prompt_index, rank) values ('integrity-check', 0)")
    raw.close()


def run_and_kill(store: str, round: int, dice: random.Random) -> list[str]:
    """Start some writers and kill each at a moment of its own; the lines that they wrote whole."""
    said: list[list[str]] = [[] for _ in range(WRITERS)]

    def work(number: int, delay: float) -> None:
        command = [sys.executable, "-m", "tests.faults.history_writer", store, f"{round}.{number}"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        assert process.stdout is not None
        lines = said[number]
        assert process.stdout.readline() == "ready\n"
        lines += [process.stdout.readline(), process.stdout.readline()]  # it works, however slow the machine is
        killer = threading.Timer(delay, process.kill)
        killer.start()
        lines += process.stdout
        killer.join()
        process.wait()
        process.stdout.close()

    threads = [threading.Thread(target=work, args=(number, dice.uniform(0.02, 0.4))) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [line for lines in said for line in lines if line.endswith("\n")]  # a torn line is no acknowledgement


def check_tables(tx: Tx) -> None:
    """Items, revisions, states and trash say the same."""
    for kind, table in TABLES.items():
        live = dict(tx.all(f"select number, version from {table} where deleted_at is null"))
        trash = dict(tx.all(f"select number, version from {table} where deleted_at is not null"))
        newest = {
            item: (version, action)
            for item, version, action in tx.all(
                "select item, version, action from revisions where kind = :kind order by version", kind=kind
            )
        }
        assert live.keys() & trash.keys() == set()
        assert {item: version for item, (version, action) in newest.items() if action != "delete"} == live
        assert {item: version for item, (version, action) in newest.items() if action == "delete"} == trash
    texts = {"prompt": "prompts p left join prompt_texts", "task": "tasks p left join task_texts"}
    for kind, joined in texts.items():
        sql = f"select number from {joined} on {kind} = number where (deleted_at is null) <> ({kind} is not null)"
        assert tx.all(sql) == []


def check_acknowledged(tx: Tx, acknowledged: dict[tuple[str, int, int], tuple[str, str]]) -> None:
    """Nothing acknowledged is lost: each version is there, with the action and the content that was told."""
    for (kind, number, version), (action, token) in acknowledged.items():
        sql = "select action from revisions where kind = :kind and item = :item and version = :version"
        found = tx.one(sql, kind=kind, item=number, version=version)
        assert found == (action,), (kind, number, version)
        if action != "delete":
            assert read_token(tx, kind, number, version) == token, (kind, number, version)


def read_token(tx: Tx, kind: str, number: int, version: int) -> str:
    name = "id" if kind == "task" else "name"
    row = tx.one(f"select id, {name}, deleted_at from {TABLES[kind]} where number = :number", number=number)
    assert row is not None, (kind, number)
    reference = f"#{number}" if kind == "task" else row[0] if row[2] else uri_of(kind, row[1])
    old = history.read_version_of(tx, lookup.find(tx, SCOPE, reference), version)
    state = old.state
    text = state.description or "" if kind == "task" else state.text or state.data.decode()
    return text.partition("\n")[0]


def check_every_version_is_readable(tx: Tx) -> None:
    sql = "select kind, item, version from revisions where action <> 'delete' and kind <> 'project'"
    for kind, number, version in tx.all(sql):
        assert read_token(tx, kind, number, version).startswith("token-")


def check_index(database: Database) -> None:
    """Search finds each prompt by the token of its newest text, and by no older one."""
    with database.read(SCOPE) as tx:
        for header in prompts.list_headers(tx, SCOPE)[0]:
            prompt = prompts.get_by_name(tx, SCOPE, header.name)
            token = token_of(recording.of_prompt(prompt))
            page = prompts.list_counted(tx, SCOPE, PromptQuery(text=token), limit=20, offset=0)
            assert header.number in [one.number for one in page.items]
        [[stored]] = tx.all("select count(*) from prompts where deleted_at is null")
        assert prompts.list_counted(tx, SCOPE, PromptQuery(text="token-"), limit=1, offset=0).total == stored
