"""What is sent back: whole answers, and the heads of all."""

from collections.abc import Iterable
from functools import lru_cache
from http import HTTPStatus

from msgspec import Struct

from satchel.protocol.codec import encode

Lines = tuple[tuple[str, str], ...]  # headers to send

JSON: Lines = (("content-type", "application/json"),)
CLOSE: Lines = (("connection", "close"),)
STREAM: Lines = (
    ("content-type", "text/event-stream"),
    ("cache-control", "no-cache, no-transform"),
    ("x-accel-buffering", "no"),  # or a proxy keeps events back
)


class Answer(Struct, frozen=True):
    """An answer that is whole."""

    status: int
    body: bytes = b""
    headers: Lines = ()


def in_json(status: int, value: object, headers: Iterable[tuple[str, str]] = ()) -> Answer:
    """A value as an answer in JSON."""
    return Answer(status, encode(value), (*JSON, *headers))


@lru_cache(maxsize=256)  # nearly all answers have one of a few
def head(status: int, headers: Lines) -> bytes:
    """The head of an answer, but for what depends on its body and the hour, and without its end."""
    named = "".join([f"{name}: {content}\r\n" for name, content in headers])
    lines = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n{named}x-content-type-options: nosniff\r\n"
    return lines.encode("latin-1", "replace")
