"""Refusals of a connection before there is a request that the application could answer: a whole response in bytes."""

from satchel.transports.http.connections import Admission
from satchel.transports.http.timeouts import Timeouts


def write_refusal(status: bytes, message: bytes) -> bytes:
    """A response after which the connection is closed."""
    lines = b"content-type: text/plain\r\nconnection: close\r\ncontent-length: %d\r\n" % len(message)
    later = b"retry-after: 1\r\n" if status[:3] in (b"429", b"503") else b""
    return b"HTTP/1.1 %s\r\n%s%s\r\n%s" % (status, lines, later, message)


def refuse_admission(admission: Admission) -> bytes | None:
    """The answer to a connection for which there is no room; None where there is."""
    return _REFUSED.get(admission)


def refuse_late(timeouts: Timeouts) -> bytes:
    """The answer to a request that has not arrived in time."""
    message = b"A request has %d seconds to arrive, and more for a long body." % timeouts.request
    return write_refusal(b"408 Request Timeout", message)


TOO_MANY = write_refusal(b"503 Service Unavailable", b"Too many connections. Try again later.")
_TOO_MANY_OF_ADDRESS = write_refusal(
    b"429 Too Many Requests", b"Too many connections of your address. Close one, or try again later."
)
_REFUSED: dict[Admission, bytes] = {"too many": TOO_MANY, "too many of its address": _TOO_MANY_OF_ADDRESS}
