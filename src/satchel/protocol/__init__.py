"""The Model Context Protocol without any I/O: bytes in, calls out; results in, bytes out.

Knows nothing of the rest of Satchel. A transport feeds it messages, an application answers its calls:

    wire           JSON in and out, strictly
    revisions      the five revisions as a table, and what each demands of a result
    messages       what a JSON-RPC message may look like; calls, errors, codes
    metadata       which revision a request speaks
    connection     one client's conversation: handshake, per-request metadata, batches, cancellation
    subscriptions  what a client listens to, and the notifications that follow from a change
    posts          streamable HTTP: what a POST says by its headers and its body
    cursors        opaque cursors of paged lists
"""

from satchel.protocol.codec import MAX_MESSAGE_BYTES
from satchel.protocol.connection import Connection, Exchange, Offer
from satchel.protocol.messages import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    Call,
    ProtocolError,
    invalid_params,
)
from satchel.protocol.revisions import REVISIONS, Revision
from satchel.protocol.subscriptions import ClientChange

__all__ = [
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "MAX_MESSAGE_BYTES",
    "METHOD_NOT_FOUND",
    "PARSE_ERROR",
    "REVISIONS",
    "Call",
    "ClientChange",
    "Connection",
    "Exchange",
    "Offer",
    "ProtocolError",
    "Revision",
    "invalid_params",
]
