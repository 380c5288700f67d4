"""Streamable HTTP without any I/O: the headers and body of a POST, and the status of its response.

No state is kept between POSTs. A request of the per-request generation carries all metadata itself, and its headers
repeat parts of its body, so that proxies can route by them; the two must agree. A request of the handshake generation
names its revision in a header; the rest of the handshake does not matter here.
"""

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from operator import eq

from msgspec import structs

from satchel.protocol.codec import BadJson, Bytes, decode, encode
from satchel.protocol.connection import Connection, Offer, explain_bad_json
from satchel.protocol.messages import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    UNSUPPORTED_PROTOCOL_VERSION,
    Client,
    Json,
    ProtocolError,
    invalid_params,
    parse_message,
    read_client,
    readable_id,
)
from satchel.protocol.revisions import (
    CAPABILITIES_KEY,
    CLIENT_KEY,
    PER_REQUEST_DATES,
    REVISIONS,
    VERSION_KEY,
    Revision,
    unsupported_version,
)

VERSION_HEADER = "mcp-protocol-version"
SESSION_HEADER = "mcp-session-id"

# By method, the parameter that the Mcp-Name header repeats.
_NAME_PARAMS = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

# The arguments that clients repeat in headers: tool → argument → name of the header.
HeaderArguments = Mapping[str, Mapping[str, str]]

# The revision of a POST without a version header: the last one before that header existed. Error responses omit null
# ids, because no handshake agreed on this revision.
DEFAULT_REVISION = structs.replace(REVISIONS["2025-03-26"], has_null_ids=False)

# A message with any of these in its _meta belongs to the per-request generation.
_PER_REQUEST_KEYS = frozenset((VERSION_KEY, CAPABILITIES_KEY, CLIENT_KEY))

_MAX_SESSION = 40  # characters of the unique part of a session id

# Errors with status 400. An unknown method has 404; any other error has 200, because MCP defines no status for it.
_BAD_REQUESTS = (PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS, HEADER_MISMATCH, UNSUPPORTED_PROTOCOL_VERSION)


class Headers:
    """The headers of a request, by names in lower case."""

    def __init__(self, raw: Iterable[tuple[bytes, bytes]]) -> None:
        self._lines = [(name.decode("latin-1"), value.decode("latin-1").strip(" \t")) for name, value in raw]
        self.last = dict(self._lines)  # of a repeated header, the last value

    def all(self, name: str) -> list[str]:
        """Return every value of a header."""
        return [value for key, value in self._lines if key == name]


def find_handshake_revision(headers: Headers) -> Revision | None:
    """Return the handshake revision named in the version header; None if the header names another revision."""
    date = headers.last.get(VERSION_HEADER)
    revision = DEFAULT_REVISION if date is None else REVISIONS.get(date)
    return revision if revision is not None and revision.is_handshake else None


def make_session_id(unique: str, client: Client) -> str:
    """Return a session id that contains the client's name and version, because no state is kept between POSTs."""
    described = base64.urlsafe_b64encode(encode([client.name, client.version])).decode().rstrip("=")
    return f"{unique}.{described}"


def find_client(headers: Headers) -> Client:
    """Return the client of a request of the handshake generation, from its session id or its User-Agent."""
    described = headers.last.get(SESSION_HEADER, "").partition(".")[2]
    if described:
        with suppress(BadJson, ValueError, TypeError):
            name, version = decode(base64.urlsafe_b64decode(described + "=" * (-len(described) % 4)))
            return read_client({"name": name, "version": version})
    name, _, version = headers.last.get("user-agent", "").partition(" ")[0].partition("/")
    return read_client({"name": name, "version": version})


class Post:
    """One POST: the application settles its calls, the transport sends its response."""

    def __init__(
        self, offer: Offer, headers: Headers, raw: Bytes, header_arguments: HeaderArguments | None = None
    ) -> None:
        self.method: object = None
        self.is_per_request = False
        error: ProtocolError | None = None
        try:
            value = decode(raw)
            self.method = value.get("method") if isinstance(value, dict) else None
            meta = _find_meta(value)
            has_metadata = meta is not None and not _PER_REQUEST_KEYS.isdisjoint(meta)
            self.is_per_request = has_metadata or headers.last.get(VERSION_HEADER) in PER_REQUEST_DATES
            if self.is_per_request:
                _check_headers(value, meta, headers, header_arguments or {})
            elif self.method != "initialize":
                _check_version(headers)
        except BadJson as bad:
            error, value = explain_bad_json(bad), bad.value
        except ProtocolError as wrong:
            error = wrong
        revision = None if self.is_per_request else find_handshake_revision(headers)
        session = headers.last.get(SESSION_HEADER, "").partition(".")[0][:_MAX_SESSION]
        self.connection = Connection(offer if revision is None else offer.without_subscriptions(), revision, session)
        if revision is not None:
            self.connection.client = find_client(headers)
        self._is_rejected = error is not None
        if error is None:
            self.exchange = self.connection.receive_value(value)
        else:
            self.exchange = self.connection.reject(error, readable_id(value))
        self.calls = self.exchange.calls  # the calls to settle

    def status(self) -> int:
        """Return the status of the response, once every call is settled."""
        code = self.exchange.error_code()
        # A client of the handshake generation reads errors in the body; for it, another status is a transport error.
        if not (self.is_per_request or self._is_rejected or code in (PARSE_ERROR, INVALID_REQUEST)):
            return 200
        return 400 if code in _BAD_REQUESTS else 404 if code == METHOD_NOT_FOUND else 200


def _find_meta(value: object) -> Json | None:
    params = value.get("params") if isinstance(value, dict) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta if isinstance(meta, dict) else None


def _check_version(headers: Headers) -> None:
    """Check that the version header, if present, names a revision."""
    date = headers.last.get(VERSION_HEADER)
    if date is not None and date not in REVISIONS:
        raise unsupported_version(date)


def _check_headers(value: object, meta: Json | None, headers: Headers, header_arguments: HeaderArguments) -> None:
    """Check that the headers agree with the body of a message of the per-request generation."""
    if not (isinstance(value, dict) and "id" in value and "method" in value):
        _check_version(headers)
        return
    try:
        request = parse_message(value)
    except ProtocolError:
        return  # the connection rejects the message; that error takes precedence over errors in headers
    if meta is None or VERSION_KEY not in meta:
        raise invalid_params(f"_meta lacks {VERSION_KEY}")
    date, method, params = meta[VERSION_KEY], request.method, request.params
    is_known = date in PER_REQUEST_DATES
    if is_known and CAPABILITIES_KEY not in meta:
        raise invalid_params(f"_meta lacks {CAPABILITIES_KEY}")
    _check_header(headers, "MCP-Protocol-Version", partial(eq, date))
    if not is_known:
        return  # an unknown revision may repeat other parts; the connection rejects the message
    _check_header(headers, "Mcp-Method", partial(eq, method))
    name = params.get(_NAME_PARAMS[method]) if method in _NAME_PARAMS else None
    if not isinstance(name, str):
        return
    _check_header(headers, "Mcp-Name", partial(_agrees, name))
    arguments = params.get("arguments")
    for argument, title in header_arguments.get(name, {}).items() if method == "tools/call" else ():
        body = arguments.get(argument) if isinstance(arguments, dict) else None
        fits = isinstance(body, str | int | float)  # no other type can be written in a header
        _check_header(headers, title, partial(_agrees, body), is_required=fits)


def _check_header(headers: Headers, title: str, agrees: Callable[[str], bool], *, is_required: bool = True) -> None:
    """Check that a header occurs once and agrees with the body."""
    given = headers.all(title.lower())
    if len(given) > 1:
        raise _header_mismatch(f"{title} is given more than once")
    if not given and is_required:
        raise _header_mismatch(f"{title} header is missing")
    if given and not agrees(given[0]):
        raise _header_mismatch(f"{title} header does not match the body")


def _agrees(body: object, raw: str) -> bool:
    header = decode_header(raw)
    if isinstance(body, bool):
        return header == str(body).lower()
    if isinstance(body, int | float):
        return header is not None and _NUMBER.fullmatch(header) is not None and float(header) == body
    return header is not None and header == body


_NUMBER = re.compile(r"-?[0-9]{1,16}(\.0{1,16})?")  # an integer that a JavaScript number can hold


def decode_header(header: str) -> str | None:
    """Decode the value of a header, plain or in Base64 form; return None if it is malformed or not printable ASCII."""
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


def _header_mismatch(what: str) -> ProtocolError:
    return ProtocolError(HEADER_MISMATCH, f"Header mismatch: {what}")
