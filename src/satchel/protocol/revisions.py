"""The five revisions of MCP as a table: how a request selects one, and what each requires and allows in a result."""

from msgspec import Struct
from msgspec.structs import replace

from satchel.protocol.messages import UNSUPPORTED_PROTOCOL_VERSION, Json, ProtocolError, invalid_params


class Revision(Struct, frozen=True, kw_only=True):
    """One revision: its date, and the features in which revisions differ."""

    date: str
    is_handshake: bool = True  # `initialize` agrees on it once; otherwise each request names it in `_meta`
    has_batches: bool = False
    has_structured_content: bool = False
    has_null_ids: bool = False  # the error response to a message without a valid id has `"id": null`
    has_audio: bool = False  # as a content block
    has_resource_links: bool = False  # as a content block
    has_elicitation: bool = False  # the server may ask the user a question
    has_icons: bool = False  # for the server and for entries of lists


_2024_11_05 = Revision(date="2024-11-05", has_null_ids=True)
_2025_03_26 = replace(_2024_11_05, date="2025-03-26", has_audio=True, has_batches=True)
_2025_06_18 = replace(
    _2025_03_26,
    date="2025-06-18",
    has_batches=False,
    has_structured_content=True,
    has_resource_links=True,
    has_elicitation=True,
)
_2025_11_25 = replace(_2025_06_18, date="2025-11-25", has_null_ids=False, has_icons=True)
_2026_07_28 = replace(_2025_11_25, date="2026-07-28", is_handshake=False)

REVISIONS = {revision.date: revision for revision in (_2024_11_05, _2025_03_26, _2025_06_18, _2025_11_25, _2026_07_28)}
NEWEST = _2026_07_28
NEWEST_HANDSHAKE = _2025_11_25
PER_REQUEST_DATES = [revision.date for revision in REVISIONS.values() if not revision.is_handshake]

CACHEABLE = {
    *("server/discover", "tools/list", "prompts/list"),
    *("resources/list", "resources/templates/list", "resources/read"),
    *("skills/list", "skills/get"),  # from the extension io.modelcontextprotocol/skills
}

_LISTS = ("tools", "prompts", "resources", "resourceTemplates")  # members of results that contain lists

# Keys in `_meta`.
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
CLIENT_KEY = "io.modelcontextprotocol/clientInfo"
SERVER_INFO_KEY = "io.modelcontextprotocol/serverInfo"


def find_revision(method: str, params: Json, agreed: Revision | None) -> Revision:
    """Return the revision that a request names in its `_meta`, or the one agreed in the handshake.

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
    """Return the error for an unknown revision, with the list of revisions that a request may name."""
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


def fit_result(revision: Revision, result: Json) -> Json:
    """Return a result without members that its revision does not have; encoded members stay as they are."""
    fitted = dict(result)
    if not revision.has_structured_content:
        fitted.pop("structuredContent", None)
    if not revision.has_icons:
        for name in _LISTS:
            if isinstance(fitted.get(name), list):
                fitted[name] = [without_icons(one) if isinstance(one, dict) else one for one in fitted[name]]
    if isinstance(fitted.get("content"), list):
        fitted["content"] = [block for block in fitted["content"] if _has_block(revision, block)]
    if isinstance(fitted.get("messages"), list):
        fitted["messages"] = [one for one in fitted["messages"] if _has_block(revision, one["content"])]
    return fitted


def without_icons(entry: Json) -> Json:
    """Return an entry of a list, or a description of the server, without its icons."""
    return {name: value for name, value in entry.items() if name != "icons"} if "icons" in entry else entry


def _has_block(revision: Revision, block: Json) -> bool:
    kind = block["type"]
    return (kind != "audio" or revision.has_audio) and (kind != "resource_link" or revision.has_resource_links)


def complete_result(revision: Revision, method: str, result: Json, server: Json) -> Json:
    """Add the members that a revision requires in a result."""
    if revision.is_handshake:
        return result
    # Every result has this member; only `server/discover` needs icons in it.
    shown = server if method == "server/discover" else without_icons(server)
    meta = {**result.get("_meta", {}), SERVER_INFO_KEY: shown}
    completed = {"resultType": "complete", **result, "_meta": meta}
    if method in CACHEABLE and completed["resultType"] == "complete":
        # Another process may change the store at any time, so clients must not cache a result.
        completed.setdefault("ttlMs", 0)
        completed.setdefault("cacheScope", "private")
    return completed
