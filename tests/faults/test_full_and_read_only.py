"""A disk that is full, and a store that cannot be written: reads go on, writes fail in the contract's words."""

import os
import resource
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from satchel.storage.database import open_database
from tests.faults.judging import failure_of
from tests.support.every_call import CALLS, WRITING, arguments_of, fill_store
from tests.support.runners import ADA, STORED
from tests.support.stdio import Server

CONFINED = [sys.executable, "-m", "tests.faults.confined"]


# -- a full disk -------------------------------------------------------------------------------------------------


def write_until_it_fails(server: Server, title: str) -> list[str]:
    """Add prompts until one is refused because the disk is full; the ids of those that were acknowledged."""
    ids: list[str] = []
    while len(ids) < 2_000:
        answer = add(server, f"{title} {len(ids)}")
        if "error" in answer:
            assert answer == failure_of("prompt-store", "add_prompt")
            return ids
        ids.append(answer["id"])
    raise AssertionError("the disk is never full")


def add(server: Server, title: str) -> Any:
    return server.call("add_prompt", title=title, content=f"{title}: " + os.urandom(9_000).hex())["structuredContent"]


def fill_up(server: Server, make_room: Callable[[], object]) -> None:
    assert "result" in server.request("tools/list")
    acknowledged = write_until_it_fails(server, "before")
    assert len(acknowledged) > 2
    for number in range(20):
        # A smaller text may still fit, and then it is there.
        answer = add(server, f"full {number}")
        if "error" in answer:
            assert answer == failure_of("prompt-store", "add_prompt")
        else:
            acknowledged.append(answer["id"])
        listed = server.call("list_prompts", limit=1)["structuredContent"]
        assert listed["total"] == len(acknowledged)
        assert server.call("get_prompt", id=acknowledged[number % 5])["isError"] is False
    make_room()
    acknowledged.append(add(server, "after")["id"])
    assert server.call("list_prompts", limit=1)["structuredContent"]["total"] == len(acknowledged)
    for id in acknowledged:
        assert server.call("get_prompt", id=id)["isError"] is False
    assert "Traceback" not in server.stderr


def check_file(path: Path) -> None:
    raw = apsw.Connection(str(path))
    assert raw.execute("pragma integrity_check").fetchall() == [("ok",)]
    raw.execute("insert into prompt_index (prompt_index, rank) values ('integrity-check', 0)")
    raw.close()


def test_files_that_may_not_grow_lose_nothing_and_grow_again(sqlite_template: Path, tmp_path: Path) -> None:
    store = Path(shutil.copy(sqlite_template, tmp_path / "s.db"))
    arguments = ("--contract", "prompt-store", "--database", str(store))
    with Server("3000000", *arguments, command=CONFINED) as server:
        unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        fill_up(server, lambda: resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, unlimited))
    check_file(store)


# -- a store that cannot be written ------------------------------------------------------------------------------


@pytest.fixture
def filled(sqlite_template: Path, tmp_path: Path) -> Iterator[tuple[Path, dict[str, str]]]:
    """Yield a filled store in a folder of its own, and its ids."""
    (tmp_path / "folder").mkdir(mode=0o700)
    path = Path(shutil.copy(sqlite_template, tmp_path / "folder" / "s.db"))
    yield path, fill_store(path)
    path.parent.chmod(0o700)


def make_read_only(path: Path, file: int, folder: int) -> None:
    path.chmod(file)
    path.parent.chmod(folder)


@pytest.mark.parametrize(
    ("contract", "file", "folder"),
    [*((contract, 0o400, 0o500) for contract in STORED), ("tasks", 0o600, 0o500), ("tasks", 0o400, 0o700)],
)
def test_a_store_that_cannot_be_written_is_read(
    filled: tuple[Path, dict[str, str]], contract: str, file: int, folder: int
) -> None:
    path, ids = filled
    make_read_only(path, file, folder)
    before = path.read_bytes()
    with Server("plain", "--contract", contract, "--database", str(path), "--user", ADA, command=CONFINED) as server:
        for name in CALLS[contract]:
            given = arguments_of(contract, name, ids)
            if "/" in name:
                assert "result" in server.request(name, given), name
                continue
            result = server.call(name, given)
            if (contract, name) in WRITING:
                assert result["isError"] is True
                assert result.get("structuredContent", result["content"][0]["text"]) == failure_of(contract, name)
            else:
                assert result["isError"] is False, (name, result)
        assert "is read-only for this user: reads are served, and every call that writes fails" in server.stderr
        assert "Traceback" not in server.stderr
    assert path.read_bytes() == before


def test_a_store_at_rest_is_not_read_after_another_process_changes_it(filled: tuple[Path, dict[str, str]]) -> None:
    path, _ = filled
    make_read_only(path, 0o600, 0o500)
    with Server("plain", "--contract", "prompt-store", "--database", str(path), command=CONFINED) as server:
        assert server.call("list_tags")["isError"] is False
        path.parent.chmod(0o700)
        database = open_database(str(path))
        with database.write() as tx:
            tx.run("delete from prompt_tags")
        database.close()
        assert server.call("list_tags")["structuredContent"] == failure_of("prompt-store", "list_tags")
        server.said("was removed or replaced")


def test_an_empty_store_that_cannot_be_written_is_refused_with_the_reason(
    sqlite_template: Path, tmp_path: Path
) -> None:
    path = Path(shutil.copy(sqlite_template, tmp_path / "s.db"))
    path.chmod(0o400)
    server = Server("plain", "--contract", "prompt-store", "--database", str(path), command=CONFINED)
    assert server.close() == 1
    assert "is read-only for this user, so nothing can be changed" in server.stderr
