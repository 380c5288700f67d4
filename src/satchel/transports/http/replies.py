"""What is sent back: whole answers and streams, over ASGI."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from satchel.protocol.wire import encode
from satchel.transports.http.guard import Headers

Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

WHOLE = "satchel.response"  # a message of ours besides those of ASGI: head and body in one

JSON = ("content-type", "application/json")
STREAM: Headers = [
    ("content-type", "text/event-stream"),
    ("cache-control", "no-cache, no-transform"),
    ("x-accel-buffering", "no"),  # or a proxy keeps events back
]


async def reply(send: Send, status: int, body: bytes = b"", headers: Headers = ()) -> None:
    """Send an answer that is whole."""
    await send(whole(status, body, headers))


def whole(status: int, body: bytes = b"", headers: Headers = ()) -> Message:
    """An answer that is whole, as one message."""
    raw = [*_AS_JSON] if headers == _JSON_ONLY else _raw(headers)
    if status != 204:
        raw.append((b"content-length", b"%d" % len(body)))
    return {"type": WHOLE, "status": status, "headers": raw, "body": body}


_JSON_ONLY: Headers = [JSON]
_AS_JSON = [(b"content-type", b"application/json"), (b"x-content-type-options", b"nosniff")]


async def reply_json(send: Send, status: int, value: object, headers: Headers = ()) -> None:
    """Send a value as JSON."""
    await reply(send, status, encode(value), [JSON, *headers])


async def begin_stream(send: Send, headers: Headers = ()) -> None:
    """Open a stream of events."""
    await send({"type": "http.response.start", "status": 200, "headers": _raw([*STREAM, *headers])})
    await send({"type": "http.response.body", "body": b"", "more_body": True})


async def send_event(send: Send, message: bytes) -> None:
    """Send one message as an event; it has no line ends of its own."""
    await send({"type": "http.response.body", "body": b"event: message\ndata: " + message + b"\n\n", "more_body": True})


async def send_comment(send: Send) -> None:
    """Send a sign of life, which clients ignore."""
    await send({"type": "http.response.body", "body": b": still here\n\n", "more_body": True})


async def end_stream(send: Send) -> None:
    """Close a stream."""
    await send({"type": "http.response.body", "body": b""})


def _raw(headers: Headers) -> list[tuple[bytes, bytes]]:
    raw = [(name.encode(), content.encode("latin-1", "replace")) for name, content in headers]
    raw.append((b"x-content-type-options", b"nosniff"))
    return raw
