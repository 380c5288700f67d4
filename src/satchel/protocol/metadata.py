"""The revision that a request uses: named in its `_meta`, or agreed on by the handshake."""

from satchel.protocol.messages import UNSUPPORTED_PROTOCOL_VERSION, Json, ProtocolError, invalid_params
from satchel.protocol.revisions import NEWEST_HANDSHAKE, PER_REQUEST_DATES, REVISIONS, Revision

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
CLIENT_KEY = "io.modelcontextprotocol/clientInfo"


def find_revision(method: str, params: Json, agreed: Revision | None) -> Revision:
    """The revision that a request names in its `_meta`, else the one that the handshake agreed on.

    Raises:
        ProtocolError: the revision is unknown, its metadata is incomplete, or there was no handshake.
    """
    meta = params.get("_meta")
    if meta is None:
        meta = {}
    if not isinstance(meta, dict):
        raise invalid_params("_meta must be an object")
    if VERSION_KEY in meta:
        return _parse_revision(meta)
    if CAPABILITIES_KEY in meta or CLIENT_KEY in meta:
        raise invalid_params(f"_meta lacks {VERSION_KEY}")
    if agreed is not None:
        return agreed
    if method in ("initialize", "ping"):
        return NEWEST_HANDSHAKE
    raise invalid_params(f"Send initialize first, or name a revision in _meta under {VERSION_KEY}")


def unsupported_version(date: str) -> ProtocolError:
    """The error for an unknown revision; it lists those that a request may name."""
    data = {"supported": PER_REQUEST_DATES, "requested": date}
    return ProtocolError(UNSUPPORTED_PROTOCOL_VERSION, "Unsupported protocol version", data)


def _parse_revision(meta: Json) -> Revision:
    date = meta[VERSION_KEY]
    if not isinstance(date, str):
        raise invalid_params(f"{VERSION_KEY} must be a string")
    if date not in PER_REQUEST_DATES:
        raise unsupported_version(date)
    if not isinstance(meta.get(CAPABILITIES_KEY), dict):
        raise invalid_params(f"_meta lacks {CAPABILITIES_KEY}")
    if not isinstance(meta.get(CLIENT_KEY), dict | None):
        raise invalid_params(f"{CLIENT_KEY} must be an object")
    return REVISIONS[date]
