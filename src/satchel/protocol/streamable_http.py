"""Streamable HTTP without any I/O: the headers and body of a POST, and the status of its response.

No state is kept between POSTs. A request of the per-request generation carries all metadata itself, and its headers
repeat parts of its body, so that proxies can route by them; the two must agree. A request of the handshake generation
names its revision in a header; nothing else of the handshake is needed here.
"""

import base64
import binascii
import re
from collections.abc import Container, Mapping

from msgspec import structs

from satchel.protocol.codec import BadJson, decode
from satchel.protocol.connection import Connection, Offer
from satchel.protocol.messages import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    UNSUPPORTED_PROTOCOL_VERSION,
    Call,
    Json,
    ProtocolError,
    invalid_params,
    parse_message,
    readable_id,
)
from satchel.protocol.metadata import CAPABILITIES_KEY, CLIENT_KEY, VERSION_KEY, unsupported_version
from satchel.protocol.revisions import PER_REQUEST_DATES, REVISIONS

VERSION_HEADER, METHOD_HEADER, NAME_HEADER = "mcp-protocol-version", "mcp-method", "mcp-name"

# By method: the parameter that its Mcp-Name header repeats.
NAME_PARAMS = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

# By tool: the arguments that clients repeat in a header, and the name of that header.
MirroredArguments = Mapping[str, Mapping[str, str]]

# The revision of a POST without a version header: the last one before there was such a header. As no handshake agreed
# on it, error responses have no null ids.
DEFAULT_REVISION = structs.replace(REVISIONS["2025-03-26"], has_null_ids=False)

# A message with any of these in its _meta is of the per-request generation.
_PER_REQUEST_KEYS = frozenset((VERSION_KEY, CAPABILITIES_KEY, CLIENT_KEY))

_STATUSES = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    UNSUPPORTED_PROTOCOL_VERSION: 400,
    METHOD_NOT_FOUND: 404,
}  # any other error has 200: MCP defines no status for it


class Post:
    """One POST: its calls to settle, then its response to send.

    `headers` are by name in lower case; `repeated` are the names of those that were sent several times.
    """

    def __init__(
        self,
        offer: Offer,
        headers: Mapping[str, str],
        raw: bytes,
        *,
        repeated: Container[str] = (),
        mirrored: MirroredArguments | None = None,
    ) -> None:
        self.calls: list[Call] = []  # to settle
        date = headers.get(VERSION_HEADER)
        agreed = REVISIONS.get(date) if date is not None else DEFAULT_REVISION
        self.is_per_request = False
        self.method: object = None
        self._is_rejected = False
        revision = agreed if agreed is not None and agreed.is_handshake else None
        self.connection = Connection(offer if revision is None else offer.without_subscriptions(), revision)
        try:
            value = decode(raw)
        except BadJson as bad:
            self._reject(ProtocolError(PARSE_ERROR, "Parse error"), bad.value)
            return
        self.method = value.get("method") if isinstance(value, dict) else None
        meta = _find_meta(value)
        self.is_per_request = date in PER_REQUEST_DATES or (meta is not None and not _PER_REQUEST_KEYS.isdisjoint(meta))
        try:
            if self.is_per_request:
                _check_headers(value, meta, headers, repeated, mirrored or {})
            else:
                _check_version_header(value, date)
        except ProtocolError as error:
            self._reject(error, value)
            return
        if self.is_per_request and revision is not None:
            self.connection = Connection(offer)
        self.exchange = self.connection.receive_value(value)
        self.calls = self.exchange.calls

    def _reject(self, error: ProtocolError, value: object) -> None:
        self._is_rejected = True
        self.exchange = self.connection.reject(error, readable_id(value))

    def status(self) -> int:
        """The status of the response, once every call is settled."""
        code = self.exchange.error_code()
        if code is None:
            return 200
        # A client of the handshake generation reads errors from the body; another status is a transport error to it.
        if self.is_per_request or self._is_rejected or code in (PARSE_ERROR, INVALID_REQUEST):
            return _STATUSES.get(code, 200)
        return 200


def _find_meta(value: object) -> Json | None:
    params = value.get("params") if isinstance(value, dict) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta if isinstance(meta, dict) else None


def _check_version_header(value: object, date: str | None) -> None:
    """Check the revision in the header of a message of the handshake generation."""
    is_initialize = isinstance(value, dict) and value.get("method") == "initialize"
    if date is not None and date not in REVISIONS and not is_initialize:
        raise unsupported_version(date)


def _check_headers(
    value: object, meta: Json | None, headers: Mapping[str, str], repeated: Container[str], mirrored: MirroredArguments
) -> None:
    """Check that the headers agree with the body of a message of the per-request generation."""
    if not (isinstance(value, dict) and "id" in value and "method" in value):
        date = headers.get(VERSION_HEADER)
        if date is not None and date not in REVISIONS:
            raise unsupported_version(date)
        return
    try:
        request = parse_message(value)
    except ProtocolError:
        return  # the connection rejects it; that error comes before any about headers
    if meta is None or VERSION_KEY not in meta:
        raise invalid_params(f"_meta lacks {VERSION_KEY}")
    date, method, params = meta[VERSION_KEY], request.method, request.params
    expected = {VERSION_HEADER: date}
    if date in PER_REQUEST_DATES:  # an unknown revision may repeat other parts; the connection rejects it
        if CAPABILITIES_KEY not in meta:
            raise invalid_params(f"_meta lacks {CAPABILITIES_KEY}")
        expected[METHOD_HEADER] = method
        if method in NAME_PARAMS and isinstance(params.get(NAME_PARAMS[method]), str):
            expected[NAME_HEADER] = params[NAME_PARAMS[method]]
    for name, body in expected.items():
        header = headers.get(name)
        if name in repeated:
            raise _header_mismatch(f"{_TITLES[name]} is given more than once")
        if header is None:
            raise _header_mismatch(f"{_TITLES[name]} header is missing")
        if (decode_header(header) if name == NAME_HEADER else header) != body:
            raise _header_mismatch(f"{_TITLES[name]} header does not match the body")
    if method == "tools/call":
        _check_argument_headers(params, headers, repeated, mirrored)


def _check_argument_headers(
    params: Json, headers: Mapping[str, str], repeated: Container[str], mirrored: MirroredArguments
) -> None:
    """Check that the headers agree with the arguments of a tool call."""
    tool, arguments = params.get("name"), params.get("arguments")
    for argument, name in mirrored.get(tool, {}).items() if isinstance(tool, str) else ():
        body = arguments.get(argument) if isinstance(arguments, dict) else None
        header = headers.get(name.lower())
        if name.lower() in repeated:
            raise _header_mismatch(f"{name} is given more than once")
        if header is None and isinstance(body, str | int | float):  # no other type fits in a header
            raise _header_mismatch(f"{name} header is missing")
        if header is not None and not _agrees(decode_header(header), body):
            raise _header_mismatch(f"{name} header does not match the body")


def _agrees(header: str | None, body: object) -> bool:
    if isinstance(body, bool):
        return header == str(body).lower()
    if isinstance(body, int | float):
        return header is not None and _NUMBER.fullmatch(header) is not None and float(header) == body
    return header is not None and header == body


_NUMBER = re.compile(r"-?[0-9]{1,16}(\.0{1,16})?")  # an integer that a JavaScript number can hold


def decode_header(header: str) -> str | None:
    """The value of a header, which may be in Base64 form; None where it is malformed or not printable ASCII."""
    if not (header.isascii() and header.replace("\t", " ").isprintable()):
        return None
    if not (header.startswith("=?base64?") and header.endswith("?=") and len(header) >= len("=?base64??=")):
        return header
    payload = header[len("=?base64?") : -len("?=")]
    try:
        raw = base64.b64decode(payload, validate=True)
        return raw.decode() if base64.b64encode(raw).decode() == payload else None
    except (binascii.Error, ValueError):
        return None


_TITLES = {VERSION_HEADER: "MCP-Protocol-Version", METHOD_HEADER: "Mcp-Method", NAME_HEADER: "Mcp-Name"}


def _header_mismatch(what: str) -> ProtocolError:
    return ProtocolError(HEADER_MISMATCH, f"Header mismatch: {what}")
