"""Live libraries: however a file is saved, the list ends equal to the disk, and clients are told."""

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import watchfiles

from satchel.library import watch
from satchel.library.catalog import Catalog, Libraries
from satchel.model import StoreChange
from tests.contracts.test_twig import get, text, write
from tests.support.in_process import InProcess
from tests.support.process import children, count_watches, eventually
from tests.support.stdio import Client, Server

TIMEOUT = 25.0  # seconds; less than the interval of full scans, so that it was an event that was noticed
CHANGED = "notifications/prompts/list_changed"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "libraries"
    write(root, "lib", "[prompts.one]\n", one="first")
    return root


@pytest.fixture
def server(root: Path) -> Iterator[InProcess]:
    with closing(InProcess("--contract", "twig", "--libraries", str(root))) as server:
        server.initialize("2025-11-25")
        assert names(server) == ["lib:one"]
        settle(server)
        yield server


def names(server: Client) -> list[str]:
    """Return all names that are listed."""
    found: list[str] = []
    cursor: dict[str, Any] = {}
    while True:
        server.ask("prompts/list", cursor)
        answer = server.read()
        while "method" in answer:  # a change of the disk may be announced at any time
            answer = server.read()
        if cursor and "error" in answer:  # the list has become shorter meanwhile
            found, cursor = [], {}
            continue
        found += [prompt["name"] for prompt in answer["result"]["prompts"]]
        if "nextCursor" not in answer["result"]:
            return found
        cursor = {"cursor": answer["result"]["nextCursor"]}


def settle(server: Client) -> None:
    """Wait until folders are watched, and nothing is announced any more."""
    assert eventually(lambda: count_watches(os.getpid()) > 0)
    drain(server)


def drain(server: Client) -> None:
    """Read announcements until there are no more."""
    while not server.is_silent(1.5):  # more than what a burst of events may take before it is looked at
        server.read()


def expect_notification(server: Client) -> None:
    """A change is announced because of an event: the periodic scan would come after this timeout."""
    assert server.read(TIMEOUT) == {"jsonrpc": "2.0", "method": CHANGED}


def manifest(root: Path) -> Path:
    return root / "lib" / "twig.toml"


def in_place(root: Path, content: str) -> None:
    manifest(root).write_text(content)


def write_and_rename(root: Path, content: str) -> None:
    temporary = root / "lib" / ".twig.toml.swp"
    temporary.write_text(content)
    os.replace(temporary, manifest(root))


def delete_and_create(root: Path, content: str) -> None:
    manifest(root).unlink()
    manifest(root).write_text(content)


def by_vim(root: Path, content: str) -> None:
    """A backup by rename, then a new file under the old name."""
    backup = root / "lib" / "twig.toml~"
    os.replace(manifest(root), backup)
    manifest(root).write_text(content)
    backup.unlink()


@pytest.mark.parametrize("save", [in_place, write_and_rename, delete_and_create, by_vim])
def test_clients_are_notified_however_a_manifest_is_saved(
    root: Path, server: Client, save: Callable[[Path, str], None]
) -> None:
    (root / "lib" / "prompts" / "two.md").write_text("x")
    save(root, "[prompts.one]\n[prompts.two]\n")
    expect_notification(server)
    assert names(server) == ["lib:one", "lib:two"]


def test_a_git_checkout_of_a_thousand_files_ends_with_the_list_equal_to_the_disk(root: Path, server: Client) -> None:
    repository = root / "lib"

    def git(*words: str) -> None:
        settings = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main", "-c", "gc.auto=0"]
        subprocess.run(["git", *settings, *words], cwd=repository, check=True, capture_output=True)

    git("init")
    git("add", ".")
    git("commit", "-m", "one")
    git("checkout", "-b", "many")
    keys = [f"k{number}" for number in range(1000)]
    write(root, "lib", "\n".join(f"[prompts.{key}]" for key in keys), **dict.fromkeys(keys, "x"))
    git("add", ".")
    git("commit", "-m", "many")
    git("checkout", "main")
    assert eventually(lambda: names(server) == ["lib:one"])
    settle(server)
    git("checkout", "many")
    expect_notification(server)
    assert eventually(lambda: names(server) == [f"lib:{key}" for key in keys])


def test_a_folder_moved_in_and_out_is_listed_and_gone(root: Path, tmp_path: Path, server: Client) -> None:
    write(tmp_path, "outside", "[prompts.p]\n", p="x")
    shutil.move(tmp_path / "outside", root / "moved")
    expect_notification(server)
    assert names(server) == ["lib:one", "moved:p"]
    settle(server)
    (root / "moved" / "prompts" / "p.md").unlink()
    expect_notification(server)
    assert names(server) == ["lib:one"]
    settle(server)
    shutil.rmtree(root / "lib")
    expect_notification(server)
    assert names(server) == []


def test_edited_text_is_served_at_once_without_a_notification(root: Path, server: Client) -> None:
    (root / "lib" / "prompts" / "one.md").write_text("second")
    assert text(server, "lib:one") == "second"
    assert server.is_silent(1.5)


def test_a_library_that_breaks_keeps_its_last_good_state(root: Path, server: Client) -> None:
    in_place(root, "[prompts.one\n")
    assert server.is_silent(1.5)
    assert names(server) == ["lib:one"] and text(server, "lib:one") == "first"
    (root / "lib" / "prompts" / "two.md").write_text("x")
    in_place(root, "[prompts.two]\n")
    expect_notification(server)
    assert names(server) == ["lib:two"]
    assert get(server, "lib:one")["error"]["code"] == -32601


def test_a_root_that_is_removed_and_made_again_is_found_again(root: Path, server: Client) -> None:
    shutil.rmtree(root)
    expect_notification(server)
    assert names(server) == []
    drain(server)
    write(root, "new", "[prompts.p]\n", p="x")
    expect_notification(server)
    assert names(server) == ["new:p"]
    settle(server)
    (root / "new" / "prompts" / "q.md").write_text("x")
    (root / "new" / "twig.toml").write_text("[prompts.p]\n[prompts.q]\n")
    expect_notification(server)


def test_a_root_that_does_not_exist_yet_is_picked_up_when_it_appears(tmp_path: Path) -> None:
    with closing(InProcess("--contract", "twig", "--libraries", str(tmp_path / "later" / "still"))) as server:
        server.initialize("2024-11-05")
        assert names(server) == []
        write(tmp_path / "later" / "still", "lib", "[prompts.p]\n", p="x")
        expect_notification(server)
        assert names(server) == ["lib:p"]


def test_a_rescan_reports_changes_of_the_list_and_of_each_prompt(root: Path) -> None:
    libraries = Libraries([str(root)])
    assert libraries.rescan() == [] and libraries.rescan() == []
    (root / "lib" / "prompts" / "one.md").write_text("another text")
    assert libraries.rescan() == [StoreChange("template", key="lib:one")]
    in_place(root, "# a remark, and all is a line further down\n[prompts.one]\n")
    assert libraries.rescan() == []
    in_place(root, '[prompts.one]\ndescription = "First"\n')
    assert libraries.rescan() == [StoreChange("libraries"), StoreChange("template", key="lib:one")]
    (root / "lib" / "prompts" / "one.md").unlink()
    assert libraries.rescan() == [StoreChange("libraries"), StoreChange("template", key="lib:one")]
    assert libraries.rescan() == []


def test_a_change_without_an_event_is_found_by_the_periodic_scan(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def deaf(*_: object, **__: object) -> Iterator[set[object]]:
        while True:
            time.sleep(0.02)
            yield set()

    monkeypatch.setattr(watchfiles, "watch", deaf)
    libraries = Libraries([str(root)])
    assert len(libraries.catalog.view) == 1
    changed = threading.Event()
    stop = watch.start(lambda: libraries, lambda _changes: changed.set(), scan_interval=0.2)
    time.sleep(0.1)
    (root / "lib" / "prompts" / "one.md").unlink()
    assert changed.wait(TIMEOUT) and libraries.catalog.view == []
    stop.set()


def test_repeated_writes_of_one_file_are_one_burst(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """watchfiles reports them as many bursts, because it waits only for events of other files."""
    is_over, manifest = threading.Event(), root / "lib" / "twig.toml"

    def report(*_: object, **__: object) -> Iterator[set[object]]:
        yield set()  # the first pass scans
        for number in range(5):
            manifest.write_text(f'[prompts.one]\ndescription = "{number}"\n')
            yield {manifest}
        yield set()
        is_over.set()
        while True:
            time.sleep(0.02)
            yield set()

    monkeypatch.setattr(watchfiles, "watch", report)
    libraries, found = Libraries([str(root)]), list[list[StoreChange]]()
    stop = watch.start(lambda: libraries, found.append)
    assert is_over.wait(TIMEOUT)
    stop.set()
    assert found == [[StoreChange("libraries"), StoreChange("template", key="lib:one")]]
    assert libraries.catalog.view[0][1].description == "4"


def test_two_threads_that_need_the_first_scan_share_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second scan, whose changes are not announced, would hide a change that was made after the first."""
    libraries = Libraries([str(root)])
    scan, looks, go_on = libraries._scan, [0], threading.Event()

    def slow() -> Catalog:
        looks[0] += 1
        found = scan()
        assert go_on.wait(TIMEOUT)
        return found

    monkeypatch.setattr(libraries, "_scan", slow)
    threads = [threading.Thread(target=lambda: libraries.catalog) for _ in range(2)]
    for thread in threads:
        thread.start()
    time.sleep(0.2)  # by now both are in there, or the second comes when everything is done
    go_on.set()
    for thread in threads:
        thread.join()
    assert looks == [1]
    (root / "lib" / "prompts" / "one.md").unlink()
    assert libraries.rescan()


def test_a_server_starts_its_one_worker_with_the_first_answer_if_there_are_libraries(root: Path) -> None:
    with Server("--contract", "twig", "--libraries", str(root)) as server:
        server.initialize("2025-11-25")
        assert len(children(server.process.pid)) == 1
        assert text(server, "lib:one") == "first"
        assert len(children(server.process.pid)) == 1
    for contract, listed in (("twig", []), ("satchel", ["start-task"])):
        with Server("--contract", contract, "--libraries", str(root / "absent")) as server:
            server.initialize("2025-11-25")
            assert names(server) == listed and len(children(server.process.pid)) == 0
