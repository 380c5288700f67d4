"""What a browser sends: the fields of an address and of a form, files in it, and cookies."""

import re
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote_plus

from satchel.transports.http.messages import Refusal, Request

if TYPE_CHECKING:
    from satchel.page.visit import Upload

Fields = dict[str, list[str]]

_PLAIN = "application/x-www-form-urlencoded"
_WITH_FILES = "multipart/form-data"
_MAX_FIELDS = 500
_MAX_FILE_BYTES = 8 * 1024 * 1024  # a document of 4 MiB, and the other fields
_MAX_PART_HEAD = 4096  # bytes of the header lines of one part
_BOUNDARY = re.compile(r'boundary=(?:"([^"\r\n]{1,70})"|([0-9A-Za-z\'()+_,./:=?-]{1,70}))')
_PARAMETER = re.compile(r'; *(name|filename)="([^"\r\n]*)"')


def read_query(query: str) -> dict[str, str]:
    """The fields of an address, the last of each name.

    Raises:
        Refusal: there are too many.
    """
    try:
        found = parse_qs(query, keep_blank_values=True, max_num_fields=_MAX_FIELDS, errors="replace")
    except ValueError:
        raise Refusal(400, "query", "The address has more fields than there is a use for.") from None
    return {name: values[-1] for name, values in found.items()}


async def read_form(request: Request, *, takes_files: bool = False) -> "tuple[Fields, dict[str, Upload]]":
    """The fields of a form, and its files.

    Raises:
        Refusal: it is no form, cannot be read, or is too large.
    """
    header = request.headers.last.get("content-type", "")
    kind = header.partition(";")[0].strip().lower()
    if kind == _WITH_FILES and takes_files:
        boundary = _BOUNDARY.search(header)
        if boundary is None:
            raise _unreadable()
        body = await request.read_body(_MAX_FILE_BYTES)
        return _read_parts(bytes(body), (boundary[1] or boundary[2]).encode())
    if kind != _PLAIN:
        raise Refusal(415, "body", f"A form is sent as {_PLAIN}.")
    body = await request.read_body()
    try:
        return parse_qs(body.decode(), keep_blank_values=True, max_num_fields=_MAX_FIELDS, errors="strict"), {}
    except (UnicodeDecodeError, ValueError):
        raise _unreadable() from None


def read_cookie(request: Request, name: str) -> str:
    """The value of a cookie; empty where there is none."""
    for line in request.headers.all("cookie"):
        for pair in line.split(";"):
            key, _, value = pair.strip().partition("=")
            if key == name:
                return value
    return ""


def _read_parts(body: bytes, boundary: bytes) -> "tuple[Fields, dict[str, Upload]]":
    """The parts of a multipart body, as browsers write it (RFC 7578)."""
    from satchel.page.visit import Upload

    first, *parts = (b"\r\n" + body).split(b"\r\n--" + boundary, _MAX_FIELDS + 2)
    if first or not parts or len(parts) > _MAX_FIELDS + 1 or parts[-1].strip() != b"--":
        raise _unreadable()
    fields: Fields = {}
    files: dict[str, Upload] = {}
    for part in parts[:-1]:
        head, blank, content = part.partition(b"\r\n\r\n")
        if not head.startswith(b"\r\n") or not blank or len(head) > _MAX_PART_HEAD:
            raise _unreadable()
        try:
            name, filename = _read_head(head.decode())
            if filename is None:
                fields.setdefault(name, []).append(content.decode())
            elif filename:  # empty where no file was chosen
                files[name] = Upload(filename, content)
        except UnicodeDecodeError:
            raise _unreadable() from None
    return fields, files


def _read_head(head: str) -> tuple[str, str | None]:
    """The name of a part, and of its file."""
    for line in head.split("\r\n"):
        key, _, value = line.partition(":")
        if key.strip().lower() == "content-disposition" and value.strip().startswith("form-data"):
            found = dict(_PARAMETER.findall(value))
            # Browsers write a quote, a return and a line feed in percent signs, and nothing else so.
            clean = {
                name: re.sub("%(22|0D|0A)", lambda match: unquote_plus(match[0]), text) for name, text in found.items()
            }
            if "name" in clean:
                return clean["name"], clean.get("filename")
    raise _unreadable()


def _unreadable() -> Refusal:
    return Refusal(400, "body", "The form cannot be read.")
