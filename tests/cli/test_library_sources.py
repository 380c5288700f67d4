"""Libraries from elsewhere: added from git, folders and archives, updated and removed; nothing of theirs is run."""

import io
import json
import os
import stat
import struct
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from satchel.library import installing, sources
from satchel.library.installing import Wish
from satchel.library.sources import SourceRefused
from tests.cli.test_library import satchel
from tests.contracts.test_twig import write

MANIFEST = "[prompts.p]\narguments = [{ name = 'who' }]\n"


def make_library(path: Path, text: str = "Dear {{ who }}") -> Path:
    return write(path.parent, path.name, MANIFEST, p=text)


def run_git(repository: Path, *words: str) -> str:
    identity = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "init.defaultBranch=main"]
    command = ["git", *identity, "-c", "commit.gpgsign=false", *words]
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    return subprocess.run(command, cwd=repository, env=environment, check=True, capture_output=True, text=True).stdout


def commit(repository: Path) -> str:
    if not (repository / ".git").exists():
        run_git(repository, "init", "--quiet")
    run_git(repository, "add", "-A")
    run_git(repository, "commit", "--quiet", "-m", "change")
    return run_git(repository, "rev-parse", "HEAD").strip()


def hidden(home: Path) -> list[str]:
    """What a command may have left behind."""
    return sorted(path.name for path in (home / "libraries").iterdir() if path.name.startswith(".adding"))


# -- add, update, remove ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["{}", "file://{}"])
def test_a_library_is_added_from_git_with_its_commit(tmp_path: Path, form: str) -> None:
    repository = make_library(tmp_path / "team prompts")
    first = commit(repository)
    source = form.format(repository)
    added = satchel(tmp_path, "add", source)
    assert (added.returncode, added.stderr) == (0, "")
    assert added.stdout == f"Added team_prompts (1 prompt) from {source} at {first[:12]}.\n"
    listed = satchel(tmp_path, "list").stdout
    assert listed == f"team_prompts\tteam prompts\t1\t0\t{first[:12]}\t{source}\n"
    origin = json.loads(satchel(tmp_path, "list", "--json").stdout)["libraries"][0]["origin"]
    assert (origin["kind"], origin["source"], origin["version"]) == ("git", source, first)
    assert satchel(tmp_path, "render", "team_prompts:p", "who=Ann").stdout == "Dear Ann\n"
    again = satchel(tmp_path, "update", "team_prompts")
    assert (again.returncode, again.stdout) == (0, f"team_prompts is up to date at {first[:12]}.\n")

    make_library(repository, "Hello {{ who }}")
    second = commit(repository)
    updated = json.loads(satchel(tmp_path, "update", "--json").stdout)["libraries"]
    assert [(one["name"], one["was"], one["origin"]["version"]) for one in updated] == [("team_prompts", first, second)]
    assert satchel(tmp_path, "render", "team_prompts:p", "who=Ann").stdout == "Hello Ann\n"

    removed = satchel(tmp_path, "remove", "team_prompts")
    assert (removed.returncode, removed.stdout) == (
        0,
        f"Removed team_prompts. Add it again: satchel library add {source}\n",
    )
    assert satchel(tmp_path, "list").stdout == "" and hidden(tmp_path) == []
    assert satchel(tmp_path, "remove", "team_prompts").returncode == 3


def test_a_ref_is_a_branch_a_tag_or_a_commit(tmp_path: Path) -> None:
    repository = make_library(tmp_path / "lib", "one")
    first = commit(repository)
    run_git(repository, "tag", "-a", "v1", "-m", "one")
    run_git(repository, "checkout", "--quiet", "-b", "side/branch")
    make_library(repository, "two")
    second = commit(repository)
    run_git(repository, "checkout", "--quiet", "-")
    for ref, version in (("v1", first), ("side/branch", second), (second, second)):
        done = satchel(tmp_path, "add", str(repository), "--ref", ref, "--name", "x", "--json")
        assert json.loads(done.stdout)["origin"]["version"] == version, done.stderr
        assert satchel(tmp_path, "remove", "x").returncode == 0
    for ref in ("nope", "--upload-pack=touch x", "a:b", "a..b", ""):
        done = satchel(tmp_path, "add", str(repository), f"--ref={ref}")
        assert done.returncode in (1, 2) and done.stdout == "" and "Traceback" not in done.stderr, done
    assert hidden(tmp_path) == []


def test_nothing_of_a_repository_is_run(tmp_path: Path) -> None:
    repository, proof = make_library(tmp_path / "lib"), tmp_path / "proof"
    script = f"#!/bin/sh\ntouch {proof}\ncat\n"
    (repository / "run.sh").write_text(script)
    (repository / "run.sh").chmod(0o755)
    attributes = "* filter=evil diff=evil merge=evil\n*.md export-subst eol=crlf\n*.toml export-ignore\n"
    (repository / ".gitattributes").write_text(attributes)
    (repository / "prompts" / "p.md").write_text("$Format:%H$ {{ who }}\n")
    commit(repository)
    for hook in ("post-checkout", "post-merge", "pre-auto-gc", "post-index-change", "reference-transaction", "update"):
        (repository / ".git" / "hooks" / hook).write_text(script)
        (repository / ".git" / "hooks" / hook).chmod(0o755)
    # The settings of the user may name programs for the attributes of any repository.
    home = tmp_path / "home"
    home.mkdir()
    settings = f'[filter "evil"]\n\tsmudge = touch {proof}\n\tprocess = touch {proof}\n\trequired = true\n'
    settings += f"[core]\n\thooksPath = {repository / '.git' / 'hooks'}\n\tfsmonitor = touch {proof}\n"
    (home / ".gitconfig").write_text(settings)
    environment = {**os.environ, "SATCHEL_HOME": str(tmp_path / "data"), "HOME": str(home)}
    command = [sys.executable, "-m", "satchel", "library", "add", str(repository)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    added = tmp_path / "data" / "libraries" / "lib"
    assert not proof.exists() and not (added / ".gitattributes").exists()
    assert stat.S_IMODE((added / "run.sh").stat().st_mode) == 0o644
    assert (added / "prompts" / "p.md").read_bytes() == b"$Format:%H$ {{ who }}\n"


def test_an_address_that_is_not_allowed_is_refused(tmp_path: Path) -> None:
    for source in (
        "ext::sh -c 'touch proof'",
        "--upload-pack=touch proof",
        "http://example.org/x.git",
        "git://example.org/x.git",
        "ftp://example.org/x",
        "file://host/x",
        "https://ann:secret@example.org/x.git",
        "ssh://-oProxyCommand=touch",
        "nowhere",
    ):
        done = satchel(tmp_path, "add", "--", source)
        assert done.returncode in (2, 3) and done.stdout == "" and "Traceback" not in done.stderr, done.stderr
        assert not (tmp_path / "libraries").exists() or hidden(tmp_path) == []


def test_a_folder_and_an_archive_have_a_digest(tmp_path: Path) -> None:
    library = make_library(tmp_path / "source" / "lib")
    (library / ".hidden").write_text("x")
    done = json.loads(satchel(tmp_path, "add", str(library), "--json").stdout)
    assert done["origin"]["kind"] == "folder" and done["origin"]["version"].startswith("sha256:")
    assert not (tmp_path / "libraries" / "lib" / ".hidden").exists()
    for name, mode in (("a.zip", ""), ("b.tar", "w"), ("c.tar.gz", "w:gz"), ("d.tgz", "w:gz")):
        archive = tmp_path / name
        if mode:
            with tarfile.open(archive, mode) as opened:  # type: ignore[call-overload]
                opened.add(library, "prompts-main")
        else:
            with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
                for file in ("twig.toml", "prompts/p.md"):
                    zipped.write(library / file, f"prompts-main/{file}")
        done = json.loads(satchel(tmp_path, "add", str(archive), "--json").stdout)
        assert (done["name"], done["prompts"], done["origin"]["path"]) == (name.partition(".")[0], 1, "prompts-main")
        assert done["origin"]["version"] == f"sha256:{sha256(archive.read_bytes()).hexdigest()}"


def test_one_of_several_libraries_is_chosen_by_path(tmp_path: Path) -> None:
    make_library(tmp_path / "pack" / "one")
    make_library(tmp_path / "pack" / "two")
    done = satchel(tmp_path, "add", str(tmp_path / "pack"))
    assert done.returncode == 2 and "--path: one, two" in done.stderr
    assert satchel(tmp_path, "add", str(tmp_path / "pack"), "--path", "two", "--name", "mine").returncode == 0
    assert satchel(tmp_path, "add", str(tmp_path / "pack"), "--path", "../pack/two").returncode == 3
    taken = satchel(tmp_path, "add", str(tmp_path / "pack"), "--path", "one", "--name", "Mine")
    assert (taken.returncode, "satchel library update mine" in taken.stderr) == (5, True)
    (tmp_path / "empty").mkdir()
    assert "there is no library in the source" in satchel(tmp_path, "add", str(tmp_path / "empty")).stderr


def test_an_update_that_does_not_validate_keeps_the_old_version(tmp_path: Path) -> None:
    source = make_library(tmp_path / "lib")
    assert satchel(tmp_path, "add", str(source)).returncode == 0
    make_library(source, "one\n{{ nope }}")
    done = satchel(tmp_path, "update", "lib")
    assert done.returncode == 1 and "prompts/p.md:2: nope is always empty" in done.stderr
    assert satchel(tmp_path, "render", "lib:p", "who=Ann").stdout == "Dear Ann\n"
    assert satchel(tmp_path, "add", str(source), "--name", "other").returncode == 1
    assert satchel(tmp_path, "update", "lib", "--anyway").returncode == 0
    assert satchel(tmp_path, "render", "lib:p").stdout == "one\n"


def test_files_that_were_changed_here_are_not_lost(tmp_path: Path) -> None:
    source = make_library(tmp_path / "lib")
    satchel(tmp_path, "add", str(source))
    mine = tmp_path / "libraries" / "lib" / "prompts" / "p.md"
    mine.write_text("mine")
    make_library(source, "theirs")
    for verb in ("update", "remove"):
        done = satchel(tmp_path, verb, "lib")
        assert (done.returncode, mine.read_text()) == (1, "mine") and "changed here" in done.stderr
    satchel(tmp_path, "new", "own")
    assert satchel(tmp_path, "remove", "own").returncode == 3
    assert satchel(tmp_path, "remove", "lib", "--anyway").returncode == 0 and not mine.exists()


# -- hostile sources --------------------------------------------------------------------------------------------------


def make_tar(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for info, content in members:
            info.size = len(content) if info.isreg() else 0
            archive.addfile(info, io.BytesIO(content))
    return path


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


GOOD = (member("twig.toml"), MANIFEST.encode()), (member("prompts/p.md"), b"x {{ who }}")
KIB = 1024


@pytest.fixture
def small_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousandth of the bytes and a hundredth of the files that a library may have."""
    monkeypatch.setattr(sources, "MOST_FILES", 50)
    monkeypatch.setattr(sources, "MOST_BYTES", 64 * KIB)
    monkeypatch.setattr(sources, "MOST_FILE_BYTES", 16 * KIB)


HOSTILE: dict[str, Callable[[Path], Path]] = {
    "outside": lambda at: make_tar(at, *GOOD, (member("../evil.md"), b"x")),
    "absolute": lambda at: make_tar(at, *GOOD, (member("/tmp/evil.md"), b"x")),
    "inner dots": lambda at: make_tar(at, *GOOD, (member("prompts/../../evil.md"), b"x")),
    "symbolic link": lambda at: make_tar(at, *GOOD, (member("prompts/l.md", tarfile.SYMTYPE, "/etc/passwd"), b"")),
    "linked folder": lambda at: make_tar(
        at, *GOOD, (member("out", tarfile.SYMTYPE, ".."), b""), (member("out/evil.md"), b"x")
    ),
    "hard link": lambda at: make_tar(at, *GOOD, (member("prompts/l.md", tarfile.LNKTYPE, "twig.toml"), b"")),
    "device": lambda at: make_tar(at, *GOOD, (member("prompts/d.md", tarfile.CHRTYPE), b"")),
    "fifo": lambda at: make_tar(at, *GOOD, (member("prompts/f.md", tarfile.FIFOTYPE), b"")),
    "twice": lambda at: make_tar(at, *GOOD, (member("prompts/P.md"), b"x")),
    "backslash": lambda at: make_tar(at, *GOOD, (member("..\\evil.md"), b"x")),
    "control": lambda at: make_tar(at, *GOOD, (member("prompts/\x1b[31m.md"), b"x")),
    "file and folder": lambda at: make_tar(at, *GOOD, (member("twig.toml/x"), b"x")),
    "not an archive": lambda at: (at.write_bytes(b"hello" * 1000), at)[1],
    "empty": lambda at: (at.write_bytes(b""), at)[1],
    "cut off": lambda at: (at.write_bytes(make_tar(at, *GOOD).read_bytes()[:-30]), at)[1],
    "large file": lambda at: make_tar(at, *GOOD, (member("a.bin"), bytes(17 * KIB))),
    "bomb": lambda at: make_tar(at, *GOOD, *((member(f"{n}.bin"), bytes(15 * KIB)) for n in range(6))),
}


def make_zip(path: Path, name: str, content: bytes = b"x", mode: int = 0, times: int = 1) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("twig.toml", MANIFEST)
        for number in range(times):
            info = zipfile.ZipInfo(name.format(number))
            info.external_attr, info.compress_type = mode << 16, zipfile.ZIP_DEFLATED
            archive.writestr(info, content)
    return path


def hide_count(archive: Path) -> Path:
    """Write the number of files where archives of more than 65,535 have it, and another one where others have it."""
    raw = archive.read_bytes()
    end = raw.rfind(b"PK\x05\x06")
    count, size, start = struct.unpack("<H2L", raw[end + 10 : end + 20])
    large = struct.pack(
        "<4sQ2H2L4Q4sLQL", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, size, start, b"PK\x06\x07", 0, end, 1
    )
    archive.write_bytes(raw[:end] + large + raw[end : end + 8] + struct.pack("<2H2LH", 1, 1, 50, start, 0))
    return archive


ZIPS: dict[str, Callable[[Path], Path]] = {
    "outside": lambda at: make_zip(at, "../evil.md"),
    "absolute": lambda at: make_zip(at, "/tmp/evil.md"),
    "link": lambda at: make_zip(at, "prompts/p.md", b"/etc/passwd", stat.S_IFLNK | 0o777),
    "bomb": lambda at: make_zip(at, "{}.bin", bytes(15 * KIB), times=6),
    "many": lambda at: make_zip(at, "{}.md", times=51),
    "many that are hidden": lambda at: hide_count(make_zip(at, ".{}.md", times=200)),
    "cut off": lambda at: (at.write_bytes(make_zip(at, "a.md").read_bytes()[:-30]), at)[1],
}


@pytest.mark.usefixtures("small_bounds")
def test_a_hostile_archive_leaves_nothing(tmp_path: Path) -> None:
    for name, kinds in (("lib.tar.gz", HOSTILE), ("lib.zip", ZIPS)):
        for kind, make in kinds.items():
            place = tmp_path / f"{name} {kind}"
            root = place / "data" / "libraries"
            place.mkdir()
            archive = make(place / name)
            with pytest.raises(SourceRefused) as refused:
                installing.add(str(root), Wish(source=str(archive)))
            assert type(refused.value) is SourceRefused, (name, kind)  # not for its content
            assert os.listdir(root) == [".lock"] and os.listdir(place / "data") == ["libraries"], (name, kind)
            assert sorted(os.listdir(place)) == ["data", name], (name, kind)
    assert not Path("/tmp/evil.md").exists()


def test_a_zip_that_lies_about_its_sizes_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MOST_FILE_BYTES", 1000)
    archive = make_zip(tmp_path / "lib.zip", "a.bin", bytes(100_000))
    raw = archive.read_bytes().replace((100_000).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    archive.write_bytes(raw)
    with pytest.raises(SourceRefused):
        sources.unpack_archive(str(archive), sources.Unpacking(str(tmp_path)))


@pytest.mark.parametrize("kind", ["link", "outside"])
def test_a_commit_with_more_than_files_is_refused(tmp_path: Path, kind: str) -> None:
    repository = make_library(tmp_path / "lib")
    if kind == "link":
        (repository / "prompts" / "l.md").symlink_to("/etc/passwd")
    commit(repository)
    if kind == "outside":
        blob = run_git(repository, "hash-object", "-w", "twig.toml").strip()
        row = b"100644 ..\0" + bytes.fromhex(blob)
        made = subprocess.run(["git", "hash-object", "-w", "-t", "tree", "--stdin", "--literally"], input=row,
                              cwd=repository, capture_output=True, check=True)  # fmt: skip
        forged = run_git(repository, "commit-tree", made.stdout.decode().strip(), "-m", "x").strip()
        run_git(repository, "update-ref", "HEAD", forged)
    with pytest.raises(SourceRefused):
        installing.add(str(tmp_path / "libraries"), Wish(source=str(repository)))
    assert os.listdir(tmp_path / "libraries") == [".lock"]


def test_git_that_hangs_or_fetches_too_much_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = make_library(tmp_path / "lib")
    commit(repository)
    monkeypatch.setattr(sources, "_MOST_FETCHED", 10)
    with pytest.raises(SourceRefused, match="more than 10 bytes"):
        installing.add(str(tmp_path / "libraries"), Wish(source=str(repository)))
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "git").write_text("#!/bin/sh\nsleep 1000\n")
    (programs / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setattr(sources, "TIMEOUT", 0.2)
    monkeypatch.setattr(sources, "_MOST_FETCHED", 10**9)
    with pytest.raises(SourceRefused, match="took longer"):
        installing.add(str(tmp_path / "libraries"), Wish(source=str(repository)))
    assert os.listdir(tmp_path / "libraries") == [".lock"]


@pytest.mark.parametrize("step", ["check_library", "_swap"])
def test_an_interrupted_update_leaves_the_old_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    source, root = make_library(tmp_path / "lib"), str(tmp_path / "libraries")
    before = installing.add(root, Wish(source=str(source)))
    make_library(source, "new {{ who }}")

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as during:
        during.setattr(installing, step, interrupt)
        with pytest.raises(KeyboardInterrupt):
            installing.update(root, "lib")
    assert sorted(os.listdir(root)) == [".lock", "lib"]
    assert installing.list_added(root) == {"lib": before.origin}
    # What a killed command left behind is cleared up by the next one; between two renames, the old version comes back.
    os.mkdir(os.path.join(root, ".adding-dead"))
    os.rename(os.path.join(root, "lib"), os.path.join(root, ".old-lib"))
    after = installing.update(root, "lib")
    assert after is not None and after.was == before.origin.version
    assert sorted(os.listdir(root)) == [".lock", "lib"]


def test_two_commands_do_not_change_libraries_at_once(tmp_path: Path) -> None:
    root = str(tmp_path / "libraries")
    with installing._working(root), pytest.raises(SourceRefused, match="another command"):
        installing.add(root, Wish(source=str(make_library(tmp_path / "lib"))))
