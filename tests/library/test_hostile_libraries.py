"""Hostile libraries beside a good one in a live server: that one is listed in time; nothing outside is read."""

import ctypes
import os
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.library.hostile import BUSY, SECRET, Live, in_soak, write_good, write_library
from tests.support.process import eventually
from tests.support.soak import amount

KIB = 1024
GROWTH = 10 * KIB  # kB
SEEN = 60.0
ONE = "[prompts.a]\n"
HOW_MANY = 8  # slow bombs that arrive at once

Build = Callable[[Path, Path], object]


class Case(NamedTuple):
    """What to put into the root, what is listed of it, and what else to ask for."""

    name: str
    build: Build  # (where to write what goes into the root, a folder outside with secrets)
    lists: tuple[str, ...] | None = ()  # None: it may or may not be understood in time
    asks: tuple[str, ...] = ("x:a",)


def bomb(name: str, manifest: str) -> Case:
    """Return a library `x` that may be too much to read in time, or not, as the machine has it."""
    return Case(name, lambda here, _: write_library(here / "x", manifest, a="fine"), None)


def toml(name: str, manifest: str | bytes, *lists: str, asks: tuple[str, ...] = ("x:a",)) -> Case:
    """Return a library `x` with a hostile manifest, and a file for the prompt `a`."""
    return Case(name, lambda here, _: write_library(here / "x", manifest, a="fine"), lists, asks)


def content(name: str, build: Callable[[Path, Path], object]) -> Case:
    """Return a library `x` whose content file `a` is hostile: not listed, and not given."""

    def write(here: Path, outside: Path) -> None:
        folder = write_library(here / "x", ONE)
        build(folder / "prompts" / "a.md", outside)

    return Case(name, write)


def manifest(name: str, build: Callable[[Path, Path], object]) -> Case:
    """Return a folder `x` whose manifest is hostile: no library."""

    def write(here: Path, outside: Path) -> None:
        folder = write_library(here / "x", ONE, a="fine")
        (folder / "twig.toml").unlink()
        build(folder / "twig.toml", outside)

    return Case(name, write)


def folder(name: str, called: str | bytes, *lists: str) -> Case:
    """Return a fine library in a folder with a strange name."""

    def write(here: Path, _: Path) -> None:
        write_library(here / "made", ONE, a="fine")
        os.rename(os.fsencode(here / "made"), os.fsencode(here) + b"/" + os.fsencode(called))

    return Case(name, write, lists, (*lists, "x:a", "_:a", ":a"))


def a_socket(place: Path, _: Path) -> None:
    folder = os.open(place.parent, os.O_RDONLY)
    try:
        with socket.socket(socket.AF_UNIX) as one:  # by way of the descriptor: such addresses are short
            one.bind(f"/proc/self/fd/{folder}/{place.name}")
    finally:
        os.close(folder)


def sparse(place: Path, _: Path) -> None:
    place.touch()
    os.truncate(place, 1024**3)


def sparse_manifest(here: Path, outside: Path) -> None:
    write_library(here / "x", ONE, a="a")
    sparse(here / "x" / "twig.toml", outside)


def link_chain(place: Path, outside: Path) -> None:
    for number in range(5):
        target = outside / "secret.md" if number == 4 else f"link{number + 1}"
        (place if number == 0 else place.parent / f"link{number}").symlink_to(target)


def prompts_linked(here: Path, target: Path) -> None:
    write_library(here / "x", ONE)
    (here / "x" / "prompts").rmdir()
    (here / "x" / "prompts").symlink_to(target)


def links_to_the_disk(here: Path, _: Path) -> None:
    made = write_library(here / "x", ONE, a="fine")
    (made / "disk").symlink_to("/")
    (made / "prompts" / "disk").symlink_to("/")
    (here / "disk").symlink_to("/")


def linked_with_links(here: Path, outside: Path) -> None:
    """Link to a library whose texts are elsewhere."""
    own = outside / "linked"
    own.mkdir(exist_ok=True)
    (own / "twig.toml").write_text(ONE)
    if not (own / "prompts").is_symlink():
        (own / "prompts").symlink_to(outside / "x" / "prompts")
    (here / "x").symlink_to(own)


def many_files(here: Path, _: Path) -> None:
    made = write_library(here / "x", ONE, a="fine")
    for number in range(5_000):
        (made / "prompts" / f"f{number}.md").touch()


def deep_folders(here: Path, _: Path) -> None:
    made = write_library(here / "x", ONE, a="fine")
    (made / "prompts" / "/".join("d" * 200)).mkdir(parents=True)


def prompts_of(count: int) -> Build:
    text = "".join(f'[prompts.p{number}]\ndescription = "x"\n' for number in range(count))
    return lambda here, _: write_library(here / "x", text, **{f"p{number}": "x" for number in range(count)})


FILL = "# " + "x" * 3000 + "\n"  # makes it too long to be read in the server's own process
SLOW = [
    toml("dotted-key-10000", "a" + ".a" * 10_000 + " = 1\n" + ONE),
    toml("dotted-key-100000", "a" + ".a" * 100_000 + " = 1\n" + ONE),
    toml("dotted-header-20000", "[a" + ".a" * 20_000 + "]\n" + ONE),
    bomb("deep-tables", "".join(f"[{'a.' * depth}a]\n" for depth in range(500)) + ONE),
    bomb("dotted-keys-many", "".join("a" + ".b" * 100 + f".c{number} = 1\n" for number in range(1_100)) + ONE),
    bomb("inline-tables-dotted", "a = {" + ", ".join(f"b{number}.c.d.e = 1" for number in range(15_000)) + "}\n" + ONE),
    bomb("bad-prompts-by-the-thousand", "".join(f"prompts.P{number} = 0\n" for number in range(2_000))),
    toml("spaces-by-the-thousand", f"{ONE}{' ' * 200_000}\n", "x:a"),
    Case("prompts-2000", prompts_of(2_000), tuple(f"x:p{number}" for number in range(2_000)), ("x:p1999",)),
    Case("prompts-2001", prompts_of(2_001), tuple(f"x:p{number}" for number in range(2_000)), ("x:p2000",)),
]

TOML = [
    toml("nested-arrays-500", "a = " + "[" * 500 + "]" * 500 + "\n" + ONE),
    toml("nested-arrays-10000", "a = " + "[" * 10_000 + "]" * 10_000),
    toml("nested-inline-tables-10000", "a = " + "{a=" * 10_000 + "1" + "}" * 10_000),
    toml("depth-of-json-995", FILL + "a" + ".a" * 995 + " = 1\n"),
    toml("huge-integer", "a = " + "9" * 200_000),
    toml("huge-float", "a = 1e" + "9" * 2_000 + "\n" + FILL + ONE, "x:a"),
    toml("not-a-number", f"{ONE}description = nan\n", "x:a"),
    toml("not-a-number-in-the-worker", f"{FILL}{ONE}description = nan\n", "x:a"),
    toml("date-in-the-worker", f"{FILL}{ONE}description = 2020-01-01\n", "x:a"),
    toml("262144-bytes", ONE + "#" * (256 * KIB - len(ONE)), "x:a"),
    toml("262145-bytes", ONE + "#" * (256 * KIB - len(ONE) + 1)),
    Case("sparse-manifest", sparse_manifest),
    bomb("many-keys", ONE + "".join(f"k{n} = 0\n" for n in range(25_000))),
    bomb("many-tables", ONE + "".join(f"[t{n}]\n" for n in range(25_000))),
    toml("duplicate-keys", "a = 1\na = 2\n" + ONE),
    toml("not-utf-8", ONE.encode() + b"description = '\xff'\n"),
    toml("byte-order-mark", b"\xef\xbb\xbf" + ONE.encode(), "x:a", asks=("x:a", "x:b")),
    toml("escaped-nul", ONE + 'description = "\\u0000"\n', "x:a"),
    toml("unclosed-string", ONE + 'description = """' + "x" * 100_000),
    toml("backslashes", ONE + 'description = "' + "\\\\" * 100_000 + '"\n', "x:a"),
]

PLACES = [
    content("content-link-outside", lambda place, out: place.symlink_to(out / "secret.md")),
    content("content-link-loop", lambda place, out: place.symlink_to(place.name)),
    content("content-link-chain", link_chain),
    content("content-link-to-the-environment", lambda place, out: place.symlink_to("/proc/self/environ")),
    content("content-link-to-stdin", lambda place, out: place.symlink_to("/dev/stdin")),
    content("content-a-fifo", lambda place, out: os.mkfifo(place)),
    content("content-a-socket", a_socket),
    Case(
        "content-of-a-gigabyte",
        lambda here, out: sparse(write_library(here / "x", ONE) / "prompts/a.md", out),
        ("x:a",),
    ),
    manifest("manifest-link-outside", lambda place, out: place.symlink_to(out / "x" / "twig.toml")),
    manifest("manifest-link-to-the-secret", lambda place, out: place.symlink_to(out / "secret.md")),
    manifest("manifest-link-loop", lambda place, out: place.symlink_to(place.name)),
    manifest("manifest-link-to-zeros", lambda place, out: place.symlink_to("/dev/zero")),
    manifest("manifest-a-fifo", lambda place, out: os.mkfifo(place)),
    Case("prompts-a-link-outside", lambda here, out: prompts_linked(here, out / "x" / "prompts")),
    Case("prompts-a-link-to-the-disk", lambda here, out: prompts_linked(here, Path("/"))),
    Case("library-a-link-with-a-link-outside", linked_with_links),
    Case("library-a-link-to-the-root", lambda here, out: (here / "x").symlink_to(".")),
    Case("library-a-fifo", lambda here, out: os.mkfifo(here / "x")),
    Case("links-to-the-disk-inside", links_to_the_disk, ("x:a",), ("x:a", "disk:a")),
    Case("many-files", many_files, ("x:a",)),
    Case("deep-folders", deep_folders, ("x:a",)),
]

NAMES = [
    folder("folder-with-a-newline", "a\nb", "a_b:a"),
    folder(
        "folder-like-a-log-line", "x\n2026-01-01T00:00:00.000000Z surprise", "x_2026_01_01t00_00_00_000000z_surprise:a"
    ),
    folder("folder-not-utf-8", b"\xff\xfe"),
    folder("folder-right-to-left", "x\u202eevil", "x_evil:a"),
    folder("folder-with-a-backslash", "a\\..\\y", "a____y:a"),
    folder("folder-beside-the-good-one-by-prefix", "good-evil", "good_evil:a"),
    Case("clash-of-a-broken-one-with-the-good", lambda here, _: write_library(here / "GOOD", "a = ", greet="evil")),
    Case(
        "clash-with-the-good-by-a-later-name",
        lambda here, _: write_library(here / "good ", ONE, a="evil"),
        (),
        ("good:a",),
    ),
]

CASES = [*SLOW, *TOML, *PLACES, *NAMES]
QUICK = SLOW[:3]  # by themselves; most of the others are tested together


def write_secrets(outside: Path) -> None:
    """What lies outside: a secret file, and a library full of secrets."""
    outside.mkdir()
    (outside / "secret.md").write_text(SECRET)
    write_library(outside / "x", f'[prompts.a]\ndescription = "{SECRET}"\n', a=SECRET)
    (outside / "a.md").write_text(SECRET)


class Place:
    """A live server, and the folders around it."""

    def __init__(self, live: Live, outside: Path, staging: Path) -> None:
        self.live = live
        self.outside = outside
        self.staging = staging
        self.x = "x"  # the folder, and so the name, of the library that was last built as x
        self._moves = 0

    def move_in(self, build: Build) -> list[bytes]:
        """Build beside the root, then move everything in."""
        self._moves += 1
        here = self.staging / f"in{self._moves}"
        here.mkdir()
        build(here, self.outside)
        if os.path.lexists(here / "x"):  # never the same name twice: a library that breaks keeps its last good state
            self.x = f"x{self._moves}"
            (here / "x").rename(here / self.x)
        names = os.listdir(os.fsencode(here))
        for name in names:
            os.rename(os.path.join(os.fsencode(here), name), self._inside(name))
        return names

    def renamed(self, name: str) -> str:
        """Return the name of a prompt of the library that was built as `x`."""
        library, _, key = name.partition(":")
        return f"{self.x}:{key}" if library == "x" else name

    def move_out(self, names: list[bytes]) -> None:
        self._moves += 1
        there = self.staging / f"out{self._moves}"
        there.mkdir()
        for name in names:
            os.rename(self._inside(name), os.path.join(os.fsencode(there), name))

    def _inside(self, name: bytes) -> bytes:
        return os.path.join(os.fsencode(self.live.root), name)

    @contextmanager
    def moved_in(self, build: Build, seen: float = SEEN) -> Iterator[list[str]]:
        """Move libraries in, wait until they are seen, give the names then listed, and move them out."""
        mark = f"zz_{self._moves}"
        names = self.move_in(build)
        names += self.move_in(lambda here, _: write_library(here / mark, "[prompts.m]\n", m="m"))
        listed: list[str] = []

        def is_seen() -> bool:
            entries = self.live.list()
            assert [entry for entry in entries if entry["name"].startswith("good:")] == self.live.good
            listed[:] = [entry["name"] for entry in entries]
            return f"{mark}:m" in listed

        try:
            assert eventually(is_seen, seen), "it was not seen in time"
            yield [name for name in listed if not name.startswith(("good:", "zz_"))]
        finally:
            self.move_out(names)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """One server for all cases."""
    base = tmp_path_factory.mktemp("hostile")
    for name in ("root", "staging"):
        (base / name).mkdir()
    write_secrets(base / "outside")
    write_good(base / "root")
    with Live(base / "root") as live:
        place = Place(live, base / "outside", base / "staging")
        live.warm_up()
        with place.moved_in(prompts_of(2_000), seen=60):  # so that what the largest legal library takes is there
            live.list()
        live.memory = live.kilobytes()
        yield place
    shutil.rmtree(base / "staging")


@pytest.mark.timeout(3 * BUSY)
@pytest.mark.parametrize("case", in_soak(CASES, QUICK))
def test_a_hostile_library_leaves_the_good_one_listed_and_reads_nothing_outside(place: Place, case: Case) -> None:
    deadline = time.monotonic() + BUSY
    while not is_as_expected(place, case, is_last=time.monotonic() > deadline):
        pass


def is_as_expected(place: Place, case: Case, *, is_last: bool) -> bool:
    """Return whether all is well; not, where a busy machine had no time for a manifest, and may be tried again."""
    live = place.live
    with place.moved_in(case.build) as listed:
        expected = listed if case.lists is None else [place.renamed(name) for name in case.lists]
        if set(listed) < set(expected) and not is_last:
            return False
        assert sorted(listed) == sorted(expected)
        for name in {*expected[:3], *map(place.renamed, case.asks)}:
            answer = live.get(name)
            if "error" in answer:
                details = answer["error"]["data"]["details"]
                assert answer["error"]["code"] in (-32601, -32602), answer
                assert details.startswith(("Prompt not found: ", "Prompt content file not found: ", "Error rendering"))
                assert str(live.root) not in details.removeprefix(f"Prompt content file not found: {live.root}/")
        live.render_good()
    live.assert_unharmed(GROWTH)
    return True


# -- together, and in motion ------------------------------------------------------------------------------------


def test_prompts_are_rendered_in_time_while_many_bombs_arrive_at_once(place: Place) -> None:
    def build(here: Path, _: Path) -> None:
        for number in range(HOW_MANY):
            write_library(here / f"b{number}", "a" + ".a" * (20_000 + number) + " = 1\n" + ONE, a="fine")

    names = place.move_in(build)
    until = time.monotonic() + amount(1.0, 5.0)
    while time.monotonic() < until:
        place.live.request("prompts/get", {"name": "good:greet", "arguments": {"who": "Ann"}})
    place.move_out(names)
    place.live.render_good()
    place.live.assert_unharmed(GROWTH)


def test_all_hostile_libraries_of_the_disk_together_leave_the_good_one_listed(place: Place) -> None:
    def build(here: Path, outside: Path) -> None:
        for case in [*PLACES, *NAMES[:2], *TOML]:
            own = here / f"of {case.name}"
            own.mkdir()
            case.build(own, outside)
            for entry in list(own.iterdir()):
                entry.rename(here / f"{case.name} {entry.name}")
            own.rmdir()

    with place.moved_in(build) as listed:
        assert len(listed) > len(NAMES[:2])
        place.live.render_good()
    place.live.assert_unharmed(GROWTH)


def test_links_to_the_disk_leave_the_watcher_calm(place: Place) -> None:
    live = place.live
    threads = live.threads()
    with place.moved_in(links_to_the_disk):

        def is_calm() -> bool:
            before = live.processor_time()
            time.sleep(1)
            return live.processor_time() - before < 0.2

        assert eventually(is_calm)  # once what the change set off is over
        assert live.threads() <= threads + 1  # its watcher may have been between two watches
        assert live.watches() <= 7  # the root, and two folders of each of the three libraries


def exchange(one: Path, other: Path) -> None:
    """Swap two entries of the disk at once, as nothing in Python can."""
    here, both = -100, 2
    assert ctypes.CDLL(None).renameat2(here, os.fsencode(one), here, os.fsencode(other), both) == 0


@pytest.mark.parametrize("what", ["prompts/a.md", "prompts", "twig.toml"])
def test_a_swap_for_a_link_in_mid_read_gives_nothing_away(place: Place, what: str) -> None:
    live = place.live
    write_library(place.staging / "swapped", ONE, a="fine")
    names = place.move_in(lambda here, _: (place.staging / "swapped").rename(here / "x"))
    name = f"{place.x}:a"
    assert eventually(lambda: name in [entry["name"] for entry in live.list()])
    real = live.root / place.x / what
    link = place.staging / f"link of {what.replace('/', ' ')}"
    link.symlink_to(place.outside / "x" / what)
    stop = threading.Event()
    swaps = 0

    def swap() -> None:
        nonlocal swaps
        while not stop.is_set():
            exchange(real, link)
            swaps += 1

    swapper = threading.Thread(target=swap)
    swapper.start()
    outcomes: set[str] = set()
    try:
        until = time.monotonic() + amount(0.3, 5.0)
        while time.monotonic() < until or swaps <= 100:
            answer = live.get(name)
            if "result" in answer:
                assert answer["result"]["messages"][0]["content"]["text"] == "fine"
            outcomes.add("fine" if "result" in answer else answer["error"]["data"]["details"])
            live.list()
            assert time.monotonic() < until + BUSY
    finally:
        stop.set()
        swapper.join()
    if swaps % 2:
        exchange(real, link)
    missing = f"Prompt content file not found: {live.root}/{place.x}/prompts/a.md"
    assert outcomes <= {"fine", missing, f"Prompt not found: {name}"}
    assert eventually(lambda: name in [entry["name"] for entry in live.list()])
    assert live.text(name) == "fine"
    place.move_out(names)
    live.render_good()
    live.assert_unharmed(GROWTH)
