"""Reads zip and tar archives of others as a stream of plain files, with bounds on what they unpack to."""

import bz2
import gzip
import hashlib
import lzma
import stat
import tarfile
import zipfile
from collections.abc import Iterator
from typing import IO, Protocol

from satchel.library.unpacking import MOST_BYTES, MOST_FILES, SourceRefused, Unpacking

ENDINGS = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
_MOST_ARCHIVE = 64 * 1024 * 1024  # bytes
_MOST_STREAM = MOST_BYTES + MOST_FILES * 2048  # bytes of a tar, headers included
_MOST_DIRECTORY = 4 * 1024 * 1024  # bytes of the list of files in a zip
_MOST_MEMORY = 64 * 1024 * 1024  # bytes that xz may need
_CHUNK = 64 * 1024
_END_OF_ZIP = b"PK\x05\x06"
_ENCRYPTED = 0x1


def unpack(path: str, into: Unpacking) -> str:
    """Take all files of an archive; returns its digest.

    Raises:
        SourceRefused: it is none, damaged, too large, or has something that is no plain file inside of it.
    """
    try:
        with open(path, "rb") as file:
            digest = _digest(file)
            start = file.read(6)
            file.seek(0)
            if start.startswith(b"PK"):
                _unpack_zip(file, into)
            else:
                _unpack_tar(file, start, into)
            return digest
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, lzma.LZMAError, NotImplementedError, ValueError) as error:
        raise SourceRefused(f"{path} is no archive, or is damaged: {error}") from None
    except OSError as error:  # also what gzip and bz2 say about damage
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


# -- zip --------------------------------------------------------------------------------------------------------


def _unpack_zip(file: IO[bytes], into: Unpacking) -> None:
    _check_directory(file)
    with zipfile.ZipFile(file) as archive:
        for one in archive.infolist():
            kind = stat.S_IFMT(one.external_attr >> 16)
            if one.is_dir():
                continue
            if kind not in (0, stat.S_IFREG):
                raise SourceRefused(f"{one.filename} in the archive is a link or a device, and only files are taken")
            if not into.wants(one.filename):
                continue
            if one.flag_bits & _ENCRYPTED:
                raise SourceRefused(f"{one.filename} in the archive is encrypted")
            if one.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise SourceRefused(f"{one.filename} in the archive is compressed in a way that is not read")
            with archive.open(one) as member:
                into.add(one.filename, member.read(into.largest + 1))


def _check_directory(file: IO[bytes]) -> None:
    """Refuse a list of files that would need much memory before it is read."""
    size = file.seek(0, 2)
    file.seek(max(0, size - 65_557))  # the end has 22 bytes, and a comment of up to 65,535
    tail = file.read()
    place = tail.rfind(_END_OF_ZIP)
    if place < 0 or len(tail) < place + 22:
        raise zipfile.BadZipFile("its end is missing")
    count = int.from_bytes(tail[place + 10 : place + 12], "little")
    length = int.from_bytes(tail[place + 12 : place + 16], "little")
    if count > 2 * MOST_FILES or length > _MOST_DIRECTORY:  # all ones stand for a larger number elsewhere
        raise SourceRefused(f"it has more than {MOST_FILES} files")


# -- tar --------------------------------------------------------------------------------------------------------


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def _unpack_tar(file: IO[bytes], start: bytes, into: Unpacking) -> None:
    stream = _Bounded(_decompress(file, start))
    with tarfile.open(fileobj=stream, mode="r|") as archive:  # type: ignore[call-overload]  # it only reads
        for one in _list_members(archive):
            if one.isdir():
                continue
            if not one.isreg() or one.issparse():
                raise SourceRefused(f"{one.name} in the archive is a link or a device, and only files are taken")
            path = one.name.removeprefix("./")
            if not into.wants(path):
                continue
            member = archive.extractfile(one)
            assert member is not None, "a regular file has a content"
            into.add(path, member.read(into.largest + 1))


def _list_members(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    for count, one in enumerate(archive):
        if count > 2 * MOST_FILES:
            raise SourceRefused(f"it has more than {MOST_FILES} files")
        archive.members.clear()  # type: ignore[attr-defined]  # it would keep them all
        yield one


def _decompress(file: IO[bytes], start: bytes) -> _Readable:
    if start.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=file)
    if start.startswith(b"BZh"):
        return bz2.BZ2File(file)
    return _Xz(file) if start.startswith(b"\xfd7zXZ") else file


class _Xz:
    """Reads xz with a bound on memory, which `lzma.open` does not have."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._decompressor = lzma.LZMADecompressor(memlimit=_MOST_MEMORY)

    def read(self, size: int, /) -> bytes:
        while not self._decompressor.eof:
            more = self._file.read(_CHUNK) if self._decompressor.needs_input else b""
            if not more and self._decompressor.needs_input:
                raise EOFError("it ends too early")
            if content := self._decompressor.decompress(more, size):
                return content
        return b""


class _Bounded:
    """A stream that ends with an error where an archive unpacks to too much, headers included."""

    def __init__(self, stream: _Readable) -> None:
        self._stream = stream
        self._left = _MOST_STREAM

    def read(self, size: int, /) -> bytes:
        content = self._stream.read(min(size, _CHUNK))
        self._left -= len(content)
        if self._left < 0:
            raise SourceRefused(f"it unpacks to more than {MOST_BYTES} bytes")
        return content
