"""The five revisions of MCP as a table, and the members that each requires of a result."""

from typing import Any

from msgspec import Struct


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

CACHEABLE = frozenset(
    {
        "server/discover",
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
    }
)

SERVER_INFO_KEY = "io.modelcontextprotocol/serverInfo"


def complete_result(revision: Revision, method: str, result: dict[str, Any], server: dict[str, Any]) -> dict[str, Any]:
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
