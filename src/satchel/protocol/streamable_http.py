"""Streamable HTTP without any I/O: what a POST says by its headers and its body, and the status of the answer.

Nothing is remembered from one POST to the next. A request of the newest generation says everything itself, and its
headers mirror its body, so that whoever routes by them routes rightly. A request of the handshake generation names its
revision in a header; what the handshake told besides, nothing here depends on.
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
    Message,
    ProtocolError,
    invalid_params,
    parse,
    readable_id,
)
from satchel.protocol.metadata import CAPABILITIES_KEY, CLIENT_KEY, VERSION_KEY, unsupported
from satchel.protocol.revisions import PER_REQUEST_DATES, REVISIONS

VERSION_HEADER, METHOD_HEADER, NAME_HEADER = "mcp-protocol-version", "mcp-method", "mcp-name"

# The parameter that a method's Mcp-Name mirrors.
NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

# By tool: its arguments that clients mirror in a header of their own, and the name of that.
Mirrored = Mapping[str, Mapping[str, str]]

# Whoever names no revision speaks that of the time before there was a header for it; nothing was agreed on, though.
UNNAMED = structs.replace(REVISIONS["2025-03-26"], has_null_ids=False)

_OWN_KEYS = frozenset((VERSION_KEY, CAPABILITIES_KEY, CLIENT_KEY))  # with any of them, it is of the newest generation

_STATUSES = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    UNSUPPORTED_PROTOCOL_VERSION: 400,
    METHOD_NOT_FOUND: 404,
}  # any other is told with 200: MCP gives it no status of its own


class Post:
    """One POST, taken in: its exchange to settle, then its answer to send.

    `given` are its headers, by names in lower case; `repeated` are those that were sent several times.
    """

    def __init__(
        self,
        offer: Offer,
        given: Mapping[str, str],
        raw: bytes,
        *,
        repeated: Container[str] = (),
        mirrored: Mirrored | None = None,
    ) -> None:
        self.calls: list[Call] = []  # to settle
        date = given.get(VERSION_HEADER)
        agreed = REVISIONS.get(date) if date is not None else UNNAMED
        self.is_per_request = False
        self.method: object = None
        self._is_bad = False  # in a way that no revision answers with success
        revision = agreed if agreed is not None and agreed.is_handshake else None
        self.connection = Connection(offer if revision is None else offer.without_subscriptions(), revision)
        try:
            value = decode(raw)
        except BadJson as bad:
            self._refuse(ProtocolError(PARSE_ERROR, "Parse error"), bad.value)
            return
        self.method = value.get("method") if isinstance(value, dict) else None
        meta = _meta(value)
        self.is_per_request = date in PER_REQUEST_DATES or (meta is not None and not _OWN_KEYS.isdisjoint(meta))
        request = None
        if self.is_per_request:
            request = _request(value)
            error = _mismatch(value, request, meta, given, repeated)
            if error is None and request is not None and mirrored:
                error = _param_mismatch(request, given, repeated, mirrored)
        else:
            error = _foreign(value, date)
        if error is not None:
            self._refuse(error, value)
            return
        if self.is_per_request and revision is not None:
            self.connection = Connection(offer)
        self.exchange = self.connection.take(value) if request is None else self.connection.take_request(request)
        self.calls = self.exchange.calls

    def _refuse(self, error: ProtocolError, value: object) -> None:
        self._is_bad = True
        self.exchange = self.connection.refuse(error, readable_id(value))

    def status(self) -> int:
        """The status of the answer, once every call is settled; an answer is 200 or says why not."""
        code = self.exchange.error_code()
        if code is None:
            return 200
        # A handshake client looks for errors in the body, and takes any other status for a broken transport.
        if self.is_per_request or self._is_bad or code in (PARSE_ERROR, INVALID_REQUEST):
            return _STATUSES.get(code, 200)
        return 200


def _meta(value: object) -> Json | None:
    params = value.get("params") if isinstance(value, dict) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta if isinstance(meta, dict) else None


def _is_request(value: object) -> bool:
    return isinstance(value, dict) and "id" in value and "method" in value


def _request(value: object) -> Message | None:
    """A request of good form; None for anything else."""
    if not _is_request(value):
        return None
    try:
        return parse(value)
    except ProtocolError:
        return None  # it is refused for that when it is taken in, which is worse than any header


def _foreign(value: object, date: str | None) -> ProtocolError | None:
    """What is wrong with the revision that a message of the handshake generation names."""
    is_opening = isinstance(value, dict) and value.get("method") == "initialize"
    if date is None or date in REVISIONS or is_opening:
        return None
    return unsupported(date)


def _mismatch(
    value: object, request: Message | None, meta: Json | None, given: Mapping[str, str], repeated: Container[str]
) -> ProtocolError | None:
    """Where the headers of a request say something else than its body."""
    if request is None:
        date = given.get(VERSION_HEADER)
        return None if date is None or date in REVISIONS or _is_request(value) else unsupported(date)
    if meta is None or VERSION_KEY not in meta:
        return invalid_params(f"_meta lacks {VERSION_KEY}")
    date, method, params = meta[VERSION_KEY], request.method, request.params
    mirrored = {VERSION_HEADER: date}
    if date in PER_REQUEST_DATES:  # else it is refused for that; who knows what its revision has clients mirror
        if CAPABILITIES_KEY not in meta:
            return invalid_params(f"_meta lacks {CAPABILITIES_KEY}")
        mirrored[METHOD_HEADER] = method
        if method in NAMES and isinstance(params.get(NAMES[method]), str):
            mirrored[NAME_HEADER] = params[NAMES[method]]
    for name, body in mirrored.items():
        header = given.get(name)
        if name in repeated:
            return _header_mismatch(f"{_TITLES[name]} is given more than once")
        if header is None:
            return _header_mismatch(f"{_TITLES[name]} header is missing")
        if (decoded(header) if name == NAME_HEADER else header) != body:
            return _header_mismatch(f"{_TITLES[name]} header does not match the body")
    return None


def _param_mismatch(
    request: Message, given: Mapping[str, str], repeated: Container[str], mirrored: Mirrored
) -> ProtocolError | None:
    """Where the header of an argument says something else than the argument."""
    params = request.params
    tool = params.get("name") if request.method == "tools/call" else None
    if not isinstance(tool, str):
        return None
    arguments = params.get("arguments")
    for argument, name in mirrored.get(tool, {}).items():
        body = arguments.get(argument) if isinstance(arguments, dict) else None
        header = given.get(name.lower())
        if name.lower() in repeated:
            return _header_mismatch(f"{name} is given more than once")
        if header is None and isinstance(body, str | int | float):  # nothing else could be in a header
            return _header_mismatch(f"{name} header is missing")
        if header is not None and not _is_mirror(decoded(header), body):
            return _header_mismatch(f"{name} header does not match the body")
    return None


def _is_mirror(header: str | None, body: object) -> bool:
    if isinstance(body, bool):
        return header == str(body).lower()
    if isinstance(body, int | float):
        return header is not None and _NUMBER.fullmatch(header) is not None and float(header) == body
    return header is not None and header == body


_NUMBER = re.compile(r"-?[0-9]{1,16}(\.0{1,16})?")  # whole, and no larger than JavaScript can count


def decoded(header: str) -> str | None:
    """The value of a header that may be in its Base64 form; None where that is malformed or has foreign characters."""
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
