"""What is refused before anything looks at it: foreign hosts and origins, types and sizes that we do not take.

A web page in a browser on this machine may send requests here, also under a name of its own that it points at us (DNS
rebinding). It cannot choose the Host and Origin that the browser sends, so both are held against lists, exactly.
"""

from collections.abc import Iterable
from functools import lru_cache

from msgspec import Struct

from satchel.protocol import MAX_MESSAGE_BYTES
from satchel.transports.http.heads import Head

_LONGEST = 300  # characters of a host: a name has at most 253, and there is the port

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class Refusal(Exception):
    """A request that gets no further: its status, what is wrong (`field`), and a sentence for people.

    Where it was read before it was refused, it has an id, which the answer repeats.
    """

    def __init__(
        self,
        status: int,
        field: str,
        message: str,
        headers: Iterable[tuple[str, str]] = (),
        id: str | int | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.field = field
        self.message = message
        self.headers = headers
        self.id = id


class Guard(Struct, frozen=True):
    """The lists of one server."""

    hosts: frozenset[str]  # names, with the port where only that one is meant
    origins: frozenset[str]  # besides those of this machine

    def check(self, headers: Head) -> None:
        """Look at where a request says it comes from and goes to.

        Raises:
            Refusal: 421 for a foreign Host, 403 for a foreign Origin.
        """
        hosts = headers.all("host")
        if len(hosts) != 1 or not self.knows_host(hosts[0]):
            raise Refusal(421, "host", "This host name is not served here. Add it with --allow-host.")
        origins = headers.all("origin")
        if origins and (len(origins) != 1 or not self.knows_origin(origins[0])):
            raise Refusal(403, "origin", "Requests from this origin are not taken. Add it with --allow-origin.")

    def knows(self, headers: Head) -> bool:
        """Whether `check` has nothing against a request that repeats no header, and comes from no page."""
        return "origin" not in headers.last and self.knows_host(headers.last.get("host", ""))

    def knows_host(self, host: str) -> bool:
        """Whether a Host is ours: one of the names, on any port, or one with exactly this port."""
        return len(host) <= _LONGEST and _is_among(host, self.hosts)

    def knows_origin(self, origin: str) -> bool:
        """Whether an Origin is named, or is a page of this machine."""
        scheme, separator, host = origin.partition("://")
        if origin in self.origins:
            return True
        name, port = _split(host.lower())
        return scheme in ("http", "https") and bool(separator) and name in LOOPBACK and _is_port(port)

    def shares_with(self, headers: Head) -> str | None:
        """The origin whose pages may read our answers: only one that was named."""
        given = headers.all("origin")
        return given[0] if len(given) == 1 and given[0] in self.origins else None


@lru_cache(maxsize=1024)
def _is_among(host: str, hosts: frozenset[str]) -> bool:
    folded = host.lower()
    name, port = _split(folded)
    return folded in hosts or (name in hosts and _is_port(port))


def make_guard(hosts: Iterable[str], origins: Iterable[str]) -> Guard:
    """A guard that knows this machine, and what is added to it."""
    # Nobody means the empty name, which a comma too many makes.
    named = (host.lower() for host in hosts if host)
    return Guard(frozenset({*LOOPBACK, *named}), frozenset(origin for origin in origins if origin))


def check_body(headers: Head) -> None:
    """Look at what a request says of its body, before the body is read.

    Raises:
        Refusal: 415 for anything but plain JSON, 413 for more than we take.
    """
    # What is said about the character set has no effect (RFC 8259): JSON is UTF-8.
    if headers.is_plain:
        return
    kinds = [kind.partition(";")[0].rstrip(" \t").lower() for kind in headers.all("content-type")]
    if kinds != ["application/json"]:
        raise Refusal(415, "body", "The body must be application/json.")
    if any(coding.lower() != "identity" for coding in headers.all("content-encoding")):
        raise Refusal(415, "body", "The body must not be compressed.")
    length = headers.last.get("content-length", "0")
    if not length.isdecimal() or int(length[:20]) > MAX_MESSAGE_BYTES:
        raise too_large()


def too_large() -> Refusal:
    """The refusal of a body beyond the bound."""
    return Refusal(413, "body", f"A body has at most {MAX_MESSAGE_BYTES} bytes.", [("connection", "close")])


def _split(host: str) -> tuple[str, str | None]:
    """A host as name and port; the colons in the brackets of an IPv6 address are none."""
    name, separator, port = host.rpartition(":")
    if not separator or (host.startswith("[") and host.endswith("]")):
        return host, None
    return name, port


def _is_port(port: str | None) -> bool:
    return port is None or (port.isascii() and port.isdigit() and len(port) <= 5 and 0 < int(port) <= 65535)
