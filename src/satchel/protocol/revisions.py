"""The five revisions of MCP as a table: which one a request uses, and the members that each requires of a result."""

from msgspec import Struct

from satchel.protocol.messages import UNSUPPORTED_PROTOCOL_VERSION, Json, ProtocolError, invalid_params


class Revision(Struct, frozen=True, kw_only=True):
    """The features in which revisions differ."""

    date: str
    is_handshake: bool = True  # agreed once by `initialize`; else named in `_meta` by each request
    has_batches: bool = False
    has_structured_content: bool = False
    has_null_ids: bool = False  # an error response to a message without a valid id has `"id": null`


REVISIONS = {
    revision.date: revision
    for revision in (
        Revision(date="2024-11-05", has_null_ids=True),
        Revision(date="2025-03-26", has_null_ids=True, has_batches=True),
        Revision(date="2025-06-18", has_null_ids=True, has_structured_content=True),
        Revision(date="2025-11-25", has_structured_content=True),
        Revision(date="2026-07-28", has_structured_content=True, is_handshake=False),
    )
}
NEWEST_HANDSHAKE = REVISIONS["2025-11-25"]
PER_REQUEST_DATES = [revision.date for revision in REVISIONS.values() if not revision.is_handshake]

CACHEABLE = {
    *("server/discover", "tools/list", "prompts/list"),
    *("resources/list", "resources/templates/list", "resources/read"),
}

# Members of `_meta`.
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
CLIENT_KEY = "io.modelcontextprotocol/clientInfo"
SERVER_INFO_KEY = "io.modelcontextprotocol/serverInfo"


def find_revision(method: str, params: Json, agreed: Revision | None) -> Revision:
    """The revision that a request names in its `_meta`, else the one that the handshake agreed on.

    Raises:
        ProtocolError: the revision is unknown, its metadata is incomplete, or there was no handshake.
    """
    meta = {} if params.get("_meta") is None else params["_meta"]
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


def complete_result(revision: Revision, method: str, result: Json, server: Json) -> Json:
    """Add the members that a revision requires of a result, and remove those it does not have."""
    if not revision.has_structured_content and "structuredContent" in result:
        result = {key: value for key, value in result.items() if key != "structuredContent"}
    if revision.is_handshake:
        return result
    meta = {**result.get("_meta", {}), SERVER_INFO_KEY: server}
    completed = {"resultType": "complete", **result, "_meta": meta}
    if method in CACHEABLE:
        # Another process may change the store at any time, so a result may not be cached.
        completed.setdefault("ttlMs", 0)
        completed.setdefault("cacheScope", "private")
    return completed
