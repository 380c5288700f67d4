"""The Model Context Protocol without any I/O: bytes in, calls out; results in, bytes out.

It imports nothing else of Satchel. A transport feeds it messages, and an application answers its calls.

codec            strict JSON decoding within bounds, one-line encoding
messages         JSON-RPC messages: their form, parameters, errors and error codes
revisions        the five revisions as a table: how a request selects one, and what each requires in a result
connection       the state of one client: handshake, per-request metadata, batches, cancellation; its calls
questions        questions to the user in the middle of a call
subscriptions    subscriptions of a client, and the notifications that a change causes
streamable_http  one POST: its headers and body, and the status of its response
cursors          opaque cursors of paged lists
"""

from satchel.protocol.codec import MAX_MESSAGE_BYTES
from satchel.protocol.connection import Call, Connection, Exchange, Offer
from satchel.protocol.messages import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    NO_CLIENT,
    Client,
    ProtocolError,
    invalid_params,
)
from satchel.protocol.questions import Question, make_question
from satchel.protocol.revisions import NEWEST, REVISIONS, Revision, fit_result
from satchel.protocol.subscriptions import ClientChange

__all__ = [
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "MAX_MESSAGE_BYTES",
    "METHOD_NOT_FOUND",
    "NEWEST",
    "NO_CLIENT",
    "REVISIONS",
    "Call",
    "Client",
    "ClientChange",
    "Connection",
    "Exchange",
    "Offer",
    "ProtocolError",
    "Question",
    "Revision",
    "fit_result",
    "invalid_params",
    "make_question",
]
