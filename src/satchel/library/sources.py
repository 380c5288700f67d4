"""Reads the files of a library from a git repository, a zip or tar archive, or a folder.

All files pass through `Unpacking`, which accepts only regular files with plain paths, within limits. Nothing is run.
"""

import gzip
import hashlib
import os
import re
import signal
import stat
import subprocess  # nosec B404
import tarfile
import time
import unicodedata
import zipfile
from collections.abc import Iterator, Sequence
from shutil import which
from typing import IO, Protocol

from satchel import files

ENDINGS = (".zip", ".tar", ".tar.gz", ".tgz")
MOST_FILES = 5_000
MOST_BYTES = 64 * 1024 * 1024  # bytes of all files
MOST_FILE_BYTES = 16 * 1024 * 1024
_MOST_DEPTH = 16  # levels of folders
_LONGEST_PATH = 500  # characters


class SourceRefused(Exception):
    """A source cannot be used, or is not trusted; the message explains why. `status` is a command's exit status."""

    def __init__(self, what: str, status: int = 1) -> None:
        super().__init__(what)
        self.status = status


class Unpacking:
    """Writes files into a new folder. Hidden files are skipped; anything but a plain file is refused."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._count = 0
        self._left = MOST_BYTES
        self._seen: set[str] = set()

    def wants(self, path: str) -> bool:
        """Return whether to read a file.

        Raises:
            SourceRefused: the path leads out of the folder or is too long, or there are too many files.
        """
        parts = path.split("/")
        is_plain = bool(path) and all(part not in ("", ".", "..") for part in parts) and "\\" not in path
        if not is_plain or not path.isprintable() or (len(parts[0]) == 2 and parts[0][1] == ":"):
            raise SourceRefused(f"{files.printable(path)!r} is not a path inside a library")
        if len(parts) > _MOST_DEPTH or len(path) > _LONGEST_PATH or any(len(one.encode()) > 255 for one in parts):
            raise SourceRefused(f"the path {path[:80]!r}… is too long, or too deep")
        if any(part.startswith(".") for part in parts):
            return False
        self._count += 1
        if self._count > MOST_FILES:
            raise SourceRefused(f"it has more than {MOST_FILES} files")
        return True

    @property
    def largest(self) -> int:
        """The maximum size of the next file, in bytes."""
        return min(MOST_FILE_BYTES, self._left)

    def add(self, path: str, content: bytes) -> None:
        """Write a file that `wants` accepted.

        Raises:
            SourceRefused: the file is too large, or already exists.
        """
        if len(content) > self.largest:
            what, most = ("a file", MOST_FILE_BYTES) if len(content) > MOST_FILE_BYTES else ("a library", MOST_BYTES)
            raise SourceRefused(f"{path} is too large: {what} can have at most {most} bytes")
        folded = unicodedata.normalize("NFC", path).casefold()
        if folded in self._seen:
            raise SourceRefused(f"it has {path} twice, perhaps in another case")
        self._seen.add(folded)
        self._left -= len(content)
        whole = os.path.join(self._folder, path)
        try:
            os.makedirs(os.path.dirname(whole), mode=0o755, exist_ok=True)
            with open(whole, "xb") as file:
                file.write(content)
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            raise SourceRefused(f"{path} is both a file and a folder in it") from None
        os.chmod(whole, 0o644)  # without execute permission


# -- folders ----------------------------------------------------------------------------------------------------


def digest_folder(path: str) -> str:
    """Return a digest of the files in a folder that are not hidden, and of their paths."""
    whole = hashlib.sha256()
    for name, content in _read_folder(path):
        whole.update(f"{name}\0{len(content)}\0".encode("utf-8", "surrogateescape") + content)
    return f"sha256:{whole.hexdigest()}"


def copy_folder(path: str, into: Unpacking) -> None:
    """Copy all files of a folder.

    Raises:
        SourceRefused: the folder contains links or other special files, or is too large.
    """
    for name, content in _read_folder(path, into):
        into.add(name, content)


def _read_folder(path: str, bounds: Unpacking | None = None) -> list[tuple[str, bytes]]:
    """Read the files of a folder that are not hidden, in path order.

    Raises:
        SourceRefused: the folder contains anything but plain files, or is too large.
    """
    found: list[tuple[str, bytes]] = []
    waiting: list[tuple[str, ...]] = [()]
    left = MOST_BYTES
    while waiting:
        folder = waiting.pop()
        try:
            with files.open_folder(path, *folder) as opened:
                for name in sorted(one for one in os.listdir(opened) if not one.startswith(".")):
                    whole = "/".join((*folder, name))
                    if stat.S_ISDIR(os.stat(name, dir_fd=opened, follow_symlinks=False).st_mode):
                        waiting.append((*folder, name))
                        continue
                    if files.sign(opened, name) is None:
                        raise SourceRefused(f"{whole} {files.find_obstacle(opened, name) or 'is gone'}")
                    if bounds is None or bounds.wants(whole):
                        limit = min(left, MOST_FILE_BYTES)
                        content = files.read_file(name, limit, folder=opened, is_single=True)
                        left -= len(content)
                        found.append((whole, content))
                    if len(found) + len(waiting) > 2 * MOST_FILES:
                        raise SourceRefused(f"it has more than {MOST_FILES} files or folders")
        except files.TooLarge as large:
            raise SourceRefused(
                f"{large} is too large: a file can have at most {MOST_FILE_BYTES} bytes, a library {MOST_BYTES}"
            ) from None
        except OSError as error:
            raise SourceRefused(f"{path} cannot be read: {error.strerror}") from None
    return sorted(found)


# -- archives ---------------------------------------------------------------------------------------------------

_MOST_ARCHIVE = 64 * 1024 * 1024  # bytes
_MOST_STREAM = MOST_BYTES + MOST_FILES * 2048  # bytes of a tar stream, including headers
_MOST_DIRECTORY = 4 * 1024 * 1024  # bytes of a zip's list of files
_CHUNK = 64 * 1024
_END_OF_ZIP = b"PK\x05\x06"
_END_OF_LARGE_ZIP = b"PK\x06\x07"  # in front of the other; the numbers that count are elsewhere then
_ENCRYPTED = 0x1


def unpack_archive(path: str, into: Unpacking) -> str:
    """Unpack all files of a zip, tar or tar.gz archive, and return its digest.

    Raises:
        SourceRefused: the file is not such an archive, is damaged or too large, or contains anything but files.
    """
    try:
        with open(path, "rb") as file:
            digest = _digest(file)
            start = file.read(2)
            file.seek(0)
            if start == b"PK":
                _unpack_zip(file, into)
            elif start == b"\x1f\x8b":
                _unpack_tar(gzip.GzipFile(fileobj=file), into)
            else:
                _unpack_tar(file, into)
            return digest
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, NotImplementedError, ValueError) as error:
        raise SourceRefused(f"{path} is not a zip, tar or tar.gz archive, or is damaged: {error}") from None
    except OSError as error:  # gzip also reports damage in this way
        raise SourceRefused(f"{path} cannot be read: {error.strerror or error}") from None


def _digest(file: IO[bytes]) -> str:
    whole, size = hashlib.sha256(), 0
    while chunk := file.read(_CHUNK):
        size += len(chunk)
        if size > _MOST_ARCHIVE:
            raise SourceRefused(f"the archive has more than {_MOST_ARCHIVE} bytes")
        whole.update(chunk)
    file.seek(0)
    return f"sha256:{whole.hexdigest()}"


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def _unpack_zip(file: IO[bytes], into: Unpacking) -> None:
    _check_directory(file)
    with zipfile.ZipFile(file) as archive:
        for one in archive.infolist():
            kind = stat.S_IFMT(one.external_attr >> 16)
            if one.is_dir():
                continue
            if kind not in (0, stat.S_IFREG):
                raise SourceRefused(f"{one.filename} in the archive is a link or a device, and only files are accepted")
            if not into.wants(one.filename):
                continue
            if one.flag_bits & _ENCRYPTED:
                raise SourceRefused(f"{one.filename} in the archive is encrypted")
            if one.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise SourceRefused(f"{one.filename} in the archive uses an unsupported compression method")
            with archive.open(one) as member:
                into.add(one.filename, member.read(into.largest + 1))


def _check_directory(file: IO[bytes]) -> None:
    """Refuse an archive whose directory would take much memory."""
    size = file.seek(0, 2)
    file.seek(max(0, size - 65_557))  # the end record has 22 bytes, and a comment of up to 65,535
    tail = file.read()
    place = tail.rfind(_END_OF_ZIP)
    if place < 0 or len(tail) < place + 22:
        raise zipfile.BadZipFile("its end is missing")
    count = int.from_bytes(tail[place + 10 : place + 12], "little")
    length = int.from_bytes(tail[place + 12 : place + 16], "little")
    is_large = tail[:place][-20:].startswith(_END_OF_LARGE_ZIP)
    if is_large or count > 2 * MOST_FILES or length > _MOST_DIRECTORY:
        raise SourceRefused(f"it has more than {MOST_FILES} files")


def _unpack_tar(file: _Readable, into: Unpacking) -> None:
    with tarfile.open(fileobj=_Bounded(file), mode="r|") as archive:  # type: ignore[call-overload]  # it only reads
        for count, one in enumerate(archive):
            if count > 2 * MOST_FILES:
                raise SourceRefused(f"it has more than {MOST_FILES} files")
            archive.members.clear()  # otherwise, it keeps all of them
            if one.isdir():
                continue
            if not one.isreg() or one.issparse():
                raise SourceRefused(f"{one.name} in the archive is a link or a device, and only files are accepted")
            path = one.name.removeprefix("./")
            if into.wants(path):
                member = archive.extractfile(one)
                assert member is not None, "a regular file has content"
                into.add(path, member.read(into.largest + 1))


class _Bounded:
    """A stream that fails if an archive unpacks to too many bytes, headers included."""

    def __init__(self, stream: _Readable) -> None:
        self._stream = stream
        self._left = _MOST_STREAM

    def read(self, size: int, /) -> bytes:
        content = self._stream.read(min(size, _CHUNK))
        self._left -= len(content)
        if self._left < 0:
            raise SourceRefused(f"it unpacks to more than {MOST_BYTES} bytes")
        return content


# -- git --------------------------------------------------------------------------------------------------------

TIMEOUT = 120.0  # seconds for a fetch
_MOST_FETCHED = 256 * 1024 * 1024  # bytes on the disk
_POLL = 0.05  # seconds
_KEPT = ("PATH", "HOME", "SSH_AUTH_SOCK", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "TMPDIR")
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
_REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+#@/-]{0,200}")
_SCP = re.compile(r"[A-Za-z0-9_][\w.-]*@[A-Za-z0-9][\w.-]*:(?!-)[^\s:]\S*")
_HELPER = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*::")
# Turn off attributes that change the content of an archive; those of the repository then have no effect.
_ATTRIBUTES = "* -text -eol -filter -ident -export-ignore -export-subst -working-tree-encoding\n"


def find_protocol(source: str) -> str | None:
    """Return the protocol of a git address; None if it is a path.

    Raises:
        SourceRefused: this kind of address is not allowed.
    """
    if source.startswith("-") or _HELPER.match(source) or not source.isprintable():
        raise SourceRefused(f"{source!r} is not the address of a library.", 2)
    if _SCP.fullmatch(source):
        return "ssh"
    scheme, is_url, rest = source.partition("://")
    if not is_url:
        return None
    user, has_user, _ = rest.partition("/")[0].rpartition("@")
    if has_user and ":" in user:
        raise SourceRefused("an address must not contain a password: use ssh, or a .netrc file.", 2)
    if scheme not in ("https", "ssh", "file") or rest.startswith("-") or (scheme == "file" and rest[:1] != "/"):
        raise SourceRefused(f"{source!r} is not the address of a library: give https://, ssh:// or a path.", 2)
    return scheme


def is_repository(path: str) -> bool:
    """Return whether a folder is a git repository, with or without a working tree."""
    names = ("objects", "refs", "HEAD")
    return os.path.lexists(os.path.join(path, ".git")) or all(os.path.exists(os.path.join(path, one)) for one in names)


def check_ref(ref: str) -> None:
    """Check that a text is a valid name of a branch, tag or commit.

    Raises:
        SourceRefused: the text is not a valid name.
    """
    if not _REF.fullmatch(ref) or ".." in ref or "@{" in ref or ref.endswith((".lock", "/", ".")):
        raise SourceRefused(f"{ref!r} is not the name of a branch, a tag or a commit.", 2)


def unpack_repository(source: str, protocol: str, ref: str | None, work: str, into: Unpacking) -> str:
    """Unpack all files of a branch, tag or commit, and return the commit.

    It is fetched without history into a bare repository in the empty folder `work`, and archived from
    there. Without a checkout, hooks, filters and submodules have no effect. The user's settings are not read.

    Raises:
        SourceRefused: the commit cannot be fetched in time, is too large, or contains links.
    """
    _run_git(work, protocol, ["init", "--quiet", "--bare", "--template=", "."])
    os.makedirs(os.path.join(work, "info"), exist_ok=True)
    with open(os.path.join(work, "info", "attributes"), "w") as file:
        file.write(_ATTRIBUTES)
    flags = ["--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance"]
    _run_git(work, protocol, ["fetch", *flags, "--", source, ref or "HEAD"])
    printed = _run_git(work, protocol, ["rev-parse", "--verify", "--end-of-options", "FETCH_HEAD^{commit}"])
    with open(printed) as output:
        commit = output.read().strip()
    archive = _run_git(work, protocol, ["archive", "--format=tar", commit])
    try:
        with open(archive, "rb") as tar:
            _unpack_tar(tar, into)
    except (tarfile.TarError, ValueError) as error:
        raise SourceRefused(f"the files of {commit} cannot be read: {error}") from None
    return commit


def _run_git(folder: str, protocol: str, words: Sequence[str]) -> str:
    """Run git to its end within limits of time and space; return the path of the file with its output."""
    program = which("git")
    if program is None:
        raise SourceRefused("git is not installed. Install it, or give a folder or an archive.")
    settings = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0"]
    said, printed = os.path.join(folder, "said"), os.path.join(folder, "printed")
    with open(said, "w+b") as errors, open(printed, "wb") as output:
        process = subprocess.Popen(  # noqa: S603  # nosec B603
            [program, *settings, *words],
            cwd=folder,
            env=_make_environment(protocol),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            start_new_session=True,
        )
        try:
            _wait(process, folder)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        errors.seek(0)
        if process.returncode:
            raise SourceRefused(f"git {words[0]} failed: {_pick_reason(errors.read(10_000))}")
    return printed


def _wait(process: "subprocess.Popen[bytes]", folder: str) -> None:
    deadline = time.monotonic() + TIMEOUT
    while process.poll() is None:
        if time.monotonic() > deadline:
            raise SourceRefused(f"git took longer than {TIMEOUT:.0f} s")
        if sum(_list_sizes(folder)) > _MOST_FETCHED:
            raise SourceRefused(f"the repository has more than {_MOST_FETCHED} bytes")
        time.sleep(_POLL)


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
                continue  # git has moved the file


def _pick_reason(said: bytes) -> str:
    lines = [line.strip() for line in said.decode(errors="replace").splitlines() if line.strip()]
    reason = next(
        (line for line in lines if line.startswith(("fatal:", "error:"))), lines[-1] if lines else "no reason"
    )
    return files.printable(reason.removeprefix("fatal: ").removeprefix("error: "))[:300]
