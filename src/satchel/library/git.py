"""Fetches one commit of a git repository and reads its files, without a checkout: nothing of the repository is run.

Files are read from the object database, so that attributes, filters, hooks and submodules of the repository have no
effect. The settings of the user and of the machine are not read.
"""

import os
import re
import signal
import subprocess  # nosec B404
import time
from collections.abc import Iterator, Sequence
from shutil import which

from satchel.files import printable
from satchel.library.unpacking import SourceRefused, Unpacking

TIMEOUT = 120.0  # seconds for a fetch
_MOST_FETCHED = 256 * 1024 * 1024  # bytes on the disk
_POLL = 0.05  # seconds
_KEPT = ("PATH", "HOME", "SSH_AUTH_SOCK", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "TMPDIR")
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
_REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+#@/-]{0,200}")
_SCP = re.compile(r"[A-Za-z0-9_][\w.-]*@[A-Za-z0-9][\w.-]*:(?!-)[^\s:]\S*")
_HELPER = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*::")
_PLAIN, _PROGRAM = "100644", "100755"


def find_protocol(source: str) -> str | None:
    """The protocol of a git address; None where it is a path.

    Raises:
        SourceRefused: it is an address of a kind that is not allowed.
    """
    if source.startswith("-") or _HELPER.match(source) or not source.isprintable():
        raise SourceRefused(f"{source!r} is no address of a library.", 2)
    if _SCP.fullmatch(source):
        return "ssh"
    scheme, is_url, rest = source.partition("://")
    if not is_url:
        return None
    user, has_user, _ = rest.partition("/")[0].rpartition("@")
    if has_user and ":" in user:
        raise SourceRefused("an address must not hold a password: use ssh, or a .netrc file.", 2)
    if scheme not in ("https", "ssh", "file") or rest.startswith("-") or (scheme == "file" and rest[:1] != "/"):
        raise SourceRefused(f"{source!r} is no address of a library: give https://, ssh:// or a path.", 2)
    return scheme


def is_repository(path: str) -> bool:
    """Whether a folder is a git repository, with or without a working tree."""
    names = ("objects", "refs", "HEAD")
    return os.path.lexists(os.path.join(path, ".git")) or all(os.path.exists(os.path.join(path, one)) for one in names)


def check_ref(ref: str) -> None:
    """Refuse what is no name of a branch, tag or commit.

    Raises:
        SourceRefused: it is none.
    """
    if not _REF.fullmatch(ref) or ".." in ref or "@{" in ref or ref.endswith((".lock", "/", ".")):
        raise SourceRefused(f"{ref!r} is no name of a branch, a tag or a commit.", 2)


class Repository:
    """A repository of our own, in an empty folder, that commits of others are fetched into."""

    def __init__(self, folder: str, protocol: str) -> None:
        program = which("git")
        if program is None:
            raise SourceRefused("git is not installed. Install it, or give a folder or an archive.")
        self._program = program
        self._folder = folder
        self._environment = _make_environment(protocol)
        self._run(["init", "--quiet", "--bare", "--template=", "."])

    def fetch(self, source: str, ref: str | None) -> str:
        """Fetch a branch, tag or commit, and nothing before it; returns the commit.

        Raises:
            SourceRefused: it cannot be had, takes too long, or is too large.
        """
        flags = ["--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance"]
        self._run(["fetch", *flags, "--", source, ref or "HEAD"])
        return self._run(["rev-parse", "--verify", "--end-of-options", "FETCH_HEAD^{commit}"]).decode().strip()

    def unpack(self, commit: str, into: Unpacking) -> None:
        """Take all files of a commit.

        Raises:
            SourceRefused: it has links or submodules, or is too large.
        """
        rows = self._run(["ls-tree", "-r", "-z", "--long", "--full-tree", commit]).split(b"\0")
        with self._start(["cat-file", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            try:
                for row in filter(None, rows):
                    self._take(process, row, into)
            finally:
                process.kill()

    def _take(self, process: "subprocess.Popen[bytes]", row: bytes, into: Unpacking) -> None:
        about, _, name = row.partition(b"\t")
        mode, _, digest, size = about.decode().split()
        try:
            path = name.decode()
        except UnicodeDecodeError:
            raise SourceRefused(f"the name {name!r} is not UTF-8") from None
        if mode not in (_PLAIN, _PROGRAM):
            kind = "a submodule" if mode == "160000" else "a link"
            raise SourceRefused(f"{printable(path)} is {kind}, and only files are taken")
        if not into.wants(path):
            return
        if int(size) > into.largest:
            raise SourceRefused(f"{path} is too large, or all files together are")
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(f"{digest}\n".encode())
        process.stdin.flush()
        if process.stdout.readline().split()[1:] != [b"blob", size.encode()]:
            raise SourceRefused(f"{path} cannot be read from the repository")
        into.add(path, process.stdout.read(int(size)))
        process.stdout.read(1)  # a newline ends each content

    def _run(self, words: Sequence[str]) -> bytes:
        """Run git to its end, within the bounds of time and space; what it prints."""
        said, printed = os.path.join(self._folder, "said"), os.path.join(self._folder, "printed")
        with open(said, "w+b") as errors, open(printed, "w+b") as output:
            process = self._start(words, stdin=subprocess.DEVNULL, stdout=output, stderr=errors)
            try:
                self._wait(process)
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                raise
            output.seek(0)
            errors.seek(0)
            if process.returncode:
                raise SourceRefused(f"git {words[0]} failed: {_pick_reason(errors.read(10_000))}")
            return output.read()

    def _wait(self, process: "subprocess.Popen[bytes]") -> None:
        deadline = time.monotonic() + TIMEOUT
        while process.poll() is None:
            if time.monotonic() > deadline:
                raise SourceRefused(f"git took longer than {TIMEOUT:.0f} s")
            if sum(_list_sizes(self._folder)) > _MOST_FETCHED:
                raise SourceRefused(f"the repository has more than {_MOST_FETCHED} bytes")
            time.sleep(_POLL)

    def _start(self, words: Sequence[str], **streams: object) -> "subprocess.Popen[bytes]":
        settings = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0"]
        command = [self._program, *settings, *words]
        streams = {"stderr": subprocess.DEVNULL, **streams}
        return subprocess.Popen(  # type: ignore[call-overload,no-any-return]  # noqa: S603  # nosec B603
            command, cwd=self._folder, env=self._environment, start_new_session=True, **streams
        )


def _make_environment(protocol: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    kept |= {name: value for name, value in os.environ.items() if name.lower() in _PROXIES}
    return kept | {
        "LANG": "C.UTF-8",
        "GIT_ALLOW_PROTOCOL": protocol,
        "GIT_ASKPASS": "",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_PROTOCOL_FROM_USER": "0",
        "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
        "GIT_TERMINAL_PROMPT": "0",
        "SSH_ASKPASS_REQUIRE": "never",
    }


def _list_sizes(folder: str) -> Iterator[int]:
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                yield os.lstat(os.path.join(path, name)).st_size
            except OSError:
                continue  # git has moved it


def _pick_reason(said: bytes) -> str:
    lines = [line.strip() for line in said.decode(errors="replace").splitlines() if line.strip()]
    reason = next(
        (line for line in lines if line.startswith(("fatal:", "error:"))), lines[-1] if lines else "no reason"
    )
    return printable(reason.removeprefix("fatal: ").removeprefix("error: "))[:300]
