"""The one guard in front of every request: Host, Origin, the size of the head, and errors as responses.

A web page in a browser on this machine can send requests here, also under a name of its own that it points at us (DNS
rebinding). It cannot choose the Host and Origin that the browser sends, so both are compared with lists, exactly.
"""

from collections.abc import Callable, Iterable, MutableMapping
from functools import lru_cache
from typing import Any

from msgspec import Struct

from satchel.log import log_surprise
from satchel.protocol import MAX_MESSAGE_BYTES
from satchel.protocol.streamable_http import Headers
from satchel.transports.http.messages import (
    Disconnected,
    Receive,
    Refusal,
    Request,
    Response,
    Scope,
    Send,
    too_large,
)

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
MAX_FIELDS = 100
MAX_HEAD_BYTES = 64 * 1024
_MAX_HOST = 300  # characters: a name has at most 253, and there is the port


class AllowedNames(Struct, frozen=True):
    """The host names and origins of one server."""

    hosts: frozenset[str]  # names, with the port where only that one is allowed
    origins: frozenset[str]  # besides those of this machine

    def has_host(self, host: str) -> bool:
        """Whether a Host is ours: one of the names with any port, or one that was allowed with exactly this port."""
        return len(host) <= _MAX_HOST and _is_among(host, self.hosts)

    def has_origin(self, origin: str) -> bool:
        """Whether an Origin is allowed, or is a page of this machine."""
        if origin in self.origins:
            return True
        scheme, separator, host = origin.partition("://")
        name, port = _split_port(host.lower())
        return scheme in ("http", "https") and bool(separator) and name in LOOPBACK and _is_port(port)


class Guard:
    """The outermost ASGI application: refuses what no route should see, and turns refusals into responses."""

    def __init__(
        self,
        app: Callable[[Scope, Receive, Send], Any],
        allowed: AllowedNames,
        *,
        refuse: Callable[[str, Refusal], Response],
        close: Callable[[], None],
    ) -> None:
        self._app = app
        self._allowed = allowed
        self.close = close  # lets go of the store and ends every stream; called at the end of the lifespan
        self._refuse = refuse  # a refusal in the words of the path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # we serve no WebSocket; the server closes it
        has_begun = False
        shared: list[tuple[bytes, bytes]] = []

        async def send_guarded(message: MutableMapping[str, Any]) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                message["headers"] = [*message["headers"], (b"x-content-type-options", b"nosniff"), *shared]
            await send(message)

        raw_path: bytes = scope.get("raw_path") or b""
        if b"%2f" in raw_path.lower():
            scope["path"] = raw_path.decode("latin-1")  # an encoded slash separates nothing, as proxies read it
        scope["satchel.headers"] = headers = Headers(scope["headers"])
        request = Request(scope, receive, send_guarded)
        origin = headers.last.get("origin")
        if origin in self._allowed.origins and "origin" not in headers.repeated:
            shared += _share_with(str(origin))
            scope["satchel.is_shared"] = True
        try:
            self._check(scope, headers)
            await self._app(scope, receive, send_guarded)
        except Disconnected:
            return
        except Exception as error:
            refusal = error if isinstance(error, Refusal) else _apologize(request)
            if has_begun:
                raise ConnectionAbortedError("the response had begun") from error  # the server closes the connection
            if "expect" in headers.last:  # the client may or may not send its body now
                refusal.headers = {*refusal.headers, ("connection", "close")}
            await request.respond(self._refuse(request.path, refusal))
        finally:
            request.connection.response_sent()

    def _check(self, scope: Scope, headers: Headers) -> None:
        """Look at where a request says it comes from and goes to.

        Raises:
            Refusal: 431 for a head beyond its bounds, 421 for a foreign Host, 403 for a foreign Origin.
        """
        raw = scope["headers"]
        size = sum(len(name) + len(value) for name, value in raw) + len(scope["path"]) + len(scope["query_string"])
        if len(raw) > MAX_FIELDS or size > MAX_HEAD_BYTES:
            message = f"The head of a request has at most {MAX_FIELDS} fields and {MAX_HEAD_BYTES // 1024} KiB."
            raise Refusal(431, "headers", message, [("connection", "close")])
        hosts = headers.all("host")
        if len(hosts) != 1 or not self._allowed.has_host(hosts[0]):
            raise Refusal(421, "host", "This host name is not served here. Add it with --allow-host.")
        origins = headers.all("origin")
        if origins and (len(origins) != 1 or not self._allowed.has_origin(origins[0])):
            raise Refusal(403, "origin", "Requests from this origin are not taken. Add it with --allow-origin.")


def allow(hosts: Iterable[str], origins: Iterable[str]) -> AllowedNames:
    """The names of this machine and those given; empty ones, which a comma too many makes, are left out."""
    named = (host.lower() for host in hosts if host)
    return AllowedNames(frozenset({*LOOPBACK, *named}), frozenset(origin for origin in origins if origin))


def check_body(headers: Headers) -> None:
    """Look at what a request says of its body, before the body is read.

    Raises:
        Refusal: 415 for anything but plain JSON, 413 for more than we take.
    """
    # A charset parameter has no effect (RFC 8259): JSON is UTF-8.
    kinds = [kind.partition(";")[0].rstrip(" \t").lower() for kind in headers.all("content-type")]
    if kinds != ["application/json"]:
        raise Refusal(415, "body", "The body must be application/json.")
    if any(coding.lower() != "identity" for coding in headers.all("content-encoding")):
        raise Refusal(415, "body", "The body must not be compressed.")
    length = headers.last.get("content-length", "0")
    if not length.isdecimal() or int(length[:20]) > MAX_MESSAGE_BYTES:
        raise too_large()


def nothing_here() -> Refusal:
    """The refusal of a path that is not served."""
    return Refusal(404, "path", "There is nothing at this path. MCP is served at /mcp.")


def _apologize(request: Request) -> Refusal:
    """Log the exception being handled, and refuse without a word about it."""
    log_surprise(f"{request.method} {request.path[:100]}")
    return Refusal(500, "server", "Unable to complete request. Please try again.")


def _share_with(origin: str) -> list[tuple[bytes, bytes]]:
    """The headers that let the pages of an origin read a response."""
    return [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-expose-headers", b"www-authenticate"),
        (b"vary", b"origin"),
    ]


@lru_cache(maxsize=1024)
def _is_among(host: str, hosts: frozenset[str]) -> bool:
    folded = host.lower()
    name, port = _split_port(folded)
    return folded in hosts or (name in hosts and _is_port(port))


def _split_port(host: str) -> tuple[str, str | None]:
    """A host as name and port; the colons inside the brackets of an IPv6 address separate no port."""
    name, separator, port = host.rpartition(":")
    if not separator or (host.startswith("[") and host.endswith("]")):
        return host, None
    return name, port


def _is_port(port: str | None) -> bool:
    return port is None or (port.isascii() and port.isdigit() and len(port) <= 5 and 0 < int(port) <= 65535)
