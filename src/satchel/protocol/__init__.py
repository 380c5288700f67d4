"""The Model Context Protocol without any I/O: bytes in, calls out; results in, bytes out.

It imports nothing else of Satchel. A transport feeds it messages, and an application answers its calls.

codec            strict JSON decoding, one-line encoding
elements         how many elements a JSON text has, before it is decoded
revisions        the five revisions as a table: which one a request uses, and what each requires of a result
questions        questions to the user in the middle of a call
messages         the form of JSON-RPC messages; errors, error codes
calls            what a server offers; one request for the application
connection       the state of one client: handshake, per-request metadata, batches, cancellation
subscriptions    subscriptions of a client, and the notifications of a change
streamable_http  one POST: its headers and body, and the status of its response
cursors          opaque cursors of paged lists
"""

from satchel.protocol.calls import Call, Offer
from satchel.protocol.codec import MAX_MESSAGE_BYTES
from satchel.protocol.connection import Connection, Exchange
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
