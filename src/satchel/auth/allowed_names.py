"""The host names that a server answers to, and the origins whose pages may call it.

A web page in a browser on this machine can send requests here, also under a name of its own that it points at us (DNS
rebinding). It cannot choose the Host and Origin that the browser sends, so both are compared with lists, exactly.
"""

from collections.abc import Iterable

from msgspec import Struct

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_MAX_HOST = 300  # characters: a name has at most 253, and there is the port


class AllowedNames(Struct, frozen=True):
    """The host names and origins of one server."""

    hosts: frozenset[str]  # names, with the port where only that one is allowed
    origins: frozenset[str]  # besides those of this machine

    def has_host(self, host: str) -> bool:
        """Whether a Host is ours: one of the names with any port, or one that was allowed with exactly this port."""
        folded = host.lower()
        name, port = _split_port(folded)
        return len(host) <= _MAX_HOST and (folded in self.hosts or (name in self.hosts and _is_port(port)))

    def has_origin(self, origin: str) -> bool:
        """Whether an Origin is allowed, or is a page of this machine."""
        if origin in self.origins:
            return True
        scheme, separator, host = origin.partition("://")
        name, port = _split_port(host.lower())
        return scheme in ("http", "https") and bool(separator) and name in LOOPBACK and _is_port(port)


def allow(hosts: Iterable[str], origins: Iterable[str]) -> AllowedNames:
    """The names of this machine and those given; empty ones, which a comma too many makes, are left out."""
    named = (host.lower() for host in hosts if host)
    return AllowedNames(frozenset({*LOOPBACK, *named}), frozenset(origin for origin in origins if origin))


def _split_port(host: str) -> tuple[str, str | None]:
    """A host as name and port; the colons inside the brackets of an IPv6 address separate no port."""
    name, separator, port = host.rpartition(":")
    if not separator or (host.startswith("[") and host.endswith("]")):
        return host, None
    return name, port


def _is_port(port: str | None) -> bool:
    return port is None or (port.isascii() and port.isdigit() and len(port) <= 5 and 0 < int(port) <= 65535)
